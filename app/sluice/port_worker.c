#include "port_worker.h"

#include "app.h"
#include "base/units.h"

static bool drives(const struct port_worker *worker, uint16_t port)
{
    return worker->app->config.ports[port].worker == worker->number;
}

/* Returns when to come again at the latest; gather_ns: so long that may wait. */
static uint64_t turn(struct port_worker *worker, bool *worked, uint64_t *gather_ns)
{
    struct app *app = worker->app;
    uint64_t next_ns = TIME_NEVER;
    *worked = false;
    *gather_ns = TIME_NEVER;
    tsc_follow(&worker->clock, &app->clock_shared);
    turns_begin(&worker->turns, tsc_now_ns(&worker->clock.clock));
    for (uint16_t index = 0; index < app->config.node.port_count; index++) {
        if (!drives(worker, index))
            continue;
        *worked |= crossing_turn(app->crossings[index], &app->ports[index], &worker->clock.clock);
        *gather_ns = MIN(*gather_ns, crossing_gather_ns(app->crossings[index]));
        next_ns = MIN(next_ns, crossing_next_ns(app->crossings[index], &app->ports[index]));
    }
    return next_ns;
}

static bool sent_all(const struct port_worker *worker)
{
    const struct app *app = worker->app;
    for (uint16_t index = 0; index < app->config.node.port_count; index++)
        if (drives(worker, index) && !crossing_sent_all(app->crossings[index], &app->ports[index]))
            return false;
    return true;
}

static int port_worker_main(void *argument)
{
    struct port_worker *worker = argument;
    uint64_t limit_ns = TIME_NEVER, gather_ns;
    bool worked;
    tsc_follow(&worker->clock, &worker->app->clock_shared);
    turns_init(&worker->turns, worker->app->config.idle, tsc_now_ns(&worker->clock.clock));
    while (limit_ns == TIME_NEVER || (!sent_all(worker) && worker->turns.begin_ns < limit_ns)) {
        uint64_t next_ns = turn(worker, &worked, &gather_ns);
        turns_rest(&worker->turns, worked, tsc_now_ns(&worker->clock.clock), next_ns, gather_ns);
        if (limit_ns == TIME_NEVER && __atomic_load_n(&worker->app->ports_stop, __ATOMIC_ACQUIRE))
            limit_ns = worker->turns.begin_ns + PORT_WORKER_FAREWELL_NS;
    }
    __atomic_store_n(&worker->ended, true, __ATOMIC_RELEASE);
    return 0;
}

bool port_workers_start(struct app *app)
{
    for (uint16_t index = 0; index < app->config.node.port_count; index++) {
        uint16_t number = app->config.ports[index].worker;
        struct port_worker *worker = &app->port_workers[number];
        if (number == 0 || worker->app != NULL)
            continue;
        worker->app = app;
        worker->number = number;
        if (!eal_launch(&app->eal, number, port_worker_main, worker))
            return false;
    }
    return true;
}

void port_workers_stop(struct app *app)
{
    __atomic_store_n(&app->ports_stop, true, __ATOMIC_RELEASE);
    for (uint16_t number = 1; number < APP_LCORES_MAX; number++)
        if (app->port_workers[number].app != NULL)
            waiter_wake(&app->port_workers[number].turns.waiter);
    eal_join(&app->eal);
    /* Waiting orders this already, but where ThreadSanitizer cannot see it. */
    for (uint16_t number = 1; number < APP_LCORES_MAX; number++)
        CHECK(app->port_workers[number].app == NULL ||
              __atomic_load_n(&app->port_workers[number].ended, __ATOMIC_ACQUIRE));
}
