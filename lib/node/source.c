/* A job at its source: accepted → measuring → planning → distributing → running → done / failed / cancelled.
 *
 * What ends each state:
 *   accepted       the source file is open, or cannot be opened
 *   measuring      every site has reported; measure_timeout names the first that has not
 *   planning       a valid plan came; plan_timeout, or the planner's refusal
 *   distributing   every site has confirmed; a site that refuses is left out and the rest is planned anew;
 *                  distribute_timeout names the first that is silent
 *   running        every site has ended: verified, skipped or failed. A site that makes no progress for
 * stall_timeout, or restarts, has failed; the others go on */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "node/internal.h"

/* ---- helpers ---- */

static void enter(struct node *node, struct job *job, enum job_state state, uint64_t deadline_ns)
{
    job->state = (uint8_t)state;
    job->deadline_ns = deadline_ns;
    digest_add(&node->digest, (uint64_t)job->id << 8 | state);
}

static struct site *site_of_peer(struct job *job, uint16_t peer)
{
    for (uint16_t index = 0; index < job->site_count; index++)
        if (job->sites[index].peer == peer)
            return &job->sites[index];
    return NULL;
}

static void site_ended(struct site *site, enum site_state state, const char *text, uint64_t now_ns)
{
    site->state = (uint8_t)state;
    site->ended = true;
    site->complete_ns = now_ns;
    name_copy(site->text, sizeof(site->text), text);
}

static bool tell_site(struct node *node, const struct job *job, const struct site *site)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    size_t length;
    if (site->unsent == CONTROL_START) {
        struct wire_start start = {.job = job->id, .epoch = job->epoch};
        length = control_start_encode(body, &start);
    } else {
        struct control_close_job close = {.fixed = {.job = job->id, .outcome = job->outcome}};
        name_copy(close.text, sizeof(close.text), job->text);
        length = control_close_job_encode(body, &close);
    }
    CHECK(length > 0);
    return peer_send(node, site->peer, site->unsent, body, length);
}

bool source_tell_sites(struct node *node, struct job *job)
{
    bool all = true;
    for (uint16_t index = 0; index < job->site_count; index++) {
        struct site *site = &job->sites[index];
        const struct peer *peer = &node->peers[site->peer];
        /* One that is silent for so long has given the job up by itself. */
        bool gone = peer->state != PEER_UP &&
                    node->now_ns >= later_ns(peer->down_since_ns, node->config.stall_timeout_ns);
        if (site->unsent != 0 && (gone || tell_site(node, job, site)))
            site->unsent = 0;
        all = all && site->unsent == 0;
    }
    return all;
}

static void end(struct node *node, struct job *job, enum job_state state, enum close_outcome outcome,
                uint64_t now_ns)
{
    job->outcome = (uint8_t)outcome;
    enter(node, job, state, TIME_NEVER);
    job->ended_ns = now_ns;
    if (state == JOB_FAILED)
        node->counters.jobs_failed++;
    for (uint16_t index = 0; index < job->site_count; index++)
        job->sites[index].unsent = CONTROL_CLOSE_JOB;
    source_tell_sites(node, job);
    job_close(node, job, now_ns);
}

void source_fail(struct node *node, struct job *job, uint64_t now_ns, const char *format, ...)
{
    if (job->state >= JOB_DONE)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(job->text, sizeof(job->text), format, arguments);
    va_end(arguments);
    end(node, job, JOB_FAILED, CLOSE_FAILED, now_ns);
}

/* ---- accepted ---- */

static bool add_site(struct node *node, struct job *job, const char *name, bool receiver, struct err *err)
{
    uint16_t peer = peer_find(node, name);
    if (peer == PEER_SELF)
        return true;
    if (peer == PEER_NONE)
        return err_set(err, "job '%s': '%s' is no peer of %s", job->spec.name, name, node->config.name);
    if (site_of_peer(job, peer) != NULL)
        return true;
    if (job->site_count == PLAN_NODES_MAX - 1)
        return err_set(err, "job '%s': more than %d sites", job->spec.name, PLAN_NODES_MAX - 1);
    struct site *site = &job->sites[job->site_count++];
    name_copy(site->name, sizeof(site->name), name);
    site->peer = peer;
    site->receiver = receiver;
    site->included = true;
    return true;
}

