#include "app/sim/random.h"

#include <inttypes.h>

#include "app/sim/uniform.h"
#include "base/check.h"
#include "base/report.h"
#include "base/units.h"

#define LINE_BYTES        4096
#define QUEUE_PACKETS_MIN 10
#define PAYLOAD_BYTES     1400 /* of a full packet, about: only the length of a run comes of it */
#define START_RTTS        12   /* what comes before the steady time */
#define STEADY_RTTS       25
#define STEADY_NS         (5 * NS_PER_S)
#define LIMIT_TIMES       20 /* a run may take so many times what it should */
#define BUFFER_MIN        (64ULL << 20)
#define BUFFER_MAX        (16ULL << 30)

/* ---- drawing ---- */

/* The values of a draw come from one generator in a fixed order, each taken whether it is needed or not. */
static uint64_t size_of(const struct random_draw *draw)
{
    uint64_t steady_ns = MAX(STEADY_NS, STEADY_RTTS * draw->rtt_ns);
    uint64_t duration_ns = steady_ns + (START_RTTS + 1) * draw->rtt_ns;
    uint64_t bytes = bytes_within(draw->payload_bps, duration_ns);
    return bytes + bytes / 50; /* headers may be shorter than payload_bps takes them to be */
}

struct random_draw random_draw_make(uint64_t seed, uint32_t index)
{
    struct random_draw draw = {.seed = seed, .index = index};
    struct rng rng;
    rng_init(&rng, seed * 1000003 + index);
    draw.rate_bps = (uint64_t)uniform_log(&rng, 5e6, 1e10);
    draw.rtt_ns = (uint64_t)uniform_log(&rng, 2e5, 1.2e9) & ~1ULL;
    draw.queue_bdp = uniform_log(&rng, 0.05, 4);
    draw.queue_ns = (uint64_t)(draw.queue_bdp * (double)draw.rtt_ns);
    bool lossy = rng_next(&rng) >> 63;
    double loss = uniform_log(&rng, 1e-4, 0.35);
    draw.loss_ppb = lossy ? (uint64_t)(loss * 1e9) : 0;
    bool jittery = rng_next(&rng) >> 63;
    uint64_t jitter_ns = rng_below(&rng, draw.rtt_ns / 2 + 1);
    draw.jitter_ns = jittery ? jitter_ns : 0;
    draw.reorder = jittery && rng_next(&rng) >> 63;
    draw.payload_bps = muldiv64(muldiv64(draw.rate_bps, 1000000000 - draw.loss_ppb, 1000000000),
                                PAYLOAD_BYTES, FULL_PACKET_WIRE_BYTES);
    draw.size_bytes = size_of(&draw);
    uint64_t usual_ns = muldiv64(draw.size_bytes * 8, NS_PER_S, draw.payload_bps);
    draw.limit_ns = (LIMIT_TIMES * usual_ns / NS_PER_S + 60) * NS_PER_S;
    return draw;
}

/* What six of the longest round trips and a second bring: a block waits in memory for repairs of repairs. */
static uint64_t buffer_of(const struct random_draw *draw)
{
    uint64_t longest_ns = draw->rtt_ns + 2 * (draw->queue_ns + draw->jitter_ns);
    uint64_t bytes = bytes_within(draw->rate_bps, 6 * longest_ns + NS_PER_S);
    return MIN(MAX(bytes, BUFFER_MIN), BUFFER_MAX);
}

