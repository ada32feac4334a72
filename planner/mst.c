/* Prim's algorithm with a limit on children. O(n^3) at n <= 64: 0.3 million steps at most. */
#include "planner/solve.h"

#include <string.h>

struct growth {
    const struct plan_request *request;
    struct plan_pins pins;
    struct plan_tree *tree;
    uint64_t reached; /* nodes in the tree */
    uint64_t missing; /* receivers not yet in it */
    uint16_t child_counts[PLAN_NODES_MAX];
    uint16_t children_max;
    uint32_t places; /* for children, in the tree */
};

static bool contains(uint64_t set, uint16_t node)
{
    return (set >> node & 1) != 0;
}

/* Whether edge a is to be taken before edge b: by RTT, then by the names, never by the order of the nodes. */
static bool goes_before(const struct plan_request *request, struct plan_edge a, struct plan_edge b)
{
    uint32_t a_us = solve_rtt_us(request, a.from, a.to), b_us = solve_rtt_us(request, b.from, b.to);
    if (a_us != b_us)
        return a_us < b_us;
    int order = strcmp(request->nodes[a.to].name, request->nodes[b.to].name);
    if (order == 0)
        order = strcmp(request->nodes[a.from].name, request->nodes[b.from].name);
    return order < 0;
}

static uint16_t room_of(const struct growth *growth, uint16_t node)
{
    return growth->request->nodes[node].leaf ? 0 : growth->children_max;
}

/* It would take the last place there is, has none for others, and is not the last one: a leaf ends a chain. */
static bool ends_growth(const struct growth *growth, uint16_t node)
{
    return growth->places == 1 && (growth->missing & (growth->missing - 1)) != 0 &&
           room_of(growth, node) == 0;
}

static bool next_edge(const struct growth *growth, struct plan_edge *best)
{
    bool found = false;
    for (uint16_t from = 0; from < growth->request->node_count; from++) {
        if (!contains(growth->reached, from) || growth->child_counts[from] == growth->children_max)
            continue;
        for (uint16_t to = 0; to < growth->request->node_count; to++) {
            struct plan_edge edge = {from, to};
            if (!contains(growth->missing, to) || ends_growth(growth, to) ||
                solve_rtt_us(growth->request, from, to) == PLAN_RTT_UNKNOWN ||
                !plan_edge_allowed(growth->request, &growth->pins, from, to))
                continue;
            if (!found || goes_before(growth->request, edge, *best))
                *best = edge;
            found = true;
        }
    }
    return found;
}

/* Whether some node could feed this one if only all pairs were measured. */
static bool allowed(const struct growth *growth, uint16_t to)
{
    for (uint16_t from = 0; from < growth->request->node_count; from++)
        if (contains(growth->reached, from) && plan_edge_allowed(growth->request, &growth->pins, from, to))
            return true;
    return false;
}

/* Every node in the tree but leaves gives room for at least one child, so only rules, unmeasured pairs and more leaves than
 * places can stop the growth. */
static bool explain_stop(const struct growth *growth, struct err *err)
{
    const struct plan_node *nodes = growth->request->nodes;
    uint16_t missing = 0, open = growth->request->source;
    while (!contains(growth->missing, missing))
        missing++;
    if (!allowed(growth, missing) || ends_growth(growth, missing))
        return err_set(err, "%s can't be reached: leaves, forbidden edges and pins leave nobody to feed it",
                       nodes[missing].name);
    for (uint16_t node = 0; node < growth->request->node_count; node++)
        if (contains(growth->reached, node) && growth->child_counts[node] < growth->children_max &&
            growth->child_counts[open] == growth->children_max)
            open = node;
    return err_set(err, "no RTT was measured between %s and %s, and no other pair leads to %s",
                   nodes[open].name, nodes[missing].name, nodes[missing].name);
}

bool solve_mst(const struct plan_request *request, struct plan_tree *tree, struct err *err)
{
    struct growth growth = {.request = request,
                            .pins = plan_pins(request),
                            .tree = tree,
                            .reached = UINT64_C(1) << request->source,
                            .children_max = plan_children_max(request)};
    for (uint16_t node = 0; node < request->node_count; node++)
        if (request->nodes[node].receiver && node != request->source)
            growth.missing |= UINT64_C(1) << node;
    *tree = (struct plan_tree){0};
    growth.places = room_of(&growth, request->source);
    while (growth.missing != 0) {
        struct plan_edge edge;
        if (!next_edge(&growth, &edge))
            return explain_stop(&growth, err);
        tree->edges[tree->edge_count++] = edge;
        growth.child_counts[edge.from]++;
        growth.places += room_of(&growth, edge.to) - 1u;
        growth.reached |= UINT64_C(1) << edge.to;
        growth.missing &= ~(UINT64_C(1) << edge.to);
    }
    return true;
}
