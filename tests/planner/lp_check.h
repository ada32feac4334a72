/* Judges a packing by the net alone: what its trees take of every row, and whether its prices prove its
 * bound. Shares no code with the solver but the net's. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "planner/lp/packing.h"

#define CHECK_HOSTS_MAX 24
#define CHECK_NO_EDGE   1e29

static inline bool check_near(double a, double b, double relative)
{
    double difference = a > b ? a - b : b - a, size = a > b ? a : b;
    return difference <= relative * size;
}

/* ---- the cheapest tree: Chu and Liu's algorithm, circles contracted one by one ---- */

struct check_graph {
    uint16_t count; /* host 0 is the root */
    double weight[CHECK_HOSTS_MAX][CHECK_HOSTS_MAX];
};

static inline double check_cheapest(struct check_graph graph)
{
    double cost = 0;
    for (;;) {
        uint16_t entered[CHECK_HOSTS_MAX] = {0}, mark[CHECK_HOSTS_MAX] = {0}, circle = 0;
        for (uint16_t to = 1; to < graph.count; to++) {
            entered[to] = to == 1 ? 0 : 1;
            for (uint16_t from = 0; from < graph.count; from++)
                if (from != to && graph.weight[from][to] < graph.weight[entered[to]][to])
                    entered[to] = from;
            double least = graph.weight[entered[to]][to];
            if (least >= CHECK_NO_EDGE)
                return CHECK_NO_EDGE;
            cost += least;
            for (uint16_t from = 0; from < graph.count; from++)
                graph.weight[from][to] -= graph.weight[from][to] < CHECK_NO_EDGE ? least : 0;
        }
        for (uint16_t start = 1; start < graph.count && circle == 0; start++) {
            uint16_t at = start;
            while (at != 0 && mark[at] != start) {
                if (mark[at] != 0)
                    break;
                mark[at] = start;
                at = entered[at];
            }
            circle = at != 0 && mark[at] == start ? at : 0;
        }
        if (circle == 0)
            return cost;
        for (uint16_t member = entered[circle]; member != circle; member = entered[member]) {
            for (uint16_t other = 0; other < graph.count; other++) {
                if (graph.weight[other][member] < graph.weight[other][circle])
                    graph.weight[other][circle] = graph.weight[other][member];
                if (graph.weight[member][other] < graph.weight[circle][other])
                    graph.weight[circle][other] = graph.weight[member][other];
                graph.weight[other][member] = graph.weight[member][other] = 1e30;
            }
            /* Out of the way, and entered for nothing from the root. */
            graph.weight[0][member] = 0;
        }
        graph.weight[circle][circle] = 1e30;
    }
}

/* Over the hosts chosen. */
static inline double check_cost(const struct net *net, const double *weight, const bool *chosen)
{
    struct check_graph graph = {0};
    uint16_t hosts[CHECK_HOSTS_MAX] = {net->source};
    graph.count = 1;
    for (uint16_t host = 0; host < net->count; host++)
        if (chosen[host] && host != net->source)
            hosts[graph.count++] = host;
    for (uint16_t from = 0; from < graph.count; from++)
        for (uint16_t to = 0; to < graph.count; to++)
            graph.weight[from][to] = from == to ? 1e30 : weight[net_edge(net, hosts[from], hosts[to])];
    return check_cheapest(graph);
}

/* ---- prices ---- */

static inline void check_weights(const struct net *net, const struct packing_proof *proof, double *weight)
{
    struct net_use uses[NET_USES_MAX];
    for (uint16_t from = 0; from < net->count; from++)
        for (uint16_t to = 0; to < net->count; to++) {
            double sum = proof->children[from];
            bool usable = net_usable(net, from, to);
            unsigned count = net_uses(net, from, to, uses);
            for (unsigned index = 0; index < count; index++) {
                sum += proof->row[uses[index].row] * uses[index].per_bit;
                usable = usable && (net_capacity(net, uses[index].row) > 0 || uses[index].per_bit <= 0);
            }
            weight[net_edge(net, from, to)] = usable ? sum : 1e30;
        }
}