void random_draw_yaml(const struct random_draw *draw, char text[RANDOM_YAML_BYTES])
{
    int length = snprintf(
        text, RANDOM_YAML_BYTES,
        "name: random-%" PRIu64 "-%" PRIu32 "\n"
        "seed: %" PRIu64 "\n"
        "nodes: [source, sink]\n"
        "node_defaults: {uplink: 10Gbps, downlink: 10Gbps, queue: 10ms, store: none, buffer: %" PRIu64
        "B, disk: {rate: 40Gbps}}\n"
        "links:\n"
        "  default: {rate: %" PRIu64 "bps, owd: %" PRIu64 "ns, queue: %" PRIu64 "ns, queue_min: %d, "
        "loss: %" PRIu64 "ppb, jitter: %" PRIu64 "ns, reorder: %s}\n"
        "jobs:\n"
        "  - {name: j, source: source, to: all, size: %" PRIu64
        "B, sparse: true, hash: none, plan: {metric: rtt, start: unknown}}\n"
        "limit: %" PRIu64 "ns\n"
        "expect: {completed: true}\n",
        draw->seed, draw->index, draw->seed * 1000 + draw->index, buffer_of(draw), draw->rate_bps,
        draw->rtt_ns / 2, draw->queue_ns, QUEUE_PACKETS_MIN, draw->loss_ppb, draw->jitter_ns,
        draw->reorder ? "true" : "false", draw->size_bytes, draw->limit_ns);
    CHECK(length > 0 && length < RANDOM_YAML_BYTES);
}

/* ---- what came of it ---- */

static void report_draw(const struct random_draw *draw, struct report *report)
{
    report_u64(report, "seed", draw->seed);
    report_u64(report, "draw", draw->index);
    report_u64(report, "rate_bps", draw->rate_bps);
    report_fixed(report, "rtt_ms", draw->rtt_ns, 6);
    report_fixed(report, "queue_bdp", (uint64_t)(draw->queue_bdp * 1000), 3);
    report_fixed(report, "queue_ms", draw->queue_ns, 6);
    report_fixed(report, "loss_percent", draw->loss_ppb, 7);
    report_fixed(report, "jitter_ms", draw->jitter_ns, 6);
    report_bool(report, "reorder", draw->reorder);
    report_u64(report, "size_bytes", draw->size_bytes);
    report_u64(report, "payload_bps", draw->payload_bps);
}

static void report_edge(const struct random_draw *draw, const struct result_edge *edge, struct report *report)
{
    const struct meter *meter = edge->meter;
    uint64_t steady_bps = meter_steady_bps(meter);
    report_fixed(report, "steady_s", meter_steady_ns(meter), 9);
    report_u64(report, "steady_bps", steady_bps);
    report_fixed(report, "steady_share", muldiv64(steady_bps, 1000, draw->payload_bps), 3);
    report_fixed(report, "tail_rtts",
                 muldiv64(elapsed_ns(edge->complete_ns, meter->last_new_ns), 1000, draw->rtt_ns), 3);
    report_u64(report, "sent_packets", meter->all.sent_packets);
    report_u64(report, "repairs", meter->all.repairs);
    report_u64(report, "lost", meter->all.lost);
    report_u64(report, "dropped", meter->all.dropped);
    report_fixed(report, "queue_ms_p50", wait_percentile(&meter->waits, 50), 6);
    report_fixed(report, "queue_ms_p99", wait_percentile(&meter->waits, 99), 6);
    report_u64(report, "sent_wire_bytes", meter->all.sent_bytes);
    report_u64(report, "feedback_wire_bytes", edge->feedback_wire_bytes);
    report_text(report, "limited_by", edge->limited_by);
}

/* The edge that carries the job; NULL: it never sent. */
static const struct result_edge *edge_of(const struct sim_result *result)
{
    for (uint32_t index = 0; index < result->edge_count; index++)
        if (result->edges[index].from == 0 && result->edges[index].meter != NULL)
            return &result->edges[index];
    return NULL;
}

static uint64_t share_permille(const struct random_draw *draw, const struct sim_result *result)
{
    const struct result_edge *edge = edge_of(result);
    return edge != NULL ? muldiv64(meter_steady_bps(edge->meter), 1000, draw->payload_bps) : 0;
}

bool random_draw_well(const struct random_draw *draw, const struct sim_result *result)
{
    return result->completed && share_permille(draw, result) >= RANDOM_SHARE_LEAST;
}

