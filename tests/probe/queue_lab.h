/* A path in closed form for estimators: hops that serve in order, cross traffic drawn as it comes, stamps as two ends would
 * make them; and the truth about it, kept exactly. Needs nothing of netem.
 *
 * Every hop is a unit that works at its rate: what it has left to do at a time follows from what came before. */
#pragma once

#include "base/rng.h"
#include "probe/estimator.h"

/* Of a measurement of 10 Gbit/s at once, to 0.5 %, with 1.5 MB; sender at 40 Gbit/s. */
extern const struct estimator_goal first_look;

#define LAB_HOPS_MAX    2
#define LAB_SOURCES_MAX 32

enum lab_cross { LAB_CBR, LAB_POISSON, LAB_ON_OFF };

struct lab_hop {
    double rate;  /* bit/ns */
    double cross; /* bit/ns, on average */
    enum lab_cross kind;
    unsigned sources; /* of on/off */
    double peak, on_ns, off_ns;
    double depth_bits; /* a token bucket in front of it, of rate `tokens`; 0: none */
    double tokens;
    double queue_bits; /* what comes beyond is dropped; 0: no limit */
};

struct lab_path {
    unsigned hop_count;
    struct lab_hop hops[LAB_HOPS_MAX];
    double rtt_ns;
    double loss, late; /* share of packets; late ones come after another 50 us */
    bool after;        /* those come behind the hops, not before */
    double jitter_ns;  /* each packet is delayed by up to this, behind the hops */
    uint32_t batch;    /* that come with one stamp */
    double batch_ns;   /* and the longest that one waits for its end */
    double noise_ns, skew;
    bool floor_told; /* the record says what noise and batch are */
    struct {         /* the first hop has another rate from then on */
        double at_ns, rate;
    } step;
};

struct lab_source {
    double next_ns, ends_ns; /* packet; of the on time */
};

/* One hop at work. */
struct lab_queue {
    const struct lab_hop *hop;
    double rate;
    double now_ns, work_bits; /* what is left to do at now_ns */
    double next_ns;           /* cross packet */
    double cross_bits;        /* came by now_ns */
    double cap_bits;          /* that it could have served by now_ns */
    double tokens_bits;       /* of the bucket */
    struct lab_source sources[LAB_SOURCES_MAX];
    /* over steps of the trains between which it did not idle */
    double busy_ns, busy_cross_bits, busy_cap_bits;
    double last_ns, last_end_ns, last_cross_bits, last_cap_bits;
    bool running;
    double worst_bits;
};

struct lab_mark {
    double at_ns, cross_bits, cap_bits;
};

struct lab {
    struct lab_path path;
    struct rng rng;
    struct lab_queue queues[LAB_HOPS_MAX];
    struct lab_mark *marks; /* of the first hop, one for each train packet */
    uint32_t mark_count, mark_room;
    double now_ns;
};

struct lab_result {
    struct estimate estimate;
    double window; /* W, bit/ns */
    double period; /* P, over the estimate's own */
    double took_ns, bytes, bytes_10s, queue_bytes;
    uint32_t trains;
};

void lab_begin(struct lab *lab, const struct lab_path *path, uint64_t seed);
void lab_end(struct lab *lab);
/* What becomes of a train; returns when its report is there. */
double lab_send(struct lab *lab, const struct train_shape *shape, uint64_t start_ns,
                struct train_record *record);
/* One whole measurement, or one of `limit_ns` of an estimator that goes on. `look` is called every `look_ns` with what it says. */
struct lab_watch {
    double look_ns;
    void (*look)(void *user, struct lab *lab, const struct estimate *estimate, double now_ns);
    void *user;
};
void lab_measure(struct lab *lab, const struct estimator_kind *kind, const struct estimator_goal *goal,
                 double limit_ns, const struct lab_watch *watch, struct lab_result *result);
/* What was left of the first hop between those departures. */
double lab_period(const struct lab *lab, double from_ns, double until_ns);
