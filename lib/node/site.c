/* A job at a receiver or relay. Phases and what ends them: see enum site_phase. A site whose disk or parent
 * fails says so to the source and goes on relaying from memory what still comes, so that its children do not
 * suffer. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "node/internal.h"

/* ---- what the source is told ---- */

static bool send_confirm(struct node *node, uint16_t peer, uint32_t job, uint32_t epoch,
                         enum confirm_answer answer, const char *text)
{
    struct control_confirm confirm = {.fixed = {.job = job, .epoch = epoch, .answer = (uint8_t)answer}};
    name_copy(confirm.text, sizeof(confirm.text), text);
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    size_t length = control_confirm_encode(body, &confirm);
    CHECK(length > 0);
    return peer_send(node, peer, CONTROL_CONFIRM, body, length);
}

static void confirm(struct node *node, struct job *job, enum confirm_answer answer)
{
    job->confirm_answer = (uint8_t)answer;
    job->confirm_due = !send_confirm(node, job->source_peer, job->id, job->epoch, answer, job->text);
}

static bool send_blocks(struct node *node, const struct job *job, uint8_t kind, uint64_t first,
                        uint64_t count)
{
    struct wire_blocks blocks = {.job = job->id, .first_block = first, .count = count};
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    size_t length = control_blocks_encode(body, &blocks);
    CHECK(length > 0);
    return peer_send(node, job->parent, kind, body, length);
}

