/* The worker: one lcore's loop around the node and the ports that it drives itself. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dpdk/datagrams.h"
#include "node/node_config.h"
#include "store/disk.h"
#include "turns.h"

#define WORKER_REPORTS     32
#define WORKER_CONTROL_MAX 4
#define WORKER_DISK_BURST  16
#define WORKER_FAREWELL_NS 500000000ULL

struct app;

struct worker {
    uint64_t now_ns;  /* what node calls get: never older than any packet's receive time */
    uint64_t sync_ns; /* of the clock, the next time */
    struct turns turns;
    uint64_t hold_ns[NODE_PORTS_MAX]; /* until then no packets are handed to that port: they gather */
    uint32_t taken;                   /* from other workers' ports since the last rest */
    bool full; /* another worker has not yet taken what its port was given: what is due cannot be done */
    uint16_t disk_waiting; /* requests the disk did not take yet */
    struct disk_request disk_requests[WORKER_DISK_BURST];
    struct rx_packet received[PORT_RECEIVE_MAX];
    struct tx_packet sending[PORT_BURST_MAX];
    struct tx_report reports[WORKER_REPORTS];
};

/* Runs until app->stop, says farewell to all peers, and closes the channel. */
void worker_run(struct app *app);
