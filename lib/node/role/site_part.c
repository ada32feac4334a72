#include <string.h>

#include "node/flow/flow.h"
#include "node/kind/file.h"
#include "node/kind/stream.h"
#include "node/role/close.h"
#include "node/role/rights.h"
#include "node/role/site.h"
#include "node/role/unlisted.h"
#include "seal/wipe.h"

static bool fill_open(struct node *node, struct job *job, struct err *err)
{
    const struct control_part *part = &job->part;
    if (!path_stays_below(part->file))
        return err_set(err, "file name '%.80s' leaves the directory", part->file);
    job->disk.open.memory = node->config.store == NODE_STORE_NONE;
    if (!job->disk.open.memory) {
        const struct node_directory *directory = rights_directory(node, part, err);
        if (directory == NULL)
            return false;
        name_copy(job->disk.open.directory, sizeof(job->disk.open.directory), directory->path);
        job->disk.open.accept = directory->accept;
    }
    name_copy(job->disk.open.file, sizeof(job->disk.open.file), part->file);
    job->disk.open.size_bytes = part->fixed.size_bytes;
    job->disk.open.modified_ns = part->fixed.modified_ns;
    job->disk.open.mode = part->fixed.mode;
    job->disk.open.exists = part->fixed.exists;
    job->disk.open.durable = part->fixed.durable;
    job->disk.open.hash = part->fixed.hash;
    job->disk.open.object = part->fixed.object;
    job->disk.open.tree = part->fixed.tree;
    job->disk.open.index_bytes = part->fixed.index_bytes;
    job->disk.open.index_hash = part->fixed.index_hash;
    return true;
}

/* Everything about the part that does not need the disk. */
static bool take_part(struct node *node, struct job *job, const struct offer *offer, struct err *err)
{
    struct wire_part *fixed = &job->part.fixed;
    job->part = offer->part;
    memcpy(job->secret->bytes, fixed->secret.bytes, sizeof(job->secret->bytes));
    wipe(&fixed->secret, sizeof(fixed->secret));
    job->epoch = fixed->epoch;
    job->kind = fixed->object == PART_OBJECT_STREAM ? &stream_kind : &file_kind;
    uint64_t bytes = fixed->size_bytes;
    if (job->kind->endless) {
        if (!stream_fit_part(node, fixed, err))
            return false;
        bytes = stream_window_bytes(fixed);
    }
    if (!geometry_init(&job->geometry, bytes, fixed->symbol_bytes, fixed->block_symbols, err))
        return false;
    bool discard = job->kind->endless || node->config.store == NODE_STORE_NONE || !fixed->keep;
    job->trees.lost_parents = 0;
    if (!trees_install(node, job, offer->trees, err) || !rights_apart(node, job, err) ||
        !job_open_object(node, job, false, discard, err))
        return false;
    uint16_t parents[STRIPES_MAX];
    for (uint32_t index = trees_parents(job, parents); index-- > 0;) {
        struct flow *flow = &node->flows[parents[index]];
        flow->credit_symbols = job->geometry.block_symbols;
        flow->run_symbols = 1;
    }
    return true;
}

void site_refuse(struct node *node, struct job *job, const char *text, uint64_t now_ns)
{
    if (job->result != SITE_FAILED) {
        name_copy(job->text, sizeof(job->text), text);
        job->result = SITE_FAILED;
        node->counters.jobs_failed++;
    }
    site_confirm(node, job, CONFIRM_REFUSED);
    if (job->phase == PHASE_READY)
        site_send_status(node, job, now_ns);
    close_begin(node, job, JOB_FAILED, now_ns);
}

/* What failed before it was confirmed is not begun. */
static void confirm(struct node *node, struct job *job, uint64_t now_ns)
{
    if (job->result == SITE_FAILED) {
        site_refuse(node, job, job->text, now_ns);
        return;
    }
    job_enter(node, job, PHASE_READY);
    bool skipped = job->result == SITE_SKIPPED;
    if (skipped)
        object_mark_held(job->object);
    site_confirm(node, job, skipped ? CONFIRM_COMPLETE : CONFIRM_READY);
}

/* Why the newer plan can't take the place of the one that is here; NULL: it can. */
static const char *why_not_replaced(const struct job *job, const struct control_part *part)
{
    const struct wire_part *now = &job->part.fixed, *then = &part->fixed;
    if (then->epoch <= job->epoch)
        return "a part of a newer plan is here already";
    if (job->phase != PHASE_OPENING && job->phase != PHASE_READY)
        return "the job has started here";
    bool same = then->size_bytes == now->size_bytes && then->object == now->object &&
                then->hash == now->hash && then->keep == now->keep && strcmp(part->file, job->part.file) == 0;
    if (!same)
        return "the part is of another object than the one before";
    return object_idle(job->object) ? NULL : "data of the plan before is on its way";
}

