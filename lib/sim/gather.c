/* Collects what a run came to, from the disks, the nodes and the links. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "edge/limit.h"
#include "sim/alive.h"
#include "sim/competitor.h"
#include "sim/run.h"
#include "sim/truth.h"

bool job_look(struct sim *sim, const struct sim_job *job)
{
    const struct node *node = sim->hosts[job->host].node;
    if (node == NULL || !job->started || job->lost)
        return false;
    for (uint32_t index = 0; index < node_job_count(node); index++)
        if (node_job_view(node, index, &sim->job_view) && sim->job_view.source &&
            strcmp(sim->job_view.name, job->spec.name) == 0)
            return true;
    return false;
}

static bool is_receiver(const struct sim *sim, const struct sim_job *job, uint16_t node)
{
    const struct job_spec *spec = &job->spec;
    if (node == job->host)
        return false;
    if (spec->to_all)
        return true;
    for (uint16_t receiver = 0; receiver < spec->receiver_count; receiver++)
        if (strcmp(spec->receivers[receiver], sim->scenario->nodes[node].name) == 0)
            return true;
    return false;
}

/* What the source knows of the receiver; only with a view in sim->job_view. */
static void add_site_view(const struct sim *sim, const struct sim_job *job, struct result_receiver *receiver)
{
    const struct node_job_view *view = &sim->job_view;
    const struct sim_clock *clock = &sim->hosts[job->host].clock;
    for (uint16_t site = 0; site < view->site_count; site++) {
        if (strcmp(view->sites[site].name, sim->scenario->nodes[receiver->node].name) != 0)
            continue;
        receiver->state = view->sites[site].state;
        receiver->limited_by = view->sites[site].limited_by;
        name_copy(receiver->limited_from, NAME_BYTES, view->sites[site].limited_from);
        name_copy(receiver->limited_to, NAME_BYTES, view->sites[site].limited_to);
        name_copy(receiver->held_by, NAME_BYTES, view->sites[site].held_by);
        name_copy(receiver->text, sizeof(receiver->text), view->sites[site].text);
        if (view->sites[site].complete_ns != 0)
            receiver->known_ns =
                elapsed_ns(clock_virtual(clock, view->sites[site].complete_ns), job->start_ns);
        return;
    }
}

static void gather_receivers(struct sim *sim, uint16_t index, bool viewed, struct result_job *result)
{
    const struct sim_job *job = &sim->jobs[index];
    bool all = true;
    for (uint16_t node = 0; node < sim->scenario->node_count; node++) {
        if (!is_receiver(sim, job, node))
            continue;
        struct result_receiver *receiver = &result->receivers[result->receiver_count++];
        const struct sim_copy *copy = &sim->hosts[node].disk.copies[index];
        receiver->node = node;
        receiver->bytes = copy->right_bytes;
        receiver->done = copy->finished_ns != 0;
        receiver->verified = copy->verified;
        receiver->complete_ns = receiver->done ? copy->finished_ns - job->start_ns : 0;
        receiver->flow_ns = receiver->done ? elapsed_ns(copy->finished_ns, copy->first_ns) : 0;
        receiver->latency_p50_ns = wait_percentile(&copy->latency, 50);
        receiver->latency_p99_ns = wait_percentile(&copy->latency, 99);
        receiver->flow_bytes = copy->right_bytes - MIN(copy->right_bytes, copy->first_bytes);
        if (viewed)
            add_site_view(sim, job, receiver);
        result->time_ns = MAX(result->time_ns, receiver->complete_ns);
        all &= receiver->verified;
    }
    if (!all)
        result->time_ns = 0;
    if (result->time_ns != 0)
        result->goodput_bps = muldiv64(sim->sources[index].content.size_bytes * 8, NS_PER_S, result->time_ns);
}

