#include "wire/ack.h"

#define RUN_SUM_LIMIT (1ULL << 31)

/* Reads one varint that may be cut off or too big: false then. */
static bool run_check(const uint8_t **in, const uint8_t *end, uint64_t *run)
{
    *run = 0;
    for (unsigned index = 0; index < WIRE_RUN_BYTES_MAX; index++) {
        if (*in == end)
            return false;
        uint8_t byte = *(*in)++;
        *run |= (uint64_t)(byte & 0x7f) << (7 * index);
        if (byte < 0x80)
            return *run <= UINT32_MAX;
    }
    return false;
}

enum wire_error wire_ack_decode(const uint8_t *data, size_t length, struct wire_ack_view *view)
{
    if (length < WIRE_ACK_BYTES)
        return WIRE_TOO_SHORT;
    struct wire_header header;
    wire_header_get(data, &header);
    wire_ack_get(data + WIRE_HEADER_BYTES, &view->fixed);
    view->stamp = header.stamp;
    size_t run_bytes = view->fixed.run_bytes;
    size_t place_bytes = view->fixed.place_count * WIRE_PLACE_BYTES;
    if (run_bytes > WIRE_ACK_RUNS_MAX || view->fixed.place_count > WIRE_ACK_PLACES_MAX ||
        length != WIRE_ACK_BYTES + run_bytes + place_bytes)
        return WIRE_BAD_LENGTH;
    view->runs = data + WIRE_ACK_BYTES;
    view->places = view->runs + run_bytes;
    const uint8_t *in = view->runs;
    const uint8_t *end = in + run_bytes;
    uint64_t sum = 0;
    while (in < end) {
        uint64_t run;
        if (!run_check(&in, end, &run))
            return WIRE_BAD_VALUE;
        sum += run;
        if (sum >= RUN_SUM_LIMIT)
            return WIRE_BAD_VALUE;
    }
    return WIRE_OK;
}

size_t wire_ack_encode(uint8_t *out, const struct wire_header *header, const struct wire_ack *fixed,
                       const uint8_t *runs, const struct wire_place *places)
{
    uint8_t *end = wire_ack_put(wire_header_put(out, header), fixed);
    if (fixed->run_bytes != 0)
        memcpy(end, runs, fixed->run_bytes);
    end += fixed->run_bytes;
    for (unsigned index = 0; index < fixed->place_count; index++)
        end = wire_place_put(end, &places[index]);
    return (size_t)(end - out);
}

size_t wire_run_put(uint8_t *out, uint32_t run)
{
    size_t length = 0;
    while (run >= 0x80) {
        out[length++] = (uint8_t)(run | 0x80);
        run >>= 7;
    }
    out[length++] = (uint8_t)run;
    return length;
}

uint32_t wire_run_get(const uint8_t **in)
{
    uint32_t run = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = *(*in)++;
        run |= (uint32_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte >= 0x80);
    return run;
}
