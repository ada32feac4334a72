/* What became of the trains of a run: how far from their schedule they left, and what spoiled them.
 *
 * An estimator that passes everything on to another one and looks at what goes by, so that a node drives it as it
 * drives any. One at a time, since an estimator's state says nothing of who asks. No clock, no IO. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/report.h"
#include "dpdk/histogram.h"
#include "probe/estimator.h"

#define SEEN_MARKS 4

struct seen {
    struct histogram departure_ns; /* |true departure - schedule|, of packets that came */
    uint64_t trains, lost;         /* with a record; without: no report, refused by the receiver, not begun */
    uint64_t spoiled;              /* with a mark, at least one … */
    uint64_t marked[SEEN_MARKS];   /* … of each, by bit of enum train_mark */
    uint64_t packets, stamped_alike; /* that came; with the stamp of the one before */
    uint64_t batch_max;              /* packets with one stamp */
    uint64_t gap_ns_max;             /* of the receiver's turns, while a train came */
    /* Of the measurement that runs: */
    uint32_t under_way;
    bool asked_all; /* it wants no more trains */
    bool ended;     /* and has seen all of them: `estimate` is its last word */
    struct estimate estimate;
};

/* The kind to be given to a node, around `inner`; its figures go to *seen, which is zeroed. Both outlive it. */
const struct estimator_kind *seen_around(const struct estimator_kind *inner, struct seen *seen);
/* Another measurement; what was seen of trains stays. */
void seen_next(struct seen *seen);
/* A train's record, or NULL: there is none. */
void seen_train(struct seen *seen, const struct train_record *record);
/* departure_ns, trains, lost, spoiled and why. */
void seen_report(const struct seen *seen, struct report *report);