static bool add_sites(struct node *node, struct job *job, struct err *err)
{
    const struct job_spec *spec = &job->spec;
    for (uint16_t index = 0; spec->to_all && index < node->peer_count; index++)
        if (!add_site(node, job, node->config.peers[index].name, true, err))
            return false;
    for (uint16_t index = 0; !spec->to_all && index < spec->receiver_count; index++)
        if (!add_site(node, job, spec->receivers[index], true, err))
            return false;
    if (job->site_count == 0)
        return err_set(err, "job '%s': no receivers", spec->name);
    for (uint16_t index = 0; spec->metric == PLAN_METRIC_GIVEN && index < spec->given_count; index++)
        if (!add_site(node, job, spec->given[index][0], false, err) ||
            !add_site(node, job, spec->given[index][1], false, err))
            return false;
    return true;
}

static bool check_spec(struct node *node, const struct job_spec *spec, struct err *err)
{
    if (!name_valid(spec->name))
        return err_set(err, "job name '%s' is not valid", spec->name);
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
    if (spec->object == PART_OBJECT_STREAM && !stream_check_spec(node, spec, err))
        return false;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        const struct job *job = &node->jobs[slot];
        if (job->in_use && job->is_source && job->state < JOB_DONE && strcmp(job->spec.name, spec->name) == 0)
            return err_set(err, "job '%s' is running already", spec->name);
    }
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

bool source_run(struct node *node, const struct job_spec *spec, uint64_t now_ns, struct err *err)
{
    if (!check_spec(node, spec, err))
        return false;
    struct job *job = job_allocate(node, new_job_id(node), now_ns);
    if (job == NULL)
        return err_set(err, "job '%s': %d jobs are running already", spec->name, NODE_JOBS_MAX);
    job->is_source = true;
    job->source_peer = PEER_SELF;
    job->spec = *spec;
    job->controls = spec->controls;
    job->revision = adjust_differs(&job->controls);
    memset(job->rtt_us, 0xff, sizeof(job->rtt_us));
    if (!add_sites(node, job, err)) {
        job->in_use = false;
        return false;
    }
    name_copy(job->open.file, sizeof(job->open.file), spec->file);
    job->open.hash = spec->hash;
    job->open.tree = spec->tree_owner | spec->tree_xattrs | spec->tree_hardlinks;
    job->open.object = spec->object;
    job->open.flush_ns = spec->flush_ns;
    enter(node, job, JOB_ACCEPTED, TIME_NEVER);
    job_disk(node, job, &(struct disk_request){.op = DISK_OPEN_SOURCE, .open = &job->open});
    return true;
}

bool source_cancel(struct node *node, const char *name, uint64_t now_ns, struct err *err)
{
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        struct job *job = &node->jobs[slot];
        if (!job->in_use || !job->is_source || job->state >= JOB_DONE || strcmp(job->spec.name, name) != 0)
            continue;
        name_copy(job->text, sizeof(job->text), "cancelled by the operator");
        end(node, job, JOB_CANCELLED, CLOSE_CANCELLED, now_ns);
        return true;
    }
    return err_set(err, "no running job '%s' has its source here", name);
}

/* ---- measuring ---- */

static struct wire_measure measure_wanted(const struct job *job)
{
    return (struct wire_measure){.job = job->id,
                                 .duration_ms = (uint32_t)(job->spec.measure_ns / NS_PER_MS),
                                 .age_ms = (uint32_t)(job->spec.measure_age_ns / NS_PER_MS)};
}

