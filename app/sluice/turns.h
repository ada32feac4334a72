/* A worker's turns: how long they took, which of them did something, and how it rests between them. Each
 * worker has its own, and writes it alone; others read what it counts (base/count.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/report.h"
#include "dpdk/histogram.h"
#include "dpdk/idle.h"
#include "dpdk/datagrams.h"

#define TURN_LONG_NS  10000
#define TURN_STALL_NS 300000

struct turns {
    uint64_t begin_ns; /* when this turn began */
    uint64_t start_ns; /* when the first did */
    struct idle idle;
    struct waiter waiter; /* where it rests: others wake it */
    bool slept;           /* the last turn ended in a rest or a wait … */
    bool gathered;        /* … in a rest */
    bool worked;          /* the last turn did something */
    bool looks;           /* of some port no descriptor tells when frames come */
    uint64_t count, busy_ns;
    uint64_t gaps_long;       /* turns longer than TURN_LONG_NS that were not slept */
    uint64_t stalls;          /* the same, TURN_STALL_NS */
    uint64_t faults_before;   /* page faults of this thread before the first … */
    uint64_t faults;          /* … and since, looked at once a second */
    uint64_t look_ns;         /* when that is next */
    struct histogram gap_ns;  /* turns that were not slept */
    struct histogram rest_ns; /* turns that ended in a rest, while packets gathered */
};

/* Before any thread runs. */
bool turns_open(struct turns *turns, struct err *err);
/* When all have ended. */
void turns_close(struct turns *turns);
/* A port that this worker drives. */
void turns_watch(struct turns *turns, const struct datagram_port *port);

/* ---- the worker ---- */

/* `idle_mode`: enum idle_mode. */
void turns_init(struct turns *turns, uint8_t idle_mode, uint64_t now_ns);
void turns_begin(struct turns *turns, uint64_t now_ns);
/* The turn's end: spins, yields or sleeps. `next_ns`: when something is due at the latest; gather_ns: so long that, and
 * what comes, may wait. */
void turns_rest(struct turns *turns, bool worked, uint64_t now_ns, uint64_t next_ns, uint64_t gather_ns);
/* Any thread: where the time went. */
void turns_report(const struct turns *turns, struct report *report);
