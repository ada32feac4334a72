/* The worker of some ports: one lcore's loop between devices and crossings (dpdk/crossing.h), where the
 * node's own worker does not drive them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dpdk/tsc.h"
#include "turns.h"

#define PORT_WORKER_FAREWELL_NS 500000000ULL

struct app;

struct port_worker {
    struct app *app;
    uint16_t number; /* which of config.lcores, not 0: that is the node's */
    struct tsc_follower clock;
    struct turns turns;
    bool ended; /* atomic: released with all that this worker has written */
};

/* Before the control threads start, and after the node's worker has ended; app_start made the crossings.
 * Ending: what the node handed over still leaves. */
bool port_workers_start(struct app *app);
void port_workers_stop(struct app *app);
