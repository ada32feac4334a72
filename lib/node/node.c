/* A node's life: memory, start, tick, deadlines, disk queue. */
#include "node/node.h"

#include <string.h>

#include "base/check.h"
#include "node/internal.h"

static struct store_config store_config(const struct node_config *config)
{
    return (struct store_config){
        .memory_bytes = config->buffer_bytes,
        .blocks_max = config->blocks_max,
        .objects_max = NODE_JOBS_MAX,
        .bodies_shared = config->bodies_shared,
    };
}

size_t node_bytes(const struct node_config *config)
{
    struct store_config store = store_config(config);
    size_t bytes = arena_need(sizeof(struct node));
    bytes += arena_need(config->peer_count * sizeof(struct peer));
    bytes += arena_need(NODE_JOBS_MAX * sizeof(struct job));
    bytes += arena_need(NODE_MANIFEST_BYTES);
    bytes += store_bytes(&store);
    for (uint16_t index = 0; index < config->peer_count; index++)
        bytes += peer_bytes(config, &config->peers[index]);
    return bytes;
}

struct node *node_create(const struct node_config *config, void *memory, size_t bytes, uint64_t now_ns)
{
    struct err err;
    CHECK(node_config_check(config, &err));
    CHECK(bytes >= node_bytes(config));
    struct arena arena;
    arena_init(&arena, memory, bytes);
    struct node *node = arena_alloc(&arena, sizeof(*node));
    node->config = *config;
    for (uint16_t port = 0; port < config->port_count; port++) {
        if (node->config.ports[port].down_bps == 0)
            node->config.ports[port].down_bps = node->config.ports[port].rate_bps;
        pacer_init(&node->ports[port].pacer, config->ports[port].rate_bps,
                   SENDER_BURST_PACKETS * (config->ports[port].mtu + 38), now_ns);
    }
    rng_init(&node->rng, config->seed ^ config->incarnation * 0x9e3779b97f4a7c15ULL);
    digest_init(&node->digest);
    node->now_ns = now_ns;
    node->jobs_tick_ns = now_ns;
    node->peer_count = config->peer_count;
    node->peers = arena_alloc(&arena, config->peer_count * sizeof(struct peer));
    node->jobs = arena_alloc(&arena, NODE_JOBS_MAX * sizeof(struct job));
    node->manifest.text = arena_alloc(&arena, NODE_MANIFEST_BYTES);
    for (uint16_t index = 0; index < config->peer_count; index++)
        peer_init(node, index, &arena, now_ns);
    struct store_config store = store_config(config);
    store_init(&node->store, &store, &arena);
    forward_init(&node->tables[0]);
    node->table = &node->tables[0];
    return node;
}

static void shift(uint64_t *time_ns, uint64_t gap_ns)
{
    if (*time_ns != 0 && *time_ns != TIME_NEVER)
        *time_ns += gap_ns;
}

static void shift_peer(struct peer *peer, uint64_t gap_ns)
{
    shift(&peer->heard_ns, gap_ns);
    shift(&peer->down_since_ns, gap_ns);
    sender_on_standstill(&peer->sender, gap_ns);
    if (peer->probe.active) {
        shift(&peer->probe.next_ns, gap_ns);
        shift(&peer->probe.end_ns, gap_ns);
    }
}

void node_advance(struct node *node, uint64_t now_ns)
{
    CHECK(now_ns >= node->now_ns);
    uint64_t gap_ns = now_ns - node->now_ns;
    node->now_ns = now_ns;
    if (gap_ns < node->config.hello_interval_ns + NS_PER_S)
        return;
    node->counters.standstills++;
    digest_add(&node->digest, gap_ns);
    for (uint16_t index = 0; index < node->peer_count; index++)
        shift_peer(&node->peers[index], gap_ns);
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        struct job *job = &node->jobs[slot];
        if (!job->in_use || job->state >= JOB_DONE)
            continue;
        shift(&job->deadline_ns, gap_ns);
        for (uint16_t site = 0; site < job->site_count; site++)
            shift(&job->sites[site].progress_ns, gap_ns);
    }
}

static bool jobs_live(const struct node *node)
{
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        const struct job *job = &node->jobs[slot];
        if (job->in_use &&
            (job->object != NULL || job->disk_outstanding > 0 || job->confirm_due || job->state < JOB_DONE))
            return true;
    }
    return false;
}

void node_tick(struct node *node, uint64_t now_ns)
{
    node_advance(node, now_ns);
    if (now_ns < node->tick_ns)
        return;
    for (uint16_t index = 0; index < node->peer_count; index++)
        peer_tick(node, &node->peers[index], now_ns);
    measure_tick(node, now_ns);
    if (now_ns >= node->jobs_tick_ns) {
        for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++)
            if (node->jobs[slot].in_use)
                job_tick(node, &node->jobs[slot], now_ns);
        node->jobs_tick_ns = jobs_live(node) ? now_ns + JOB_TICK_NS : TIME_NEVER;
    }
    node->tick_ns = node->jobs_tick_ns;
    for (uint16_t index = 0; index < node->peer_count; index++) {
        struct peer *peer = &node->peers[index];
        if (peer_control_due(peer, now_ns))
            peer_note_control(node, peer);
        node_schedule(node, peer_next_ns(peer));
    }
}

