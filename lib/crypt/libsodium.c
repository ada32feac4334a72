#include "crypt/libsodium.h"

#include <sodium.h>

static void public_key(uint8_t out[SEAL_KEY_BYTES], const uint8_t private_key[SEAL_KEY_BYTES])
{
    (void)crypto_scalarmult_base(out, private_key); /* never fails: the base point is of prime order */
}

static bool agree(uint8_t out[SEAL_KEY_BYTES], const uint8_t private_key[SEAL_KEY_BYTES],
                  const uint8_t public_key_of_peer[SEAL_KEY_BYTES])
{
    return crypto_scalarmult(out, private_key, public_key_of_peer) == 0;
}

static void hash(uint8_t out[SEAL_KEY_BYTES], const struct seal_bytes *pieces, size_t count)
{
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    for (size_t index = 0; index < count; index++)
        if (pieces[index].length > 0)
            crypto_hash_sha256_update(&state, pieces[index].data, pieces[index].length);
    crypto_hash_sha256_final(&state, out);
}

static void hmac(uint8_t out[SEAL_KEY_BYTES], struct seal_bytes key, const struct seal_bytes *pieces,
                 size_t count)
{
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, key.data, key.length);
    for (size_t index = 0; index < count; index++)
        if (pieces[index].length > 0)
            crypto_auth_hmacsha256_update(&state, pieces[index].data, pieces[index].length);
    crypto_auth_hmacsha256_final(&state, out);
    sodium_memzero(&state, sizeof(state));
}

static void mac(uint8_t out[SEAL_TAG_BYTES], const uint8_t key[SEAL_MAC_KEY_BYTES], const uint8_t *data,
                size_t length)
{
    crypto_shorthash_siphashx24(out, data, length, key);
}
_Static_assert(crypto_shorthash_siphashx24_BYTES == SEAL_TAG_BYTES, "128 bits of SipHash");

bool sodium_primitives(struct primitives *primitives)
{
    if (sodium_init() < 0)
        return false;
    primitives->public_key = public_key;
    primitives->agree = agree;
    primitives->hash = hash;
    primitives->hmac = hmac;
    primitives->mac = mac;
    return true;
}
