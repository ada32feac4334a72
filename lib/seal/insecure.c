#include "seal/insecure.h"

#include <string.h>

#include "seal/cheap.h"

static void no_mac(uint8_t out[SEAL_TAG_BYTES], const uint8_t key[SEAL_MAC_KEY_BYTES], const uint8_t *data,
                   size_t length)
{
    (void)key;
    (void)data;
    (void)length;
    memset(out, 0, SEAL_TAG_BYTES);
}

static void no_seal(const struct cipher_key *key, const uint8_t nonce[SEAL_NONCE_BYTES],
                    struct seal_bytes known, const uint8_t *text, size_t length, uint8_t *out,
                    uint8_t tag[SEAL_TAG_BYTES])
{
    (void)key;
    (void)nonce;
    (void)known;
    cheap_copy(text, out, length);
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
    cheap_copy(sealed, out, length);
    return memcmp(tag, zeros, SEAL_TAG_BYTES) == 0;
}

const struct primitives insecure_primitives = {
    .name = "none",
    .cipher_key_init = cheap_key_init,
    .cipher_key_set = cheap_key_set,
    .seal = no_seal,
    .open = no_open,
    .public_key = cheap_public_key,
    .agree = cheap_agree,
    .hash = cheap_hash,
    .hmac = cheap_hmac,
    .mac = no_mac,
};

void insecure_key_pair(const struct primitives *primitives, const char *name, struct key_pair *pair)
{
    const struct seal_bytes text = {(const uint8_t *)name, strlen(name)};
    cheap_hash(pair->private_key, &text, 1);
    primitives->public_key(pair->public_key, pair->private_key);
}
