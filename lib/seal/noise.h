/* The Noise handshake of a session, sans-IO: pattern IK, or IKpsk2, with 25519, AESGCM and SHA256 (The Noise Protocol
 * Framework, revision 34). No parser, no heap: the lengths are fixed by the payloads.
 *
 *   <- s
 *   ...
 *   -> e, es, s, ss, payload          32 + 48 + payload + 16 bytes
 *   <- e, ee, se [, psk], payload     32 + payload + 16 bytes
 *
 * Verbs in order: the initiator begins, writes, reads; the responder begins, reads, writes; then both split. A verb that
 * returns false ends the handshake: its state is wiped, and nothing of it may be used. Whom the initiator's static key
 * belongs to, and whether the payload is fresh, is the caller's affair: a first message may be a replayed one.
 *
 * Guarantee: byte for byte what others make of the same keys (tests/seal: vectors of the cacophony project). */
#pragma once

#include "seal/primitives.h"

#define NOISE_INITIATION_BYTES(payload)                                                                      \
    (SEAL_KEY_BYTES + SEAL_KEY_BYTES + SEAL_TAG_BYTES + (payload) + SEAL_TAG_BYTES)
#define NOISE_RESPONSE_BYTES(payload) (SEAL_KEY_BYTES + (payload) + SEAL_TAG_BYTES)

struct key_pair {
    uint8_t private_key[SEAL_KEY_BYTES];
    uint8_t public_key[SEAL_KEY_BYTES];
};

/* What both sides know before. */
struct noise_terms {
    const struct primitives *primitives;
    struct cipher_key *scratch; /* initialized; its content is lost at each verb */
    struct seal_bytes prologue;
    const uint8_t *psk; /* SEAL_KEY_BYTES, pattern IKpsk2; NULL: pattern IK */
};

struct noise {
    struct noise_terms terms;
    uint8_t chaining_key[SEAL_KEY_BYTES];
    uint8_t transcript[SEAL_KEY_BYTES]; /* hash of all that both have seen: names the channel */
    uint8_t key[SEAL_KEY_BYTES];        /* of the next seal … */
    uint64_t nonce;                     /* … and its number */
    const struct key_pair *own;         /* the caller's, until the split */
    struct key_pair ephemeral;          /* own */
    uint8_t peer_static[SEAL_KEY_BYTES];
    uint8_t peer_ephemeral[SEAL_KEY_BYTES];
};

/* The prologue is mixed in here, and need not outlive the call. */
void noise_begin_initiator(struct noise *noise, const struct noise_terms *terms, const struct key_pair *own,
                           const uint8_t peer_static[SEAL_KEY_BYTES]);
void noise_begin_responder(struct noise *noise, const struct noise_terms *terms, const struct key_pair *own);

/* The ephemeral private key is fresh random bytes of the caller's, never used before. `secret`: NULL, or X25519(own static,
 * peer's static) made before. Writes NOISE_INITIATION_BYTES(payload.length). */
bool noise_write_initiation(struct noise *noise, const uint8_t ephemeral[SEAL_KEY_BYTES],
                            const uint8_t *secret, struct seal_bytes payload, uint8_t *out);
/* In two steps, so that the responder learns who it is before he spends more: the first opens the static key, which is then
 * noise->peer_static, the second the payload. `message` is the whole, of NOISE_INITIATION_BYTES(payload_bytes). */
bool noise_read_static(struct noise *noise, const uint8_t *message);
bool noise_read_payload(struct noise *noise, const uint8_t *message, const uint8_t *secret, uint8_t *payload,
                        size_t payload_bytes);
/* Writes NOISE_RESPONSE_BYTES(payload.length). */
bool noise_write_response(struct noise *noise, const uint8_t ephemeral[SEAL_KEY_BYTES],
                          struct seal_bytes payload, uint8_t *out);
bool noise_read_response(struct noise *noise, const uint8_t *message, uint8_t *payload, size_t payload_bytes);
/* The keys of both directions; wipes the state but for peer_static and the transcript's hash. */
void noise_split(struct noise *noise, uint8_t from_initiator[SEAL_KEY_BYTES],
                 uint8_t from_responder[SEAL_KEY_BYTES]);
void noise_wipe(struct noise *noise);
