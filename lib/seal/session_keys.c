#include "seal/session_keys.h"

#include <string.h>

#include "base/bytes.h"
#include "seal/hkdf.h"
#include "seal/wipe.h"

static const char *const labels[SEAL_SPACES] = {
    [SEAL_DATA] = "sluice 2 data", [SEAL_CONTROL] = "sluice 2 ctrl"};

void session_keys_init(struct session_keys *keys, const struct primitives *primitives)
{
    keys->primitives = primitives;
    for (unsigned space = 0; space < SEAL_SPACES; space++) {
        primitives->cipher_key_init(&keys->out.cipher[space]);
        primitives->cipher_key_init(&keys->in.cipher[space]);
    }
}

static void set_direction(const struct primitives *primitives, struct direction_keys *keys,
                          const uint8_t secret[SEAL_KEY_BYTES])
{
    uint8_t drawn[SEAL_KEY_BYTES + SEAL_NONCE_BYTES];
    for (unsigned space = 0; space < SEAL_SPACES; space++) {
        hkdf_expand_label(primitives, secret, labels[space], drawn, sizeof(drawn));
        primitives->cipher_key_set(&keys->cipher[space], drawn);
        memcpy(keys->iv[space], drawn + SEAL_KEY_BYTES, SEAL_NONCE_BYTES);
    }
    wipe(drawn, sizeof(drawn));
}

void session_keys_set(struct session_keys *keys, const struct session_secrets *secrets)
{
    set_direction(keys->primitives, &keys->out, secrets->out);
    set_direction(keys->primitives, &keys->in, secrets->in);
}

static void make_nonce(const struct direction_keys *keys, const struct sealing *what,
                       uint8_t nonce[SEAL_NONCE_BYTES])
{
    memcpy(nonce, keys->iv[what->space], SEAL_NONCE_BYTES);
    store_be64(nonce + 4, load_be64(nonce + 4) ^ what->number);
}

void session_keys_seal(const struct session_keys *keys, const struct sealing *what, uint8_t *out,
                       uint8_t tag[SEAL_TAG_BYTES])
{
    uint8_t nonce[SEAL_NONCE_BYTES];
    make_nonce(&keys->out, what, nonce);
    keys->primitives->seal(&keys->out.cipher[what->space], nonce, what->known, what->text, what->length, out,
                           tag);
}

bool session_keys_open(const struct session_keys *keys, const struct sealing *what, uint8_t *out,
                       const uint8_t tag[SEAL_TAG_BYTES])
{
    uint8_t nonce[SEAL_NONCE_BYTES];
    make_nonce(&keys->in, what, nonce);
    return keys->primitives->open(&keys->in.cipher[what->space], nonce, what->known, what->text, what->length,
                                  out, tag);
}
