/* Cuts around single hosts, and around the groups behind a shared link. */
#include "planner/tree/pace.h"

#include <string.h>

#include "base/units.h"

static bool leads_in(const struct net *net, const bool *member, uint16_t from, uint16_t to)
{
    return from != to && member[from] && net_usable(net, from, to);
}

/* The `trees` widest of the paths into the host: each tree enters it by one. */
static double paths_bps(const struct net *net, const bool *member, uint16_t to, uint16_t trees)
{
    double widest_bps[NET_TREES_MAX] = {0}, sum_bps = 0;
    for (uint16_t from = 0; from < net->count; from++) {
        if (!leads_in(net, member, from, to))
            continue;
        uint32_t edge = net_edge(net, from, to); /* repairs take of the uplink what the path loses */
        double path_bps = MIN(net->path_bps[edge], net->hosts[from].up_bps * (1 - net->loss[edge]));
        for (uint16_t place = 0; place < trees; place++)
            if (path_bps > widest_bps[place]) {
                double narrower_bps = widest_bps[place];
                widest_bps[place] = path_bps;
                path_bps = narrower_bps;
            }
    }
    for (uint16_t place = 0; place < trees; place++)
        sum_bps += widest_bps[place];
    return sum_bps;
}

static double into_host_bps(const struct net *net, const bool *member, uint16_t to, uint16_t trees)
{
    const struct net_host *host = &net->hosts[to];
    double most_bps = MIN(host->down_bps, paths_bps(net, member, to, trees));
    if (host->packets_ps < NET_NO_LIMIT)
        most_bps = MIN(most_bps, host->packets_ps * net->packet_bits);
    return most_bps;
}

static bool crosses(const struct net *net, uint16_t from, uint16_t to, uint16_t shared)
{
    uint32_t edge = net_edge(net, from, to);
    for (uint8_t place = 0; place < net->crosses[edge]; place++)
        if (net->shared_of[edge * NET_SHARED_OF_EDGE + place] == shared)
            return true;
    return false;
}

/* Somebody outside the group reaches the host beside the shared link. */
static bool reached_beside(const struct net *net, const bool *member, const bool *group, uint16_t to,
                           uint16_t shared)
{
    for (uint16_t from = 0; from < net->count; from++)
        if (!group[from] && leads_in(net, member, from, to) && !crosses(net, from, to, shared))
            return true;
    return false;
}

/* The largest group that nothing enters but over the shared link: all but the source, less whoever is
 * reached beside it. */
static void cut_at(const struct net *net, const bool *member, uint16_t shared, double *most_bps)
{
    bool group[NET_HOSTS_MAX];
    for (uint16_t host = 0; host < net->count; host++)
        group[host] = host != net->source;
    for (bool shrunk = true; shrunk;) {
        shrunk = false;
        for (uint16_t host = 0; host < net->count; host++)
            if (group[host] && reached_beside(net, member, group, host, shared)) {
                group[host] = false;
                shrunk = true;
            }
    }
    for (uint16_t host = 0; host < net->count; host++)
        if (group[host])
            most_bps[host] = MIN(most_bps[host], net->shared[shared].rate_bps);
}

void pace_most(const struct net *net, const bool *member, uint16_t trees, double *most_bps)
{
    for (uint16_t host = 0; host < net->count; host++)
        most_bps[host] = into_host_bps(net, member, host, trees);
    for (uint16_t shared = 0; shared < net->shared_count; shared++)
        cut_at(net, member, shared, most_bps);
    for (uint16_t host = 0; host < net->count; host++)
        if (host == net->source || !net->hosts[host].receiver)
            most_bps[host] = NET_NO_LIMIT;
}

double pace_slowest_bps(const struct net *net, const double *most_bps, const double *pace_bps)
{
    double least_bps = NET_NO_LIMIT;
    for (uint16_t host = 0; host < net->count; host++)
        if (pace_bps[host] >= NET_NO_LIMIT)
            least_bps = MIN(least_bps, most_bps[host]);
    return least_bps;
}

bool pace_set(const struct net *net, const double *most_bps, double bps, double cap_bps, double *pace_bps)
{
    bool left = false;
    for (uint16_t host = 0; host < net->count; host++) {
        if (host == net->source || !net->hosts[host].receiver)
            continue;
        if (pace_bps[host] >= NET_NO_LIMIT && most_bps[host] <= bps)
            pace_bps[host] = MIN(most_bps[host], cap_bps);
        left |= pace_bps[host] >= NET_NO_LIMIT;
    }
    return left;
}
