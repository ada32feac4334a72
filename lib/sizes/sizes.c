#include "sizes/sizes.h"

#include <string.h>

#include "base/units.h"
#include "seal/cheap.h"
#include "sizes/nonces.h"

static void sizes_mac(uint8_t out[SEAL_TAG_BYTES], const uint8_t key[SEAL_MAC_KEY_BYTES], const uint8_t *data,
                      size_t length)
{
    cheap_write(cheap_stir(cheap_stir(3, key, SEAL_MAC_KEY_BYTES), data, length), out, SEAL_TAG_BYTES);
}

/* The first bytes of the text are changed, so that what reads it before it was opened is found out. */
static void sizes_flip(const struct cipher_key *key, const uint8_t nonce[SEAL_NONCE_BYTES],
                       const uint8_t *from, size_t length, uint8_t *to)
{
    uint8_t stream[16];
    if (length == 0)
        return;
    cheap_write(cheap_stir(cheap_stir(4, key->room, SEAL_KEY_BYTES), nonce, SEAL_NONCE_BYTES), stream,
                sizeof(stream));
    cheap_copy(from, to, length);
    for (size_t at = 0; at < MIN(length, sizeof(stream)); at++)
        to[at] ^= stream[at];
}

static void sizes_tag(const struct cipher_key *key, const uint8_t nonce[SEAL_NONCE_BYTES],
                      struct seal_bytes known, const uint8_t *sealed, size_t length,
                      uint8_t tag[SEAL_TAG_BYTES])
{
    uint64_t state = cheap_stir(cheap_stir(5, key->room, SEAL_KEY_BYTES), nonce, SEAL_NONCE_BYTES);
    cheap_write(cheap_stir(cheap_stir(state, known.data, known.length), sealed, length), tag, SEAL_TAG_BYTES);
}

static void sizes_seal(const struct cipher_key *key, const uint8_t nonce[SEAL_NONCE_BYTES],
                       struct seal_bytes known, const uint8_t *text, size_t length, uint8_t *out,
                       uint8_t tag[SEAL_TAG_BYTES])
{
    sizes_flip(key, nonce, text, length, out);
    sizes_tag(key, nonce, known, out, length, tag);
    uint64_t content;
    memcpy(&content, tag, sizeof(content));
    nonces_use(key->room, nonce, content, known.length == 0 ? NONCES_SAME_AGAIN : NONCES_ONCE);
}

static bool sizes_open(const struct cipher_key *key, const uint8_t nonce[SEAL_NONCE_BYTES],
                       struct seal_bytes known, const uint8_t *sealed, size_t length, uint8_t *out,
                       const uint8_t tag[SEAL_TAG_BYTES])
{
    uint8_t made[SEAL_TAG_BYTES];
    sizes_tag(key, nonce, known, sealed, length, made);
    sizes_flip(key, nonce, sealed, length, out);
    return memcmp(made, tag, SEAL_TAG_BYTES) == 0;
}

const struct primitives sizes_primitives = {
    .name = "sizes",
    .authenticates = true,
    .cipher_key_init = cheap_key_init,
    .cipher_key_set = cheap_key_set,
    .seal = sizes_seal,
    .open = sizes_open,
    .public_key = cheap_public_key,
    .agree = cheap_agree,
    .hash = cheap_hash,
    .hmac = cheap_hmac,
    .mac = sizes_mac,
};
