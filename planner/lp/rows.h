/* The rows of a net as the simplex takes them: every limit 1, rates in units of the net's closed-form
 * bound, so that numbers are around 1 whatever the rates. Two kinds more: that the sum of all rates is
 * limited (by a cap, and by the slowest receiver's downlink, which every tree enters once), and, if
 * asked for, that a host has children_max children at most on the average of all trees: sum of
 * (children - children_max) * rate <= 0. */
#pragma once

#include "planner/lp/simplex.h"
#include "planner/net/net.h"

#define ROWS_NO_ROW    UINT32_MAX
#define ROWS_RATE_MOST 1e15 /* bit/s; where nothing limits it */

struct rows {
    const struct net *net;
    double unit_bps;
    uint32_t count;       /* the net's rows, one per host for the children, one for the sum */
    double *scale;        /* of the net's rows: unit / capacity; 0: no limit here */
    double *limit;        /* [count] */
    double rate_most_bps; /* of the sum; */
    uint32_t rate_from;   /* by this row of the net; ROWS_NO_ROW: by the cap */
    bool fan_out;
    double *sum; /* scratch: [count], zeroes between calls */
    uint32_t *entry_row;
    double *entry_use;
};

uint32_t rows_entries_max(uint16_t count, uint16_t shared_count); /* of a column */
size_t rows_most(uint16_t count, uint16_t shared_count);          /* rows->count */
size_t rows_bytes(uint16_t count, uint16_t shared_count);         /* of arena */
/* rate_cap_bps 0: none. unit_bps > 0. */
void rows_init(struct rows *rows, const struct net *net, double unit_bps, double rate_cap_bps, bool fan_out,
               struct arena *arena);
struct simplex_size rows_size(const struct rows *rows, uint16_t basic_max);
size_t rows_simplex_bytes(uint16_t count, uint16_t shared_count,
                          uint16_t basic_max); /* of arena, for rows_size() */

static inline uint32_t rows_sum(const struct rows *rows)
{
    return rows->count - 1;
}
static inline uint32_t rows_children(const struct rows *rows, uint16_t host)
{
    return rows->count - 1 - rows->net->count + host;
}
/* The edge takes of a row that has nothing to give, or next to nothing. */
bool rows_dead(const struct rows *rows, uint16_t from, uint16_t to, struct net_use *culprit);
/* What a tree takes of each row; valid until the next call. */
struct simplex_column rows_column(const struct rows *rows, const uint16_t *parent);
