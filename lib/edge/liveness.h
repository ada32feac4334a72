/* A law of liveness: no edge stands still on a path that would take more. It looks at an edge from outside
 * and never tells the strategy; the sender feeds it with what acks say, the simulator a second one with
 * what truly happened.
 *
 *   M           the most that was delivered over max(RTT, 100 ms, 16 packets) within the last 2 min in which the edge
 *               was awake (or 10 W, where that is more), since its start ended; no more than what the path leaves now,
 *               where who looks knows that
 *   W           max(8 RTT, 100 ms, 32 packets at M), and until it is known what became of a packet
 *   low         in such a window less than M/4 was delivered
 *   unhindered  in it congestion control limited the edge for 90 % of the time in which it was awake; there was no
 *               silence, no mark of congestion; the strategy owed a rate all the time (congestion.h); no more than 1.5
 *               times the share that was lost at M, and 2 %, got lost; the mean queue was less than half of q*. Nor
 *               was the rate held because a little more gets lost (by a policer, or the ring of a host that stands
 *               still), unless that is below M/16
 *   stuck       low and unhindered in 4 windows in a row, and as long as that goes on; or below M/2 and unhindered for
 *               10 s and 20 RTT: a path that has changed and an edge that has not found out
 *   late        unhindered since it was low, and not back at M/2 within 2 W: in the 4th such window and later, for
 *               where in a window it began nobody knows
 *   deep        unhindered in a window in which less than M/16 was delivered, and in the one before, whatever came
 *               then: what hindered it may have brought it there
 *
 * Time is a window's own: a look says what has come about since the one before, so looks may be as rare as
 * one likes; at most every LIVENESS_LOOK_NS is enough. Cost of a look: some additions. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "edge/congestion.h"

#define LIVENESS_LOOK_NS       (20 * NS_PER_MS)
#define LIVENESS_MEMORY_SPANS  10 /* of max(12 s, W) */
#define LIVENESS_STUCK_WINDOWS 4

/* What is known of an edge at a time: sums since any origin, and what holds now. */
struct liveness_look {
    uint64_t now_ns;
    uint64_t began_ns;     /* when the strategy began: with another one all is forgotten but the stuck time */
    uint64_t asleep_ns;    /* sum: its host stood still, or had no time for it */
    uint64_t congested_ns; /* sum: limited by congestion control */
    uint64_t came_bytes, came_packets;
    uint64_t lost_packets;
    uint64_t marked_packets;
    uint64_t silences;
    uint64_t rtt_ns;
    uint64_t queue_ns, target_ns; /* q as those that came since the last look met it, and q* */
    uint64_t left_bps;            /* what the path leaves; 0: who looks does not know */
    bool silent;
    enum congestion_duty duty;
};

/* What came about in a part of the time. */
struct liveness_part {
    uint64_t awake_ns, congested_ns;
    uint64_t came_bytes, came_packets, lost_packets;
    uint64_t queue_packets_ns, target_packets_ns; /* sums over the packets that came */
    bool hindered;                                /* by silence, marks, or because no rate was owed */
    bool held;                                    /* the rate, at some time */
};

struct liveness_most {
    uint64_t bps;
    uint32_t loss_ppm; /* meanwhile */
};

/* How long it broke the law so far. */
struct liveness_sums {
    uint64_t stuck_ns; /* the first 4 windows of each time included */
    uint64_t late_ns, deep_ns;
};

/* All zero: nothing is known yet. */
struct liveness {
    struct liveness_look before; /* began_ns 0: none yet */
    struct liveness_part span, window;
    struct liveness_most most[LIVENESS_MEMORY_SPANS]; /* most[0]: of the newest */
    uint64_t memory_awake_ns;                         /* of the newest */
    uint32_t low_windows;                             /* in a row, low and unhindered */
    uint64_t low_ns;                                  /* … so long */
    uint64_t half_ns;                                 /* unhindered below M/2, so long in a row … */
    uint64_t half_counted_ns;                         /* … and stuck for so much of it, as counted */
    uint32_t slow_windows; /* in a row, unhindered and below M/2, the first one low */
    bool low, unhindered;  /* the newest window was */
    struct liveness_sums sums;
};

/* Time for another look. */
static inline bool liveness_due(const struct liveness *liveness, uint64_t now_ns)
{
    return now_ns >= liveness->before.now_ns + LIVENESS_LOOK_NS;
}
void liveness_on_look(struct liveness *liveness, const struct liveness_look *look);
/* M; bps 0: nothing known. */
struct liveness_most liveness_most(const struct liveness *liveness);
