/* The sender put together: set-up, departures, and what is due when. */
#include "edge/sender_internal.h"

#include "base/units.h"

#define COVERS_MAX     2
#define BURST_PAUSE_NS (NS_PER_S / 2) /* after it the same job begins anew, as live input does */
#define START_RATE_BPS 10000000ULL    /* until the owner chooses a strategy */

size_t sender_bytes(const struct sender_config *config)
{
    return arena_need((size_t)config->window_packets * sizeof(struct sender_record)) +
           2 * number_bits_bytes(config->window_packets);
}

void sender_init(struct sender *sender, const struct sender_config *config, struct arena *arena)
{
    CHECK(config->window_packets >= SENDER_WINDOW_MIN && config->window_packets <= SENDER_WINDOW_MAX);
    CHECK(config->packet_bytes_max > 0 && config->packet_bytes_max <= UINT16_MAX);
    *sender = (struct sender){.config = *config, .rate_cap_bps = UINT64_MAX, .credit_end = UINT64_MAX};
    sender->records = arena_alloc(arena, (size_t)config->window_packets * sizeof(struct sender_record));
    number_bits_init(&sender->in_flight, config->window_packets, arena);
    number_bits_init(&sender->lost, config->window_packets, arena);
    rtt_init(&sender->rtt, 0);
    sender->window = config->window_packets;
    reorder_init(&sender->reorder);
    holes_init(&sender->holes);
    ring_loss_init(&sender->ring_loss);
    pacer_init(&sender->pacer, START_RATE_BPS, SENDER_BURST_PACKETS * config->packet_bytes_max, 0);
    sender_set_congestion(sender, &congestion_fixed_type, START_RATE_BPS, true, 0);
}

void sender_reset(struct sender *sender, uint64_t now_ns)
{
    number_bits_clear_range(&sender->in_flight, sender->floor, sender->next_number);
    number_bits_clear_range(&sender->lost, sender->floor, sender->next_number);
    sender->next_number = 0;
    sender->floor = 0;
    sender->in_flight_bytes = 0;
    sender->in_flight_packets = 0;
    sender->credit_end = UINT64_MAX;
    sender->largest_acked = 0;
    sender->any_acked = false;
    sender->rtt_from = 0;
    holes_forget(&sender->holes);
    ring_loss_forget(&sender->ring_loss);
    sender->quiet_from_ns = now_ns;
    pacer_release(&sender->pacer, now_ns);
    sender->impossible_acks = 0;
    sender->probe_backoff = 0;
    sender->probe_granted = false;
    sender_end_silence(sender, now_ns);
    sender->untold_end = 0;
    sender->repeated_packets = 0;
    sender->moot_packets = 0;
    sender->delivered_bytes = 0;
    sender->delivered_known = false;
    sender->owd_known = false;
    sender->rate_window_open = false;
    sender->ce_count = 0;
    sender->limited = EDGE_LIMIT_none;
    sender->receiver_limit = EDGE_LIMIT_none;
}

void sender_set_rtt(struct sender *sender, uint64_t rtt_ns)
{
    if (sender->rtt.sampled)
        return;
    sender->rtt.smoothed_ns = rtt_ns;
    sender->rtt.variation_ns = rtt_ns / 2;
}

void sender_set_window_limit(struct sender *sender, uint32_t window_packets)
{
    window_packets = MAX(window_packets, 2 * SENDER_PROBE_RESERVE);
    sender->window = MIN(window_packets, sender->config.window_packets);
}

/* What holds a packet whatever the time; EDGE_LIMIT_none: nothing does. */
static enum edge_limit what_holds(const struct sender *sender, uint32_t wire_bytes, bool repair)
{
    bool urgent = sender->silent || (repair && sender->probe_granted);
    uint32_t reserve = urgent ? 0 : SENDER_PROBE_RESERVE;
    if (sender->next_number - sender->floor + reserve >= sender->window)
        return EDGE_LIMIT_window;
    if (!urgent && sender->in_flight_packets > 0 &&
        sender->in_flight_bytes + wire_bytes > sender->congestion.in_flight_max_bytes)
        return EDGE_LIMIT_congestion;
    if (!repair && sender->next_number >= sender->credit_end)
        return EDGE_LIMIT_credit;
    return EDGE_LIMIT_none;
}

uint64_t sender_send_ns(const struct sender *sender, uint32_t wire_bytes, bool repair, enum edge_limit *limit)
{
    *limit = what_holds(sender, wire_bytes, repair);
    if (*limit != EDGE_LIMIT_none)
        return TIME_NEVER;
    uint64_t next_ns = pacer_next_ns(&sender->pacer);
    if (sender->silent) {
        *limit = EDGE_LIMIT_congestion;
        return MAX(next_ns, sender_silent_departure_ns(sender));
    }
    *limit = sender->rate_cap_bps < sender->congestion.rate_bps ? EDGE_LIMIT_cap : EDGE_LIMIT_congestion;
    return next_ns;
}

enum edge_limit sender_cause(const struct sender *sender, enum edge_limit limit, uint64_t now_ns)
{
    bool ring = limit == EDGE_LIMIT_congestion && ring_loss_limits(&sender->ring_loss, now_ns);
    return ring ? EDGE_LIMIT_receiver_ring : limit;
}

