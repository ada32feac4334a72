/* The rate of the sender: what the strategy says, under the cap. */
#include "edge/sender_internal.h"

#include "base/units.h"
#include "edge/gather.h"

void sender_apply_rate(struct sender *sender)
{
    uint64_t rate_bps = MIN(sender->congestion.rate_bps, sender->rate_cap_bps);
    uint64_t trip_bytes = bytes_within(rate_bps, sender->rtt.smoothed_ns);
    pacer_set_rate(&sender->pacer, rate_bps);
    repeat_budget_set_trip(&sender->repeat_budget, trip_bytes / sender->config.packet_bytes_max);
}

void sender_set_congestion(struct sender *sender, const struct congestion_type *type, uint64_t initial_bps,
                           bool known, uint64_t now_ns)
{
    sender->congestion = (struct congestion){
        .type = type, .packet_bytes = sender->config.packet_bytes_max, .gather_ns = TIME_NEVER};
    sender->began_ns = now_ns;
    type->init(&sender->congestion, initial_bps, known, sender->rtt.smoothed_ns, now_ns);
    sender_apply_rate(sender);
}

void sender_set_cap(struct sender *sender, uint64_t rate_cap_bps)
{
    sender->rate_cap_bps = MAX(rate_cap_bps, SEND_RATE_MIN_BPS);
    sender_apply_rate(sender);
    /* A packet sent under a low cap must not hold the edge for long under a higher one. */
    pacer_release(&sender->pacer, sender->newest_sent_ns + sender->pacer.burst_ns);
}

uint64_t sender_gather_ns(const struct sender *sender)
{
    const struct pacer *pacer = &sender->pacer;
    if (sender->congestion.gather_ns == 0)
        return 0;
    /* Under a cap that is far below the strategy's rate what the pacer makes up for at once anyway. */
    uint64_t burst_ns = transmit_ns(pacer->burst_bytes, pacer->rate_bps);
    return MIN(MAX(sender->congestion.gather_ns, burst_ns), gather_at_ns(pacer->rate_bps));
}

uint64_t sender_rate_bps(const struct sender *sender)
{
    return sender->pacer.rate_bps;
}
