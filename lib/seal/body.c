#include "seal/body.h"

#include <string.h>

#include "base/bytes.h"
#include "base/units.h"
#include "seal/hkdf.h"
#include "seal/wipe.h"

#define NONCE_BYTES 5 /* of the nonce, from its end: the symbol's number; the others are 0 */

void body_cipher_init(struct body_cipher *cipher, const struct primitives *primitives)
{
    cipher->primitives = primitives;
    cipher->has_key = false;
    primitives->cipher_key_init(&cipher->key);
}

void body_cipher_forget(struct body_cipher *cipher)
{
    static const uint8_t none[SEAL_KEY_BYTES];
    if (!cipher->has_key)
        return;
    cipher->primitives->cipher_key_set(&cipher->key, none);
    wipe(&cipher->of, sizeof(cipher->of));
    cipher->has_key = false;
}

static bool is_same(const struct body_secret *one, const struct body_secret *other)
{
    return one->job == other->job && one->symbol_bytes == other->symbol_bytes &&
           one->block_symbols == other->block_symbols &&
           memcmp(one->bytes, other->bytes, sizeof(one->bytes)) == 0;
}

static void take_key(struct body_cipher *cipher, const struct body_secret *secret, uint64_t symbol)
{
    static const char label[] = "sluice 2 body";
    uint64_t group = symbol / secret->block_symbols / BODY_GROUP_BLOCKS;
    if (cipher->has_key && cipher->group == group && is_same(&cipher->of, secret))
        return;
    uint8_t context[18], drawn[SEAL_KEY_BYTES];
    store_be32(context, secret->job);
    store_be16(context + 4, (uint16_t)secret->symbol_bytes);
    store_be32(context + 6, secret->block_symbols);
    store_be64(context + 10, group);
    const struct seal_bytes info[2] = {{(const uint8_t *)label, sizeof(label) - 1},
                                       {context, sizeof(context)}};
    hkdf_expand(cipher->primitives, secret->bytes, info, drawn, sizeof(drawn));
    cipher->primitives->cipher_key_set(&cipher->key, drawn);
    wipe(drawn, sizeof(drawn));
    cipher->of = *secret;
    cipher->group = group;
    cipher->has_key = true;
}

static void make_nonce(uint64_t symbol, uint8_t nonce[SEAL_NONCE_BYTES])
{
    memset(nonce, 0, SEAL_NONCE_BYTES);
    for (unsigned at = 0; at < NONCE_BYTES; at++)
        nonce[SEAL_NONCE_BYTES - 1 - at] = (uint8_t)(symbol >> 8 * at);
}

/* What is sealed of the symbol that begins with the text. */
static size_t text_of(const struct body_secret *secret, size_t left)
{
    return secret->empty ? 0 : MIN(left, (size_t)secret->symbol_bytes);
}

void body_seal(struct body_cipher *cipher, const struct body_secret *secret, uint64_t symbol,
               const uint8_t *text, size_t length, uint8_t *out, uint8_t *tags)
{
    uint8_t nonce[SEAL_NONCE_BYTES];
    take_key(cipher, secret, symbol);
    for (size_t at = 0; at < length; at += secret->symbol_bytes) {
        make_nonce(symbol++, nonce);
        if (secret->empty)
            memset(out + at, 0, MIN(length - at, (size_t)secret->symbol_bytes));
        cipher->primitives->seal(&cipher->key, nonce, (struct seal_bytes){NULL, 0}, text + at,
                                 text_of(secret, length - at), out + at, tags);
        tags += SEAL_TAG_BYTES;
    }
}

bool body_open(struct body_cipher *cipher, const struct body_secret *secret, uint64_t symbol,
               const uint8_t *sealed, size_t length, uint8_t *out, const uint8_t *tags)
{
    uint8_t nonce[SEAL_NONCE_BYTES];
    bool opens = true;
    take_key(cipher, secret, symbol);
    for (size_t at = 0; at < length; at += secret->symbol_bytes) {
        make_nonce(symbol++, nonce);
        if (secret->empty)
            memset(out + at, 0, MIN(length - at, (size_t)secret->symbol_bytes));
        opens = cipher->primitives->open(&cipher->key, nonce, (struct seal_bytes){NULL, 0}, sealed + at,
                                         text_of(secret, length - at), out + at, tags) &&
                opens;
        tags += SEAL_TAG_BYTES;
    }
    return opens;
}
