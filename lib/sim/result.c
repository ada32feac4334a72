#include "sim/result.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"

void result_free(struct sim_result *result)
{
    for (uint32_t edge = 0; edge < result->edge_count; edge++)
        meter_delete(result->edges[edge].meter);
    for (uint32_t flow = 0; flow < result->flow_count; flow++)
        free(result->flows[flow].seconds);
    free(result->flows);
    free(result->jobs);
    free(result->edges);
    free(result->probes);
    result->flows = NULL;
    result->jobs = NULL;
    result->edges = NULL;
    result->probes = NULL;
}

const char *result_job_state(const struct result_job *job)
{
    if (job->lost)
        return "lost";
    return job->started ? job_state_name(job->state) : "refused";
}

const char *result_fault_name(unsigned kind)
{
    switch ((enum scenario_fault_kind)kind) {
    case FAULT_KILL:
        return "kill";
    case FAULT_RESTART:
        return "restart";
    case FAULT_LINK_SET:
        return "link_set";
    case FAULT_LINK_DOWN:
        return "link_down";
    case FAULT_PLANNER_KILL:
        return "planner_kill";
    case FAULT_CANCEL:
        return "cancel";
    case FAULT_SOURCE_CHANGED:
        return "source_changed";
    case FAULT_DISK_FULL:
        return "disk_full";
    case FAULT_JOB_SET:
        return "job_set";
    case FAULT_CLOCK:
        return "clock";
    }
    return "unknown";
}

uint64_t result_repairs(const struct sim_result *result)
{
    uint64_t sum = 0;
    for (uint32_t edge = 0; edge < result->edge_count; edge++)
        sum += result->edges[edge].view.repairs;
    return sum;
}

uint64_t result_sent_packets(const struct sim_result *result)
{
    uint64_t sum = 0;
    for (uint32_t edge = 0; edge < result->edge_count; edge++)
        sum += result->edges[edge].view.sent_packets;
    return sum;
}

uint64_t result_netem_lost(const struct sim_result *result)
{
    uint64_t sum = 0;
    for (uint32_t edge = 0; edge < result->edge_count; edge++)
        sum += result->edges[edge].netem_lost;
    return sum;
}

uint64_t result_goodput_flow(const struct sim_result *result)
{
    uint64_t least_bps = UINT64_MAX;
    for (uint16_t job = 0; job < result->job_count; job++)
        for (uint16_t receiver = 0; receiver < result->jobs[job].receiver_count; receiver++) {
            uint64_t flow_ns = result->jobs[job].receivers[receiver].flow_ns;
            uint64_t bits = result->jobs[job].receivers[receiver].flow_bytes * 8;
            least_bps = MIN(least_bps, flow_ns == 0 ? 0 : muldiv64(bits, NS_PER_S, flow_ns));
        }
    return least_bps == UINT64_MAX ? 0 : least_bps;
}

bool result_complete_ns(const struct sim_result *result, const struct scenario *scenario, const char *node,
                        uint64_t *complete_ns)
{
    bool found = false;
    *complete_ns = 0;
    for (uint16_t job = 0; job < result->job_count; job++)
        for (uint16_t index = 0; index < result->jobs[job].receiver_count; index++) {
            const struct result_receiver *receiver = &result->jobs[job].receivers[index];
            if (strcmp(scenario->nodes[receiver->node].name, node) != 0)
                continue;
            found = true;
            *complete_ns = MAX(*complete_ns, receiver->verified ? receiver->complete_ns : UINT64_MAX);
        }
    return found;
}

uint64_t result_first_data_ns(const struct sim_result *result)
{
    uint64_t longest_ns = 0;
    for (uint16_t job = 0; job < result->job_count; job++) {
        uint64_t first_ns = result->jobs[job].first_data_ns;
        longest_ns = MAX(longest_ns, first_ns == 0 ? UINT64_MAX : first_ns);
    }
    return longest_ns;
}

uint64_t result_latency_ns(const struct sim_result *result, unsigned percent)
{
    uint64_t worst_ns = 0;
    for (uint16_t job = 0; job < result->job_count; job++)
        for (uint16_t index = 0; index < result->jobs[job].receiver_count; index++) {
            const struct result_receiver *receiver = &result->jobs[job].receivers[index];
            if (receiver->verified)
                worst_ns = MAX(worst_ns, percent == 50 ? receiver->latency_p50_ns : receiver->latency_p99_ns);
        }
    return worst_ns;
}

uint64_t result_verified(const struct sim_result *result)
{
    uint64_t sum = 0;
    for (uint16_t job = 0; job < result->job_count; job++)
        for (uint16_t receiver = 0; receiver < result->jobs[job].receiver_count; receiver++)
            sum += result->jobs[job].receivers[receiver].verified;
    return sum;
}

uint64_t result_cross_drops(const struct sim_result *result)
{
    const struct result_background *background = &result->background;
    return background->packets == 0 ? 0 : muldiv64(background->drops, NS_PER_S, background->packets);
}

