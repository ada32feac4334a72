/* Streams, at source and sites: the window, hashes and ends down the tree, the rule for slow receivers. */
#include "node/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "node/internal.h"

#define WINDOW_TEXT_BYTES 64

/* ---- sizes ---- */

/* Other jobs need slots as well. */
static uint64_t blocks_max(const struct node *node)
{
    return node->store.slot_count / 2;
}

bool stream_check_spec(const struct node *node, const struct job_spec *spec, struct err *err)
{
    uint64_t blocks = MAX(spec->retention_bytes / BLOCK_BYTES_TARGET + 1, (uint64_t)STREAM_BLOCKS_MIN);
    if (blocks <= blocks_max(node) && blocks <= UINT32_MAX)
        return true;
    return err_set(err,
                   "job '%s': a retention of %" PRIu64
                   " MB is more than half of the symbol buffer of %" PRIu64 " MB",
                   spec->name, spec->retention_bytes / 1000000, node->config.buffer_bytes / 1000000);
}

void stream_fill_part(const struct job_spec *spec, uint32_t symbol_bytes, uint32_t block_symbols,
                      struct wire_part *part)
{
    uint64_t payload_bytes = (uint64_t)stream_payload_bytes(symbol_bytes) * block_symbols;
    uint64_t blocks = (spec->retention_bytes + payload_bytes - 1) / payload_bytes;
    part->stream_blocks = (uint32_t)MAX(blocks, (uint64_t)STREAM_BLOCKS_MIN);
    part->stream_window_ms = (uint32_t)MIN(spec->window_ns / NS_PER_MS, (uint64_t)UINT32_MAX);
    part->stream_slow = spec->slow;
}

bool stream_fit_part(const struct node *node, struct wire_part *part, struct err *err)
{
    part->stream_blocks =
        (uint32_t)MIN(MAX(part->stream_blocks, (uint32_t)STREAM_BLOCKS_MIN), blocks_max(node));
    return part->stream_blocks >= STREAM_BLOCKS_MIN ||
           err_set(err, "the symbol buffer of %" PRIu64 " MB is too small for a stream",
                   node->config.buffer_bytes / 1000000);
}

/* How long the stream can be held at its fastest; TIME_NEVER: nobody knows how fast it is. */
static uint64_t held_ns(const struct job *job, const struct wire_part *part)
{
    uint64_t window_ns = part->stream_window_ms == 0 ? TIME_NEVER : part->stream_window_ms * NS_PER_MS;
    uint64_t bytes =
        (uint64_t)part->stream_blocks * part->block_symbols * stream_payload_bytes(part->symbol_bytes);
    if (job->controls.rate_cap_bps == 0)
        return window_ns;
    return MIN(window_ns, muldiv64(bytes * 8, NS_PER_S, job->controls.rate_cap_bps));
}

bool stream_check_paths(const struct job *job, const struct wire_part *part, struct err *err)
{
    const struct plan_tree *tree = &job->plan.trees[0];
    uint64_t kept_ns = held_ns(job, part);
    for (uint16_t index = 0; index < tree->edge_count; index++) {
        uint16_t from = tree->edges[index].from, to = tree->edges[index].to;
        uint32_t rtt_us = job->request.rtt_us[from][to];
        if (rtt_us != UINT32_MAX && kept_ns < rtt_us * NS_PER_US)
            return err_set(err, "a window of %" PRIu64 " ms is shorter than the RTT from %s to %s, %u ms",
                           (uint64_t)(kept_ns / NS_PER_MS), job->request.nodes[from].name,
                           job->request.nodes[to].name, (unsigned)((rtt_us + 999) / 1000));
    }
    return true;
}

uint64_t stream_window_bytes(const struct wire_part *part, uint32_t symbol_bytes, uint32_t block_symbols)
{
    return (uint64_t)part->stream_blocks * block_symbols * symbol_bytes;
}

static uint64_t payload_bytes(const struct job *job, uint64_t symbols)
{
    return symbols * stream_payload_bytes(job->geometry.symbol_bytes);
}

static uint64_t window_symbols(const struct job *job)
{
    return job->geometry.symbols;
}

/* ---- life ---- */

void stream_open(struct job *job)
{
    memset(&job->stream, 0, sizeof(job->stream));
    job->stream.on = true;
    stream_init(&job->stream.window, job->object);
    job->stream.room_told = STREAM_BLOCKS_MIN;
    for (uint16_t child = 0; child < job->child_count; child++)
        job->children[child].room_blocks = STREAM_BLOCKS_MIN;
}

void stream_start(struct node *node, struct job *job, uint64_t now_ns)
{
    job->stream.marks[0] = (struct stream_mark){.at_ns = now_ns};
    job->stream.mark_next = 1;
    if (job->is_source)
        stream_feed(node, job);
    else
        stream_settle(node, job);
}

