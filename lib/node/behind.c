/* Children that are left behind. What a child was sent some of, and what cannot be read back from a disk,
 * stays in memory until the child has acked it: a dead child of a relay without a disk would hold everybody
 * up until the source fails them all. So, while memory is short, a child that holds some of it and takes
 * nothing for half of the stall timeout is dropped. One that answers and says that its own memory is full is
 * waited for: it is a relay with such a child itself, and looks after it. Streams have their own rule
 * (stream.h). */
#include "node/internal.h"

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
static bool takes_nothing(const struct peer *peer, struct child *child, uint64_t now_ns)
{
    bool waits = peer->state == PEER_UP && peer->causes.holds == EDGE_LIMIT_credit;
    bool news = peer->acked_payload_bytes != child->acked_bytes;
    if (news || waits) {
        child->acked_bytes = peer->acked_payload_bytes;
        child->acked_ns = now_ns;
    }
    return !news && !waits;
}

void job_leave_behind(struct node *node, struct job *job, uint64_t now_ns)
{
    for (uint8_t index = 0; index < job->child_count; index++) {
        struct child *child = &job->children[index];
        const struct peer *peer = &node->peers[child->peer];
        if (job->controls.paused || !data_owed(job, index)) {
            child->acked_ns = now_ns;
            continue;
        }
        if (!takes_nothing(peer, child, now_ns) ||
            now_ns < later_ns(child->acked_ns, node->config.stall_timeout_ns / 2) || !is_memory_short(node))
            continue;
        if (!holds_memory(node, job, index)) {
            child->acked_ns = now_ns; /* nothing was there for it */
            continue;
        }
        node->counters.children_left++;
        job_drop_child(node, job, child->peer);
    }
}
