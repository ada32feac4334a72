/* Cross traffic of a link without packets: evenly spaced ones of full size (FULL_PACKET_WIRE_BYTES), of which
 * each arrival is known in closed form. Nobody is called for them: the link takes in what has come by then
 * whenever it is asked for something (netem_catch_up), and passes over all but the last of those that found it
 * idle. Packet n comes at start + floor(n * bits / rate) ns, exactly, wherever some were passed over. */
#pragma once

#include <stdint.h>

#define NETEM_BACKGROUND_BPS_MAX 10000000000000ULL

struct netem_background {
    uint64_t next_ns; /* when the next one comes; TIME_NEVER: there are none */
    uint64_t rate_bps;
    uint64_t remainder;                       /* what it comes behind next_ns, in 1 / rate_bps ns */
    uint64_t interval_ns, interval_remainder; /* from one to the next, likewise */
};

/* The first comes within an interval from 0, as the seed says. Rate 0: none. */
void netem_background_init(struct netem_background *background, uint64_t rate_bps, uint64_t seed);
/* The next one has come. */
static inline void netem_background_step(struct netem_background *background)
{
    background->next_ns += background->interval_ns;
    background->remainder += background->interval_remainder;
    if (background->remainder >= background->rate_bps) {
        background->remainder -= background->rate_bps;
        background->next_ns++;
    }
}
/* Passes over those before the last one that comes by now_ns >= next_ns; returns how many. */
uint64_t netem_background_skip(struct netem_background *background, uint64_t now_ns);
