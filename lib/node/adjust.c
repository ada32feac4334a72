/* What an operator may change while a job runs, and how jobs share an edge.
 *
 * Controls (rate cap, priority, DSCP, pause) belong to the job: the source has the truth under a revision
 * number, every site a copy. ADJUST carries all of them, so the newest one alone counts.
 *
 * Sharing: all jobs between two nodes use one edge. Among those that may send now, start-time fair queueing
 * (Goyal, Vin, Cheng 1996) with weight 2^priority: a packet of b wire bytes costs b * 2^(7 - priority) of
 * virtual time; the job with the least virtual time is next; one that had nothing to send begins at the
 * present. So jobs that always have something get rates as their weights, within two packets, and what
 * one leaves goes to the others.
 *
 * Caps: each job has a pacer on each of its edges: the smaller of the plan's rate and the operator's cap,
 * which is turned from payload to wire bytes of full packets. Everything that the job sends counts, repairs
 * included. The catch-up after a stall is twice the edge's, so that where the edge itself is the limit it is
 * the edge's pacer that decides. */
#include <string.h>

#include "base/check.h"
#include "node/internal.h"

#define CATCH_UP_PACKETS (2 * SENDER_BURST_PACKETS)
#define ECT_0            2 /* congestion may be marked instead of dropped (RFC 3168) */

/* ---- caps ---- */

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

void adjust_start_edge(struct node *node, struct job *job, struct child *child, uint64_t now_ns)
{
    uint32_t burst_bytes = CATCH_UP_PACKETS * (uint32_t)packet_wire_bytes(node, job, child);
    pacer_init(&child->pacer, child_rate_bps(node, job, child), burst_bytes, now_ns);
}

uint64_t adjust_edge_cap_bps(const struct node *node, uint16_t peer)
{
    uint64_t cap_bps = 0;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        const struct job *job = &node->jobs[slot];
        if ((node->peers[peer].jobs_out & 1u << slot) != 0)
            cap_bps += child_rate_bps(node, job, &job->children[job->child_of_peer[peer]]);
    }
    return cap_bps;
}

/* ---- whose turn it is ---- */

static bool wants(const struct job *job)
{
    return job->state == JOB_RUNNING && job->phase != PHASE_CLOSING && job->object != NULL &&
           !job->controls.paused;
}

struct job *adjust_next_item(struct node *node, struct peer *peer, bool urgent, uint64_t horizon_ns,
                             struct feed_item *item, uint64_t *held_ns)
{
    struct job *chosen = NULL;
    uint64_t least = UINT64_MAX;
    *held_ns = TIME_NEVER;
    for (uint16_t mask = peer->jobs_out; mask != 0; mask &= (uint16_t)(mask - 1)) {
        struct job *job = &node->jobs[__builtin_ctz(mask)];
        uint8_t index = job->child_of_peer[peer->index];
        const struct child *child = &job->children[index];
        uint64_t share = MAX(child->share, peer->share_clock);
        struct feed_item found;
        if (share >= least || !wants(job) ||
            !feed_peek(job->object, index, child->symbols_per_packet, &found))
            continue;
        if (job->stream.on && !stream_may_send(job, index, child->symbols_per_packet, &found))
            continue;
        if (urgent && !found.repair && !found.begun)
            continue;
        if (pacer_next_ns(&child->pacer) > horizon_ns) {
            *held_ns = MIN(*held_ns, pacer_next_ns(&child->pacer));
            continue;
        }
        chosen = job;
        least = share;
        *item = found;
    }
    return chosen;
}

void adjust_on_sent(struct peer *peer, struct job *job, struct child *child, uint32_t wire_bytes,
                    uint64_t depart_ns)
{
    if (job->first_data_ns == 0)
        job->first_data_ns = depart_ns;
    peer->share_clock = MAX(child->share, peer->share_clock);
    child->share =
        peer->share_clock + ((uint64_t)wire_bytes << (CONTROL_PRIORITY_MAX - job->controls.priority));
    pacer_on_sent(&child->pacer, wire_bytes, MAX(depart_ns, pacer_next_ns(&child->pacer)));
}

