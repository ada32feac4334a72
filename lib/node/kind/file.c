#include "node/kind/file.h"

#include <inttypes.h>

#include "node/flow/behind.h"
#include "node/flow/flow.h"
#include "node/peer/post.h"

/* A block that was bad so often will not become good. */
#define BLOCK_BAD_MAX 8
/* Who sends so many that are bad when they are whole, and no good one between them, has nothing else. */
#define BAD_RUN_MAX 16
/* Of stall_timeout: how long a disk may hang that takes the memory of others. */
#define STUCK_SHARE 4

/* ---- to the disk ---- */

static struct disk_sealed sealed_block(const struct node *node, const struct job *job, uint32_t slot,
                                       uint64_t block)
{
    return job_sealed(node, job, slot, block * job->geometry.block_symbols);
}

static void write_block(struct node *node, struct job *job, uint64_t block)
{
    uint32_t slot = object_write_begin(job->object, block);
    struct disk_request request = {.op = DISK_WRITE,
                                   .length = geometry_block_length(&job->geometry, block),
                                   .offset = geometry_block_offset(&job->geometry, block),
                                   .cookie = block,
                                   .data = node->store.slots[slot].data,
                                   .sealed = sealed_block(node, job, slot, block)};
    job_request(node, job, &request);
}

static bool writes_to_disk(const struct job *job)
{
    return job->part.fixed.keep && !job_sink_lost(job) && job->disk.sink != SINK_CLOSED;
}

/* What the disk has is what stands there in the end: it is ended, or just being so, or was there before. */
static bool copy_is_final(const struct job *job)
{
    return job->phase == PHASE_FINISHING || job->disk.sink == SINK_ENDED;
}

/* A whole block that the disk is not to have (any more). */
static bool keeps_in_memory(const struct job *job, uint64_t block)
{
    uint32_t bad = object_bad_count(job->object, block);
    return bad >= BLOCK_BAD_MAX || (bad > 0 && copy_is_final(job));
}

static void on_block(struct node *node, struct job *job, uint64_t block)
{
    if (keeps_in_memory(job, block)) {
        job->disk.blocks_kept = true;
        return;
    }
    if (!writes_to_disk(job)) {
        /* A pure relay, or one whose disk failed: the block lives in memory until every child has it. */
        object_write_begin(job->object, block);
        object_write_done(job->object, block, false, NULL);
        core_schedule(node, node->now_ns);
        return;
    }
    if (disk_queue_takes_write(&node->disk_queue))
        write_block(node, job, block);
    else
        job->disk.writes_waiting = true;
}

static void write_waiting(struct node *node, struct job *job)
{
    if (!job->disk.writes_waiting || !disk_queue_takes_write(&node->disk_queue))
        return;
    job->disk.writes_waiting = false;
    for (uint32_t index = 0; index < node->store.slot_count; index++) {
        const struct slot *slot = &node->store.slots[index];
        if (slot->object != job->object || slot->retired || slot->have_count != slot->symbols ||
            job->object->state[slot->block] != BLOCK_FILLING)
            continue;
        on_block(node, job, slot->block);
    }
}

/* It waits for its disk to write blocks, in vain so far. (A FINISH may take as long as it likes: it holds no
 * blocks.) */
static bool is_stuck(const struct node *node, const struct job *job)
{
    uint64_t patience_ns = node->config.stall_timeout_ns / STUCK_SHARE;
    return node->disk_queue.writes[job->slot] > 0 &&
           core_lived_ns(node) >= later_ns(job->disk.heard_ns, patience_ns);
}

/* A disk that hangs keeps blocks in memory that no child will ever free: where others have none left for
 * that reason, this site ends before they do. */
static void end_stuck(struct node *node, struct job *job, uint64_t now_ns)
{
    if (job_sink_lost(job) || !is_stuck(node, job) || store_available(&node->store) > 1)
        return;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        const struct job *other = &node->jobs[slot];
        if (other == job || !job_is_known(other) || other->object == NULL || !phase_runs(other->phase) ||
            is_stuck(node, other))
            continue;
        unsigned seconds = (unsigned)(node->config.stall_timeout_ns / STUCK_SHARE / NS_PER_S);
        job_fail(node, job, now_ns,
                 "its disk has answered nothing for %u s, and other jobs wait for the memory", seconds);
        node->counters.disks_stuck++;
        return;
    }
}

