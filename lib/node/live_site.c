/* A stream at a site: what came in order goes to the sink at once, its hash is checked when its block is
 * whole, and the end says whether that was all. A site whose sink fails, or is too slow, goes on for its
 * children. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "node/internal.h"

bool live_has_sink(const struct job *job)
{
    return !job->is_source && job->part.fixed.keep && !job->sink_failed && job->phase <= PHASE_RUNNING;
}

bool live_drains(const struct job *job)
{
    return live_has_sink(job) && job->disk_open && job->phase == PHASE_RUNNING;
}

void live_tell_room(struct node *node, struct job *job)
{
    struct job_live *live = &job->live;
    uint64_t limit = live_limit(&live->window);
    /* One message per block is little, unless the path is so long that they pile up. */
    bool piled = stream_room(&node->peers[job->parent].stream) < STREAM_QUEUE / 2;
    uint64_t step = piled ? job->geometry.blocks / 4 : 1;
    if (job->phase == PHASE_CLOSING || limit < live->room_told + step)
        return;
    struct wire_live_room room = {.job = job->id, .blocks = limit};
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    size_t length = control_live_room_encode(body, &room);
    if (peer_send(node, job->parent, CONTROL_LIVE_ROOM, body, length))
        live->room_told = limit;
}

void live_drain(struct node *node, struct job *job)
{
    struct job_live *live = &job->live;
    uint32_t slot, first, count;
    bool whole;
    if (live->busy || !live_drains(job) || !live_run(&live->window, &slot, &first, &count, &whole))
        return;
    store_hold(&node->store, slot);
    live->busy = true;
    live->slot = slot;
    live->count = count;
    live->whole = whole;
    job_disk(node, job,
             &(struct disk_request){.op = DISK_DRAIN,
                                    .data = node->store.slots[slot].data,
                                    .symbol_bytes = (uint16_t)job->geometry.symbol_bytes,
                                    .first = (uint16_t)first,
                                    .count = (uint16_t)count,
                                    .block_symbols = (uint16_t)(whole ? first + count : 0)});
}

void live_on_put(struct node *node, struct job *job)
{
    live_drain(node, job);
}

/* What is whole and was not handed out is only there for the children from now on. */
void live_on_sink_failed(struct node *node, struct job *job)
{
    struct live *window = &job->live.window;
    for (uint64_t place = live_complete(window, 0); place != UINT64_MAX;
         place = live_complete(window, place + 1))
        live_done(window, place, NULL);
    live_interrupt(node, job);
}

static void bad_block(struct node *node, struct job *job, uint64_t block, uint64_t now_ns)
{
    node->counters.blocks_bad++;
    site_fail(node, job, now_ns, "block %" PRIu64 " of the stream is not what the source read", block);
}

static void count_verified(struct job *job)
{
    struct job_live *live = &job->live;
    if (live->whole_blocks > 0 && live_verified(&live->window, live->whole_blocks - 1))
        live->verified_bytes = live->whole_bytes;
}

void live_on_drained(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    struct job_live *live = &job->live;
    if (job->sink_failed)
        return;
    if (reply->status != DISK_OK) {
        site_fail(node, job, now_ns, "%s", reply->text);
        live_settle(node, job);
        return;
    }
    uint64_t block = live->window.next / job->geometry.block_symbols;
    live->bytes += reply->size_bytes;
    live->window.next += live->count;
    if (live->whole) {
        uint64_t place = block % job->geometry.blocks;
        live->whole_bytes = live->bytes;
        live->whole_blocks = block + 1;
        if (!live_done(&live->window, place, live_hash_of(job, reply)))
            bad_block(node, job, block, now_ns);
        else
            node->counters.blocks_verified++;
        count_verified(job);
    }
    live_settle(node, job);
}

void live_on_hashes(struct node *node, struct job *job, const struct control_hashes *hashes, uint64_t now_ns)
{
    if (job->object == NULL || job->phase == PHASE_CLOSING || job->part.fixed.hash == PART_HASH_NONE ||
        hashes->fixed.first_block > live_limit(&job->live.window)) {
        node->counters.messages_refused++;
        return;
    }
    for (uint16_t index = 0; index < hashes->fixed.count; index++) {
        uint64_t block = hashes->fixed.first_block + index;
        if (!live_expect(&job->live.window, block, &hashes->hashes[index]))
            bad_block(node, job, block, now_ns);
    }
    count_verified(job);
    if (job->state == JOB_RUNNING)
        live_settle(node, job);
}

/* ---- the end ---- */

static void on_dropped(struct node *node, struct job *job, const char *text, uint64_t now_ns)
{
    struct job_live *live = &job->live;
    site_fail(node, job, now_ns, "%s", text);
    snprintf(live->drop_text, sizeof(live->drop_text), "its parent %s was %.200s", node->config.name, text);
    for (uint16_t child = 0; child < job->child_count; child++)
        if (!job->children[child].gone)
            live->drop_due |= 1u << child;
    live_tick(node, job, now_ns);
}

bool live_on_end(struct node *node, struct job *job, const struct control_live_end *end, uint64_t now_ns)
{
    struct job_live *live = &job->live;
    uint64_t completed;
    if (job->phase == PHASE_CLOSING)
        return true;
    if (end->fixed.reason == LIVE_END_DROPPED) {
        on_dropped(node, job, end->text, now_ns);
        return true;
    }
    if (live->end_known || !live_end(&live->window, end->fixed.symbols, &completed))
        return false;
    live->end_known = true;
    live->end = end->fixed;
    live->end_due = (1u << job->child_count) - 1;
    live_tell_end(node, job);
    if (completed != UINT64_MAX)
        live_on_block(node, job, completed);
    if (job->state == JOB_RUNNING)
        live_settle(node, job);
    return true;
}

static bool all_verified(const struct job *job)
{
    const struct live *window = &job->live.window;
    uint64_t blocks = (window->symbols + job->geometry.block_symbols - 1) / job->geometry.block_symbols;
    for (uint64_t block = window->first; block < blocks; block++)
        if (!live_verified(window, block))
            return false;
    return true;
}

void live_check_complete(struct node *node, struct job *job)
{
    struct job_live *live = &job->live;
    if (!live->end_known || job->phase != PHASE_RUNNING || live->busy || !all_verified(job))
        return;
    if (!job->part.fixed.keep) {
        site_verified(node, job, "relayed");
        return;
    }
    if (job->site_state != SITE_RECEIVING || live->window.next != live->window.symbols)
        return;
    live->verified_bytes = live->bytes;
    job->phase = PHASE_FINISHING;
    job->disk_ended = true;
    job_disk(node, job, &(struct disk_request){.op = DISK_FINISH});
}

void live_on_finished(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    const struct wire_live_end *end = &job->live.end;
    const struct wire_hash *chain = live_hash_of(job, reply);
    if (reply->status != DISK_OK)
        site_fail(node, job, now_ns, "%s", reply->text);
    else if (job->live.bytes != end->bytes)
        site_fail(node, job, now_ns, "%" PRIu64 " bytes were handed out, the source read %" PRIu64,
                  job->live.bytes, end->bytes);
    else if (chain != NULL && memcmp(chain, &end->chain, sizeof(*chain)) != 0)
        site_fail(node, job, now_ns, "the hash over all blocks is not the source's");
    else
        site_verified(node, job, reply->text);
}