static void ask_sites(struct node *node, struct job *job)
{
    struct wire_measure measure = measure_wanted(job);
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    size_t length = control_measure_encode(body, &measure);
    CHECK(length > 0);
    for (uint16_t index = 0; index < job->site_count; index++) {
        struct site *site = &job->sites[index];
        if (!site->asked && node->peers[site->peer].state == PEER_UP)
            site->asked = peer_send(node, site->peer, CONTROL_MEASURE, body, length);
    }
}

static void start_measuring(struct node *node, struct job *job, uint64_t now_ns)
{
    enter(node, job, JOB_MEASURING, now_ns + node->config.measure_timeout_ns);
    ask_sites(node, job);
}

static uint16_t matrix_index(const struct node *node, struct job *job, const char *name)
{
    if (strcmp(name, node->config.name) == 0)
        return 0;
    for (uint16_t index = 0; index < job->site_count; index++)
        if (strcmp(name, job->sites[index].name) == 0)
            return (uint16_t)(index + 1);
    return UINT16_MAX;
}

void source_on_measurement(struct node *node, struct job *job, uint16_t peer,
                           const struct control_measurement *report, uint64_t now_ns)
{
    struct site *site = peer == PEER_SELF ? NULL : site_of_peer(job, peer);
    if (job->state != JOB_MEASURING || (peer != PEER_SELF && site == NULL))
        return;
    uint16_t from = site == NULL ? 0 : (uint16_t)(site - job->sites + 1);
    for (uint16_t index = 0; index < report->fixed.count; index++) {
        const struct wire_measured *entry = &report->peers[index];
        uint16_t to = matrix_index(node, job, entry->peer.text);
        if (to == UINT16_MAX)
            continue;
        job->rtt_us[from][to] = entry->rtt_min_us;
        job->path_mtu[from][to] = entry->mtu;
    }
    job->up_bps[from] = report->fixed.up_bps;
    job->down_bps[from] = report->fixed.down_bps;
    uint16_t *reports = site == NULL ? &job->source_reports : &site->reports;
    *reports = (uint16_t)(*reports + report->fixed.count);
    bool whole = *reports >= report->fixed.total;
    if (site == NULL)
        job->source_measured = whole;
    else
        site->measured = whole;
    node->jobs_tick_ns = MIN(node->jobs_tick_ns, now_ns);
}

static void ask_planner(struct node *node, struct job *job, uint64_t now_ns)
{
    struct err err;
    job->epoch++;
    if (!source_make_request(job, &err)) {
        source_fail(node, job, now_ns, "%s", err.text);
        return;
    }
    enter(node, job, JOB_PLANNING, now_ns + node->config.plan_timeout_ns);
    node->plan_requests_due |= 1u << job->slot;
}

static void measuring_tick(struct node *node, struct job *job, uint64_t now_ns)
{
    ask_sites(node, job);
    const struct site *missing = NULL;
    bool all_asked = true;
    for (uint16_t index = 0; index < job->site_count; index++) {
        if (!job->sites[index].measured && missing == NULL)
            missing = &job->sites[index];
        all_asked = all_asked && job->sites[index].asked;
    }
    /* The source measures last: when all peers have been up for a moment. */
    struct wire_measure wanted = measure_wanted(job);
    if (all_asked && !job->source_measured)
        measure_ask(node, PEER_SELF, &wanted, now_ns);
    if (missing == NULL && job->source_measured) {
        ask_planner(node, job, now_ns);
        return;
    }
    if (now_ns < job->deadline_ns)
        return;
    unsigned seconds = (unsigned)(node->config.measure_timeout_ns / NS_PER_S);
    if (missing == NULL) {
        source_fail(node, job, now_ns, "own measurements did not end within %u s", seconds);
        return;
    }
    for (uint16_t index = 0; index < job->site_count; index++) {
        struct site *site = &job->sites[index];
        char text[CONTROL_TEXT_BYTES];
        snprintf(text, sizeof(text), "does not answer: no %s within %u s",
                 site->asked ? "measurements" : "hello", seconds);
        if (!site->measured)
            site_ended(site, SITE_FAILED, text, now_ns);
    }
    source_fail(node, job, now_ns, "%s %s", missing->name, missing->text);
}

