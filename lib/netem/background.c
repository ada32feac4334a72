#include "netem/background.h"

#include "base/rng.h"
#include "base/units.h"

#define PACKET_SHARE (FULL_PACKET_WIRE_BYTES * 8 * NS_PER_S) /* one packet's time, in 1 / rate_bps ns */
#define PHASE_SEED   0x6261636b67726e64ULL                   /* a link's own draws stay as they are */

void netem_background_init(struct netem_background *background, uint64_t rate_bps, uint64_t seed)
{
    CHECK(rate_bps <= NETEM_BACKGROUND_BPS_MAX);
    *background = (struct netem_background){.next_ns = TIME_NEVER, .rate_bps = rate_bps};
    if (rate_bps == 0)
        return;
    struct rng rng;
    rng_init(&rng, seed ^ PHASE_SEED);
    background->interval_ns = PACKET_SHARE / rate_bps;
    background->interval_remainder = PACKET_SHARE % rate_bps;
    background->next_ns = rng_below(&rng, background->interval_ns + 1);
}

uint64_t netem_background_skip(struct netem_background *background, uint64_t now_ns)
{
    uint64_t rate_bps = background->rate_bps;
    uint64_t ahead_ns = now_ns - background->next_ns;
    unsigned __int128 span = ((unsigned __int128)ahead_ns + 1) * rate_bps - background->remainder - 1;
    uint64_t count = (uint64_t)(span / PACKET_SHARE);
    unsigned __int128 shift = (unsigned __int128)count * PACKET_SHARE + background->remainder;
    background->next_ns += (uint64_t)(shift / rate_bps);
    background->remainder = (uint64_t)(shift % rate_bps);
    return count;
}
