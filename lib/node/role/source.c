/* A job at its source: how it begins, and what happens to it. Its phases and what ends them: job/phase.c. */
#include "node/role/source.h"

#include <string.h>

#include "base/check.h"
#include "node/kind/file.h"
#include "node/kind/stream.h"
#include "node/role/controls.h"
#include "node/role/manifest.h"

static bool add_sites(struct node *node, struct job *job, struct err *err)
{
    const struct job_spec *spec = &job->source->spec;
    for (uint16_t index = 0; spec->to_all && index < node->peer_count; index++)
        if (!source_add_site(node, job, node->config.peers[index].name, true, err))
            return false;
    for (uint16_t index = 0; !spec->to_all && index < spec->receiver_count; index++)
        if (!source_add_site(node, job, spec->receivers[index], true, err))
            return false;
    if (job->source->site_count == 0)
        return err_set(err, "job '%s': no receivers", spec->name);
    for (uint16_t index = 0; spec->metric == PLAN_METRIC_GIVEN && index < spec->given_count; index++)
        if (!source_add_site(node, job, spec->given[index][0], false, err) ||
            !source_add_site(node, job, spec->given[index][1], false, err))
            return false;
    return source_add_relays(node, job, err);
}

static bool check_spec(struct node *node, const struct job_spec *spec, struct err *err)
{
    if (node->config.planner_never)
        return err_set(err, "job '%s': no planner can attach to %s: its file says control: {ring: none}",
                       spec->name, node->config.name);
    if (!source_planner_expected(node))
        return err_set(err, "job '%s': " SOURCE_NO_PLANNER, spec->name, node->config.planner_command);
    if (!name_valid(spec->name))
        return err_set(err, "job name '%s' is not valid", spec->name);
    if (name_is_number(spec->name))
        return err_set(err, "job name '%s' could be another job's id: not of digits alone, please",
                       spec->name);
    if (strcmp(spec->source, node->config.name) != 0)
        return err_set(err, "job '%s': its source is '%s', this node is '%s'", spec->name, spec->source,
                       node->config.name);
    if (spec->file[0] == '\0')
        return err_set(err, "job '%s': no file given", spec->name);
    if (spec->target[0] != '\0' && !path_stays_below(spec->target))
        return err_set(err, "job '%s': 'as: %s' must be a relative path without '..'", spec->name,
                       spec->target);
    if (!name_valid(spec->directory))
        return err_set(err, "job '%s': directory '%s' is not a valid name", spec->name, spec->directory);
    if (spec->start_bps != 0 && spec->start_bps < SEND_RATE_MIN_BPS)
        return err_set(err, "job '%s': it starts at %llu bit/s at least", spec->name, SEND_RATE_MIN_BPS);
    struct err reason;
    if (!controls_check(&spec->controls, &reason))
        return err_set(err, "job '%s': %s", spec->name, reason.text);
    if (spec->object == PART_OBJECT_STREAM && !stream_check_spec(node, spec, err))
        return false;
    /* A block that is read again must be the same: two texts sealed with one nonce would open both. And who passes a stream
     * on could put in what he likes. */
    if (spec->hash == PART_HASH_NONE && job_seals(node))
        return err_set(err, "job '%s': 'hash: none' takes nodes without keys", spec->name);
    if (source_by_name(node, spec->name) != NULL)
        return err_set(err, "job '%s' is running already", spec->name);
    return true;
}

static uint32_t new_job_id(struct node *node)
{
    uint32_t id;
    do {
        id = (uint32_t)rng_next(&node->rng);
    } while (id == 0 || job_find(node, id) != NULL);
    return id;
}

static void open_source(struct node *node, struct job *job)
{
    const struct job_spec *spec = &job->source->spec;
    struct disk_open *open = &job->disk.open;
    name_copy(open->file, sizeof(open->file), spec->file);
    open->hash = spec->hash;
    open->tree = spec->tree_owner | spec->tree_xattrs | spec->tree_hardlinks;
    open->object = spec->object;
    open->flush_ns = spec->flush_ns;
    open->fed = spec->fed;
    open->rights = spec->rights;
    job_request(node, job, &(struct disk_request){.op = DISK_OPEN_SOURCE, .open = open});
}

