/* One RTT measurement towards one peer: `count` probes spread over a duration, each in two sizes (bare, and
 * padded to a candidate MTU, from the port's own downwards), RTT by four timestamps, and the largest packet
 * that came back. Sans-IO: asks for probes to be sent, is told of replies. RTT statistics count all answered
 * probes, padded or not. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/probe.h"

#define RTT_PROBE_ROUNDS 5
#define RTT_PROBE_WAIT_NS                                                                                    \
    1500000000ULL /* after the last probe, for stragglers: paths up to this RTT are measured */

struct rtt_probe {
    bool active;
    uint32_t mtu;         /* of the port */
    uint32_t ip_overhead; /* IP + UDP header bytes */
    uint64_t interval_ns;
    uint64_t next_ns;
    uint64_t end_ns; /* given up or complete */
    uint32_t next_id;
    uint32_t first_id;       /* of this measurement: older replies are ignored */
    uint16_t sent, answered; /* bare probes */
    uint64_t answered_bits;  /* by id - first_id: counts each once */
    uint64_t min_ns;
    uint64_t smoothed_ns;
    uint32_t mtu_answered; /* largest IP packet that came back; 0: none */
};

/* Candidate MTUs tried, largest first, none above the port's. */
extern const uint16_t rtt_probe_mtus[];

void rtt_probe_start(struct rtt_probe *probe, uint32_t mtu, uint32_t ip_overhead, uint64_t duration_ns,
                     uint64_t now_ns);
/* The next probe that is due: fixed part and padding filled in, t1_ns = now_ns. False: none now. */
bool rtt_probe_next(struct rtt_probe *probe, uint64_t now_ns, struct wire_probe *message);
/* `datagram_bytes`: of the reply. Ignores unknown, repeated and impossible replies (returns false). */
bool rtt_probe_on_reply(struct rtt_probe *probe, const struct wire_probe *reply, uint32_t datagram_bytes,
                        uint64_t t4_ns);
uint64_t rtt_probe_next_ns(const struct rtt_probe *probe); /* next send or end, TIME_NEVER when inactive */
/* True once, or from then on, when all were answered or the wait is over; the results then stand in the
 * struct. */
bool rtt_probe_finished(const struct rtt_probe *probe, uint64_t now_ns);
