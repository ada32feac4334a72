/* Which edge limits a site, and why.
 *
 * The edge into the site is asked first. If it waited for its own parent most of the time ("application"),
 * the limit lies further up, and the edge into that parent is asked, up to the source. An edge that waited
 * for credit ends at a relay without room: then the relay names the child that it keeps its memory for, and
 * if that edge knows a cause of its own, this is the limit. Each relay tells of its edges in STATUS. */
#include "node/flow/flow.h"
#include "node/role/source.h"

void source_take_edges(struct site *site, const struct control_status *status)
{
    site->edge_count = status->fixed.child_count;
    site->laggard = status->fixed.laggard;
    for (uint8_t child = 0; child < site->edge_count; child++)
        site->edges[child] = status->edges[child];
}

const struct site *source_site_of_node(const struct job *job, uint16_t node)
{
    return node == 0 ? NULL : &job->source->sites[job->source->request_site[node] - 1];
}

uint16_t source_node_of_site(const struct job *job, const struct site *site)
{
    uint16_t wanted = (uint16_t)(site - job->source->sites + 1);
    for (uint16_t node = 1; node < job->source->request.node_count; node++)
        if (job->source->request_site[node] == wanted)
            return node;
    return PEER_NONE;
}

/* The edge from `from` to its child at `index`, as its sender knows it. */
static struct wire_edge edge_of(const struct node *node, const struct job *job, uint16_t from, uint16_t index)
{
    const struct site *site = source_site_of_node(job, from);
    if (site != NULL)
        return index < site->edge_count ? site->edges[index] : (struct wire_edge){0};
    const struct peer *peer = &node->peers[job->children.of[index].peer];
    return (struct wire_edge){.limited_by =
                                  (uint8_t)causes_recent(&flow_of(node, peer)->causes, node->now_ns),
                              .rate_bps = peer->sender.delivery_rate_bps};
}

static uint16_t child_index(const struct job *job, uint16_t from, uint16_t to)
{
    uint16_t children[CONTROL_CHILDREN_MAX];
    uint16_t count = source_children(job, from, children);
    for (uint16_t index = 0; index < count; index++)
        if (children[index] == to)
            return index;
    return count;
}

static struct site_limit limit_into(const struct node *node, const struct job *job,
                                    const struct plan_tree *tree, uint16_t to)
{
    struct site_limit limit = {.to = to, .held_by = PEER_NONE};
    limit.from = (uint16_t)plan_parent(tree, to);
    struct wire_edge edge = edge_of(node, job, limit.from, child_index(job, limit.from, to));
    limit.cause = edge.limited_by < EDGE_LIMIT_COUNT ? edge.limited_by : EDGE_LIMIT_none;
    limit.rate_bps = edge.rate_bps;
    return limit;
}

/* The relay's memory is full of what its slowest child lacks. */
static struct site_limit behind_credit(const struct node *node, const struct job *job,
                                       const struct plan_tree *tree, struct site_limit limit)
{
    const struct site *relay = source_site_of_node(job, limit.to);
    uint16_t children[CONTROL_CHILDREN_MAX];
    uint16_t count = source_children(job, limit.to, children);
    if (relay == NULL || relay->laggard >= count)
        return limit;
    limit.held_by = children[relay->laggard];
    if (plan_parent(tree, limit.held_by) != limit.to)
        return limit;
    struct site_limit below = limit_into(node, job, tree, limit.held_by);
    bool knows = below.cause != EDGE_LIMIT_none && below.cause != EDGE_LIMIT_application;
    below.held_by = limit.held_by;
    return knows ? below : limit;
}

/* By one tree: from the site up to the source, until an edge knows a cause of its own. */
static struct site_limit limit_along(const struct node *node, const struct job *job,
                                     const struct plan_tree *tree, uint16_t to)
{
    struct site_limit limit = {.held_by = PEER_NONE};
    for (uint16_t hops = 0; hops < job->source->request.node_count; hops++) {
        if (plan_parent(tree, to) < 0)
            return limit;
        struct site_limit here = limit_into(node, job, tree, to);
        if (here.cause != EDGE_LIMIT_none)
            limit = here;
        if (here.cause == EDGE_LIMIT_credit)
            return behind_credit(node, job, tree, here);
        if (here.cause != EDGE_LIMIT_none && here.cause != EDGE_LIMIT_application)
            return limit;
        to = here.from;
    }
    return limit;
}

/* Of late, while the site runs. One that has all of the object and has not verified it waits for its disk. */
static struct site_limit limit_now(const struct node *node, const struct job *job, const struct site *site)
{
    uint16_t to = source_node_of_site(job, site);
    struct site_limit limit = {.held_by = PEER_NONE};
    if (job->source->plan.tree_count == 0 || to == PEER_NONE || job->phase < PHASE_RUNNING ||
        job->children.count == 0)
        return limit;
    bool whole = site->received_bytes == job->geometry.size_bytes;
    const struct plan *plan = &job->source->plan;
    if (whole && plan_parent(&plan->trees[0], to) >= 0) {
        limit = limit_into(node, job, &plan->trees[0], to);
        limit.cause = EDGE_LIMIT_receiver_disk;
        return limit;
    }
    for (uint16_t tree = 0; tree < plan->tree_count; tree++) {
        struct site_limit along = limit_along(node, job, &plan->trees[tree], to);
        if (along.cause != EDGE_LIMIT_none)
            limit = along;
        if (along.cause != EDGE_LIMIT_none && along.cause != EDGE_LIMIT_application)
            break;
    }
    return limit;
}

static bool same_limit(const struct site_limit *one, const struct site_limit *other)
{
    return one->from == other->from && one->to == other->to && one->held_by == other->held_by &&
           one->cause == other->cause;
}

/* Its place among the longest few, or that of the shortest, which it takes over. */
static unsigned place_of(const struct site_limits *limits, const struct site_limit *limit)
{
    unsigned place = 0;
    for (unsigned index = 0; index < SITE_LIMITS; index++) {
        if (limits->held_ns[index] > 0 && same_limit(&limits->limits[index], limit))
            return index;
        if (limits->held_ns[index] < limits->held_ns[place])
            place = index;
    }
    return place;
}

void source_note_limit(const struct node *node, const struct job *job, struct site *site, uint64_t now_ns)
{
    struct site_limits *limits = &site->limits;
    uint64_t since_ns = elapsed_ns(now_ns, MAX(limits->noted_ns, job->started_ns));
    struct site_limit limit = limit_now(node, job, site);
    limits->noted_ns = now_ns;
    if (limit.cause == EDGE_LIMIT_none)
        return;
    unsigned place = place_of(limits, &limit);
    if (!same_limit(&limits->limits[place], &limit))
        limits->held_ns[place] = 0;
    limits->limits[place] = limit;
    limits->held_ns[place] += MAX(since_ns, 1ULL);
}

struct site_limit source_site_limit(const struct node *node, const struct job *job, const struct site *site)
{
    if (!site->ended)
        return limit_now(node, job, site);
    const struct site_limits *limits = &site->limits;
    unsigned longest = 0;
    for (unsigned index = 1; index < SITE_LIMITS; index++)
        if (limits->held_ns[index] > limits->held_ns[longest])
            longest = index;
    return limits->held_ns[longest] > 0 ? limits->limits[longest] : (struct site_limit){.held_by = PEER_NONE};
}
