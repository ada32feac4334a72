/* The real primitives behind lib/seal: AES-256-GCM by Intel's multi-buffer library where the processor has AES and
 * PCLMULQDQ, else by libcrypto; X25519, SHA-256, HMAC, SipHash and random bytes by libsodium.
 *
 * Guarantee: what crypt_primitives returns has passed a self test in this process. Call it before other threads begin. */
#pragma once

#include "base/err.h"
#include "seal/primitives.h"

/* The fastest that this processor has, for the life of the process. NULL with err: it has no AES instructions, which
 * tables in memory would stand in for, that tell the key to who shares the processor; or the self test failed. */
const struct primitives *crypt_primitives(struct err *err);
/* Each of them; NULL: not on this processor. For tests and benches, after crypt_primitives. */
const struct primitives *crypt_multi_buffer(void);
const struct primitives *crypt_libcrypto(void);
/* Bytes that nobody can guess, by getrandom(2); waits until the kernel has gathered enough after boot. */
void crypt_random(uint8_t *out, size_t length);
