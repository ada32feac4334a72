/* Cross traffic in the result. */
#include <stdlib.h>

#include "base/check.h"
#include "base/units.h"
#include "sim/result.h"

static uint64_t rate_bps(const struct sim_result *result, const struct result_flow *flow, uint64_t from_s,
                         uint64_t to_s)
{
    uint64_t bytes = 0;
    for (uint64_t second = from_s; second < MIN(to_s, (uint64_t)result->flow_seconds); second++)
        bytes += flow->seconds[second];
    return bytes * 8 / (to_s - from_s);
}

static uint64_t life_bps(const struct sim_result *result, const struct result_flow *flow)
{
    uint64_t bytes = 0;
    uint64_t life_ns = elapsed_ns(MIN(flow->config->stop_ns, result->end_ns), flow->config->start_ns);
    for (uint32_t second = 0; second < result->flow_seconds; second++)
        bytes += flow->seconds[second];
    return life_ns == 0 ? 0 : muldiv64(bytes * 8, NS_PER_S, life_ns);
}

bool result_flow_rate(const struct sim_result *result, const char *name, uint64_t *bps)
{
    char *end;
    uint64_t number = strtoull(name, &end, 10);
    if (end == name || number >= result->flow_count)
        return false;
    const struct result_flow *flow = &result->flows[number];
    *bps = life_bps(result, flow);
    if (*end == '\0')
        return true;
    if (*end != '.')
        return false;
    uint64_t from_s = strtoull(end + 1, &end, 10);
    if (*end != '-')
        return false;
    uint64_t to_s = strtoull(end + 1, &end, 10);
    if (*end != '\0' || to_s <= from_s)
        return false;
    *bps = rate_bps(result, flow, from_s, to_s);
    return true;
}

static void report_flow(const struct sim_result *result, const struct result_flow *flow,
                        const struct scenario *scenario, struct report *report)
{
    static uint64_t series[CROSS_SECONDS_MAX];
    CHECK(result->flow_seconds <= CROSS_SECONDS_MAX);
    for (uint32_t second = 0; second < result->flow_seconds; second++)
        series[second] = flow->seconds[second] * 8;
    report_row(report);
    report_text(report, "from", scenario->nodes[flow->config->from].name);
    report_text(report, "to", scenario->nodes[flow->config->to].name);
    report_text(report, "kind", cross_kind_name(flow->config->kind));
    report_fixed(report, "start_s", flow->config->start_ns, 9);
    report_fixed(report, "stop_s", MIN(flow->config->stop_ns, result->end_ns), 9);
    report_u64(report, "goodput_bps", flow->goodput_bps);
    report_u64(report, "wire_bps", life_bps(result, flow));
    report_u64(report, "delivered_bytes", flow->total.delivered_bytes);
    report_u64(report, "delivered_packets", flow->total.delivered_packets);
    report_u64(report, "sent_packets", flow->total.sent_packets);
    report_u64(report, "sent_bytes", flow->total.sent_bytes);
    report_u64(report, "lost_packets", flow->total.lost_packets);
    report_u64(report, "repeated_packets", flow->total.repeated);
    report_u64(report, "loss_episodes", flow->loss_episodes);
    report_u64(report, "netem_lost", flow->netem_lost);
    report_u64(report, "queue_drops", flow->queue_drops);
    report_fixed(report, "queue_ms_p50", flow->wait_p50_ns, 6);
    report_fixed(report, "queue_ms_p99", flow->wait_p99_ns, 6);
    report_numbers(report, "second_wire_bps", series, result->flow_seconds);
    report_row_end(report);
}

void result_flow_report(const struct sim_result *result, const struct scenario *scenario,
                        struct report *report)
{
    report_table(report, "flows");
    for (uint32_t flow = 0; flow < result->flow_count; flow++)
        report_flow(result, &result->flows[flow], scenario, report);
    report_table_end(report);
}
