/* What of a train's record can be reckoned with: packets in the order of a queue, each with when it left
 * and when it came.
 *
 * A queue that serves in order cannot let a packet be overtaken: one that was came late for reasons of its
 * own and is no point; nor is what came last of all where such lateness occurs, since nothing could have
 * overtaken it. Of packets that came with one stamp only the last one's arrival is known, if it is the
 * furthest of all before it: it stands for its batch, and the last batch, whose end is that of a wait for
 * more, for nothing. A batch that came short of its size was closed by time, on average half a spacing
 * after its last packet. Points ascend in index, rank, time of departure and, to the noise of stamps, in
 * time of arrival. Times count from the first sample's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "probe/record.h"

struct probe_point {
    int64_t sent_ns, received_ns;
    uint32_t index;      /* in the train: packets that left before it */
    uint32_t rank;       /* packets that came before it; those that went elsewhere in turn have, too */
    uint32_t closing_ns; /* standard deviation of when it came, where time closed its batch; else 0 */
};

struct probe_points {
    uint32_t count;
    uint32_t candidates; /* packets, or batches, that came */
    uint32_t late;       /* of them, those that others overtook */
    uint32_t lost;       /* that did not come */
    uint32_t turns;      /* from one packet's index to the next one's (record.h) */
    uint32_t batch;      /* packets that stand as one: of one stamp, or a clump; 1: each by itself */
    int64_t clump_ns;    /* of stamps of one batch, from each to the next one, at most */
    double packet_bits;  /* of each packet, on the wire */
    /* Standard deviation of the time that a packet was under way: by the floors of both ends, or as seen. */
    double noise_ns;
    uint64_t sent_at_ns; /* what sent_ns counts from, sender's clock */
    struct probe_point point[TRAIN_PACKETS_MAX];
    /* room to sort in */
    uint32_t order_count;
    uint16_t order[TRAIN_PACKETS_MAX]; /* samples in order of arrival */
};

void points_take(struct probe_points *points, const struct train_record *record);
/* Mean bit/ns at which points a to b left, b's own bits included; b > a. */
double points_rate(const struct probe_points *points, uint32_t a, uint32_t b);
/* The time that point i was under way, beyond that of the train's first sample. */
static inline int64_t points_delay_ns(const struct probe_points *points, uint32_t i)
{
    return points->point[i].received_ns - points->point[i].sent_ns;
}
