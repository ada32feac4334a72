#include <string.h>

#include "app/wanem/emulator.h"

static void report_counters(const struct emulator_counters *counters, struct report *report)
{
    report_object(report, "counters");
#define COUNTER(name, help) report_u64(report, #name, counters->name);
#include "app/wanem/counters.def"
#undef COUNTER
    report_object_end(report);
}

static void report_netem(const struct netem_link *link, struct report *report)
{
    report_u64(report, "packets", link->counters.packets);
    report_u64(report, "bytes", link->counters.bytes);
    report_u64(report, "lost", link->counters.lost);
    report_u64(report, "lost_burst", link->counters.lost_burst);
    report_u64(report, "queue_drops", link->counters.queue_drops);
    report_u64(report, "policer_drops", link->counters.policer_drops);
    report_u64(report, "too_long", link->counters.too_long);
    report_u64(report, "down_drops", link->counters.down_drops);
    report_u64(report, "duplicated", link->counters.duplicated);
    report_u64(report, "corrupted", link->counters.corrupted);
    report_u64(report, "reordered", link->counters.reordered);
    report_u64(report, "marked", link->counters.marked);
    report_u64(report, "background_packets", link->counters.background_packets);
    report_u64(report, "background_drops", link->counters.background_drops);
}

static void report_links(const struct emulator *emulator, struct report *report)
{
    uint16_t count = emulator->wan.site_count;
    report_table(report, "links");
    for (uint16_t from = 0; from < count; from++)
        for (uint16_t to = 0; to < count; to++) {
            const struct netem_link *link = wan_link(&emulator->wan, from, to);
            if (link->counters.packets == 0)
                continue;
            report_row(report);
            report_text(report, "from", emulator->scenario->nodes[from].name);
            report_text(report, "to", emulator->scenario->nodes[to].name);
            report_netem(link, report);
            report_row_end(report);
        }
    report_table_end(report);
}

static void report_shared(const struct emulator *emulator, struct report *report)
{
    const struct scenario *scenario = emulator->scenario;
    report_table(report, "shared");
    for (uint16_t index = 0; index < scenario->shared_count; index++) {
        report_row(report);
        report_text(report, "name", scenario->shared[index].name);
        report_netem(&emulator->wan.shared[index], report);
        report_row_end(report);
    }
    report_table_end(report);
}

static void report_site(const struct emulator *emulator, uint16_t index, struct report *report)
{
    const struct wan_site *site = &emulator->wan.sites[index];
    report_row(report);
    report_text(report, "site", emulator->scenario->nodes[index].name);
    report_object(report, "uplink");
    report_netem(&site->uplink, report);
    report_object_end(report);
    report_object(report, "downlink");
    report_netem(&site->downlink, report);
    report_object_end(report);
    report_u64(report, "handed_over", site->sent_packets);
    report_u64(report, "late_us_max", site->late_ns_max / 1000);
    report_u64(report, "late_over_1ms", site->late_packets);
    report_object(report, "port");
    port_report(&emulator->sites[index].port, report);
    report_object_end(report);
    report_row_end(report);
}

void emulator_report(const struct emulator *emulator, struct report *report)
{
    report_text(report, "scenario", emulator->scenario->name);
    report_u64(report, "gap_us_max", emulator->gap_ns_max / 1000);
    report_u64(report, "on_the_way", wan_count(&emulator->wan));
    report_counters(&emulator->counters, report);
    report_links(emulator, report);
    report_shared(emulator, report);
    report_table(report, "sites");
    for (uint16_t site = 0; site < emulator->wan.site_count; site++)
        report_site(emulator, site, report);
    report_table_end(report);
}

void emulator_print_counter_help(FILE *out)
{
    struct port_counters none = {0};
    uint64_t value;
    const char *name;
#define COUNTER(name, help) fprintf(out, "%-22s %s\n", #name, help);
#include "app/wanem/counters.def"
#undef COUNTER
    fprintf(out, "\nof each port:\n");
    for (uint32_t index = 0; (name = port_counter(&none, index, &value)) != NULL; index++)
        fprintf(out, "%-22s %s\n", name, port_counter_help(index));
}
