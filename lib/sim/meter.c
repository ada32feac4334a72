#include "sim/meter.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/units.h"
#include "wire/data.h"
#include "wire/piece.h"

#define WORD_BITS 64

void meter_init(struct meter_table *table, const struct scenario *scenario)
{
    size_t pairs = (size_t)scenario->node_count * scenario->node_count;
    *table = (struct meter_table){.scenario = scenario,
                                  .meters = calloc(pairs, sizeof(*table->meters)),
                                  .other_bytes = calloc(pairs, sizeof(*table->other_bytes))};
    CHECK(table->meters != NULL && table->other_bytes != NULL);
}

void meter_delete(struct meter *meter)
{
    if (meter == NULL)
        return;
    for (uint32_t job = 0; job < meter->job_count; job++) {
        free(meter->jobs[job].sent);
        free(meter->jobs[job].received);
    }
    free(meter->steps);
    free(meter);
}

void meter_free(struct meter_table *table)
{
    uint32_t count = table->scenario->node_count;
    for (uint32_t pair = 0; pair < count * count; pair++)
        meter_delete(table->meters[pair]);
    free(table->meters);
    free(table->other_bytes);
}

static uint32_t pair_of(const struct meter_table *table, uint16_t from, uint16_t to)
{
    return (uint32_t)from * table->scenario->node_count + to;
}

struct meter *meter_at(struct meter_table *table, uint16_t from, uint16_t to)
{
    return table->meters[pair_of(table, from, to)];
}

struct meter *meter_take(struct meter_table *table, uint16_t from, uint16_t to)
{
    struct meter *meter = table->meters[pair_of(table, from, to)];
    table->meters[pair_of(table, from, to)] = NULL;
    return meter;
}

bool meter_look(struct meter_table *table, uint16_t from, uint16_t to, struct meter_sums *sums,
                uint64_t *wait_ns_max)
{
    struct meter *meter = table->meters[pair_of(table, from, to)];
    if (meter == NULL)
        return false;
    *sums = meter->all;
    *wait_ns_max = meter->recent_wait_ns_max;
    meter->recent_wait_ns_max = 0;
    return true;
}

uint64_t meter_feedback_bytes(const struct meter_table *table, uint16_t from, uint16_t to)
{
    return table->other_bytes[pair_of(table, to, from)];
}

static uint64_t steady_start_ns(const struct meter *meter)
{
    return meter->first_ns + METER_STEADY_RTTS * meter->rtt_ns;
}

uint64_t meter_steady_ns(const struct meter *meter)
{
    return meter->steady ? elapsed_ns(meter->last_new_ns, steady_start_ns(meter)) : 0;
}

uint64_t meter_steady_bps(const struct meter *meter)
{
    uint64_t steady_ns = meter_steady_ns(meter);
    uint64_t bytes = excess_of(meter->steady_to_bytes, meter->steady_from_bytes);
    return steady_ns == 0 ? 0 : muldiv64(bytes * 8, NS_PER_S, steady_ns);
}

/* ---- a pair, its jobs and their symbols ---- */

static struct meter *meter_new(struct meter_table *table, const struct meter_packet *packet,
                               uint64_t first_ns)
{
    const struct scenario *scenario = table->scenario;
    struct meter *meter = calloc(1, sizeof(*meter));
    CHECK(meter != NULL);
    meter->first_ns = first_ns;
    meter->rtt_ns = scenario->links[packet->from][packet->to].delay_ns +
                    scenario->links[packet->to][packet->from].delay_ns;
    return table->meters[pair_of(table, packet->from, packet->to)] = meter;
}

static struct meter_symbols *symbols_of(struct meter *meter, uint32_t job)
{
    uint32_t index = 0;
    while (index < meter->job_count && meter->jobs[index].job != job)
        index++;
    if (index < meter->job_count)
        return &meter->jobs[index];
    CHECK(meter->job_count < SCENARIO_JOBS_MAX);
    meter->jobs[meter->job_count].job = job;
    return &meter->jobs[meter->job_count++];
}

static void grow(uint64_t **bitmap, uint64_t places, uint64_t wanted)
{
    *bitmap = realloc(*bitmap, wanted / 8);
    CHECK(*bitmap != NULL);
    memset((uint8_t *)*bitmap + places / 8, 0, (wanted - places) / 8);
}

static void make_room(struct meter_symbols *symbols, uint64_t symbol)
{
    uint64_t wanted = MAX(symbols->places, (uint64_t)WORD_BITS * 64);
    while (wanted <= symbol)
        wanted *= 2;
    if (wanted == symbols->places)
        return;
    grow(&symbols->sent, symbols->places, wanted);
    grow(&symbols->received, symbols->places, wanted);
    symbols->places = wanted;
}

