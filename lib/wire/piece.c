#include "wire/piece.h"

enum wire_error wire_piece_decode(const uint8_t *data, size_t length, struct wire_piece_view *view)
{
    if (length < WIRE_PIECE_BYTES)
        return WIRE_TOO_SHORT;
    wire_piece_get(data + WIRE_HEADER_BYTES, &view->fixed);
    uint32_t total = view->fixed.total, index = view->fixed.index, count = view->fixed.count;
    if (count < 2 || count > WIRE_PIECE_COUNT_MAX || index >= count || total > WIRE_PIECE_TOTAL_MAX)
        return WIRE_BAD_VALUE;
    uint32_t size = WIRE_PIECE_SIZE(total, count);
    if (total <= size * (count - 1))
        return WIRE_BAD_VALUE;
    view->bytes = data + WIRE_PIECE_BYTES;
    view->from = index * size;
    view->length = index == count - 1 ? total - view->from : size;
    return length == WIRE_PIECE_BYTES + (size_t)view->length ? WIRE_OK : WIRE_BAD_LENGTH;
}

size_t wire_piece_encode(uint8_t *out, const struct wire_header *header, const struct wire_piece *piece)
{
    wire_piece_put(wire_header_put(out, header), piece);
    return WIRE_PIECE_BYTES;
}
