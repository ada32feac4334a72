/* Fault injection: what the scenario's faults do, and when a killed node comes back. */
#include <string.h>

#include "base/check.h"
#include "sim/run.h"

static void change_link(const struct sim *sim, const struct scenario_fault *fault, struct netem_link *link)
{
    netem_catch_up(link, sim->now_ns);
    if (fault->kind == FAULT_LINK_SET) {
        struct netem_config config = link->config;
        netem_config_change(&config, &fault->set, fault->set_mask);
        netem_set(link, &config);
        return;
    }
    uint64_t up_ns = fault->duration_ns == 0 ? TIME_NEVER : later_ns(sim->now_ns, fault->duration_ns);
    netem_down(link, fault->holds, up_ns);
}

static void change_links(struct sim *sim, const struct scenario_fault *fault)
{
    if (fault->shared != 0) {
        change_link(sim, fault, &sim->net.shared[fault->shared - 1].link);
        return;
    }
    change_link(sim, fault, &net_pair(&sim->net, fault->link_from, fault->link_to)->link);
    if (fault->symmetric)
        change_link(sim, fault, &net_pair(&sim->net, fault->link_to, fault->link_from)->link);
}

/* What the operator says of a job goes to its source, as long as that lives. */
static void tell_source(struct sim *sim, const struct scenario_fault *fault)
{
    for (uint16_t job = 0; job < sim->scenario->job_count; job++) {
        if (strcmp(sim->jobs[job].spec.name, fault->job) != 0)
            continue;
        if (sim->hosts[sim->jobs[job].host].node != NULL)
            host_ctl(sim, sim->jobs[job].host, &sim->message, NULL);
        return;
    }
}

static void cancel(struct sim *sim, const struct scenario_fault *fault)
{
    sim->message = (struct ctl_msg){.type = CTL_JOB_CANCEL};
    name_copy(sim->message.body.job_cancel.name, NAME_BYTES, fault->job);
    tell_source(sim, fault);
}

static void set_job(struct sim *sim, const struct scenario_fault *fault)
{
    sim->message = (struct ctl_msg){.type = CTL_JOB_SET};
    name_copy(sim->message.body.job_set.name, NAME_BYTES, fault->job);
    sim->message.body.job_set.changed = fault->changed;
    sim->message.body.job_set.controls = fault->controls;
    tell_source(sim, fault);
}

static void source_changed(struct sim *sim, const struct scenario_fault *fault)
{
    for (uint16_t job = 0; job < sim->scenario->job_count; job++)
        if (strcmp(sim->jobs[job].spec.name, fault->job) == 0)
            sim->sources[job].changed = true;
}

/* The node's jobs die with it. */
static void kill_node(struct sim *sim, uint16_t index, const struct scenario_fault *fault, uint16_t number)
{
    host_kill(sim, index);
    for (uint16_t job = 0; job < sim->scenario->job_count; job++) {
        struct sim_job *lost = &sim->jobs[job];
        if (lost->host != index || !lost->started || lost->ended)
            continue;
        lost->lost = lost->ended = true;
        lost->ended_ns = sim->now_ns;
        name_copy(lost->text, sizeof(lost->text), "the source was killed");
    }
    if (fault->duration_ns != 0)
        event_add(&sim->heap, sim->now_ns + fault->duration_ns, EVENT_FAULT,
                  (uint32_t)sim->scenario->fault_count + number, NULL);
}

/* What is due by the clock as it is now has another time of its own: the node is asked anew. */
static void change_clock(struct sim *sim, const struct scenario_fault *fault)
{
    struct sim_host *host = &sim->hosts[fault->node];
    int64_t skew_ppb = fault->skewed ? fault->skew_ppb : host->clock.skew_ppb;
    clock_change(&host->clock, fault->step_ns, skew_ppb, sim->now_ns);
    host->wake_ns = TIME_NEVER;
    if (host->node != NULL)
        host_drain(sim, fault->node);
}

/* Fault `index` of the scenario; beyond its faults: the restart that belongs to fault index - count. */
void fault_apply(struct sim *sim, uint16_t index)
{
    const struct scenario *scenario = sim->scenario;
    bool restart = index >= scenario->fault_count;
    uint16_t number = restart ? (uint16_t)(index - scenario->fault_count) : index;
    const struct scenario_fault *fault = &scenario->faults[number];
    sim->fault_applied[number] = true;
    switch (restart ? FAULT_RESTART : (enum scenario_fault_kind)fault->kind) {
    case FAULT_KILL:
        kill_node(sim, fault->node, fault, number);
        break;
    case FAULT_RESTART:
        if (sim->hosts[fault->node].node == NULL)
            host_start(sim, fault->node);
        break;
    case FAULT_LINK_SET:
    case FAULT_LINK_DOWN:
        change_links(sim, fault);
        break;
    case FAULT_PLANNER_KILL:
        planner_kill(sim, fault->node, fault->duration_ns);
        break;
    case FAULT_CANCEL:
        cancel(sim, fault);
        break;
    case FAULT_SOURCE_CHANGED:
        source_changed(sim, fault);
        break;
    case FAULT_DISK_FULL:
        sim->hosts[fault->node].disk.full = true;
        break;
    case FAULT_JOB_SET:
        set_job(sim, fault);
        break;
    case FAULT_CLOCK:
        change_clock(sim, fault);
        break;
    }
}