/* A newer plan before the start: other parent, children or symbol size; what the disk did stays valid. */
static void replace_part(struct node *node, struct job *job, const struct offer *offer, uint64_t now_ns)
{
    const char *refusal = why_not_replaced(job, &offer->part);
    if (refusal != NULL) {
        node->counters.messages_refused++;
        site_post_confirm(node, job->source_peer, job->id, offer->part.fixed.epoch, CONFIRM_REFUSED, refusal);
        return;
    }
    object_close(job->object);
    job->object = NULL;
    struct err err;
    if (!take_part(node, job, offer, &err)) {
        site_refuse(node, job, err.text, now_ns);
        return;
    }
    if (job->phase == PHASE_READY)
        confirm(node, job, now_ns);
}

/* The job is known here; false: refused by `text`. */
static bool check_known(const struct job *job, const char **text)
{
    if (phase_ends(job->phase)) {
        /* Refused before, but the source has left another site out first and asks again. */
        *text = job->text[0] != '\0' ? job->text : "the job has ended here";
        return false;
    }
    return true;
}

static void on_new_part(struct node *node, struct job *job, const struct offer *offer, uint64_t now_ns)
{
    struct err err;
    bool keep = offer->part.fixed.keep;
    if (!take_part(node, job, offer, &err) || (keep && !fill_open(node, job, &err))) {
        site_refuse(node, job, err.text, now_ns);
        return;
    }
    if (keep)
        job_request(node, job, &(struct disk_request){.op = DISK_OPEN_TARGET, .open = &job->disk.open});
    else
        confirm(node, job, now_ns);
}

/* One source may not take all places: others have a quarter of them left. */
static bool has_place_for(const struct node *node, uint16_t peer)
{
    uint32_t places = node->peer_count > 1 ? NODE_JOBS_MAX * 3 / 4 : NODE_JOBS_MAX;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        const struct job *job = &node->jobs[slot];
        places -= job_is_known(job) && job->phase != PHASE_CLOSED && job->source_peer == peer && places > 0;
    }
    return places > 0;
}

/* Trees need memory each; a part of fewer may still be taken, so nothing is begun and nothing ends. */
static bool has_memory_for(struct node *node, uint16_t peer, const struct job *job,
                           const struct wire_part *part)
{
    uint32_t most = store_stripes_max(&node->store, job == NULL ? NULL : job->object);
    most = unlisted_trees(node, peer, job, most);
    if (part->stripes <= most)
        return true;
    struct err err;
    err_set(&err, "its symbol buffer has room for %u trees now, not for %u", most, part->stripes);
    site_post_confirm(node, peer, part->job, part->epoch, CONFIRM_FEWER_TREES, err.text);
    return false;
}

void site_take_offer(struct node *node, uint16_t peer, const struct offer *offer, uint64_t now_ns)
{
    const struct wire_part *part = &offer->part.fixed;
    const char *refusal = "too many jobs at once";
    struct job *job = job_from(node, part->job, peer);
    bool known = job != NULL;
    struct err err;
    if ((!known || !phase_ends(job->phase)) && !unlisted_fits(node, peer, job, part, &err)) {
        site_post_confirm(node, peer, part->job, part->epoch, CONFIRM_REFUSED, err.text);
        return;
    }
    if ((!known || !phase_ends(job->phase)) && !has_memory_for(node, peer, job, part))
        return;
    if (known && check_known(job, &refusal)) {
        replace_part(node, job, offer, now_ns);
        return;
    }
    if (!known && has_place_for(node, peer) &&
        (job = job_allocate(node, part->job, peer, PHASE_OPENING, now_ns)) != NULL) {
        on_new_part(node, job, offer, now_ns);
        return;
    }
    site_post_confirm(node, peer, part->job, part->epoch, CONFIRM_REFUSED, refusal);
}

void site_on_opened(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    bool there = reply->status == DISK_ALREADY_THERE; /* there is nothing to finish or to abort */
    job->disk.sink = there ? SINK_ENDED : reply->status == DISK_OK ? SINK_OPEN : SINK_CLOSED;
    if (phase_ends(job->phase))
        return;
    if (job->disk.sink == SINK_CLOSED) {
        site_refuse(node, job, reply->text, now_ns);
        return;
    }
    if (there && job->result == SITE_RECEIVING) {
        job->result = SITE_SKIPPED;
        name_copy(job->text, sizeof(job->text), reply->text);
    } else if (!there) {
        name_copy(job->note, sizeof(job->note), reply->text);
    }
    confirm(node, job, now_ns);
}
