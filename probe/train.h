/* A train: packets of one size whose departures are known beforehand, at any profile of rates.
 *
 * A shape is a list of pieces; the packets of a piece leave at its rate: each packet departs when the one
 * before it would have left a link of that rate, the first of all at the start. So a piece of n packets
 * takes the time that n packets occupy a link of its rate, and pieces follow each other without a gap. A
 * piece of zero packets and a duration is a pause. Packet k of a piece departs k * bits * 1e9 / rate ns
 * behind the begin of the piece, which is the end of the one before it; times are rounded down to a
 * nanosecond, and what that leaves out is carried: no departure is 1 ns off, however many there are.
 *
 * Nothing here sends. Whoever does tells of each packet when it truly left (probe/record.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TRAIN_PIECES_MAX  64
#define TRAIN_PACKETS_MAX 4096u

struct train_piece {
    uint64_t rate_bps; /* on the wire, > 0 where packets > 0 */
    uint32_t packets;
    uint32_t pause_ns; /* with packets == 0 */
};

struct train_shape {
    uint32_t wire_bytes; /* of each packet, all that it occupies on an Ethernet link (base/units.h) */
    uint16_t piece_count;
    struct train_piece pieces[TRAIN_PIECES_MAX];
};

/* Where a schedule stands. */
struct train_schedule {
    const struct train_shape *shape; /* outlives the schedule */
    uint64_t next_ns;                /* departure of the next packet; TIME_NEVER: the last one has gone */
    uint64_t begin_ns;               /* of the piece that it is in … */
    uint32_t begin_fraction;         /* … and what that lies beyond it, in 2^-32 ns */
    uint32_t index;                  /* of the next packet, from 0 over all pieces */
    uint32_t in_piece;               /* its number there */
    uint16_t piece;
};

/* Packets > 0 and <= TRAIN_PACKETS_MAX, each piece with packets has a rate: whatever else is done with a shape relies
 * on this. */
bool train_shape_valid(const struct train_shape *shape);
/* Appends a piece; false: no room, and nothing was done. */
bool train_add(struct train_shape *shape, uint32_t packets, uint64_t rate_bps);
bool train_add_pause(struct train_shape *shape, uint32_t pause_ns);
uint32_t train_packets(const struct train_shape *shape);
uint64_t train_bytes(const struct train_shape *shape); /* on the wire */
/* From the first departure to the end of the last packet's turn. */
uint64_t train_duration_ns(const struct train_shape *shape);

void train_begin(struct train_schedule *schedule, const struct train_shape *shape, uint64_t start_ns);
/* The packet at next_ns has been taken; on to the one behind it. */
void train_step(struct train_schedule *schedule);
