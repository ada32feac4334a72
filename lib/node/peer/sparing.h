/* SPARING: signs of life are rarer where data is slow.
 *
 *     interval = the one wanted, or as long as 1 % of the data between the two peers takes to pay for a hello, a
 *                probe and an answer to one in each direction; at most SPARING_MOST of those wanted
 *
 * A peer counts as gone after four intervals without any packet. Data and its acks are signs of life too, and where
 * both stop, two more hellos leave in time. 64 kbit/s: every 3 s, 2 % of the path; from 360 kbit/s on nothing changes. */
#pragma once

#include <stdint.h>

#define SPARING_MOST  3
#define SPARING_BYTES 450 /* wire bytes of hello, probe and answer */
#define SPARING_SHARE 100 /* data is at least so many times as much */

struct sparing {
    uint64_t interval_ns; /* in force */
    uint64_t looked_ns;   /* when that was found … */
    uint64_t data_bytes;  /* … and what both had sent each other by then */
};

/* No data has flown yet. */
void sparing_init(struct sparing *sparing, uint64_t wanted_ns, uint64_t now_ns);
/* Finds the interval to the next sign of life. data_bytes: wire bytes of data that came from the peer and went there so
 * far, never less than before; wanted_ns: the interval where data is fast, or none flows. */
uint64_t sparing_look(struct sparing *sparing, uint64_t data_bytes, uint64_t wanted_ns, uint64_t now_ns);
