/* The first way through a relay's symbol buffer against the second: memory that was not touched before costs turns of
 * milliseconds, in the first pass alone. How long turns took in each, and the page faults of the thread in both.
 * Thread: that of the relay, until it has ended. */
#pragma once

#include <stdint.h>

#include "base/report.h"
#include "dpdk/histogram.h"

#define PASS_BUFFER_BYTES (1ULL << 30)
#define PASS_OBJECT_BYTES (9 * PASS_BUFFER_BYTES / 4) /* both, and what the buffer holds back */

struct pass {
    uint64_t packets; /* data packets of one pass; 0: not asked for */
    uint64_t number;  /* of the pass under way: 0, 1, or later ones */
    uint64_t faults_before, faults[2];
    struct histogram turn_ns[2];
};

/* The thread begins: `symbol_bytes` of each packet stay in the buffer. */
void pass_begin(struct pass *pass, uint32_t symbol_bytes);
/* A turn that did something, after `packets` data packets in all. */
void pass_turn(struct pass *pass, uint64_t ns, uint64_t packets);
/* turn_ns_p999_first, turn_ns_p999_second, their ratio, page_faults (until the second pass is over). */
void pass_report(const struct pass *pass, struct report *report);
