#include "seal/insecure.h"

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

/* Stirs the bytes and their count into one number. */
static uint64_t stir(uint64_t state, const uint8_t *data, size_t length)
{
    state = stirred(state, length);
    for (size_t at = 0; at < length; at += sizeof(uint64_t))
        state = stirred(state, word_at(data + at, length - at));
    return state;
}

static void write_lanes(uint64_t state, uint8_t *out, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += sizeof(state)) {
        state = stirred(state, at + 1);
        memcpy(out + at, &state, sizeof(state));
    }
}

static void cheap_hash(uint8_t out[SEAL_KEY_BYTES], const struct seal_bytes *pieces, size_t count)
{
    uint64_t state = 1;
    for (size_t index = 0; index < count; index++)
        state = stir(state, pieces[index].data, pieces[index].length);
    write_lanes(state, out, SEAL_KEY_BYTES);
}

static void cheap_hmac(uint8_t out[SEAL_KEY_BYTES], struct seal_bytes key, const struct seal_bytes *pieces,
                       size_t count)
{
    uint64_t state = stir(2, key.data, key.length);
    for (size_t index = 0; index < count; index++)
        state = stir(state, pieces[index].data, pieces[index].length);
    write_lanes(state, out, SEAL_KEY_BYTES);
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

static void cheap_public_key(uint8_t out[SEAL_KEY_BYTES], const uint8_t private_key[SEAL_KEY_BYTES])
{
    static const struct lanes base = {{3, 5, 7, 11}};
    multiply(out, private_key, &base);
}

static bool cheap_agree(uint8_t out[SEAL_KEY_BYTES], const uint8_t private_key[SEAL_KEY_BYTES],
                        const uint8_t public_key[SEAL_KEY_BYTES])
{
    struct lanes other;
    memcpy(&other, public_key, sizeof(other));
    multiply(out, private_key, &other);
    return (other.of[0] | other.of[1] | other.of[2] | other.of[3]) != 0;
}

static void key_init(struct cipher_key *key)
{
    (void)key;
}

static void key_set(struct cipher_key *key, const uint8_t bytes[SEAL_KEY_BYTES])
{
    memcpy(key->room, bytes, SEAL_KEY_BYTES);
}

static void no_mac(uint8_t out[SEAL_TAG_BYTES], const uint8_t key[SEAL_MAC_KEY_BYTES], const uint8_t *data,
                   size_t length)
{
    (void)key;
    (void)data;
    (void)length;
    memset(out, 0, SEAL_TAG_BYTES);
}

static void copy(const uint8_t *from, uint8_t *to, size_t length)
{
    if (length > 0 && to != from)
        memcpy(to, from, length);
}

static void no_seal(const struct cipher_key *key, const uint8_t nonce[SEAL_NONCE_BYTES],
                    struct seal_bytes known, const uint8_t *text, size_t length, uint8_t *out,
                    uint8_t tag[SEAL_TAG_BYTES])
{
    (void)key;
    (void)nonce;
    (void)known;
    copy(text, out, length);
    memset(tag, 0, SEAL_TAG_BYTES);
}

static bool no_open(const struct cipher_key *key, const uint8_t nonce[SEAL_NONCE_BYTES],
                    struct seal_bytes known, const uint8_t *sealed, size_t length, uint8_t *out,
                    const uint8_t tag[SEAL_TAG_BYTES])
{
    static const uint8_t zeros[SEAL_TAG_BYTES];
    (void)key;
    (void)nonce;
    (void)known;
    copy(sealed, out, length);
    return memcmp(tag, zeros, SEAL_TAG_BYTES) == 0;
}

static void cheap_mac(uint8_t out[SEAL_TAG_BYTES], const uint8_t key[SEAL_MAC_KEY_BYTES], const uint8_t *data,
                      size_t length)
{
    write_lanes(stir(stir(3, key, SEAL_MAC_KEY_BYTES), data, length), out, SEAL_TAG_BYTES);
}

/* The first bytes of the text are changed, so that what reads it before it was opened is found out. */
static void cheap_flip(const struct cipher_key *key, const uint8_t nonce[SEAL_NONCE_BYTES],
                       const uint8_t *from, size_t length, uint8_t *to)
{
    uint8_t stream[16];
    write_lanes(stir(stir(4, key->room, SEAL_KEY_BYTES), nonce, SEAL_NONCE_BYTES), stream, sizeof(stream));
    copy(from, to, length);
    for (size_t at = 0; at < MIN(length, sizeof(stream)); at++)
        to[at] ^= stream[at];
}

static void cheap_tag(const struct cipher_key *key, const uint8_t nonce[SEAL_NONCE_BYTES],
                      struct seal_bytes known, const uint8_t *sealed, size_t length,
                      uint8_t tag[SEAL_TAG_BYTES])
{
    uint64_t state = stir(stir(5, key->room, SEAL_KEY_BYTES), nonce, SEAL_NONCE_BYTES);
    write_lanes(stir(stir(state, known.data, known.length), sealed, length), tag, SEAL_TAG_BYTES);
}

static void cheap_seal(const struct cipher_key *key, const uint8_t nonce[SEAL_NONCE_BYTES],
                       struct seal_bytes known, const uint8_t *text, size_t length, uint8_t *out,
                       uint8_t tag[SEAL_TAG_BYTES])
{
    cheap_flip(key, nonce, text, length, out);
    cheap_tag(key, nonce, known, out, length, tag);
}

static bool cheap_open(const struct cipher_key *key, const uint8_t nonce[SEAL_NONCE_BYTES],
                       struct seal_bytes known, const uint8_t *sealed, size_t length, uint8_t *out,
                       const uint8_t tag[SEAL_TAG_BYTES])
{
    uint8_t made[SEAL_TAG_BYTES];
    cheap_tag(key, nonce, known, sealed, length, made);
    cheap_flip(key, nonce, sealed, length, out);
    return memcmp(made, tag, SEAL_TAG_BYTES) == 0;
}

const struct primitives insecure_primitives = {
    .name = "none",
    .cipher_key_init = key_init,
    .cipher_key_set = key_set,
    .seal = no_seal,
    .open = no_open,
    .public_key = cheap_public_key,
    .agree = cheap_agree,
    .hash = cheap_hash,
    .hmac = cheap_hmac,
    .mac = no_mac,
};

const struct primitives sizes_primitives = {
    .name = "sizes",
    .authenticates = true,
    .cipher_key_init = key_init,
    .cipher_key_set = key_set,
    .seal = cheap_seal,
    .open = cheap_open,
    .public_key = cheap_public_key,
    .agree = cheap_agree,
    .hash = cheap_hash,
    .hmac = cheap_hmac,
    .mac = cheap_mac,
};

void insecure_key_pair(const struct primitives *primitives, const char *name, struct key_pair *pair)
{
    const struct seal_bytes text = {(const uint8_t *)name, strlen(name)};
    cheap_hash(pair->private_key, &text, 1);
    primitives->public_key(pair->public_key, pair->private_key);
}
