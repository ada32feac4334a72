/* The trees of a plan, as this node has its place in them: who feeds it, and whom it feeds. */
#include <string.h>

#include "node/job/job.h"

/* Sums over all jobs stay far below 2^64. */
#define CHILD_RATE_BPS_MAX 100000000000000ULL

uint32_t trees_symbols_per_packet(const struct node *node, const struct job *job, uint16_t peer, uint32_t mtu)
{
    uint32_t overhead = address_overhead_bytes(node->peers[peer].config->address.family);
    return geometry_symbols_per_packet(mtu, overhead, job->geometry.symbol_bytes);
}

_Static_assert(STRIPES_MAX == CONTROL_STRIPES_MAX && STRIPE_PERIOD_MAX == CONTROL_WEIGHT_MAX,
               "what can be told can be kept");

/* Which of the two a child can't be as well; NULL: it is neither. A parent may be a child in another tree. */
static const char *also_is(const struct job *job, uint8_t stripe, uint16_t peer)
{
    if (peer == job->trees.parent[stripe])
        return "parent";
    return peer == job->source_peer ? "source" : NULL;
}

static bool check_child(const struct node *node, const struct job *job, uint8_t stripe,
                        const struct wire_child *wanted, uint16_t peer, struct err *err)
{
    const struct job_children *children = &job->children;
    const char *name = wanted->name.text;
    if (peer >= node->peer_count)
        return err_set(err, "child '%s' is no peer of %s", name, node->config.name);
    uint8_t index = children->of_peer[peer];
    if (index != CHILD_NONE && (children->of[index].stripes >> stripe & 1) != 0)
        return err_set(err, "child '%s' is there twice", name);
    if (index == CHILD_NONE && children->count == CONTROL_CHILDREN_MAX)
        return err_set(err, "more than %d children over all trees", CONTROL_CHILDREN_MAX);
    const char *also = also_is(job, stripe, peer);
    if (also != NULL)
        return err_set(err, "child '%s' is also the %s", name, also);
    if (wanted->rate_bps == 0 || wanted->rate_bps > CHILD_RATE_BPS_MAX)
        return err_set(err, "child '%s' has no rate that makes sense", name);
    uint32_t mtu = node->config.ports[node->peers[peer].port].mtu;
    if (trees_symbols_per_packet(node, job, peer, mtu) == 0)
        return err_set(err, "symbols of %u bytes do not fit the MTU %u towards %s",
                       job->geometry.symbol_bytes, mtu, name);
    return true;
}

static void add_child(struct job_children *children, uint8_t stripe, uint16_t peer,
                      const struct wire_child *wanted)
{
    if (children->of_peer[peer] == CHILD_NONE) {
        children->of_peer[peer] = (uint8_t)children->count;
        children->of[children->count++] = (struct child){.peer = peer};
    }
    struct child *child = &children->of[children->of_peer[peer]];
    child->stripes |= (uint8_t)(1u << stripe);
    child->rate_bps += wanted->rate_bps;
    child->known = wanted->known != 0;
}

/* A relay may have no part in a tree: then it feeds nobody there. */
static bool install_parent(const struct node *node, struct job *job, const struct control_tree *tree,
                           struct err *err)
{
    const char *name = tree->fixed.parent.text;
    if (job->source != NULL || (name[0] == '\0' && !job->part.fixed.keep && tree->fixed.child_count == 0))
        return true;
    uint16_t parent = peer_find(node, name);
    if (parent >= node->peer_count)
        return err_set(err, "parent '%s' is no peer of %s", name, node->config.name);
    job->trees.parent[tree->fixed.stripe] = parent;
    return true;
}

static bool install_tree(struct node *node, struct job *job, const struct control_tree *tree, struct err *err)
{
    uint8_t stripe = tree->fixed.stripe;
    if (!install_parent(node, job, tree, err))
        return false;
    for (uint8_t index = 0; index < tree->fixed.child_count; index++) {
        const struct wire_child *wanted = &tree->children[index];
        uint16_t peer = peer_find(node, wanted->name.text);
        if (!check_child(node, job, stripe, wanted, peer, err))
            return false;
        add_child(&job->children, stripe, peer, wanted);
    }
    return true;
}

static bool install_schedule(struct job *job, const struct control_tree *trees, struct err *err)
{
    uint8_t weights[STRIPES_MAX] = {0}, count = job->part.fixed.stripes;
    for (uint8_t stripe = 0; stripe < count; stripe++)
        weights[stripe] = trees[stripe].fixed.weight;
    if (!stripe_schedule_init(&job->trees.schedule, weights, count))
        return err_set(err, "the weights of the trees add up to more than %d", STRIPE_PERIOD_MAX);
    return true;
}

bool trees_install(struct node *node, struct job *job, const struct control_tree *trees, struct err *err)
{
    job->children.count = 0;
    memset(job->children.of_peer, CHILD_NONE, sizeof(job->children.of_peer));
    for (uint8_t stripe = 0; stripe < STRIPES_MAX; stripe++)
        job->trees.parent[stripe] = PEER_NONE; /* also of what is refused halfway */
    if (!install_schedule(job, trees, err))
        return false;
    for (uint8_t stripe = 0; stripe < job->part.fixed.stripes; stripe++)
        if (!install_tree(node, job, &trees[stripe], err))
            return false;
    if (job->source == NULL && node->config.leaf && job->children.count > 0)
        return err_set(err, "%s relays nothing (plan: relay: no in its node file)", node->config.name);
    return job->source != NULL || trees_fed(job) != 0 || err_set(err, "no tree leads to this node");
}

uint8_t trees_fed_by(const struct job *job, uint16_t peer)
{
    uint8_t stripes = 0;
    for (uint8_t stripe = 0; stripe < job->trees.schedule.count; stripe++)
        stripes |= (uint8_t)((job->trees.parent[stripe] == peer) << stripe);
    return stripes;
}

uint8_t trees_fed(const struct job *job)
{
    return trees_all(job) & (uint8_t)~trees_fed_by(job, PEER_NONE);
}

uint32_t trees_parents(const struct job *job, uint16_t parents[STRIPES_MAX])
{
    uint32_t count = 0;
    for (uint8_t stripe = 0; stripe < job->trees.schedule.count; stripe++) {
        uint16_t parent = job->trees.parent[stripe];
        bool known = parent == PEER_NONE || (trees_fed_by(job, parent) & ((1u << stripe) - 1)) != 0;
        if (!known)
            parents[count++] = parent;
    }
    return count;
}
