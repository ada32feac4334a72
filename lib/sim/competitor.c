/* Transport half of a competitor: numbers, acks, losses, timers, window. */
#include "sim/competitor.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/units.h"

#define RECORDS_FIRST     1024
#define THRESHOLD         3 /* RFC 6675 */
#define QUICK_ACKS        32
#define ACK_EVERY         2
#define ACK_DELAY_NS      (40 * NS_PER_MS)
#define TIMEOUT_EXTRA_NS  (200 * NS_PER_MS) /* at least that beyond the smoothed RTT, as in Linux */
#define TIMEOUT_FIRST_NS  (1 * NS_PER_S)
#define TIMEOUT_MAX_NS    (120 * NS_PER_S)
#define PROBE_MIN_NS      (10 * NS_PER_MS)
#define BACKOFF_MAX       10
#define RTT_MIN_WINDOW_NS (300 * NS_PER_S) /* Linux tcp_min_rtt_wlen */

struct data_packet {
    uint64_t number;
};

struct ack_packet {
    uint64_t receipts[COMPETITOR_RECEIPTS]; /* the newest ones, in any order */
    uint64_t run_start, run_end;
    uint64_t marked; /* packets that came with CE so far */
    uint32_t count;
};

struct competitor *competitor_new(struct cross_flow *flow, const struct competitor_type *type,
                                  uint64_t now_ns)
{
    struct competitor *competitor = calloc(1, sizeof(*competitor));
    CHECK(competitor != NULL);
    competitor->type = type;
    competitor->flow = flow;
    competitor->rate_max_bps = flow->config->rate_bps;
    flow->payload_bytes = flow->packet_bytes - COMPETITOR_HEADER_BYTES;
    flow->ecn = flow->config->ecn ? CROSS_ECN_ABLE : CROSS_ECN_NONE;
    competitor->records = malloc(RECORDS_FIRST * sizeof(*competitor->records));
    CHECK(competitor->records != NULL);
    competitor->mask = RECORDS_FIRST - 1;
    competitor->window = COMPETITOR_WINDOW_FIRST;
    competitor->slow_start_end = UINT64_MAX;
    competitor->burst_packets = 1;
    competitor->reorder_steps = 1;
    competitor->timer_ns = competitor->ack_ns = TIME_NEVER;
    competitor->rtt_min_ns = TIME_NEVER;
    competitor->pace_ns = now_ns;
    type->init(competitor, now_ns);
    return competitor;
}

void competitor_free(struct competitor *competitor)
{
    if (competitor != NULL)
        free(competitor->records);
    free(competitor);
}

uint64_t competitor_packets(const struct competitor *competitor, uint64_t rate_bps, uint64_t duration_ns)
{
    return muldiv64(rate_bps, duration_ns, competitor->flow->wire_bytes * 8 * NS_PER_S);
}

static struct competitor_record *record_of(const struct competitor *competitor, uint64_t number)
{
    return &competitor->records[number & competitor->mask];
}

/* ---- sending ---- */

static void grow(struct competitor *competitor)
{
    uint64_t room = 2 * (competitor->mask + 1);
    struct competitor_record *records = malloc(room * sizeof(*records));
    CHECK(records != NULL);
    for (uint64_t place = 0; place < room; place++)
        records[place].fate = FATE_ACKED;
    uint64_t remembered = MIN(competitor->next, competitor->mask + 1);
    for (uint64_t number = competitor->next - remembered; number < competitor->next; number++)
        records[number & (room - 1)] = *record_of(competitor, number);
    free(competitor->records);
    competitor->records = records;
    competitor->mask = room - 1;
}

static uint64_t timeout_ns(const struct competitor *competitor)
{
    if (competitor->rtt_smoothed_ns == 0)
        return TIMEOUT_FIRST_NS << competitor->backoff;
    uint64_t wait_ns = competitor->rtt_smoothed_ns + MAX(4 * competitor->rtt_var_ns, TIMEOUT_EXTRA_NS);
    return MIN(wait_ns << competitor->backoff, TIMEOUT_MAX_NS);
}

static void arm(struct competitor *competitor, uint64_t now_ns)
{
    competitor->timer_ns = TIME_NEVER;
    if (competitor->in_flight == 0)
        return;
    uint64_t wait_ns = timeout_ns(competitor);
    if (!competitor->probed && competitor->rtt_smoothed_ns != 0)
        wait_ns = MIN(wait_ns, MAX(2 * competitor->rtt_smoothed_ns, PROBE_MIN_NS));
    competitor->timer_ns = now_ns + wait_ns;
}

