/* DATA: one or more consecutive symbols of one object.
 *
 * common header 32 | floor delta u32 | job u32 | content u64 | body tags 16 * count | symbols, back to back
 *
 * floor delta: packet number minus the sender's floor, the oldest number still of interest (saturates at
 * 2^32-1). content: symbol index (40 bits) << 24 | count (8) << 16 | stripe (8) << 8 | epoch, low 8 bits. All
 * symbols have the job's symbol size, except the object's last one, which is as long as what is left. Body
 * tags are stored with the symbols and travel unchanged to every child (zero until sealing exists). */
#pragma once

#include "wire/header.h"

#define WIRE_DATA_FIELDS(FIELD)                                                                              \
    FIELD(u32, floor_delta)                                                                                  \
    FIELD(u32, job)                                                                                          \
    FIELD(u64, content)

WIRE_DECLARE(data, WIRE_DATA_FIELDS)
#define WIRE_DATA_BYTES (WIRE_HEADER_BYTES + WIRE_FIXED_BYTES(WIRE_DATA_FIELDS))
_Static_assert(WIRE_DATA_BYTES == 48, "1408-byte symbols fill a 1500-byte IPv4 packet: 28 + 48 + 16 + 1408");

#define WIRE_SYMBOL_MAX      ((1ULL << 40) - 1)
#define WIRE_DATA_COUNT_MAX  8
#define WIRE_DATA_HEADER_MAX (WIRE_DATA_BYTES + WIRE_DATA_COUNT_MAX * WIRE_TAG_BYTES)

static inline uint64_t wire_content(uint64_t symbol, uint32_t count, uint8_t stripe, uint8_t epoch)
{
    return symbol << 24 | (uint64_t)count << 16 | (uint64_t)stripe << 8 | epoch;
}

static inline uint64_t wire_content_symbol(uint64_t content)
{
    return content >> 24;
}

static inline uint32_t wire_content_count(uint64_t content)
{
    return content >> 16 & 0xff;
}

static inline uint8_t wire_content_stripe(uint64_t content)
{
    return content >> 8 & 0xff;
}

static inline uint8_t wire_content_epoch(uint64_t content)
{
    return content & 0xff;
}

/* A decoded DATA packet: pointers lead into the caller's packet. */
struct wire_data_view {
    struct wire_data fixed;
    const uint8_t *tags; /* count * 16 bytes */
    const uint8_t *body; /* the symbols */
    uint32_t body_bytes;
};

/* `data`, `length`: the whole datagram, its header already decoded. Checks 1 <= count <= WIRE_DATA_COUNT_MAX
 * and that a body follows the tags; whether the body's length fits the job is the store's question. */
enum wire_error wire_data_decode(const uint8_t *data, size_t length, struct wire_data_view *view);

/* Writes header, fixed part and `count` tags (zeros when tags is NULL) to `out`; the body follows from
 * elsewhere. Returns the bytes written: WIRE_DATA_BYTES + 16 * count. */
size_t wire_data_encode(uint8_t *out, const struct wire_header *header, const struct wire_data *fixed,
                        const uint8_t *tags);
