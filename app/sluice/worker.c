/* The loop of a worker. Nothing here waits, allocates, prints or makes a system call but the idle step, and one a
 * second that counts page faults. */
#include "worker.h"

#include <sched.h>
#include <time.h>

#include "app.h"
#include "base/units.h"
#include "dpdk/memory.h"
#include "dpdk/resident.h"

static uint64_t worker_clock(const struct app *app)
{
    return tsc_now_ns(&app->clock);
}

/* How long the last turn took, and what it was spent on. */
static void worker_begin(struct app *app)
{
    struct worker *worker = &app->worker;
    uint64_t now_ns = worker_clock(app);
    uint64_t turn_ns = now_ns - worker->turn_ns;
    worker->turn_ns = worker->now_ns = now_ns;
    worker->turns++;
    if (worker->slept) {
        histogram_add(&worker->sleep_ns, turn_ns);
        return;
    }
    histogram_add(&worker->gap_ns, turn_ns);
    worker->gaps_long += turn_ns > WORKER_GAP_LONG_NS;
    worker->stalls += turn_ns > WORKER_STALL_NS;
    if (worker->worked)
        worker->busy_ns += turn_ns;
}

static bool worker_control(struct app *app)
{
    bool worked = false;
    for (int taken = 0; taken < WORKER_CONTROL_MAX; taken++) {
        struct channel_call *call = channel_take(&app->channel);
        if (call == NULL)
            break;
        node_ctl(app->node, &call->msg, &call->reply, app->worker.now_ns);
        channel_answer(call);
        worked = true;
    }
    struct ctl_msg *place = app->config.control_ring[0] != '\0' ? outbox_place(&app->outbox) : NULL;
    if (place != NULL && node_ctl_next(app->node, place)) {
        outbox_commit(&app->outbox);
        worked = true;
    }
    return worked;
}

/* While packets wait for their departure, a look at the lane comes after every few frames. */
static bool worker_receive(struct app *app, struct port *port)
{
    struct worker *worker = &app->worker;
    uint16_t total = 0, frames = 0, burst;
    do {
        burst = lane_count(&port->lane) > 0 ? WORKER_ARMED_BURST : WORKER_BURST;
        worker->now_ns = worker_clock(app);
        uint16_t count = port_receive(port, worker->received, burst, &frames, worker->now_ns);
        if (count > 0)
            node_rx(app->node, worker->received, count, worker->now_ns);
        port_receive_done(port);
        total += frames;
        if (burst == WORKER_ARMED_BURST)
            port_flush(port, worker_clock(app));
    } while (frames == burst && total < WORKER_RECEIVE_MAX);
    return total > 0;
}

static bool worker_disk_replies(struct app *app)
{
    struct disk_reply replies[WORKER_DISK_BURST];
    uint16_t count = disk_collect(app->disk, replies, WORKER_DISK_BURST);
    if (count > 0)
        node_disk_done(app->node, replies, count, app->worker.now_ns);
    return count > 0;
}

static bool worker_disk_requests(struct app *app)
{
    struct worker *worker = &app->worker;
    if (worker->disk_waiting == 0)
        worker->disk_waiting = node_disk(app->node, worker->disk_requests, WORKER_DISK_BURST, worker->now_ns);
    uint16_t taken = 0;
    while (taken < worker->disk_waiting && disk_submit(app->disk, &worker->disk_requests[taken]))
        taken++;
    worker->disk_waiting -= taken;
    for (uint16_t index = 0; taken > 0 && index < worker->disk_waiting; index++)
        worker->disk_requests[index] = worker->disk_requests[taken + index];
    return taken > 0;
}

static void worker_reports(struct app *app, struct port *port)
{
    struct worker *worker = &app->worker;
    uint16_t count;
    while ((count = port_reports(port, worker->reports, WORKER_BURST)) > 0)
        node_tx_done(app->node, worker->reports, count, worker->now_ns);
}

static bool worker_transmit(struct app *app, uint16_t index)
{
    struct worker *worker = &app->worker;
    struct port *port = &app->ports[index];
    worker->now_ns = worker_clock(app);
    uint16_t left = port_flush(port, worker->now_ns);
    worker_reports(app, port);
    uint16_t room = MIN(port_send_room(port), (uint16_t)WORKER_BURST);
    uint16_t count = room > 0 ? node_tx(app->node, index, worker->sending, room, worker->now_ns) : 0;
    if (count > 0) {
        port_send(port, worker->sending, count, worker->now_ns);
        left += port_flush(port, worker_clock(app));
        worker_reports(app, port);
    }
    return left > 0;
}

