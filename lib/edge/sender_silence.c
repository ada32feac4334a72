/* Silence: no ack for long. Next to nothing leaves until one comes. */
#include "edge/sender_internal.h"

#include "base/units.h"

#define SILENT_STEP_MAX_NS (10 * NS_PER_MS)

uint64_t sender_silence_ns(const struct sender *sender)
{
    uint64_t wait_ns = MAX(SENDER_SILENCE_RTTS * sender->rtt.smoothed_ns, SENDER_SILENCE_MIN_NS);
    return sender->quiet_from_ns + wait_ns;
}

uint64_t sender_silent_departure_ns(const struct sender *sender)
{
    uint64_t rate_bps = MAX(sender->pacer.rate_bps / SENDER_SILENCE_DIVISOR, (uint64_t)1);
    uint64_t step_ns = transmit_ns(sender->config.packet_bytes_max, rate_bps);
    uint64_t rtt_ns = sender->rtt.smoothed_ns;
    step_ns = MIN(step_ns, MAX(rtt_ns, SILENT_STEP_MAX_NS));
    return sender->newest_sent_ns + MAX(step_ns, rtt_ns / 4);
}

static void tell_silence(struct sender *sender, bool silent, uint64_t now_ns)
{
    const struct congestion_type *type = sender->congestion.type;
    sender->silent = silent;
    if (type->on_silence != NULL)
        type->on_silence(&sender->congestion, silent, now_ns);
    sender_apply_rate(sender);
}

void sender_begin_silence(struct sender *sender, uint64_t now_ns)
{
    sender->counters.silences++;
    sender->rtt_from = sender->next_number;
    sender->probe_from_ns = now_ns;
    tell_silence(sender, true, now_ns);
}

void sender_end_silence(struct sender *sender, uint64_t now_ns)
{
    if (!sender->silent)
        return;
    sender->untold_end = sender->next_number;
    sender->rtt_from = sender->next_number;
    tell_silence(sender, false, now_ns);
}

/* Gives the owner something to send: the newest in flight, or the oldest where the window is full. What it
 * sends may be something else. */
void sender_probe_silently(struct sender *sender, uint64_t now_ns, const struct sender_events *events)
{
    uint64_t since_ns = MAX(sender->newest_sent_ns, sender_silence_ns(sender));
    sender->probe_from_ns = now_ns;
    if (elapsed_ns(now_ns, since_ns) > rtt_timeout_ns(&sender->rtt) + SENDER_ACK_SLACK_NS) {
        sender_give_up(sender, now_ns, events);
    } else if (sender->next_number - sender->floor + 1 >= sender->window) {
        sender_declare_lost(sender, sender->floor, now_ns, events);
        sender_advance_floor(sender, now_ns);
    } else if (!sender->probe_granted) {
        sender_ask_probe(sender, events);
    }
}

/* In a silence: after the newest packet, and after the newest attempt. */
uint64_t sender_silent_probe_ns(const struct sender *sender)
{
    uint64_t step_ns = sender_silent_departure_ns(sender) - sender->newest_sent_ns;
    return MAX(sender->newest_sent_ns, sender->probe_from_ns) + step_ns;
}
