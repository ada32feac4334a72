#include "node/flow/behind.h"

#include "node/flow/edges.h"

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

static bool is_memory_short(const struct node *node)
{
    return store_available(&node->store) < MAX(node->store.slot_count / 8, 2u);
}

/* Others have no part in what keeps it: it acks nothing new, and not because of children of its own. */
static bool takes_nothing(const struct peer *peer, const struct flow *flow, struct child *child,
                          uint64_t lived_ns)
{
    bool waits = peer->state == PEER_UP && flow->causes.holds == EDGE_LIMIT_credit;
    bool news = flow->acked_payload_bytes != child->acked_bytes;
    if (news || waits) {
        child->acked_bytes = flow->acked_payload_bytes;
        child->acked_ns = lived_ns;
    }
    return !news && !waits;
}

void behind_tick(struct node *node, struct job *job)
{
    uint64_t lived_ns = core_lived_ns(node);
    for (uint8_t index = 0; index < job->children.count; index++) {
        struct child *child = &job->children.of[index];
        const struct peer *peer = &node->peers[child->peer];
        if (job->controls.paused || !flow_owes(job, index)) {
            child->acked_ns = lived_ns;
            continue;
        }
        if (!takes_nothing(peer, flow_of(node, peer), child, lived_ns) ||
            lived_ns < later_ns(child->acked_ns, node->config.stall_timeout_ns / 2) || !is_memory_short(node))
            continue;
        if (!holds_memory(node, job, index)) {
            child->acked_ns = lived_ns; /* nothing was there for it */
            continue;
        }
        node->counters.children_left++;
        edges_drop(node, job, child->peer);
    }
}