static void let_go_of_kept(struct node *node, struct job *job)
{
    bool left = false;
    for (uint32_t index = 0; index < node->store.slot_count && job->disk.blocks_kept; index++) {
        const struct slot *slot = &node->store.slots[index];
        if (slot->object == job->object && !slot->retired && slot->have_count == slot->symbols &&
            job->object->state[slot->block] == BLOCK_FILLING && keeps_in_memory(job, slot->block))
            left |= !object_let_go(job->object, slot->block);
    }
    job->disk.blocks_kept = left;
}

/* Slots that an own job may always have, if there are any: one is sent while the other is read. */
#define SOURCE_SLOTS 2u
/* Of each job, however many read: one is on its way while the next is asked for. */
#define READ_AHEAD_LEAST 2u

/* ---- from the disk: read-ahead at the source, slow children anywhere ---- */

/* Own jobs must not fill the memory that blocks of others pass through; nor do they wait until those let go of it. */
static bool leaves_room(const struct node *node, const struct job *job)
{
    if (job->source == NULL || job->object->slots_in_use < SOURCE_SLOTS ||
        store_available(&node->store) > node->store.slot_count / 4)
        return true;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++)
        if (node->jobs[slot].source == NULL && node->jobs[slot].object != NULL)
            return false;
    return true;
}

static bool load_begin(struct job *job, uint32_t ahead, uint64_t *block, uint32_t *slot)
{
    bool hashed = job->source != NULL && job->part.fixed.hash != PART_HASH_NONE;
    return object_load_begin(job->object, ahead, block, slot) ||
           (hashed && object_load_unhashed(job->object, block, slot));
}

/* The disk answers in order: what one job has asked for, all others wait for. */
static uint32_t read_ahead_blocks(const struct node *node, const struct job *job)
{
    uint32_t reading = 1;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++)
        reading += slot != job->slot && node->jobs[slot].disk.loads > 0;
    return MAX(READ_AHEAD_BLOCKS / reading, READ_AHEAD_LEAST);
}

static void load(struct node *node, struct job *job)
{
    uint64_t block;
    uint32_t slot;
    uint32_t ahead = MIN(READ_AHEAD_BLOCKS, node->store.slot_count / 4), most = read_ahead_blocks(node, job);
    while (job->disk.outstanding < most && leaves_room(node, job) && load_begin(job, ahead, &block, &slot)) {
        struct disk_request request = {.op = DISK_READ,
                                       .length = geometry_block_length(&job->geometry, block),
                                       .offset = geometry_block_offset(&job->geometry, block),
                                       .cookie = block,
                                       .data = node->store.slots[slot].data,
                                       .sealed = sealed_block(node, job, slot, block)};
        job_request(node, job, &request);
        job->disk.loads++;
    }
}

static enum edge_limit why_waits(const struct job *job, uint8_t child)
{
    const struct object *object = job->object;
    if (job->disk.loads > 0)
        return EDGE_LIMIT_sender_disk;
    bool unread = job->source != NULL && object->read_next < object->geometry.blocks;
    if (unread || object->feeds[child].backlog_count > 0)
        return EDGE_LIMIT_sender_memory;
    return object->received_bytes < object->geometry.size_bytes && job->source == NULL
               ? EDGE_LIMIT_application
               : EDGE_LIMIT_none;
}

/* ---- blocks that are not what the source has ---- */

static bool post_blocks(struct node *node, const struct job *job, uint16_t parent, enum control_kind kind,
                        uint64_t first, uint64_t count)
{
    struct wire_blocks blocks = {.job = job->id, .first_block = first, .count = count};
    return post(node, parent, kind, &blocks);
}

bool file_post_have(struct node *node, const struct job *job)
{
    uint16_t parents[STRIPES_MAX];
    uint32_t count = trees_parents(job, parents);
    bool told = true;
    for (uint32_t index = 0; index < count; index++)
        told = post_blocks(node, job, parents[index], CONTROL_HAVE, 0, job->geometry.blocks) && told;
    return told;
}

/* Who brings the stripe of the block. */
static uint16_t parent_of(const struct job *job, uint64_t block)
{
    return job->trees.parent[trees_stripe_of(job, block)];
}

