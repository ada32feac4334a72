#include "app/bench/cpu_use.h"

#include <stdio.h>
#include <time.h>

#include "base/units.h"

uint64_t cpu_use_now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

void cpu_use_look(struct cpu_use *use, const struct disk *disk, uint64_t worker_ns)
{
    struct disk_thread_view view;
    *use = (struct cpu_use){.worker_ns = worker_ns};
    for (uint32_t index = 0; disk != NULL && disk_thread_view(disk, index, &view); index++) {
        use->hashed_bytes += view.hashed_bytes;
        use->hash_ns += view.hash_ns;
        if (view.requests == 0 || use->count == CPU_USE_THREADS_MAX)
            continue;
        snprintf(use->threads[use->count].name, sizeof(use->threads[0].name), "%s", view.name);
        use->threads[use->count].cpu_ns = view.cpu_ns;
        use->threads[use->count++].hashed_bytes = view.hashed_bytes;
    }
}

static void row(const char *end, const char *thread, uint64_t cpu_ns, uint64_t hashed_bytes,
                struct report *report)
{
    report_row(report);
    report_text(report, "end", end);
    report_text(report, "thread", thread);
    report_u64(report, "cpu_ns", cpu_ns);
    report_u64(report, "hashed_bytes", hashed_bytes);
    report_row_end(report);
}

void cpu_use_report(const struct cpu_use *use, const char *end, struct report *report)
{
    row(end, "worker", use->worker_ns, 0, report);
    for (uint32_t index = 0; index < use->count; index++)
        row(end, use->threads[index].name, use->threads[index].cpu_ns, use->threads[index].hashed_bytes,
            report);
}

uint64_t cpu_use_hash_bps(const struct cpu_use *one, const struct cpu_use *other)
{
    uint64_t hash_ns = one->hash_ns + other->hash_ns;
    return hash_ns == 0 ? 0 : muldiv64((one->hashed_bytes + other->hashed_bytes) * 8, NS_PER_S, hash_ns);
}
