/* Small requests and plans for tests. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "plan/plan.h"

/* `count` nodes "n0" … with 1 Gbit/s both ways, all receivers but n0, the source; RTT 10 ms everywhere. */
static inline struct plan_request example_request(uint16_t count)
{
    struct plan_request request = {.job = 7, .epoch = 3, .node_count = count, .trees_max = 1};
    for (uint16_t node = 0; node < count; node++) {
        snprintf(request.nodes[node].name, NAME_BYTES, "n%u", node);
        request.nodes[node].up_bps = request.nodes[node].down_bps = 1000000000;
        request.nodes[node].receiver = node != 0;
        for (uint16_t to = 0; to < count; to++)
            request.paths[node][to].rtt_us = node == to ? 0 : 10000;
    }
    return request;
}

/* "0-1 0-2 2-3" */
static inline struct plan_tree example_tree(const char *edges)
{
    struct plan_tree tree = {.weight_ppm = 1000000};
    unsigned from, to;
    int used;
    for (; sscanf(edges, "%u-%u %n", &from, &to, &used) == 2; edges += used)
        tree.edges[tree.edge_count++] = (struct plan_edge){(uint16_t)from, (uint16_t)to};
    return tree;
}

static inline struct plan example_plan(const struct plan_request *request, const char *edges,
                                       uint64_t edge_rate_bps)
{
    struct plan plan = {.job = request->job,
                        .epoch = request->epoch,
                        .node_count = request->node_count,
                        .source = request->source,
                        .rate_bps = edge_rate_bps,
                        .bound_bps = edge_rate_bps,
                        .tree_count = 1};
    plan.trees[0] = example_tree(edges);
    plan.edge_rate_bps[0] = edge_rate_bps;
    return plan;
}