static void worker_service(struct app *app)
{
    struct worker *worker = &app->worker;
    for (uint16_t index = 0; index < app->config.node.port_count; index++)
        port_service(&app->ports[index], worker->now_ns);
    events_scan(&app->events, app->node, app->ports, app->config.node.port_count, worker->now_ns);
    if (worker->now_ns >= worker->sync_ns) {
        worker->sync_ns = worker->now_ns + NS_PER_S;
        tsc_clock_sync(&app->clock);
        worker->faults = memory_thread_faults() - worker->faults_before;
    }
}

static uint64_t worker_next_ns(const struct app *app)
{
    uint64_t next_ns = node_next_ns(app->node);
    for (uint16_t index = 0; index < app->config.node.port_count; index++)
        next_ns = MIN(next_ns, port_next_ns(&app->ports[index]));
    return next_ns;
}

static void worker_idle(struct app *app)
{
    struct worker *worker = &app->worker;
    struct timespec wait = {0};
    worker->slept = false;
    switch (idle_next(&worker->idle, worker->worked, worker_clock(app), worker_next_ns(app))) {
    case IDLE_SPIN:
        break;
    case IDLE_YIELD:
        sched_yield();
        break;
    case IDLE_SLEEP:
        wait.tv_nsec = (long)worker->idle.sleep_ns;
        nanosleep(&wait, NULL);
        worker->slept = true;
        break;
    }
}

static void worker_turn(struct app *app)
{
    uint16_t ports = app->config.node.port_count;
    worker_begin(app);
    bool worked = worker_control(app);
    for (uint16_t index = 0; index < ports; index++)
        worked |= worker_receive(app, &app->ports[index]);
    worked |= worker_disk_replies(app);
    node_tick(app->node, app->worker.now_ns);
    worked |= worker_disk_requests(app);
    for (uint16_t index = 0; index < ports; index++)
        worked |= worker_transmit(app, index);
    worker_service(app);
    app->worker.worked = worked;
    worker_idle(app);
}

/* The peers learn at once that this node is gone, instead of by silence. */
static void worker_farewell(struct app *app)
{
    struct worker *worker = &app->worker;
    node_shutdown(app->node, worker->now_ns);
    uint64_t limit_ns = worker->now_ns + WORKER_FAREWELL_NS;
    for (bool busy = true; busy && worker->now_ns < limit_ns;) {
        worker_turn(app);
        busy = worker->worked;
        for (uint16_t index = 0; index < app->config.node.port_count; index++)
            busy |= lane_count(&app->ports[index].lane) > 0;
    }
}

void worker_run(struct app *app)
{
    struct worker *worker = &app->worker;
    worker->now_ns = worker->turn_ns = worker->start_ns = worker_clock(app);
    idle_init(&worker->idle, app->config.idle, worker->now_ns);
    resident_stack();
    worker->faults_before = memory_thread_faults();
    while (!app_stopping(app))
        worker_turn(app);
    worker_farewell(app);
    channel_close(&app->channel);
}

void worker_report(const struct worker *worker, struct report *report)
{
    uint64_t run_ns = MAX(worker->now_ns - worker->start_ns, (uint64_t)1);
    report_u64(report, "turns", worker->turns);
    report_fixed(report, "busy_share", muldiv64(worker->busy_ns, 1000000, run_ns), 6);
    report_u64(report, "poll_gap_ns_p50", histogram_percentile(&worker->gap_ns, 500000));
    report_u64(report, "poll_gap_ns_p99", histogram_percentile(&worker->gap_ns, 990000));
    report_u64(report, "poll_gap_ns_max", worker->gap_ns.largest);
    report_u64(report, "poll_gaps_over_10us", worker->gaps_long);
    report_u64(report, "poll_gaps_over_300us", worker->stalls);
    report_u64(report, "page_faults", worker->faults);
    report_u64(report, "sleeps", worker->idle.sleeps);
    report_u64(report, "sleep_ns_p50", histogram_percentile(&worker->sleep_ns, 500000));
    report_u64(report, "sleep_ns_max", worker->sleep_ns.largest);
    report_u64(report, "yields", worker->idle.yields);
}
