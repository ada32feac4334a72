#include "app/sim/random_hosts.h"

#include <inttypes.h>

#include "app/sim/uniform.h"
#include "base/check.h"
#include "base/report.h"
#include "base/units.h"

#define LINE_BYTES    4096
#define PAYLOAD_BYTES 1400 /* of a full packet */
#define FROM_S        2
#define TO_S          22
#define EVERY_MOST    100

/* ---- drawing ---- */

static struct random_host draw_host(struct rng *rng)
{
    struct random_host host;
    host.ring_packets = (uint32_t)uniform_log(rng, 128, 4096);
    host.turn_ns = (uint64_t)uniform_log(rng, 2e4, 1e6);
    host.for_ns = (uint64_t)uniform_log(rng, 1e6, 5e7);
    host.every_ns = (uint64_t)((double)host.for_ns * uniform_log(rng, 10, EVERY_MOST));
    return host;
}

static uint64_t formula_of(const struct random_hosts *draw)
{
    const struct random_host *sender = &draw->sender, *receiver = &draw->receiver;
    uint64_t ring_ns = transmit_ns((uint64_t)receiver->ring_packets * FULL_PACKET_WIRE_BYTES, draw->rate_bps);
    uint64_t lost_ns = elapsed_ns(receiver->for_ns, ring_ns);
    uint64_t bps = muldiv64(draw->payload_bps, sender->every_ns - sender->for_ns, sender->every_ns);
    bps = muldiv64(bps, receiver->every_ns - lost_ns, receiver->every_ns);
    uint64_t turns_bps =
        muldiv64((uint64_t)receiver->ring_packets * PAYLOAD_BYTES * 8, NS_PER_S, receiver->turn_ns);
    return MIN(bps, turns_bps);
}

struct random_hosts random_hosts_make(uint64_t seed, uint32_t index)
{
    struct random_hosts draw = {.seed = seed, .index = index};
    struct rng rng;
    rng_init(&rng, seed * 1000003 + index);
    draw.rate_bps = rng_next(&rng) >> 63 ? 10 * NS_PER_S : NS_PER_S;
    draw.rtt_ns = (uint64_t)uniform_log(&rng, 2e4, 1e6) & ~1ULL;
    draw.sender = draw_host(&rng);
    draw.receiver = draw_host(&rng);
    draw.payload_bps = muldiv64(draw.rate_bps, PAYLOAD_BYTES, FULL_PACKET_WIRE_BYTES);
    draw.formula_bps = formula_of(&draw);
    return draw;
}

static int node_yaml(const struct random_host *host, const char *name, char *text, size_t room)
{
    return snprintf(text, room,
                    "  %s: {ring: %" PRIu32 " packets, turn: %" PRIu64 "ns, stall: {every: %" PRIu64
                    "ns, for: %" PRIu64 "ns, spread: %" PRIu64 "ns}}\n",
                    name, host->ring_packets, host->turn_ns, host->every_ns, host->for_ns,
                    host->every_ns / 4);
}

void random_hosts_yaml(const struct random_hosts *draw, char text[RANDOM_YAML_BYTES])
{
    char source[RANDOM_YAML_BYTES / 4], sink[RANDOM_YAML_BYTES / 4];
    node_yaml(&draw->sender, "source", source, sizeof(source));
    node_yaml(&draw->receiver, "sink", sink, sizeof(sink));
    int length =
        snprintf(text, RANDOM_YAML_BYTES,
                 "name: hosts-%" PRIu64 "-%" PRIu32 "\n"
                 "seed: %" PRIu64 "\n"
                 "nodes:\n%s%s"
                 "node_defaults: {uplink: 10Gbps, downlink: 10Gbps, store: none, disk: {rate: 40Gbps}}\n"
                 "links: {default: {rate: %" PRIu64 "bps, owd: %" PRIu64 "ns, queue: 3ms}}\n"
                 "jobs: [{name: j, source: source, to: all, size: %" PRIu64 "B, sparse: true, hash: none}]\n"
                 "measure: {from: %ds, to: %ds}\n"
                 "limit: %ds\n",
                 draw->seed, draw->index, draw->seed * 1000 + draw->index, source, sink, draw->rate_bps,
                 draw->rtt_ns / 2, bytes_within(draw->rate_bps, (TO_S + 1) * NS_PER_S), FROM_S, TO_S, TO_S);
    CHECK(length > 0 && length < RANDOM_YAML_BYTES);
}

/* ---- what came of it ---- */

