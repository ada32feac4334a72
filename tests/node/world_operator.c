/* What an operator does and sees in the small world: jobs, counters, the end of a job. */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/units.h"
#include "node/role/source.h"
#include "world.h"

struct job_spec world_job(const struct world *world, const char *name)
{
    struct job_spec spec = {.to_all = true,
                            .metric = PLAN_METRIC_RTT,
                            .trees = 1,
                            .hash = PART_HASH_SHA256,
                            .congestion = PART_CONGESTION_BQL,
                            .controls = {.priority = JOB_PRIORITY_NORMAL},
                            .measure_ns = 100 * NS_PER_MS,
                            .measure_age_ns = 10 * NS_PER_S};
    snprintf(spec.name, sizeof(spec.name), "%s", name);
    snprintf(spec.source, sizeof(spec.source), "%s", world->nodes[0].config.name);
    snprintf(spec.file, sizeof(spec.file), "/data/%s.bin", name);
    snprintf(spec.directory, sizeof(spec.directory), "incoming");
    return spec;
}

bool world_run_job_at(struct world *world, uint16_t node, const struct job_spec *spec, struct err *err)
{
    static struct ctl_msg msg;
    msg = (struct ctl_msg){.type = CTL_JOB_RUN};
    msg.body.job_run = *spec;
    return world_command(world, node, &msg, err);
}

bool world_run_job(struct world *world, const struct job_spec *spec, struct err *err)
{
    return world_run_job_at(world, 0, spec, err);
}

bool world_set_job(struct world *world, const char *name, uint8_t changed, struct job_controls controls)
{
    static struct ctl_msg msg;
    struct err err;
    msg = (struct ctl_msg){.type = CTL_JOB_SET};
    snprintf(msg.body.job_set.name, sizeof(msg.body.job_set.name), "%s", name);
    msg.body.job_set.changed = changed;
    msg.body.job_set.controls = controls;
    return world_command(world, 0, &msg, &err);
}

bool world_cancel_job(struct world *world, uint16_t node, const char *name)
{
    static struct ctl_msg msg;
    struct err err;
    msg = (struct ctl_msg){.type = CTL_JOB_CANCEL};
    snprintf(msg.body.job_cancel.name, sizeof(msg.body.job_cancel.name), "%s", name);
    return world_command(world, node, &msg, &err);
}

const struct node_job_view *world_view(const struct world *world, uint16_t node, const char *name)
{
    static struct node_job_view view, newest;
    bool found = false;
    for (uint32_t index = 0; node_job_view(world->nodes[node].node, index, &view); index++) {
        if (strcmp(view.name, name) != 0 || (found && view.created_ns < newest.created_ns))
            continue;
        newest = view;
        found = true;
    }
    return found ? &newest : NULL;
}

bool world_is_clean(const struct world *world, uint16_t index)
{
    const struct node *node = world->nodes[index].node;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        const struct job *job = &node->jobs[slot];
        if (world->nodes[index].files[slot].open || job->disk.outstanding > 0 || job->object != NULL ||
            (job_is_known(job) && job->phase != PHASE_CLOSED))
            return false;
    }
    for (uint16_t peer = 0; peer < node->peer_count; peer++)
        if (node->peers[peer].jobs_out != 0)
            return false;
    return node->store.classes[SLOT_FREE].count == node->store.slot_count && node->store.objects_open == 0 &&
           node->store.blocks_used == 0;
}

struct node_job_view *world_finish_job(struct world *world, uint64_t limit_ns)
{
    static struct node_job_view view;
    uint64_t end_ns = world->now_ns + limit_ns;
    do {
        world_run_until(world, world->now_ns + 10 * NS_PER_MS);
        CHECK(node_job_view(world->nodes[0].node, 0, &view));
    } while (view.state < JOB_DONE && world->now_ns < end_ns);
    return &view;
}

uint64_t world_counter(const struct world *world, uint16_t node, const char *name)
{
    const char *found;
    uint64_t value;
    for (uint32_t index = 0; (found = node_counter(world->nodes[node].node, index, &value)) != NULL; index++)
        if (strcmp(found, name) == 0)
            return value;
    CHECK(!"no such counter");
    return 0;
}