/* Sets the bit of each of the packet's symbols; returns how many were clear. */
static uint32_t mark(uint64_t *bitmap, uint64_t symbol, uint32_t count)
{
    uint32_t clear = 0;
    for (uint64_t place = symbol; place < symbol + count; place++) {
        uint64_t bit = 1ULL << place % WORD_BITS;
        clear += (bitmap[place / WORD_BITS] & bit) == 0;
        bitmap[place / WORD_BITS] |= bit;
    }
    return clear;
}

/* A data packet, or the first piece of one, which stands for all of it. */
static bool read_data(const struct meter_packet *packet, struct wire_data *data, uint64_t *body_bytes)
{
    struct wire_piece piece = {.index = 0, .total = (uint16_t)(packet->length - WIRE_HEADER_BYTES)};
    size_t before = WIRE_HEADER_BYTES;
    if (packet->length > WIRE_DATA_BYTES && packet->head[1] == WIRE_PIECE) {
        wire_piece_get(packet->head + WIRE_HEADER_BYTES, &piece);
        before = WIRE_PIECE_BYTES;
    } else if (packet->length <= WIRE_DATA_BYTES || packet->head[1] != WIRE_DATA) {
        return false;
    }
    if (piece.index != 0)
        return false;
    wire_data_get(packet->head + before, data);
    *body_bytes = piece.total + WIRE_HEADER_BYTES - WIRE_DATA_BYTES -
                  (uint64_t)wire_content_count(data->content) * WIRE_TAG_BYTES;
    return true;
}

static bool is_data(const struct meter_packet *packet)
{
    struct wire_data data;
    uint64_t body_bytes;
    return read_data(packet, &data, &body_bytes);
}

/* ---- time ---- */

static bool in_window(const struct meter_table *table, uint64_t now_ns)
{
    const struct scenario_measure *measure = &table->scenario->measure;
    return now_ns >= measure->from_ns && (measure->to_ns == 0 || now_ns < measure->to_ns);
}

/* The quarter of an RTT of the start that now_ns lies in; NULL: the start is over. */
static struct meter_quarter *quarter_at(struct meter *meter, uint64_t now_ns)
{
    uint64_t since_ns = elapsed_ns(now_ns, meter->first_ns);
    if (since_ns >= METER_START_RTTS * meter->rtt_ns)
        return NULL;
    return &meter->quarters[since_ns * 4 / meter->rtt_ns];
}

/* NULL: steps are not asked for. */
static struct meter_step *step_at(const struct meter_table *table, struct meter *meter, uint64_t now_ns)
{
    uint64_t step_ns = table->scenario->measure.step_ns;
    if (step_ns == 0 || now_ns / step_ns >= METER_STEPS_MAX)
        return NULL;
    uint32_t step = (uint32_t)(now_ns / step_ns);
    if (step >= meter->step_room) {
        uint32_t room = MAX(2 * meter->step_room, step + 64);
        meter->steps = realloc(meter->steps, room * sizeof(*meter->steps));
        CHECK(meter->steps != NULL);
        memset(meter->steps + meter->step_room, 0, (room - meter->step_room) * sizeof(*meter->steps));
        meter->step_room = room;
    }
    meter->step_count = MAX(meter->step_count, step + 1);
    return &meter->steps[step];
}

/* ---- events ---- */

static void add_sent(struct meter_sums *sums, uint32_t wire_bytes, bool repair)
{
    sums->sent_packets++;
    sums->sent_bytes += wire_bytes;
    sums->repairs += repair;
}

/* The packet itself was counted by its first piece. */
static bool is_later_piece(const struct meter_packet *packet)
{
    struct wire_piece piece;
    if (packet->length <= WIRE_PIECE_BYTES || packet->head[1] != WIRE_PIECE)
        return false;
    wire_piece_get(packet->head + WIRE_HEADER_BYTES, &piece);
    return piece.index != 0;
}

static void add_bytes(struct meter_table *table, const struct meter_packet *packet, bool sent,
                      uint64_t now_ns)
{
    struct meter *meter = table->meters[pair_of(table, packet->from, packet->to)];
    if (meter == NULL)
        return;
    struct meter_step *step = step_at(table, meter, now_ns);
    if (step != NULL)
        *(sent ? &step->sent_bytes : &step->delivered_bytes) += packet->wire_bytes;
    struct meter_sums *sums[] = {&meter->all, &meter->window};
    for (int index = 0; index < (in_window(table, now_ns) ? 2 : 1); index++)
        *(sent ? &sums[index]->sent_bytes : &sums[index]->delivered_bytes) += packet->wire_bytes;
}