void stream_interrupt(struct node *node, struct job *job)
{
    if (!job->stream.busy || job->stream.interrupted)
        return;
    job->stream.interrupted = job->disk_ended = true;
    job_disk(node, job, &(struct disk_request){.op = DISK_ABORT});
}

bool stream_refuse(struct node *node, enum stream_where where)
{
    if (where == STREAM_BEFORE)
        node->counters.symbols_repeated++;
    else
        node->counters.drop_data_memory++;
    return where == STREAM_BEFORE;
}

const struct wire_hash *stream_hash_of(const struct job *job, const struct disk_reply *reply)
{
    return job->part.fixed.hash == PART_HASH_NONE ? NULL : &reply->hash;
}

/* ---- children ---- */

bool stream_may_send(const struct job *job, uint32_t child, uint32_t count_max, struct feed_item *item)
{
    uint64_t limit = job->children[child].room_blocks * job->geometry.block_symbols;
    if (item->repair || stream_number(&job->stream.window, item->symbol) < limit)
        return true;
    /* Blocks come nearly in order: nearly always none of the others has a place either. */
    for (uint32_t left = job->object->feeds[child].ready.count; left > 0; left--) {
        feed_defer(job->object, child);
        if (feed_peek(job->object, child, count_max, item) &&
            stream_number(&job->stream.window, item->symbol) < limit)
            return true;
    }
    return false;
}

void stream_on_room(struct node *node, struct job *job, uint32_t child, uint64_t blocks, uint64_t now_ns)
{
    job->children[child].room_blocks = MAX(job->children[child].room_blocks, blocks);
    if (job->state != JOB_RUNNING)
        return;
    data_wake(node, job);
    stream_tick(node, job, now_ns);
}

void stream_tell_end(struct node *node, struct job *job)
{
    struct control_stream_end end = {.fixed = job->stream.end};
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    size_t length = control_stream_end_encode(body, &end);
    for (uint16_t child = 0; child < job->child_count; child++) {
        uint32_t bit = 1u << child;
        if ((job->stream.end_due & bit) == 0)
            continue;
        if (job->children[child].gone ||
            peer_send(node, job->children[child].peer, CONTROL_STREAM_END, body, length))
            job->stream.end_due &= ~bit;
    }
}

static void tell_dropped(struct node *node, struct job *job)
{
    struct control_stream_end end = {.fixed = {.job = job->id, .reason = STREAM_END_DROPPED}};
    name_copy(end.text, sizeof(end.text), job->stream.drop_text);
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    size_t length = control_stream_end_encode(body, &end);
    for (uint16_t child = 0; child < job->child_count; child++)
        if ((job->stream.drop_due >> child & 1) != 0 &&
            peer_send(node, job->children[child].peer, CONTROL_STREAM_END, body, length))
            job->stream.drop_due &= ~(1u << child);
}

/* Hashes go to a child only for blocks that have a place there. Returns the first block whose hash some child
 * lacks: the window must not pass it. */
static uint64_t send_hashes(struct node *node, struct job *job)
{
    uint64_t told = UINT64_MAX;
    if (job->part.fixed.hash == PART_HASH_NONE)
        return told;
    for (uint16_t index = 0; index < job->child_count; index++) {
        struct child *child = &job->children[index];
        if (child->gone)
            continue;
        struct control_hashes hashes = {.fixed = {.job = job->id, .first_block = child->hash_next}};
        const struct wire_hash *hash;
        while (hashes.fixed.count < CONTROL_HASHES_MAX &&
               child->hash_next + hashes.fixed.count < child->room_blocks &&
               (hash = stream_hash(&job->stream.window, child->hash_next + hashes.fixed.count)) != NULL)
            hashes.hashes[hashes.fixed.count++] = *hash;
        uint8_t body[WIRE_MESSAGE_BODY_MAX];
        size_t length = control_hashes_encode(body, &hashes);
        if (hashes.fixed.count > 0 && peer_send(node, child->peer, CONTROL_HASHES, body, length))
            child->hash_next += hashes.fixed.count;
        told = MIN(told, child->hash_next);
    }
    return told;
}

/* ---- slow receivers ---- */

/* The stream's oldest block has been here for longer than the job's window in time. */
static bool too_old(struct job *job, uint64_t now_ns)
{
    struct job_stream *stream = &job->stream;
    uint64_t window_ns = job->part.fixed.stream_window_ms * NS_PER_MS;
    if (window_ns == 0)
        return false;
    const struct stream_mark *newest = &stream->marks[(stream->mark_next + STREAM_MARKS - 1) % STREAM_MARKS];
    if (now_ns >= later_ns(newest->at_ns, window_ns / (STREAM_MARKS - 2))) {
        uint64_t block = stream_arrived(&stream->window);
        stream->marks[stream->mark_next++ % STREAM_MARKS] = (struct stream_mark){now_ns, block};
    }
    for (uint32_t mark = 0; mark < STREAM_MARKS; mark++)
        if (stream->marks[mark].at_ns != 0 && now_ns >= later_ns(stream->marks[mark].at_ns, window_ns) &&
            stream->window.first < stream->marks[mark].block)
            return true;
    return false;
}