static bool print_json(const struct random_draw *draw, const struct sim_result *result, FILE *out)
{
    char text[LINE_BYTES], digest[17];
    struct report report;
    const struct result_edge *edge = edge_of(result);
    report_begin(&report, REPORT_JSON, text, sizeof(text));
    report_draw(draw, &report);
    report_bool(&report, "completed", result->completed);
    report_bool(&report, "limit_reached", result->limit_reached);
    report_bool(&report, "ok", random_draw_well(draw, result));
    report_fixed(&report, "time_s", result->time_ns, 9);
    report_fixed(&report, "stuck_ms", result->breaches[BREACH_STUCK].ns, 6);
    report_fixed(&report, "late_ms", result->breaches[BREACH_LATE].ns, 6);
    report_fixed(&report, "deep_ms", result->breaches[BREACH_DEEP].ns, 6);
    if (edge != NULL)
        report_edge(draw, edge, &report);
    report_text(&report, "text", result->job_count > 0 ? result->jobs[0].text : "");
    report_u64(&report, "events", result->events);
    report_fixed(&report, "wall_s", result->wall_ns, 9);
    snprintf(digest, sizeof(digest), "%016" PRIx64, result->digest);
    report_text(&report, "digest", digest);
    return report_end(&report) && fprintf(out, "%s\n", text) > 0;
}

static bool print_text(const struct random_draw *draw, const struct sim_result *result, FILE *out)
{
    const char *ending = random_draw_well(draw, result) ? "ok" : "miss";
    if (!result->completed)
        ending = result->limit_reached ? "miss, does not end" : "miss, failed";
    uint64_t share = share_permille(draw, result);
    return fprintf(out,
                   "draw %3" PRIu32 ": %8.1f Mbit/s, RTT %8.3f ms, buffer %5.3f BDP, loss %6.3f %%, jitter "
                   "%7.3f ms%-11s steady %" PRIu64 ".%03" PRIu64 " L  %s\n",
                   draw->index, (double)draw->rate_bps / 1e6, (double)draw->rtt_ns / 1e6, draw->queue_bdp,
                   (double)draw->loss_ppb / 1e7, (double)draw->jitter_ns / 1e6,
                   draw->reorder ? " reordering" : "", share / 1000, share % 1000, ending) > 0;
}

bool random_draw_print(const struct random_draw *draw, const struct sim_result *result, bool json, FILE *out)
{
    bool printed = json ? print_json(draw, result, out) : print_text(draw, result, out);
    return printed && fflush(out) == 0;
}

/* ---- all of them ---- */

void random_tally_add(struct random_tally *tally, bool well, bool unended, bool stuck)
{
    tally->draws++;
    tally->well += well;
    tally->unended += unended;
    tally->stuck += stuck;
}

bool random_tally_well(const struct random_tally *tally)
{
    return tally->unended == 0 && tally->stuck == 0 &&
           (uint64_t)tally->well * 1000 >= (uint64_t)tally->draws * tally->well_least;
}

bool random_tally_print(const struct random_tally *tally, bool json, FILE *out)
{
    char text[LINE_BYTES];
    struct report report;
    if (!json)
        return fprintf(out,
                       "%" PRIu32 " of %" PRIu32
                       " draws reach %.3f of what they can, %.1f %% (asked: %.1f %%), %" PRIu32
                       " do not end, %" PRIu32 " stood still: %s\n",
                       tally->well, tally->draws, tally->share_least / 1e3,
                       tally->draws > 0 ? 100.0 * tally->well / tally->draws : 0.0, tally->well_least / 10.0,
                       tally->unended, tally->stuck, random_tally_well(tally) ? "ok" : "miss") > 0;
    report_begin(&report, REPORT_JSON, text, sizeof(text));
    report_u64(&report, "draws", tally->draws);
    report_u64(&report, "draws_ok", tally->well);
    report_u64(&report, "draws_unended", tally->unended);
    report_u64(&report, "draws_stuck", tally->stuck);
    report_bool(&report, "ok", random_tally_well(tally));
    return report_end(&report) && fprintf(out, "%s\n", text) > 0;
}
