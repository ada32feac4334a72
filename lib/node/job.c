/* What source and sites of a job share: the slot, the object, children and forwarding, hashes, letting go. */
#include <string.h>

#include "base/check.h"
#include "node/internal.h"

#define DISK_QUEUE_OTHERS (NODE_JOBS_MAX * (READ_AHEAD_BLOCKS + 2))

/* An edge begins with so much per round trip where no rate is known. */
#define START_BYTES      (32 * 1500ULL)
#define START_RTT_NS_MIN NS_PER_MS

/* Sums over all jobs stay far below 2^64. */
#define CHILD_RATE_BPS_MAX 100000000000000ULL

struct job *job_find(struct node *node, uint32_t id)
{
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++)
        if (node->jobs[slot].in_use && node->jobs[slot].id == id)
            return &node->jobs[slot];
    return NULL;
}

/* A job whose resources are gone stays for `show jobs` until its slot is needed: the one that ended first
 * goes first. */
struct job *job_allocate(struct node *node, uint32_t id, uint64_t now_ns)
{
    struct job *chosen = NULL;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        struct job *job = &node->jobs[slot];
        if (!job->in_use) {
            chosen = job;
            break;
        }
        bool over =
            job->state >= JOB_DONE && job->object == NULL && job->disk_outstanding == 0 && !job->disk_open;
        if (over && (chosen == NULL || job->ended_ns < chosen->ended_ns))
            chosen = job;
    }
    if (chosen == NULL)
        return NULL;
    uint8_t generation = (uint8_t)(chosen->generation + 1);
    memset(chosen, 0, sizeof(*chosen));
    memset(chosen->child_of_peer, UINT8_MAX, sizeof(chosen->child_of_peer));
    chosen->in_use = true;
    chosen->slot = (uint8_t)(chosen - node->jobs);
    chosen->generation = generation;
    chosen->id = id;
    chosen->created_ns = now_ns;
    chosen->parent = PEER_NONE;
    chosen->source_peer = PEER_NONE;
    chosen->controls.priority = JOB_PRIORITY_NORMAL;
    node->counters.jobs_started++;
    return chosen;
}

uint32_t job_ip_overhead(const struct node *node)
{
    uint32_t overhead = address_overhead_bytes(ADDRESS_IPV4);
    for (uint16_t index = 0; index < node->peer_count; index++)
        overhead = MAX(overhead, address_overhead_bytes(node->config.peers[index].address.family));
    return overhead;
}

static void switch_table(struct node *node)
{
    node->table = node->table == &node->tables[0] ? &node->tables[1] : &node->tables[0];
}

static struct forward_table *next_table(struct node *node)
{
    return node->table == &node->tables[0] ? &node->tables[1] : &node->tables[0];
}

static uint32_t symbols_per_packet(const struct node *node, const struct job *job, uint16_t peer,
                                   uint32_t mtu)
{
    uint32_t overhead = address_overhead_bytes(node->peers[peer].config->address.family);
    return geometry_symbols_per_packet(mtu, overhead, job->geometry.symbol_bytes);
}

static bool install_children(struct node *node, struct job *job, struct forward_entry *entry, struct err *err)
{
    memset(job->child_of_peer, UINT8_MAX, sizeof(job->child_of_peer));
    job->child_count = 0;
    for (uint8_t index = 0; index < job->part.fixed.child_count; index++) {
        const struct wire_child *wanted = &job->part.children[index];
        uint16_t peer = peer_find(node, wanted->name.text);
        if (peer >= node->peer_count)
            return err_set(err, "child '%s' is no peer of %s", wanted->name.text, node->config.name);
        if (job->child_of_peer[peer] != UINT8_MAX)
            return err_set(err, "child '%s' is there twice", wanted->name.text);
        if (peer == job->parent || peer == job->source_peer)
            return err_set(err, "child '%s' is also the %s", wanted->name.text,
                           peer == job->parent ? "parent" : "source");
        if (wanted->rate_bps == 0 || wanted->rate_bps > CHILD_RATE_BPS_MAX)
            return err_set(err, "child '%s' has no rate that makes sense", wanted->name.text);
        uint32_t mtu = node->config.ports[node->peers[peer].port].mtu;
        if (symbols_per_packet(node, job, peer, mtu) == 0)
            return err_set(err, "symbols of %u bytes do not fit the MTU %u towards %s",
                           job->geometry.symbol_bytes, mtu, wanted->name.text);
        job->children[index] = (struct child){.peer = peer, .rate_bps = wanted->rate_bps};
        job->child_of_peer[peer] = index;
        entry->children[index] = (struct forward_child){
            .peer = peer, .port = node->peers[peer].port, .rate_bps = wanted->rate_bps};
        job->child_count++;
    }
    entry->child_count = (uint8_t)job->child_count;
    return true;
}