/* The parent takes the block for one that was acked: until it is asked it will not send it again. */
static void block_bad(struct node *node, struct job *job, uint64_t block)
{
    node->counters.blocks_bad++;
    if (job->parent >= node->peer_count || send_blocks(node, job, CONTROL_RESEND, block, 1))
        return;
    bool first = job->resend_end == 0;
    job->resend_first = first ? block : MIN(job->resend_first, block);
    job->resend_end = MAX(job->resend_end, block + 1);
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

/* All that is lacking in the range is asked for: some of it may be on its way anyway, and then comes twice.
 */
static void resend_again(struct node *node, struct job *job)
{
    bool over = job->object == NULL || job->phase == PHASE_CLOSING;
    for (; !over && job->resend_first < job->resend_end; job->resend_first++)
        if (lacks(job, job->resend_first) && !send_blocks(node, job, CONTROL_RESEND, job->resend_first, 1))
            return;
    job->resend_first = job->resend_end = 0;
}

void site_tell_again(struct node *node, struct job *job)
{
    if (job->confirm_due)
        confirm(node, job, (enum confirm_answer)job->confirm_answer);
    if (job->have_due && job->phase != PHASE_CLOSING)
        job->have_due = !send_blocks(node, job, CONTROL_HAVE, 0, job->geometry.blocks);
    if (job->resend_end != 0)
        resend_again(node, job);
}

/* What the edges to the children wait for, and which child lacks most. */
static void tell_edges(const struct node *node, const struct job *job, struct control_status *status)
{
    uint64_t fewest = UINT64_MAX;
    status->fixed.laggard = UINT8_MAX;
    status->fixed.child_count = (uint8_t)job->child_count;
    for (uint8_t child = 0; child < job->child_count; child++) {
        const struct peer *peer = &node->peers[job->children[child].peer];
        status->edges[child].limited_by = (uint8_t)causes_recent(&peer->causes, node->now_ns);
        status->edges[child].rate_bps = peer->sender.delivery_rate_bps;
        if (!data_owed(job, child) || job->object->feeds[child].blocks_done >= fewest)
            continue;
        fewest = job->object->feeds[child].blocks_done;
        status->fixed.laggard = child;
    }
}

static void send_status(struct node *node, struct job *job, uint64_t now_ns)
{
    struct control_status status = {.fixed = {.job = job->id, .state = job->site_state}};
    status.fixed.received_bytes = job->object == NULL ? 0 : job->object->received_bytes;
    status.fixed.verified_bytes = job->object == NULL ? 0 : job->object->verified_bytes;
    if (job->stream.on) {
        status.fixed.received_bytes = job->stream.bytes;
        status.fixed.verified_bytes = job->stream.verified_bytes;
    }
    status.fixed.elapsed_ns = job->started_ns == 0 ? 0 : now_ns - job->started_ns;
    name_copy(status.text, sizeof(status.text), job->text);
    tell_edges(node, job, &status);
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    size_t length = control_status_encode(body, &status);
    CHECK(length > 0);
    job->status_due = !peer_send(node, job->source_peer, CONTROL_STATUS, body, length);
    /* Progress is told again soon anyway, the end only once. */
    if (!job->status_due && job->site_state != SITE_RECEIVING)
        mail_repeat_newest(&node->peers[job->source_peer].mail);
    job->status_ns = now_ns;
    job->status_bytes = status.fixed.received_bytes + status.fixed.verified_bytes;
}

void site_fail(struct node *node, struct job *job, uint64_t now_ns, const char *format, ...)
{
    if (job->site_state != SITE_RECEIVING)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(job->text, sizeof(job->text), format, arguments);
    va_end(arguments);
    job->site_state = SITE_FAILED;
    job->sink_failed = true;
    job->status_due = true;
    /* From now on blocks live in memory until every child has them. A child that needs one which is only on
     * the lost disk cannot be served: it will be named by the source's stall check. */
    if (job->object != NULL)
        object_disk_lost(job->object);
    if (job->phase == PHASE_RUNNING || job->phase == PHASE_FINISHING)
        job->phase = PHASE_ENDED;
    if (job->stream.on && job->object != NULL)
        stream_on_sink_failed(node, job);
    node->counters.jobs_failed++;
    digest_add(&node->digest, (uint64_t)job->id << 8 | SITE_FAILED);
    node->jobs_tick_ns = MIN(node->jobs_tick_ns, now_ns);
    node_schedule(node, now_ns);
}

/* The file is there, whatever becomes of the others. */
static bool is_whole(const struct job *job)
{
    return job->site_state == SITE_VERIFIED || job->site_state == SITE_SKIPPED;
}

static void close_as(struct node *node, struct job *job, enum job_state state, uint64_t now_ns)
{
    job->state = (uint8_t)state;
    job->ended_ns = now_ns;
    job_close(node, job, now_ns);
}

/* ---- the part of a plan ---- */

static const struct node_directory *permitted_directory(const struct node *node,
                                                        const struct control_part *part, struct err *err)
{
    for (uint16_t index = 0; index < node->config.directory_count; index++) {
        const struct node_directory *directory = &node->config.directories[index];
        if (strcmp(directory->name, part->fixed.directory.text) != 0)
            continue;
        if (directory->any_source)
            return directory;
        for (uint16_t source = 0; source < directory->source_count; source++)
            if (strcmp(directory->sources[source], part->fixed.source.text) == 0)
                return directory;
        err_set(err, "source %s may not write into directory '%s'", part->fixed.source.text, directory->name);
        return NULL;
    }
    err_set(err, "there is no directory '%s' for jobs", part->fixed.directory.text);
    return NULL;
}

static bool fill_open(struct node *node, struct job *job, struct err *err)
{
    const struct control_part *part = &job->part;
    if (!path_stays_below(part->file))
        return err_set(err, "file name '%.80s' leaves the directory", part->file);
    job->open.memory = node->config.store == NODE_STORE_NONE;
    if (!job->open.memory) {
        const struct node_directory *directory = permitted_directory(node, part, err);
        if (directory == NULL)
            return false;
        name_copy(job->open.directory, sizeof(job->open.directory), directory->path);
    }
    name_copy(job->open.file, sizeof(job->open.file), part->file);
    job->open.size_bytes = part->fixed.size_bytes;
    job->open.modified_ns = part->fixed.modified_ns;
    job->open.exists = part->fixed.exists;
    job->open.durable = part->fixed.durable;
    job->open.hash = part->fixed.hash;
    job->open.object = part->fixed.object;
    job->open.tree = part->fixed.tree;
    job->open.index_bytes = part->fixed.index_bytes;
    job->open.index_hash = part->fixed.index_hash;
    return true;
}

/* Everything about the part that does not need the disk. */
static bool take_part(struct node *node, struct job *job, const struct control_part *part, struct err *err)
{
    job->part = *part;
    job->epoch = part->fixed.epoch;
    job->parent = peer_find(node, part->fixed.parent.text);
    if (job->parent >= node->peer_count)
        return err_set(err, "parent '%s' is no peer of %s", part->fixed.parent.text, node->config.name);
    bool stream = part->fixed.object == PART_OBJECT_STREAM;
    if (stream && !stream_fit_part(node, &job->part.fixed, err))
        return false;
    uint64_t bytes =
        stream ? stream_window_bytes(&job->part.fixed, part->fixed.symbol_bytes, part->fixed.block_symbols)
               : part->fixed.size_bytes;
    if (!geometry_init(&job->geometry, bytes, part->fixed.symbol_bytes, part->fixed.block_symbols, err))
        return false;
    if (!job_install(node, job, err) || !job_open_object(node, job, err))
        return false;
    node->peers[job->parent].credit_symbols = job->geometry.block_symbols;
    node->peers[job->parent].run_symbols = 1;
    return true;
}

static void refuse(struct node *node, struct job *job, const char *text, uint64_t now_ns)
{
    name_copy(job->text, sizeof(job->text), text);
    confirm(node, job, CONFIRM_REFUSED);
    job->site_state = SITE_FAILED;
    node->counters.jobs_failed++;
    close_as(node, job, JOB_FAILED, now_ns);
}

static void confirm_ready(struct node *node, struct job *job)
{
    job->phase = PHASE_READY;
    bool skipped = job->site_state == SITE_SKIPPED;
    if (skipped)
        object_mark_held(job->object);
    confirm(node, job, skipped ? CONFIRM_COMPLETE : CONFIRM_READY);
}

/* A newer plan before the start: other parent, children or symbol size; what the disk did stays valid. */
static void replace_part(struct node *node, struct job *job, const struct control_part *part, uint64_t now_ns)
{
    bool acceptable = part->fixed.epoch > job->epoch &&
                      (job->phase == PHASE_OPENING || job->phase == PHASE_READY) &&
                      part->fixed.size_bytes == job->part.fixed.size_bytes &&
                      part->fixed.object == job->part.fixed.object &&
                      part->fixed.hash == job->part.fixed.hash && part->fixed.keep == job->part.fixed.keep &&
                      strcmp(part->file, job->part.file) == 0 && object_idle(job->object);
    if (!acceptable) {
        node->counters.messages_refused++;
        return;
    }
    object_close(job->object);
    job->object = NULL;
    struct err err;
    if (!take_part(node, job, part, &err)) {
        refuse(node, job, err.text, now_ns);
        return;
    }
    if (job->phase == PHASE_READY)
        confirm_ready(node, job);
}

void site_on_part(struct node *node, uint16_t peer, const struct control_part *part, uint64_t now_ns)
{
    struct job *job = job_find(node, part->fixed.job);
    if (job != NULL && (job->is_source || job->source_peer != peer)) {
        send_confirm(node, peer, part->fixed.job, part->fixed.epoch, CONFIRM_REFUSED, "job id is in use");
        return;
    }
    if (job != NULL && job->phase == PHASE_CLOSING) {
        /* Refused before, but the source has left another site out first and asks again. */
        send_confirm(node, peer, part->fixed.job, part->fixed.epoch, CONFIRM_REFUSED,
                     job->text[0] != '\0' ? job->text : "the job has ended here");
        return;
    }
    if (job != NULL) {
        replace_part(node, job, part, now_ns);
        return;
    }
    job = job_allocate(node, part->fixed.job, now_ns);
    if (job == NULL) {
        send_confirm(node, peer, part->fixed.job, part->fixed.epoch, CONFIRM_REFUSED,
                     "too many jobs at once");
        return;
    }
    struct err err;
    job->source_peer = peer;
    job->state = JOB_DISTRIBUTING;
    if (!take_part(node, job, part, &err) || (part->fixed.keep && !fill_open(node, job, &err))) {
        refuse(node, job, err.text, now_ns);
        return;
    }
    job->phase = PHASE_OPENING;
    if (part->fixed.keep)
        job_disk(node, job, &(struct disk_request){.op = DISK_OPEN_TARGET, .open = &job->open});
    else
        confirm_ready(node, job);
}

static void on_opened(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    job->disk_open = reply->status == DISK_OK || reply->status == DISK_ALREADY_THERE;
    job->disk_ended = reply->status == DISK_ALREADY_THERE; /* there is nothing to finish or to abort */
    if (job->phase == PHASE_CLOSING)
        return;
    if (!job->disk_open) {
        refuse(node, job, reply->text, now_ns);
        return;
    }
    if (reply->status == DISK_ALREADY_THERE) {
        job->site_state = SITE_SKIPPED;
        name_copy(job->text, sizeof(job->text), reply->text);
    } else {
        name_copy(job->note, sizeof(job->note), reply->text);
    }
    confirm_ready(node, job);
}

/* ---- running ---- */

void site_on_start(struct node *node, struct job *job, uint64_t now_ns)
{
    if (job->phase != PHASE_READY)
        return;
    job->phase = PHASE_RUNNING;
    job->state = JOB_RUNNING;
    job->started_ns = now_ns;
    job_start_edges(node, job, now_ns);
    if (job->site_state == SITE_SKIPPED) {
        if (job->geometry.blocks > 0)
            job->have_due = !send_blocks(node, job, CONTROL_HAVE, 0, job->geometry.blocks);
        job->phase = PHASE_ENDED;
    }
}

void site_verified(struct node *node, struct job *job, const char *text)
{
    job->phase = PHASE_ENDED;
    job->site_state = SITE_VERIFIED;
    name_copy(job->text, sizeof(job->text), text);
    job->status_due = true;
    digest_add(&node->digest, (uint64_t)job->id << 8 | SITE_VERIFIED);
}

static void check_complete(struct node *node, struct job *job, uint64_t now_ns)
{
    if (job->stream.on || job->phase != PHASE_RUNNING || job->disk_outstanding > 0 ||
        !object_complete(job->object))
        return;
    node_schedule(node, now_ns);
    if (!job->part.fixed.keep) {
        site_verified(node, job, "relayed");
        return;
    }
    job->phase = PHASE_FINISHING;
    job->disk_ended = true;
    job_disk(node, job, &(struct disk_request){.op = DISK_FINISH});
}

static void on_written(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    uint64_t block = reply->cookie;
    if (reply->status != DISK_OK) {
        site_fail(node, job, now_ns, "%s", reply->text);
        object_write_done(job->object, block, false, NULL);
        return;
    }
    bool hashed = job->part.fixed.hash != PART_HASH_NONE;
    if (!object_write_done(job->object, block, hashed, &reply->hash)) {
        block_bad(node, job, block);
        return;
    }
    node->counters.blocks_verified++;
}

static void on_loaded(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    uint64_t block = reply->cookie;
    if (reply->status != DISK_OK) {
        object_load_failed(job->object, block);
        site_fail(node, job, now_ns, "%s", reply->text);
        return;
    }
    object_load_done(job->object, block);
    if (job->phase != PHASE_CLOSING)
        data_wake(node, job);
}

void site_on_disk(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    switch ((enum disk_op)reply->op) {
    case DISK_OPEN_TARGET:
        on_opened(node, job, reply, now_ns);
        return;
    case DISK_WRITE:
        on_written(node, job, reply, now_ns);
        return;
    case DISK_READ:
        on_loaded(node, job, reply, now_ns);
        return;
    case DISK_FEED:
    case DISK_DRAIN:
        stream_on_disk(node, job, reply, now_ns);
        return;
    case DISK_FINISH:
        if (job->stream.on) {
            stream_on_disk(node, job, reply, now_ns);
            return;
        }
        if (job->phase == PHASE_CLOSING)
            return;
        if (reply->status == DISK_OK)
            site_verified(node, job, reply->text);
        else
            site_fail(node, job, now_ns, "%s", reply->text);
        return;
    case DISK_OPEN_SOURCE:
    case DISK_ABORT:
    case DISK_CLOSE:
    case DISK_DIGEST:
    case DISK_MANIFEST:
        return;
    }
}

void site_on_hashes(struct node *node, struct job *job, const struct control_hashes *hashes, uint64_t now_ns)
{
    if (job->stream.on) {
        stream_on_hashes(node, job, hashes, now_ns);
        return;
    }
    uint64_t first = hashes->fixed.first_block;
    bool inside = first <= job->geometry.blocks && hashes->fixed.count <= job->geometry.blocks - first;
    if (job->object == NULL || job->phase == PHASE_CLOSING || !inside ||
        job->part.fixed.hash == PART_HASH_NONE) {
        node->counters.messages_refused++;
        return;
    }
    for (uint16_t index = 0; index < hashes->fixed.count; index++)
        if (!object_expect(job->object, first + index, &hashes->hashes[index]))
            block_bad(node, job, first + index);
    job_send_hashes(node, job, now_ns);
}

void site_on_close(struct node *node, struct job *job, const struct control_close_job *close, uint64_t now_ns)
{
    if (job->phase == PHASE_CLOSING)
        return;
    bool whole = is_whole(job);
    if (!whole && job->text[0] == '\0')
        name_copy(job->text, sizeof(job->text), close->text);
    bool cancelled = close->fixed.outcome == CLOSE_CANCELLED;
    close_as(node, job, whole ? JOB_DONE : cancelled ? JOB_CANCELLED : JOB_FAILED, now_ns);
}

void site_tick(struct node *node, struct job *job, uint64_t now_ns)
{
    check_complete(node, job, now_ns);
    uint64_t bytes = job->object == NULL ? 0 : job->object->received_bytes + job->object->verified_bytes;
    bool progress = job->phase == PHASE_RUNNING && bytes != job->status_bytes &&
                    now_ns >= later_ns(job->status_ns, STATUS_INTERVAL_NS);
    /* It has everything, but the source does not know from others what its children wait for. */
    for (uint8_t child = 0; child < job->child_count && job->phase == PHASE_ENDED; child++)
        progress = progress || (now_ns >= later_ns(job->status_ns, NS_PER_S) && data_owed(job, child));
    /* Progress is not worth the places that the end of a job needs. */
    bool room = mail_room(&node->peers[job->source_peer].mail) > MAIL_QUEUE / 2;
    if (job->status_due || (progress && room))
        send_status(node, job, now_ns);
    /* A source that stays silent will not close the job any more. */
    const struct peer *source = &node->peers[job->source_peer];
    if (source->state == PEER_UP || now_ns < later_ns(source->down_since_ns, node->config.stall_timeout_ns))
        return;
    site_fail(node, job, now_ns, "the source %s does not answer", peer_name(node, job->source_peer));
    close_as(node, job, is_whole(job) ? JOB_DONE : JOB_FAILED, now_ns);
}

void site_on_source_lost(struct node *node, struct job *job, uint64_t now_ns)
{
    site_fail(node, job, now_ns, "the source %s restarted", peer_name(node, job->source_peer));
    close_as(node, job, is_whole(job) ? JOB_DONE : JOB_FAILED, now_ns);
}
