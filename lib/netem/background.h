/* Cross traffic of a link without packets: when each of them comes follows from those before it, in closed
 * form or by a draw. Nobody is called for them: the link takes in what has come by then whenever it is asked
 * for something (netem_catch_up), and passes over all but the last of evenly spaced ones that found it idle.
 *
 * Packet n of evenly spaced ones comes at start + floor(n * bits / rate) ns, exactly, wherever some were
 * passed over; the other kinds carry what is below a nanosecond likewise. Sizes are drawn independently of
 * times, and gaps do not depend on them: the rate is that of the mean size. Same load and seed, same
 * packets. */
#pragma once

#include <stdint.h>

#include "base/rng.h"
#include "netem/config.h"
#include "netem/onoff.h"

#define NETEM_BACKGROUND_BPS_MAX 10000000000000ULL

struct netem_background {
    uint64_t next_ns;                     /* when the next one comes; TIME_NEVER: there are none */
    uint8_t next_size;                    /* of it: an index of the sizes */
    uint8_t kind, size_count;             /* enum netem_load_kind */
    uint32_t bytes[NETEM_LOAD_SIZES_MAX]; /* on the wire */
    struct netem_pace pace; /* from one to the next; of Poisson the mean, of one source of on/off while on */
    uint64_t remainder;     /* beyond next_ns, in 1 / pace.denominator ns, of Poisson in 2^-32 ns */
    uint64_t mean_gap;      /* of Poisson, in 2^-16 ns */
    struct rng rng;
    struct netem_onoff *onoff;
    /* The link's: what each size takes of its line (ns, and 1 / rate_bps ns besides), and its next
     * background. */
    uint64_t share_ns[NETEM_LOAD_SIZES_MAX], share_remainder[NETEM_LOAD_SIZES_MAX];
    struct netem_background *following;
};

/* Evenly spaced packets of full size (FULL_PACKET_WIRE_BYTES); the first comes within an interval from 0,
 * as the seed says. Rate 0: none. */
void netem_background_init(struct netem_background *background, uint64_t rate_bps, uint64_t seed);
/* Those of a valid load, from 0 on. `onoff`: storage that lives as long as the background, for that kind;
 * else NULL. */
void netem_background_of(struct netem_background *background, const struct netem_load *load, uint64_t seed,
                         struct netem_onoff *onoff);
/* The next one has come. */
void netem_background_step(struct netem_background *background);
/* Passes over those before the last one that comes by now_ns >= next_ns; returns how many. Evenly spaced
 * ones of one size only. */
uint64_t netem_background_skip(struct netem_background *background, uint64_t now_ns);
/* All of them are later by that. */
void netem_background_delay(struct netem_background *background, uint64_t later_ns);
