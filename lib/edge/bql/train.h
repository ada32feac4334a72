/* TRAIN: twenty packets at once; their spread at the receiver tells what the path takes.
 *
 * It tells too much where they came closer together than the path sent them: where jitter keeps the order and
 * the first one was late, all that followed waited for it (one train in twenty has no spread at all). So the rate
 * is believed only as far as the last packet's lateness, against the round trip known before, allows: what leaves
 * at once has so much of the path as it has of the queue, or of the wait, that its last packet found. Where
 * nothing was late both are the same.
 *
 * One that told nothing is followed by another when all of it has come: what leaves as its acks come is no train. */
#pragma once

#include "edge/bql/path.h"

#define BQL_TRAIN_BPS     40000000000ULL
#define BQL_TRAIN_PACKETS 20

struct bql_train {
    uint64_t rtt_ns;                /* as known before */
    uint64_t wait_ns;               /* of what came so far: it may have stood at the receiver for so long */
    uint64_t first_ns, first_bytes; /* receiver's time (0: none yet) and count at the train's first ack */
    uint64_t told_ns, late_ns;      /* receiver's time at the newest ack (0: none yet), lateness then */
    uint64_t start_bytes;           /* count before it */
    uint64_t newest_bytes;          /* … at its newest ack */
    bool clears;   /* it told nothing, and the rest of it is still to come: nothing may leave */
    bool singly;   /* each of its acks so far told of one packet */
    uint32_t lost; /* trains that told nothing */
};

/* What the train told: the rate that the path spread it to. */
struct bql_train_verdict {
    bool known;
    uint64_t spread_bps; /* at most BQL_TRAIN_BPS; a lower bound where it does not tell */
    uint64_t share_bps;  /* what came within half of its lateness: the other half is the way back's */
    bool tells; /* false: only that the path is fast, or that acks were lost, or packets, but not most */
    bool slow;  /* each packet had an ack of its own */
};

/* The next packets are the train: what was delivered before has no part in it. */
void bql_train_await(struct bql_train *train, uint64_t delivered_bytes);
/* The verdict is known once enough of the train has come. */
struct bql_train_verdict bql_train_on_sample(struct bql_train *train, const struct bql_path *path,
                                             const struct congestion_sample *sample);
