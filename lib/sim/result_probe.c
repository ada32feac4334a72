/* Estimates in the result. */
#include "base/units.h"
#include "sim/result.h"

static const struct result_probe *find(const struct sim_result *result, const struct scenario *scenario,
                                       const char *pair)
{
    uint16_t from, to;
    if (!scenario_pair(scenario, pair, &from, &to))
        return NULL;
    for (uint32_t index = 0; index < result->probe_count; index++)
        if (result->probes[index].from == from && result->probes[index].to == to)
            return &result->probes[index];
    return NULL;
}

/* Share of the tight hop's rate, in ppb; of a lower bound how far it is from the truth, too. */
static uint64_t error_ppb(const struct result_probe *probe)
{
    const struct estimate *estimate = &probe->view.estimate;
    if (!estimate_says(estimate) || probe->tight_bps == 0)
        return UINT64_MAX;
    uint64_t most_bps = MAX(estimate->avail_bps, probe->truth_bps);
    return muldiv64(most_bps - MIN(estimate->avail_bps, probe->truth_bps), NS_PER_S, probe->tight_bps);
}

bool result_probe_value(const struct sim_result *result, const struct scenario *scenario, const char *name,
                        uint64_t *value)
{
    const char *pair = expect_after(name, EXPECT_PROBE);
    if (pair == NULL)
        return false;
    const struct result_probe *probe = find(result, scenario, pair);
    *value = probe == NULL ? UINT64_MAX : error_ppb(probe);
    return true;
}

const char *result_probe_kind(const struct sim_result *result, const struct scenario *scenario,
                              const char *pair)
{
    const struct result_probe *probe = find(result, scenario, pair);
    return estimate_kind_word(probe == NULL ? ESTIMATE_NONE : probe->view.estimate.kind);
}

static void report_probe(const struct result_probe *probe, struct report *report)
{
    const struct estimate *estimate = &probe->view.estimate;
    report_text(report, "kind", estimate_kind_word(estimate->kind));
    report_text(report, "reason", estimate_reason_word(estimate->reason));
    report_u64(report, "avail_bps", estimate->avail_bps);
    report_u64(report, "low_bps", estimate->low_bps);
    report_u64(report, "high_bps", estimate->high_bps);
    report_u64(report, "capacity_bps", estimate->capacity_bps);
    report_u64(report, "flags", estimate->flags);
    report_u64(report, "trains", estimate->trains);
    report_u64(report, "discarded", estimate->discarded);
    report_u64(report, "bytes", estimate->bytes);
    report_fixed(report, "known_s", probe->known_ns, 9);
    report_u64(report, "measurements", probe->view.count);
    report_u64(report, "truth_bps", probe->truth_bps);
    report_u64(report, "tight_bps", probe->tight_bps);
    report_bool(report, "watched", probe->watched);
    if (error_ppb(probe) != UINT64_MAX)
        report_fixed(report, "error", error_ppb(probe), 9);
}

void result_probe_report(const struct sim_result *result, const struct scenario *scenario,
                         struct report *report)
{
    report_table(report, "probes");
    for (uint32_t index = 0; index < result->probe_count; index++) {
        report_row(report);
        report_text(report, "from", scenario->nodes[result->probes[index].from].name);
        report_text(report, "to", scenario->nodes[result->probes[index].to].name);
        report_probe(&result->probes[index], report);
        report_row_end(report);
    }
    report_table_end(report);
    if (result->all.pairs == 0)
        return;
    report_object(report, "all");
    report_u64(report, "pairs", result->all.pairs);
    report_u64(report, "known", result->all.known);
    report_u64(report, "refused", result->all.refused);
    report_u64(report, "asked", result->all.asked);
    report_u64(report, "trains", result->all.trains);
    report_u64(report, "sent_bytes", result->all.bytes);
    report_fixed(report, "took_s", result->all.took_ns / NS_PER_MS, 3);
    report_bool(report, "running", result->all.running);
    report_object_end(report);
}
