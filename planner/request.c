/* Names sorted on the way in, indexes turned back on the way out. */
#include "planner/request.h"

#include <string.h>

#include "base/units.h"
#include "planner/age.h"
#include "planner/solve.h"

_Static_assert(NET_SHARED_OF_EDGE >= PLAN_SHARED_MAX, "a path may cross every shared link");
_Static_assert(NET_TREES_MAX == PLAN_TREES_MAX, "a plan takes every forest");

static size_t edges_bytes(uint16_t node_count)
{
    return arena_need((size_t)node_count * node_count * sizeof(double));
}

size_t request_net_bytes(const struct plan_request *request)
{
    return net_bytes(request->node_count, request->shared_count) + 3 * edges_bytes(request->node_count) +
           arena_need(request->node_count * sizeof(uint16_t));
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
    return (double)solve_usable_bps(interface_bps);
}

static void set_host(const struct plan_request *request, uint16_t node, struct net_host *host)
{
    const struct plan_node *from = &request->nodes[node];
    *host =
        (struct net_host){.up_bps = usable_bps(age_up_bps(request, node)),
                          .down_bps = usable_bps(age_down_bps(request, node)),
                          .packets_ps = from->packets_ps == 0 ? NET_NO_LIMIT : (double)from->packets_ps,
                          .window_bytes = from->window_bytes == 0 ? NET_NO_LIMIT : (double)from->window_bytes,
                          .children_max = from->leaf ? 0 : plan_children_max(request),
                          .distinct_max = PLAN_CHILDREN_MAX,
                          .receiver = from->receiver && node != request->source};
    memcpy(host->name, from->name, NAME_BYTES);
}

static void set_edge(struct request_net *result, const struct plan_pins *pins, uint16_t host, uint16_t to)
{
    const struct plan_request *request = result->request;
    struct net *net = &result->net;
    uint16_t from_node = result->node_of[host], to_node = result->node_of[to];
    const struct plan_path *path = &request->paths[from_node][to_node];
    uint32_t edge = net_edge(net, host, to), rtt_us = solve_rtt_us(request, from_node, to_node);
    net->rtt_us[edge] = rtt_us == PLAN_RTT_UNKNOWN ? NET_RTT_UNKNOWN : rtt_us;
    net->loss[edge] = path->loss_ppm / (double)PLAN_WHOLE_PPM;
    if (rtt_us == PLAN_RTT_UNKNOWN || !plan_edge_allowed(request, pins, from_node, to_node))
        net->path_bps[edge] = 0;
    else if (plan_path_limits(request->avb_of, path))
        net->path_bps[edge] = MIN(net->path_bps[edge], usable_bps(age_planned_kbps(path) * UINT64_C(1000)));
    else if (request->assumed_ppm != 0 && !plan_path_counts(request->avb_of, path))
        net->path_bps[edge] =
            MIN(net->path_bps[edge], usable_bps(plan_assumed_bps(request, from_node, to_node)));
    for (uint8_t shared = 0; shared < request->shared_count; shared++)
        if ((path->shared >> shared & 1) != 0)
            net_cross(net, host, to, shared);
}

/* A guess of a line shapes trees, but holds nobody to it: its port does. */
static uint64_t line_as_measured_bps(const struct plan_request *request, const struct plan_path *line,
                                     uint64_t port_bps)
{
    bool limits = plan_path_limits(request->avb_of, line) && !plan_path_told(line);
    return usable_bps(limits ? MIN(port_bps, line->avb_kbps * UINT64_C(1000)) : port_bps);
}

void request_as_measured(struct request_net *result)
{
    const struct plan_request *request = result->request;
    struct net *net = &result->net;
    for (uint16_t host = 0; host < net->count; host++) {
        uint16_t from = result->node_of[host];
        const struct plan_node *node = &request->nodes[from];
        net->hosts[host].up_bps = line_as_measured_bps(request, &request->paths[from][from], node->up_bps);
        net->hosts[host].down_bps = line_as_measured_bps(request, &request->lines_in[from], node->down_bps);
        for (uint16_t to = 0; to < net->count; to++) {
            const struct plan_path *path = &request->paths[from][result->node_of[to]];
            uint32_t edge = net_edge(net, host, to);
            if (net->path_bps[edge] > 0)
                net->path_bps[edge] = plan_path_limits(request->avb_of, path)
                                          ? usable_bps(path->avb_kbps * UINT64_C(1000))
                                          : NET_NO_LIMIT;
        }
    }
}

/* ---- what metrics need besides ---- */

/* Where the measurement gave no interval: what mode.h takes without one. */
static double end_of_interval(uint32_t end_kbps, double unknown_bps, double ends_bps)
{
    return end_kbps == 0 ? unknown_bps : MIN(usable_bps(end_kbps * UINT64_C(1000)), ends_bps);
}

static void set_intervals(const struct request_net *result, double *low_bps, double *high_bps)
{
    const struct net *net = &result->net;
    for (uint16_t host = 0; host < net->count; host++)
        for (uint16_t other = 0; other < net->count; other++) {
            bool swapped = mode_avb_backwards(net, host, other);
            uint16_t from = swapped ? other : host, to = swapped ? host : other;
            uint32_t edge = net_edge(net, host, other);
            const struct plan_path *path =
                &result->request->paths[result->node_of[from]][result->node_of[to]];
            double avb_bps = mode_avb_bps(net, from, to);
            double ends_bps = MIN(net->hosts[from].up_bps, net->hosts[to].down_bps);
            bool counts = plan_path_counts(result->request->avb_of, path);
            bool at_least = counts && plan_path_at_least(path);
            double unknown_bps = at_least ? ends_bps : avb_bps * MODE_CLASS_HIGH;
            low_bps[edge] =
                end_of_interval(counts ? age_low_kbps(path) : 0, avb_bps * MODE_CLASS_LOW, ends_bps);
            high_bps[edge] = end_of_interval(counts ? age_high_kbps(path) : 0, unknown_bps, ends_bps);
        }
}

