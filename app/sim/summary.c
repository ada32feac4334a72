#include "app/sim/summary.h"

#include <inttypes.h>
#include "base/units.h"
#include "plan/words.h"

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static double megabits(uint64_t bps)
{
    return (double)bps / 1e6;
}

static void print_receiver(const struct result_receiver *receiver, const struct scenario *scenario,
                           uint64_t size_bytes, FILE *out)
{
    const char *name = scenario->nodes[receiver->node].name;
    if (!receiver->done) {
        fprintf(out, "  %-14s %" PRIu64 " of %" PRIu64 " bytes  %s\n", name, receiver->bytes, size_bytes,
                receiver->text);
        return;
    }
    uint64_t rate_bps =
        receiver->complete_ns != 0 ? muldiv64(size_bytes * 8, NS_PER_S, receiver->complete_ns) : 0;
    fprintf(out, "  %-14s %10.3f s  %9.1f Mbit/s  %s\n", name, seconds(receiver->complete_ns),
            megabits(rate_bps), receiver->verified ? "verified" : "NOT AS THE SOURCE");
}

static void print_job(const struct result_job *job, const struct scenario_job *scenario_job,
                      const struct scenario *scenario, FILE *out)
{
    static char text[PLAN_DRAWING_BYTES_MAX];
    fprintf(out, "job %s: %s, %" PRIu64 " bytes from %s", scenario_job->spec.name, result_job_state(job),
            job->size_bytes, scenario_job->spec.source);
    if (job->time_ns != 0)
        fprintf(out, ", %.3f s, %.1f Mbit/s", seconds(job->time_ns), megabits(job->goodput_bps));
    fprintf(out, "%s%s\n", job->text[0] != '\0' ? ": " : "", job->text);
    if (job->plan.tree_count > 0 && plan_draw_trees(&job->plan, &job->request, text, sizeof(text)))
        fprintf(out, "plan of %.1f Mbit/s (bound %.1f):\n%s\n", megabits(plan_common_bps(&job->plan)),
                megabits(job->plan.bound_bps), text);
    for (uint16_t receiver = 0; receiver < job->receiver_count; receiver++)
        print_receiver(&job->receivers[receiver], scenario, job->size_bytes, out);
}

static void print_edges(const struct sim_result *result, const struct scenario *scenario, FILE *out)
{
    fprintf(out, "%-12s %-12s %9s %10s %8s %8s %8s %8s %8s %8s  %s\n", "from", "to", "Mbit/s", "packets",
            "lost", "repairs", "spurious", "netem", "drops", "srtt ms", "limited by");
    for (uint32_t index = 0; index < result->edge_count; index++) {
        const struct result_edge *edge = &result->edges[index];
        fprintf(out,
                "%-12s %-12s %9.1f %10" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64
                " %8" PRIu64 " %8.2f  %s\n",
                scenario->nodes[edge->from].name, scenario->nodes[edge->to].name,
                megabits(edge->view.goodput_bps), edge->view.sent_packets, edge->view.lost_packets,
                edge->view.repairs, edge->view.spurious_repairs, edge->netem_lost, edge->queue_drops,
                (double)edge->view.rtt_smoothed_ns / 1e6, edge->limited_by);
    }
}

void summary_print(const struct sim_result *result, const struct scenario *scenario, FILE *out)
{
    for (uint16_t job = 0; job < result->job_count; job++)
        print_job(&result->jobs[job], &scenario->jobs[job], scenario, out);
    print_edges(result, scenario, out);
    fprintf(out,
            "%s, seed %" PRIu64 ": %s in %.3f s, goodput %.1f Mbit/s, digest %016" PRIx64 "\n"
            "%" PRIu64 " events in %.2f s (%.2f million/s), peak memory %" PRIu64 " MB\n",
            result->name, result->seed, result->completed ? "completed" : "NOT completed",
            seconds(result->time_ns), megabits(result->goodput_bps), result->digest, result->events,
            seconds(result->wall_ns),
            result->wall_ns != 0 ? (double)result->events * 1e3 / (double)result->wall_ns : 0.0,
            result->memory_peak_bytes >> 20);
}
