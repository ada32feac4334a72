/* A run from its first to its last event. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "disk/hash.h"
#include "sim/alive.h"
#include "sim/run.h"
#include "sim/tree.h"
#include "sim/truth.h"
#include "sizes/nonces.h"

/* Of the first job's file; the others follow by a second. */
#define STAMP_SEED         0x7374616d702d7365ULL
#define STALL_SEED         0x7374616c6c2d7365ULL
#define SOURCE_MODIFIED_NS 1700000000000000000ULL

/* An operator tries so long to start what he has asked the cost of. */
#define ALL_PATIENCE_NS (10 * NS_PER_S)

/* ---- setting up ---- */

static uint16_t find_node(const struct scenario *scenario, const char *name)
{
    uint16_t index = 0;
    while (index < scenario->node_count && strcmp(scenario->nodes[index].name, name) != 0)
        index++;
    return index;
}

static bool check_scenario(const struct scenario *scenario, struct err *err)
{
    if (scenario->node_count == 0)
        return err_set(err, "no nodes");
    for (uint16_t index = 0; index < scenario->node_count; index++) {
        const struct scenario_node *node = &scenario->nodes[index];
        if (node->clock_offset_ns > CLOCK_OFFSET_NS_MAX || node->clock_offset_ns < -CLOCK_OFFSET_NS_MAX)
            return err_set(err, "node %s: clock offset beyond +-500000 s", node->name);
        if (node->clock_skew_ppb > CLOCK_SKEW_PPB_MAX || node->clock_skew_ppb < -CLOCK_SKEW_PPB_MAX)
            return err_set(err, "node %s: clock skew beyond +-10 %%", node->name);
    }
    for (uint16_t job = 0; job < scenario->job_count; job++) {
        const struct job_spec *spec = &scenario->jobs[job].spec;
        uint16_t host = find_node(scenario, spec->source);
        if (host == scenario->node_count)
            return err_set(err, "job %s: no node is called %s", spec->name, spec->source);
        if (scenario->nodes[host].absent)
            return err_set(err, "job %s: its source %s is absent", spec->name, spec->source);
    }
    return true;
}

static void make_tree(struct sim_source *source, uint32_t files)
{
    struct pack pack;
    sim_tree_make(&pack, files, source->content.size_bytes, source->content.seed);
    source->content.size_bytes = pack.object_bytes;
    source->content.index = pack.bytes;
    source->content.index_bytes = pack.index_bytes;
    hash_block(PART_HASH_SHA256, pack.bytes, pack.index_bytes, &source->index_hash);
}

static void set_up_job(struct sim *sim, uint16_t index)
{
    const struct scenario_job *scenario_job = &sim->scenario->jobs[index];
    struct sim_job *job = &sim->jobs[index];
    struct sim_source *source = &sim->sources[index];
    job->spec = scenario_job->spec;
    job->host = find_node(sim->scenario, job->spec.source);
    if (job->spec.directory[0] == '\0')
        name_copy(job->spec.directory, sizeof(job->spec.directory), "incoming");
    if (job->spec.file[0] == '\0') {
        job->spec.file[0] = '/';
        name_copy(job->spec.file + 1, sizeof(job->spec.file) - 1, job->spec.name);
    }
    name_copy(source->path, sizeof(source->path), job->spec.file);
    uint64_t size_bytes = scenario_job->size_bytes;
    if (job->spec.object == PART_OBJECT_STREAM) {
        source->input = (struct sim_input){
            .rate_bps = scenario_job->rate_bps, .on_ns = scenario_job->on_ns, .off_ns = scenario_job->off_ns};
        size_bytes = sim_input_bytes(scenario_job->rate_bps, scenario_job->on_ns, scenario_job->off_ns,
                                     scenario_job->duration_ns);
        source->input.total_bytes = size_bytes;
    }
    source->content = (struct content){.seed = sim->options.seed * 7919 + index,
                                       .size_bytes = size_bytes,
                                       .sparse = scenario_job->sparse,
                                       .shared = scenario_is_sparse(sim->scenario)};
    if (scenario_job->files != 0)
        make_tree(source, scenario_job->files);
    source->modified_ns = SOURCE_MODIFIED_NS + index * NS_PER_S;
    source->hashes = calloc(SIM_HASHES, sizeof(*source->hashes));
    CHECK(source->hashes != NULL);
    sim->hosts[job->host].planner = sim->hosts[job->host].planner_alive = true;
    event_add(&sim->heap, scenario_job->start_ns, EVENT_JOB, index, NULL);
}

