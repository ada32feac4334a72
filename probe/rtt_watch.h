/* Keeps the RTT towards one peer known: one bare probe per interval, the least RTT of recent windows.
 * Sans-IO: asks for probes to be sent, is told of replies and of RTTs that others have measured.
 *
 * rtt_watch_min_ns: the least sample of the running window of RTT_WATCH_WINDOW_NS and of the one before, so
 * of the last 10 to 20 s while samples come: a queue that stands for less than that does not show, a longer
 * path does after 20 s. Cost: 72 bytes of datagram per interval and direction. Each probe is answered at most
 * once; the last RTT_WATCH_OUTSTANDING ids count, so RTTs up to that many intervals are measured. Ids have
 * their top bit set, which tells them from those of rtt_probe. The struct starts zeroed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/probe.h"

#define RTT_WATCH_WINDOW_NS   10000000000ULL
#define RTT_WATCH_OUTSTANDING 16u
#define RTT_WATCH_ID_BIT      0x80000000u

struct rtt_watch {
    uint64_t next_ns; /* when the next probe is due */
    uint32_t next_id;
    uint16_t waiting;     /* bit n: probe next_id - 1 - n has not been answered */
    uint64_t window_ns;   /* begin of the running window */
    uint64_t least_ns[2]; /* of the running window, of the one before; 0: no sample */
    uint64_t smoothed_ns; /* 0: no sample yet */
    uint64_t sampled_ns;  /* when the newest sample came */
};

/* The probe that is due, if there is one; the one after it is due an interval later. */
bool rtt_watch_next(struct rtt_watch *watch, uint64_t interval_ns, uint64_t now_ns,
                    struct wire_probe *message);
/* False: not an answer to one of the last probes, or impossible times. */
bool rtt_watch_on_reply(struct rtt_watch *watch, const struct wire_probe *reply, uint32_t datagram_bytes,
                        uint64_t t4_ns);
/* A sample from elsewhere. */
void rtt_watch_take(struct rtt_watch *watch, uint64_t rtt_ns, uint64_t now_ns);
uint64_t rtt_watch_min_ns(const struct rtt_watch *watch); /* 0: nothing known */
/* The newest sample is not older than age_ns. */
bool rtt_watch_fresh(const struct rtt_watch *watch, uint64_t age_ns, uint64_t now_ns);