static void gather_job(struct sim *sim, uint16_t index, struct result_job *result)
{
    const struct sim_job *job = &sim->jobs[index];
    const struct node_job_view *view = &sim->job_view;
    const struct sim_clock *clock = &sim->hosts[job->host].clock;
    bool viewed = job_look(sim, job);
    *result = (struct result_job){.started = job->started,
                                  .lost = job->lost,
                                  .state = JOB_FAILED,
                                  .start_ns = job->start_ns,
                                  .size_bytes = sim->sources[index].content.size_bytes};
    name_copy(result->text, sizeof(result->text), job->text);
    if (job->ended)
        result->ended_ns = job->ended_ns - job->start_ns;
    if (viewed) {
        result->state = view->state;
        name_copy(result->text, sizeof(result->text), view->text);
        result->plan = *view->plan;
        result->request = *view->request;
        if (view->running_ns != 0)
            result->running_ns = elapsed_ns(clock_virtual(clock, view->running_ns), job->start_ns);
        if (view->first_data_ns != 0)
            result->first_data_ns = elapsed_ns(clock_virtual(clock, view->first_data_ns), job->start_ns);
        if (view->ended_ns != 0)
            result->ended_ns = elapsed_ns(clock_virtual(clock, view->ended_ns), job->start_ns);
    }
    gather_receivers(sim, index, viewed, result);
}

static void gather_jobs(struct sim *sim, struct sim_result *result)
{
    uint64_t first_ns = TIME_NEVER, last_ns = 0, bits = 0;
    result->completed = result->job_count != 0 || sim->cross.count != 0 || sim->scenario->probe.until_ns != 0;
    if (result->job_count == 0)
        return;
    for (uint16_t index = 0; index < result->job_count; index++) {
        struct result_job *job = &result->jobs[index];
        gather_job(sim, index, job);
        result->completed &= job->state == JOB_DONE && !job->lost && job->time_ns != 0;
        first_ns = MIN(first_ns, job->start_ns);
        last_ns = MAX(last_ns, job->start_ns + job->time_ns);
        bits += sim->sources[index].content.size_bytes * 8;
    }
    result->time_ns = result->completed ? last_ns - first_ns : elapsed_ns(sim->now_ns, first_ns);
    if (result->completed && result->time_ns != 0)
        result->goodput_bps = muldiv64(bits, NS_PER_S, result->time_ns);
}

/* When the host had the last of what it is to receive; 0: something is missing. */
static uint64_t complete_ns(const struct sim *sim, uint16_t host)
{
    uint64_t last_ns = 0;
    for (uint16_t index = 0; index < sim->scenario->job_count; index++) {
        const struct sim_copy *copy = &sim->hosts[host].disk.copies[index];
        if (!is_receiver(sim, &sim->jobs[index], host))
            continue;
        if (!copy->verified)
            return 0;
        last_ns = MAX(last_ns, copy->finished_ns);
    }
    return last_ns;
}

/* An edge counts as one when data went over it. */
static void gather_edge(struct sim *sim, uint16_t from, uint16_t to, struct sim_result *result)
{
    const struct sim_host *sender = &sim->hosts[from], *receiver = &sim->hosts[to];
    struct node_edge_view view, back;
    if (sender->node == NULL || !node_edge_view(sender->node, to < from ? to : to - 1u, &view) ||
        view.sent_packets == 0)
        return;
    const struct net_pair *pair = net_pair(&sim->net, from, to);
    struct result_edge *edge = &result->edges[result->edge_count++];
    *edge = (struct result_edge){.from = from,
                                 .to = to,
                                 .view = view,
                                 .netem_lost = pair->link.counters.lost + pair->link.counters.down_drops -
                                               pair->flow_lost + pair->shared_lost,
                                 .queue_drops =
                                     pair->link.counters.queue_drops + pair->port_drops - pair->flow_drops,
                                 .policer_drops = pair->link.counters.policer_drops,
                                 .lost_burst = pair->link.counters.lost_burst,
                                 .ecn_marked = pair->link.counters.marked,
                                 .reordered = pair->link.counters.reordered,
                                 .limited_by = edge_limit_name(view.limited_by),
                                 .meter = meter_take(&sim->net.meters, from, to),
                                 .complete_ns = complete_ns(sim, to),
                                 .feedback_wire_bytes = meter_feedback_bytes(&sim->net.meters, from, to)};
    if (receiver->node != NULL && node_edge_view(receiver->node, from < to ? from : from - 1u, &back)) {
        edge->feedback_bytes = back.feedback_bytes;
        edge->missed_frames = back.missed_frames;
    }
}

static void add_counter(struct sim_result *result, const char *name, uint64_t value)
{
    CHECK(result->counter_count < RESULT_COUNTERS_MAX);
    result->counters[result->counter_count++] = (struct result_counter){name, value};
}

