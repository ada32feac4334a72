/* The keys of a session: each direction has two, one for DATA and one for all other datagrams, whose numbers count apart.
 *
 * Nonce: the direction's iv, its last 8 bytes combined with the packet number (RFC 9001, section 5.3). The caller never
 * uses a number twice in a space and direction: the numbers of a session begin with its keys. */
#pragma once

#include "seal/handshake.h"

enum seal_space { SEAL_DATA, SEAL_CONTROL, SEAL_SPACES };

struct direction_keys {
    struct cipher_key cipher[SEAL_SPACES];
    uint8_t iv[SEAL_SPACES][SEAL_NONCE_BYTES];
};

struct session_keys {
    const struct primitives *primitives;
    struct direction_keys out, in;
};

/* What is sealed: `known` is authenticated only, `text` of `length` bytes (0, NULL) encrypted as well. */
struct sealing {
    enum seal_space space;
    uint64_t number;
    struct seal_bytes known;
    const uint8_t *text;
    size_t length;
};

/* Once, in zeroed memory. */
void session_keys_init(struct session_keys *keys, const struct primitives *primitives);
void session_keys_set(struct session_keys *keys, const struct session_secrets *secrets);
/* For the peer. Writes the text's length to out, which may be the text. */
void session_keys_seal(const struct session_keys *keys, const struct sealing *what, uint8_t *out,
                       uint8_t tag[SEAL_TAG_BYTES]);
/* From the peer. False: changed on the way, or not the peer's, or another number. */
bool session_keys_open(const struct session_keys *keys, const struct sealing *what, uint8_t *out,
                       const uint8_t tag[SEAL_TAG_BYTES]);
