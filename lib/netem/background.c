#include "netem/background.h"

#include "base/rng.h"
#include "base/units.h"
#include "netem/draw.h"

#define PHASE_SEED 0x6261636b67726e64ULL /* a link's own draws stay as they are */

/* bits_ns / denominator: bits of a packet * 10^9 over the rate. */
static void set_pace(struct netem_background *background, uint64_t bits_ns, uint64_t denominator)
{
    background->pace = (struct netem_pace){bits_ns / denominator, bits_ns % denominator, denominator};
    background->mean_gap = muldiv64(bits_ns, 1 << 16, denominator);
}

static void set_trimodal(struct netem_background *background, uint64_t rate_bps)
{
    uint64_t bytes = 0;
    background->size_count = NETEM_LOAD_SIZES_MAX;
    for (unsigned size = 0; size < NETEM_LOAD_SIZES_MAX; size++) {
        background->bytes[size] = netem_trimodal[size].ip_bytes + WIRE_OVERHEAD_BYTES;
        bytes += (uint64_t)netem_trimodal[size].weight * background->bytes[size];
    }
    set_pace(background, bytes * 8 * NS_PER_S, rate_bps * NETEM_TRIMODAL_WEIGHT);
}

static void draw_size(struct netem_background *background)
{
    if (background->size_count == 1)
        return;
    uint32_t number = (uint32_t)rng_below(&background->rng, NETEM_TRIMODAL_WEIGHT);
    background->next_size = (number >= netem_trimodal[0].weight) +
                            (number >= netem_trimodal[0].weight + netem_trimodal[1].weight);
}

static void step_even(struct netem_background *background)
{
    const struct netem_pace *pace = &background->pace;
    background->next_ns += pace->interval_ns;
    background->remainder += pace->interval_remainder;
    if (background->remainder >= pace->denominator) {
        background->remainder -= pace->denominator;
        background->next_ns++;
    }
}

static void step_poisson(struct netem_background *background)
{
    unsigned __int128 gap =
        (unsigned __int128)netem_draw_exponential(&background->rng) * background->mean_gap; /* in 2^-48 ns */
    uint64_t fraction = background->remainder + ((uint64_t)(gap >> 16) & UINT32_MAX);
    background->next_ns += (uint64_t)(gap >> 48) + (fraction >> 32);
    background->remainder = fraction & UINT32_MAX;
}

void netem_background_step(struct netem_background *background)
{
    switch ((enum netem_load_kind)background->kind) {
    case NETEM_LOAD_CBR:
        step_even(background);
        break;
    case NETEM_LOAD_POISSON:
        step_poisson(background);
        break;
    case NETEM_LOAD_ONOFF:
        netem_onoff_step(background->onoff, &background->rng);
        background->next_ns = netem_onoff_next_ns(background->onoff);
        break;
    }
    draw_size(background);
}

void netem_background_init(struct netem_background *background, uint64_t rate_bps, uint64_t seed)
{
    CHECK(rate_bps <= NETEM_BACKGROUND_BPS_MAX);
    *background =
        (struct netem_background){.next_ns = TIME_NEVER, .size_count = 1, .bytes = {FULL_PACKET_WIRE_BYTES}};
    if (rate_bps == 0)
        return;
    rng_init(&background->rng, seed ^ PHASE_SEED);
    set_pace(background, FULL_PACKET_WIRE_BYTES * 8 * NS_PER_S, rate_bps);
    background->next_ns = rng_below(&background->rng, background->pace.interval_ns + 1);
}

void netem_background_of(struct netem_background *background, const struct netem_load *load, uint64_t seed,
                         struct netem_onoff *onoff)
{
    CHECK(load->rate_bps > 0 && load->rate_bps <= NETEM_BACKGROUND_BPS_MAX);
    CHECK((load->kind == NETEM_LOAD_ONOFF) == (onoff != NULL));
    *background = (struct netem_background){
        .kind = load->kind, .size_count = 1, .bytes = {load->wire_bytes}, .onoff = onoff};
    rng_init(&background->rng, seed ^ load->seed ^ PHASE_SEED);
    if (load->trimodal)
        set_trimodal(background, load->rate_bps);
    else
        set_pace(background, (uint64_t)load->wire_bytes * 8 * NS_PER_S, load->rate_bps);
    switch ((enum netem_load_kind)load->kind) {
    case NETEM_LOAD_CBR:
        background->next_ns = rng_below(&background->rng, background->pace.interval_ns + 1);
        break;
    case NETEM_LOAD_POISSON:
        step_poisson(background);
        break;
    case NETEM_LOAD_ONOFF:
        netem_onoff_init(onoff, &background->pace, load->sources, load->alpha_milli, load->on_ns,
                         load->off_ns, &background->rng);
        background->next_ns = netem_onoff_next_ns(onoff);
        break;
    }
    draw_size(background);
}

uint64_t netem_background_skip(struct netem_background *background, uint64_t now_ns)
{
    const struct netem_pace *pace = &background->pace;
    uint64_t share = pace->interval_ns * pace->denominator + pace->interval_remainder; /* a packet's time */
    uint64_t ahead_ns = now_ns - background->next_ns;
    unsigned __int128 span =
        ((unsigned __int128)ahead_ns + 1) * pace->denominator - background->remainder - 1;
    uint64_t count = (uint64_t)(span / share);
    unsigned __int128 shift = (unsigned __int128)count * share + background->remainder;
    background->next_ns += (uint64_t)(shift / pace->denominator);
    background->remainder = (uint64_t)(shift % pace->denominator);
    return count;
}

void netem_background_delay(struct netem_background *background, uint64_t later_ns)
{
    if (background->next_ns == TIME_NEVER)
        return;
    background->next_ns += later_ns;
    if (background->onoff != NULL)
        netem_onoff_delay(background->onoff, later_ns);
}