uint64_t result_failed_jobs(const struct sim_result *result)
{
    uint64_t sum = 0;
    for (uint16_t job = 0; job < result->job_count; job++)
        sum += !result->jobs[job].started || result->jobs[job].lost || result->jobs[job].state == JOB_FAILED;
    return sum;
}

/* ---- report ---- */

static void report_hex(struct report *report, const char *name, uint64_t value)
{
    char text[17];
    snprintf(text, sizeof(text), "%016llx", (unsigned long long)value);
    report_text(report, name, text);
}

static void report_tree(const struct plan_tree *tree, const struct plan_request *request,
                        struct report *report)
{
    report_row(report);
    report_fixed(report, "weight", tree->weight_ppm, 6);
    report_table(report, "edges");
    for (uint16_t edge = 0; edge < tree->edge_count; edge++) {
        const char *ends[] = {request->nodes[tree->edges[edge].from].name,
                              request->nodes[tree->edges[edge].to].name};
        report_row_texts(report, ends, 2);
    }
    report_table_end(report);
    report_row_end(report);
}

static void report_line(const struct plan_request *request, uint16_t node, bool in, struct report *report)
{
    const struct plan_path *line = in ? &request->lines_in[node] : &request->paths[node][node];
    struct plan_known known = plan_path_known(request->avb_of, line);
    if (known.basis == PLAN_BASIS_ASSUMED)
        return;
    report_row(report);
    report_text(report, "node", request->nodes[node].name);
    report_text(report, "way", in ? "in" : "out");
    report_u64(report, "avb_bps", line->avb_kbps * UINT64_C(1000));
    report_bool(report, "measured", known.basis == PLAN_BASIS_MEASURED);
    report_bool(report, "at_least", plan_path_at_least(line));
    report_row_end(report);
}

/* What the plan rests on of sites' lines; those that were told or guessed are not measured. */
static void report_lines(const struct plan_request *request, struct report *report)
{
    report_table(report, "lines");
    for (uint16_t node = 0; node < request->node_count; node++) {
        report_line(request, node, false, report);
        report_line(request, node, true, report);
    }
    report_table_end(report);
}

static void report_plan(const struct result_job *job, struct report *report)
{
    report_object(report, "plan");
    report_u64(report, "rate_bps", job->plan.rate_bps);
    report_u64(report, "bound_bps", job->plan.bound_bps);
    report_table(report, "trees");
    for (uint16_t tree = 0; tree < job->plan.tree_count; tree++)
        report_tree(&job->plan.trees[tree], &job->request, report);
    report_table_end(report);
    report_lines(&job->request, report);
    report_object_end(report);
}

static void report_job(const struct result_job *job, const struct scenario_job *scenario_job,
                       const struct scenario *scenario, struct report *report)
{
    report_row(report);
    report_text(report, "name", scenario_job->spec.name);
    report_text(report, "source", scenario_job->spec.source);
    report_text(report, "state", result_job_state(job));
    report_text(report, "text", job->text);
    report_u64(report, "size_bytes", job->size_bytes);
    report_fixed(report, "start_s", job->start_ns, 9);
    report_fixed(report, "running_s", job->running_ns, 9);
    report_fixed(report, "first_data_s", job->first_data_ns, 9);
    report_fixed(report, "time_s", job->time_ns, 9);
    report_fixed(report, "ended_s", job->ended_ns, 9);
    report_u64(report, "goodput_bps", job->goodput_bps);
    report_table(report, "receivers");
    for (uint16_t index = 0; index < job->receiver_count; index++) {
        const struct result_receiver *receiver = &job->receivers[index];
        report_row(report);
        report_text(report, "node", scenario->nodes[receiver->node].name);
        report_fixed(report, "complete_s", receiver->complete_ns, 9);
        report_fixed(report, "known_s", receiver->known_ns, 9);
        report_u64(report, "bytes", receiver->bytes);
        report_bool(report, "verified", receiver->verified);
        report_text(report, "limited_from", receiver->limited_from);
        report_text(report, "limited_to", receiver->limited_to);
        report_text(report, "limited_by", edge_limit_name(receiver->limited_by));
        report_text(report, "held_by", receiver->held_by);
        report_text(report, "text", receiver->text);
        if (scenario_job->spec.object == PART_OBJECT_STREAM) {
            report_fixed(report, "latency_ms_p50", receiver->latency_p50_ns, 6);
            report_fixed(report, "latency_ms_p99", receiver->latency_p99_ns, 6);
        }
        report_row_end(report);
    }
    report_table_end(report);
    report_plan(job, report);
    report_row_end(report);
}

static void report_liveness(const struct liveness_sums *sums, struct report *report)
{
    report_fixed(report, "stuck_ms", sums->stuck_ns, 6);
    report_fixed(report, "late_ms", sums->late_ns, 6);
    report_fixed(report, "deep_ms", sums->deep_ns, 6);
}

