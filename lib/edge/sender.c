/* The sender but for its acks (sender_ack.c): set-up, departures, the tail timer and the floor. */
#include "edge/sender.h"

#include "base/serial.h"
#include "base/units.h"

#define START_RATE_BPS 10000000ULL /* until the owner chooses a strategy */
#define BACKOFF_MAX    16u
/* Before the waits double and the strategy hears of it: at 30 % loss both ways every second probe fails. */
#define PROBES_AT_ONE_PACE 2u

static struct sender_record *record_of(const struct sender *sender, uint64_t number)
{
    return &sender->records[number & (sender->config.window_packets - 1)];
}

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
    sender->reorder_ns = SENDER_REORDER_MIN_NS;
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
    sender->last_ack_ns = now_ns;
    sender->probe_backoff = 0;
    sender->probe_granted = false;
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
    sender->congestion = (struct congestion){.type = type};
    type->init(&sender->congestion, initial_bps, known, sender->rtt.smoothed_ns, now_ns);
    sender_apply_rate(sender);
}

void sender_set_cap(struct sender *sender, uint64_t rate_cap_bps)
{
    CHECK(rate_cap_bps > 0);
    sender->rate_cap_bps = rate_cap_bps;
    sender_apply_rate(sender);
}

void sender_apply_rate(struct sender *sender)
{
    pacer_set_rate(&sender->pacer, MIN(sender->congestion.rate_bps, sender->rate_cap_bps));
}

uint64_t sender_send_ns(const struct sender *sender, uint32_t wire_bytes, bool repair, enum edge_limit *limit)
{
    bool probe = repair && sender->probe_granted;
    uint32_t reserve = probe ? 0 : SENDER_PROBE_RESERVE;
    if (sender->next_number - sender->floor + reserve >= sender->config.window_packets) {
        *limit = EDGE_LIMIT_window;
        return TIME_NEVER;
    }
    if (!probe && sender->in_flight_packets > 0 &&
        sender->in_flight_bytes + wire_bytes > sender->congestion.in_flight_max_bytes) {
        *limit = EDGE_LIMIT_congestion;
        return TIME_NEVER;
    }
    if (!repair && sender->next_number >= sender->credit_end) {
        *limit = EDGE_LIMIT_credit;
        return TIME_NEVER;
    }
    *limit = sender->rate_cap_bps < sender->congestion.rate_bps ? EDGE_LIMIT_cap : EDGE_LIMIT_congestion;
    return pacer_next_ns(&sender->pacer);
}

