/* The part of an edge's row that comes from its meter. Virtual times count from the start of the run. */
#include <string.h>

#include "base/units.h"
#include "sim/result.h"

static void report_sums(const struct meter_sums *sums, struct report *report)
{
    report_u64(report, "sent_packets", sums->sent_packets);
    report_u64(report, "sent_wire_bytes", sums->sent_bytes);
    report_u64(report, "repairs", sums->repairs);
    report_u64(report, "lost", sums->lost);
    report_u64(report, "dropped", sums->dropped);
    report_u64(report, "duplicates", sums->duplicates);
    report_u64(report, "delivered_wire_bytes", sums->delivered_bytes);
    report_u64(report, "new_bytes", sums->new_bytes);
}

static void report_quarters(const struct meter *meter, struct report *report)
{
    uint64_t bytes[METER_QUARTERS], sent[METER_QUARTERS], dropped[METER_QUARTERS];
    uint32_t count = 0;
    for (uint32_t index = 0; index < METER_QUARTERS; index++) {
        bytes[index] = meter->quarters[index].new_bytes;
        sent[index] = meter->quarters[index].sent_packets;
        dropped[index] = meter->quarters[index].dropped_packets;
        if (bytes[index] + sent[index] + dropped[index] != 0)
            count = index + 1;
    }
    report_numbers(report, "quarter_rtt_new_bytes", bytes, count);
    report_numbers(report, "quarter_rtt_sent_packets", sent, count);
    report_numbers(report, "quarter_rtt_dropped_packets", dropped, count);
}

enum series { SERIES_SENT_BPS, SERIES_DROPPED_BPS, SERIES_DELIVERED_BPS, SERIES_QUEUE_US };

static void report_series(const struct meter *meter, uint64_t step_ns, enum series series, const char *name,
                          struct report *report)
{
    static uint64_t values[METER_STEPS_MAX];
    for (uint32_t index = 0; index < meter->step_count; index++) {
        const struct meter_step *step = &meter->steps[index];
        switch (series) {
        case SERIES_SENT_BPS:
            values[index] = muldiv64(step->sent_bytes * 8, NS_PER_S, step_ns);
            break;
        case SERIES_DROPPED_BPS:
            values[index] = muldiv64(step->dropped_bytes * 8, NS_PER_S, step_ns);
            break;
        case SERIES_DELIVERED_BPS:
            values[index] = muldiv64(step->delivered_bytes * 8, NS_PER_S, step_ns);
            break;
        case SERIES_QUEUE_US:
            values[index] = step->wait_ns_max / NS_PER_US;
            break;
        }
    }
    report_numbers(report, name, values, meter->step_count);
}

void result_meter_report(const struct result_edge *edge, const struct scenario_measure *measure,
                         struct report *report)
{
    const struct meter *meter = edge->meter;
    uint64_t tail_ns = elapsed_ns(edge->complete_ns, meter->last_new_ns);
    report_fixed(report, "queue_ms_p50", wait_percentile(&meter->waits, 50), 6);
    report_fixed(report, "queue_ms_p99", wait_percentile(&meter->waits, 99), 6);
    report_fixed(report, "base_rtt_ms", meter->rtt_ns, 6);
    report_fixed(report, "first_data_s", meter->first_ns, 9);
    report_fixed(report, "last_new_s", meter->last_new_ns, 9);
    report_fixed(report, "complete_s", edge->complete_ns, 9);
    report_fixed(report, "tail_s", tail_ns, 9);
    report_fixed(report, "tail_rtts", meter->rtt_ns == 0 ? 0 : muldiv64(tail_ns, 1000, meter->rtt_ns), 3);
    report_fixed(report, "steady_s", meter_steady_ns(meter), 9);
    report_u64(report, "steady_bps", meter_steady_bps(meter));
    report_u64(report, "feedback_wire_bytes", edge->feedback_wire_bytes);
    report_object(report, "data");
    report_sums(&meter->all, report);
    report_object_end(report);
    report_object(report, "window");
    report_fixed(report, "from_s", measure->from_ns, 9);
    report_fixed(report, "to_s", measure->to_ns, 9);
    report_sums(&meter->window, report);
    report_object_end(report);
    report_quarters(meter, report);
    if (measure->step_ns == 0)
        return;
    report_fixed(report, "series_s", measure->step_ns, 9);
    report_series(meter, measure->step_ns, SERIES_SENT_BPS, "series_sent_bps", report);
    report_series(meter, measure->step_ns, SERIES_DROPPED_BPS, "series_dropped_bps", report);
    report_series(meter, measure->step_ns, SERIES_DELIVERED_BPS, "series_bps", report);
    report_series(meter, measure->step_ns, SERIES_QUEUE_US, "series_queue_us", report);
}

/* ---- expectations ---- */

static uint64_t share_ppb(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : muldiv64(part, NS_PER_S, whole);
}

/* Which value is the worse one. */
enum meter_worst { WORST_LEAST, WORST_MOST };

static bool edge_value(const struct result_edge *edge, const char *name, uint64_t *value,
                       enum meter_worst *worst)
{
    const struct meter *meter = edge->meter;
#define VALUE(name, kind, value, help)
#define METER(row, kind, which, found, help)                                                                 \
    if (strcmp(name, #row) == 0) {                                                                           \
        *value = found;                                                                                      \
        *worst = WORST_##which;                                                                              \
        return true;                                                                                         \
    }
#include "sim/expects.def"
#undef METER
#undef VALUE
    return false;
}

bool result_meter_value(const struct sim_result *result, const char *name, uint64_t *value)
{
    bool found = false;
    for (uint32_t index = 0; index < result->edge_count; index++) {
        uint64_t next;
        enum meter_worst worst;
        if (result->edges[index].meter == NULL || !edge_value(&result->edges[index], name, &next, &worst))
            continue;
        bool worse = !found || (worst == WORST_LEAST ? next < *value : next > *value);
        *value = worse ? next : *value;
        found = true;
    }
    return found;
}