void meter_on_sent(struct meter_table *table, const struct meter_packet *packet, uint64_t sent_ns)
{
    struct wire_data data;
    uint64_t body_bytes;
    if (is_later_piece(packet)) {
        add_bytes(table, packet, true, sent_ns);
        return;
    }
    if (!read_data(packet, &data, &body_bytes)) {
        table->other_bytes[pair_of(table, packet->from, packet->to)] += packet->wire_bytes;
        return;
    }
    struct meter *meter = table->meters[pair_of(table, packet->from, packet->to)];
    if (meter == NULL)
        meter = meter_new(table, packet, sent_ns);
    uint64_t symbol = wire_content_symbol(data.content);
    uint32_t count = wire_content_count(data.content);
    struct meter_symbols *symbols = symbols_of(meter, data.job);
    if (symbol + count >= symbols->places)
        make_room(symbols, symbol + count);
    uint32_t fresh = mark(symbols->sent, symbol, count);
    add_sent(&meter->all, packet->wire_bytes, fresh < count);
    if (in_window(table, sent_ns))
        add_sent(&meter->window, packet->wire_bytes, fresh < count);
    if (fresh > 0) {
        meter->last_new_ns = sent_ns;
        meter->steady_to_bytes = meter->all.new_bytes;
    }
    struct meter_quarter *quarter = quarter_at(meter, sent_ns);
    if (quarter != NULL)
        quarter->sent_packets++;
    struct meter_step *step = step_at(table, meter, sent_ns);
    if (step != NULL)
        step->sent_bytes += packet->wire_bytes;
}

static void add_refused(struct meter_sums *sums, bool own)
{
    sums->lost += !own;
    sums->dropped += own;
}

static void refused(struct meter_table *table, const struct meter_packet *packet, bool own, uint64_t now_ns)
{
    if (!is_data(packet))
        return;
    struct meter *meter = table->meters[pair_of(table, packet->from, packet->to)];
    add_refused(&meter->all, own);
    if (in_window(table, now_ns))
        add_refused(&meter->window, own);
    struct meter_quarter *quarter = quarter_at(meter, now_ns);
    if (own && quarter != NULL)
        quarter->dropped_packets++;
    struct meter_step *step = own ? step_at(table, meter, now_ns) : NULL;
    if (step != NULL)
        step->dropped_bytes += packet->wire_bytes;
}

void meter_on_refused(struct meter_table *table, const struct meter_packet *packet,
                      enum netem_verdict verdict, uint64_t now_ns)
{
    refused(table, packet, verdict == NETEM_QUEUE_DROP || verdict == NETEM_POLICED, now_ns);
}

void meter_on_corrupted(struct meter_table *table, const struct meter_packet *packet, uint64_t now_ns)
{
    refused(table, packet, false, now_ns);
}

static void add_delivered(struct meter_sums *sums, uint32_t wire_bytes, uint64_t new_bytes)
{
    sums->delivered_bytes += wire_bytes;
    sums->new_bytes += new_bytes;
    sums->duplicates += new_bytes == 0;
}

void meter_on_delivered(struct meter_table *table, const struct meter_packet *packet, uint64_t wait_ns,
                        uint64_t now_ns)
{
    struct wire_data data;
    uint64_t body_bytes;
    if (is_later_piece(packet)) {
        add_bytes(table, packet, false, now_ns);
        return;
    }
    if (!read_data(packet, &data, &body_bytes))
        return;
    struct meter *meter = table->meters[pair_of(table, packet->from, packet->to)];
    uint32_t count = wire_content_count(data.content);
    struct meter_symbols *symbols = symbols_of(meter, data.job);
    uint32_t fresh = mark(symbols->received, wire_content_symbol(data.content), count);
    uint64_t new_bytes = fresh == count ? body_bytes : body_bytes * fresh / count;
    if (!meter->steady && now_ns >= steady_start_ns(meter)) {
        meter->steady = true;
        meter->steady_from_bytes = meter->all.new_bytes;
    }
    add_delivered(&meter->all, packet->wire_bytes, new_bytes);
    meter->recent_wait_ns_max = MAX(meter->recent_wait_ns_max, wait_ns);
    meter->came_packets++;
    meter->waited_ns += wait_ns;
    if (in_window(table, now_ns)) {
        add_delivered(&meter->window, packet->wire_bytes, new_bytes);
        wait_add(&meter->waits, wait_ns);
    }
    struct meter_quarter *quarter = quarter_at(meter, now_ns);
    if (quarter != NULL)
        quarter->new_bytes += new_bytes;
    struct meter_step *step = step_at(table, meter, now_ns);
    if (step != NULL) {
        step->delivered_bytes += packet->wire_bytes;
        step->wait_ns_max = MAX(step->wait_ns_max, wait_ns);
    }
}
