/* The primitives behind every seal, as one table of functions: the core has no library in it, and what only needs sizes and
 * order (simulations, fuzzers) can be given cheap ones. lib/crypt fills the table with real ones.
 *
 * Bytes in and out are raw; lengths are bytes. Nothing here allocates after cipher_key_init. Output may be the input, at
 * the same place; otherwise they must not overlap. Any thread may call any function; one cipher key is used by one thread
 * at a time.
 *
 * Sources: RFC 7748 (X25519), FIPS 180-4 (SHA-256), RFC 2104 (HMAC), NIST SP 800-38D (GCM), SipHash (Aumasson and
 * Bernstein 2012; 128 bits of output). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEAL_KEY_BYTES     32 /* private and public keys of X25519, keys of AES-256, hashes */
#define SEAL_TAG_BYTES     16
#define SEAL_NONCE_BYTES   12
#define SEAL_MAC_KEY_BYTES 16

/* A piece of what is hashed. */
struct seal_bytes {
    const uint8_t *data;
    size_t length;
};

/* An AES-256 key as its implementation wants it, made ready once and used often. The build asks each library how large its
 * own is (CIPHER_KEY_ROOM, meson.build): versions of one library differ. */
struct cipher_key {
    _Alignas(64) uint8_t room[CIPHER_KEY_ROOM];
};

struct primitives {
    const char *name;   /* for people */
    bool authenticates; /* false: tags are zeros, packets carry key id 0 */
    /* Before the first cipher_key_set of a key whose memory is zero; may allocate. */
    void (*cipher_key_init)(struct cipher_key *key);
    void (*cipher_key_set)(struct cipher_key *key, const uint8_t bytes[SEAL_KEY_BYTES]);
    /* Authenticates `known`, encrypts and authenticates `text` of `length`, which may be 0 and NULL. */
    void (*seal)(const struct cipher_key *key, const uint8_t nonce[SEAL_NONCE_BYTES], struct seal_bytes known,
                 const uint8_t *text, size_t length, uint8_t *out, uint8_t tag[SEAL_TAG_BYTES]);
    /* False: something was changed, and `out` holds nothing of use. Compares in constant time. */
    bool (*open)(const struct cipher_key *key, const uint8_t nonce[SEAL_NONCE_BYTES], struct seal_bytes known,
                 const uint8_t *sealed, size_t length, uint8_t *out, const uint8_t tag[SEAL_TAG_BYTES]);
    void (*public_key)(uint8_t out[SEAL_KEY_BYTES], const uint8_t private_key[SEAL_KEY_BYTES]);
    /* False: the result is zero, since the other's key is one of the few of low order. */
    bool (*agree)(uint8_t out[SEAL_KEY_BYTES], const uint8_t private_key[SEAL_KEY_BYTES],
                  const uint8_t public_key[SEAL_KEY_BYTES]);
    void (*hash)(uint8_t out[SEAL_KEY_BYTES], const struct seal_bytes *pieces, size_t count);
    void (*hmac)(uint8_t out[SEAL_KEY_BYTES], struct seal_bytes key, const struct seal_bytes *pieces,
                 size_t count);
    void (*mac)(uint8_t out[SEAL_TAG_BYTES], const uint8_t key[SEAL_MAC_KEY_BYTES], const uint8_t *data,
                size_t length);
};