static void gather_counters(struct sim *sim, struct sim_result *result)
{
    const struct net_counters *net = &sim->net.counters;
    struct sim_disk sum = {0};
    for (uint16_t index = 0; index < sim->scenario->node_count; index++) {
        const struct sim_disk *disk = &sim->hosts[index].disk;
        sum.reads += disk->reads;
        sum.writes += disk->writes;
        sum.wrong_writes += disk->wrong_writes;
    }
    for (uint32_t counter = 0; counter < sim->total_count; counter++)
        add_counter(result, sim->totals[counter].name, sim->totals[counter].value);
#define COUNTER(name, value) add_counter(result, #name, value);
#include "sim/counters.def"
#undef COUNTER
}

static void gather_nodes(struct sim *sim, struct sim_result *result)
{
    struct digest digest = sim->past_nodes;
    for (uint16_t index = 0; index < sim->scenario->node_count; index++) {
        if (sim->hosts[index].node == NULL)
            continue;
        digest_add(&digest, node_digest(sim->hosts[index].node));
        host_count(sim, &sim->hosts[index]);
    }
    result->trains_most_bytes = sim->trains_most_bytes;
    result->node_digest = digest.value;
    digest_add(&sim->digest, digest.value);
    result->digest = sim->digest.value;
}

static void gather_flow(const struct sim *sim, const struct cross_flow *flow, struct result_flow *result)
{
    const struct net_flow *drops = &sim->cross.drops[flow->index];
    uint64_t life_ns = elapsed_ns(MIN(flow->config->stop_ns, sim->now_ns), flow->config->start_ns);
    *result = (struct result_flow){.config = flow->config,
                                   .total = flow->total,
                                   .netem_lost = drops->lost,
                                   .queue_drops = drops->queue_drops,
                                   .wait_p50_ns = wait_percentile(&flow->waits, 50),
                                   .wait_p99_ns = wait_percentile(&flow->waits, 99)};
    if (flow->competitor != NULL)
        result->loss_episodes = flow->competitor->losses;
    if (life_ns != 0)
        result->goodput_bps = muldiv64(flow->total.delivered_bytes * 8, NS_PER_S, life_ns);
    size_t bytes = sim->cross.seconds_count * sizeof(*result->seconds);
    result->seconds = malloc(bytes);
    CHECK(result->seconds != NULL);
    memcpy(result->seconds, flow->seconds, bytes);
}

static void gather_flows(const struct sim *sim, struct sim_result *result)
{
    result->flow_seconds = (uint32_t)MIN(sim->now_ns / NS_PER_S + 1, (uint64_t)sim->cross.seconds_count);
    result->flows = calloc(MAX(sim->cross.count, (uint16_t)1), sizeof(*result->flows));
    CHECK(result->flows != NULL);
    for (uint16_t flow = 0; flow < sim->cross.count; flow++)
        gather_flow(sim, &sim->cross.flows[flow], &result->flows[result->flow_count++]);
}

/* The background is taken in only when a link is asked for something. */
static void gather_background(const struct sim *sim, struct netem_link *link, struct sim_result *result)
{
    netem_catch_up(link, sim->now_ns);
    result->background.packets += link->counters.background_packets;
    result->background.drops += link->counters.background_drops;
}

static void gather_backgrounds(struct sim *sim, struct sim_result *result)
{
    uint16_t count = sim->net.count;
    for (uint32_t index = 0; index < (uint32_t)count * count; index++) {
        struct netem_link *link = &sim->net.pairs[index].link;
        gather_background(sim, link, result);
        result->background.rate_bps += netem_config_cross_bps(&link->config);
        result->background.pairs += netem_config_cross_bps(&link->config) != 0;
    }
    for (uint16_t host = 0; host < count; host++) {
        gather_background(sim, &sim->net.ports[host].uplink, result);
        gather_background(sim, &sim->net.ports[host].downlink, result);
    }
    for (uint16_t index = 0; index < sim->net.shared_count; index++)
        gather_background(sim, &sim->net.shared[index].link, result);
}

static void gather_shared(const struct sim *sim, struct sim_result *result)
{
    result->shared_count = sim->net.shared_count;
    for (uint16_t index = 0; index < result->shared_count; index++) {
        const struct net_shared *shared = &sim->net.shared[index];
        const struct netem_counters *counters = &shared->link.counters;
        result->shared[index] =
            (struct result_shared){.packets = counters->packets,
                                   .queue_drops = counters->queue_drops,
                                   .down_drops = counters->down_drops,
                                   .carried_bytes = shared->carried_bytes + counters->background_bytes};
    }
}

