/* Prints the picture of one plan, for picture_boxes_test.py and for eyes:
 *   picture_draw svg|dot star|chain|random|mixed SITES TREES LETTERS SEED
 * LETTERS is the length of the longest names; what is known, how old it is, what is full and what holds the plan is
 * drawn by the seed. The plan need not be one that interfaces can carry. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/units.h"
#include "example.h"
#include "plan/picture.h"

#define STAR_CHILDREN 15u

static struct plan_request request;
static struct plan plan;
static char text[PICTURE_BYTES_MAX];

/* Each third name is as long as may be, others are shorter. */
static void name_nodes(struct rng *rng, unsigned letters)
{
    for (uint16_t node = 0; node < request.node_count; node++) {
        char *name = request.nodes[node].name;
        size_t length = (size_t)snprintf(name, NAME_BYTES, "s%u", node);
        size_t wanted = node % 3 == 0 ? letters : length + rng_below(rng, letters);
        for (; length < wanted && length < letters && length < NAME_BYTES - 1; length++)
            name[length] = (char)(length % 9 == 8 ? '-' : 'a' + (char)rng_below(rng, 26));
        name[length] = '\0';
        request.nodes[node].up_bps = 1000000000 + rng_below(rng, 4) * 1000000000;
        request.nodes[node].down_bps = 500000000 + rng_below(rng, 4) * 500000000;
    }
}

static uint16_t parent_of(struct rng *rng, const char *kind, uint16_t place, const uint16_t *children)
{
    uint16_t parent;
    if (strcmp(kind, "star") == 0)
        return (uint16_t)((place - 1) / STAR_CHILDREN);
    if (strcmp(kind, "chain") == 0)
        return (uint16_t)(place - 1);
    do
        parent = (uint16_t)rng_below(rng, place);
    while (children[parent] == PLAN_CHILDREN_MAX);
    return parent;
}

/* The sites in any order, each below one that came before; the first is the source. */
static void draw_tree(struct rng *rng, const char *kind, struct plan_tree *tree)
{
    uint16_t order[PLAN_NODES_MAX], children[PLAN_NODES_MAX] = {0};
    for (uint16_t place = 0; place < request.node_count; place++)
        order[place] = place;
    for (uint16_t place = (uint16_t)(request.node_count - 1); place > 1; place--) {
        uint16_t other = (uint16_t)(1 + rng_below(rng, place)), node = order[place];
        order[place] = order[other];
        order[other] = node;
    }
    for (uint16_t place = 1; place < request.node_count; place++) {
        uint16_t parent = parent_of(rng, kind, place, children);
        children[parent]++;
        tree->edges[tree->edge_count++] = (struct plan_edge){order[parent], order[place]};
    }
    if (!plan_tree_order(tree, request.node_count, 0))
        abort();
}

static void draw_edges(struct rng *rng, uint16_t tree)
{
    for (uint16_t edge = 0; edge < plan.trees[tree].edge_count; edge++) {
        uint16_t from = plan.trees[tree].edges[edge].from, to = plan.trees[tree].edges[edge].to;
        uint64_t rate_bps = 1000000 + rng_below(rng, 1000000000);
        plan.into_rate_bps[tree][to] = rng_below(rng, 8) == 0 ? rate_bps : 0;
        plan.into_known[tree][to].basis = (uint8_t)rng_below(rng, PLAN_BASIS_COUNT);
        if (plan.into_known[tree][to].basis == PLAN_BASIS_MEASURED)
            plan.into_known[tree][to].age_s =
                (uint32_t)(1 + (rng_below(rng, UINT32_MAX) >> rng_below(rng, 32)));
        if (rng_below(rng, 4) == 0)
            request.paths[from][to].avb_kbps = (uint32_t)(plan_edge_rate_bps(&plan, tree, to) / 1000);
    }
}

static void draw_limits(struct rng *rng)
{
    plan.why.limit_count = (uint16_t)rng_below(rng, 6);
    for (uint16_t index = 0; index < plan.why.limit_count; index++) {
        uint16_t node = (uint16_t)rng_below(rng, request.node_count);
        plan.why.limits[index] =
            (struct plan_why_limit){.limit = {.row = rng_below(rng, 2) == 0 ? PLAN_ROW_PATH : PLAN_ROW_UPLINK,
                                              .node = node,
                                              .to = (uint16_t)((node + 1) % request.node_count)},
                                    .raised = rng_below(rng, UINT32_MAX) << 8,
                                    .gain_ppm = (uint32_t)rng_below(rng, 3) * 350000};
    }
}

static void draw_plan(struct rng *rng, const char *kind, uint16_t trees)
{
    static const char *const kinds[] = {"random", "star", "chain"};
    plan = example_plan(&request, "", 1000000 + rng_below(rng, 900000000));
    plan.tree_count = trees;
    plan.delay_us = rng_below(rng, 300000);
    plan.rate_bps = UINT64_MAX;
    plan.bound_bps = plan.edge_rate_bps[0] * trees;
    for (uint16_t tree = 0; tree < trees; tree++) {
        plan.trees[tree] = (struct plan_tree){.weight_ppm = PLAN_WHOLE_PPM / trees};
        plan.edge_rate_bps[tree] = plan.edge_rate_bps[0];
        draw_tree(rng, strcmp(kind, "mixed") == 0 ? kinds[rng_below(rng, 3)] : kind, &plan.trees[tree]);
        draw_edges(rng, tree);
    }
    for (uint16_t node = 1; node < request.node_count; node++)
        plan.rate_bps = MIN(plan.rate_bps, plan_receiver_bps(&plan, &request, node));
    draw_limits(rng);
}

int main(int argc, char **argv)
{
    unsigned long sites = argc == 7 ? strtoul(argv[3], NULL, 10) : 0,
                  trees = argc == 7 ? strtoul(argv[4], NULL, 10) : 0;
    if (sites < 2 || sites > PLAN_NODES_MAX || trees < 1 || trees > PLAN_TREES_MAX) {
        fprintf(stderr, "picture_draw svg|dot star|chain|random|mixed SITES TREES LETTERS SEED\n");
        return 2;
    }
    struct rng rng;
    rng_init(&rng, strtoull(argv[6], NULL, 10));
    request = example_request((uint16_t)sites);
    request.size_bytes = rng_below(&rng, 4) == 0 ? 0 : UINT64_C(1) << rng_below(&rng, 50);
    name_nodes(&rng, (unsigned)strtoul(argv[5], NULL, 10));
    draw_plan(&rng, argv[2], (uint16_t)trees);
    if (!(strcmp(argv[1], "dot") == 0 ? picture_dot : picture_svg)(
            &plan, &request, "job <films> & \"rushes\"", text, sizeof(text)))
        return 1;
    printf("%s", text);
    return 0;
}