uint64_t sender_on_sent(struct sender *sender, uint64_t content, uint16_t tag, uint32_t wire_bytes,
                        bool repair, uint64_t depart_ns)
{
    CHECK(sender->next_number - sender->floor < sender->config.window_packets);
    CHECK(wire_bytes > 0 && wire_bytes <= UINT16_MAX);
    uint64_t number = sender->next_number++;
    *record_of(sender, number) = (struct sender_record){
        .sent_ns = depart_ns, .content = content, .wire_bytes = (uint16_t)wire_bytes, .tag = tag};
    number_bits_set(&sender->in_flight, number);
    /* A pause of more than a round trip would be measured as a low delivery rate. */
    if (sender->in_flight_packets == 0 &&
        elapsed_ns(depart_ns, sender->newest_sent_ns) > sender->rtt.smoothed_ns)
        sender->rate_window_open = false;
    sender->in_flight_packets++;
    sender->in_flight_bytes += wire_bytes;
    sender->newest_sent_ns = depart_ns;
    sender->probe_from_ns = depart_ns;
    sender->probe_wait_ns = rtt_timeout_ns(&sender->rtt) + SENDER_ACK_SLACK_NS;
    sender->counters.sent_packets++;
    sender->counters.sent_bytes += wire_bytes;
    if (repair) {
        sender->counters.repairs++;
        sender->probe_granted = false;
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
    struct sender_record *record = record_of(sender, number);
    number_bits_clear(&sender->in_flight, number);
    sender->in_flight_packets--;
    sender->in_flight_bytes -= record->wire_bytes;
    sender->counters.refused_packets++;
    sender_on_limited(sender, EDGE_LIMIT_port);
    events->on_lost(events->owner, record->content, record->tag);
}

void sender_on_limited(struct sender *sender, enum edge_limit limit)
{
    sender->limited = limit;
}

uint64_t sender_interest_ns(const struct sender *sender)
{
    return sender->rtt.smoothed_ns + sender->reorder_ns;
}

void sender_declare_lost(struct sender *sender, uint64_t number, uint64_t now_ns,
                         const struct sender_events *events)
{
    struct sender_record *record = record_of(sender, number);
    number_bits_clear(&sender->in_flight, number);
    number_bits_set(&sender->lost, number);
    record->lost_us = (uint32_t)(now_ns / NS_PER_US);
    sender->in_flight_packets--;
    sender->in_flight_bytes -= record->wire_bytes;
    sender->counters.lost_packets++;
    sender->interest_until_ns = now_ns + sender_interest_ns(sender);
    events->on_lost(events->owner, record->content, record->tag);
}

/* Whether the lost packet at the floor is still waited for. A window three quarters full cannot afford it. */
static bool lost_of_interest(const struct sender *sender, uint64_t number, uint64_t now_ns)
{
    uint32_t window = sender->config.window_packets;
    if (sender->next_number - number > window - window / 4)
        return false;
    /* Signed: packets' own receive times may lie a little before the time of a tick. */
    int32_t age_us = serial_distance32((uint32_t)(now_ns / NS_PER_US), record_of(sender, number)->lost_us);
    return age_us < (int64_t)(sender_interest_ns(sender) / NS_PER_US);
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

static uint64_t probe_ns(const struct sender *sender)
{
    if (sender->in_flight_packets == 0)
        return TIME_NEVER;
    uint32_t doublings = sender->probe_backoff - MIN(sender->probe_backoff, PROBES_AT_ONE_PACE);
    uint64_t wait_ns = sender->probe_wait_ns << MIN(doublings, BACKOFF_MAX);
    uint64_t wait_max_ns = MAX(SENDER_PROBE_WAIT_MAX_NS, sender->probe_wait_ns);
    return sender->probe_from_ns + MIN(wait_ns, wait_max_ns);
}

uint64_t sender_next_ns(const struct sender *sender)
{
    if (sender->in_flight_packets > 0 || sender->floor == sender->next_number)
        return probe_ns(sender);
    return sender->interest_until_ns;
}

/* The owner had no use for a probe, so no ack will ever judge what is in flight. */
static void give_up(struct sender *sender, uint64_t now_ns, const struct sender_events *events)
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

static void ask_probe(struct sender *sender, const struct sender_events *events)
{
    sender->probe_backoff++;
    sender->probe_granted = true;
    sender->counters.tail_probes++;
    uint64_t newest = number_bits_last_set(&sender->in_flight, sender->floor, sender->next_number);
    CHECK(newest < sender->next_number);
    const struct sender_record *record = record_of(sender, newest);
    events->on_probe(events->owner, record->content, record->tag);
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
    if (sender->probe_backoff >= PROBES_AT_ONE_PACE)
        sender->congestion.type->on_timeout(&sender->congestion, now_ns);
    sender_apply_rate(sender);
    sender->probe_from_ns = now_ns;
    sender->probe_wait_ns = rtt_timeout_ns(&sender->rtt) + SENDER_ACK_SLACK_NS;
    if (sender->probe_granted)
        give_up(sender, now_ns, events);
    else
        ask_probe(sender, events);
}

void sender_on_standstill(struct sender *sender, uint64_t gap_ns)
{
    sender->rtt_from = sender->next_number;
    sender->probe_from_ns += gap_ns;
    sender->rate_window_open = false; /* deliveries of before and after the pause make no rate together */
}

uint64_t sender_rate_bps(const struct sender *sender)
{
    return sender->pacer.rate_bps;
}
