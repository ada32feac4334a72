/* A stream, at source and sites: what happens to it, and what follows from that. */
#include "node/kind/stream.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "node/flow/behind.h"
#include "node/flow/edges.h"
#include "node/flow/flow.h"
#include "node/kind/stream_parts.h"

static void on_open(struct node *node, struct job *job)
{
    job->stream = &node->streams[job->slot];
    memset(job->stream, 0, sizeof(*job->stream));
    stream_init(&job->stream->window, job->object);
    job->stream->hash_room_told = STREAM_HASHES;
    for (uint8_t stripe = 0; stripe < STRIPES_MAX; stripe++)
        job->stream->room_told[stripe] = STREAM_BLOCKS_MIN;
    for (uint16_t child = 0; child < job->children.count; child++)
        job->children.of[child].room_blocks = STREAM_BLOCKS_MIN;
}

/* The hash of a block lies where the block does: the source's window must not pass it before all have heard it. */
static uint64_t hashes_told(const struct job *job)
{
    bool tells = job->source != NULL && job->part.fixed.hash != PART_HASH_NONE;
    return tells ? job->hash_told : UINT64_MAX;
}

/* Lets go of what nobody needs, and of all that follows from it. */
static void settle(struct node *node, struct job *job)
{
    bool again = true;
    while (again) {
        uint64_t completed;
        again = stream_advance(&job->stream->window, hashes_told(job), &completed);
        if (completed != UINT64_MAX && job->source == NULL && !stream_has_sink(job))
            again |= stream_done(&job->stream->window, completed, NULL);
    }
    stream_give_hashes(node, job);
    if (job->source != NULL) {
        stream_feed(node, job);
        return;
    }
    stream_tell_room(node, job);
    stream_drain(node, job);
    stream_check_complete(node, job);
}

static void on_start(struct node *node, struct job *job, uint64_t now_ns)
{
    (void)now_ns;
    job->stream->marks[0] = (struct stream_mark){.at_ns = core_lived_ns(node)};
    job->stream->mark_next = 1;
    job->stream->judged_ns = core_lived_ns(node);
    if (job->source != NULL)
        stream_feed(node, job);
    else
        settle(node, job);
}

/* It has acked all of a stream that has ended: only its own disk may still be at work. */
static bool has_all(const struct job *job, uint8_t child)
{
    bool arrived = job->source != NULL || job->phase == PHASE_FINISHING || job_result_is_whole(job->result);
    return job->stream->end_known && arrived && stream_behind(&job->stream->window, child) == 0;
}

/* Who is gone for good, or takes no message, holds up nobody, however patient the job is with the slow. */
static void drop_lost(struct node *node, struct job *job)
{
    for (uint16_t child = 0; child < job->children.count && !job->controls.paused; child++) {
        const struct peer *peer = &node->peers[job->children.of[child].peer];
        bool lost = peer_is_lost(node, peer);
        if (job->children.of[child].gone || (!lost && !peer_is_deaf(node, peer)))
            continue;
        if (!has_all(job, (uint8_t)child))
            edges_note_gone(node, job, (uint8_t)child, "cut off: its parent %s %s", node->config.name,
                            lost ? "hears nothing of it" : "gets no answer from it");
        edges_drop(node, job, peer->index);
    }
}

/* The stripes that came from there are lost to this node and to those that it feeds some of them; others go on. */
static void lose_parent(struct node *node, struct job *job, uint16_t parent, const char *text)
{
    uint8_t lost = trees_fed_by(job, parent);
    bool others = job->trees.schedule.count > 1;
    for (uint16_t child = 0; child < job->children.count; child++) {
        if (job->children.of[child].gone || (job->children.of[child].stripes & lost) == 0)
            continue;
        edges_note_gone(node, job, (uint8_t)child, "cut off: its parent %s %.200s", node->config.name, text);
        if (others)
            edges_drop(node, job, job->children.of[child].peer);
    }
    if (others)
        stream_leave_out(&job->stream->window, lost);
}

/* A parent that is not heard while all other trees wait for what it was to bring: before these drop this node, it
 * goes on without. Where they are patient with the slow, that is so once the parent is gone for good. */
static bool waits_in_vain(const struct node *node, const struct job *job, uint16_t parent)
{
    const struct stream *window = &job->stream->window;
    uint8_t others = parent == PEER_NONE ? 0 : trees_fed(job) & (uint8_t)~trees_fed_by(job, parent);
    if (others == 0 || job->controls.paused || !stream_awaits_first(window))
        return false;
    const struct peer *peer = &node->peers[parent];
    return job->part.fixed.stream_slow == PART_SLOW_WAIT
               ? peer_is_lost(node, peer)
               : peer->state != PEER_UP && stream_full(window, others);
}

static void leave_silent(struct node *node, struct job *job, uint64_t now_ns)
{
    uint16_t parent = job->trees.parent[trees_stripe_of(job, job->stream->window.first)];
    if (job->source != NULL || !waits_in_vain(node, job, parent))
        return;
    job_fail(node, job, now_ns, "its parent %s does not answer", peer_name(node, parent));
    lose_parent(node, job, parent, "has lost its own");
}

static void on_tick(struct node *node, struct job *job, uint64_t now_ns)
{
    drop_lost(node, job);
    behind_tick_stream(node, job);
    leave_silent(node, job, now_ns);
    stream_judge_slow(node, job, now_ns);
    settle(node, job);
}

