/* Shared links in the result. */
#include <string.h>

#include "base/units.h"
#include "sim/result.h"

static uint64_t carried_bps(const struct sim_result *result, const struct result_shared *shared)
{
    return result->end_ns == 0 ? 0 : muldiv64(shared->carried_bytes * 8, NS_PER_S, result->end_ns);
}

static uint64_t load_ppb(const struct sim_result *result, const struct result_shared *shared,
                         uint64_t rate_bps)
{
    return muldiv64(carried_bps(result, shared), NS_PER_S, rate_bps);
}

bool result_shared_value(const struct sim_result *result, const struct scenario *scenario, const char *name,
                         uint64_t *value)
{
    const char *drops = expect_after(name, EXPECT_SHARED_DROPS),
               *load = expect_after(name, EXPECT_SHARED_LOAD);
    const char *link = drops != NULL ? drops : load;
    if (link == NULL)
        return false;
    for (uint16_t index = 0; index < result->shared_count; index++) {
        const struct result_shared *shared = &result->shared[index];
        if (strcmp(scenario->shared[index].name, link) != 0)
            continue;
        *value = drops != NULL ? shared->queue_drops + shared->down_drops
                               : load_ppb(result, shared, scenario->shared[index].link.rate_bps);
        return true;
    }
    return false;
}

void result_shared_report(const struct sim_result *result, const struct scenario *scenario,
                          struct report *report)
{
    report_table(report, "shared");
    for (uint16_t index = 0; index < result->shared_count; index++) {
        const struct result_shared *shared = &result->shared[index];
        uint64_t rate_bps = scenario->shared[index].link.rate_bps;
        report_row(report);
        report_text(report, "name", scenario->shared[index].name);
        report_u64(report, "rate_bps", rate_bps);
        report_u64(report, "packets", shared->packets);
        report_u64(report, "queue_drops", shared->queue_drops);
        report_u64(report, "down_drops", shared->down_drops);
        report_u64(report, "wire_bps", carried_bps(result, shared));
        report_fixed(report, "load", load_ppb(result, shared, rate_bps), 9);
        report_row_end(report);
    }
    report_table_end(report);
}
