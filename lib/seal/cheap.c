#include "seal/cheap.h"

#include <string.h>

#include "base/units.h"

#define LANES      4
#define MULTIPLIER 0x9e3779b97f4a7c15ULL

struct lanes {
    uint64_t of[LANES];
};

static uint64_t word_at(const uint8_t *data, size_t length)
{
    uint64_t word = 0;
    memcpy(&word, data, MIN(length, sizeof(word)));
    return word;
}

static uint64_t stirred(uint64_t state, uint64_t word)
{
    state = (state ^ word) * MULTIPLIER;
    return state ^ state >> 29;
}

uint64_t cheap_stir(uint64_t state, const uint8_t *data, size_t length)
{
    state = stirred(state, length);
    for (size_t at = 0; at < length; at += sizeof(uint64_t))
        state = stirred(state, word_at(data + at, length - at));
    return state;
}

void cheap_write(uint64_t state, uint8_t *out, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += sizeof(state)) {
        state = stirred(state, at + 1);
        memcpy(out + at, &state, sizeof(state));
    }
}

void cheap_hash(uint8_t out[SEAL_KEY_BYTES], const struct seal_bytes *pieces, size_t count)
{
    uint64_t state = 1;
    for (size_t index = 0; index < count; index++)
        state = cheap_stir(state, pieces[index].data, pieces[index].length);
    cheap_write(state, out, SEAL_KEY_BYTES);
}

void cheap_hmac(uint8_t out[SEAL_KEY_BYTES], struct seal_bytes key, const struct seal_bytes *pieces,
                size_t count)
{
    uint64_t state = cheap_stir(2, key.data, key.length);
    for (size_t index = 0; index < count; index++)
        state = cheap_stir(state, pieces[index].data, pieces[index].length);
    cheap_write(state, out, SEAL_KEY_BYTES);
}

/* Odd numbers under multiplication modulo 2^64: like a curve's points, whoever multiplies first. */
static void multiply(uint8_t out[SEAL_KEY_BYTES], const uint8_t private_key[SEAL_KEY_BYTES],
                     const struct lanes *by)
{
    struct lanes own, product;
    memcpy(&own, private_key, sizeof(own));
    for (unsigned lane = 0; lane < LANES; lane++)
        product.of[lane] = (own.of[lane] | 1) * by->of[lane];
    memcpy(out, &product, sizeof(product));
}
_Static_assert(sizeof(struct lanes) == SEAL_KEY_BYTES, "lanes fill a key");

void cheap_public_key(uint8_t out[SEAL_KEY_BYTES], const uint8_t private_key[SEAL_KEY_BYTES])
{
    static const struct lanes base = {{3, 5, 7, 11}};
    multiply(out, private_key, &base);
}

bool cheap_agree(uint8_t out[SEAL_KEY_BYTES], const uint8_t private_key[SEAL_KEY_BYTES],
                 const uint8_t public_key[SEAL_KEY_BYTES])
{
    struct lanes other;
    memcpy(&other, public_key, sizeof(other));
    multiply(out, private_key, &other);
    return (other.of[0] | other.of[1] | other.of[2] | other.of[3]) != 0;
}

void cheap_key_init(struct cipher_key *key)
{
    (void)key;
}

void cheap_key_set(struct cipher_key *key, const uint8_t bytes[SEAL_KEY_BYTES])
{
    memcpy(key->room, bytes, SEAL_KEY_BYTES);
}

void cheap_copy(const uint8_t *from, uint8_t *to, size_t length)
{
    if (length > 0 && to != from)
        memcpy(to, from, length);
}
