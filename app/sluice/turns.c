/* The system calls of a worker: to idle, and once a second to count its page faults. */
#include "turns.h"

#include "base/units.h"
#include "dpdk/memory.h"
#include "dpdk/resident.h"

bool turns_open(struct turns *turns, struct err *err)
{
    return waiter_open(&turns->waiter, err);
}

void turns_close(struct turns *turns)
{
    waiter_close(&turns->waiter);
}

void turns_watch(struct turns *turns, const struct datagram_port *port)
{
    int descriptor = port->calls->descriptor(port->self);
    if (descriptor >= 0)
        waiter_watch(&turns->waiter, descriptor);
    else
        turns->looks = true;
}

void turns_init(struct turns *turns, uint8_t idle_mode, uint64_t now_ns)
{
    count_set(&turns->begin_ns, now_ns);
    count_set(&turns->start_ns, now_ns);
    turns->look_ns = now_ns + NS_PER_S;
    resident_stack();
    turns->faults_before = memory_thread_faults();
    idle_init(&turns->idle, idle_mode, turns->looks, now_ns);
    waiter_exact_timers();
}

/* How long the last turn took, and what it was spent on. */
void turns_begin(struct turns *turns, uint64_t now_ns)
{
    uint64_t turn_ns = elapsed_ns(now_ns, turns->begin_ns);
    count_set(&turns->begin_ns, now_ns);
    count_add(&turns->count, 1);
    if (now_ns >= turns->look_ns) {
        turns->look_ns = now_ns + NS_PER_S;
        count_set(&turns->faults, memory_thread_faults() - turns->faults_before);
    }
    if (turns->gathered)
        histogram_add(&turns->rest_ns, turn_ns);
    if (turns->slept)
        return;
    histogram_add(&turns->gap_ns, turn_ns);
    count_add(&turns->gaps_long, turn_ns > TURN_LONG_NS);
    count_add(&turns->stalls, turn_ns > TURN_STALL_NS);
    if (turns->worked)
        count_add(&turns->busy_ns, turn_ns);
}

void turns_rest(struct turns *turns, bool worked, uint64_t now_ns, uint64_t next_ns, uint64_t gather_ns)
{
    struct idle_turn turn = {.worked = worked,
                             .begin_ns = turns->begin_ns,
                             .now_ns = now_ns,
                             .next_ns = next_ns,
                             .gather_ns = gather_ns};
    turns->worked = worked;
    enum idle_action action = idle_next(&turns->idle, &turn);
    idle_do(&turns->idle, action, &turns->waiter);
    turns->slept = idle_rests(action);
    turns->gathered = action == IDLE_REST;
}

void turns_report(const struct turns *turns, struct report *report)
{
    uint64_t run_ns = MAX(elapsed_ns(count_get(&turns->begin_ns), count_get(&turns->start_ns)), (uint64_t)1);
    report_u64(report, "turns", count_get(&turns->count));
    report_fixed(report, "busy_share", muldiv64(count_get(&turns->busy_ns), 1000000, run_ns), 6);
    report_u64(report, "poll_gap_ns_p50", histogram_percentile(&turns->gap_ns, 500000));
    report_u64(report, "poll_gap_ns_p99", histogram_percentile(&turns->gap_ns, 990000));
    report_u64(report, "poll_gap_ns_max", count_get(&turns->gap_ns.largest));
    report_u64(report, "poll_gaps_over_10us", count_get(&turns->gaps_long));
    report_u64(report, "poll_gaps_over_300us", count_get(&turns->stalls));
    report_u64(report, "page_faults", count_get(&turns->faults));
    report_u64(report, "sleeps", count_get(&turns->idle.sleeps));
    report_u64(report, "rest_ns_p50", histogram_percentile(&turns->rest_ns, 500000));
    report_u64(report, "rest_ns_p99", histogram_percentile(&turns->rest_ns, 990000));
    report_u64(report, "rest_ns_max", count_get(&turns->rest_ns.largest));
    report_u64(report, "yields", count_get(&turns->idle.yields));
}