bool job_install(struct node *node, struct job *job, struct err *err)
{
    struct forward_entry entry = {.job = job->id,
                                  .epoch = job->epoch,
                                  .job_slot = job->slot,
                                  .keep = job->part.fixed.keep != 0,
                                  .parent = job->parent == PEER_NONE ? FORWARD_PEER_NONE : job->parent};
    if (!install_children(node, job, &entry, err))
        return false;
    if (!forward_with(next_table(node), node->table, &entry))
        return err_set(err, "the forwarding table of %s is full", node->config.name);
    switch_table(node);
    return true;
}

bool job_open_object(struct node *node, struct job *job, struct err *err)
{
    bool stream = job->part.fixed.object == PART_OBJECT_STREAM;
    bool discard =
        stream || (!job->is_source && (node->config.store == NODE_STORE_NONE || !job->part.fixed.keep));
    bool source = job->is_source && !stream;
    job->object = object_open(&node->store, &job->geometry, source, discard, job->child_count, err);
    if (job->object != NULL && stream)
        stream_open(job);
    return job->object != NULL;
}

static const char *congestion_name(enum part_congestion congestion)
{
    switch (congestion) {
    case PART_CONGESTION_FIXED:
        return "fixed";
    case PART_CONGESTION_DELAY:
        return "delay";
    case PART_CONGESTION_BQL:
        return "bql";
    case PART_CONGESTION_SCAVENGER:
        return "scavenger";
    }
    return "";
}

/* A strategy that this node does not have is replaced by one that also yields to what it meets. */
static const struct congestion_type *congestion_of(const struct job *job)
{
    const struct congestion_type *type = congestion_find(congestion_name(job->part.fixed.congestion));
    return type != NULL ? type : &congestion_delay_type;
}

/* At the rate that the job knows for its path, else at a few packets per round trip: the strategy looks for
 * more. */
static void start_edge(struct peer *peer, const struct job *job, uint64_t cap_bps, uint64_t now_ns)
{
    peer->causes = (struct causes){.holds = EDGE_LIMIT_application, .since_ns = now_ns};
    uint64_t start_bps = job->part.fixed.start_bps;
    bool known = start_bps != UINT64_MAX;
    if (start_bps == 0)
        start_bps = cap_bps;
    if (!known) {
        uint64_t rtt_ns = MAX(peer->sender.rtt.smoothed_ns, START_RTT_NS_MIN);
        start_bps = muldiv64(START_BYTES * 8, NS_PER_S, rtt_ns);
    }
    sender_set_congestion(&peer->sender, congestion_of(job), MIN(start_bps, cap_bps), known, now_ns);
}

void job_start_edges(struct node *node, struct job *job, uint64_t now_ns)
{
    for (uint16_t index = 0; index < job->child_count; index++) {
        struct child *child = &job->children[index];
        struct peer *peer = &node->peers[child->peer];
        bool idle = peer->jobs_out == 0;
        /* At least one, as planned: a later measurement may have lost its large probes. */
        child->symbols_per_packet = MAX(symbols_per_packet(node, job, child->peer, peer->path_mtu), 1u);
        peer->jobs_out |= (uint16_t)(1u << job->slot);
        adjust_start_edge(node, job, child, now_ns);
        child->acked_ns = now_ns;
        uint64_t cap_bps = adjust_edge_cap_bps(node, child->peer);
        if (idle)
            start_edge(peer, job, cap_bps, now_ns);
        sender_set_cap(&peer->sender, cap_bps);
        peer->ready_ns = 0;
    }
    if (job->stream.on)
        stream_start(node, job, now_ns);
}

static void stop_edge(struct node *node, struct job *job, uint16_t index)
{
    struct peer *peer = &node->peers[job->children[index].peer];
    if ((peer->jobs_out & 1u << job->slot) == 0)
        return;
    peer->jobs_out &= (uint16_t) ~(1u << job->slot);
    if (peer->jobs_out == 0)
        causes_set(&peer->causes, EDGE_LIMIT_none, node->now_ns);
    else
        sender_set_cap(&peer->sender, adjust_edge_cap_bps(node, peer->index));
}

