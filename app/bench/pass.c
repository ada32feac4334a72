#include "app/bench/pass.h"

#include "base/units.h"
#include "dpdk/memory.h"

void pass_begin(struct pass *pass, uint32_t symbol_bytes)
{
    pass->packets = PASS_BUFFER_BYTES / symbol_bytes;
    pass->faults_before = memory_thread_faults();
}

void pass_turn(struct pass *pass, uint64_t ns, uint64_t packets)
{
    if (pass->packets == 0 || pass->number > 1)
        return;
    histogram_add(&pass->turn_ns[pass->number], ns);
    if (packets < (pass->number + 1) * pass->packets)
        return;
    pass->faults[pass->number++] = memory_thread_faults() - pass->faults_before;
}

void pass_report(const struct pass *pass, struct report *report)
{
    uint64_t first_ns = histogram_percentile(&pass->turn_ns[0], 999000);
    uint64_t second_ns = MAX(histogram_percentile(&pass->turn_ns[1], 999000), (uint64_t)1);
    report_u64(report, "turn_ns_p999_first", first_ns);
    report_u64(report, "turn_ns_p999_second", second_ns);
    report_fixed(report, "turn_p999_ratio", first_ns * 1000 / second_ns, 3);
    report_u64(report, "page_faults_first", pass->faults[0]);
    report_u64(report, "page_faults", pass->faults[1]);
}