static bool set_distances(const struct request_net *result, double *distance)
{
    const struct net *net = &result->net;
    bool any = false;
    for (uint16_t from = 0; from < net->count; from++)
        for (uint16_t to = 0; to < net->count; to++) {
            uint32_t known = result->request->paths[result->node_of[from]][result->node_of[to]].distance;
            distance[net_edge(net, from, to)] = known == 0 ? -1.0 : (double)known;
            any |= known != 0;
        }
    return any;
}

/* Of the request's given tree, whose edges are in bounds. */
static void set_given(const struct request_net *result, uint16_t *parents)
{
    uint16_t host_of[PLAN_NODES_MAX];
    const struct plan_tree *given = &result->request->given;
    for (uint16_t host = 0; host < result->net.count; host++) {
        host_of[result->node_of[host]] = host;
        parents[host] = NET_NONE;
    }
    for (uint16_t edge = 0; edge < given->edge_count; edge++)
        parents[host_of[given->edges[edge].to]] = host_of[given->edges[edge].from];
}

static void set_modes(struct request_net *result, struct arena *arena)
{
    const struct plan_request *request = result->request;
    size_t edges = (size_t)result->net.count * result->net.count;
    double *low_bps = arena_alloc(arena, edges * sizeof(double));
    double *high_bps = arena_alloc(arena, edges * sizeof(double));
    double *distance = arena_alloc(arena, edges * sizeof(double));
    uint16_t *given = arena_alloc(arena, result->net.count * sizeof(uint16_t));
    bool distances = set_distances(result, distance);
    set_intervals(result, low_bps, high_bps);
    if (request->metric == PLAN_METRIC_GIVEN)
        set_given(result, given);
    result->modes = (struct mode_options){.metric = request->dcmst_of,
                                          .degree = request->degree,
                                          .ties_random = request->ties_random,
                                          .ties_seed = request->ties_seed,
                                          .distance = distances ? distance : NULL,
                                          .avb_low_bps = low_bps,
                                          .avb_high_bps = high_bps,
                                          .given = request->metric == PLAN_METRIC_GIVEN ? given : NULL};
}

void request_net(const struct plan_request *request, struct arena *arena, struct request_net *result)
{
    const struct plan_pins pins = plan_pins(request);
    uint16_t source = 0;
    result->request = request;
    sort_nodes(request, result->node_of);
    while (result->node_of[source] != request->source)
        source++;
    net_make(&result->net, request->node_count, source, request->shared_count, arena);
    result->net.packet_bits = SOLVE_SYMBOL_WIRE_BYTES * 8;
    for (uint16_t shared = 0; shared < request->shared_count; shared++) {
        memcpy(result->net.shared[shared].name, request->shared[shared].name, NAME_BYTES);
        result->net.shared[shared].rate_bps = usable_bps(request->shared[shared].rate_bps);
    }
    for (uint16_t host = 0; host < result->net.count; host++) {
        set_host(request, result->node_of[host], &result->net.hosts[host]);
        for (uint16_t to = 0; to < result->net.count; to++)
            set_edge(result, &pins, host, to);
    }
    set_modes(result, arena);
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
    uint32_t left_ppm = PLAN_WHOLE_PPM;
    for (uint16_t tree = forest->tree_count; tree-- > 1;) {
        plan->trees[tree].weight_ppm =
            (uint32_t)(forest->weight[tree] * (uint64_t)PLAN_WHOLE_PPM / forest->period);
        left_ppm -= plan->trees[tree].weight_ppm;
    }
    plan->trees[0].weight_ppm = left_ppm;
}

/* On the edge into the host: what is lost is sent again. */
static uint64_t sent_bps(const struct request_net *from, const struct choice *choice, uint16_t tree,
                         uint16_t host)
{
    uint32_t edge = net_edge(&from->net, choice->forest.trees[tree].parent[host], host);
    return (uint64_t)(choose_edge_bps(choice, tree, host) / (1 - from->net.loss[edge]));
}

void request_edge_rates(const struct request_net *from, const struct choice *choice, struct plan *plan)
{
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        for (uint16_t host = 0; host < from->net.count; host++)
            if (choice->forest.trees[tree].parent[host] != NET_NONE)
                plan->into_rate_bps[tree][from->node_of[host]] = sent_bps(from, choice, tree, host);
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
    }
    request_edge_rates(from, choice, plan);
    for (uint16_t host = 0; host < from->net.count; host++)
        if (from->net.hosts[host].receiver && choose_host_bps(choice, host) < slowest_bps)
            slowest_bps = choose_host_bps(choice, host);
    set_weights(&choice->forest, plan);
    plan->rate_bps = solve_payload_bps((uint64_t)slowest_bps);
    plan->bound_bps = solve_payload_bps((uint64_t)choice->bound_bps);
    if (plan->bound_bps < plan->rate_bps)
        plan->bound_bps = plan->rate_bps;
}

void request_search_init(struct request_search *among, const struct net *net, struct arena *arena)
{
    for (uint16_t host = 0; host < net->count; host++) {
        among->member[host] = host == net->source || net->hosts[host].receiver;
        among->pace_bps[host] = NET_NO_LIMIT;
    }
    among->task = (struct task){net, among->member, among->pace_bps};
    shares_init(&among->shares, &among->task, arena);
    search_init(&among->search, &among->task, &among->shares, arena);
}