/* ---- planning and distributing ---- */

void source_on_plan(struct node *node, struct job *job, const struct plan *plan, uint64_t now_ns)
{
    if (job->state != JOB_PLANNING || plan->job != job->id || plan->epoch != job->epoch)
        return;
    struct err err;
    if (!plan_validate(plan, &job->request, &err)) {
        source_fail(node, job, now_ns, "the planner's plan is not valid: %s", err.text);
        return;
    }
    job->plan = *plan;
    enter(node, job, JOB_DISTRIBUTING, now_ns + node->config.distribute_timeout_ns);
    if (!source_distribute(node, job, &err))
        source_fail(node, job, now_ns, "%s", err.text);
}

void source_on_plan_failed(struct node *node, struct job *job, const char *text, uint64_t now_ns)
{
    if (job->state == JOB_PLANNING)
        source_fail(node, job, now_ns, "planner: %s", text);
}

static void start_sites(struct node *node, struct job *job, uint64_t now_ns)
{
    for (uint16_t index = 0; index < job->site_count; index++) {
        struct site *site = &job->sites[index];
        site->progress_ns = now_ns;
        if (site->included)
            site->unsent = CONTROL_START;
    }
    source_tell_sites(node, job);
    enter(node, job, JOB_RUNNING, TIME_NEVER);
    job->started_ns = now_ns;
    job_start_edges(node, job, now_ns);
}

static bool receivers_left(const struct job *job)
{
    for (uint16_t index = 0; index < job->site_count; index++)
        if (job->sites[index].included && job->sites[index].receiver)
            return true;
    return false;
}

static void leave_out(struct node *node, struct job *job, struct site *site, const char *text,
                      uint64_t now_ns)
{
    site->included = false;
    site_ended(site, SITE_FAILED, text, now_ns);
    if (!receivers_left(job)) {
        source_fail(node, job, now_ns, "%s: %s", site->name, text);
        return;
    }
    if (job->object != NULL) {
        object_close(job->object);
        job->object = NULL;
    }
    for (uint16_t index = 0; index < job->site_count; index++)
        job->sites[index].confirmed = false;
    ask_planner(node, job, now_ns);
}

void source_on_confirm(struct node *node, struct job *job, uint16_t peer,
                       const struct control_confirm *confirm, uint64_t now_ns)
{
    struct site *site = site_of_peer(job, peer);
    if (site == NULL || !site->included || job->state != JOB_DISTRIBUTING ||
        confirm->fixed.epoch != job->epoch)
        return;
    switch ((enum confirm_answer)confirm->fixed.answer) {
    case CONFIRM_REFUSED:
        leave_out(node, job, site, confirm->text, now_ns);
        return;
    case CONFIRM_COMPLETE:
        site->state = SITE_SKIPPED;
        site->ended = true;
        site->complete_ns = now_ns;
        name_copy(site->text, sizeof(site->text), confirm->text);
        break;
    case CONFIRM_READY:
        break;
    }
    site->confirmed = true;
    for (uint16_t index = 0; index < job->site_count; index++)
        if (job->sites[index].included && !job->sites[index].confirmed)
            return;
    start_sites(node, job, now_ns);
}

static void distributing_tick(struct node *node, struct job *job, uint64_t now_ns)
{
    if (now_ns < job->deadline_ns)
        return;
    const struct site *missing = NULL;
    for (uint16_t index = 0; index < job->site_count; index++) {
        struct site *site = &job->sites[index];
        char text[CONTROL_TEXT_BYTES];
        snprintf(text, sizeof(text), "did not confirm its part of the plan within %u s",
                 (unsigned)(node->config.distribute_timeout_ns / NS_PER_S));
        if (!site->included || site->confirmed)
            continue;
        site_ended(site, SITE_FAILED, text, now_ns);
        missing = missing == NULL ? site : missing;
    }
    if (missing != NULL)
        source_fail(node, job, now_ns, "%s %s", missing->name, missing->text);
}

