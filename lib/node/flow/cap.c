#include "node/flow/cap.h"

#include "wire/data.h"

#define CATCH_UP_PACKETS (2 * SENDER_BURST_PACKETS)

static uint64_t packet_payload_bytes(const struct job *job, const struct child *child)
{
    return (uint64_t)child->symbols_per_packet * job->geometry.symbol_bytes;
}

static uint64_t packet_wire_bytes(const struct node *node, const struct job *job, const struct child *child)
{
    return WIRE_DATA_BYTES + child->symbols_per_packet * WIRE_TAG_BYTES + packet_payload_bytes(job, child) +
           node->peers[child->peer].frame_overhead;
}

static uint64_t child_rate_bps(const struct node *node, const struct job *job, const struct child *child)
{
    uint64_t payload_bytes = packet_payload_bytes(job, child);
    if (job->controls.rate_cap_bps == 0 || payload_bytes == 0)
        return child->rate_bps;
    uint64_t cap_bps = MIN(job->controls.rate_cap_bps, child->rate_bps);
    cap_bps = muldiv64(cap_bps, packet_wire_bytes(node, job, child), payload_bytes);
    return MIN(MAX(cap_bps, (uint64_t)1), child->rate_bps);
}

void cap_start(struct node *node, struct job *job, struct child *child, uint64_t now_ns)
{
    uint32_t burst_bytes = CATCH_UP_PACKETS * (uint32_t)packet_wire_bytes(node, job, child);
    pacer_init(&child->pacer, child_rate_bps(node, job, child), burst_bytes, now_ns);
}

uint64_t cap_edge_bps(const struct node *node, uint16_t peer)
{
    uint64_t cap_bps = 0;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        const struct job *job = &node->jobs[slot];
        if ((node->peers[peer].jobs_out & 1u << slot) != 0)
            cap_bps += child_rate_bps(node, job, &job->children.of[job->children.of_peer[peer]]);
    }
    return cap_bps;
}

void cap_apply(struct node *node, struct job *job, uint64_t now_ns)
{
    for (uint16_t index = 0; index < job->children.count; index++) {
        struct child *child = &job->children.of[index];
        struct peer *peer = &node->peers[child->peer];
        if ((peer->jobs_out & 1u << job->slot) == 0)
            continue;
        pacer_set_rate(&child->pacer, child_rate_bps(node, job, child));
        /* A packet sent under a low cap must not hold the job for long under a higher one. */
        child->pacer.next_ns = MIN(child->pacer.next_ns, now_ns + child->pacer.burst_ns);
        sender_set_cap(&peer->sender, cap_edge_bps(node, peer->index));
        peer_changed(node, peer);
        flow_begin(flow_of(node, peer));
    }
    core_schedule(node, now_ns);
}
