/* Numbers in place of hashes and curve: of the sizes and with the laws of the real ones (primitives.h), and no secret from
 * anybody. What tables of primitives that keep nobody out are made of. */
#pragma once

#include "seal/primitives.h"

/* Stirs the bytes and their count into one number. */
uint64_t cheap_stir(uint64_t state, const uint8_t *data, size_t length);
/* `bytes`, a multiple of 8, drawn from the number. */
void cheap_write(uint64_t state, uint8_t *out, size_t bytes);

void cheap_hash(uint8_t out[SEAL_KEY_BYTES], const struct seal_bytes *pieces, size_t count);
void cheap_hmac(uint8_t out[SEAL_KEY_BYTES], struct seal_bytes key, const struct seal_bytes *pieces,
                size_t count);
void cheap_public_key(uint8_t out[SEAL_KEY_BYTES], const uint8_t private_key[SEAL_KEY_BYTES]);
bool cheap_agree(uint8_t out[SEAL_KEY_BYTES], const uint8_t private_key[SEAL_KEY_BYTES],
                 const uint8_t public_key[SEAL_KEY_BYTES]);
void cheap_key_init(struct cipher_key *key);
/* The room begins with the key's bytes. */
void cheap_key_set(struct cipher_key *key, const uint8_t bytes[SEAL_KEY_BYTES]);
/* Where nothing is encrypted: the text, which may be in its place already. */
void cheap_copy(const uint8_t *from, uint8_t *to, size_t length);