uint64_t node_next_ns(const struct node *node)
{
    uint64_t next_ns = node->tick_ns;
    for (uint16_t port = 0; port < node->config.port_count; port++)
        if (node->ports[port].control_mask != 0)
            return node->now_ns;
    if (node->disk_head != node->disk_tail || node->plan_requests_due != 0)
        return node->now_ns;
    for (uint16_t index = 0; index < node->peer_count; index++) {
        const struct peer *peer = &node->peers[index];
        if (peer->jobs_out == 0 || peer->ready_ns == TIME_NEVER || peer->state != PEER_UP)
            continue;
        uint64_t port_ns = pacer_next_ns(&node->ports[peer->port].pacer);
        uint64_t at_ns = MAX(peer->ready_ns, port_ns);
        next_ns = MIN(next_ns, at_ns > TX_HORIZON_NS ? at_ns - TX_HORIZON_NS : 0);
    }
    return MAX(next_ns, node->now_ns);
}

void node_shutdown(struct node *node, uint64_t now_ns)
{
    node->shutting_down = true;
    for (uint16_t index = 0; index < node->peer_count; index++) {
        if (!node->peers[index].known)
            continue;
        node->peers[index].close_due = true;
        node->peers[index].close_reason = WIRE_CLOSE_SHUTDOWN;
        peer_note_control(node, &node->peers[index]);
    }
    node_schedule(node, now_ns);
}

uint16_t node_disk(struct node *node, struct disk_request *requests, uint16_t room, uint64_t now_ns)
{
    (void)now_ns;
    uint16_t count = 0;
    while (count < room && node->disk_head != node->disk_tail)
        requests[count++] = node->disk_queue[node->disk_head++ & (DISK_QUEUE - 1)];
    return count;
}

void node_disk_done(struct node *node, const struct disk_reply *replies, uint16_t count, uint64_t now_ns)
{
    node_advance(node, now_ns);
    for (uint16_t index = 0; index < count; index++) {
        const struct disk_reply *reply = &replies[index];
        CHECK(reply->handle < NODE_JOBS_MAX);
        struct job *job = &node->jobs[reply->handle];
        CHECK(job->in_use && job->disk_outstanding > 0);
        job->disk_outstanding--;
        if (reply->op == DISK_READ)
            job->loads_outstanding--;
        digest_add(&node->digest, (uint64_t)reply->op << 56 ^ reply->cookie ^ reply->status);
        if (job->is_source)
            source_on_disk(node, job, reply, now_ns);
        else
            site_on_disk(node, job, reply, now_ns);
    }
    if (count > 0) {
        node->jobs_tick_ns = MIN(node->jobs_tick_ns, now_ns);
        node_schedule(node, now_ns);
    }
}

int node_ctl(struct node *node, const struct ctl_msg *msg, struct ctl_reply *reply, uint64_t now_ns)
{
    node_advance(node, now_ns);
    reply->ok = true;
    reply->length = 0;
    struct job *job;
    switch (msg->type) {
    case CTL_SHOW:
        reply->ok = show(node, msg, reply, now_ns);
        break;
    case CTL_JOB_RUN:
        reply->ok = source_run(node, &msg->body.job_run, now_ns, &reply->err);
        break;
    case CTL_JOB_CANCEL:
        reply->ok = source_cancel(node, msg->body.job_cancel.name, now_ns, &reply->err);
        break;
    case CTL_JOB_SET:
        reply->ok = adjust_set(node, msg, now_ns, &reply->err);
        break;
    case CTL_PLANNER_HELLO:
        node->planner_attached = true;
        for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++)
            if (node->jobs[slot].in_use && node->jobs[slot].is_source &&
                node->jobs[slot].state == JOB_PLANNING)
                node->plan_requests_due |= 1u << slot;
        break;
    case CTL_PLANNER_GONE:
        node->planner_attached = false;
        break;
    case CTL_PLAN:
        job = job_find(node, msg->body.plan.job);
        if (job != NULL && job->is_source)
            source_on_plan(node, job, &msg->body.plan, now_ns);
        break;
    case CTL_PLAN_FAILED:
        job = job_find(node, msg->body.plan_failed.job);
        if (job != NULL && job->is_source && msg->body.plan_failed.epoch == job->epoch)
            source_on_plan_failed(node, job, msg->body.plan_failed.text, now_ns);
        break;
    case CTL_PLAN_REQUEST:
    case CTL_TYPE_COUNT:
        reply->ok = err_set(&reply->err, "not a record for a node");
        break;
    }
    node->jobs_tick_ns = MIN(node->jobs_tick_ns, now_ns);
    node_schedule(node, now_ns);
    return reply->ok ? 0 : -1;
}

bool node_ctl_next(struct node *node, struct ctl_msg *msg)
{
    if (node->plan_requests_due == 0)
        return false;
    uint32_t slot = (uint32_t)__builtin_ctz(node->plan_requests_due);
    node->plan_requests_due &= ~(1u << slot);
    const struct job *job = &node->jobs[slot];
    if (!job->in_use || !job->is_source || job->state != JOB_PLANNING)
        return node_ctl_next(node, msg);
    msg->type = CTL_PLAN_REQUEST;
    msg->correlation = (uint64_t)job->id << 32 | job->epoch;
    msg->body.plan_request = job->request;
    return true;
}

uint64_t node_digest(const struct node *node)
{
    return node->digest.value;
}
