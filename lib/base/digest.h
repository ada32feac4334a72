/* Running 64-bit digest of a trace (FNV-1a steps over 64-bit words): equal digests, equal runs. */
#pragma once

#include <stdint.h>

struct digest {
    uint64_t value;
};

static inline void digest_init(struct digest *digest)
{
    digest->value = 0xcbf29ce484222325ULL;
}

static inline void digest_add(struct digest *digest, uint64_t word)
{
    digest->value = (digest->value ^ word) * 0x100000001b3ULL;
    digest->value ^= digest->value >> 29;
}
