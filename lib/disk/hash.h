/* The hash of a block: SHA-256 (FIPS 180-4) by libcrypto, or zeros with PART_HASH_NONE. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire/control.h"

/* Thread: any; each keeps one context for itself. */
void hash_block(enum part_hash kind, const uint8_t *data, size_t length, struct wire_hash *hash);
/* A stream's chain over its blocks: SHA-256(chain so far, hash of the next block); begins with zeros. */
void hash_chain(enum part_hash kind, struct wire_hash *chain, const struct wire_hash *hash);
/* What the calling thread has hashed so far, and the CPU time that it took. */
struct hash_work {
    uint64_t bytes, cpu_ns;
};
struct hash_work hash_thread_work(void);
/* Frees the calling thread's context; a later hash_block makes a new one. */
void hash_thread_end(void);
