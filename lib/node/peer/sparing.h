/* SPARING: signs of life are rarer where data is slow, and where many peers share a slow port.
 *
 *     interval = the longest of
 *                  the one wanted
 *                  as long as 1 % of the data between the two peers takes to pay for a hello, a probe and an answer to one
 *                  as long as 10 % of the port takes to pay for these to all its peers; the port of the other end, too,
 *                  which tells its interval in its hellos
 *                but at most SPARING_MOST of those wanted
 *
 * A peer counts as gone after four intervals without any packet. Data and its acks are signs of life too, and where
 * both stop, two more hellos leave in time. 64 kbit/s: every 3 s, 2 % of the path; from 360 kbit/s on nothing changes.
 * 63 peers at a port of 256 kbit/s: every 3 s, 30 % of the port instead of all of it. */
#pragma once

#include <stdint.h>

#define SPARING_MOST       3
#define SPARING_BYTES      450 /* wire bytes of hello, probe and answer */
#define SPARING_SHARE      100 /* data is at least so many times as much */
#define SPARING_PORT_SHARE 10  /* the port takes so many times as much */

struct sparing {
    uint64_t port_ns;     /* what the own port affords; told to the peer */
    uint64_t interval_ns; /* in force */
    uint64_t looked_ns;   /* when that was found … */
    uint64_t data_bytes;  /* … and what both had sent each other by then */
};

/* No data has flown yet. wanted_ns: the interval where data is fast, or none flows, and few share the port; peers, port_bps: so
 * many share the port. */
void sparing_init(struct sparing *sparing, uint64_t wanted_ns, uint32_t peers, uint64_t port_bps,
                  uint64_t now_ns);
/* Finds the interval to the next sign of life. data_bytes: wire bytes of data that came from the peer and went there so
 * far, never less than before; told_ns: what the peer's port affords, 0 where that is not known. */
uint64_t sparing_look(struct sparing *sparing, uint64_t data_bytes, uint64_t wanted_ns, uint64_t told_ns,
                      uint64_t now_ns);
