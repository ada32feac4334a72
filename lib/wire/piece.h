/* PIECE: a piece of a DATA datagram that is longer than the path's MTU has become.
 *
 * common header 32, flags and session as of the whole | whole u32 | total u16 | index u8 | count u8 | bytes
 *
 * whole: packet number of the whole. total: bytes of the whole behind its common header. Piece `index` of
 * `count` has WIRE_PIECE_SIZE(total, count) bytes of them, from index * that on, the last one what is left: so
 * pieces say where they belong, and can't overlap. */
#pragma once

#include "wire/header.h"

#define WIRE_PIECE_FIELDS(FIELD)                                                                             \
    FIELD(u32, whole)                                                                                        \
    FIELD(u16, total)                                                                                        \
    FIELD(u8, index)                                                                                         \
    FIELD(u8, count)

WIRE_DECLARE(piece, WIRE_PIECE_FIELDS)
#define WIRE_PIECE_BYTES              (WIRE_HEADER_BYTES + WIRE_FIXED_BYTES(WIRE_PIECE_FIELDS))
#define WIRE_PIECE_INDEX_AT           (WIRE_HEADER_BYTES + 6)
#define WIRE_PIECE_COUNT_MAX          8
#define WIRE_PIECE_TOTAL_MAX          9216 /* a whole packet of an MTU of 9000 */
#define WIRE_PIECE_SIZE(total, count) (((uint32_t)(total) + (count)-1) / (count))

struct wire_piece_view {
    struct wire_piece fixed;
    const uint8_t *bytes;
    uint32_t from, length; /* of the whole behind its header */
};

/* `data`, `length`: the whole datagram, its header already decoded. Checks index < count, 2 <= count <=
 * WIRE_PIECE_COUNT_MAX, total <= WIRE_PIECE_TOTAL_MAX, that no piece is empty, and the length. */
enum wire_error wire_piece_decode(const uint8_t *data, size_t length, struct wire_piece_view *view);
/* Writes WIRE_PIECE_BYTES; the piece's bytes follow from elsewhere. */
size_t wire_piece_encode(uint8_t *out, const struct wire_header *header, const struct wire_piece *piece);
