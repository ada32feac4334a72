#include "node/flow/edges.h"

#include <stdarg.h>
#include <stdio.h>

#include "node/flow/cap.h"
#include "node/job/object_kind.h"

/* So much per round trip an edge may always begin with. Where no rate is known it is also what `fixed` stays
 * at; the other strategies have a start of their own. */
#define START_BYTES      (32 * 1500ULL)
#define START_RTT_NS_MIN NS_PER_MS

/* A strategy that this node does not have, being older than the source, is replaced by the usual one. */
static const struct congestion_type *congestion_of(const struct job *job)
{
    const char *name = word_of(part_congestion_words, job->part.fixed.congestion);
    const struct congestion_type *type = name == NULL ? NULL : congestion_find(name);
    return type != NULL ? type : &congestion_bql_type;
}

/* At the rate that the operator gives, or that rests on what is known of the path; else the strategy looks for one.
 * `fixed` looks for none: it has the plan's. */
static void start_edge(struct node *node, struct peer *peer, const struct job *job, const struct child *child,
                       uint64_t cap_bps, uint64_t now_ns)
{
    flow_of(node, peer)->causes = (struct causes){.holds = EDGE_LIMIT_application, .since_ns = now_ns};
    uint64_t start_bps = job->part.fixed.start_bps;
    uint64_t few_bps =
        muldiv64(START_BYTES * 8, NS_PER_S, MAX(peer->sender.rtt.smoothed_ns, START_RTT_NS_MIN));
    /* The cap holds by itself; a strategy that began at a very low one could not go on when it is lifted. */
    uint64_t most_bps = MAX(cap_bps, few_bps);
    bool own = start_bps == 0 && (child->known || congestion_of(job) == &congestion_fixed_type);
    bool known = own || (start_bps != 0 && start_bps != UINT64_MAX);
    if (!known)
        start_bps = few_bps;
    if (start_bps == 0 || start_bps > most_bps)
        start_bps = most_bps;
    sender_set_congestion(&peer->sender, congestion_of(job), start_bps, known, now_ns);
}

/* One that does not fit leaves in pieces. */
static uint32_t symbols_per_packet(const struct node *node, const struct job *job, const struct peer *peer)
{
    return MAX(trees_symbols_per_packet(node, job, peer->index, peer->mtu.mtu), 1u);
}

bool edges_follow_mtu(struct node *node, struct peer *peer, uint64_t now_ns)
{
    struct flow *flow = flow_of(node, peer);
    if (flow->mtu == peer->mtu.mtu)
        return false;
    bool narrower = peer->mtu.mtu < flow->mtu;
    flow->mtu = peer->mtu.mtu;
    digest_add(&node->digest, flow->mtu);
    for (uint16_t left = peer->jobs_out; left != 0; left &= (uint16_t)(left - 1)) {
        struct job *job = &node->jobs[__builtin_ctz(left)];
        struct child *child = &job->children.of[job->children.of_peer[peer->index]];
        child->symbols_per_packet = symbols_per_packet(node, job, peer);
        cap_apply(node, job, now_ns);
    }
    return narrower;
}

void edges_start(struct node *node, struct job *job, uint64_t now_ns)
{
    for (uint16_t index = 0; index < job->children.count; index++) {
        struct child *child = &job->children.of[index];
        struct peer *peer = &node->peers[child->peer];
        if (child->gone)
            continue;
        bool idle = peer->jobs_out == 0;
        child->symbols_per_packet = symbols_per_packet(node, job, peer);
        peer->jobs_out |= (uint16_t)(1u << job->slot);
        node->ports[peer->port].edges_mask |= 1ULL << peer->index;
        cap_start(node, job, child, now_ns);
        child->acked_ns = core_lived_ns(node);
        uint64_t cap_bps = cap_edge_bps(node, child->peer);
        if (idle)
            start_edge(node, peer, job, child, cap_bps, now_ns);
        sender_set_cap(&peer->sender, cap_bps);
        peer_changed(node, peer);
        flow_begin(flow_of(node, peer));
        flow_of(node, peer)->shares[job->slot] = (struct fair_user){0};
    }
}

static void stop_edge(struct node *node, struct job *job, uint16_t index)
{
    struct peer *peer = &node->peers[job->children.of[index].peer];
    if ((peer->jobs_out & 1u << job->slot) == 0)
        return;
    peer->jobs_out &= (uint16_t) ~(1u << job->slot);
    if (peer->jobs_out == 0) {
        node->ports[peer->port].edges_mask &= ~(1ULL << peer->index);
        causes_set(&flow_of(node, peer)->causes, EDGE_LIMIT_none, node->now_ns);
    } else {
        sender_set_cap(&peer->sender, cap_edge_bps(node, peer->index));
    }
    peer_changed(node, peer); /* its pacer may hold its messages no longer */
}

static void stop_child(struct node *node, struct job *job, uint16_t index)
{
    struct child *child = &job->children.of[index];
    stop_edge(node, job, index);
    if (job->object != NULL && !child->gone)
        feed_drop(job->object, index);
    child->gone = true;
}

void edges_drop(struct node *node, struct job *job, uint16_t peer)
{
    uint8_t index = job->children.of_peer[peer];
    if (index != CHILD_NONE && !job->children.of[index].gone)
        stop_child(node, job, index);
}

void edges_note_gone(struct node *node, struct job *job, uint8_t index, const char *format, ...)
{
    struct child *child = &job->children.of[index];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(child->why, sizeof(child->why), format, arguments);
    va_end(arguments);
    child->untold = child->source_untold = true;
    core_wake_jobs(node, node->now_ns);
    core_schedule(node, node->now_ns);
}

void edges_stop(struct node *node, struct job *job)
{
    for (uint16_t index = 0; index < job->children.count; index++)
        stop_child(node, job, index);
}
