/* HKDF with HMAC-SHA256 (RFC 5869): keys from a secret, one for each purpose. */
#pragma once

#include "seal/primitives.h"

#define HKDF_OUT_MAX (8 * SEAL_KEY_BYTES)

/* A key of fixed length from a secret; salt may be of length 0. */
void hkdf_extract(const struct primitives *primitives, struct seal_bytes salt, struct seal_bytes secret,
                  uint8_t out[SEAL_KEY_BYTES]);
/* `length` bytes, at most HKDF_OUT_MAX, for the purpose that info names: the two pieces one behind the other. */
void hkdf_expand(const struct primitives *primitives, const uint8_t key[SEAL_KEY_BYTES],
                 const struct seal_bytes info[2], uint8_t *out, size_t length);
/* The same where the purpose is a text alone. */
void hkdf_expand_label(const struct primitives *primitives, const uint8_t key[SEAL_KEY_BYTES],
                       const char *label, uint8_t *out, size_t length);
