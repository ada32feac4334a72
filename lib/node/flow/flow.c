#include "node/flow/flow.h"

void flow_init(struct flow *flow)
{
    flow->ready_ns = TIME_NEVER;
    flow->credit_symbols = BLOCK_BYTES_TARGET / SYMBOL_BYTES_MAX;
    flow->run_symbols = 1;
    flow->credit_told = UINT32_MAX;
}

void flow_forget_places(struct node *node, struct peer *peer)
{
    flow_of(node, peer)->places_there = false;
    for (uint16_t mask = peer->jobs_out; mask != 0; mask &= (uint16_t)(mask - 1)) {
        const struct job *job = &node->jobs[__builtin_ctz(mask)];
        if (job->object != NULL)
            feed_set_places(job->object, job->children.of_peer[peer->index], 0, FEED_ROOM_ANY);
    }
}

void flow_on_reset(struct node *node, struct peer *peer)
{
    struct flow *flow = flow_of(node, peer);
    flow->ready_ns = TIME_NEVER;
    flow->credit_told = UINT32_MAX;
    flow->jobs_full = 0;
    flow_forget_places(node, peer);
}

void flow_on_packet(struct node *node, struct peer *peer, uint64_t now_ns)
{
    if (session_on_packet(node, peer, now_ns))
        flow_on_up(flow_of(node, peer));
}

bool flow_is_decoded(struct node *node, enum wire_error error)
{
    switch (error) {
    case WIRE_OK:
        return true;
    case WIRE_TOO_SHORT:
        node->counters.drop_short++;
        break;
    case WIRE_BAD_VERSION:
        node->counters.drop_version++;
        break;
    case WIRE_BAD_TYPE:
        node->counters.drop_type++;
        break;
    case WIRE_BAD_LENGTH:
        node->counters.drop_length++;
        break;
    case WIRE_BAD_VALUE:
        node->counters.drop_value++;
        break;
    }
    return false;
}

void flow_wake_children(struct node *node, const struct job *job)
{
    for (uint16_t child = 0; child < job->children.count; child++)
        flow_wake(&node->flows[job->children.of[child].peer], (uint16_t)(1u << job->slot), node->now_ns);
}

void flow_wake_all(struct node *node)
{
    for (uint16_t port = 0; port < node->config.port_count; port++)
        for (uint64_t edges = node->ports[port].edges_mask; edges != 0; edges &= edges - 1) {
            struct flow *flow = &node->flows[__builtin_ctzll(edges)];
            flow->ready_ns = flow->ready_ns == TIME_NEVER ? 0 : flow->ready_ns;
            flow->dry = 0;
        }
}

bool flow_owes(const struct job *job, uint8_t child)
{
    return job->object != NULL && !phase_ends(job->phase) && !job->children.of[child].gone &&
           !feed_done(job->object, child);
}
