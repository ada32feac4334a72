/* The emulator: one DPDK port per site around one struct wan, driven by one thread. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "dpdk/port.h"

#include "app/wanem/wan.h"
#include "base/err.h"
#include "base/report.h"
#include "dpdk/idle.h"
#include "dpdk/tsc.h"

#define COUNTER(name, help) uint64_t name;
struct emulator_counters {
#include "app/wanem/counters.def"
};
#undef COUNTER

struct emulator_site {
    struct port port;
    uint64_t came_ns; /* frames up to then have been taken; never goes back */
    bool mac_known;
    uint8_t mac[MAC_BYTES]; /* learnt from the site's own frames */
};

struct emulator {
    const struct scenario *scenario;
    struct rte_mempool *pool;
    struct wan wan;
    struct emulator_site *sites;
    struct emulator_counters counters;
    struct tsc_clock clock;
    struct idle idle;
    struct waiter waiter;
    uint64_t last_turn_ns;
    uint64_t late_until_ns; /* after a gap: see receive() */
    uint64_t gap_ns_max;    /* longest time between two turns that was not asked for by the idle policy */
    uint64_t last_sleep_ns;
};

struct emulator_config {
    const struct scenario *scenario;
    const char (*devices)[DEVICE_ARGS_BYTES]; /* one per site */
    uint32_t frame_bytes[SCENARIO_NODES_MAX]; /* largest frame of each site's port */
    uint32_t frame_bytes_max;                 /* of all sites */
    uint32_t packets;                         /* on their way at once */
    uint8_t idle;                             /* enum idle_mode */
};

/* Buffers needed: packets on their way and what the ports use themselves. */
uint32_t emulator_mbufs(const struct emulator_config *config);
/* Data room of each: what the most demanding of the devices needs. */
uint32_t emulator_buffer_bytes(const struct emulator_config *config);
/* After the EAL started; ports are open and started when it returns. Aborts on a lack of memory for its own
 * tables (they are small beside the packets, which were checked). */
bool emulator_open(struct emulator *emulator, const struct emulator_config *config, struct err *err);
/* Until *stop; `period_s` > 0: a line of sums on stdout that often. */
void emulator_run(struct emulator *emulator, const volatile sig_atomic_t *stop, uint64_t period_s);
void emulator_print_sums(const struct emulator *emulator);
void emulator_close(struct emulator *emulator);
/* What each counter means, those of ports included. */
void emulator_print_counter_help(FILE *out);
/* All counters: own, per link with traffic, per site. */
void emulator_report(const struct emulator *emulator, struct report *report);