static bool set_up_hosts(struct sim *sim, struct err *err)
{
    const struct scenario *scenario = sim->scenario;
    for (uint16_t index = 0; index < scenario->node_count; index++) {
        const struct scenario_node *node = &scenario->nodes[index];
        struct sim_host *host = &sim->hosts[index];
        host->index = index;
        host->clock = (struct sim_clock){node->clock_offset_ns, node->clock_skew_ppb, 0};
        host->stamping = node->stamping;
        rng_init(&host->stamp_noise, sim->options.seed ^ STAMP_SEED * (index + 1u));
        sim_stall_init(&host->stall, &node->stall, sim->options.seed ^ STALL_SEED * (index + 1u));
        host->turn_lasts_ns = node->turn_ns != 0 ? node->turn_ns : NET_TURN_NS;
        host->stamps_turns = node->turn_ns != 0 && !node->stamped_by_device;
        host->stamps_late = (node->turn_ns != 0 || node->stall.every_ns != 0) && !node->stamped_by_device;
        sim_disk_init(&host->disk, node->disk_rate_bps, node->disk_free_bytes, sim->sources,
                      scenario->job_count);
        host->disk.sink_rate_bps = node->sink_rate_bps;
        if (!host_config(sim, index, err))
            return false;
    }
    return true;
}

struct sim *sim_create(const struct scenario *scenario, const struct sim_options *options, struct err *err)
{
    if (!check_scenario(scenario, err))
        return NULL;
    struct sim *sim = calloc(1, sizeof(*sim));
    CHECK(sim != NULL);
    sim->scenario = scenario;
    sim->options = *options;
    sim->limit_ns = scenario->limit_ns != 0 ? scenario->limit_ns : SIM_LIMIT_NS;
    sim->stop_ns = TIME_NEVER;
    nonces_forget(); /* of other runs with this seed */
    digest_init(&sim->digest);
    digest_init(&sim->past_nodes);
    event_heap_init(&sim->heap);
    net_init(&sim->net, scenario, options->seed, &sim->heap, &sim->digest);
    sim->hosts = calloc(scenario->node_count, sizeof(*sim->hosts));
    CHECK(sim->hosts != NULL);
    for (uint16_t fault = 0; fault < scenario->fault_count; fault++)
        event_add(&sim->heap, scenario->faults[fault].at_ns, EVENT_FAULT, fault, NULL);
    for (uint16_t ask = 0; ask < scenario->probe.ask_count; ask++)
        event_add(&sim->heap, scenario->probe.asks[ask].at_ns, EVENT_PROBE, ask, NULL);
    if (scenario->probe.all_count != 0) {
        event_add(&sim->heap, scenario->probe.all[0].at_ns, EVENT_PROBE_ALL, CTL_ALL_RECKON, NULL);
        if (scenario->probe.all[0].stop_ns != 0)
            event_add(&sim->heap, scenario->probe.all[0].stop_ns, EVENT_PROBE_ALL, CTL_ALL_STOP, NULL);
    }
    for (uint16_t job = 0; job < scenario->job_count; job++)
        set_up_job(sim, job);
    if (!set_up_hosts(sim, err) ||
        !cross_init(&sim->cross, scenario, options->seed, sim->limit_ns, &sim->net, &sim->heap, err)) {
        sim_destroy(sim);
        return NULL;
    }
    return sim;
}

static void free_source(struct sim_source *source)
{
    free(source->hashes);
    free((void *)(uintptr_t)source->content.index); /* the only one that sees it as its own */
    sim_input_free(&source->input);
}

