/* The path as the samples show it: delays, deliveries, and the most that it takes. Knows neither phase nor
 * rate; what depends on the rate gets it as an argument.
 *
 *     q    least one-way delay over the newest RTT/8 (at least 32 packets, or where these take longer than
 *          250 ms as many as come in that time, but 4) above the base, the least ever; where packets keep
 *          their order above what they wait at the rate of now, longer than when it was seen by what Jo fell
 *     J    peak of delay jumps between neighbouring packets; Jo: 0 where packets overtake, else what J is at
 *          the rate of now
 *     C    what the path takes from this edge: deliveries over one loop (RTT, and what packets and acks take longer:
 *          to wait for their predecessors, or up to J each where they overtake), and so many packets, on the
 *          receiver's clock / (1 - p0) while a queue stands, or over as long as it has stood, at least RTT/4; a lower
 *          bound without one
 *     q*   m + 0.8 J/8 where packets overtake (the least delay then is that of the queue; of few packets more), m =
 *          min(40 ms, (2.5 ms + 0.8 J/8) sqrt(1 Gbit/s / rate)); m + 0.8 Jo where they keep their order, m =
 *          min(40 ms, 2.5 ms sqrt(1 Gbit/s / rate)): Jo grows by the same root (path_wait.h). m is at least three
 *          packets, q* at most half of what the buffer holds; where packets are marked, less (heed.h)
 *
 * Packets are counted by their size: the port's full one at first, then the mean of what is acked. */
#pragma once

#include "edge/bql/chance.h"
#include "edge/bql/heed.h"
#include "edge/congestion.h"
#include "edge/path_delay.h"
#include "edge/path_rate.h"
#include "edge/path_step.h"
#include "edge/path_wait.h"

struct bql_path {
    struct path_delay delay;
    struct path_rate rate;
    struct bql_chance chance;
    struct bql_heed heed;
    struct path_wait wait;
    struct path_step step;
    uint64_t kept_jitter_ns;    /* Jo */
    int64_t base_ns;            /* of the newest sample … */
    uint64_t base_bps;          /* … and the deliveries when it was seen first */
    uint64_t now_ns, before_ns; /* of this sample and the one before */
    uint64_t rtt_ns;            /* least */
    uint64_t loop_ns;           /* a change of the rate shows after that, the queue at its target */
    uint64_t doubt_ns;          /* q may be so much longer than it looks */
    uint64_t packet_bytes;      /* on the wire */
    uint64_t newest_sent_ns;    /* departure of the newest packet known to have come */
    uint64_t delivered_ns;      /* the receiver's clock at the newest count, less the sender's holes */
    uint64_t told_bytes;        /* delivered by then, as told */
    uint64_t delivered_bps;     /* over about one RTT */
    uint64_t capacity_bps;      /* C; 0: unknown */
    uint64_t standing_ns;  /* receiver's time since when there is a queue all the time; 0: there is none */
    uint64_t train_end_ns; /* when the first train had told; TIME_NEVER: it has not */
    /* Limited by something else: until then deliveries stem from a time that says nothing. */
    uint64_t limited_until_ns;
    bool window_limited;    /* … by a window, for so long */
    uint64_t held_until_ns; /* until then deliveries stem from a rate that the edge held back */
    /* When a queue was last taken for packets that wait, without a refresh since; 0: none was. */
    uint64_t supposed_ns;
    /* q* is at most this: half of the queue at which the buffer lost packets, a quarter more after each hold time;
     * TIME_NEVER: not seen. When it was set. */
    uint64_t queue_max_ns, queue_max_set_ns;
    bool renewed;               /* the path has become longer: what was known of round trips is of another */
    uint64_t queue_max_hold_ns; /* so long it holds before it is tried anew */
};

