#include "planner/lp/rows.h"

#include <string.h>

#include "planner/lp/bound.h"

#define DEAD_SHARE 1e-10 /* an edge that can carry less than this share of the unit is none */

uint32_t rows_entries_max(uint16_t count, uint16_t shared_count)
{
    /* The net's common rows, a path per host, children per host, the sum. */
    return 6u * count + shared_count + 1;
}

size_t rows_most(uint16_t count, uint16_t shared_count)
{
    return (size_t)count * count + 5u * count + shared_count + 1;
}

size_t rows_bytes(uint16_t count, uint16_t shared_count)
{
    return 3 * arena_need(rows_most(count, shared_count) * sizeof(double)) +
           arena_need(rows_entries_max(count, shared_count) * sizeof(uint32_t)) +
           arena_need(rows_entries_max(count, shared_count) * sizeof(double));
}

size_t rows_simplex_bytes(uint16_t count, uint16_t shared_count, uint16_t basic_max)
{
    struct simplex_size size = {(uint32_t)rows_most(count, shared_count), basic_max,
                                rows_entries_max(count, shared_count)};
    return simplex_bytes(&size);
}

struct simplex_size rows_size(const struct rows *rows, uint16_t basic_max)
{
    return (struct simplex_size){rows->count, basic_max,
                                 rows_entries_max(rows->net->count, rows->net->shared_count)};
}

/* Downlinks of receivers are in the row of the sum. */
static bool has_row(const struct net *net, uint32_t row)
{
    struct net_row what = net_row_of(net, row);
    return what.kind != NET_DOWNLINK || !net->hosts[what.host].receiver;
}

static void limit_sum(struct rows *rows, double rate_cap_bps)
{
    uint16_t slowest;
    double cap_bps = rate_cap_bps > 0 && rate_cap_bps < ROWS_RATE_MOST ? rate_cap_bps : ROWS_RATE_MOST;
    double down_bps = bound_downlinks_bps(rows->net, &slowest);
    bool by_cap = slowest == NET_NONE || cap_bps <= down_bps;
    rows->rate_most_bps = by_cap ? cap_bps : down_bps;
    rows->rate_from = by_cap ? ROWS_NO_ROW : NET_DOWNLINK * (uint32_t)rows->net->count + slowest;
}

void rows_init(struct rows *rows, const struct net *net, double unit_bps, double rate_cap_bps, bool fan_out,
               struct arena *arena)
{
    uint32_t net_count = net_rows(net);
    *rows = (struct rows){
        .net = net, .unit_bps = unit_bps, .count = net_count + net->count + 1, .fan_out = fan_out};
    size_t bytes = rows->count * sizeof(double);
    rows->scale = arena_alloc(arena, bytes);
    rows->limit = arena_alloc(arena, bytes);
    rows->sum = arena_alloc(arena, bytes);
    rows->entry_row = arena_alloc(arena, rows_entries_max(net->count, net->shared_count) * sizeof(uint32_t));
    rows->entry_use = arena_alloc(arena, rows_entries_max(net->count, net->shared_count) * sizeof(double));
    memset(rows->sum, 0, bytes);
    for (uint32_t row = 0; row < rows->count; row++)
        rows->limit[row] = 1;
    for (uint32_t row = 0; row < net_count; row++) {
        double capacity = net_capacity(net, row);
        bool limited = capacity < NET_NO_LIMIT && capacity > 0 && has_row(net, row);
        rows->scale[row] = limited ? unit_bps / capacity : 0;
    }
    for (uint16_t host = 0; host < net->count; host++)
        rows->limit[rows_children(rows, host)] = 0;
    limit_sum(rows, rate_cap_bps);
}

bool rows_dead(const struct rows *rows, uint16_t from, uint16_t to, struct net_use *culprit)
{
    struct net_use uses[NET_USES_MAX];
    unsigned count = net_uses(rows->net, from, to, uses);
    for (unsigned index = 0; index < count; index++)
        if (net_capacity(rows->net, uses[index].row) < DEAD_SHARE * rows->unit_bps * uses[index].per_bit) {
            *culprit = uses[index];
            return true;
        }
    return false;
}

/* Sums up by row, and lists the rows at their first entry. */
static uint32_t add_edges(const struct rows *rows, const uint16_t *parent)
{
    struct net_use uses[NET_USES_MAX];
    uint32_t entries = 0;
    for (uint16_t host = 0; host < rows->net->count; host++) {
        if (parent[host] == NET_NONE)
            continue;
        unsigned count = net_uses(rows->net, parent[host], host, uses);
        for (unsigned index = 0; index < count; index++) {
            uint32_t row = uses[index].row;
            double use = uses[index].per_bit * rows->scale[row];
            if (use > 0 && rows->sum[row] == 0)
                rows->entry_row[entries++] = row;
            rows->sum[row] += use;
        }
    }
    for (uint32_t entry = 0; entry < entries; entry++) {
        rows->entry_use[entry] = rows->sum[rows->entry_row[entry]];
        rows->sum[rows->entry_row[entry]] = 0;
    }
    return entries;
}

static uint32_t add_children(const struct rows *rows, const uint16_t *parent, uint32_t entries)
{
    double *children = rows->sum;
    uint16_t count = rows->net->count;
    for (uint16_t host = 0; host < count; host++)
        if (parent[host] != NET_NONE)
            children[parent[host]]++;
    for (uint16_t host = 0; host < count; host++) {
        double most = rows->net->hosts[host].children_max;
        if (most < count - 1 && children[host] != most) {
            rows->entry_row[entries] = rows_children(rows, host);
            rows->entry_use[entries++] = children[host] - most;
        }
        children[host] = 0;
    }
    return entries;
}

struct simplex_column rows_column(const struct rows *rows, const uint16_t *parent)
{
    uint32_t entries = add_edges(rows, parent);
    if (rows->fan_out)
        entries = add_children(rows, parent, entries);
    rows->entry_row[entries] = rows_sum(rows);
    rows->entry_use[entries++] = rows->unit_bps / rows->rate_most_bps;
    return (struct simplex_column){entries, rows->entry_row, rows->entry_use};
}
