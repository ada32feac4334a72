#include "edge/pacer.h"

#include "base/check.h"
#include "base/units.h"

static void set_burst(struct pacer *pacer)
{
    pacer->burst_ns = MAX(transmit_ns(pacer->burst_bytes, pacer->rate_bps), pacer->catch_up_ns);
}

void pacer_init(struct pacer *pacer, uint64_t rate_bps, uint32_t burst_bytes, uint64_t now_ns)
{
    CHECK(rate_bps > 0);
    *pacer = (struct pacer){.rate_bps = rate_bps, .next_ns = now_ns, .burst_bytes = burst_bytes};
    set_burst(pacer);
}

void pacer_set_rate(struct pacer *pacer, uint64_t rate_bps)
{
    CHECK(rate_bps > 0);
    if (rate_bps == pacer->rate_bps)
        return;
    pacer->remainder = muldiv64(pacer->remainder, rate_bps, pacer->rate_bps);
    pacer->rate_bps = rate_bps;
    set_burst(pacer);
}

void pacer_set_catch_up(struct pacer *pacer, uint64_t catch_up_ns)
{
    if (catch_up_ns == pacer->catch_up_ns)
        return;
    pacer->catch_up_ns = catch_up_ns;
    set_burst(pacer);
}

uint64_t pacer_next_ns(const struct pacer *pacer)
{
    return pacer->next_ns;
}

void pacer_release(struct pacer *pacer, uint64_t latest_ns)
{
    if (pacer->next_ns <= latest_ns)
        return;
    pacer->next_ns = latest_ns;
    pacer->remainder = 0;
}

void pacer_skip(struct pacer *pacer, uint64_t until_ns)
{
    if (pacer->next_ns >= until_ns)
        return;
    pacer->next_ns = until_ns;
    pacer->remainder = 0;
}

void pacer_on_sent(struct pacer *pacer, uint32_t wire_bytes, uint64_t depart_ns)
{
    CHECK(depart_ns >= pacer->next_ns);
    if (depart_ns - pacer->next_ns > pacer->burst_ns) {
        pacer->next_ns = depart_ns - pacer->burst_ns;
        pacer->remainder = 0;
    }
    /* bits * 1e9 stays below 2^64 for every packet below 2 GB. */
    uint64_t duration = wire_bytes * 8 * NS_PER_S + pacer->remainder;
    pacer->next_ns += duration / pacer->rate_bps;
    pacer->remainder = duration % pacer->rate_bps;
}
