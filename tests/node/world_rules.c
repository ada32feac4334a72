#include "world_rules.h"

#include "base/check.h"
#include "base/units.h"
#include "node/flow/flow.h"
#include "node/job/object_kind.h"

/* Nothing of any peer is due before the node knows, but for what the next tick or node_tx finds out anew. */
static void assert_deadlines(const struct node *node)
{
    for (uint16_t index = 0; index < node->peer_count; index++) {
        const struct peer *peer = &node->peers[index];
        uint64_t found_anew = node->changed_mask | node->ports[peer->port].control_mask;
        if ((found_anew >> index & 1) == 0)
            CHECK(node->due.at_ns[index] <= MAX(peer_next_ns(node, peer), node->now_ns));
    }
}

/* Jobs that an edge does not ask have nothing for it that has a place there. Streams and several trees have other
 * reasons to wait. */
static void assert_dry(const struct node *node)
{
    for (uint16_t index = 0; index < node->peer_count; index++) {
        uint32_t dry = node->flows[index].dry & node->peers[index].jobs_out;
        for (; dry != 0; dry &= dry - 1) {
            const struct job *job = &node->jobs[__builtin_ctz(dry)];
            bool plain = job->kind->may_send == NULL && job->trees.schedule.count == 1;
            if (!plain || job->object == NULL || job->controls.paused || !phase_runs(job->phase))
                continue;
            struct feed_item item;
            CHECK(!feed_peek(job->object, job->children.of_peer[index], 1, &item));
        }
    }
}

void world_rules_check(const struct node *node)
{
    assert_deadlines(node);
    assert_dry(node);
}
