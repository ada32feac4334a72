/* Pacer: departures at an exact average rate.
 *
 * Guarantee, for any rate and packet sizes: packet k departs no earlier than
 *     t0 + floor(8e9 * (b_0 + … + b_{k-1}) / rate)  ns
 * while the schedule is not re-anchored: sub-nanosecond remainders are carried, so the error never
 * accumulates. Over any window of W ns at most rate * (W + 1) / 8e9 + burst_bytes + one packet leave (the
 * 1 ns is the floor above), burst_bytes being the catch-up allowed after a stall: a sender that comes late
 * may send that much at once, never more (at most 8 packets, or what goes in catch_up_ns where that is more). Bytes are
 * wire bytes (base/units.h). */
#pragma once

#include <stdint.h>

struct pacer {
    uint64_t rate_bps;
    uint64_t next_ns;     /* earliest departure of the next packet */
    uint64_t remainder;   /* of bits * 1e9 / rate, in units of 1/rate ns */
    uint64_t burst_ns;    /* catch-up allowed after a stall: burst_bytes at the rate in force, or more … */
    uint64_t catch_up_ns; /* … for a sender that always comes late */
    uint32_t burst_bytes;
};

/* The first packet may depart at now_ns; rate_bps > 0. */
void pacer_init(struct pacer *pacer, uint64_t rate_bps, uint32_t burst_bytes, uint64_t now_ns);
/* The new rate counts from the next departure on; rate_bps > 0. */
void pacer_set_rate(struct pacer *pacer, uint64_t rate_bps);
/* The sender comes late by about so much, whenever it comes: what it may make up for at once. */
void pacer_set_catch_up(struct pacer *pacer, uint64_t catch_up_ns);
/* When the next packet may depart; may lie in the past by at most the catch-up. */
uint64_t pacer_next_ns(const struct pacer *pacer);
/* What was sent at a rate of before holds the next packet until latest_ns at most. */
void pacer_release(struct pacer *pacer, uint64_t latest_ns);
/* What was not sent until then is not caught up: the next packet departs no earlier. */
void pacer_skip(struct pacer *pacer, uint64_t until_ns);
/* A packet of wire_bytes was scheduled to depart at depart_ns >= pacer_next_ns. Re-anchors after a stall. */
void pacer_on_sent(struct pacer *pacer, uint32_t wire_bytes, uint64_t depart_ns);
