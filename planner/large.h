/* Nets of up to NET_HOSTS_MAX hosts, from CSV files: more than a job can have, to
 * see what such a net would carry.
 *
 * HOSTS: a header, then `name,up_mbps,down_mbps,role` with role source, receiver or relay.
 * Matrices: a header row `from\to,name,…`, then a row per host; an empty cell is not known; names
 * that are no hosts are passed over. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "planner/program.h"

struct large_files {
    const char *hosts;
    const char *rtt_ms;
    const char *avb_mbps; /* NULL: not known, interfaces decide */
    uint64_t size_bytes;
    uint16_t trees_max;
};

/* Plans by `auto` and prints rate, bound, delay and what every metric would
 * give; with `json` the trees too. */
enum program_end plan_large(const struct large_files *files, bool json);
