#include "wire/header.h"

enum wire_error wire_header_decode(const uint8_t *data, size_t length, struct wire_header *header)
{
    if (length < WIRE_HEADER_BYTES)
        return WIRE_TOO_SHORT;
    wire_header_get(data, header);
    if (header->version != WIRE_VERSION)
        return WIRE_BAD_VERSION;
    if (header->type == 0 || header->type >= WIRE_TYPE_COUNT)
        return WIRE_BAD_TYPE;
    if (header->session == 0 && header->type != WIRE_INITIATION)
        return WIRE_BAD_VALUE;
    return WIRE_OK;
}
