/* The trees of a plan, as this node has its place in them: who feeds it, and whom it feeds. */
#include <string.h>

#include "node/job/job.h"

/* Sums over all jobs stay far below 2^64. */
#define CHILD_RATE_BPS_MAX 100000000000000ULL

static bool check_child(const struct node *node, const struct job *job, const struct wire_child *wanted,
                        uint16_t peer, struct err *err)
{
    if (peer >= node->peer_count)
        return err_set(err, "child '%s' is no peer of %s", wanted->name.text, node->config.name);
    if (job->children.of_peer[peer] != CHILD_NONE)
        return err_set(err, "child '%s' is there twice", wanted->name.text);
    if (peer == job->parent || peer == job->source_peer)
        return err_set(err, "child '%s' is also the %s", wanted->name.text,
                       peer == job->parent ? "parent" : "source");
    if (wanted->rate_bps == 0 || wanted->rate_bps > CHILD_RATE_BPS_MAX)
        return err_set(err, "child '%s' has no rate that makes sense", wanted->name.text);
    uint32_t mtu = node->config.ports[node->peers[peer].port].mtu;
    if (job_symbols_per_packet(node, job, peer, mtu) == 0)
        return err_set(err, "symbols of %u bytes do not fit the MTU %u towards %s",
                       job->geometry.symbol_bytes, mtu, wanted->name.text);
    return true;
}

static bool install_children(struct node *node, struct job *job, const struct control_tree *tree,
                             struct err *err)
{
    struct job_children *children = &job->children;
    memset(children->of_peer, CHILD_NONE, sizeof(children->of_peer));
    children->count = 0;
    for (uint8_t index = 0; index < tree->fixed.child_count; index++) {
        const struct wire_child *wanted = &tree->children[index];
        uint16_t peer = peer_find(node, wanted->name.text);
        if (!check_child(node, job, wanted, peer, err))
            return false;
        children->of[index] = (struct child){.peer = peer, .rate_bps = wanted->rate_bps};
        children->of_peer[peer] = index;
        children->count++;
    }
    return true;
}

static bool check_weights(const struct job *job, const struct control_tree *trees, struct err *err)
{
    uint32_t period = 0;
    for (uint32_t stripe = 0; stripe < job->part.fixed.stripes; stripe++)
        period += trees[stripe].fixed.weight;
    return period <= CONTROL_WEIGHT_MAX ||
           err_set(err, "the weights of the trees add up to %u, the limit is %d", (unsigned)period,
                   CONTROL_WEIGHT_MAX);
}

bool trees_install(struct node *node, struct job *job, const struct control_tree *trees, struct err *err)
{
    if (!check_weights(job, trees, err))
        return false;
    if (job->part.fixed.stripes != 1)
        return err_set(err, "the plan has %u trees, this node takes one", job->part.fixed.stripes);
    const char *parent = trees[0].fixed.parent.text;
    job->parent = job->source != NULL ? PEER_NONE : peer_find(node, parent);
    if (job->source == NULL && job->parent >= node->peer_count)
        return err_set(err, "parent '%s' is no peer of %s", parent, node->config.name);
    return install_children(node, job, &trees[0], err);
}