static inline void check_proof(const struct net *net, const struct packing *packing, double cap_bps)
{
    static double weight[CHECK_HOSTS_MAX * CHECK_HOSTS_MAX];
    const struct packing_proof *proof = &packing->proof;
    double proven_bps = 0, besides = proof->sum, least = 1e30;
    uint16_t relays[CHECK_HOSTS_MAX], relay_count = 0;
    bool chosen[CHECK_HOSTS_MAX];
    for (uint32_t row = 0; row < net_rows(net); row++) {
        assert_true(proof->row[row] >= 0);
        if (proof->row[row] > 0)
            proven_bps += proof->row[row] * net_capacity(net, row);
    }
    if (proof->sum > 0)
        proven_bps += proof->sum * cap_bps;
    for (uint16_t host = 0; host < net->count; host++) {
        assert_true(proof->children[host] >= 0);
        besides -= proof->children[host] * net->hosts[host].children_max;
        chosen[host] = host == net->source || net->hosts[host].receiver;
        if (!chosen[host])
            relays[relay_count++] = host;
    }
    if (!check_near(proven_bps, packing->bound_bps, 1e-9))
        fail_msg("prices prove %.3f, not %.3f", proven_bps, packing->bound_bps);
    check_weights(net, proof, weight);
    for (uint32_t some = 0; some < 1u << relay_count; some++) {
        for (uint16_t relay = 0; relay < relay_count; relay++)
            chosen[relays[relay]] = some >> relay & 1;
        double cost = check_cost(net, weight, chosen);
        least = cost < least ? cost : least;
    }
    if (least < CHECK_NO_EDGE && least + besides < 1 - 1e-9)
        fail_msg("a tree costs %.12f under the prices that are to prove a bound", least + besides);
}

/* ---- trees ---- */

static inline void check_tree(const struct net *net, const struct net_tree *tree)
{
    for (uint16_t host = 0; host < net->count; host++) {
        uint16_t above = host, steps = 0;
        if (tree->parent[host] == NET_NONE) {
            assert_true(host == net->source || !net->hosts[host].receiver);
            continue;
        }
        assert_true(net_usable(net, tree->parent[host], host));
        for (; above != net->source && steps <= net->count; steps++)
            above = tree->parent[above];
        assert_int_equal(above, net->source);
    }
}

static inline void check_loads(const struct net *net, const struct packing *packing, bool fan_out)
{
    static double use[CHECK_HOSTS_MAX * CHECK_HOSTS_MAX + 4 * CHECK_HOSTS_MAX + NET_SHARED_MAX];
    double children_bps[CHECK_HOSTS_MAX] = {0}, sum_bps = 0;
    memset(use, 0, sizeof(use));
    for (uint16_t tree = 0; tree < packing->tree_count; tree++) {
        check_tree(net, &packing->trees[tree]);
        assert_true(packing->tree_bps[tree] > 0);
        assert_true(tree == 0 || packing->tree_bps[tree] <= packing->tree_bps[tree - 1]);
        net_add_use(net, &packing->trees[tree], packing->tree_bps[tree], use);
        sum_bps += packing->tree_bps[tree];
        for (uint16_t host = 0; host < net->count; host++)
            if (packing->trees[tree].parent[host] != NET_NONE)
                children_bps[packing->trees[tree].parent[host]] += packing->tree_bps[tree];
    }
    assert_true(check_near(sum_bps, packing->rate_bps, 1e-12));
    for (uint32_t row = 0; row < net_rows(net); row++)
        assert_true(use[row] <= net_capacity(net, row) * (1 + 1e-12));
    for (uint16_t host = 0; host < net->count && fan_out; host++)
        if (children_bps[host] > (net->hosts[host].children_max + 1e-6) * packing->rate_bps)
            fail_msg("%.3f of %.3f bound %.3f", children_bps[host], packing->rate_bps, packing->bound_bps);
}