/* ---- running ---- */

void source_on_status(struct node *node, struct job *job, uint16_t peer, const struct control_status *status,
                      uint64_t now_ns)
{
    struct site *site = site_of_peer(job, peer);
    if (site == NULL || job->state != JOB_RUNNING)
        return;
    source_take_edges(site, status);
    if (site->ended)
        return;
    source_note_limit(node, job, site, now_ns);
    if (status->fixed.received_bytes != site->received_bytes ||
        status->fixed.verified_bytes != site->verified_bytes)
        site->progress_ns = now_ns;
    site->received_bytes = status->fixed.received_bytes;
    site->verified_bytes = status->fixed.verified_bytes;
    if (status->fixed.state != SITE_RECEIVING)
        site_ended(site, (enum site_state)status->fixed.state, status->text, now_ns);
    node->jobs_tick_ns = MIN(node->jobs_tick_ns, now_ns);
}

/* Name of the site's parent when that one is silent; NULL else. */
static const char *silent_parent(const struct node *node, const struct job *job, const struct site *site)
{
    for (uint16_t index = 1; index < job->request.node_count; index++) {
        if (strcmp(job->request.nodes[index].name, site->name) != 0)
            continue;
        int parent = plan_parent(&job->plan.trees[0], index);
        if (parent <= 0)
            return NULL;
        uint16_t peer = peer_find(node, job->request.nodes[parent].name);
        bool silent = peer < node->peer_count && node->peers[peer].state != PEER_UP;
        return silent ? job->request.nodes[parent].name : NULL;
    }
    return NULL;
}

static void check_stall(struct node *node, struct job *job, struct site *site, uint64_t now_ns)
{
    const struct peer *peer = &node->peers[site->peer];
    bool silent = peer->state != PEER_UP;
    /* A site that holds everything may take its time to sync its disk, as long as it is alive. */
    bool syncing = !silent && site->verified_bytes == job->geometry.size_bytes;
    if (syncing || now_ns < later_ns(site->progress_ns, node->config.stall_timeout_ns))
        return;
    unsigned seconds = (unsigned)((now_ns - site->progress_ns) / NS_PER_S);
    const char *parent = silent_parent(node, job, site);
    /* A stream goes on when its input does; who is too slow for it is the window's question. */
    if (job->stream.on && !silent && parent == NULL)
        return;
    char text[CONTROL_TEXT_BYTES];
    if (silent)
        snprintf(text, sizeof(text), "does not answer for %u s", seconds);
    else if (parent != NULL)
        snprintf(text, sizeof(text), "no progress for %u s: its parent %s does not answer", seconds, parent);
    else
        snprintf(text, sizeof(text), "no progress for %u s", seconds);
    site_ended(site, SITE_FAILED, text, now_ns);
}

static void finish(struct node *node, struct job *job, uint64_t now_ns)
{
    const struct site *failed = NULL;
    unsigned failures = 0;
    for (uint16_t index = 0; index < job->site_count; index++) {
        if (job->sites[index].state != SITE_FAILED)
            continue;
        failed = failed == NULL ? &job->sites[index] : failed;
        failures++;
    }
    if (failed == NULL) {
        end(node, job, JOB_DONE, CLOSE_DONE, now_ns);
        return;
    }
    char more[32] = "";
    if (failures > 1)
        snprintf(more, sizeof(more), " (and %u more)", failures - 1);
    snprintf(job->text, sizeof(job->text), "%.31s: %.180s%s", failed->name, failed->text, more);
    end(node, job, JOB_FAILED, CLOSE_DONE, now_ns);
}

void source_drop(struct job *job, uint16_t peer, const char *text, uint64_t now_ns)
{
    struct site *site = site_of_peer(job, peer);
    if (site != NULL && !site->ended)
        site_ended(site, SITE_FAILED, text, now_ns);
}

