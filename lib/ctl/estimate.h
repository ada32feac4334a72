/* An estimate of one direction of a pair, as it travels from the node that has it to the planner that keeps it. The two
 * have clocks of their own: what the record tells is how old the estimate is when it leaves. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/name.h"
#include "probe/estimate.h"

struct ctl_estimate {
    char from[NAME_BYTES], to[NAME_BYTES];
    uint64_t age_ns; /* of the window's end, until_ns */
    uint64_t rtt_ns; /* least known of the pair; 0: not known */
    struct estimate estimate;
};

/* In the order of the record, behind the two names: FIELD(type, name) of it, OF(type, name) of its estimate; flags and kinds are
 * judged when it is read. */
#define CTL_ESTIMATE_FIELDS(FIELD, OF)                                                                       \
    FIELD(u64, age_ns)                                                                                       \
    FIELD(u64, rtt_ns)                                                                                       \
    ESTIMATE_FOUND(OF)                                                                                       \
    OF(u64, from_ns)                                                                                         \
    OF(u64, until_ns)                                                                                        \
    ESTIMATE_SPENT(OF)

/* Names valid and distinct; kind, reason and stamp of those that there are; a value in its interval, "at least" with no
 * upper end; a window that does not end before it begins. */
bool ctl_estimate_valid(const struct ctl_estimate *estimate, struct err *err);
/* Returns bytes, 0 when room is short. */
size_t ctl_estimate_encode(const struct ctl_estimate *estimate, uint8_t *out, size_t room);
/* What comes back is valid. */
bool ctl_estimate_decode(struct ctl_estimate *estimate, const uint8_t *in, size_t length, struct err *err);
