/* Trees and forests: whether they are what they should be, and what they carry. */
#include <string.h>

#include "planner/net/net.h"

size_t net_tree_bytes(const struct net *net)
{
    return arena_need(net->count * sizeof(uint16_t));
}

struct net_tree net_tree_new(const struct net *net, struct arena *arena)
{
    struct net_tree tree = {arena_alloc(arena, net->count * sizeof(uint16_t))};
    memset(tree.parent, 0xff, net->count * sizeof(uint16_t));
    return tree;
}

/* Whether walking up from the host ends at the source: at most `count` steps, else there is a circle. */
static bool leads_to_source(const struct net *net, const struct net_tree *tree, uint16_t host)
{
    for (uint16_t steps = 0; steps < net->count && host < net->count; steps++) {
        if (host == net->source)
            return true;
        host = tree->parent[host];
    }
    return false;
}

bool net_tree_valid(const struct net *net, const struct net_tree *tree)
{
    uint16_t children[NET_HOSTS_MAX] = {0};
    if (tree->parent[net->source] != NET_NONE)
        return false;
    for (uint16_t host = 0; host < net->count; host++) {
        uint16_t parent = tree->parent[host];
        if (host == net->source || (parent == NET_NONE && !net->hosts[host].receiver))
            continue;
        if (parent >= net->count || !net_usable(net, parent, host) || !leads_to_source(net, tree, host))
            return false;
        children[parent]++;
    }
    for (uint16_t host = 0; host < net->count; host++) {
        bool wanted = host == net->source || net->hosts[host].receiver || tree->parent[host] == NET_NONE;
        if (children[host] > net->hosts[host].children_max || (!wanted && children[host] == 0))
            return false;
    }
    return true;
}

/* Whether a tree before this one has the same edge. */
static bool seen_before(const struct net_forest *forest, uint16_t tree, uint16_t host)
{
    for (uint16_t earlier = 0; earlier < tree; earlier++)
        if (forest->trees[earlier].parent[host] == forest->trees[tree].parent[host])
            return true;
    return false;
}

bool net_forest_valid(const struct net *net, const struct net_forest *forest)
{
    uint16_t distinct[NET_HOSTS_MAX] = {0};
    uint32_t period = 0;
    if (forest->tree_count == 0 || forest->tree_count > NET_TREES_MAX || forest->period > NET_PERIOD_MAX)
        return false;
    for (uint16_t tree = 0; tree < forest->tree_count; tree++) {
        if (forest->weight[tree] == 0 || !net_tree_valid(net, &forest->trees[tree]))
            return false;
        period += forest->weight[tree];
        for (uint16_t host = 0; host < net->count; host++) {
            uint16_t parent = forest->trees[tree].parent[host];
            if (parent != NET_NONE && !seen_before(forest, tree, host) &&
                ++distinct[parent] > net->hosts[parent].distinct_max)
                return false;
        }
    }
    return period == forest->period;
}

void net_add_use(const struct net *net, const struct net_tree *tree, double weight, double *use)
{
    struct net_use uses[NET_USES_MAX];
    for (uint16_t host = 0; host < net->count; host++) {
        if (tree->parent[host] == NET_NONE)
            continue;
        unsigned count = net_uses(net, tree->parent[host], host, uses);
        for (unsigned index = 0; index < count; index++)
            use[uses[index].row] += weight * uses[index].per_bit;
    }
}

double net_forest_rate(const struct net *net, const struct net_forest *forest, double *use, uint32_t *tight)
{
    uint32_t rows = net_rows(net);
    double rate_bps = NET_NO_LIMIT;
    *tight = 0;
    memset(use, 0, rows * sizeof(double));
    for (uint16_t tree = 0; tree < forest->tree_count; tree++)
        net_add_use(net, &forest->trees[tree], forest->weight[tree], use);
    for (uint32_t row = 0; row < rows; row++) {
        double capacity = use[row] > 0 ? net_capacity(net, row) : NET_NO_LIMIT;
        if (capacity < NET_NO_LIMIT && capacity * forest->period < rate_bps * use[row]) {
            rate_bps = capacity * forest->period / use[row];
            *tight = row;
        }
    }
    return rate_bps;
}

bool net_tree_delay_us(const struct net *net, const struct net_tree *tree, uint64_t *delay_us)
{
    *delay_us = 0;
    for (uint16_t host = 0; host < net->count; host++) {
        uint64_t sum_us = 0;
        if (!net->hosts[host].receiver)
            continue;
        for (uint16_t below = host; tree->parent[below] != NET_NONE; below = tree->parent[below]) {
            uint32_t rtt_us = net->rtt_us[net_edge(net, tree->parent[below], below)];
            if (rtt_us == NET_RTT_UNKNOWN)
                return false;
            sum_us += rtt_us;
        }
        *delay_us = sum_us / 2 > *delay_us ? sum_us / 2 : *delay_us;
    }
    return true;
}
