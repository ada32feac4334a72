#include "sim/content.h"

#include <endian.h>
#include <string.h>

#include "base/rng.h"
#include "base/units.h"

#define PIECE_BYTES 4096

static uint64_t word_at(const struct content *content, uint64_t index)
{
    struct rng rng;
    rng_init(&rng, content->seed + index * 0x9e3779b97f4a7c15ULL);
    return rng_next(&rng);
}

/* Bytes skip … skip + bytes - 1 of the word at `offset`, little-endian. */
static void fill_part(const struct content *content, uint64_t index, uint32_t skip, uint8_t *out,
                      uint32_t bytes)
{
    uint64_t word = htole64(word_at(content, index));
    memcpy(out, (const uint8_t *)&word + skip, bytes);
}

void content_fill(const struct content *content, uint64_t offset, uint8_t *out, uint32_t length)
{
    if (content->shared)
        return;
    if (content->sparse) {
        memset(out, 0, length);
        return;
    }
    if (offset < content->index_bytes) {
        uint32_t bytes = (uint32_t)MIN((uint64_t)length, content->index_bytes - offset);
        memcpy(out, content->index + offset, bytes);
        offset += bytes;
        out += bytes;
        length -= bytes;
    }
    uint32_t skip = (uint32_t)(offset % 8), done = 0;
    if (skip != 0) {
        done = MIN(8 - skip, length);
        fill_part(content, offset / 8, skip, out, done);
    }
    for (; length - done >= 8; done += 8)
        fill_part(content, (offset + done) / 8, 0, out + done, 8);
    if (done < length)
        fill_part(content, (offset + done) / 8, 0, out + done, length - done);
}

bool content_equal(const struct content *content, uint64_t offset, const uint8_t *data, uint32_t length)
{
    static const uint8_t zeros[PIECE_BYTES];
    uint8_t expected[PIECE_BYTES];
    if (content->shared)
        return true;
    for (uint32_t done = 0; done < length;) {
        uint32_t bytes = MIN((uint32_t)PIECE_BYTES, length - done);
        if (!content->sparse)
            content_fill(content, offset + done, expected, bytes);
        if (memcmp(data + done, content->sparse ? zeros : expected, bytes) != 0)
            return false;
        done += bytes;
    }
    return true;
}
