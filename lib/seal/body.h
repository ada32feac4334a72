/* Bodies of symbols: sealed once, where a job's content is read, and carried as they are to whoever has the job's secret.
 * A symbol has the same bytes for every child, in every tree and each time that it is sent again, so that a relay passes
 * them on without a key of its own.
 *
 * Key: HKDF-Expand(secret, "sluice 2 body" and what the bytes of a block depend on, with the number of its group of
 * BODY_GROUP_BLOCKS blocks); nonce: the symbol's running number. The caller never seals two texts for one symbol
 * under one secret: a block that is read again leaves only when its hash is that of the first time.
 *
 * A body_cipher belongs to one thread: it keeps the key of the group that it was used for last. */
#pragma once

#include "seal/primitives.h"

#define BODY_SECRET_BYTES 32
#define BODY_GROUP_BLOCKS 1024 /* that one key serves */

/* Of a job: the same at all who have its content. */
struct body_secret {
    uint8_t bytes[BODY_SECRET_BYTES];
    uint32_t job;
    uint32_t symbol_bytes;
    uint32_t block_symbols;
    bool
        empty; /* all content is zeros that nobody stores (store/pool.h, bodies_shared): only tags are made */
};

struct body_cipher {
    const struct primitives *primitives; /* NULL: not ready */
    struct body_secret of;               /* whose key it has … */
    uint64_t group;                      /* … for these blocks */
    bool has_key;
    struct cipher_key key;
};

/* Once, in zeroed memory; may allocate. */
void body_cipher_init(struct body_cipher *cipher, const struct primitives *primitives);
/* Forgets the key. */
void body_cipher_forget(struct body_cipher *cipher);
/* `count` consecutive symbols of one block, the first of them `symbol`, `length` bytes in all, of which only the last symbol
 * may be short. Writes as many bytes to out, which may be the text, and count * SEAL_TAG_BYTES of tags. */
void body_seal(struct body_cipher *cipher, const struct body_secret *secret, uint64_t symbol,
               const uint8_t *text, size_t length, uint8_t *out, uint8_t *tags);
/* The same back. False: some symbol was changed on the way, or is another's. */
bool body_open(struct body_cipher *cipher, const struct body_secret *secret, uint64_t symbol,
               const uint8_t *sealed, size_t length, uint8_t *out, const uint8_t *tags);