void sim_destroy(struct sim *sim)
{
    struct event event;
    for (uint16_t index = 0; index < sim->scenario->node_count; index++) {
        host_kill(sim, index);
        sim_disk_free(&sim->hosts[index].disk);
    }
    while (event_pop(&sim->heap, &event))
        if (event.kind == EVENT_PLANNER)
            free(event.object);
    cross_free(&sim->cross);
    trace_free(&sim->trace);
    event_heap_free(&sim->heap);
    net_free(&sim->net);
    for (uint16_t job = 0; job < sim->scenario->job_count; job++)
        free_source(&sim->sources[job]);
    free(sim->hosts);
    free(sim);
}

/* ---- running ---- */

static void paths_of_matrix(const struct scenario *scenario, struct ctl_paths *paths)
{
    *paths = (struct ctl_paths){.site_count = scenario->node_count};
    for (uint16_t from = 0; from < scenario->node_count; from++) {
        name_copy(paths->sites[from].name, NAME_BYTES, scenario->nodes[from].name);
        for (uint16_t to = 0; to < scenario->node_count; to++) {
            struct plan_path *path = &paths->paths[from][to];
            path->avb_kbps = path->avb_low_kbps = path->avb_high_kbps = scenario->avb_kbps[from][to];
        }
    }
}

static void add_distances(const struct scenario *scenario, struct ctl_paths *paths)
{
    for (uint16_t from = 0; from < scenario->node_count; from++)
        for (uint16_t to = 0; to < scenario->node_count; to++)
            paths->paths[from][to].distance = scenario->distance[from][to];
}

static void tell_paths(struct sim *sim, uint16_t host)
{
    sim->message.type = CTL_PATHS;
    if (sim->scenario->plan_avb == SCENARIO_AVB_TRUTH)
        truth_paths(sim->scenario, &sim->net, sim->now_ns, &sim->message.body.paths);
    else
        paths_of_matrix(sim->scenario, &sim->message.body.paths);
    add_distances(sim->scenario, &sim->message.body.paths);
    host_ctl(sim, host, &sim->message, NULL);
}

static void start_job(struct sim *sim, uint16_t index)
{
    struct sim_job *job = &sim->jobs[index];
    struct err err = {.text = "the source is dead"};
    job->start_ns = sim->now_ns;
    bool told = sim->scenario->plan_avb != SCENARIO_AVB_NONE || sim->scenario->plan_distance;
    if (told && sim->hosts[job->host].node != NULL)
        tell_paths(sim, job->host);
    sim->message = (struct ctl_msg){.type = CTL_JOB_RUN, .body.job_run = job->spec};
    job->started = sim->hosts[job->host].node != NULL && host_ctl(sim, job->host, &sim->message, &err);
    if (job->started)
        return;
    job->ended = true;
    job->ended_ns = sim->now_ns;
    name_copy(job->text, sizeof(job->text), err.text);
}

/* A node that is dead, or can't, is not asked again. */
static void ask_for_probe(struct sim *sim, const struct scenario_ask *ask)
{
    struct err err;
    uint16_t by = ask->by == 0 ? ask->from : (uint16_t)(ask->by - 1);
    sim->message = (struct ctl_msg){.type = CTL_PROBE};
    name_copy(sim->message.body.probe.peer, NAME_BYTES, sim->scenario->nodes[ask->from].name);
    name_copy(sim->message.body.probe.to, NAME_BYTES, sim->scenario->nodes[ask->to].name);
    if (sim->hosts[by].node != NULL)
        host_ctl(sim, by, &sim->message, &err);
}

/* What it costs is asked for first; it starts as soon as that is known. */
static void on_all(struct sim *sim, enum ctl_all what)
{
    struct err err;
    const struct scenario_all *all = &sim->scenario->probe.all[0];
    sim->message = (struct ctl_msg){.type = CTL_PROBE_ALL,
                                    .body.probe_all = {.what = (uint8_t)what, .order = all->order}};
    if (sim->hosts[all->by].node == NULL)
        return;
    bool done = host_ctl(sim, all->by, &sim->message, &err);
    if (what == CTL_ALL_RECKON ||
        (what == CTL_ALL_START && !done && sim->now_ns < all->at_ns + ALL_PATIENCE_NS))
        event_add(&sim->heap, sim->now_ns + SIM_WATCH_NS, EVENT_PROBE_ALL, CTL_ALL_START, NULL);
}

