/* The loop around the node. Nothing here waits, allocates, prints or makes a system call but the idle step, ports that
 * are the kernel's, and one a second that counts page faults (turns.c). */
#include "worker.h"

#include "app.h"
#include "base/units.h"

static uint64_t worker_clock(const struct app *app)
{
    return tsc_now_ns(&app->clock);
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

/* The background thread starts the planner that jobs need. */
static void worker_planner(struct app *app)
{
    bool wanted = node_wants_planner(app->node);
    if (wanted == app->planner_wanted) /* nobody else writes it */
        return;
    __atomic_store_n(&app->planner_wanted, wanted, __ATOMIC_RELAXED);
    waiter_wake(&app->background);
}

/* While packets wait for their departure, a look at the lane comes after every few frames. */
static bool worker_receive(struct app *app, uint16_t index)
{
    struct worker *worker = &app->worker;
    const struct datagram_port *port = &app->ports[index];
    uint16_t total = 0, frames = 0, burst;
    do {
        burst = port->calls->waiting(port->self) > 0 ? PORT_ARMED_BURST : PORT_BURST;
        worker->now_ns = worker_clock(app);
        uint16_t count = port->calls->receive(port->self, worker->received, burst, &frames, worker->now_ns);
        node_missed(app->node, index, count_get(&port->counters->rx_missed));
        if (count > 0 && port->device == NULL) /* a socket tells of what came while it was asked */
            worker->now_ns = worker_clock(app);
        if (count > 0)
            node_rx(app->node, worker->received, count, worker->now_ns);
        port->calls->receive_done(port->self);
        total += frames;
        if (burst == PORT_ARMED_BURST)
            port->calls->flush(port->self, worker_clock(app));
    } while (frames == burst && total < PORT_RECEIVE_MAX);
    return total > 0;
}

/* The same for a port that another worker drives. */
static bool worker_take(struct app *app, uint16_t index)
{
    struct worker *worker = &app->worker;
    struct crossing *crossing = app->crossings[index];
    uint16_t count, total = 0;
    node_missed(app->node, index, count_get(&app->ports[index].counters->rx_missed));
    do {
        worker->now_ns = worker_clock(app);
        struct rx_packet *packets = crossing_received(crossing, &count, worker->now_ns);
        if (count > 0)
            node_rx(app->node, packets, count, worker->now_ns);
        crossing_received_done(crossing, count);
        total += count;
    } while (count == CROSSING_BURST && total < PORT_RECEIVE_MAX);
    worker->taken += total;
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

static void worker_reports(struct app *app, const struct datagram_port *port)
{
    struct worker *worker = &app->worker;
    uint16_t count;
    while ((count = port->calls->reports(port->self, worker->reports, WORKER_REPORTS)) > 0)
        node_tx_done(app->node, worker->reports, count, worker->now_ns);
}

/* A socket sends many packets at the price of a few: what is due soon after these waits for more of its kind, as long as
 * it may. */
static void worker_hold(struct app *app, uint16_t index, bool all)
{
    if (!all || app->ports[index].device != NULL || !app->config.node.gathers)
        return;
    app->worker.hold_ns[index] = app->worker.now_ns + node_gather_ns(app->node);
}

static bool worker_transmit(struct app *app, uint16_t index)
{
    struct worker *worker = &app->worker;
    const struct datagram_port *port = &app->ports[index];
    worker->now_ns = worker_clock(app);
    uint16_t left = port->calls->flush(port->self, worker->now_ns);
    worker_reports(app, port);
    uint16_t room = MIN(port->calls->send_room(port->self), port->burst);
    if (worker->now_ns < worker->hold_ns[index])
        room = 0;
    uint16_t count = room > 0 ? node_tx(app->node, index, worker->sending, room, worker->now_ns) : 0;
    if (count > 0) {
        worker_hold(app, index, count < room);
        port->calls->send(port->self, worker->sending, count, worker->now_ns);
        left += port->calls->flush(port->self, worker_clock(app));
        worker_reports(app, port);
    }
    return left > 0;
}

/* The same for a port that another worker drives. */
static bool worker_give(struct app *app, uint16_t index)
{
    struct worker *worker = &app->worker;
    struct crossing *crossing = app->crossings[index];
    uint16_t count = 1, room, total = 0;
    worker->now_ns = worker_clock(app);
    for (int burst = 0; burst < CROSSING_REPORT_BURSTS && count > 0; burst++) {
        const struct tx_report *reports = crossing_reports(crossing, &count);
        if (count > 0)
            node_tx_done(app->node, reports, count, worker->now_ns);
        crossing_reports_done(crossing, count);
    }
    for (int burst = 0; burst < CROSSING_SEND_BURSTS; burst++) {
        struct tx_packet *packets = crossing_sending(crossing, &room);
        count = room > 0 ? node_tx(app->node, index, packets, room, worker->now_ns) : 0;
        crossing_send(crossing, count);
        total += count;
        worker->full |= room == 0;
        if (count < room || room == 0)
            break;
    }
    return total > 0;
}

static void worker_service(struct app *app, bool exact)
{
    struct worker *worker = &app->worker;
    for (uint16_t index = 0; index < app->config.node.port_count; index++)
        if (app->crossings[index] == NULL)
            app->ports[index].calls->service(app->ports[index].self, exact, worker->now_ns);
    events_scan(&app->events, app->node, app->ports, app->config.node.port_count, worker->now_ns);
    if (worker->now_ns >= worker->sync_ns) {
        worker->sync_ns = worker->now_ns + NS_PER_S;
        tsc_clock_sync(&app->clock);
        tsc_share(&app->clock_shared, &app->clock);
    }
}

static uint64_t due_ns(const struct datagram_port *port)
{
    return port->calls->next_ns(port->self);
}

static uint64_t worker_next_ns(const struct app *app, uint64_t gather_ns)
{
    uint64_t node_ns = node_next_ns(app->node), hold_ns = TIME_NEVER;
    for (uint16_t index = 0; index < app->config.node.port_count; index++)
        hold_ns = MIN(hold_ns, app->worker.hold_ns[index]);
    uint64_t next_ns = MAX(node_ns, hold_ns); /* what gathers is not due */
    for (uint16_t index = 0; index < app->config.node.port_count; index++) {
        if (app->crossings[index] != NULL)
            crossing_announce(app->crossings[index], node_ns, gather_ns);
        else
            next_ns = MIN(next_ns, due_ns(&app->ports[index]));
    }
    return app->worker.full ? 0 : next_ns; /* overdue: the other worker may need this CPU */
}

static void worker_turn(struct app *app)
{
    uint16_t ports = app->config.node.port_count;
    app->worker.now_ns = worker_clock(app);
    turns_begin(&app->worker.turns, app->worker.now_ns);
    bool worked = worker_control(app);
    worker_planner(app);
    for (uint16_t index = 0; index < ports; index++)
        worked |= app->crossings[index] != NULL ? worker_take(app, index) : worker_receive(app, index);
    worked |= worker_disk_replies(app);
    node_tick(app->node, app->worker.now_ns);
    worked |= worker_disk_requests(app);
    app->worker.full = false;
    for (uint16_t index = 0; index < ports; index++)
        worked |= app->crossings[index] != NULL ? worker_give(app, index) : worker_transmit(app, index);
    uint64_t gather_ns = app->config.node.gathers ? node_gather_ns(app->node) : 0;
    worker_service(app, app->config.node.gathers && gather_ns == 0);
    uint64_t next_ns = worker_next_ns(app, gather_ns);
    /* So much at once that what comes meanwhile would not fit between the workers: the shortest rest. */
    if (app->worker.taken >= CROSSING_RECEIVED / 2)
        gather_ns = MIN(gather_ns, (uint64_t)IDLE_GATHER_NS_MIN);
    turns_rest(&app->worker.turns, worked, worker_clock(app), next_ns, gather_ns);
    if (app->worker.turns.slept)
        app->worker.taken = 0;
}

/* The peers learn at once that this node is gone, instead of by silence. */
static void worker_farewell(struct app *app)
{
    struct worker *worker = &app->worker;
    node_shutdown(app->node, worker->now_ns);
    uint64_t limit_ns = worker->now_ns + WORKER_FAREWELL_NS;
    for (bool busy = true; busy && worker->now_ns < limit_ns;) {
        worker_turn(app);
        busy = worker->turns.worked;
        for (uint16_t index = 0; index < app->config.node.port_count; index++)
            busy |=
                app->crossings[index] == NULL && app->ports[index].calls->waiting(app->ports[index].self) > 0;
    }
}

void worker_run(struct app *app)
{
    struct worker *worker = &app->worker;
    worker->now_ns = worker_clock(app);
    turns_init(&worker->turns, app->config.idle, worker->now_ns);
    while (!app_stopping(app))
        worker_turn(app);
    worker_farewell(app);
    channel_close(&app->channel);
}
