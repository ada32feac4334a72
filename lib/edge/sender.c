/* The sender but for its acks (sender_ack.c) and its timers (sender_tail.c): set-up, departures, the floor.
 */
#include "edge/sender_internal.h"

#include "base/serial.h"
#include "base/units.h"

#define COVERS_MAX     2
#define START_RATE_BPS 10000000ULL /* until the owner chooses a strategy */

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
    sender->quiet_from_ns = now_ns;
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

void sender_set_congestion(struct sender *sender, const struct congestion_type *type, uint64_t initial_bps,
                           bool known, uint64_t now_ns)
{
    sender->congestion = (struct congestion){.type = type, .packet_bytes = sender->config.packet_bytes_max};
    type->init(&sender->congestion, initial_bps, known, sender->rtt.smoothed_ns, now_ns);
    sender_apply_rate(sender);
}

void sender_set_cap(struct sender *sender, uint64_t rate_cap_bps)
{
    CHECK(rate_cap_bps > 0);
    sender->rate_cap_bps = rate_cap_bps;
    sender_apply_rate(sender);
}

void sender_set_window_limit(struct sender *sender, uint32_t window_packets)
{
    window_packets = MAX(window_packets, 2 * SENDER_PROBE_RESERVE);
    sender->window = MIN(window_packets, sender->config.window_packets);
}

void sender_apply_rate(struct sender *sender)
{
    pacer_set_rate(&sender->pacer, MIN(sender->congestion.rate_bps, sender->rate_cap_bps));
}

/* What holds a packet whatever the time; EDGE_LIMIT_none: nothing does. */
static enum edge_limit held_by(const struct sender *sender, uint32_t wire_bytes, bool repair)
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
    *limit = held_by(sender, wire_bytes, repair);
    if (*limit != EDGE_LIMIT_none)
        return TIME_NEVER;
    uint64_t next_ns = pacer_next_ns(&sender->pacer);
    if (sender->silent) {
        *limit = EDGE_LIMIT_congestion;
        return MAX(next_ns, sender_silent_ns(sender));
    }
    *limit = sender->rate_cap_bps < sender->congestion.rate_bps ? EDGE_LIMIT_cap : EDGE_LIMIT_congestion;
    return next_ns;
}

static bool lossy(const struct sender *sender)
{
    return sender->counters.lost_packets * SENDER_REPEAT_LOSSY > sender->counters.sent_packets;
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
            sender->repeats_fast = sender->repeats_even = 0;
            sender->repeat_budget = MIN(sender->repeat_budget, 0);
        }
    }
    sender->in_flight_packets++;
    sender->in_flight_bytes += wire_bytes;
    sender->newest_sent_ns = depart_ns;
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
        sender_earn_repeats(sender, lossy(sender) ? SENDER_REPEAT_SHARE_LOSSY : SENDER_REPEAT_SHARE);
    }
    pacer_on_sent(&sender->pacer, wire_bytes, depart_ns);
    return number;
}

uint64_t sender_floor(const struct sender *sender)
{
    return sender->floor;
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

void sender_on_limited(struct sender *sender, enum edge_limit limit)
{
    sender->limited = limit;
    sender->idle |= limit == EDGE_LIMIT_application;
    sender->drained |= limit == EDGE_LIMIT_application;
}

/* Two round trips after its departure a packet is given up for good; at least a quarter after the verdict. */
static uint64_t interest_end_ns(const struct sender *sender, uint64_t sent_ns, uint64_t now_ns)
{
    uint64_t turn_ns = sender->rtt.smoothed_ns + sender->reorder.allowance_ns;
    uint64_t end_ns = MIN(now_ns + turn_ns, sent_ns + 2 * turn_ns);
    return MAX(end_ns, now_ns + sender->rtt.smoothed_ns / 4);
}

void sender_settle(struct sender *sender, uint64_t number)
{
    const struct sender_record *record = sender_record(sender, number);
    number_bits_clear(&sender->in_flight, number);
    sender->in_flight_packets--;
    sender->in_flight_bytes -= record->wire_bytes;
    sender->repeated_packets -= record->note != SENDER_ONE_COPY;
}

/* The newest copy of what has come by another one is lost: that other one was no repeat too many. */
static void settle_moot(struct sender *sender)
{
    sender->moot_packets -= MIN(sender->moot_packets, (uint64_t)1);
    sender->repeat_budget += SENDER_REPEAT;
}

void sender_declare_lost(struct sender *sender, uint64_t number, uint64_t now_ns,
                         const struct sender_events *events)
{
    struct sender_record *record = sender_record(sender, number);
    sender_settle(sender, number);
    number_bits_set(&sender->lost, number);
    uint64_t end_ns = interest_end_ns(sender, record->sent_ns, now_ns);
    record->note = (uint32_t)(end_ns / NS_PER_US);
    sender->interest_until_ns = MAX(sender->interest_until_ns, end_ns);
    sender->counters.lost_packets++;
    sender_earn_repeats(sender, lossy(sender) ? SENDER_REPEAT_SHARE_LOSSY_LOST : SENDER_REPEAT_SHARE_LOST);
    if (events != NULL && !events->on_lost(events->owner, record->content, record->tag))
        settle_moot(sender);
}

/* Whether the lost packet at the floor is still waited for. A window three quarters full cannot afford it. */
static bool lost_of_interest(const struct sender *sender, uint64_t number, uint64_t now_ns)
{
    uint32_t window = sender->window;
    if (sender->next_number - number > window - window / 4)
        return false;
    return serial_distance32(sender_record(sender, number)->note, (uint32_t)(now_ns / NS_PER_US)) > 0;
}

/* The first number from the floor on that is in flight or lost. */
static uint64_t first_open(const struct sender *sender)
{
    uint64_t from = sender->floor;
    while (from < sender->next_number) {
        uint64_t word = *number_bits_word(&sender->in_flight, from) | *number_bits_word(&sender->lost, from);
        word &= ~0ULL << (from % 64);
        uint64_t first = from & ~63ULL;
        if (word != 0)
            return MIN(first + (uint64_t)__builtin_ctzll(word), sender->next_number);
        from = first + 64;
    }
    return sender->next_number;
}

void sender_advance_floor(struct sender *sender, uint64_t now_ns)
{
    for (;;) {
        sender->floor = first_open(sender);
        if (sender->floor == sender->next_number || !number_bits_test(&sender->lost, sender->floor) ||
            lost_of_interest(sender, sender->floor, now_ns))
            return;
        number_bits_clear(&sender->lost, sender->floor);
    }
}

void sender_on_standstill(struct sender *sender, uint64_t gap_ns)
{
    sender->rtt_from = sender->next_number;
    sender->probe_from_ns += gap_ns;
    sender->quiet_from_ns += gap_ns;
    sender->rate_window_open = false; /* deliveries of before and after the pause make no rate together */
}

uint64_t sender_rate_bps(const struct sender *sender)
{
    return sender->pacer.rate_bps;
}