static void running_tick(struct node *node, struct job *job, uint64_t now_ns)
{
    bool all_ended = true;
    source_tell_sites(node, job);
    adjust_tell_sites(node, job);
    for (uint16_t index = 0; index < job->site_count; index++) {
        struct site *site = &job->sites[index];
        if (job->controls.paused)
            site->progress_ns = now_ns;
        if (!site->ended && site->receiver)
            check_stall(node, job, site, now_ns);
        if (!site->ended && site->receiver)
            all_ended = false;
    }
    if (all_ended)
        finish(node, job, now_ns);
}

void source_on_peer_lost(struct node *node, struct job *job, uint16_t peer, bool restarted, uint64_t now_ns)
{
    struct site *site = site_of_peer(job, peer);
    if (site == NULL || !restarted || job->state >= JOB_DONE || job->state == JOB_ACCEPTED)
        return;
    if (job->state != JOB_RUNNING) {
        site_ended(site, SITE_FAILED, "restarted", now_ns);
        source_fail(node, job, now_ns, "%s restarted", site->name);
        return;
    }
    if (!site->ended)
        site_ended(site, SITE_FAILED, "restarted and lost its state", now_ns);
}

void source_tick(struct node *node, struct job *job, uint64_t now_ns)
{
    switch ((enum job_state)job->state) {
    case JOB_MEASURING:
        measuring_tick(node, job, now_ns);
        break;
    case JOB_PLANNING:
        if (now_ns >= job->deadline_ns)
            source_fail(node, job, now_ns, "%s within %u s",
                        node->planner_attached ? "the planner gave no plan"
                                               : "no planner is attached to this node",
                        (unsigned)(node->config.plan_timeout_ns / NS_PER_S));
        break;
    case JOB_DISTRIBUTING:
        distributing_tick(node, job, now_ns);
        break;
    case JOB_RUNNING:
        running_tick(node, job, now_ns);
        break;
    case JOB_ACCEPTED:
    case JOB_DONE:
    case JOB_FAILED:
    case JOB_CANCELLED:
    case JOB_STATE_COUNT:
        break;
    }
}

/* ---- the source's disk ---- */

static void on_read(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    uint64_t block = reply->cookie;
    if (reply->status != DISK_OK) {
        object_load_failed(job->object, block);
        source_fail(node, job, now_ns, "source file %.120s: %.120s", job->spec.file, reply->text);
        return;
    }
    if (job->part.fixed.hash != PART_HASH_NONE && !object_expect(job->object, block, &reply->hash)) {
        object_load_failed(job->object, block);
        source_fail(node, job, now_ns, "source file %.120s: its content changed during the job",
                    job->spec.file);
        return;
    }
    object_load_done(job->object, block);
    if (job->phase != PHASE_CLOSING)
        data_wake(node, job);
}

void source_on_disk(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns)
{
    switch ((enum disk_op)reply->op) {
    case DISK_OPEN_SOURCE:
        if (reply->status != DISK_OK) {
            source_fail(node, job, now_ns, "source file %.120s: %.120s", job->spec.file, reply->text);
            return;
        }
        job->disk_open = true;
        job->geometry.size_bytes = reply->size_bytes;
        job->modified_ns = reply->modified_ns;
        name_copy(job->note, sizeof(job->note), reply->text);
        job->open.object = reply->object;
        job->open.index_bytes = reply->index_bytes;
        job->open.index_hash = reply->index_hash;
        if (job->state == JOB_ACCEPTED)
            start_measuring(node, job, now_ns);
        return;
    case DISK_READ:
        on_read(node, job, reply, now_ns);
        return;
    case DISK_FEED:
    case DISK_DRAIN:
    case DISK_FINISH:
        stream_on_disk(node, job, reply, now_ns);
        return;
    case DISK_OPEN_TARGET:
    case DISK_WRITE:
    case DISK_ABORT:
    case DISK_CLOSE:
        return;
    case DISK_DIGEST:
    case DISK_MANIFEST:
        manifest_on_disk(node, job, reply);
        return;
    }
}