static bool post_resend(struct node *node, const struct job *job, uint64_t block)
{
    return post_blocks(node, job, parent_of(job, block), CONTROL_RESEND, block, 1);
}

/* The parent takes the block for one that was acked: until it is asked it will not send it again. */
static void ask_again(struct node *node, struct job *job, uint64_t block)
{
    if (parent_of(job, block) >= node->peer_count || post_resend(node, job, block))
        return;
    bool first = job->resend.end == 0;
    job->resend.first = first ? block : MIN(job->resend.first, block);
    job->resend.end = MAX(job->resend.end, block + 1);
}

/* What has shown that the content of a block is not what the source has. */
enum bad_by { BAD_BY_WRITE, BAD_BY_READ, BAD_BY_HASH };

/* A block that is held can still be written anew until the copy is final; then it is not whole. */
static void on_bad_block(struct node *node, struct job *job, uint64_t block, enum bad_by by)
{
    uint32_t bad = object_bad_count(job->object, block);
    bool ends = bad == BLOCK_BAD_MAX || copy_is_final(job);
    job->bad_run += by == BAD_BY_WRITE;
    node->counters.blocks_bad++;
    if (job->result == SITE_SKIPPED)
        job_revoke(node, job, "block %" PRIu64 " of what is there is not what the source has", block);
    else if (ends && by == BAD_BY_READ)
        job_revoke(node, job, "its disk gives block %" PRIu64 " back other than it was written", block);
    else if (ends && copy_is_final(job))
        job_revoke(node, job, "%s told two hashes of block %" PRIu64, peer_name(node, job->source_peer),
                   block);
    else if (ends)
        job_revoke(node, job, "block %" PRIu64 " came bad %u times from %s", block, BLOCK_BAD_MAX,
                   peer_name(node, parent_of(job, block)));
    else if (job->bad_run == BAD_RUN_MAX)
        job_revoke(node, job, "%u blocks came bad, and none good, from %s", BAD_RUN_MAX,
                   peer_name(node, parent_of(job, block)));
    if (bad <= BLOCK_BAD_MAX)
        ask_again(node, job, block);
}

static bool lacks(const struct job *job, uint64_t block)
{
    switch ((enum block_state)job->object->state[block]) {
    case BLOCK_ABSENT:
    case BLOCK_FILLING:
    case BLOCK_READING:
        return true;
    case BLOCK_WRITING:
    case BLOCK_HELD:
    case BLOCK_VERIFIED:
        return false;
    }
    return false;
}

void file_resend_again(struct node *node, struct job *job)
{
    struct job_resend *resend = &job->resend;
    bool over = job->object == NULL || phase_ends(job->phase);
    for (; !over && resend->first < resend->end; resend->first++)
        if (lacks(job, resend->first) && !post_resend(node, job, resend->first))
            return;
    resend->first = resend->end = 0;
}

static const struct wire_hash *hash(const struct job *job, uint64_t block)
{
    bool known = block < job->geometry.blocks && (job->object->hash_known[block] & 1) != 0;
    return known ? &job->object->hash[block] : NULL;
}

static void note_known_hashes(struct job *job)
{
    while (hash(job, job->hash_ready) != NULL)
        job->hash_ready++;
}

static void on_hashes(struct node *node, struct job *job, const struct control_hashes *hashes,
                      uint64_t now_ns)
{
    (void)now_ns;
    uint64_t first = hashes->fixed.first_block;
    bool inside = first <= job->geometry.blocks && hashes->fixed.count <= job->geometry.blocks - first;
    if (job->object == NULL || !inside || job->part.fixed.hash == PART_HASH_NONE) {
        node->counters.messages_refused++;
        return;
    }
    for (uint16_t index = 0; index < hashes->fixed.count; index++)
        if (!object_expect(job->object, first + index, &hashes->hashes[index]))
            on_bad_block(node, job, first + index, BAD_BY_HASH);
        else if (job->object->state[first + index] == BLOCK_VERIFIED)
            job->bad_run = 0;
}

/* ---- what the disk answers ---- */

