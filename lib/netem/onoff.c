#include "netem/onoff.h"

#include "base/units.h"
#include "netem/draw.h"

#define RING_MASK (NETEM_SOURCES_MAX - 1)
_Static_assert((NETEM_SOURCES_MAX & RING_MASK) == 0, "a ring");

static uint64_t least_ns(const struct netem_onoff *onoff, uint64_t mean_ns)
{
    return muldiv64(mean_ns, onoff->alpha_milli - 1000, onoff->alpha_milli);
}

static uint64_t draw_ns(const struct netem_onoff *onoff, uint64_t mean_ns, struct rng *rng)
{
    return netem_draw_pareto_ns(rng, least_ns(onoff, mean_ns), onoff->alpha_milli);
}

/* What is left of a time into which one looks at random: below the least one all values are alike, with
 * the share (alpha - 1) / alpha; beyond it the tail is heavier by one. */
static uint64_t draw_rest_ns(const struct netem_onoff *onoff, uint64_t mean_ns, struct rng *rng)
{
    uint64_t least = least_ns(onoff, mean_ns);
    if (rng_below(rng, onoff->alpha_milli) < onoff->alpha_milli - 1000)
        return rng_below(rng, least + 1);
    return netem_draw_pareto_ns(rng, least, onoff->alpha_milli - 1000);
}

/* Moves a packet that would come behind the time on into the one that it belongs to. */
static void rest(struct netem_onoff *onoff, unsigned source, struct rng *rng)
{
    while (onoff->next_ns[source] >= onoff->end_ns[source]) {
        uint64_t off_ns = draw_ns(onoff, onoff->off_ns, rng), on_ns = draw_ns(onoff, onoff->on_ns, rng);
        onoff->next_ns[source] += off_ns;
        onoff->end_ns[source] += off_ns + on_ns;
    }
}

/* By their next packets: exactly, so that those that are on keep their order whatever is rounded. */
static bool sooner(const struct netem_onoff *onoff, unsigned one, unsigned other)
{
    if (onoff->next_ns[one] != onoff->next_ns[other])
        return onoff->next_ns[one] < onoff->next_ns[other];
    return onoff->remainder[one] < onoff->remainder[other];
}

static void wait_off(struct netem_onoff *onoff, unsigned source)
{
    unsigned place = onoff->waiting_count++;
    for (; place > 0 && sooner(onoff, onoff->waiting[place - 1], source); place--)
        onoff->waiting[place] = onoff->waiting[place - 1];
    onoff->waiting[place] = (uint8_t)source;
}

void netem_onoff_init(struct netem_onoff *onoff, const struct netem_pace *pace, unsigned count,
                      uint32_t alpha_milli, uint64_t on_ns, uint64_t off_ns, struct rng *rng)
{
    CHECK(count > 0 && count <= NETEM_SOURCES_MAX && alpha_milli > 1000 && on_ns > 0 && off_ns > 0);
    *onoff = (struct netem_onoff){
        .pace = *pace, .alpha_milli = alpha_milli, .on_ns = on_ns, .off_ns = off_ns, .count = (uint8_t)count};
    for (unsigned source = 0; source < count; source++) {
        bool on = rng_below(rng, on_ns + off_ns) < on_ns;
        uint64_t begin_ns = on ? 0 : draw_rest_ns(onoff, off_ns, rng);
        uint64_t left_ns = on ? draw_rest_ns(onoff, on_ns, rng) : draw_ns(onoff, on_ns, rng);
        onoff->end_ns[source] = begin_ns + left_ns;
        onoff->next_ns[source] = begin_ns + rng_below(rng, pace->interval_ns + 1);
        rest(onoff, source, rng);
        wait_off(onoff, source);
    }
}

/* Whether the next packet is one of a source that begins, not of one that goes on. */
static bool begins(const struct netem_onoff *onoff)
{
    if (onoff->waiting_count == 0 || onoff->active_count == 0)
        return onoff->active_count == 0;
    return sooner(onoff, onoff->waiting[onoff->waiting_count - 1], onoff->active[onoff->active_head]);
}

static unsigned first(const struct netem_onoff *onoff)
{
    return begins(onoff) ? onoff->waiting[onoff->waiting_count - 1] : onoff->active[onoff->active_head];
}

uint64_t netem_onoff_next_ns(const struct netem_onoff *onoff)
{
    return onoff->next_ns[first(onoff)];
}

/* Behind this packet the source is the last of those that are on: the others have sent before, and go on
 * at the same pace. */
void netem_onoff_step(struct netem_onoff *onoff, struct rng *rng)
{
    unsigned source = first(onoff);
    if (begins(onoff)) {
        onoff->waiting_count--;
    } else {
        onoff->active_head = (onoff->active_head + 1) & RING_MASK;
        onoff->active_count--;
    }
    onoff->next_ns[source] += onoff->pace.interval_ns;
    onoff->remainder[source] += onoff->pace.interval_remainder;
    if (onoff->remainder[source] >= onoff->pace.denominator) {
        onoff->remainder[source] -= onoff->pace.denominator;
        onoff->next_ns[source]++;
    }
    if (onoff->next_ns[source] < onoff->end_ns[source]) {
        onoff->active[(onoff->active_head + onoff->active_count++) & RING_MASK] = (uint8_t)source;
        return;
    }
    rest(onoff, source, rng);
    wait_off(onoff, source);
}

void netem_onoff_delay(struct netem_onoff *onoff, uint64_t later_ns)
{
    for (unsigned source = 0; source < onoff->count; source++) {
        onoff->next_ns[source] += later_ns;
        onoff->end_ns[source] += later_ns;
    }
}