/* Ends the run when nothing is left to happen: all jobs have ended, and what their end sets off is done. */
static void watch(struct sim *sim)
{
    alive_look(sim);
    /* Without jobs the cross traffic is what is looked at. */
    bool all_ended = sim->scenario->job_count != 0 || sim->now_ns >= cross_end_ns(&sim->cross);
    for (uint16_t index = 0; index < sim->scenario->job_count; index++) {
        struct sim_job *job = &sim->jobs[index];
        if (!job->ended && job_look(sim, job) && sim->job_view.state >= JOB_DONE) {
            job->ended = true;
            job->ended_ns = sim->now_ns;
        }
        all_ended &= job->ended;
    }
    all_ended &= sim->now_ns >= sim->scenario->probe.until_ns;
    if (all_ended && sim->stop_ns == TIME_NEVER)
        sim->stop_ns = sim->now_ns + SIM_SETTLE_NS;
    event_add(&sim->heap, sim->now_ns + SIM_WATCH_NS, EVENT_WATCH, 0, NULL);
}

/* Whose process it is that acts. */
static bool is_of_host(const struct event *event)
{
    return event->kind == EVENT_PORT || event->kind == EVENT_DISK || event->kind == EVENT_WAKE ||
           event->kind == EVENT_PLANNER;
}

static void handle(struct sim *sim, const struct event *event)
{
    if (is_of_host(event)) {
        struct event later = *event;
        later.time_ns = host_awake_ns(sim, (uint16_t)event->index);
        if (later.time_ns > sim->now_ns) {
            event_push(&sim->heap, &later);
            return;
        }
    }
    switch ((enum event_kind)event->kind) {
    case EVENT_FAULT:
        fault_apply(sim, (uint16_t)event->index);
        break;
    case EVENT_JOB:
        start_job(sim, (uint16_t)event->index);
        break;
    case EVENT_LINK:
        sim->counters.events += net_on_link(&sim->net, event->index, MIN(sim->limit_ns, sim->stop_ns)) - 1;
        break;
    case EVENT_SHARED:
        sim->counters.events += net_on_shared(&sim->net, event->index, MIN(sim->limit_ns, sim->stop_ns)) - 1;
        break;
    case EVENT_STRAY:
        net_on_stray(&sim->net, event->object, sim->now_ns);
        break;
    case EVENT_PORT:
        host_receive(sim, (uint16_t)event->index);
        break;
    case EVENT_DISK:
        host_disk_done(sim, (uint16_t)event->index);
        break;
    case EVENT_WAKE:
        host_wake(sim, (uint16_t)event->index);
        break;
    case EVENT_CROSS:
        cross_on_wake(&sim->cross, event->index, sim->now_ns);
        break;
    case EVENT_PLANNER:
        if (planner_on_event(sim, (uint16_t)event->index, event->object))
            host_ctl(sim, (uint16_t)event->index, &sim->message, NULL);
        break;
    case EVENT_WATCH:
        watch(sim);
        break;
    case EVENT_PROBE:
        ask_for_probe(sim, &sim->scenario->probe.asks[event->index]);
        break;
    case EVENT_PROBE_ALL:
        on_all(sim, (enum ctl_all)event->index);
        break;
    case EVENT_TRACE:
        trace_on_step(sim);
        break;
    }
}

void sim_run(struct sim *sim, struct sim_result *result)
{
    struct event event;
    for (uint16_t index = 0; index < sim->scenario->node_count; index++)
        if (!sim->scenario->nodes[index].absent)
            host_start(sim, index);
    event_add(&sim->heap, 0, EVENT_WATCH, 0, NULL);
    trace_start(sim, &sim->options.trace);
    while (event_pop(&sim->heap, &event)) {
        CHECK(event.time_ns >= sim->now_ns);
        uint64_t end_ns = MIN(sim->limit_ns, sim->stop_ns);
        sim->now_ns = MIN(event.time_ns, end_ns);
        if (event.time_ns > sim->now_ns) {
            event_push(&sim->heap, &event);
            break;
        }
        sim->counters.events++;
        if (sim->heap.count != 0) /* a stray lay untouched for as long as it was under way */
            __builtin_prefetch(sim->heap.items[0].object);
        handle(sim, &event);
    }
    gather(sim, result);
}
