#include "planner/net/net.h"

#include <string.h>

#define COMMON_KINDS 4 /* rows that every host has one of, in the order of enum net_row_kind */

static size_t edges_of(uint16_t count)
{
    return (size_t)count * count;
}

size_t net_bytes(uint16_t count, uint16_t shared_count)
{
    size_t edges = edges_of(count);
    return arena_need(count * sizeof(struct net_host)) + 2 * arena_need(edges * sizeof(double)) +
           arena_need(edges * sizeof(uint32_t)) + arena_need(edges) + arena_need(edges * NET_SHARED_OF_EDGE) +
           arena_need(shared_count * sizeof(struct net_shared));
}

void net_make(struct net *net, uint16_t count, uint16_t source, uint16_t shared_count, struct arena *arena)
{
    CHECK(count >= 2 && count <= NET_HOSTS_MAX && source < count && shared_count <= NET_SHARED_MAX);
    size_t edges = edges_of(count);
    *net = (struct net){.count = count,
                        .source = source,
                        .shared_count = shared_count,
                        .hosts = arena_alloc(arena, count * sizeof(struct net_host)),
                        .path_bps = arena_alloc(arena, edges * sizeof(double)),
                        .loss = arena_alloc(arena, edges * sizeof(double)),
                        .rtt_us = arena_alloc(arena, edges * sizeof(uint32_t)),
                        .crosses = arena_alloc(arena, edges),
                        .shared_of = arena_alloc(arena, edges * NET_SHARED_OF_EDGE),
                        .shared = arena_alloc(arena, shared_count * sizeof(struct net_shared))};
    memset(net->hosts, 0, count * sizeof(struct net_host));
    memset(net->shared, 0, shared_count * sizeof(struct net_shared));
    memset(net->crosses, 0, edges);
    for (uint16_t host = 0; host < count; host++)
        net->hosts[host].packets_ps = net->hosts[host].window_bytes = NET_NO_LIMIT;
    for (uint16_t from = 0; from < count; from++)
        for (uint16_t to = 0; to < count; to++) {
            uint32_t edge = net_edge(net, from, to);
            net->path_bps[edge] = from == to || to == source ? 0 : NET_NO_LIMIT;
            net->loss[edge] = 0;
            net->rtt_us[edge] = NET_RTT_UNKNOWN;
        }
}

bool net_cross(struct net *net, uint16_t from, uint16_t to, uint8_t shared)
{
    uint32_t edge = net_edge(net, from, to);
    if (net->crosses[edge] == NET_SHARED_OF_EDGE)
        return false;
    net->shared_of[edge * NET_SHARED_OF_EDGE + net->crosses[edge]++] = shared;
    return true;
}

bool net_usable(const struct net *net, uint16_t from, uint16_t to)
{
    return net->path_bps[net_edge(net, from, to)] > 0 && net->hosts[from].children_max > 0;
}

/* ---- rows ---- */

uint32_t net_common_rows(const struct net *net)
{
    return COMMON_KINDS * (uint32_t)net->count + net->shared_count;
}

uint32_t net_rows_of(uint16_t count, uint16_t shared_count)
{
    return COMMON_KINDS * (uint32_t)count + shared_count + (uint32_t)count * count;
}

uint32_t net_rows(const struct net *net)
{
    return net_rows_of(net->count, net->shared_count);
}

struct net_row net_row_of(const struct net *net, uint32_t row)
{
    uint32_t of_hosts = COMMON_KINDS * (uint32_t)net->count, common = net_common_rows(net);
    if (row < of_hosts)
        return (struct net_row){.kind = (enum net_row_kind)(row / net->count),
                                .host = (uint16_t)(row % net->count)};
    if (row < common)
        return (struct net_row){.kind = NET_SHARED, .host = (uint16_t)(row - of_hosts)};
    return (struct net_row){.kind = NET_PATH,
                            .host = (uint16_t)((row - common) / net->count),
                            .to = (uint16_t)((row - common) % net->count)};
}

double net_capacity(const struct net *net, uint32_t row)
{
    struct net_row what = net_row_of(net, row);
    const struct net_host *host = &net->hosts[what.host];
    switch (what.kind) {
    case NET_UPLINK:
        return host->up_bps;
    case NET_DOWNLINK:
        return host->down_bps;
    case NET_PACKETS:
        return host->packets_ps >= NET_NO_LIMIT ? NET_NO_LIMIT : host->packets_ps * net->packet_bits;
    case NET_WINDOW:
        return host->window_bytes >= NET_NO_LIMIT ? NET_NO_LIMIT : host->window_bytes * 8;
    case NET_SHARED:
        return net->shared[what.host].rate_bps;
    case NET_PATH:
        return net->path_bps[net_edge(net, what.host, what.to)];
    }
    return NET_NO_LIMIT;
}

unsigned net_uses(const struct net *net, uint16_t from, uint16_t to, struct net_use uses[NET_USES_MAX])
{
    uint32_t edge = net_edge(net, from, to), count = net->count;
    double sent = 1 / (1 - net->loss[edge]);
    unsigned used = 0;
    uses[used++] = (struct net_use){NET_UPLINK * count + from, sent};
    uses[used++] = (struct net_use){NET_DOWNLINK * count + to, 1};
    uses[used++] = (struct net_use){NET_PACKETS * count + from, sent};
    uses[used++] = (struct net_use){NET_PACKETS * count + to, 1};
    if (net->rtt_us[edge] != NET_RTT_UNKNOWN)
        uses[used++] = (struct net_use){NET_WINDOW * count + from, net->rtt_us[edge] / 1e6};
    for (uint8_t place = 0; place < net->crosses[edge]; place++)
        uses[used++] =
            (struct net_use){COMMON_KINDS * count + net->shared_of[edge * NET_SHARED_OF_EDGE + place], 1};
    uses[used++] = (struct net_use){net_common_rows(net) + edge, 1};
    return used;
}

static double weigh_shared(const struct net *net, const double *price, uint32_t edge)
{
    double weight = 0;
    for (uint8_t place = 0; place < net->crosses[edge]; place++)
        weight += price[COMMON_KINDS * net->count + net->shared_of[edge * NET_SHARED_OF_EDGE + place]];
    return weight;
}

void net_weigh(const struct net *net, const double *price, double *weight)
{
    uint32_t count = net->count;
    const double *up = price + NET_UPLINK * count, *down = price + NET_DOWNLINK * count;
    const double *packets = price + NET_PACKETS * count, *window = price + NET_WINDOW * count;
    const double *path = price + net_common_rows(net);
    for (uint32_t from = 0; from < count; from++) {
        double per_sent = up[from] + packets[from], per_us = window[from] / 1e6;
        for (uint32_t to = 0; to < count; to++) {
            uint32_t edge = from * count + to;
            double sent = net->loss[edge] > 0 ? per_sent / (1 - net->loss[edge]) : per_sent;
            weight[edge] = sent + down[to] + packets[to] + path[edge];
            if (per_us > 0 && net->rtt_us[edge] != NET_RTT_UNKNOWN)
                weight[edge] += per_us * net->rtt_us[edge];
            if (net->crosses[edge] != 0)
                weight[edge] += weigh_shared(net, price, edge);
            if (net->path_bps[edge] <= 0 || net->hosts[from].children_max == 0)
                weight[edge] = NET_NO_LIMIT;
        }
    }
}
