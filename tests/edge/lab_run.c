/* lab_run: edges over a shared bottleneck from a command line, for tuning and for looking; without arguments it is one
 * edge over 1 Gbit/s, 100 ms. --help prints the keys. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "lab.h"

static double rate_mbps = 1000, buffer_bdp = 1, buffer_ms = -1, time_s = 30, from_s = 5, to_s = 0,
              series_ms = 100;
static double rtt_to_ms = 0, stagger_s = 0;
static unsigned edges_n = 1;
static uint64_t seed = 1;
static double window_s = 0;
static uint32_t trace;
static struct lab_config config;
static struct lab_result result;

static const char usage[] =
    "lab_run KEY=VALUE... [edge KEY=VALUE...]...   keys behind `edge` belong to that edge, those before the "
    "first to all\n"
    "  the bottleneck: rate=1000 (Mbit/s) buffer=1.0 (BDP of rate and rtt) or buffer_ms=MS, policer=MBPS "
    "depth=KB,\n"
    "      step=S:MBPS (from then on; 0: down; repeated), ecn=MS (marks what waits longer) ecn_ramp=MS\n"
    "      ecn_field=0 (1: cleared, 2: all marked)\n"
    "  the run: time=30 (s) from=5 to=TIME (s: what is measured) series=100 (ms) seed=1 trace=N (state of "
    "the Nth edge)\n"
    "      window=S (loss, shares and queue of each such time)\n"
    "  several edges: edges=N stagger=S rtt_to=MS (spread over them)\n"
    "  an edge: type=bql rtt=100 (ms) jitter=0 (ms) order=0 (1: jitter keeps the order) loss=0 back=0 (%)\n"
    "      some=PERCENT:MS packet=1538 (bytes on the wire) start=0 stop=0 (s) known=0 cap=0 (Mbit/s) size=0 "
    "(MB)\n"
    "      skew=PPM (of the receiver's clock) ahead=S:MS (it jumps then) longer=S:MS (the way back, from "
    "then on)\n"
    "      hold=PACKETS:S (the application has no more until then) trickle=MS (but for one packet each)\n";

/* What follows the colon of a value; 0 where there is none. */
static double after_colon(const char *value)
{
    const char *colon = strchr(value, ':');
    return colon == NULL ? 0 : atof(colon + 1);
}

static bool set_edge(struct lab_edge *edge, const char *key, const char *value)
{
    double number = atof(value);
    if (strcmp(key, "type") == 0)
        edge->type = congestion_find(value);
    else if (strcmp(key, "rtt") == 0)
        edge->rtt_ns = (uint64_t)(number * 1e6);
    else if (strcmp(key, "jitter") == 0)
        edge->jitter_ns = (uint64_t)(number * 1e6);
    else if (strcmp(key, "order") == 0)
        edge->reorder = number == 0;
    else if (strcmp(key, "loss") == 0)
        edge->loss_ppb = (uint64_t)(number * 1e7);
    else if (strcmp(key, "back") == 0)
        edge->loss_back_ppb = (uint64_t)(number * 1e7);
    else if (strcmp(key, "start") == 0)
        edge->start_ns = (uint64_t)(number * 1e9);
    else if (strcmp(key, "stop") == 0)
        edge->stop_ns = (uint64_t)(number * 1e9);
    else if (strcmp(key, "known") == 0) {
        edge->known = number > 0;
        edge->initial_bps = number > 0 ? (uint64_t)(number * 1e6) : 10000000;
    } else if (strcmp(key, "cap") == 0)
        edge->cap_bps = (uint64_t)(number * 1e6);
    else if (strcmp(key, "size") == 0)
        edge->limit_bytes = (uint64_t)(number * 1e6);
    else if (strcmp(key, "hold") == 0) {
        edge->hold_packets = (uint64_t)number;
        edge->hold_until_ns = (uint64_t)(after_colon(value) * 1e9);
    } else if (strcmp(key, "trickle") == 0)
        edge->trickle_ns = (uint64_t)(number * 1e6);
    else if (strcmp(key, "packet") == 0)
        edge->packet_bytes = (uint32_t)number;
    else if (strcmp(key, "some") == 0) {
        edge->delay_some_ppb = (uint64_t)(number * 1e7);
        edge->delay_some_ns = (uint64_t)(after_colon(value) * 1e6);
    } else if (strcmp(key, "skew") == 0) {
        edge->skew_ppm = (int64_t)number;
    } else if (strcmp(key, "ahead") == 0) {
        edge->ahead_at_ns = (uint64_t)(number * 1e9);
        edge->ahead_ns = (int64_t)(after_colon(value) * 1e6);
    } else if (strcmp(key, "longer") == 0) {
        edge->longer_at_ns = (uint64_t)(number * 1e9);
        edge->longer_ns = (int64_t)(after_colon(value) * 1e6);
    } else
        return false;
    return edge->type != NULL;
}

