#include "probe/train.h"

#include "base/units.h"

/* Begin plus what `packets` of the piece take. */
static uint64_t piece_ns(const struct train_schedule *schedule, uint32_t packets, uint32_t *fraction)
{
    const struct train_piece *piece = &schedule->shape->pieces[schedule->piece];
    if (piece->packets == 0) {
        *fraction = schedule->begin_fraction;
        return schedule->begin_ns + piece->pause_ns;
    }
    uint64_t bits_ns = (uint64_t)packets * schedule->shape->wire_bytes * 8 * NS_PER_S;
    uint64_t ns = schedule->begin_ns + bits_ns / piece->rate_bps;
    uint64_t beyond =
        muldiv64(bits_ns % piece->rate_bps, 1ULL << 32, piece->rate_bps) + schedule->begin_fraction;
    *fraction = (uint32_t)beyond;
    return ns + (beyond >> 32);
}

/* On to the next piece that has packets, if this one's are all gone. */
static void settle(struct train_schedule *schedule)
{
    const struct train_shape *shape = schedule->shape;
    while (schedule->piece < shape->piece_count &&
           schedule->in_piece >= shape->pieces[schedule->piece].packets) {
        uint32_t fraction;
        schedule->begin_ns = piece_ns(schedule, schedule->in_piece, &fraction);
        schedule->begin_fraction = fraction;
        schedule->in_piece = 0;
        schedule->piece++;
    }
    uint32_t fraction;
    schedule->next_ns =
        schedule->piece < shape->piece_count ? piece_ns(schedule, schedule->in_piece, &fraction) : TIME_NEVER;
}

bool train_shape_valid(const struct train_shape *shape)
{
    if (shape->piece_count > TRAIN_PIECES_MAX || shape->wire_bytes <= WIRE_OVERHEAD_BYTES ||
        shape->wire_bytes > MTU_MAX + WIRE_OVERHEAD_BYTES)
        return false;
    uint64_t packets = 0;
    for (unsigned i = 0; i < shape->piece_count; i++) {
        packets += shape->pieces[i].packets;
        if (shape->pieces[i].packets > 0 && shape->pieces[i].rate_bps == 0)
            return false;
    }
    return packets > 0 && packets <= TRAIN_PACKETS_MAX;
}

static bool add(struct train_shape *shape, struct train_piece piece)
{
    if (shape->piece_count == TRAIN_PIECES_MAX)
        return false;
    shape->pieces[shape->piece_count++] = piece;
    return true;
}

bool train_add(struct train_shape *shape, uint32_t packets, uint64_t rate_bps)
{
    return add(shape, (struct train_piece){.packets = packets, .rate_bps = rate_bps});
}

bool train_add_pause(struct train_shape *shape, uint32_t pause_ns)
{
    return add(shape, (struct train_piece){.pause_ns = pause_ns});
}

uint32_t train_packets(const struct train_shape *shape)
{
    uint32_t packets = 0;
    for (unsigned i = 0; i < shape->piece_count; i++)
        packets += shape->pieces[i].packets;
    return packets;
}

uint64_t train_bytes(const struct train_shape *shape)
{
    return (uint64_t)train_packets(shape) * shape->wire_bytes;
}

uint64_t train_duration_ns(const struct train_shape *shape)
{
    struct train_schedule schedule = {.shape = shape};
    uint32_t fraction = 0;
    for (; schedule.piece < shape->piece_count; schedule.piece++) {
        schedule.begin_ns = piece_ns(&schedule, shape->pieces[schedule.piece].packets, &fraction);
        schedule.begin_fraction = fraction;
    }
    return schedule.begin_ns;
}

void train_begin(struct train_schedule *schedule, const struct train_shape *shape, uint64_t start_ns)
{
    *schedule = (struct train_schedule){.shape = shape, .begin_ns = start_ns};
    settle(schedule);
}

void train_step(struct train_schedule *schedule)
{
    schedule->index++;
    schedule->in_piece++;
    settle(schedule);
}
