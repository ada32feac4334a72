/* lab: runs edges over a shared bottleneck from a command line, for tuning and for looking.
 *
 *   lab_run KEY=VALUE… [edge KEY=VALUE…]…     keys after "edge" belong to that edge, before the first to all
 *   rate=1000 (Mbit/s) buffer=1.0 (BDP of rate and rtt) or buffer_ms= , time=30 (s), from=5, to=, series=100
 * (ms), seed=1, trace=1, step=AT:RATE (s, Mbit/s; rate 0: down; repeated), policer=RATE (Mbit/s), depth=KB,
 * ecn=T (marks above so many ms) ecn_ramp=MS ecn_field=0 (1: cleared, 2: all marked) ;
 * per edge: type=bql rtt=100 (ms) jitter=0 (ms) order=1 (jitter keeps the order) loss=0 (%) back=0 (%)
 * packet=1538 (bytes on the wire) start=0 stop=0 (s) known=0 (Mbit/s) cap=0 some=P:MS size=0 (MB) edges=N
 * stagger=S rtt_to=MS (spread over the edges) skew=PPM (of the receiver's clock) ahead=S:MS (it jumps then)
 * longer=S:MS (the way back, from then on) */
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
static bool trace;
static struct lab_config config;
static struct lab_result result;

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
    else if (strcmp(key, "packet") == 0)
        edge->packet_bytes = (uint32_t)number;
    else if (strcmp(key, "some") == 0) {
        edge->delay_some_ppb = (uint64_t)(number * 1e7);
        edge->delay_some_ns = (uint64_t)(atof(strchr(value, ':') + 1) * 1e6);
    } else if (strcmp(key, "skew") == 0) {
        edge->skew_ppm = (int64_t)number;
    } else if (strcmp(key, "ahead") == 0) {
        edge->ahead_at_ns = (uint64_t)(number * 1e9);
        edge->ahead_ns = (uint64_t)(atof(strchr(value, ':') + 1) * 1e6);
    } else if (strcmp(key, "longer") == 0) {
        edge->longer_at_ns = (uint64_t)(number * 1e9);
        edge->longer_ns = (int64_t)(atof(strchr(value, ':') + 1) * 1e6);
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
    else if (strcmp(key, "trace") == 0)
        trace = number != 0;
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
    else if (strcmp(key, "step") == 0) {
        double to = atof(strchr(value, ':') + 1);
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

int main(int argc, char **argv)
{
    struct lab_edge all = {.type = &congestion_bql_type,
                           .rtt_ns = 100 * NS_PER_MS,
                           .initial_bps = 10000000,
                           .reorder = true,
                           .packet_bytes = LAB_PACKET_BYTES};
    struct lab_edge *edge = &all;
    for (int arg = 1; arg < argc; arg++) {
        char key[32] = "";
        const char *value = strchr(argv[arg], '=');
        if (strcmp(argv[arg], "edge") == 0) {
            config.edges[config.edge_count] = all;
            edge = &config.edges[config.edge_count++];
            continue;
        }
        if (value != NULL)
            snprintf(key, sizeof(key), "%.*s", (int)(value - argv[arg]), argv[arg]);
        if (value == NULL || (!set_edge(edge, key, value + 1) && !set_all(key, value + 1))) {
            fprintf(stderr, "lab_run: %s: expected KEY=VALUE\n", argv[arg]);
            return 2;
        }
    }
    for (; config.edge_count < edges_n; config.edge_count++) {
        edge = &config.edges[config.edge_count];
        *edge = all;
        edge->start_ns += (uint64_t)(stagger_s * 1e9) * config.edge_count;
        if (rtt_to_ms > 0)
            edge->rtt_ns +=
                (uint64_t)((rtt_to_ms * 1e6 - (double)all.rtt_ns) * config.edge_count / (edges_n - 1));
    }
    prepare();
    lab_run(&config, &result);
    double seconds = (double)(config.measure_to_ns - config.measure_from_ns) / 1e9, sum = 0, squares = 0;
    for (uint32_t index = 0; index < config.edge_count; index++) {
        print_edge(index, seconds);
        double share = (double)result.edges[index].new_packets;
        sum += share;
        squares += share * share;
    }
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
