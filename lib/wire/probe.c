#include "wire/probe.h"

enum wire_error wire_probe_decode(const uint8_t *data, size_t length, struct wire_probe *probe)
{
    if (length < WIRE_PROBE_BYTES)
        return WIRE_TOO_SHORT;
    wire_probe_get(data + WIRE_HEADER_BYTES, probe);
    if (length != (size_t)WIRE_PROBE_BYTES + probe->padding)
        return WIRE_BAD_LENGTH;
    return WIRE_OK;
}

size_t wire_probe_encode(uint8_t *out, const struct wire_header *header, const struct wire_probe *probe)
{
    wire_probe_put(wire_header_put(out, header), probe);
    return WIRE_PROBE_BYTES;
}
