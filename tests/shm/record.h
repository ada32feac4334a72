/* Records of any size whose every byte follows from (run, index), so that a torn one shows. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/crc32c.h"
#include "ctl/ctl.h"

#define RECORD_BODY_MIN 8

static inline uint8_t record_byte(uint32_t run, uint32_t index, size_t place)
{
    return (uint8_t)(run * 31 + index * 7 + place);
}

static inline size_t record_make(uint8_t *record, uint32_t run, uint32_t index, size_t body_bytes,
                                 uint32_t sequence)
{
    uint32_t length = (uint32_t)(CTL_RECORD_HEADER_BYTES + body_bytes);
    uint8_t *body = record + CTL_RECORD_HEADER_BYTES;
    memset(record, 0, CTL_RECORD_HEADER_BYTES);
    memcpy(record, &length, sizeof(length));
    memcpy(record + 16, &sequence, sizeof(sequence));
    memcpy(body, &run, sizeof(run));
    memcpy(body + 4, &index, sizeof(index));
    for (size_t place = RECORD_BODY_MIN; place < body_bytes; place++)
        body[place] = record_byte(run, index, place);
    uint32_t crc = crc32c_add(crc32c(record, 20), body, body_bytes);
    memcpy(record + 20, &crc, sizeof(crc));
    return length;
}

/* Body sizes spread over the whole range, most of them small. */
static inline size_t record_body_bytes(uint32_t index)
{
    uint32_t mixed = index * 2654435761u;
    size_t most = (mixed >> 28) == 0 ? CTL_RECORD_BYTES_MAX - CTL_RECORD_HEADER_BYTES : 300;
    return RECORD_BODY_MIN + (mixed & 0xffffff) % (most - RECORD_BODY_MIN + 1);
}

static inline bool record_whole(const uint8_t *record, size_t length, uint32_t *run, uint32_t *index)
{
    const uint8_t *body = record + CTL_RECORD_HEADER_BYTES;
    memcpy(run, body, sizeof(*run));
    memcpy(index, body + 4, sizeof(*index));
    if (length != CTL_RECORD_HEADER_BYTES + record_body_bytes(*index))
        return false;
    for (size_t place = RECORD_BODY_MIN; place < length - CTL_RECORD_HEADER_BYTES; place++)
        if (body[place] != record_byte(*run, *index, place))
            return false;
    return true;
}
