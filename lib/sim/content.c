#include "sim/content.h"

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

void content_fill(const struct content *content, uint64_t offset, uint8_t *out, uint32_t length)
{
    if (content->sparse) {
        memset(out, 0, length);
        return;
    }
    uint32_t done = 0;
    while (done < length) {
        uint64_t word = word_at(content, (offset + done) / 8);
        uint32_t skip = (uint32_t)((offset + done) % 8);
        uint32_t bytes = MIN(8u - skip, length - done);
        uint8_t little[8];
        for (int byte = 0; byte < 8; byte++)
            little[byte] = (uint8_t)(word >> (8 * byte));
        memcpy(out + done, little + skip, bytes);
        done += bytes;
    }
}

bool content_equal(const struct content *content, uint64_t offset, const uint8_t *data, uint32_t length)
{
    static const uint8_t zeros[PIECE_BYTES];
    uint8_t expected[PIECE_BYTES];
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