uint32_t source_run(struct node *node, const struct job_spec *spec, uint64_t now_ns, struct err *err)
{
    if (!check_spec(node, spec, err))
        return 0;
    struct job *job = job_allocate(node, new_job_id(node), PEER_SELF, PHASE_ACCEPTED, now_ns);
    if (job == NULL) {
        err_set(err, "job '%s': %d jobs are running already", spec->name, NODE_JOBS_MAX);
        return 0;
    }
    job->source = &node->sources[job->slot];
    memset(job->source, 0, sizeof(*job->source));
    job->kind = spec->object == PART_OBJECT_STREAM ? &stream_kind : &file_kind;
    if (job_seals(node))
        core_draw(node, job->secret->bytes, sizeof(job->secret->bytes));
    job->source->spec = *spec;
    job->controls = spec->controls;
    job->revision = controls_differ(&job->controls);
    if (!add_sites(node, job, err)) {
        job_free(node, job);
        return 0;
    }
    node->plans_open |= 1u << job->slot;
    open_source(node, job);
    job->source->deadline_ns = TIME_NEVER;
    core_note_state(node, job->id, JOB_ACCEPTED);
    return job->id;
}

uint32_t source_cancel(struct node *node, const char *name, uint64_t now_ns, struct err *err)
{
    struct job *job = source_by_name(node, name);
    if (job == NULL) {
        err_set(err, "no running job '%s' has its source here", name);
        return 0;
    }
    name_copy(job->text, sizeof(job->text), "cancelled by the operator");
    source_end(node, job, JOB_CANCELLED, CLOSE_CANCELLED, now_ns);
    return job->id;
}

void source_on_peer_lost(struct node *node, struct job *job, uint16_t peer, bool restarted, uint64_t now_ns)
{
    struct site *site = source_site(job, peer);
    if (site == NULL || !restarted || phase_ends(job->phase) || job->phase == PHASE_ACCEPTED)
        return;
    if (!phase_runs(job->phase)) {
        if (site->included)
            source_go_without(node, job, site, peer_why_lost(node, peer, "restarted"), now_ns);
        return;
    }
    site->has_part = false;
    if (!site->ended)
        source_site_ended(site, SITE_FAILED, peer_why_lost(node, peer, "restarted and lost its state"),
                          now_ns);
}

void source_on_child_parted(struct job *job, uint16_t peer, const char *text, uint64_t now_ns)
{
    struct site *site = source_site(job, peer);
    if (site != NULL && !site->ended && site->receiver && phase_runs(job->phase))
        source_site_ended(site, SITE_FAILED, text, now_ns);
}

void source_tick(struct node *node, struct job *job, uint64_t now_ns)
{
    switch (job->phase) {
    case PHASE_MEASURING:
        source_measuring_tick(node, job, now_ns);
        break;
    case PHASE_PLANNING:
        source_planning_tick(node, job, now_ns);
        break;
    case PHASE_SURVEYING:
        source_surveying_tick(node, job, now_ns);
        break;
    case PHASE_DISTRIBUTING:
        source_distributing_tick(node, job, now_ns);
        break;
    case PHASE_RUNNING:
        source_running_tick(node, job, now_ns);
        break;
    case PHASE_ACCEPTED:
    case PHASE_FREE:
    case PHASE_OPENING:
    case PHASE_READY:
    case PHASE_FINISHING:
    case PHASE_SERVING:
    case PHASE_CLOSING:
    case PHASE_CLOSED:
    case PHASE_COUNT:
        break;
    }
}

static void on_opened(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    if (reply->status != DISK_OK) {
        source_fail(node, job, now_ns, "source file %.120s: %.120s", job->source->spec.file, reply->text);
        return;
    }
    job->disk.sink = SINK_OPEN;
    job->geometry.size_bytes = reply->size_bytes;
    job->source->modified_ns = reply->modified_ns;
    job->disk.open.mode = reply->mode;
    name_copy(job->note, sizeof(job->note), reply->text);
    job->disk.open.object = reply->object;
    job->disk.open.index_bytes = reply->index_bytes;
    job->disk.open.index_hash = reply->index_hash;
    if (job->phase == PHASE_ACCEPTED)
        source_start_measuring(node, job);
}

void source_on_disk(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    char failure[DISK_TEXT_BYTES];
    switch ((enum disk_op)reply->op) {
    case DISK_OPEN_SOURCE:
        on_opened(node, job, reply, now_ns);
        return;
    case DISK_READ:
    case DISK_FEED:
    case DISK_DRAIN:
    case DISK_FINISH:
        if (!job->kind->on_disk(node, job, reply, now_ns, failure))
            source_fail(node, job, now_ns, "%s %.120s: %.120s", job->kind->input_name, job->source->spec.file,
                        failure);
        return;
    case DISK_OPEN_TARGET:
    case DISK_WRITE:
    case DISK_ABORT:
    case DISK_CLOSE:
        return;
    case DISK_DIGEST:
        manifest_on_digest(job, reply);
        return;
    case DISK_MANIFEST: /* has no job's handle */
        return;
    }
}
