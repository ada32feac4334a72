#include "wire/sealed.h"

#include "wire/data.h"
#include "wire/piece.h"
#include "wire/probe.h"
#include "wire/train.h"

/* Of a data packet of which `before` bytes stand in front of what follows its common header. */
static size_t data_known_bytes(const uint8_t *data, size_t length, size_t before)
{
    const size_t content = WIRE_DATA_BYTES - WIRE_HEADER_BYTES - sizeof(uint64_t);
    if (length < before + WIRE_DATA_BYTES - WIRE_HEADER_BYTES)
        return 0;
    uint32_t count = wire_content_count(load_be64(data + before + content));
    return before + WIRE_DATA_BYTES - WIRE_HEADER_BYTES +
           MIN(count, (uint32_t)WIRE_DATA_COUNT_MAX) * WIRE_TAG_BYTES;
}

struct wire_sealed_part wire_sealed_part(const uint8_t *data, size_t length)
{
    struct wire_sealed_part part = {.known_bytes = WIRE_HEADER_BYTES};
    switch ((enum wire_type)data[1]) {
    case WIRE_DATA:
        part.known_bytes = data_known_bytes(data, length, WIRE_HEADER_BYTES);
        break;
    case WIRE_PIECE: /* the first one has all that stands before the symbols */
        part.known_bytes = length > WIRE_PIECE_BYTES && data[WIRE_PIECE_INDEX_AT] == 0
                               ? data_known_bytes(data, length, WIRE_PIECE_BYTES)
                               : WIRE_PIECE_BYTES;
        break;
    case WIRE_PROBE:
    case WIRE_PROBE_REPLY:
        part.known_bytes = WIRE_PROBE_BYTES;
        break;
    case WIRE_TRAIN:
        part.known_bytes = WIRE_TRAIN_BYTES;
        break;
    default:
        part.rest_is_sealed = true;
        break;
    }
    if (part.known_bytes > length)
        part.known_bytes = 0;
    return part;
}
