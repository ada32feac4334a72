#include "app/probe/worth.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "planner/solve.h"

#define OBJECT_BYTES 1000000000
#define RTT_US       20000

static struct plan_request request;
static struct plan plan;

static unsigned site_of(const struct worth_net *net, uint16_t node)
{
    return (unsigned)node * net->sites / net->nodes;
}

static bool leaves_site(const struct worth_net *net, uint16_t from, uint16_t to)
{
    return site_of(net, from) != site_of(net, to);
}

static uint32_t kbps(uint64_t bps)
{
    return (uint32_t)MAX(bps / 1000, UINT64_C(1));
}

static void set_path(struct plan_path *path, uint64_t true_bps, const struct estimate *measured)
{
    path->avb_kbps = kbps(true_bps);
    if (measured == NULL)
        return;
    path->avb_kbps = kbps(measured->avail_bps);
    path->avb_low_kbps = kbps(measured->low_bps);
    path->avb_high_kbps = measured->kind == ESTIMATE_VALUE ? kbps(measured->high_bps) : 0;
}

/* `measured` NULL: the truth. */
static void make_request(const struct worth_net *net, const struct estimate *measured)
{
    plan_request_init(&request);
    request.job = request.epoch = 1;
    request.node_count = net->nodes;
    request.metric = PLAN_METRIC_AUTO;
    request.trees_max = WORTH_TREES;
    request.size_bytes = OBJECT_BYTES;
    request.shared_count = net->sites;
    for (uint16_t site = 0; site < net->sites; site++) {
        snprintf(request.shared[site].name, NAME_BYTES, "s%u", site);
        request.shared[site].rate_bps = net->egress_bps;
    }
    for (uint16_t from = 0; from < net->nodes; from++) {
        struct plan_node *node = &request.nodes[from];
        snprintf(node->name, NAME_BYTES, "h%02u", from);
        node->up_bps = node->down_bps = net->port_bps;
        node->receiver = from != 0;
        for (uint16_t to = 0; to < net->nodes; to++) {
            if (from == to)
                continue;
            unsigned pair = (unsigned)from * net->nodes + to;
            struct plan_path *path = &request.paths[from][to];
            path->rtt_us = RTT_US;
            set_path(path, net->avail_bps[pair], measured != NULL ? &measured[pair] : NULL);
            path->shared = leaves_site(net, from, to) ? (uint16_t)(1u << site_of(net, from)) : 0;
        }
    }
}

/* By how much the plan's rates may grow until the true net is full. */
static double growth(const struct worth_net *net)
{
    static double path_bps[PLAN_NODES_MAX][PLAN_NODES_MAX];
    double most = INFINITY;
    for (uint16_t from = 0; from < net->nodes; from++)
        for (uint16_t to = 0; to < net->nodes; to++)
            path_bps[from][to] = 0;
    for (uint16_t tree = 0; tree < plan.tree_count; tree++)
        for (uint16_t i = 0; i < plan.trees[tree].edge_count; i++) {
            struct plan_edge edge = plan.trees[tree].edges[i];
            path_bps[edge.from][edge.to] += (double)plan_edge_rate_bps(&plan, tree, edge.to);
        }
    double site_bps[PLAN_NODES_MAX] = {0}, up_bps[PLAN_NODES_MAX] = {0}, down_bps[PLAN_NODES_MAX] = {0};
    for (uint16_t from = 0; from < net->nodes; from++)
        for (uint16_t to = 0; to < net->nodes; to++) {
            double used_bps = path_bps[from][to];
            site_bps[site_of(net, from)] += leaves_site(net, from, to) ? used_bps : 0;
            up_bps[from] += used_bps;
            down_bps[to] += used_bps;
            if (used_bps > 0)
                most =
                    fmin(most, (double)solve_usable_bps(net->avail_bps[from * net->nodes + to]) / used_bps);
        }
    for (uint16_t node = 0; node < net->nodes; node++) {
        double port_bps = (double)solve_usable_bps(net->port_bps);
        most = fmin(most, port_bps / fmax(fmax(up_bps[node], down_bps[node]), 1));
    }
    for (uint16_t site = 0; site < net->sites; site++)
        most = fmin(most, (double)solve_usable_bps(net->egress_bps) / fmax(site_bps[site], 1));
    return most;
}

static double carried_bps(const struct worth_net *net, const struct estimate *measured, struct arena *solver)
{
    struct err err;
    make_request(net, measured);
    return solve(&request, solver, &plan, &err) ? (double)plan.rate_bps * growth(net) : 0;
}

double worth(const struct worth_net *net, const struct estimate *measured, struct arena *solver)
{
    double best_bps = carried_bps(net, NULL, solver);
    return best_bps > 0 ? carried_bps(net, measured, solver) / best_bps : 0;
}