uint8_t adjust_traffic_class(const struct job *job)
{
    return (uint8_t)(job->controls.dscp << 2 | ECT_0);
}

/* ---- changes ---- */

static void apply(struct node *node, struct job *job, uint64_t now_ns)
{
    digest_add(&node->digest, (uint64_t)job->id << 32 | job->revision);
    for (uint16_t index = 0; index < job->child_count; index++) {
        struct child *child = &job->children[index];
        struct peer *peer = &node->peers[child->peer];
        if ((peer->jobs_out & 1u << job->slot) == 0)
            continue;
        pacer_set_rate(&child->pacer, child_rate_bps(node, job, child));
        /* A packet sent under a low cap must not hold the job for long under a higher one. */
        child->pacer.next_ns = MIN(child->pacer.next_ns, now_ns + child->pacer.burst_ns);
        sender_set_cap(&peer->sender, adjust_edge_cap_bps(node, peer->index));
        peer->ready_ns = 0;
    }
    node_schedule(node, now_ns);
}

void adjust_tell_sites(struct node *node, struct job *job)
{
    struct wire_adjust adjust = {.job = job->id,
                                 .revision = job->revision,
                                 .rate_cap_bps = job->controls.rate_cap_bps,
                                 .priority = job->controls.priority,
                                 .dscp = job->controls.dscp,
                                 .paused = job->controls.paused};
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    size_t length = control_adjust_encode(body, &adjust);
    CHECK(length > 0);
    for (uint16_t index = 0; index < job->site_count; index++) {
        struct site *site = &job->sites[index];
        if (site->has_part && site->adjusted != job->revision &&
            peer_send(node, site->peer, CONTROL_ADJUST, body, length))
            site->adjusted = job->revision;
    }
}

void adjust_on_message(struct node *node, struct job *job, const struct wire_adjust *adjust, uint64_t now_ns)
{
    if (adjust->revision <= job->revision)
        return;
    job->revision = adjust->revision;
    job->controls = (struct job_controls){.rate_cap_bps = adjust->rate_cap_bps,
                                          .priority = adjust->priority,
                                          .dscp = adjust->dscp,
                                          .paused = adjust->paused != 0};
    apply(node, job, now_ns);
}

bool adjust_differs(const struct job_controls *controls)
{
    return controls->rate_cap_bps != 0 || controls->priority != JOB_PRIORITY_NORMAL || controls->dscp != 0 ||
           controls->paused;
}

static struct job *job_by_name(struct node *node, const char *name)
{
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        struct job *job = &node->jobs[slot];
        if (job->in_use && job->is_source && job->state < JOB_DONE && strcmp(job->spec.name, name) == 0)
            return job;
    }
    return NULL;
}

bool adjust_set(struct node *node, const struct ctl_msg *msg, uint64_t now_ns, struct err *err)
{
    const struct job_controls *wanted = &msg->body.job_set.controls;
    uint8_t changed = msg->body.job_set.changed;
    struct job *job = job_by_name(node, msg->body.job_set.name);
    if (job == NULL)
        return err_set(err, "no running job '%s' has its source here", msg->body.job_set.name);
    if (wanted->priority > CONTROL_PRIORITY_MAX || wanted->dscp > CONTROL_DSCP_MAX)
        return err_set(err, "priority 0 to %d and DSCP 0 to %d expected", CONTROL_PRIORITY_MAX,
                       CONTROL_DSCP_MAX);
    if ((changed & JOB_CONTROL_RATE) != 0)
        job->controls.rate_cap_bps = wanted->rate_cap_bps;
    if ((changed & JOB_CONTROL_PRIORITY) != 0)
        job->controls.priority = wanted->priority;
    if ((changed & JOB_CONTROL_DSCP) != 0)
        job->controls.dscp = wanted->dscp;
    if ((changed & JOB_CONTROL_PAUSED) != 0)
        job->controls.paused = wanted->paused;
    job->revision++;
    apply(node, job, now_ns);
    adjust_tell_sites(node, job);
    return true;
}