void job_disk(struct node *node, struct job *job, const struct disk_request *request)
{
    CHECK(node->disk_tail - node->disk_head < DISK_QUEUE);
    struct disk_request *queued = &node->disk_queue[node->disk_tail++ & (DISK_QUEUE - 1)];
    *queued = *request;
    queued->handle = job->slot;
    job->disk_outstanding++;
}

/* ---- blocks ---- */

static void write_block(struct node *node, struct job *job, uint64_t block)
{
    uint32_t slot = object_write_begin(job->object, block);
    struct disk_request request = {.op = DISK_WRITE,
                                   .length = geometry_block_length(&job->geometry, block),
                                   .offset = geometry_block_offset(&job->geometry, block),
                                   .cookie = block,
                                   .data = node->store.slots[slot].data};
    job_disk(node, job, &request);
}

/* Reads and all else are bounded by DISK_QUEUE_OTHERS over all jobs; writes only by memory. */
static bool may_write(const struct node *node)
{
    return node->disk_tail - node->disk_head < DISK_QUEUE - DISK_QUEUE_OTHERS;
}

static bool writes_to_disk(const struct job *job)
{
    return job->part.fixed.keep && !job->sink_failed && job->disk_open;
}

void job_on_block_complete(struct node *node, struct job *job, uint64_t block)
{
    if (job->stream.on) {
        stream_on_block(node, job, block);
        return;
    }
    if (!writes_to_disk(job)) {
        /* A pure relay, or one whose disk failed: the block lives in memory until every child has it. */
        object_write_begin(job->object, block);
        object_write_done(job->object, block, false, NULL);
        node_schedule(node, node->now_ns);
        return;
    }
    if (may_write(node))
        write_block(node, job, block);
    else
        job->writes_waiting = true;
}

void job_write_waiting(struct node *node, struct job *job)
{
    if (!job->writes_waiting || !may_write(node))
        return;
    job->writes_waiting = false;
    for (uint32_t index = 0; index < node->store.slot_count; index++) {
        const struct slot *slot = &node->store.slots[index];
        if (slot->object != job->object || slot->retired || slot->have_count != slot->symbols ||
            job->object->state[slot->block] != BLOCK_FILLING)
            continue;
        job_on_block_complete(node, job, slot->block);
    }
}

/* ---- hashes down the tree ---- */

static void note_known_hashes(struct job *job)
{
    while (job->hash_ready < job->geometry.blocks && (job->object->hash_known[job->hash_ready] & 1) != 0)
        job->hash_ready++;
}

static bool send_hash_group(struct node *node, struct job *job, struct child *child)
{
    struct control_hashes hashes = {.fixed = {.job = job->id, .first_block = child->hash_next}};
    uint64_t count = MIN(job->hash_ready - child->hash_next, (uint64_t)CONTROL_HASHES_MAX);
    hashes.fixed.count = (uint16_t)count;
    memcpy(hashes.hashes, &job->object->hash[child->hash_next], count * sizeof(hashes.hashes[0]));
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    size_t length = control_hashes_encode(body, &hashes);
    CHECK(length > 0);
    if (!peer_send(node, child->peer, CONTROL_HASHES, body, length))
        return false;
    child->hash_next += count;
    return true;
}

void job_send_hashes(struct node *node, struct job *job, uint64_t now_ns)
{
    if (job->part.fixed.hash == PART_HASH_NONE || job->object == NULL || job->state != JOB_RUNNING)
        return;
    note_known_hashes(job);
    for (uint16_t index = 0; index < job->child_count; index++) {
        struct child *child = &job->children[index];
        if (child->gone)
            continue;
        uint64_t interval_ns = MAX(node->peers[child->peer].sender.rtt.smoothed_ns / 16, HASH_INTERVAL_NS);
        bool waited = now_ns >= later_ns(child->hash_sent_ns, interval_ns);
        /* Half of the queue stays free for messages that matter more. */
        while (job->hash_ready > child->hash_next &&
               mail_room(&node->peers[child->peer].mail) > MAIL_QUEUE / 2 &&
               (waited || job->hash_ready - child->hash_next >= CONTROL_HASHES_MAX)) {
            if (!send_hash_group(node, job, child))
                break;
            child->hash_sent_ns = now_ns;
        }
    }
}

/* ---- loading from disk: read-ahead at the source, slow children anywhere ---- */

