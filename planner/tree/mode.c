/* Metrics as keys for Prim, and the trees that need none. */
#include "planner/tree/mode.h"

#include <string.h>

#include "base/units.h"
#include "planner/lp/arborescence.h"
#include "planner/tree/order.h"

#define DEGREE_DEFAULT 2

size_t mode_bytes(uint16_t count)
{
    size_t edges = (size_t)count * count, arborescence_or_grow = arborescence_bytes(count);
    return 3 * arena_need(edges * sizeof(double)) + arena_need(edges * sizeof(uint32_t)) +
           arborescence_or_grow + order_grow_bytes(count) + search_forest_bytes(count);
}

double mode_avb_bps(const struct net *net, uint16_t from, uint16_t to)
{
    double ends_bps = MIN(net->hosts[from].up_bps, net->hosts[to].down_bps);
    return MIN(net->path_bps[net_edge(net, from, to)], ends_bps);
}

bool mode_avb_backwards(const struct net *net, uint16_t from, uint16_t to)
{
    double there_bps = mode_avb_bps(net, from, to), back_bps = mode_avb_bps(net, to, from);
    return back_bps > 0 && (!(there_bps > 0) || back_bps < there_bps);
}

/* Of a pair: where one direction is closed, as that into the source is, the other alone counts. */
static double pair_bps(const struct net *net, uint16_t one, uint16_t other)
{
    return mode_avb_backwards(net, one, other) ? mode_avb_bps(net, other, one)
                                               : mode_avb_bps(net, one, other);
}

static double pair_rtt_us(const struct net *net, uint16_t one, uint16_t other)
{
    uint32_t there_us = net->rtt_us[net_edge(net, one, other)],
             back_us = net->rtt_us[net_edge(net, other, one)];
    uint32_t rtt_us = there_us < back_us ? there_us : back_us;
    return rtt_us == NET_RTT_UNKNOWN ? ORDER_NEVER : rtt_us;
}

static double pair_distance(const struct net *net, const double *distance, uint16_t one, uint16_t other)
{
    double there = distance[net_edge(net, one, other)], back = distance[net_edge(net, other, one)];
    if (there < 0 || back < 0)
        return there < 0 && back < 0 ? ORDER_NEVER : there < 0 ? back : there;
    return MIN(there, back);
}

static double inverse(double rate_bps)
{
    return rate_bps > 0 ? 1 / rate_bps : ORDER_NEVER;
}

/* ---- classes ---- */

static void sift_down(const double *key, uint32_t *heap, uint32_t at, uint32_t size)
{
    for (uint32_t child; (child = 2 * at + 1) < size; at = child) {
        if (child + 1 < size &&
            (key[heap[child + 1]] < key[heap[child]] ||
             (!(key[heap[child]] < key[heap[child + 1]]) && heap[child + 1] > heap[child])))
            child++;
        if (key[heap[at]] < key[heap[child]] ||
            (!(key[heap[child]] < key[heap[at]]) && heap[at] > heap[child]))
            return;
        uint32_t moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
    }
}

/* Descending by key, equal ones by index. */
static void sort_down(const double *key, uint32_t *order, uint32_t size)
{
    for (uint32_t at = size / 2; at-- > 0;)
        sift_down(key, order, at, size);
    for (uint32_t end = size; end-- > 1;) {
        uint32_t moved = order[0];
        order[0] = order[end];
        order[end] = moved;
        sift_down(key, order, 0, end);
    }
}

/* From the best edge down: a class goes on as long as what an edge may have at most is not below what the
 * class's first one has at least. `avb` turns from rates into numbers of classes. */
