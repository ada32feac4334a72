#include "disk/rates.h"

#include <stdio.h>
#include <sys/sysmacros.h>

#include "base/check.h"
#include "base/count.h"
#include "base/units.h"
#include "disk/meter.h"

void disk_rates_look(struct disk_rates *rates, const struct disk *disk, uint64_t now_ns)
{
    struct disk_thread_view view;
    uint64_t took_ns = elapsed_ns(now_ns, rates->looked_ns);
    uint64_t read_bytes = 0, written_bytes = 0, hashed_bytes = 0;
    if (rates->looked_ns != 0 && took_ns < RATES_EVERY_NS)
        return;
    for (uint32_t index = 0; disk_thread_view(disk, index, &view); index++) {
        CHECK(index < DISK_VIEWS_MAX);
        uint64_t used_ns = elapsed_ns(view.cpu_ns, rates->cpu_ns[index]);
        count_set(&rates->cpu_share_ppm[index], muldiv64(used_ns, 1000000, took_ns));
        rates->cpu_ns[index] = view.cpu_ns;
        read_bytes += view.read_bytes;
        written_bytes += view.written_bytes;
        hashed_bytes += view.hashed_bytes;
    }
    count_set(&rates->read_bps, muldiv64((read_bytes - rates->read_bytes) * 8, NS_PER_S, took_ns));
    count_set(&rates->written_bps, muldiv64((written_bytes - rates->written_bytes) * 8, NS_PER_S, took_ns));
    count_set(&rates->hashed_bps, muldiv64((hashed_bytes - rates->hashed_bytes) * 8, NS_PER_S, took_ns));
    rates->read_bytes = read_bytes;
    rates->written_bytes = written_bytes;
    rates->hashed_bytes = hashed_bytes;
    rates->looked_ns = now_ns;
}

/* What all threads for blocks have in common. */
struct sums {
    uint64_t queue, queue_most, requests, slowest_ns, slow, stuck;
};

static struct sums sums_of(const struct disk *disk)
{
    struct disk_thread_view view;
    struct sums sums = {0};
    for (uint32_t index = 0; disk_thread_view(disk, index, &view); index++) {
        if (!view.blocks)
            continue;
        sums.queue += view.queue;
        sums.queue_most = MAX(sums.queue_most, (uint64_t)view.queue_most);
        sums.requests += view.requests;
        uint64_t slowest_ns = MAX(view.slowest_ns, view.under_way_ns);
        sums.slowest_ns = MAX(sums.slowest_ns, slowest_ns);
        sums.slow += view.slow;
        sums.stuck += view.under_way_ns > METER_SLOW_NS;
    }
    return sums;
}

static void thread_report(const struct disk_thread_view *view, uint64_t cpu_share_ppm, struct report *report)
{
    char device[24] = "";
    if (view->device != 0)
        snprintf(device, sizeof(device), "%u:%u", major(view->device), minor(view->device));
    report_row(report);
    report_text(report, "name", view->name);
    report_text(report, "filesystem", device);
    report_u64(report, "cpu", view->cpu);
    report_fixed(report, "cpu_share", cpu_share_ppm, 6);
    report_u64(report, "cpu_ns", view->cpu_ns);
    report_u64(report, "hash_bps", muldiv64(view->hashed_bytes * 8, NS_PER_S, MAX(view->hash_ns, 1ULL)));
    report_u64(report, "requests", view->requests);
    report_u64(report, "queue", view->queue);
    report_u64(report, "queue_most", view->queue_most);
    report_u64(report, "slowest_ns", view->slowest_ns);
    report_u64(report, "under_way_ns", view->under_way_ns);
    report_row_end(report);
}

void disk_report(const struct disk *disk, const struct disk_rates *rates, struct report *report)
{
    struct disk_thread_view view;
    struct sums sums = sums_of(disk);
    report_u64(report, "read_bps", count_get(&rates->read_bps));
    report_u64(report, "written_bps", count_get(&rates->written_bps));
    report_u64(report, "hashed_bps", count_get(&rates->hashed_bps));
    report_u64(report, "queue", sums.queue);
    report_u64(report, "queue_most", sums.queue_most);
    report_u64(report, "requests", sums.requests);
    report_u64(report, "slowest_ns", sums.slowest_ns);
    report_u64(report, "slow_requests", sums.slow);
    report_u64(report, "stuck", sums.stuck);
    report_u64(report, "lanes_shared", disk_lanes_shared(disk));
    report_table(report, "threads");
    for (uint32_t index = 0; disk_thread_view(disk, index, &view); index++)
        if (view.requests > 0 || view.under_way_ns > 0)
            thread_report(&view, count_get(&rates->cpu_share_ppm[index]), report);
    report_table_end(report);
}