/* Own jobs must not fill the memory that blocks of others pass through. */
static bool leaves_room(const struct node *node, const struct job *job)
{
    if (!job->is_source || store_available(&node->store) > node->store.slot_count / 4)
        return true;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++)
        if (node->jobs[slot].in_use && !node->jobs[slot].is_source && node->jobs[slot].object != NULL)
            return false;
    return true;
}

static void load(struct node *node, struct job *job)
{
    uint64_t block;
    uint32_t slot;
    uint32_t ahead = MIN(READ_AHEAD_BLOCKS, node->store.slot_count / 4);
    while (job->disk_outstanding < READ_AHEAD_BLOCKS && leaves_room(node, job) &&
           object_load_begin(job->object, ahead, &block, &slot)) {
        struct disk_request request = {.op = DISK_READ,
                                       .length = geometry_block_length(&job->geometry, block),
                                       .offset = geometry_block_offset(&job->geometry, block),
                                       .cookie = block,
                                       .data = node->store.slots[slot].data};
        job_disk(node, job, &request);
        job->loads_outstanding++;
    }
}

/* ---- the end ---- */

void job_close(struct node *node, struct job *job, uint64_t now_ns)
{
    if (job->phase == PHASE_CLOSING)
        return;
    job->phase = PHASE_CLOSING;
    forward_without(next_table(node), node->table, job->id);
    switch_table(node);
    for (uint16_t index = 0; index < job->child_count; index++) {
        stop_edge(node, job, index);
        if (job->object != NULL && !job->children[index].gone)
            feed_drop(job->object, index);
        job->children[index].gone = true;
    }
    digest_add(&node->digest, (uint64_t)job->id << 8 | job->state);
    node->jobs_tick_ns = MIN(node->jobs_tick_ns, now_ns);
    node_schedule(node, now_ns);
}

static void closing_tick(struct node *node, struct job *job)
{
    if (job->stream.on)
        stream_interrupt(node, job);
    if (job->disk_outstanding > 0)
        return;
    if (job->is_source && !manifest_write(node, job))
        return;
    if (job->disk_open) {
        bool abort = !job->is_source && !job->disk_ended;
        job_disk(node, job, &(struct disk_request){.op = abort ? DISK_ABORT : DISK_CLOSE});
        if (abort)
            job->disk_ended = true;
        else
            job->disk_open = false;
        return;
    }
    if (job->is_source && !source_tell_sites(node, job))
        return;
    if (job->object != NULL && object_idle(job->object)) {
        object_close(job->object);
        job->object = NULL;
    }
}

void job_tick(struct node *node, struct job *job, uint64_t now_ns)
{
    if (!job->is_source)
        site_tell_again(node, job);
    if (job->phase == PHASE_CLOSING) {
        closing_tick(node, job);
        return;
    }
    if (job->is_source)
        source_tick(node, job, now_ns);
    else
        site_tick(node, job, now_ns);
    if (job->phase == PHASE_CLOSING || job->object == NULL || job->state != JOB_RUNNING)
        return;
    if (job->stream.on) {
        stream_tick(node, job, now_ns);
        return;
    }
    job_leave_behind(node, job, now_ns);
    bool finish_first = !job->is_source && job->phase == PHASE_RUNNING && object_complete(job->object);
    if (!job->is_source)
        job_write_waiting(node, job);
    if (job->disk_open && !finish_first)
        load(node, job);
    job_send_hashes(node, job, now_ns);
    if (job->is_source)
        manifest_tick(node, job);
}

void job_drop_child(struct node *node, struct job *job, uint16_t peer)
{
    uint8_t index = job->child_of_peer[peer];
    if (index == UINT8_MAX || job->children[index].gone)
        return;
    job->children[index].gone = true;
    stop_edge(node, job, index);
    if (job->object != NULL)
        feed_drop(job->object, index);
}

void job_on_peer_lost(struct node *node, uint16_t peer, bool restarted, uint64_t now_ns)
{
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        struct job *job = &node->jobs[slot];
        if (!job->in_use || job->phase == PHASE_CLOSING || job->state >= JOB_DONE)
            continue;
        /* Silence may end; a restarted peer has forgotten everything. */
        if (restarted)
            job_drop_child(node, job, peer);
        if (job->is_source)
            source_on_peer_lost(node, job, peer, restarted, now_ns);
        else if (restarted && peer == job->source_peer)
            site_on_source_lost(node, job, now_ns);
        else if (restarted && peer == job->parent)
            site_fail(node, job, now_ns, "its parent %s restarted", peer_name(node, peer));
    }
}