static void send_one(struct competitor *competitor, uint64_t now_ns)
{
    /* Numbers that were settled long ago are forgotten; those of the last window must stay. */
    if (2 * (competitor->next - competitor->settled) > competitor->mask)
        grow(competitor);
    if (competitor->in_flight == 0)
        competitor->first_sent_ns = competitor->delivered_ns = now_ns;
    struct data_packet data = {competitor->next++};
    *record_of(competitor, data.number) =
        (struct competitor_record){.sent_ns = now_ns,
                                   .first_sent_ns = competitor->first_sent_ns,
                                   .delivered = competitor->delivered,
                                   .delivered_ns = competitor->delivered_ns,
                                   .app_limited = competitor->app_limited_until != 0};
    cross_send(competitor->flow, false, competitor->flow->packet_bytes, &data, sizeof(data), now_ns);
    competitor->reduce_sent++;
    if (competitor->in_flight++ == 0)
        arm(competitor, now_ns);
}

static uint64_t pacing_bps(const struct competitor *competitor)
{
    if (competitor->rate_max_bps != 0 && competitor->pacing_bps != 0)
        return MIN(competitor->rate_max_bps, competitor->pacing_bps);
    return MAX(competitor->rate_max_bps, competitor->pacing_bps);
}

static void send_allowed(struct competitor *competitor, uint64_t now_ns)
{
    uint64_t rate_bps = pacing_bps(competitor);
    while (competitor->in_flight < competitor->window && competitor->pace_ns <= now_ns) {
        uint32_t burst = rate_bps == 0 ? UINT32_MAX : competitor->burst_packets, sent = 0;
        while (sent < burst && competitor->in_flight < competitor->window) {
            send_one(competitor, now_ns);
            sent++;
        }
        if (rate_bps != 0)
            competitor->pace_ns =
                now_ns + transmit_ns((uint64_t)sent * competitor->flow->wire_bytes, rate_bps);
    }
    /* Held by the application's own rate: what is measured now says nothing about the path. */
    if (competitor->rate_max_bps != 0 && rate_bps == competitor->rate_max_bps &&
        competitor->in_flight < competitor->window)
        competitor->app_limited_until = MAX(competitor->delivered + competitor->in_flight, 1ULL);
}

/* ---- acks: what was delivered, what was lost ---- */

static void on_rtt(struct competitor *competitor, uint64_t rtt_ns, uint64_t now_ns)
{
    if (rtt_ns <= competitor->rtt_min_ns || now_ns - competitor->rtt_min_stamp_ns > RTT_MIN_WINDOW_NS) {
        competitor->rtt_min_ns = rtt_ns;
        competitor->rtt_min_stamp_ns = now_ns;
    }
    if (competitor->rtt_smoothed_ns == 0) {
        competitor->rtt_smoothed_ns = rtt_ns;
        competitor->rtt_var_ns = rtt_ns / 2;
        return;
    }
    uint64_t smoothed_ns = competitor->rtt_smoothed_ns;
    uint64_t error_ns = rtt_ns > smoothed_ns ? rtt_ns - smoothed_ns : smoothed_ns - rtt_ns;
    competitor->rtt_var_ns = (3 * competitor->rtt_var_ns + error_ns) / 4;
    competitor->rtt_smoothed_ns = (7 * smoothed_ns + rtt_ns) / 8;
}

/* A packet that was taken for lost, or was overtaken, tells that the path reorders. */
static void on_reordering(struct competitor *competitor, bool mistaken, uint64_t now_ns)
{
    competitor->reordered = true;
    if (!mistaken || now_ns - competitor->reorder_step_ns < competitor->rtt_smoothed_ns)
        return;
    competitor->reorder_steps++;
    competitor->reorder_step_ns = now_ns;
}

/* State of the newest packet that an ack tells of. */
struct newest {
    bool any;
    uint64_t number;
    struct competitor_record record;
};

static void acknowledge(struct competitor *competitor, uint64_t number, struct competitor_sample *sample,
                        struct newest *newest)
{
    if (number >= competitor->next || number + competitor->mask < competitor->next)
        return;
    struct competitor_record *record = record_of(competitor, number);
    if (record->fate == FATE_ACKED)
        return;
    competitor->delivered++;
    sample->acked++;
    if (record->fate == FATE_LOST) {
        competitor->flow->total.repeated++;
        on_reordering(competitor, true, sample->now_ns);
    } else {
        competitor->in_flight--;
        cross_delivered(competitor->flow, 1, sample->now_ns);
        if (number + 1 < competitor->highest)
            on_reordering(competitor, false, sample->now_ns);
    }
    record->fate = FATE_ACKED;
    competitor->highest = MAX(competitor->highest, number + 1);
    if (newest->any && number < newest->number)
        return;
    *newest = (struct newest){true, number, *record};
}