static bool set_all(const char *key, const char *value)
{
    double number = atof(value);
    if (strcmp(key, "rate") == 0)
        rate_mbps = number;
    else if (strcmp(key, "buffer") == 0)
        buffer_bdp = number;
    else if (strcmp(key, "buffer_ms") == 0)
        buffer_ms = number;
    else if (strcmp(key, "time") == 0)
        time_s = number;
    else if (strcmp(key, "from") == 0)
        from_s = number;
    else if (strcmp(key, "to") == 0)
        to_s = number;
    else if (strcmp(key, "series") == 0)
        series_ms = number;
    else if (strcmp(key, "seed") == 0)
        seed = (uint64_t)number;
    else if (strcmp(key, "window") == 0)
        window_s = number;
    else if (strcmp(key, "trace") == 0)
        trace = number > 0 ? (uint32_t)number : 0;
    else if (strcmp(key, "edges") == 0)
        edges_n = (unsigned)number;
    else if (strcmp(key, "stagger") == 0)
        stagger_s = number;
    else if (strcmp(key, "rtt_to") == 0)
        rtt_to_ms = number;
    else if (strcmp(key, "policer") == 0)
        config.bottleneck.policer_bps = (uint64_t)(number * 1e6);
    else if (strcmp(key, "ecn") == 0)
        config.bottleneck.ecn_ns = (uint64_t)(number * 1e6);
    else if (strcmp(key, "ecn_ramp") == 0)
        config.bottleneck.ecn_ramp_ns = (uint64_t)(number * 1e6);
    else if (strcmp(key, "ecn_field") == 0)
        config.bottleneck.ecn_field = (uint8_t)number;
    else if (strcmp(key, "depth") == 0)
        config.bottleneck.policer_depth_bytes = (uint64_t)(number * 1e3);
    else if (strcmp(key, "step") == 0 && config.step_count < LAB_STEPS_MAX) {
        double to = after_colon(value);
        config.steps[config.step_count++] = (struct lab_step){
            .at_ns = (uint64_t)(number * 1e9), .rate_bps = (uint64_t)(to * 1e6), .down = to == 0};
    } else
        return false;
    return true;
}