uint64_t sender_on_sent(struct sender *sender, uint64_t content, uint16_t tag, uint32_t wire_bytes,
                        bool repair, uint64_t depart_ns)
{
    CHECK(sender->next_number - sender->floor < sender->config.window_packets);
    CHECK(wire_bytes > 0 && wire_bytes <= UINT16_MAX);
    uint64_t number = sender->next_number++;
    *sender_record(sender, number) = (struct sender_record){
        .sent_ns = depart_ns, .content = content, .wire_bytes = (uint16_t)wire_bytes, .tag = tag};
    number_bits_set(&sender->in_flight, number);
    /* A pause of more than a round trip would be measured as a low delivery rate. */
    if (sender->in_flight_packets == 0) {
        sender->quiet_from_ns = MAX(sender->quiet_from_ns, depart_ns);
        if (elapsed_ns(depart_ns, sender->newest_sent_ns) > sender->rtt.smoothed_ns) {
            sender->rate_window_open = false;
            if (tag != sender->newest_tag || elapsed_ns(depart_ns, sender->newest_sent_ns) > BURST_PAUSE_NS)
                repeat_budget_on_idle(&sender->repeat_budget);
        }
    }
    sender->in_flight_packets++;
    sender->in_flight_bytes += wire_bytes;
    sender->newest_sent_ns = depart_ns;
    sender->newest_tag = tag;
    sender->idle = false;
    sender->probe_from_ns = depart_ns;
    sender->probe_wait_ns = rtt_timeout_ns(&sender->rtt) + SENDER_ACK_SLACK_NS;
    sender->counters.sent_packets++;
    sender->counters.sent_bytes += wire_bytes;
    sender->covers_left = sender->covering ? sender->covers_left - 1 : COVERS_MAX;
    sender->covering = false;
    if (repair) {
        sender->counters.repairs++;
        sender->probe_granted = false;
    } else {
        sender->newest_new_ns = depart_ns;
        sender->drained = false;
        sender->repeats_left = 0;
        sender->repeat_from_ns = 0;
        repeat_budget_on_new(&sender->repeat_budget, sender_lossy(sender));
    }
    pacer_on_sent(&sender->pacer, wire_bytes, depart_ns);
    return number;
}

uint64_t sender_floor(const struct sender *sender)
{
    return sender->floor;
}

void sender_on_limited(struct sender *sender, enum edge_limit limit)
{
    sender->limited = limit;
    sender->idle |= limit == EDGE_LIMIT_application;
    sender->drained |= limit == EDGE_LIMIT_application;
}

void sender_on_lag(struct sender *sender, uint64_t lag_ns, uint64_t depart_ns)
{
    uint64_t lost_ns = elapsed_ns(lag_ns, sender->pacer.burst_ns);
    if (holes_on_lag(&sender->holes, lost_ns, depart_ns, sender->rtt.smoothed_ns))
        sender_on_limited(sender, EDGE_LIMIT_cpu);
    if (lost_ns < HOLES_MIN_NS)
        return;
    sender->counters.pauses++;
    sender->counters.paused_ns += lost_ns;
    uint64_t from_ns = elapsed_ns(depart_ns, lag_ns);
    uint64_t first = sender->next_number;
    while (first > sender->floor && sender_record(sender, first - 1)->sent_ns + HOLES_AHEAD_NS >= from_ns)
        first--;
    holes_add(&sender->holes, &(struct hole){sender->next_number, first, lag_ns});
}

void sender_set_wait(struct sender *sender, uint64_t wait_ns)
{
    sender->ack_wait_ns = wait_ns;
}

void sender_on_refused(struct sender *sender, uint64_t number, const struct sender_events *events)
{
    if (number < sender->floor || number >= sender->next_number ||
        !number_bits_test(&sender->in_flight, number))
        return;
    struct sender_record *record = sender_record(sender, number);
    sender_settle(sender, number);
    sender->counters.refused_packets++;
    sender_on_limited(sender, EDGE_LIMIT_port);
    events->on_lost(events->owner, record->content, record->tag);
}

void sender_on_standstill(struct sender *sender, uint64_t gap_ns)
{
    sender->rtt_from = sender->next_number;
    sender->probe_from_ns += gap_ns;
    sender->quiet_from_ns += gap_ns;
    sender->rate_window_open = false; /* deliveries of before and after the pause make no rate together */
}

void sender_on_narrower(struct sender *sender, uint64_t now_ns, const struct sender_events *events)
{
    if (elapsed_ns(now_ns, sender->quiet_from_ns) <= 2 * sender->rtt.smoothed_ns)
        return; /* acks come: they judge what is in flight */
    sender_end_silence(sender, now_ns);
    sender->untold_end = sender->next_number;
    sender->rate_window_open = false;
    sender->probe_backoff = 0;
    sender_give_up(sender, now_ns, events);
    sender->quiet_from_ns = now_ns;
}

uint64_t sender_next_ns(const struct sender *sender)
{
    if (sender->in_flight_packets == 0)
        return sender->floor == sender->next_number ? TIME_NEVER : sender->interest_until_ns;
    if (sender->silent)
        return sender_silent_probe_ns(sender);
    uint64_t next_ns = MIN(sender_probe_ns(sender), sender_silence_ns(sender));
    next_ns = MIN(next_ns, sender_cover_ns(sender));
    return MIN(next_ns, sender_repeat_ns(sender));
}

void sender_on_tick(struct sender *sender, uint64_t now_ns, const struct sender_events *events)
{
    if (now_ns < sender_next_ns(sender))
        return;
    if (sender->in_flight_packets == 0) {
        number_bits_clear_range(&sender->lost, sender->floor, sender->next_number);
        sender->floor = sender->next_number;
        return;
    }
    sender_advance_floor(sender, now_ns);
    if (sender->silent)
        sender_probe_silently(sender, now_ns, events);
    else if (now_ns >= sender_silence_ns(sender))
        sender_begin_silence(sender, now_ns);
    else if (now_ns >= sender_probe_ns(sender))
        sender_probe_tail(sender, now_ns, events);
    else if (now_ns >= sender_repeat_ns(sender))
        sender_repeat_contents(sender, now_ns, events);
    else
        sender_cover_newest(sender, events);
}
