#include "wire/hello.h"

enum wire_error wire_hello_decode(const uint8_t *data, size_t length, struct wire_hello *hello)
{
    if (length < WIRE_HELLO_BYTES)
        return WIRE_TOO_SHORT;
    if (length > WIRE_HELLO_BYTES)
        return WIRE_BAD_LENGTH;
    wire_hello_get(data + WIRE_HEADER_BYTES, hello);
    return hello->interval_ms != 0 ? WIRE_OK : WIRE_BAD_VALUE;
}

size_t wire_hello_encode(uint8_t *out, const struct wire_header *header, const struct wire_hello *hello)
{
    wire_hello_put(wire_header_put(out, header), hello);
    return WIRE_HELLO_BYTES;
}
