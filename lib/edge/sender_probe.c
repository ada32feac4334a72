/* Tail probes: where acks stay away, a packet whose ack shows the gaps before it. */
#include "edge/sender_internal.h"

#include "base/units.h"

#define BACKOFF_MAX 16u
/* Before the waits double and the strategy hears of it: at 30 % loss both ways every second probe fails. */
#define PROBES_AT_ONE_PACE 2u

uint64_t sender_probe_ns(const struct sender *sender)
{
    uint32_t doublings = sender->probe_backoff - MIN(sender->probe_backoff, PROBES_AT_ONE_PACE);
    uint64_t wait_ns = sender->probe_wait_ns << MIN(doublings, BACKOFF_MAX);
    uint64_t wait_max_ns = MAX(SENDER_PROBE_WAIT_MAX_NS, sender->probe_wait_ns);
    return sender->probe_from_ns + MIN(wait_ns, wait_max_ns);
}

/* The owner had no use for a probe, so no ack will ever judge what is in flight. */
void sender_give_up(struct sender *sender, uint64_t now_ns, const struct sender_events *events)
{
    uint64_t number = sender->floor;
    sender->probe_granted = false;
    for (uint32_t room = SENDER_LOST_PER_ACK_MAX; room > 0; room--) {
        number = number_bits_next_set(&sender->in_flight, number, sender->next_number);
        if (number == sender->next_number)
            return;
        sender_declare_lost(sender, number, now_ns, events);
    }
}

void sender_ask_probe(struct sender *sender, const struct sender_events *events)
{
    sender->probe_backoff++;
    sender->probe_granted = true;
    sender->counters.tail_probes++;
    uint64_t newest = number_bits_last_set(&sender->in_flight, sender->floor, sender->next_number);
    CHECK(newest < sender->next_number);
    sender_hand_out(sender, sender_record(sender, newest), events);
}

void sender_probe_tail(struct sender *sender, uint64_t now_ns, const struct sender_events *events)
{
    if (sender->probe_backoff >= PROBES_AT_ONE_PACE)
        sender->congestion.type->on_timeout(&sender->congestion, now_ns);
    sender_apply_rate(sender);
    sender->probe_from_ns = now_ns;
    sender->probe_wait_ns = rtt_timeout_ns(&sender->rtt) + SENDER_ACK_SLACK_NS;
    if (sender->probe_granted)
        sender_give_up(sender, now_ns, events);
    else
        sender_ask_probe(sender, events);
}