static void say_slow(const struct job *job, uint64_t behind_symbols, char text[CONTROL_TEXT_BYTES])
{
    const struct wire_part *part = &job->part.fixed;
    char window[WINDOW_TEXT_BYTES];
    int length =
        snprintf(window, sizeof(window), "%" PRIu64 " MB", payload_bytes(job, window_symbols(job)) / 1000000);
    if (part->stream_window_ms != 0)
        snprintf(window + length, sizeof(window) - (size_t)length, " and %u.%03u s",
                 part->stream_window_ms / 1000, part->stream_window_ms % 1000);
    snprintf(text, CONTROL_TEXT_BYTES, "too slow for the retention window of %s, %" PRIu64 " bytes behind",
             window, payload_bytes(job, behind_symbols));
}

static void drop(struct node *node, struct job *job, uint16_t index, uint64_t behind, uint64_t now_ns)
{
    uint16_t peer = job->children[index].peer;
    say_slow(job, behind, job->stream.drop_text);
    job->stream.drop_due |= 1u << index;
    node->counters.live_dropped++;
    job_drop_child(node, job, peer);
    if (job->is_source)
        source_drop(job, peer, job->stream.drop_text, now_ns);
    tell_dropped(node, job);
}

static bool sink_lacks_first(const struct job *job)
{
    return job->stream.window.next < (job->stream.window.first + 1) * job->geometry.block_symbols;
}

/* Someone here has nearly all: it will stand still for the slow ones. */
static bool someone_keeps_up(const struct job *job)
{
    uint64_t little = window_symbols(job) / 4;
    for (uint16_t child = 0; child < job->child_count; child++)
        if (!job->children[child].gone && stream_behind(&job->stream.window, child) <= little)
            return true;
    return stream_drains(job) && stream_undelivered(&job->stream.window) <= little;
}

static void judge_slow(struct node *node, struct job *job, uint64_t now_ns)
{
    bool old = too_old(job, now_ns);
    bool edge = old || stream_full(&job->stream.window);
    if (!edge || job->part.fixed.stream_slow == PART_SLOW_WAIT || (!old && !someone_keeps_up(job)))
        return;
    uint64_t much = old ? 0 : window_symbols(job) / 2;
    for (uint16_t child = 0; child < job->child_count; child++) {
        uint64_t behind = stream_behind(&job->stream.window, child);
        if (!job->children[child].gone && behind > much && stream_lacks_first(&job->stream.window, child))
            drop(node, job, child, behind, now_ns);
    }
    uint64_t undelivered = stream_undelivered(&job->stream.window);
    if (stream_drains(job) && undelivered > much && sink_lacks_first(job)) {
        char text[CONTROL_TEXT_BYTES];
        say_slow(job, undelivered, text);
        node->counters.live_dropped++;
        site_fail(node, job, now_ns, "%s", text);
    }
}

/* ---- what happens ---- */

void stream_settle(struct node *node, struct job *job)
{
    bool again = true;
    while (again) {
        uint64_t completed;
        again = stream_advance(&job->stream.window, send_hashes(node, job), &completed);
        if (completed != UINT64_MAX && !job->is_source && !stream_has_sink(job))
            again |= stream_done(&job->stream.window, completed, NULL);
    }
    if (job->is_source) {
        stream_feed(node, job);
        return;
    }
    stream_tell_room(node, job);
    stream_drain(node, job);
    stream_check_complete(node, job);
}

void stream_on_block(struct node *node, struct job *job, uint64_t place)
{
    /* One with a sink is handed out first. */
    if (!stream_has_sink(job)) {
        stream_done(&job->stream.window, place, NULL);
        node_schedule(node, node->now_ns);
    }
}

void stream_on_disk(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    struct job_stream *stream = &job->stream;
    if (reply->op == DISK_FEED || reply->op == DISK_DRAIN) {
        CHECK(stream->busy);
        stream->busy = false;
        store_release(&node->store, stream->slot);
    }
    if (job->phase == PHASE_CLOSING || !stream->on)
        return;
    if (reply->op == DISK_FEED)
        stream_on_fed(node, job, reply, now_ns);
    else if (reply->op == DISK_DRAIN)
        stream_on_drained(node, job, reply, now_ns);
    else if (reply->op == DISK_FINISH && job->is_source)
        stream_on_input_end(node, job, reply, now_ns);
    else if (reply->op == DISK_FINISH)
        stream_on_finished(node, job, reply, now_ns);
}

void stream_tick(struct node *node, struct job *job, uint64_t now_ns)
{
    if (job->stream.end_due != 0)
        stream_tell_end(node, job);
    if (job->stream.drop_due != 0)
        tell_dropped(node, job);
    judge_slow(node, job, now_ns);
    stream_settle(node, job);
}
