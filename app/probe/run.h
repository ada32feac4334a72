/* One measurement in virtual time: an estimator is asked, its trains go through the world, their records come back when
 * their reports would, and what it says in the end (or, where it goes on, every now and then) is put beside the truth. */
#pragma once

#include "app/probe/world.h"
#include "probe/estimator.h"

#define RUN_UNDER_WAY_MAX 16 /* trains that have been sent and not been reported */

struct run_config {
    struct world_config world;
    struct estimator_goal goal;
    const struct estimator_kind *kind;
    uint64_t limit_ns; /* it is ended then, whatever it says */
    uint64_t every_ns; /* of goal.continuous: time between looks at it */
};

/* What it said, and what was so. */
struct run_look {
    uint64_t at_ns; /* since the begin */
    struct estimate estimate;
    uint64_t period_bps;   /* P: the least that any hop had left over the estimate's window; 0: untold */
    uint64_t capacity_bps; /* of the tight hop, at that time */
};

struct run_result {
    struct run_look look;    /* the last one */
    uint64_t window_bps;     /* W: left of the tight hop while the trains kept it busy; 0: they never did */
    uint64_t took_ns, bytes; /* until it was done; of all trains, on the wire */
    uint64_t load_ppb;       /* most of the tight hop's capacity that trains took over any 10 s */
    uint64_t queue_max;      /* bytes that a train met at the tight hop */
    uint64_t added_first_max, added_max; /* that trains had made: in the first second, and later; with harm */
    uint64_t cross_packets, added_drops; /* of all hops, the second with harm only */
    uint32_t trains;
    bool ended; /* by itself */
};

struct run_sent {
    uint64_t at_ns, bytes;
};

/* What comes back to the sender, and when. */
struct run_report {
    bool waiting;
    uint64_t due_ns;
    struct train_record record;
};

struct run {
    const struct run_config *config;
    struct world world;
    void *state;
    uint64_t begin_ns, now_ns;
    uint64_t free_ns; /* when the port may send the next train */
    bool contacted;   /* the first second is over */
    uint64_t added_first_max;
    struct run_report reports[RUN_UNDER_WAY_MAX];
    struct run_sent *sent; /* every train, in order */
    uint32_t sent_count, sent_room;
};

/* False: no memory. */
bool run_create(struct run *run, const struct run_config *config);
void run_destroy(struct run *run);
/* Called for each look of a measurement that goes on; the last one is in the result as well. */
typedef void run_looked(void *user, const struct run_look *look);
void run_measure(struct run *run, uint64_t seed, run_looked *looked, void *user, struct run_result *result);