static void class_edges(const struct mode_options *options, double *avb, uint32_t edges, struct arena *arena)
{
    size_t mark = arena->used;
    uint32_t *order = arena_alloc(arena, edges * sizeof(uint32_t)), class_index = 0;
    double lowest = 0;
    for (uint32_t edge = 0; edge < edges; edge++)
        order[edge] = edge;
    sort_down(avb, order, edges);
    for (uint32_t place = 0; place < edges; place++) {
        uint32_t edge = order[place];
        double low = options->avb_low_bps != NULL ? options->avb_low_bps[edge] : avb[edge] * MODE_CLASS_LOW;
        double high =
            options->avb_high_bps != NULL ? options->avb_high_bps[edge] : avb[edge] * MODE_CLASS_HIGH;
        if (place == 0 || high < lowest) {
            class_index += place > 0;
            lowest = low;
        }
        avb[edge] = avb[edge] > 0 ? class_index : ORDER_NEVER;
    }
    arena->used = mark;
}

/* ---- keys ---- */

static double key_of(const struct net *net, enum plan_metric metric, const struct mode_options *options,
                     uint16_t from, uint16_t to)
{
    switch (metric) {
    case PLAN_METRIC_AVB:
        return inverse(pair_bps(net, from, to));
    case PLAN_METRIC_AVB_DIRECTED:
        return inverse(mode_avb_bps(net, from, to));
    case PLAN_METRIC_LEXICOGRAPHIC:
        return pair_bps(net, from, to); /* for now: classes need all of them */
    case PLAN_METRIC_DISTANCE:
        return pair_distance(net, options->distance, from, to);
    default:
        return pair_rtt_us(net, from, to);
    }
}

static struct order order_by(const struct search *search, enum plan_metric metric,
                             const struct mode_options *options)
{
    const struct net *net = search->task->net;
    uint32_t edges = (uint32_t)net->count * net->count;
    struct order order = {.net = net,
                          .key = arena_alloc(search->arena, edges * sizeof(double)),
                          .random = options->ties_random,
                          .seed = options->ties_seed};
    if (metric == PLAN_METRIC_LEXICOGRAPHIC)
        order.second = arena_alloc(search->arena, edges * sizeof(double));
    for (uint16_t from = 0; from < net->count; from++)
        for (uint16_t to = 0; to < net->count; to++) {
            uint32_t edge = net_edge(net, from, to);
            order.key[edge] = from == to ? 0 : key_of(net, metric, options, from, to);
            if (order.second != NULL)
                order.second[edge] = pair_rtt_us(net, from, to);
        }
    if (metric == PLAN_METRIC_LEXICOGRAPHIC)
        class_edges(options, order.key, edges, search->arena);
    for (uint32_t edge = 0; edge < edges; edge++)
        if (!search->shares->usable[edge] || (order.second != NULL && order.second[edge] >= ORDER_NEVER))
            order.key[edge] = ORDER_NEVER;
    return order;
}

static bool unreached(const struct search *search, uint16_t missing, struct err *err)
{
    const struct net *net = search->task->net;
    for (uint16_t from = 0; from < net->count; from++)
        if (search->shares->usable[net_edge(net, from, missing)])
            return err_set(err,
                           "%s can't be reached: whoever could feed it has all the children it may have, or "
                           "lacks a measurement",
                           net->hosts[missing].name);
    return err_set(err, "%s can't be reached: no host has a path to it and an uplink to use",
                   net->hosts[missing].name);
}

static bool grow(struct search *search, enum plan_metric metric, const struct mode_options *options,
                 uint16_t degree_max, struct net_tree *tree, struct err *err)
{
    struct order order = order_by(search, metric, options);
    uint16_t missing;
    if (order_grow(&order, search->task, degree_max, search->arena, tree, &missing))
        return true;
    return unreached(search, missing, err);
}

/* ---- trees without Prim ---- */

