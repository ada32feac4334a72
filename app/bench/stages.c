#include "app/bench/stages.h"

#include "base/units.h"

#define STAGE_NAME(constant, name) name,
static const char *const names[] = {STAGES(STAGE_NAME)};
#undef STAGE_NAME

void stages_end(struct stages *stages, bool kept)
{
    if (!stages->on)
        return;
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        stages->total[stage] += kept ? stages->turn[stage] : 0;
        stages->turn[stage] = 0;
    }
}

void stages_report(const struct stages *stages, uint64_t packets, struct report *report)
{
    uint64_t hz = rte_get_tsc_hz();
    report_object(report, "stages_ns");
    for (int stage = 0; stage < STAGE_COUNT; stage++)
        report_fixed(report, names[stage],
                     muldiv64(stages->total[stage], 10 * NS_PER_S, hz) / MAX(packets, (uint64_t)1), 1);
    report_object_end(report);
}