/* What the receiver's downlink left in the estimate's own window, where somebody has watched it, and it is the tight hop;
 * packets need the link's delay to come there. */
static void look_at_window(struct sim *sim, struct result_probe *probe)
{
    const struct estimate *estimate = &probe->view.estimate;
    const struct sim_clock *clock = &sim->hosts[probe->from].clock;
    const struct netem_truth *truth = net_truth(&sim->net, probe->to, sim->now_ns);
    uint64_t delay_ns = net_pair(&sim->net, probe->from, probe->to)->link.config.delay_ns;
    uint64_t from_ns = clock_virtual(clock, estimate->from_ns) + delay_ns;
    uint64_t until_ns = clock_virtual(clock, estimate->until_ns) + delay_ns;
    bool tight = probe->tight_bps == sim->net.ports[probe->to].downlink.config.rate_bps;
    if (truth == NULL || !tight || until_ns <= from_ns || !netem_truth_covers(truth, from_ns))
        return;
    uint64_t cross_bps =
        muldiv64(netem_truth_cross_bits(truth, from_ns, until_ns), NS_PER_S, until_ns - from_ns);
    probe->truth_bps = probe->tight_bps - MIN(cross_bps, probe->tight_bps);
    probe->watched = true;
}

/* Of a pair whose path was measured. */
static void gather_probe(struct sim *sim, uint16_t from, uint16_t to, struct sim_result *result)
{
    const struct sim_host *host = &sim->hosts[from];
    struct result_probe *probe = &result->probes[result->probe_count];
    uint32_t index = to < from ? to : to - 1u; /* a node's peers are the others, in order */
    if (host->node == NULL || !node_probe_view(host->node, index, &probe->view) || probe->view.known_ns == 0)
        return;
    probe->from = from;
    probe->to = to;
    probe->known_ns = clock_virtual(&host->clock, probe->view.known_ns);
    probe->truth_bps =
        truth_tight_bps(sim->scenario, &sim->net, from, to, probe->known_ns, &probe->tight_bps);
    look_at_window(sim, probe);
    result->probe_count++;
}

void gather(struct sim *sim, struct sim_result *result)
{
    const struct scenario *scenario = sim->scenario;
    uint16_t count = scenario->node_count;
    *result = (struct sim_result){.seed = sim->options.seed,
                                  .end_ns = sim->now_ns,
                                  .limit_reached = sim->stop_ns == TIME_NEVER && scenario->job_count != 0,
                                  .events = sim->counters.events,
                                  .memory_bytes = sim->net.pool.allocated_bytes,
                                  .job_count = scenario->job_count,
                                  .fault_count = scenario->fault_count};
    name_copy(result->name, sizeof(result->name), scenario->name);
    result->jobs = calloc(MAX(scenario->job_count, 1u), sizeof(*result->jobs));
    result->edges = calloc((size_t)count * count, sizeof(*result->edges));
    result->probes = calloc((size_t)count * count, sizeof(*result->probes));
    CHECK(result->jobs != NULL && result->edges != NULL && result->probes != NULL);
    gather_jobs(sim, result);
    alive_gather(sim, result);
    for (uint16_t from = 0; from < count; from++)
        for (uint16_t to = 0; to < count; to++)
            if (from != to)
                gather_edge(sim, from, to, result);
    for (uint16_t from = 0; from < count; from++)
        for (uint16_t to = 0; to < count; to++)
            if (from != to)
                gather_probe(sim, from, to, result);
    const struct scenario_all *all = &scenario->probe.all[0];
    if (scenario->probe.all_count != 0 && sim->hosts[all->by].node != NULL)
        node_all_view(sim->hosts[all->by].node, &result->all);
    gather_flows(sim, result);
    gather_backgrounds(sim, result);
    gather_shared(sim, result);
    for (uint16_t fault = 0; fault < scenario->fault_count; fault++)
        result->faults[fault] = (struct result_fault){
            scenario->faults[fault].kind, scenario->faults[fault].at_ns, sim->fault_applied[fault]};
    gather_nodes(sim, result);
    gather_counters(sim, result);
}