static enum object_place place(const struct job *job, uint32_t count, uint64_t *symbol)
{
    const struct stream *window = &job->stream->window;
    switch (stream_place(window, stream_expand(window, *symbol), count, symbol)) {
    case STREAM_INSIDE:
        return PLACE_INSIDE;
    case STREAM_BEFORE:
        return PLACE_KNOWN;
    case STREAM_BEYOND:
        break;
    }
    return PLACE_REFUSED;
}

static uint64_t number(const struct job *job, uint64_t symbol)
{
    return stream_number(&job->stream->window, symbol);
}

static uint64_t block(const struct job *job, uint64_t symbol)
{
    return stream_expand(&job->stream->window, symbol) / job->geometry.block_symbols;
}

/* One with a sink is handed out first. */
static void on_block(struct node *node, struct job *job, uint64_t block)
{
    if (stream_has_sink(job))
        return;
    stream_done(&job->stream->window, block, NULL);
    core_schedule(node, node->now_ns);
}

/* Its own parent, or the input, has not brought more yet. */
static enum edge_limit why_waits(const struct job *job, uint8_t child)
{
    (void)job;
    (void)child;
    return EDGE_LIMIT_application;
}

static const struct wire_hash *hash(const struct job *job, uint64_t block)
{
    return stream_hash(&job->stream->window, block);
}

static void on_hashes(struct node *node, struct job *job, const struct control_hashes *hashes,
                      uint64_t now_ns)
{
    (void)now_ns;
    if (job->object == NULL || job->part.fixed.hash == PART_HASH_NONE ||
        !stream_take_hashes(node, job, hashes)) {
        node->counters.messages_refused++;
        return;
    }
    if (phase_runs(job->phase))
        settle(node, job);
}

static bool on_fed(struct node *node, struct job *job, const struct disk_reply *reply)
{
    if (!stream_take_fed(node, job, reply))
        return false;
    flow_wake_children(node, job);
    settle(node, job);
    return true;
}

static bool on_disk(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns,
                    char *failure)
{
    struct job_stream *stream = job->stream;
    if (reply->op == DISK_FEED || reply->op == DISK_DRAIN) {
        CHECK(stream->busy);
        stream->busy = false;
        store_release(&node->store, stream->slot, 1);
    }
    if (phase_ends(job->phase))
        return true;
    bool good = true;
    if (reply->op == DISK_FEED)
        good = on_fed(node, job, reply);
    else if (reply->op == DISK_DRAIN && stream_take_drained(node, job, reply, now_ns))
        settle(node, job);
    else if (reply->op == DISK_FINISH && job->source != NULL)
        good = stream_take_input_end(node, job, reply);
    else if (reply->op == DISK_FINISH)
        stream_on_finished(node, job, reply, now_ns);
    if (!good)
        name_copy(failure, DISK_TEXT_BYTES, reply->text);
    return good;
}

void stream_on_room(struct node *node, struct job *job, uint32_t child, uint64_t blocks, uint64_t now_ns)
{
    uint64_t *room_blocks = &job->children.of[child].room_blocks;
    *room_blocks = MAX(*room_blocks, blocks);
    if (!phase_runs(job->phase))
        return;
    flow_wake_children(node, job);
    on_tick(node, job, now_ns);
}

static void on_parent_lost(struct node *node, struct job *job, uint16_t parent)
{
    if (job->trees.schedule.count > 1)
        lose_parent(node, job, parent, "has lost its own");
}

static void on_let_go(struct node *node, struct job *job, uint16_t parent, const char *text, uint64_t now_ns)
{
    char how[CONTROL_TEXT_BYTES];
    snprintf(how, sizeof(how), "is fed no more: %.200s", text);
    lose_parent(node, job, parent, how);
    on_tick(node, job, now_ns);
}

bool stream_on_end(struct node *node, struct job *job, const struct wire_stream_end *end, uint64_t now_ns)
{
    struct job_stream *stream = job->stream;
    uint64_t completed;
    if (phase_ends(job->phase))
        return true;
    if (stream->end_known)
        return false;
    if (!stream_end(&stream->window, end->symbols, &completed)) {
        job_fail(node, job, now_ns, "more came than the source has read");
        return true;
    }
    stream->end_known = true;
    stream->end = *end;
    if (completed != UINT64_MAX)
        on_block(node, job, completed);
    if (phase_runs(job->phase))
        settle(node, job);
    return true;
}

bool stream_waits_to_tell(const struct job *job)
{
    const struct stream *window = &job->stream->window;
    return window->first >= hashes_told(job) && stream_full(window, trees_all(job));
}

static uint64_t bytes(const struct job *job)
{
    return job->stream == NULL ? 0 : job->stream->bytes;
}

static uint64_t verified_bytes(const struct job *job)
{
    return job->stream == NULL ? 0 : job->stream->verified_bytes;
}

const struct object_kind stream_kind = {
    .name = "stream",
    .input_name = "input",
    .endless = true,
    .on_open = on_open,
    .on_start = on_start,
    .on_tick = on_tick,
    .place = place,
    .number = number,
    .block = block,
    .on_block = on_block,
    .on_put = stream_drain,
    .may_send = stream_may_send,
    .why_waits = why_waits,
    .hash = hash,
    .on_hashes = on_hashes,
    .on_disk = on_disk,
    .on_sink_lost = stream_on_sink_lost,
    .on_parent_lost = on_parent_lost,
    .on_let_go = on_let_go,
    .on_closing = stream_interrupt,
    .size_bytes = bytes,
    .received_bytes = bytes,
    .verified_bytes = verified_bytes,
};
