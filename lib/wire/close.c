#include "wire/close.h"

enum wire_error wire_close_decode(const uint8_t *data, size_t length, struct wire_close *close)
{
    if (length < WIRE_CLOSE_BYTES)
        return WIRE_TOO_SHORT;
    if (length > WIRE_CLOSE_BYTES)
        return WIRE_BAD_LENGTH;
    wire_close_get(data + WIRE_HEADER_BYTES, close);
    return close->reason == WIRE_CLOSE_SHUTDOWN ? WIRE_OK : WIRE_BAD_VALUE;
}

size_t wire_close_encode(uint8_t *out, const struct wire_header *header, const struct wire_close *close)
{
    wire_close_put(wire_header_put(out, header), close);
    return WIRE_CLOSE_BYTES;
}
