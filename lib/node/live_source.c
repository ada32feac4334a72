/* A stream at its source: input → window → children, and the end. */
#include "base/check.h"
#include "node/internal.h"

void live_feed(struct node *node, struct job *job)
{
    struct job_live *live = &job->live;
    uint32_t first;
    if (live->busy || live->window.ended || job->state != JOB_RUNNING || job->phase == PHASE_CLOSING)
        return;
    uint32_t slot = live_fill(&live->window, &first);
    if (slot == SLOT_NONE)
        return; /* the input waits until the window moves */
    store_hold(&node->store, slot);
    live->busy = true;
    live->slot = slot;
    live->count = job->geometry.block_symbols - first;
    job_disk(node, job,
             &(struct disk_request){.op = DISK_FEED,
                                    .data = node->store.slots[slot].data,
                                    .symbol_bytes = (uint16_t)job->geometry.symbol_bytes,
                                    .first = (uint16_t)first,
                                    .count = (uint16_t)live->count,
                                    .block_symbols = (uint16_t)job->geometry.block_symbols});
}

static void on_whole(struct job *job, uint64_t place, const struct disk_reply *reply)
{
    struct live *window = &job->live.window;
    const struct wire_hash *hash = live_hash_of(job, reply);
    uint32_t block_symbols = job->geometry.block_symbols;
    if (hash != NULL)
        live_expect(window, live_number(window, place * block_symbols) / block_symbols, hash);
    live_done(window, place, hash);
}

void live_on_fed(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    struct job_live *live = &job->live;
    if (reply->status != DISK_OK && reply->status != DISK_ENDED) {
        source_fail(node, job, now_ns, "input %.120s: %.120s", job->spec.file, reply->text);
        return;
    }
    CHECK(reply->symbols <= live->count);
    live->bytes += reply->size_bytes;
    uint64_t completed = live_filled(&live->window, reply->symbols);
    if (completed != UINT64_MAX)
        on_whole(job, completed, reply);
    if (reply->status == DISK_ENDED) {
        CHECK(live_end(&live->window, live->window.next, &completed));
        if (completed != UINT64_MAX)
            on_whole(job, completed, reply);
        job->disk_ended = true;
        job_disk(node, job, &(struct disk_request){.op = DISK_FINISH});
    }
    data_wake(node, job);
    live_settle(node, job);
}

void live_on_input_end(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    struct job_live *live = &job->live;
    if (reply->status != DISK_OK) {
        source_fail(node, job, now_ns, "input %.120s: %.120s", job->spec.file, reply->text);
        return;
    }
    live->end_known = true;
    live->end = (struct wire_live_end){.job = job->id,
                                       .reason = LIVE_END_WHOLE,
                                       .symbols = live->window.symbols,
                                       .bytes = live->bytes,
                                       .chain = reply->hash};
    live->end_due = (1u << job->child_count) - 1;
    live_tell_end(node, job);
}