/* The edge that carries the job; NULL: it never sent. */
static const struct result_edge *edge_of(const struct sim_result *result)
{
    for (uint32_t index = 0; index < result->edge_count; index++)
        if (result->edges[index].from == 0 && result->edges[index].meter != NULL)
            return &result->edges[index];
    return NULL;
}

static uint64_t steady_bps(const struct sim_result *result)
{
    const struct result_edge *edge = edge_of(result);
    return edge == NULL ? 0 : edge->meter->window.new_bytes * 8 / (TO_S - FROM_S);
}

static uint64_t share_permille(const struct random_hosts *draw, const struct sim_result *result)
{
    return muldiv64(steady_bps(result), 1000, draw->formula_bps);
}

bool random_hosts_well(const struct random_hosts *draw, const struct sim_result *result)
{
    return share_permille(draw, result) >= RANDOM_HOSTS_SHARE_LEAST;
}

static void report_host(const struct random_host *host, const char *name, struct report *report)
{
    report_object(report, name);
    report_u64(report, "ring_packets", host->ring_packets);
    report_fixed(report, "turn_us", host->turn_ns, 3);
    report_fixed(report, "stall_ms", host->for_ns, 6);
    report_fixed(report, "every_ms", host->every_ns, 6);
    report_object_end(report);
}

static bool print_json(const struct random_hosts *draw, const struct sim_result *result, FILE *out)
{
    char text[LINE_BYTES], digest[17];
    struct report report;
    const struct result_edge *edge = edge_of(result);
    report_begin(&report, REPORT_JSON, text, sizeof(text));
    report_u64(&report, "seed", draw->seed);
    report_u64(&report, "draw", draw->index);
    report_u64(&report, "rate_bps", draw->rate_bps);
    report_fixed(&report, "rtt_ms", draw->rtt_ns, 6);
    report_host(&draw->sender, "sender", &report);
    report_host(&draw->receiver, "receiver", &report);
    report_u64(&report, "formula_bps", draw->formula_bps);
    report_u64(&report, "steady_bps", steady_bps(result));
    report_fixed(&report, "steady_share", share_permille(draw, result), 3);
    report_bool(&report, "ok", random_hosts_well(draw, result));
    if (edge != NULL) {
        report_u64(&report, "sent_packets", edge->meter->all.sent_packets);
        report_u64(&report, "lost_packets", edge->view.lost_packets);
        report_u64(&report, "ring_lost", edge->view.ring_lost);
        report_u64(&report, "missed_frames", edge->missed_frames);
        report_text(&report, "limited_by", edge->limited_by);
    }
    report_u64(&report, "events", result->events);
    report_fixed(&report, "wall_s", result->wall_ns, 9);
    snprintf(digest, sizeof(digest), "%016" PRIx64, result->digest);
    report_text(&report, "digest", digest);
    return report_end(&report) && fprintf(out, "%s\n", text) > 0;
}

static int print_host(const struct random_host *host, const char *name, FILE *out)
{
    return fprintf(out, "%s ring %4" PRIu32 " turn %4.0f us stall %4.1f of %6.0f ms, ", name,
                   host->ring_packets, (double)host->turn_ns / 1e3, (double)host->for_ns / 1e6,
                   (double)host->every_ns / 1e6);
}

static bool print_text(const struct random_hosts *draw, const struct sim_result *result, FILE *out)
{
    const struct result_edge *edge = edge_of(result);
    uint64_t share = share_permille(draw, result);
    fprintf(out, "draw %3" PRIu32 ": %2.0f Gbit/s, RTT %5.3f ms, ", draw->index, (double)draw->rate_bps / 1e9,
            (double)draw->rtt_ns / 1e6);
    print_host(&draw->sender, "sender", out);
    print_host(&draw->receiver, "receiver", out);
    return fprintf(
               out, "%6.0f of %6.0f Mbit/s: %" PRIu64 ".%03" PRIu64 ", ring lost %4.1f %%, %s  %s\n",
               (double)steady_bps(result) / 1e6, (double)draw->formula_bps / 1e6, share / 1000, share % 1000,
               edge == NULL ? 0.0 : 100.0 * (double)edge->view.ring_lost / (double)edge->view.sent_packets,
               edge == NULL ? "-" : edge->limited_by, random_hosts_well(draw, result) ? "ok" : "miss") > 0;
}

bool random_hosts_print(const struct random_hosts *draw, const struct sim_result *result, bool json,
                        FILE *out)
{
    bool printed = json ? print_json(draw, result, out) : print_text(draw, result, out);
    return printed && fflush(out) == 0;
}