static void on_written(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    uint64_t block = reply->cookie;
    if (reply->status != DISK_OK) {
        job_fail(node, job, now_ns, "%s", reply->text);
        object_write_done(job->object, block, false, NULL);
        return;
    }
    bool hashed = job->part.fixed.hash != PART_HASH_NONE;
    if (!object_write_done(job->object, block, hashed, &reply->hash)) {
        on_bad_block(node, job, block, BAD_BY_WRITE);
        return;
    }
    node->counters.blocks_verified++;
    if (job->object->state[block] == BLOCK_VERIFIED)
        job->bad_run = 0;
}

/* What was read is the source's own content: its hash is what every site compares with. */
static bool read_at_source(struct job *job, const struct disk_reply *reply, char *failure)
{
    uint64_t block = reply->cookie;
    bool read = reply->status == DISK_OK;
    bool same =
        read && (job->part.fixed.hash == PART_HASH_NONE || object_expect(job->object, block, &reply->hash));
    if (same) {
        object_load_done(job->object, block);
        return true;
    }
    object_load_failed(job->object, block);
    name_copy(failure, DISK_TEXT_BYTES, read ? "its content changed during the job" : reply->text);
    return false;
}

static bool read_back(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    if (reply->status == DISK_OK) {
        bool hashed = job->part.fixed.hash != PART_HASH_NONE;
        bool good = !hashed || object_load_check(job->object, reply->cookie, &reply->hash);
        object_load_done(job->object, reply->cookie);
        if (!good && !phase_ends(job->phase))
            on_bad_block(node, job, reply->cookie, BAD_BY_READ);
        return good;
    }
    object_load_failed(job->object, reply->cookie);
    job_fail(node, job, now_ns, "%s", reply->text);
    return false;
}

static void on_finished(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    if (reply->status != DISK_OK) {
        job_fail(node, job, now_ns, "%s", reply->text);
        return; /* ABORT takes away what is there */
    }
    job->disk.sink = SINK_ENDED;
    name_copy(job->note, sizeof(job->note), reply->note);
    if (!phase_ends(job->phase))
        job_verified(node, job, reply->text);
}

static bool on_disk(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns,
                    char *failure)
{
    if (reply->op == DISK_WRITE)
        on_written(node, job, reply, now_ns);
    if (reply->op == DISK_FINISH)
        on_finished(node, job, reply, now_ns);
    if (reply->op != DISK_READ)
        return true;
    bool source = job->source != NULL;
    bool here = source ? read_at_source(job, reply, failure) : read_back(node, job, reply, now_ns);
    if (here && !phase_ends(job->phase))
        flow_wake_children(node, job);
    return here || !source;
}

/* ---- in time ---- */

static void check_complete(struct node *node, struct job *job, uint64_t now_ns)
{
    if (job->phase != PHASE_RUNNING || job->result != SITE_RECEIVING || job->disk.outstanding > 0 ||
        !object_complete(job->object))
        return;
    core_schedule(node, now_ns);
    if (!job->part.fixed.keep) {
        job_verified(node, job, "relayed");
        return;
    }
    job_finish(node, job);
}

static void on_tick(struct node *node, struct job *job, uint64_t now_ns)
{
    behind_tick(node, job);
    bool site = job->source == NULL;
    bool finish_first = site && job->phase == PHASE_RUNNING && object_complete(job->object);
    if (site)
        write_waiting(node, job);
    if (site)
        end_stuck(node, job, now_ns);
    let_go_of_kept(node, job);
    if (job->disk.sink != SINK_CLOSED && !finish_first)
        load(node, job);
    if (!site)
        note_known_hashes(job);
}

static uint64_t size_bytes(const struct job *job)
{
    return job->geometry.size_bytes;
}

static uint64_t received_bytes(const struct job *job)
{
    return job->object == NULL ? 0 : job->object->received_bytes;
}

static uint64_t verified_bytes(const struct job *job)
{
    return job->object == NULL ? 0 : job->object->verified_bytes;
}

const struct object_kind file_kind = {
    .name = "file",
    .input_name = "source file",
    .on_tick = on_tick,
    .check_complete = check_complete,
    .on_block = on_block,
    .why_waits = why_waits,
    .hash = hash,
    .on_hashes = on_hashes,
    .on_disk = on_disk,
    .size_bytes = size_bytes,
    .received_bytes = received_bytes,
    .verified_bytes = verified_bytes,
};
