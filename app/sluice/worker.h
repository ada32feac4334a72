/* The worker: one lcore's loop around the node. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/report.h"
#include "dpdk/histogram.h"
#include "dpdk/idle.h"
#include "dpdk/port.h"
#include "store/disk.h"

#define WORKER_BURST       32
#define WORKER_ARMED_BURST 4  /* received between two looks at an armed lane: about 0.5 us */
#define WORKER_RECEIVE_MAX 64 /* per port and turn */
#define WORKER_CONTROL_MAX 4
#define WORKER_DISK_BURST  16
#define WORKER_GAP_LONG_NS 10000
#define WORKER_STALL_NS    300000
#define WORKER_FAREWELL_NS 500000000ULL

struct app;

struct worker {
    uint64_t turn_ns; /* when this turn began */
    uint64_t now_ns;  /* what node calls get: never older than any packet's receive time */
    uint64_t start_ns, sync_ns;
    struct idle idle;
    bool slept;  /* the last turn ended in a sleep */
    bool worked; /* the last turn did something */
    uint64_t turns, busy_ns;
    uint64_t gaps_long;        /* turns longer than WORKER_GAP_LONG_NS that were not slept */
    uint64_t stalls;           /* the same, WORKER_STALL_NS */
    uint64_t faults_before;    /* page faults of this thread before the loop … */
    uint64_t faults;           /* … and in it, looked at once a second */
    struct histogram gap_ns;   /* turns that were not slept */
    struct histogram sleep_ns; /* turns that ended in a sleep */
    uint16_t disk_waiting;     /* requests the disk did not take yet */
    struct disk_request disk_requests[WORKER_DISK_BURST];
    struct rx_packet received[PORT_RECEIVE_MAX];
    struct tx_packet sending[WORKER_BURST];
    struct tx_report reports[WORKER_BURST];
};

/* Runs until app->stop, says farewell to all peers, and closes the channel. */
void worker_run(struct app *app);
/* Any thread: where its time went. */
void worker_report(const struct worker *worker, struct report *report);
