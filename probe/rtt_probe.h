/* One RTT measurement towards one peer: RTT_PROBE_ROUNDS rounds spread over a duration. Each round sends one
 * bare probe and one padded to each candidate MTU above the largest that came back so far, from the port's
 * own MTU downwards; RTT by four timestamps. Sans-IO: asks for probes to be sent, is told of replies. RTT
 * statistics count all answered probes, padded or not. Padded probes must leave unfragmented (DF); those
 * beyond the path's MTU just stay unanswered.
 *
 * The struct starts zeroed; one measurement after the other may then be started in it. Ids run on, so that
 * late replies to an earlier measurement are not taken for answers. The owner clears `active` when it has
 * read the results. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/probe.h"

#define RTT_PROBE_ROUNDS 10
/* After the last probe, for stragglers: paths up to this RTT are measured … */
#define RTT_PROBE_WAIT_NS 1500000000ULL
/* … once every bare probe has come back only this and four smoothed RTT: what is missing then is too long. */
#define RTT_PROBE_WAIT_PADDED_NS 100000000ULL
#define RTT_PROBE_CANDIDATES_MAX 5

struct rtt_probe {
    bool active;
    uint32_t mtu;         /* of the port */
    uint32_t ip_overhead; /* IP + UDP header bytes */
    uint64_t interval_ns; /* between two probes, left-out ones included */
    uint64_t next_ns;     /* TIME_NEVER: all are sent */
    uint64_t end_ns;      /* given up or complete */
    uint32_t next_id;
    uint32_t first_id; /* of this measurement: older replies are ignored */
    uint32_t end_id;
    uint16_t sent, answered;                       /* bare probes */
    uint64_t sent_bits;                            /* by id - first_id */
    uint64_t answered_bits;                        /* the same: counts each once */
    uint16_t candidates[RTT_PROBE_CANDIDATES_MAX]; /* IP packet sizes, largest first */
    uint16_t candidate_count;
    uint64_t min_ns; /* 0: no reply yet, as smoothed */
    uint64_t smoothed_ns;
    uint32_t mtu_answered; /* largest IP packet that came back; 0: none */
};

/* Candidate MTUs tried after the port's own, largest first, ended by 0; none above the port's. */
extern const uint16_t rtt_probe_mtus[];

void rtt_probe_start(struct rtt_probe *probe, uint32_t mtu, uint32_t ip_overhead, uint64_t duration_ns,
                     uint64_t now_ns);
/* The next probe that is due: fixed part and padding filled in, t1_ns = now_ns. False: none now. */
bool rtt_probe_next(struct rtt_probe *probe, uint64_t now_ns, struct wire_probe *message);
/* `datagram_bytes`: of the reply. Ignores unknown, repeated and impossible replies (returns false). */
bool rtt_probe_on_reply(struct rtt_probe *probe, const struct wire_probe *reply, uint32_t datagram_bytes,
                        uint64_t t4_ns);
/* The process stood still for gap_ns: that is not held against the peer. */
void rtt_probe_on_standstill(struct rtt_probe *probe, uint64_t gap_ns);
uint64_t rtt_probe_next_ns(const struct rtt_probe *probe); /* next send or end, TIME_NEVER when inactive */
/* True from when all were answered or the wait is over; the results then stand in the struct. */
bool rtt_probe_finished(const struct rtt_probe *probe, uint64_t now_ns);