static void print_edge(uint32_t index, double seconds)
{
    const struct lab_edge_result *edge = &result.edges[index];
    double mbps = (double)edge->new_packets * config.edges[index].packet_bytes * 8 / seconds / 1e6;
    printf("edge %u: %8.2f Mbit/s = %.4f of rate/(1-loss %.2f%%) | sent %llu repairs %llu spurious %llu "
           "probes %llu | "
           "feedback %.3f%%",
           index, mbps, mbps / (rate_mbps * (1 - (double)config.edges[index].loss_ppb / 1e9)),
           (double)config.edges[index].loss_ppb / 1e7, (unsigned long long)edge->sent,
           (unsigned long long)edge->repairs, (unsigned long long)edge->spurious,
           (unsigned long long)edge->tail_probes,
           100.0 * (double)edge->feedback_bytes / (double)MAX(edge->data_bytes, 1ULL));
    if (edge->complete_ns > 0)
        printf(" | complete %.4f s", (double)edge->complete_ns / 1e9);
    printf("\n");
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* Jain's index and the shares' extremes of the edges that run all the while. */
static void print_window(uint32_t from, uint32_t to)
{
    double sum = 0, squares = 0, least = 1e18, most = 0;
    uint64_t offered = 0, drops = 0;
    uint32_t running = 0;
    static uint32_t queue_us[LAB_SERIES_MAX];
    for (uint32_t edge = 0; edge < config.edge_count; edge++) {
        double share = 0;
        if (config.edges[edge].start_ns > from * config.series_ns)
            continue;
        for (uint32_t grain = from; grain < to; grain++)
            share += result.edges[edge].series[grain];
        share *= config.edges[edge].packet_bytes * 8.0 / (double)((to - from) * config.series_ns) * 1e3;
        running++;
        sum += share;
        squares += share * share;
        least = share < least ? share : least;
        most = share > most ? share : most;
    }
    for (uint32_t grain = from; grain < to; grain++) {
        offered += result.offered_series[grain];
        drops += result.queue_drops_series[grain];
        queue_us[grain - from] = result.queue_series_us[grain];
    }
    qsort(queue_us, to - from, sizeof(*queue_us), compare_u32);
    printf(
        "%6.0f s: own loss %7.4f%% | Jain %.4f of %u | queue p50 %6.1f max %6.1f ms | total %.4f, least %.1f "
        "most %.1f Mbit/s\n",
        (double)(to * config.series_ns) / 1e9, 100.0 * (double)drops / (double)MAX(offered, 1ULL),
        running > 0 && squares > 0 ? sum * sum / (running * squares) : 0, running,
        (double)queue_us[(to - from) / 2] / 1e3, (double)queue_us[to - from - 1] / 1e3, sum / rate_mbps,
        least, most);
}

static void print_windows(void)
{
    uint32_t grains = (uint32_t)(window_s * 1e3 / series_ms);
    uint32_t all = (uint32_t)(config.end_ns / config.series_ns);
    for (uint32_t from = 0; grains > 0 && from + grains <= MIN(all, (uint32_t)LAB_SERIES_MAX); from += grains)
        print_window(from, from + grains);
}

static void prepare(void)
{
    double rtt_ms = (double)config.edges[0].rtt_ns / 1e6;
    config.bottleneck.rate_bps = (uint64_t)(rate_mbps * 1e6);
    double limit_ms = buffer_ms >= 0 ? buffer_ms : buffer_bdp * rtt_ms;
    double packets_ms = 4 * config.edges[0].packet_bytes * 8 / rate_mbps / 1e3;
    config.bottleneck.queue_unit = NETEM_QUEUE_BYTES;
    config.bottleneck.queue_limit =
        (uint64_t)((limit_ms > packets_ms ? limit_ms : packets_ms) * rate_mbps * 1e3 / 8);
    config.end_ns = (uint64_t)(time_s * 1e9);
    config.measure_from_ns = (uint64_t)(from_s * 1e9);
    config.measure_to_ns = to_s > 0 ? (uint64_t)(to_s * 1e9) : config.end_ns;
    config.series_ns = (uint64_t)(series_ms * 1e6);
    config.seed = seed;
    config.trace = trace;
}

/* False: what it says is not understood, or more than fits. */
static bool read_argument(const char *argument, struct lab_edge *all, struct lab_edge **edge)
{
    char key[32] = "";
    const char *value = strchr(argument, '=');
    if (strcmp(argument, "edge") == 0) {
        if (config.edge_count == LAB_EDGES_MAX)
            return false;
        *edge = &config.edges[config.edge_count++];
        **edge = *all;
        return true;
    }
    if (value == NULL || !isfinite(atof(value + 1)))
        return false;
    snprintf(key, sizeof(key), "%.*s", (int)(value - argument), argument);
    return (set_edge(*edge, key, value + 1) || set_all(key, value + 1)) && edges_n <= LAB_EDGES_MAX;
}

static void add_edges(const struct lab_edge *all)
{
    for (; config.edge_count < edges_n; config.edge_count++) {
        struct lab_edge *edge = &config.edges[config.edge_count];
        *edge = *all;
        edge->start_ns += (uint64_t)(stagger_s * 1e9) * config.edge_count;
        if (rtt_to_ms > 0)
            edge->rtt_ns += (uint64_t)((rtt_to_ms * 1e6 - (double)all->rtt_ns) * config.edge_count /
                                       (MAX(edges_n, 2U) - 1));
    }
}

int main(int argc, char **argv)
{
    struct lab_edge all = {.type = &congestion_bql_type,
                           .rtt_ns = 100 * NS_PER_MS,
                           .initial_bps = 10000000,
                           .reorder = true,
                           .packet_bytes = LAB_PACKET_BYTES};
    struct lab_edge *edge = &all;
    for (int arg = 1; arg < argc; arg++) {
        if (strcmp(argv[arg], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (!read_argument(argv[arg], &all, &edge)) {
            fprintf(stderr, "lab_run: %s: expected one of these:\n%s", argv[arg], usage);
            return 2;
        }
    }
    if (rate_mbps <= 0 || time_s <= 0 || series_ms <= 0) {
        fputs("lab_run: rate, time and series are expected to be more than 0\n", stderr);
        return 2;
    }
    add_edges(&all);
    prepare();
    lab_run(&config, &result);
    double seconds = (double)(config.measure_to_ns - config.measure_from_ns) / 1e9, sum = 0, squares = 0;
    for (uint32_t index = 0; index < config.edge_count; index++) {
        print_edge(index, seconds);
        double share = (double)result.edges[index].new_packets;
        sum += share;
        squares += share * share;
    }
    print_windows();
    printf("queue p50 %.1f p99 %.1f max %.1f ms | own loss %.4f%% (all %.4f%%) | Jain %.4f | total %.4f | "
           "%llu events\n",
           (double)result.queue_p50_ns / 1e6, (double)result.queue_p99_ns / 1e6,
           (double)result.queue_max_ns / 1e6,
           100.0 * (double)(result.queue_drops + result.policer_drops) / (double)MAX(result.offered, 1ULL),
           100.0 * (double)result.queue_drops_all / (double)MAX(result.offered_all, 1ULL),
           sum * sum / (config.edge_count * (squares > 0 ? squares : 1)),
           sum * config.edges[0].packet_bytes * 8 / seconds / 1e6 / rate_mbps,
           (unsigned long long)result.events);
    return 0;
}