/* What a sample makes of the path: one for all that is decided upon it. */
struct bql_view {
    uint64_t now_ns;
    uint64_t rtt_ns;
    uint64_t capacity_bps;    /* C */
    uint64_t queue_ns;        /* q */
    uint64_t newest_ns;       /* q as the newest packet tells, beyond jitter */
    uint64_t predicted_ns;    /* q when what is under way will have arrived */
    uint64_t target_ns;       /* q* */
    uint64_t little_ns;       /* shorter it is hardly one: 0.4 q*, or what chance makes of few packets */
    uint64_t usual_target_ns; /* … but for marks */
    uint64_t newest_sent_ns;
};

/* trained: no train is to come. */
void bql_path_init(struct bql_path *path, uint64_t packet_bytes, uint64_t rtt_ns, bool trained,
                   uint64_t now_ns);
/* Feeds the filters. */
void bql_path_on_sample(struct bql_path *path, const struct congestion_sample *sample, uint64_t rate_bps);
/* Before that: looks for a step of the path's length. */
void bql_path_look_for_step(struct bql_path *path, const struct congestion_sample *sample, uint64_t rate_bps);
/* … and then C, from deliveries: not while a train is under way. */
void bql_path_observe_capacity(struct bql_path *path, uint64_t rate_bps);
/* predicts: what is under way counts. */
void bql_path_view(const struct bql_path *path, const struct congestion_sample *sample, uint64_t rate_bps,
                   bool predicts, struct bql_view *view);
/* The first train has told: what it did to delays and deliveries says nothing from now on. */
void bql_path_end_train(struct bql_path *path);
/* Deliveries before now_ns say nothing of those after it. */
void bql_path_interrupt(struct bql_path *path, uint64_t now_ns);

/* The rate is held back, by an edge that is alone: where packets overtake C is a lower bound for one loop
 * from now on. Their least delay leaves it open whether a queue stands, and C that falls with the edge's
 * own rate takes that along, by half a refresh: one of twelve edges with jitter of 0.4 RTT ended below a
 * tenth of the path. */
void bql_path_hold_back(struct bql_path *path);

/* Takes the queue that stands, however long, for packets that wait for their predecessors: the base rises by it. A
 * refresh is to look whether that was so (refresh.h). */
void bql_path_suppose_wait(struct bql_path *path);

/* The rate whose q* counts: C, and until that is known the edge's own. */
static inline uint64_t bql_path_steers_by_bps(const struct bql_path *path, uint64_t rate_bps)
{
    return path->capacity_bps > 0 ? path->capacity_bps : rate_bps;
}

/* q* at this rate, but for marks. */
uint64_t bql_path_usual_target_ns(const struct bql_path *path, uint64_t rate_bps);
/* q* at this rate, marks heeded. Falls with it, so that among edges that share a queue the only balance is the
 * fair one. */
uint64_t bql_path_target_ns(const struct bql_path *path, uint64_t rate_bps);
/* Jo: jitter that the least delay shows, because packets wait for their predecessors. */
uint64_t bql_path_kept_jitter_ns(const struct bql_path *path);
/* How long packets wait for their predecessors on an idle path, at most. */
uint64_t bql_path_waiting_ns(const struct bql_path *path);
/* So many packets tell delay and rate: where few come, fewer, so that it does not take seconds. */
uint32_t bql_path_telling_packets(const struct bql_path *path);
/* Fewer than usual: below about 1.5 Mbit/s of packets of 1500 bytes. */
bool bql_path_is_sparse(const struct bql_path *path);
/* Whether what looks like a queue may as well be packets that wait for their predecessors. */
bool bql_path_may_wait(const struct bql_path *path, uint64_t queue_ns);
/* Something else than rate or window limits, or did not long ago: the application, a port, a disk. */
bool bql_path_is_limited(const struct bql_path *path);
/* Limited by something else the rate says nothing of the path, nor do deliveries; but what is limited by a
 * window only, or delivers what it is to all the same, may have itself to blame. */
bool bql_path_says_nothing(const struct bql_path *path, uint64_t rate_bps);
/* The buffer lost packets at this queue, and loses none below. */
void bql_path_learn_buffer(struct bql_path *path, uint64_t queue_ns);