static void read_ack(struct competitor *competitor, const struct ack_packet *ack,
                     struct competitor_sample *sample, struct newest *newest)
{
    for (uint32_t receipt = 0; receipt < ack->count; receipt++)
        acknowledge(competitor, ack->receipts[receipt], sample, newest);
    for (uint64_t number = ack->run_end; number-- > MAX(ack->run_start, competitor->settled);) {
        uint32_t before = sample->acked;
        acknowledge(competitor, number, sample, newest);
        if (sample->acked == before && number + COMPETITOR_RECEIPTS < ack->run_end)
            break;
    }
}

static bool is_lost(const struct competitor *competitor, uint64_t number)
{
    if (!competitor->reordered)
        return number + THRESHOLD < competitor->highest;
    if (number + 1 >= competitor->highest)
        return false;
    uint64_t allowed_ns =
        MIN(competitor->rtt_min_ns / 4 * competitor->reorder_steps, competitor->rtt_smoothed_ns);
    return record_of(competitor, number)->sent_ns + allowed_ns <
           record_of(competitor, competitor->highest - 1)->sent_ns;
}

/* Numbers are in order of sending, so the first one that is not lost yet ends the search. */
static uint32_t find_losses(struct competitor *competitor)
{
    uint32_t lost = 0;
    for (; competitor->settled < competitor->next; competitor->settled++) {
        struct competitor_record *record = record_of(competitor, competitor->settled);
        if (record->fate != FATE_IN_FLIGHT)
            continue;
        if (!is_lost(competitor, competitor->settled))
            break;
        record->fate = FATE_LOST;
        competitor->lost_end = competitor->settled + 1;
        competitor->in_flight--;
        lost++;
    }
    competitor->flow->total.lost_packets += lost;
    return lost;
}

/* draft-cheng-iccrg-delivery-rate-estimation. */
static void take_samples(struct competitor *competitor, const struct newest *newest,
                         struct competitor_sample *sample)
{
    if (!newest->any)
        return;
    const struct competitor_record *record = &newest->record;
    sample->rtt_ns = sample->now_ns - record->sent_ns;
    on_rtt(competitor, sample->rtt_ns, sample->now_ns);
    competitor->delivered_ns = sample->now_ns;
    competitor->first_sent_ns = record->sent_ns;
    if (competitor->app_limited_until != 0 && competitor->delivered > competitor->app_limited_until)
        competitor->app_limited_until = 0;
    sample->prior_delivered = record->delivered;
    sample->delivered = competitor->delivered - record->delivered;
    sample->app_limited = record->app_limited;
    sample->interval_ns =
        MAX(record->sent_ns - record->first_sent_ns, competitor->delivered_ns - record->delivered_ns);
    if (sample->interval_ns < competitor->rtt_min_ns)
        sample->interval_ns = 0;
}

/* ---- window ---- */

static void begin_episode(struct competitor *competitor, enum competitor_state state, uint64_t in_flight,
                          uint64_t now_ns)
{
    competitor->type->on_loss(competitor, state == COMPETITOR_TIMEOUT, now_ns);
    competitor->losses++;
    competitor->state = (uint8_t)state;
    competitor->recovery_end = competitor->next;
    competitor->reduce_from = MAX(in_flight, 1ULL);
    competitor->reduce_delivered = competitor->reduce_sent = 0;
}

/* RFC 6937 with the slow-start reduction bound. */
static void reduce(struct competitor *competitor, const struct competitor_sample *sample)
{
    uint64_t allowed;
    competitor->reduce_delivered += sample->acked;
    if (competitor->in_flight > competitor->slow_start_end) {
        uint64_t due =
            (competitor->reduce_delivered * competitor->slow_start_end + competitor->reduce_from - 1) /
            competitor->reduce_from;
        allowed = due - MIN(due, competitor->reduce_sent);
    } else {
        uint64_t unsent =
            competitor->reduce_delivered - MIN(competitor->reduce_delivered, competitor->reduce_sent);
        allowed =
            MIN(competitor->slow_start_end - competitor->in_flight, MAX(unsent, (uint64_t)sample->acked) + 1);
    }
    /* The first loss sends one at once. */
    if (competitor->reduce_sent == 0 && allowed == 0)
        allowed = 1;
    competitor->window = competitor->in_flight + allowed;
}

static void update_window(struct competitor *competitor, const struct competitor_sample *sample)
{
    if (competitor->state != COMPETITOR_OPEN && competitor->settled >= competitor->recovery_end) {
        if (competitor->state == COMPETITOR_RECOVERY && !competitor->type->sets_window)
            competitor->window = MAX(competitor->slow_start_end, 2ULL);
        competitor->state = COMPETITOR_OPEN;
    }
    /* What was sent before the last reduction belongs to it, also when the same ack ends that episode. */
    bool fresh = sample->lost != 0 && competitor->lost_end > competitor->recovery_end;
    fresh |= sample->marked && competitor->highest > competitor->recovery_end;
    if (fresh && competitor->state == COMPETITOR_OPEN)
        begin_episode(competitor, COMPETITOR_RECOVERY, sample->in_flight_before, sample->now_ns);
    if (competitor->type->sets_window || competitor->state != COMPETITOR_RECOVERY)
        competitor->type->on_ack(competitor, sample);
    else
        reduce(competitor, sample);
}