static bool grow_directed(struct search *search, const struct mode_options *options, struct net_tree *tree,
                          struct err *err)
{
    const struct net *net = search->task->net;
    struct order order = order_by(search, PLAN_METRIC_AVB_DIRECTED, options);
    double cost;
    for (uint32_t edge = 0; edge < (uint32_t)net->count * net->count; edge++)
        if (order.key[edge] >= ORDER_NEVER)
            order.key[edge] = ARBORESCENCE_NO_EDGE;
    struct arborescence_task task = {net->count, net->source, order.key, search->task->member};
    if (!arborescence(&task, search->arena, tree->parent, &cost))
        return err_set(err, "some host can't be reached from %s", net->hosts[net->source].name);
    order_prune(search->task, tree);
    return true;
}

static bool star(const struct search *search, struct net_tree *tree, struct err *err)
{
    const struct task *task = search->task;
    const struct net *net = task->net;
    uint16_t children = 0;
    memset(tree->parent, 0xff, net->count * sizeof(uint16_t));
    for (uint16_t host = 0; host < net->count; host++) {
        if (!net->hosts[host].receiver || host == net->source)
            continue;
        if (!search->shares->usable[net_edge(net, net->source, host)])
            return err_set(err, "a star needs a path from %s to %s", net->hosts[net->source].name,
                           net->hosts[host].name);
        tree->parent[host] = net->source;
        children++;
    }
    if (children > net->hosts[net->source].children_max)
        return err_set(err, "a star gives %s %u children, at most %u are allowed",
                       net->hosts[net->source].name, children, net->hosts[net->source].children_max);
    return true;
}

static bool given(const struct search *search, const struct mode_options *options, struct net_tree *tree,
                  struct err *err)
{
    const struct net *net = search->task->net;
    if (options->given == NULL)
        return err_set(err, "no tree was given");
    memcpy(tree->parent, options->given, net->count * sizeof(uint16_t));
    if (!net_tree_valid(net, tree))
        return err_set(err, "the given edges are no tree from %s", net->hosts[net->source].name);
    return true;
}

static bool widest(struct search *search, struct net_tree *tree, struct err *err)
{
    const struct net *net = search->task->net;
    struct net_forest forest = search_forest(net, search->arena);
    if (!(search_run(search, &search_vectors[0], false, &forest) > 0))
        return err_set(err, "no tree from %s reaches everybody", net->hosts[net->source].name);
    memcpy(tree->parent, forest.trees[0].parent, net->count * sizeof(uint16_t));
    return true;
}

/* Those that are not told apart here are Prim's on their own key. */
static bool tree_of(struct search *search, enum plan_metric mode, const struct mode_options *options,
                    struct net_tree *tree, struct err *err)
{
    switch (mode) {
    case PLAN_METRIC_DCMST:
        return grow(search, options->metric, options, options->degree == 0 ? DEGREE_DEFAULT : options->degree,
                    tree, err);
    case PLAN_METRIC_CHAIN:
        return grow(search, PLAN_METRIC_RTT, options, 1, tree, err);
    case PLAN_METRIC_AVB_DIRECTED:
        return grow_directed(search, options, tree, err);
    case PLAN_METRIC_STAR:
        return star(search, tree, err);
    case PLAN_METRIC_GIVEN:
        return given(search, options, tree, err);
    case PLAN_METRIC_WIDEST:
        return widest(search, tree, err);
    case PLAN_METRIC_AUTO:
        return err_set(err, "auto is the planner's own choice, not a tree");
    default:
        return grow(search, mode, options, NET_NONE, tree, err);
    }
}

bool mode_tree(struct search *search, enum plan_metric mode, const struct mode_options *options,
               struct net_tree *tree, struct err *err)
{
    size_t mark = search->arena->used;
    enum plan_metric metric = mode == PLAN_METRIC_DCMST ? options->metric : mode;
    if (metric == PLAN_METRIC_DISTANCE && options->distance == NULL)
        return err_set(err, "no distances are known");
    bool found = tree_of(search, mode, options, tree, err);
    search->arena->used = mark;
    return found && (net_tree_valid(search->task->net, tree) ||
                     err_set(err, "this tree gives a host more children than it may have"));
}
