/* The nonce oracle: which nonces were used under which keys, and for what. AES-GCM is lost where a nonce comes twice under a
 * key with another content, so that ends the program.
 *
 * It has 2 bytes for each seal, in pages of NONCES_PAGE numbers that follow each other, and keeps the newest NONCES_PAGES
 * pages: exact for the last 16 million seals of packets whose numbers go up one by one. There is one oracle, behind a lock;
 * it knows nothing of worlds, so who begins one whose keys may be those of another (the same seed) has it forget. */
#pragma once

#include "seal/primitives.h"

#define NONCES_PAGE  64
#define NONCES_PAGES (1u << 18)

enum nonces_again {
    NONCES_ONCE,       /* packets and handshakes: nothing is sealed twice */
    NONCES_SAME_AGAIN, /* bodies: the same content, as often as it is sent */
};

/* `content`: a hash of what is authenticated, bytes that are known and text. */
void nonces_use(const uint8_t key[SEAL_KEY_BYTES], const uint8_t nonce[SEAL_NONCE_BYTES], uint64_t content,
                enum nonces_again again);
void nonces_forget(void);
