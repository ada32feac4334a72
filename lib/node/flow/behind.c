#include "node/flow/behind.h"

#include <inttypes.h>

#include "node/flow/edges.h"

#define PATIENCE 6 /* stall timeouts */

/* Something of the job is in memory that the child lacks. */
static bool holds_memory(const struct node *node, const struct job *job, uint8_t child)
{
    for (uint32_t index = 0; index < node->store.slot_count; index++) {
        const struct slot *slot = &node->store.slots[index];
        if (slot->object == job->object && !slot->retired && slot->have_count > 0 &&
            (slot->done >> child & 1) == 0)
            return true;
    }
    return false;
}

/* Of all jobs, or of this one, which then waits for what its own children let go of. */
static bool is_memory_short(const struct node *node, const struct job *job)
{
    return store_available(&node->store) < MAX(node->store.slot_count / 8, 2u) ||
           (!job->object->source && object_room(job->object) < 2);
}

/* Another child has been sent all that is in memory, and lacks more. */
static bool sibling_starves(const struct job *job, uint8_t child)
{
    for (uint8_t other = 0; other < job->children.count; other++) {
        const struct feed *feed = &job->object->feeds[other];
        if (other != child && flow_owes(job, other) && feed->ready.count == 0 && feed->repair.count == 0 &&
            feed->loading == 0 && feed->backlog_count == 0)
            return true;
    }
    return false;
}

/* What the child has to take in half of the stall timeout: anything; where it keeps others waiting, so much
 * of a block that these are not given up before the next slot gets free. */
static uint64_t least_bytes(const struct node *node, const struct job *job, uint8_t child)
{
    if (job->object == NULL || !is_memory_short(node, job) || !sibling_starves(job, child))
        return 1;
    return (uint64_t)job->geometry.block_symbols * job->geometry.symbol_bytes / 8;
}

/* Others have no part in what keeps it: it acks too little, and not because of children of its own. */
static bool takes_too_little(const struct peer *peer, const struct flow *flow, uint64_t least,
                             struct child *child, uint64_t lived_ns)
{
    bool waits = peer->state == PEER_UP && flow->causes.holds == EDGE_LIMIT_credit;
    bool news = flow->acked_payload_bytes - child->acked_bytes >= least;
    if (news || waits) {
        child->acked_bytes = flow->acked_payload_bytes;
        child->acked_ns = lived_ns;
    }
    return !news && !waits;
}

static void note_gone(struct node *node, struct job *job, uint8_t index, uint64_t lived_ns)
{
    const struct child *child = &job->children.of[index];
    const struct peer *peer = &node->peers[child->peer];
    unsigned seconds = (unsigned)((lived_ns - child->acked_ns) / NS_PER_S);
    const char *wait = "while others waited for the memory that was kept for it";
    if (peer->state == PEER_UP)
        edges_note_gone(node, job, index, "too slow: took %" PRIu64 " bytes in %u s from its parent %s, %s",
                        flow_of(node, peer)->acked_payload_bytes - child->acked_bytes, seconds,
                        node->config.name, wait);
    else
        edges_note_gone(node, job, index, "does not answer its parent %s for %u s, %s", node->config.name,
                        seconds, wait);
}

/* True: it has taken nothing of what it is owed, and it is let go of: at once where its path is known to have become too
 * narrow; in the end where nobody finds out why, since a peer comes and goes. */
static bool leave_narrow(struct node *node, struct job *job, uint8_t index, uint64_t lived_ns)
{
    struct child *child = &job->children.of[index];
    const struct peer *peer = &node->peers[child->peer];
    bool narrow = rtt_probe_narrow(&peer->probe);
    uint64_t patience_ns = node->config.stall_timeout_ns * (narrow ? 1 : PATIENCE);
    if (lived_ns < later_ns(child->acked_ns, patience_ns))
        return false;
    if (!holds_memory(node, job, index)) {
        child->acked_ns = lived_ns; /* nothing was there for it */
        return false;
    }
    edges_note_gone(node, job, index, "no progress for %u s: %s its parent %s%s",
                    (unsigned)(patience_ns / NS_PER_S), narrow ? "the path from" : "it takes nothing that",
                    node->config.name, narrow ? " is too narrow for data" : " sends");
    edges_drop(node, job, child->peer);
    return true;
}

static void leave_behind(struct node *node, struct job *job, uint8_t index, uint64_t lived_ns)
{
    struct child *child = &job->children.of[index];
    if (lived_ns < later_ns(child->acked_ns, node->config.stall_timeout_ns / 2) ||
        !is_memory_short(node, job))
        return;
    if (!holds_memory(node, job, index)) {
        child->acked_ns = lived_ns; /* nothing was there for it */
        return;
    }
    node->counters.children_left++;
    note_gone(node, job, index, lived_ns);
    edges_drop(node, job, child->peer);
}

/* What it is owed, it takes too little of; the time is counted from when it took enough. */
static bool is_behind(struct node *node, struct job *job, uint8_t index, uint64_t least, uint64_t lived_ns)
{
    struct child *child = &job->children.of[index];
    const struct peer *peer = &node->peers[child->peer];
    bool owed = !job->controls.paused && flow_owes(job, index);
    if (!owed)
        child->acked_ns = lived_ns;
    return owed && takes_too_little(peer, flow_of(node, peer), least, child, lived_ns);
}

void behind_tick(struct node *node, struct job *job)
{
    uint64_t lived_ns = core_lived_ns(node);
    for (uint8_t index = 0; index < job->children.count; index++) {
        uint64_t least = least_bytes(node, job, index);
        if (!is_behind(node, job, index, least, lived_ns))
            continue;
        /* The source sees for itself what becomes of its own children. */
        if (job->source != NULL || !leave_narrow(node, job, index, lived_ns))
            leave_behind(node, job, index, lived_ns);
    }
}

void behind_tick_stream(struct node *node, struct job *job)
{
    uint64_t lived_ns = core_lived_ns(node);
    for (uint8_t index = 0; index < job->children.count; index++)
        if (is_behind(node, job, index, 1, lived_ns))
            leave_narrow(node, job, index, lived_ns);
}
