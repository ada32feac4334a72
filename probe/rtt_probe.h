/* One RTT measurement towards one peer: RTT_PROBE_ROUNDS bare probes spread over a duration, RTT by four
 * timestamps; and the path's MTU by padded ones. What a measurement sends must not be what it measures: 14
 * peers begin theirs towards a site at the same time, and each round of padded probes would fill a line of
 * 5 Mbit/s for a tenth of a second. So one probe of the port's own size goes at once, and another of every
 * candidate size above the largest that came back only when that is overdue by the RTT seen by then; the more
 * bare ones are missing too, the more often. Sans-IO: asks for probes to be sent, is told of replies. RTT
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
/* After the last probe, while nothing has come back: paths up to this RTT are measured, jitter included. */
#define RTT_PROBE_SILENCE_NS 4000000000ULL
/* No round of padded probes begins later than this after the bare ones. */
#define RTT_PROBE_WAIT_NS 1500000000ULL
/* Beyond a round trip and a quarter, until what is missing counts as lost. */
#define RTT_PROBE_LATE_NS 20000000ULL
/* Rounds of padded probes: without loss, and at most. */
#define RTT_PROBE_TRIES_LEAST    3
#define RTT_PROBE_TRIES_MAX      10
#define RTT_PROBE_CANDIDATES_MAX 5
#define RTT_PROBE_PLACES         (RTT_PROBE_ROUNDS + RTT_PROBE_TRIES_MAX * RTT_PROBE_CANDIDATES_MAX)

struct rtt_probe {
    bool active;
    uint32_t mtu;            /* of the port */
    uint32_t ip_overhead;    /* IP + UDP header bytes */
    uint64_t interval_ns;    /* between two bare probes */
    uint64_t bare_ns;        /* the next bare probe; TIME_NEVER: all are sent */
    uint64_t bare_sent_ns;   /* the last one */
    uint64_t padded_ns;      /* the next padded probe; TIME_NEVER: none for now */
    uint64_t padded_sent_ns; /* the last one */
    uint64_t padded_end_ns;  /* no round of padded ones begins later */
    uint64_t end_ns;         /* given up or complete */
    uint32_t next_id;
    uint32_t first_id;                             /* of this measurement: older replies are ignored */
    uint8_t steps[RTT_PROBE_PLACES];               /* of id - first_id: 0 bare, else 1 + its candidate */
    uint16_t sent, answered;                       /* bare probes */
    uint64_t answered_bits;                        /* by id - first_id: counts each once */
    uint16_t candidates[RTT_PROBE_CANDIDATES_MAX]; /* IP packet sizes, largest first */
    uint16_t candidate_count;
    uint8_t candidate; /* place of the next one in this round of padded probes */
    /* While none has come back every other round is: behind larger ones a small probe never finds room in the queue
     * of a slow line. */
    bool smallest_first;
    uint8_t tries;   /* such rounds that have begun */
    uint64_t min_ns; /* 0: no reply yet, as smoothed */
    uint64_t smoothed_ns;
    uint64_t round_ns;     /* the same with the time that the peer took to answer */
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
/* IP bytes that the path carries, as far as this measurement tells; 0: too much was lost to say. */
uint32_t rtt_probe_path_mtu(const struct rtt_probe *probe);
uint64_t rtt_probe_next_ns(const struct rtt_probe *probe); /* next send or end, TIME_NEVER when inactive */
/* Of a finished one: the peer answers, and of all that was padded nothing has come back: the path is narrower than what
 * was tried, or was full for that moment. Worth another look. */
bool rtt_probe_narrow(const struct rtt_probe *probe);
/* Of a finished one: the peer answers, and of what was padded nothing has come back, whatever that says. */
bool rtt_probe_unpadded(const struct rtt_probe *probe);
/* True from when all were answered or the wait is over; the results then stand in the struct. */
bool rtt_probe_finished(const struct rtt_probe *probe, uint64_t now_ns);
