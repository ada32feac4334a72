/* Names sorted on the way in, indexes turned back on the way out. */
#include "planner/request.h"

#include <string.h>

#include "base/units.h"
#include "planner/solve.h"

#define WHOLE_PPM 1000000

size_t request_net_bytes(uint16_t node_count)
{
    return net_bytes(node_count, 0);
}

static void sort_nodes(const struct plan_request *request, uint16_t *node_of)
{
    for (uint16_t node = 0; node < request->node_count; node++) {
        uint16_t place = node;
        for (; place > 0 && strcmp(request->nodes[node_of[place - 1]].name, request->nodes[node].name) > 0;
             place--)
            node_of[place] = node_of[place - 1];
        node_of[place] = node;
    }
}

static double usable_bps(uint64_t interface_bps)
{
    return (double)muldiv64(interface_bps, WHOLE_PPM - SOLVE_HEADROOM_PPM, WHOLE_PPM);
}

static void set_host(const struct plan_request *request, uint16_t node, struct net_host *host)
{
    const struct plan_node *from = &request->nodes[node];
    uint16_t children_max = request->children_max == 0 ? PLAN_CHILDREN_MAX : request->children_max;
    *host = (struct net_host){.up_bps = usable_bps(from->up_bps),
                              .down_bps = usable_bps(from->down_bps),
                              .packets_ps = NET_NO_LIMIT,
                              .window_bytes = NET_NO_LIMIT,
                              .children_max = children_max,
                              .distinct_max = PLAN_CHILDREN_MAX,
                              .receiver = from->receiver && node != request->source};
    memcpy(host->name, from->name, NAME_BYTES);
}

void request_net(const struct plan_request *request, struct arena *arena, struct request_net *result)
{
    uint16_t source = 0;
    result->request = request;
    sort_nodes(request, result->node_of);
    while (result->node_of[source] != request->source)
        source++;
    net_init(&result->net, request->node_count, source, 0, arena);
    result->net.packet_bits = SOLVE_SYMBOL_WIRE_BYTES * 8;
    for (uint16_t host = 0; host < result->net.count; host++) {
        set_host(request, result->node_of[host], &result->net.hosts[host]);
        for (uint16_t to = 0; to < result->net.count; to++) {
            uint32_t edge = net_edge(&result->net, host, to);
            uint32_t rtt_us = solve_rtt_us(request, result->node_of[host], result->node_of[to]);
            result->net.rtt_us[edge] = rtt_us == PLAN_RTT_UNKNOWN ? NET_RTT_UNKNOWN : rtt_us;
            if (rtt_us == PLAN_RTT_UNKNOWN)
                result->net.path_bps[edge] = 0;
        }
    }
}

void request_tree(const struct request_net *from, const struct net_tree *grown, struct plan_tree *tree)
{
    uint16_t queue[PLAN_NODES_MAX], begin = 0, end = 0;
    tree->edge_count = 0;
    queue[end++] = from->net.source;
    for (; begin < end; begin++)
        for (uint16_t host = 0; host < from->net.count; host++)
            if (grown->parent[host] == queue[begin]) {
                tree->edges[tree->edge_count++] =
                    (struct plan_edge){from->node_of[queue[begin]], from->node_of[host]};
                queue[end++] = host;
            }
}

/* Shares in millionths that add up: the first tree takes what rounding leaves. */
static void set_weights(const struct net_forest *forest, struct plan *plan)
{
    uint32_t left_ppm = WHOLE_PPM;
    for (uint16_t tree = forest->tree_count; tree-- > 1;) {
        plan->trees[tree].weight_ppm =
            (uint32_t)(forest->weight[tree] * (uint64_t)WHOLE_PPM / forest->period);
        left_ppm -= plan->trees[tree].weight_ppm;
    }
    plan->trees[0].weight_ppm = left_ppm;
}

static uint64_t payload_bps(double wire_bps)
{
    return muldiv64((uint64_t)wire_bps, SOLVE_SYMBOL_BYTES, SOLVE_SYMBOL_WIRE_BYTES);
}

void request_plan(const struct request_net *from, const struct choice *choice, struct plan *plan)
{
    const struct plan_request *request = from->request;
    double slowest_bps = choice->judgement.rate_bps;
    *plan = (struct plan){.job = request->job,
                          .epoch = request->epoch,
                          .node_count = request->node_count,
                          .source = request->source,
                          .delay_us = choice->judgement.delay_us,
                          .tree_count = choice->forest.tree_count};
    for (uint16_t tree = 0; tree < plan->tree_count; tree++) {
        const struct net_tree *grown = &choice->forest.trees[tree];
        request_tree(from, grown, &plan->trees[tree]);
        plan->edge_rate_bps[tree] =
            (uint64_t)(choice->judgement.rate_bps * choice->forest.weight[tree] / choice->forest.period);
        for (uint16_t host = 0; host < from->net.count; host++)
            if (grown->parent[host] != NET_NONE)
                plan->into_rate_bps[tree][from->node_of[host]] =
                    (uint64_t)choose_edge_bps(choice, tree, host);
    }
    for (uint16_t host = 0; host < from->net.count; host++)
        if (from->net.hosts[host].receiver && choose_host_bps(choice, host) < slowest_bps)
            slowest_bps = choose_host_bps(choice, host);
    set_weights(&choice->forest, plan);
    plan->rate_bps = payload_bps(slowest_bps);
    plan->bound_bps = payload_bps(choice->bound_bps);
    if (plan->bound_bps < plan->rate_bps)
        plan->bound_bps = plan->rate_bps;
}