void competitor_on_ack(struct competitor *competitor, const struct sim_packet *packet, uint64_t now_ns)
{
    struct ack_packet ack;
    struct newest newest = {0};
    struct competitor_sample sample = {.now_ns = now_ns, .in_flight_before = competitor->in_flight};
    memcpy(&ack, packet->data, sizeof(ack));
    read_ack(competitor, &ack, &sample, &newest);
    take_samples(competitor, &newest, &sample);
    sample.marked = ack.marked > competitor->marked_told;
    competitor->marked_told = MAX(competitor->marked_told, ack.marked);
    sample.lost = find_losses(competitor);
    sample.window_used = sample.in_flight_before + 1 >= competitor->window || competitor->pacing_bps != 0;
    if (sample.acked != 0) {
        competitor->backoff = 0;
        competitor->probed = false;
    }
    update_window(competitor, &sample);
    if (sample.acked != 0)
        arm(competitor, now_ns);
}

/* ---- timers ---- */

static void on_timeout(struct competitor *competitor, uint64_t now_ns)
{
    uint64_t in_flight = competitor->in_flight;
    for (uint64_t number = competitor->settled; number < competitor->next; number++) {
        struct competitor_record *record = record_of(competitor, number);
        if (record->fate != FATE_IN_FLIGHT)
            continue;
        record->fate = FATE_LOST;
        competitor->flow->total.lost_packets++;
    }
    competitor->settled = competitor->next;
    competitor->in_flight = 0;
    /* A second timeout in a row finds nothing left to reduce. */
    if (competitor->backoff == 0)
        begin_episode(competitor, COMPETITOR_TIMEOUT, in_flight, now_ns);
    competitor->recovery_end = competitor->next + 1;
    competitor->window = 1;
    competitor->backoff = MIN(competitor->backoff + 1, (uint32_t)BACKOFF_MAX);
    competitor->timer_ns = TIME_NEVER;
    competitor->pace_ns = now_ns;
}

static void on_timer(struct competitor *competitor, bool stopped, uint64_t now_ns)
{
    if (competitor->probed || competitor->rtt_smoothed_ns == 0 || stopped) {
        on_timeout(competitor, now_ns);
        return;
    }
    competitor->probed = true;
    send_one(competitor, now_ns);
    arm(competitor, now_ns);
}

/* ---- receiver ---- */

static void send_ack(struct competitor *competitor, uint64_t now_ns)
{
    struct ack_packet ack = {
        .run_start = competitor->run_start, .run_end = competitor->run_end, .marked = competitor->marked};
    ack.count = (uint32_t)MIN(competitor->received, (uint64_t)COMPETITOR_RECEIPTS);
    memcpy(ack.receipts, competitor->receipts, ack.count * sizeof(ack.receipts[0]));
    competitor->unacked = 0;
    competitor->ack_ns = TIME_NEVER;
    cross_send(competitor->flow, true, COMPETITOR_HEADER_BYTES, &ack, sizeof(ack), now_ns);
}

void competitor_on_data(struct competitor *competitor, const struct sim_packet *packet, uint64_t now_ns)
{
    struct data_packet data;
    memcpy(&data, packet->data, sizeof(data));
    competitor->receipts[competitor->received++ % COMPETITOR_RECEIPTS] = data.number;
    competitor->marked += packet->ecn == CROSS_ECN_CE;
    bool in_order = data.number == competitor->run_end;
    if (!in_order && data.number > competitor->run_end)
        competitor->run_start = data.number;
    competitor->run_end = MAX(competitor->run_end, data.number + 1);
    if (++competitor->unacked >= ACK_EVERY || !in_order || competitor->received <= QUICK_ACKS)
        send_ack(competitor, now_ns);
    else
        competitor->ack_ns = now_ns + ACK_DELAY_NS;
}

/* ---- running ---- */

uint64_t competitor_run(struct competitor *competitor, bool stopped, uint64_t now_ns)
{
    if (competitor->ack_ns <= now_ns)
        send_ack(competitor, now_ns);
    if (competitor->timer_ns <= now_ns)
        on_timer(competitor, stopped, now_ns);
    uint64_t next_ns = MIN(competitor->timer_ns, competitor->ack_ns);
    if (stopped)
        return next_ns;
    send_allowed(competitor, now_ns);
    next_ns = MIN(competitor->timer_ns, competitor->ack_ns);
    return competitor->in_flight < competitor->window ? MIN(next_ns, competitor->pace_ns) : next_ns;
}
