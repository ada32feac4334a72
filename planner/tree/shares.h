/* The rows of a net that can bind, laid out for builders that ask often: per edge a short list, and of
 * each row what part of it a bit/s on the edge takes. Rows that others hold below their capacity anyway
 * are left out: a path as wide as the sender's uplink or as what its receiver gets; the downlink of a
 * receiver, which every forest loads alike and which bounds the rate. */
#pragma once

#include "planner/tree/task.h"

struct shares {
    uint16_t hosts;
    uint32_t count;      /* of rows: the uplink of host h is row h */
    uint32_t *first;     /* [edges + 1] the edge's uses are first[edge] … first[edge + 1] - 1 */
    uint32_t *row;       /* of a use */
    double *share;       /* of a use: seconds of the row per bit, a / C */
    bool *usable;        /* [edges] between members, and no row that it needs is zero */
    double rate_max_bps; /* no forest carries more; a closed form, so it may be far above */
};

size_t shares_bytes(uint16_t count, uint16_t shared_count);
void shares_init(struct shares *shares, const struct task *task, struct arena *arena);

static inline uint32_t shares_edge(const struct shares *shares, uint16_t from, uint16_t to)
{
    return (uint32_t)from * shares->hosts + to;
}
