/* What a disk does now: rates over the last second or so, by looking at what its threads have done since the
 * look before. disk_report is what `show disk` prints. */
#pragma once

#include <stdint.h>

#include "base/report.h"
#include "disk/disk.h"

#define RATES_EVERY_NS NS_PER_S

struct disk_rates {
    uint64_t looked_ns; /* when; 0: not yet */
    uint64_t read_bytes, written_bytes, hashed_bytes;
    uint64_t cpu_ns[DISK_VIEWS_MAX];
    /* Results, since the look before that; read by any thread. */
    uint64_t read_bps, written_bps, hashed_bps;
    uint64_t cpu_share_ppm[DISK_VIEWS_MAX]; /* of one CPU */
};

/* Call as often as you like: looks every RATES_EVERY_NS. */
void disk_rates_look(struct disk_rates *rates, const struct disk *disk, uint64_t now_ns);
/* read_bps, written_bps, hashed_bps; queue, queue_most (of one thread), requests, slowest_ns of a block,
 * slow_requests and stuck (blocks that took, or take, longer than a second), lanes_shared; threads: those
 * that have served something. */
void disk_report(const struct disk *disk, const struct disk_rates *rates, struct report *report);
