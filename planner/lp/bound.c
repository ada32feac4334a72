#include "planner/lp/bound.h"

static void lower(struct bound *bound, struct bound other)
{
    if (other.bps < bound->bps)
        *bound = other;
}

static bool is_target(const struct net *net, uint16_t host)
{
    return net->hosts[host].receiver && host != net->source;
}

static uint32_t row_of(const struct net *net, enum net_row_kind kind, uint16_t host)
{
    return (uint32_t)kind * net->count + host;
}

static struct bound of_row(const struct net *net, enum net_row_kind kind, uint16_t host)
{
    uint32_t row = row_of(net, kind, host);
    return (struct bound){BOUND_ROW, net_capacity(net, row), row, NET_NONE};
}

double bound_downlinks_bps(const struct net *net, uint16_t *host)
{
    double bps = NET_NO_LIMIT;
    *host = NET_NONE;
    for (uint16_t to = 0; to < net->count; to++)
        if (is_target(net, to) && net->hosts[to].down_bps < bps) {
            bps = net->hosts[to].down_bps;
            *host = to;
        }
    return bps;
}

/* ---- what all can send together ---- */

static uint16_t targets_of(const struct net *net)
{
    uint16_t targets = 0;
    for (uint16_t host = 0; host < net->count; host++)
        targets += is_target(net, host);
    return targets;
}

/* A host that only relays takes in one copy for as many as it can send out at most. */
static double worth_of(const struct net *net, uint16_t host, uint16_t targets)
{
    uint16_t most = net->hosts[host].children_max;
    bool relay = host != net->source && !net->hosts[host].receiver;
    if (most == 0)
        return 0;
    return relay ? (1 - 1.0 / (most < targets ? most : targets)) / targets : 1.0 / targets;
}

/* Uplink or packets, whichever gives out first. */
static uint32_t sending_row(const struct net *net, uint16_t host)
{
    uint32_t up = row_of(net, NET_UPLINK, host), packets = row_of(net, NET_PACKETS, host);
    return net_capacity(net, packets) < net_capacity(net, up) ? packets : up;
}

static struct bound of_all(const struct net *net, uint16_t targets)
{
    struct bound bound = {BOUND_ALL, 0, 0, NET_NONE};
    for (uint16_t host = 0; host < net->count; host++) {
        double worth = worth_of(net, host, targets);
        if (worth > 0)
            bound.bps += worth * net_capacity(net, sending_row(net, host));
    }
    return bound;
}

/* ---- paths into a host, or out of one ---- */

static double paths_out_bps(const struct net *net, uint16_t from)
{
    double sum_bps = 0;
    for (uint16_t to = 0; to < net->count; to++)
        if (net_usable(net, from, to))
            sum_bps += net->path_bps[net_edge(net, from, to)];
    return sum_bps;
}

/* Of a path, or of the uplink before it. */
static uint32_t narrow_row(const struct net *net, uint16_t from, uint16_t to)
{
    uint32_t up = row_of(net, NET_UPLINK, from), path = net_common_rows(net) + net_edge(net, from, to);
    return net_capacity(net, up) < net_capacity(net, path) ? up : path;
}

static double paths_in_bps(const struct net *net, uint16_t to)
{
    double sum_bps = 0;
    for (uint16_t from = 0; from < net->count; from++)
        if (net_usable(net, from, to))
            sum_bps += net_capacity(net, narrow_row(net, from, to));
    return sum_bps;
}

struct bound bound_of(const struct net *net)
{
    struct bound bound = {BOUND_NONE, NET_NO_LIMIT, 0, NET_NONE};
    uint16_t targets = targets_of(net);
    CHECK(targets > 0);
    lower(&bound, of_row(net, NET_UPLINK, net->source));
    lower(&bound, of_row(net, NET_PACKETS, net->source));
    lower(&bound, (struct bound){BOUND_PATHS_OUT, paths_out_bps(net, net->source), 0, net->source});
    for (uint16_t host = 0; host < net->count; host++) {
        if (!is_target(net, host))
            continue;
        lower(&bound, of_row(net, NET_DOWNLINK, host));
        lower(&bound, of_row(net, NET_PACKETS, host));
        lower(&bound, (struct bound){BOUND_PATHS_IN, paths_in_bps(net, host), 0, host});
    }
    lower(&bound, of_all(net, targets));
    return bound;
}

/* ---- prices ---- */

static uint32_t prices_of_paths(const struct net *net, const struct bound *bound, uint32_t *row,
                                double *price)
{
    uint32_t rows = 0;
    for (uint16_t other = 0; other < net->count; other++) {
        bool out = bound->kind == BOUND_PATHS_OUT;
        uint16_t from = out ? bound->host : other, to = out ? other : bound->host;
        if (!net_usable(net, from, to))
            continue;
        row[rows] = out ? net_common_rows(net) + net_edge(net, from, to) : narrow_row(net, from, to);
        price[rows++] = 1;
    }
    return rows;
}

uint32_t bound_prices(const struct net *net, const struct bound *bound, uint32_t *row, double *price)
{
    uint32_t rows = 0;
    uint16_t targets = targets_of(net);
    switch (bound->kind) {
    case BOUND_NONE:
        break;
    case BOUND_ROW:
        row[0] = bound->row;
        price[0] = 1;
        return 1;
    case BOUND_PATHS_OUT:
    case BOUND_PATHS_IN:
        return prices_of_paths(net, bound, row, price);
    case BOUND_ALL:
        for (uint16_t host = 0; host < net->count; host++) {
            if (worth_of(net, host, targets) <= 0)
                continue;
            row[rows] = sending_row(net, host);
            price[rows++] = worth_of(net, host, targets);
        }
        break;
    }
    return rows;
}
