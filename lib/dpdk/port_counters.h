/* What a port counts, be it a device of DPDK or a socket: port_counters.def declares each row once. */
#pragma once

#include <stdint.h>

#include "base/report.h"

#define COUNTER(name, help) uint64_t name;
struct port_counters {
#include "dpdk/port_counters.def"
};
#undef COUNTER

/* Counter `index`: its name, or NULL beyond the last. */
const char *port_counter(const struct port_counters *counters, uint32_t index, uint64_t *value);
const char *port_counter_help(uint32_t index);
/* All of them inside a report's object or row; those that are 0 are left out of text. */
void port_counters_report(const struct port_counters *counters, struct report *report);
