/* The trees of a plan as sites are told of them. */
#include <string.h>

#include "node/role/source.h"

_Static_assert(PLAN_TREES_MAX == CONTROL_STRIPES_MAX, "every tree of a plan can be told");

/* The weight of each tree out of `period` blocks, rounded, at least 1; the heaviest makes up for what is too
 * many or too few. False: it can't. */
static bool round_weights(const struct plan *plan, uint32_t period, uint8_t *weights)
{
    uint32_t sum = 0;
    uint16_t heaviest = 0;
    for (uint16_t tree = 0; tree < plan->tree_count; tree++) {
        uint32_t weight = (plan->trees[tree].weight_ppm * period + PLAN_WHOLE_PPM / 2) / PLAN_WHOLE_PPM;
        weights[tree] = (uint8_t)MAX(weight, 1u);
        sum += weights[tree];
        heaviest = weights[tree] > weights[heaviest] ? tree : heaviest;
    }
    if (sum >= period + weights[heaviest])
        return false;
    weights[heaviest] = (uint8_t)(weights[heaviest] + period - sum);
    return true;
}

/* How far the tree that is furthest off is from its share, in ppm. */
static uint32_t worst_ppm(const struct plan *plan, uint32_t period, const uint8_t *weights)
{
    uint32_t worst = 0;
    for (uint16_t tree = 0; tree < plan->tree_count; tree++) {
        uint32_t share = weights[tree] * PLAN_WHOLE_PPM / period, planned = plan->trees[tree].weight_ppm;
        uint32_t off = share > planned ? share - planned : planned - share;
        worst = MAX(worst, off);
    }
    return worst;
}

void source_weights(const struct plan *plan, uint8_t weights[CONTROL_STRIPES_MAX])
{
    uint32_t best_ppm = UINT32_MAX;
    for (uint32_t period = plan->tree_count; period <= CONTROL_WEIGHT_MAX; period++) {
        uint8_t rounded[CONTROL_STRIPES_MAX] = {0};
        if (!round_weights(plan, period, rounded))
            continue;
        uint32_t ppm = worst_ppm(plan, period, rounded);
        if (best_ppm != UINT32_MAX && ppm + CONTROL_STRIPES_MAX >= best_ppm)
            continue; /* no better than what shares in whole ppm can tell */
        best_ppm = ppm;
        memcpy(weights, rounded, plan->tree_count);
    }
}

uint32_t source_trees_mtu(const struct job *job)
{
    const struct source *source = job->source;
    uint32_t mtu = UINT16_MAX;
    for (uint16_t at = 0; at < source->plan.tree_count; at++) {
        const struct plan_tree *tree = &source->plan.trees[at];
        for (uint16_t index = 0; index < tree->edge_count; index++) {
            uint16_t from = tree->edges[index].from, to = tree->edges[index].to;
            uint32_t there = source->request.paths[from][to].mtu, back = source->request.paths[to][from].mtu;
            mtu = MIN(mtu, there != 0 ? there : back != 0 ? back : MTU_MIN); /* unknown is not wide */
        }
    }
    return mtu;
}

void source_fill_tree(const struct job *job, uint8_t stripe, uint16_t node, struct control_tree *message)
{
    const struct plan_request *request = &job->source->request;
    const struct plan_tree *tree = &job->source->plan.trees[stripe];
    uint8_t weights[CONTROL_STRIPES_MAX];
    source_weights(&job->source->plan, weights);
    *message = (struct control_tree){
        .fixed = {.job = job->id, .epoch = job->epoch, .stripe = stripe, .weight = weights[stripe]}};
    int parent = plan_parent(tree, node);
    if (parent >= 0)
        name_copy(message->fixed.parent.text, NAME_BYTES, request->nodes[parent].name);
    uint16_t children[PLAN_CHILDREN_MAX];
    uint16_t count = plan_children(tree, node, children);
    message->fixed.child_count = (uint8_t)count;
    for (uint16_t index = 0; index < count; index++) {
        struct wire_child *child = &message->children[index];
        name_copy(child->name.text, NAME_BYTES, request->nodes[children[index]].name);
        child->rate_bps = plan_edge_rate_bps(&job->source->plan, stripe, children[index]);
        /* A stream comes at its own pace, mostly: a slow start would be its latency. */
        child->known = job->source->spec.object == PART_OBJECT_STREAM ||
                       plan_known_starts(&job->source->plan.into_known[stripe][children[index]]);
    }
}

uint16_t source_children(const struct job *job, uint16_t node, uint16_t children[CONTROL_CHILDREN_MAX])
{
    const struct plan *plan = &job->source->plan;
    uint16_t count = 0;
    for (uint16_t tree = 0; tree < plan->tree_count; tree++) {
        uint16_t of_tree[PLAN_CHILDREN_MAX];
        uint16_t more = plan_children(&plan->trees[tree], node, of_tree);
        for (uint16_t index = 0; index < more; index++) {
            uint16_t at = 0;
            while (at < count && children[at] != of_tree[index])
                at++;
            if (at == count && count < CONTROL_CHILDREN_MAX)
                children[count++] = of_tree[index];
        }
    }
    return count;
}