static void report_edge(const struct result_edge *edge, const struct scenario *scenario,
                        struct report *report)
{
    report_row(report);
    report_text(report, "from", scenario->nodes[edge->from].name);
    report_text(report, "to", scenario->nodes[edge->to].name);
    report_u64(report, "goodput_bps", edge->view.goodput_bps);
    report_u64(report, "sent_packets", edge->view.sent_packets);
    report_u64(report, "lost_packets", edge->view.lost_packets);
    report_u64(report, "repairs", edge->view.repairs);
    report_u64(report, "spurious_repairs", edge->view.spurious_repairs);
    report_u64(report, "ring_lost", edge->view.ring_lost);
    report_u64(report, "peer_missed_frames", edge->view.peer_missed_frames);
    report_u64(report, "missed_frames", edge->missed_frames);
    report_u64(report, "netem_lost", edge->netem_lost);
    report_u64(report, "netem_lost_burst", edge->lost_burst);
    report_u64(report, "queue_drops", edge->queue_drops);
    report_u64(report, "policer_drops", edge->policer_drops);
    report_u64(report, "ecn_marked", edge->ecn_marked);
    report_u64(report, "reordered", edge->reordered);
    report_u64(report, "feedback_bytes", edge->feedback_bytes);
    report_u64(report, "marked_packets", edge->view.marked_packets);
    report_u64(report, "pauses", edge->view.pauses);
    report_fixed(report, "paused_ms", edge->view.paused_ns, 6);
    report_u64(report, "peer_pauses", edge->view.peer_pauses);
    report_u64(report, "clock_steps", edge->view.clock_steps);
    report_fixed(report, "srtt_ms", edge->view.rtt_smoothed_ns, 6);
    report_text(report, "limited_by", edge->limited_by);
    report_object(report, "limited_share");
    for (unsigned cause = EDGE_LIMIT_none + 1; cause < EDGE_LIMIT_COUNT; cause++)
        if (edge->view.limited_ppm[cause] != 0)
            report_fixed(report, edge_limit_name(cause), edge->view.limited_ppm[cause], 6);
    report_object_end(report);
    if (edge->meter != NULL)
        report_liveness(&edge->meter->liveness.sums, report);
    report_fixed(report, "told_stuck_ms", edge->view.stuck_ns, 6);
    report_fixed(report, "competitive_s", edge->view.path.competitive_ns, 9);
    if (edge->meter != NULL)
        result_meter_report(edge, &scenario->measure, report);
    report_row_end(report);
}

static void report_lists(const struct sim_result *result, const struct scenario *scenario,
                         struct report *report)
{
    report_table(report, "jobs");
    for (uint16_t job = 0; job < result->job_count; job++)
        report_job(&result->jobs[job], &scenario->jobs[job], scenario, report);
    report_table_end(report);
    report_table(report, "edges");
    for (uint32_t edge = 0; edge < result->edge_count; edge++)
        report_edge(&result->edges[edge], scenario, report);
    report_table_end(report);
    result_flow_report(result, scenario, report);
    report_object(report, "background");
    report_u64(report, "pairs", result->background.pairs);
    report_u64(report, "rate_bps", result->background.rate_bps);
    report_u64(report, "packets", result->background.packets);
    report_u64(report, "queue_drops", result->background.drops);
    report_object_end(report);
    result_shared_report(result, scenario, report);
    result_probe_report(result, scenario, report);
    report_table(report, "faults");
    for (uint16_t fault = 0; fault < result->fault_count; fault++) {
        report_row(report);
        report_fixed(report, "at_s", result->faults[fault].at_ns, 9);
        report_text(report, "kind", result_fault_name(result->faults[fault].kind));
        report_bool(report, "applied", result->faults[fault].applied);
        report_row_end(report);
    }
    report_table_end(report);
}

void result_report(const struct sim_result *result, const struct scenario *scenario, struct report *report)
{
    report_text(report, "name", result->name);
    report_u64(report, "seed", result->seed);
    report_bool(report, "completed", result->completed);
    report_bool(report, "limit_reached", result->limit_reached);
    report_fixed(report, "time_s", result->time_ns, 9);
    report_fixed(report, "end_s", result->end_ns, 9);
    report_u64(report, "goodput_bps", result->goodput_bps);
    report_u64(report, "goodput_flow_bps", result_goodput_flow(result));
    report_fixed(report, "stuck_ms", result->breaches[BREACH_STUCK].ns, 6);
    report_fixed(report, "late_ms", result->breaches[BREACH_LATE].ns, 6);
    report_fixed(report, "deep_ms", result->breaches[BREACH_DEEP].ns, 6);
    report_hex(report, "digest", result->digest);
    report_hex(report, "node_digest", result->node_digest);
    report_u64(report, "events", result->events);
    report_u64(report, "events_per_s",
               result->wall_ns != 0 ? muldiv64(result->events, NS_PER_S, result->wall_ns) : 0);
    report_fixed(report, "wall_s", result->wall_ns, 9);
    report_u64(report, "memory_peak_bytes", result->memory_peak_bytes);
    report_u64(report, "packet_memory_bytes", result->memory_bytes);
    report_lists(result, scenario, report);
    report_object(report, "counters");
    for (uint32_t counter = 0; counter < result->counter_count; counter++)
        report_u64(report, result->counters[counter].name, result->counters[counter].value);
    report_object_end(report);
}
