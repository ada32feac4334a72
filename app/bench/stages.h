/* Where the time of a loop's turns goes: TSC cycles between marks, summed by stage over whole bursts. Off, a mark costs a
 * test. One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dpdk/compat.h"

#include <rte_cycles.h>

#include "base/report.h"

#define STAGES(ROW)                                                                                          \
    ROW(STAGE_PORT_RECEIVE, "receive") /* burst, headers, checksums */                                       \
    ROW(STAGE_NODE_RX, "node_rx")                                                                            \
    ROW(STAGE_RECEIVE_DONE, "receive_done") /* frames freed */                                               \
    ROW(STAGE_TICK, "tick")                                                                                  \
    ROW(STAGE_DISK, "disk_plan")                                                                             \
    ROW(STAGE_FLUSH, "flush") /* departures, released bodies */                                              \
    ROW(STAGE_DONE, "node_tx_done")                                                                          \
    ROW(STAGE_NODE_TX, "node_tx")                                                                            \
    ROW(STAGE_SEND, "send") /* frames built */                                                               \
    ROW(STAGE_SERVICE, "service")
#define STAGE_CONSTANT(constant, name) constant,
enum stage { STAGES(STAGE_CONSTANT) STAGE_COUNT };
#undef STAGE_CONSTANT

struct stages {
    bool on;
    uint64_t at;                 /* of the last mark */
    uint64_t turn[STAGE_COUNT];  /* since stages_begin */
    uint64_t total[STAGE_COUNT]; /* of the turns that were kept */
};

static inline void stages_begin(struct stages *stages)
{
    if (stages->on)
        stages->at = rte_rdtsc();
}

/* What was done since the last mark was `stage`. */
static inline void stages_mark(struct stages *stages, enum stage stage)
{
    if (!stages->on)
        return;
    uint64_t now = rte_rdtsc();
    stages->turn[stage] += now - stages->at;
    stages->at = now;
}

/* The turn is over; `kept`: it counts. */
void stages_end(struct stages *stages, bool kept);
/* A row of ns per packet for each stage. */
void stages_report(const struct stages *stages, uint64_t packets, struct report *report);
