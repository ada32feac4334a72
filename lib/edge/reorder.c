#include "edge/reorder.h"

#include "base/units.h"

#define MARGIN_STEP 16u

void reorder_init(struct reorder *reorder)
{
    *reorder = (struct reorder){.allowance_ns = REORDER_MIN_NS, .margin = REORDER_MARGIN};
}

static void set_allowance(struct reorder *reorder, uint64_t rtt_ns)
{
    uint64_t allowance_ns = reorder->late_ns + reorder->late_ns / 64 * reorder->margin;
    if (reorder->watched_ns < rtt_ns / 2)
        allowance_ns = MAX(allowance_ns, MIN(rtt_ns / 4, REORDER_CEILING_NS));
    allowance_ns = MAX(allowance_ns, REORDER_MIN_NS);
    reorder->allowance_ns = MIN(allowance_ns, MAX(rtt_ns, REORDER_CEILING_NS));
}

static void fade_lateness(struct reorder *reorder, uint64_t rtt_ns, uint64_t now_ns)
{
    uint64_t passed_ns = MIN(elapsed_ns(now_ns, reorder->fresh_ns), rtt_ns);
    reorder->fresh_ns = now_ns;
    reorder->late_ns -= muldiv64(reorder->late_ns, passed_ns, REORDER_FADE_RTTS * rtt_ns);
    reorder->calm_ns += passed_ns;
    if (reorder->calm_ns >= REORDER_CALM_RTTS * rtt_ns) {
        reorder->calm_ns = 0;
        reorder->margin -= reorder->margin > REORDER_MARGIN;
    }
}

void reorder_on_ack(struct reorder *reorder, uint64_t late_ns, uint64_t newest_sent_ns, uint64_t rtt_ns,
                    uint64_t now_ns)
{
    rtt_ns = MAX(rtt_ns, (uint64_t)1);
    fade_lateness(reorder, rtt_ns, now_ns);
    if (newest_sent_ns > reorder->newest_sent_ns) {
        /* A pause between departures is no time of watching. */
        uint64_t step_ns = newest_sent_ns - reorder->newest_sent_ns;
        if (reorder->newest_sent_ns != 0 && step_ns < rtt_ns)
            reorder->watched_ns += step_ns;
        reorder->newest_sent_ns = newest_sent_ns;
    }
    reorder->late_ns = MAX(reorder->late_ns, late_ns);
    set_allowance(reorder, rtt_ns);
}

void reorder_on_spurious(struct reorder *reorder, uint64_t rtt_ns)
{
    reorder->margin = MIN(reorder->margin + MARGIN_STEP, REORDER_MARGIN_MAX);
    reorder->calm_ns = 0;
    set_allowance(reorder, rtt_ns);
}
