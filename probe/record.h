/* What became of one train: of each packet when it left and when it came, as exactly as both ends know it.
 *
 * Clocks: sent_ns is the sender's, received_ns the receiver's; neither their offset nor their drift is
 * known here. Samples stand in order of sending (index rises); what was lost has none. A record says by its
 * marks what spoils it: a train whose departures were not those of its schedule, or whose end stood still,
 * is no measurement of the path.
 *
 * Of a joint train, whose packets go to several receivers in turn, a record is one receiver's part: its packets alone,
 * by their indexes in the whole train. What all of the packets crossed, it tells like any other train. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/stamp.h"
#include "base/units.h"
#include "probe/train.h"

enum train_mark {
    /* A packet left later than scheduled, by more than a part of the train's duration (its sender says which). */
    TRAIN_REANCHORED = 1,
    TRAIN_MERGED = 2,     /* packets left as one, without the gap between them */
    TRAIN_CUT = 4,        /* not all of it was sent */
    TRAIN_STOOD_STILL = 8 /* the receiver was not called for longer than its floor while it came */
};

struct train_sample {
    uint64_t sent_ns;     /* true departure, not the schedule's */
    uint64_t received_ns; /* true arrival as the receiver stamps it */
    uint32_t index;       /* in the train */
    uint32_t arrival;     /* position in the order of arrival, from 0 */
};

/* What an end of a path is known to add to its stamps. All zero: exact stamps. */
struct train_floor {
    uint64_t noise_ns;       /* standard deviation of one stamp */
    uint64_t granularity_ns; /* stamps are multiples of this; 0 and 1: of a nanosecond */
    uint64_t gap_ns;         /* longest time between two of its turns */
    uint32_t batch;          /* packets that come with one stamp; 0 and 1: each has its own */
    uint8_t stamp_kind;      /* enum stamp_kind */
};

struct train_record {
    uint32_t id; /* whoever asked for it knows */
    uint32_t marks;
    struct train_shape shape;
    uint64_t start_ns; /* of the schedule, sender's clock */
    uint16_t turns;    /* from one of this receiver's packets to its next, by index; 0 and 1: all are its */
    bool beside;       /* others' trains came beside it, which it bears as far as nothing held it up */
    uint32_t sent;     /* packets that left, to this receiver */
    uint32_t count;    /* of samples: packets that came */
    struct train_floor sender, receiver;
    struct train_sample samples[TRAIN_PACKETS_MAX];
};

static inline uint32_t record_turns(const struct train_record *record)
{
    return MAX(record->turns, (uint16_t)1);
}
