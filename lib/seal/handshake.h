/* The handshake of two nodes that know each other's public keys: IKpsk2 with a zero psk and the prologue "sluice 2", and a
 * MAC over both datagrams by which a node tells, for the price of a hash, that a datagram comes from a member of its
 * roster before it spends a scalar multiplication on it.
 *
 * A bond is what two long-lived keys have in common; it is made once, when the roster is read. Each handshake then costs
 * the responder three scalar multiplications and a key generation.
 *
 * Guarantee of an initiation that was read: who wrote it has the peer's private key, but it may be an old one. Of a
 * response: its author has just read our initiation. Of a packet that opens under the session's keys: the same of the
 * initiator. */
#pragma once

#include "seal/noise.h"

#define HANDSHAKE_PAYLOAD_BYTES    104
#define HANDSHAKE_INITIATION_BYTES NOISE_INITIATION_BYTES(HANDSHAKE_PAYLOAD_BYTES)
#define HANDSHAKE_RESPONSE_BYTES   NOISE_RESPONSE_BYTES(HANDSHAKE_PAYLOAD_BYTES)

struct bond {
    const struct primitives *primitives;
    const struct key_pair *own;
    uint8_t peer[SEAL_KEY_BYTES];   /* public key */
    uint8_t shared[SEAL_KEY_BYTES]; /* X25519(own, peer) */
    uint8_t mac_out[SEAL_MAC_KEY_BYTES], mac_in[SEAL_MAC_KEY_BYTES];
};

/* What a handshake gives each side. */
struct session_secrets {
    uint8_t out[SEAL_KEY_BYTES], in[SEAL_KEY_BYTES];
    uint64_t name; /* the same at both, of this handshake alone: the first 8 bytes of the transcript's hash */
};

/* False: the peer's key is one of low order, which nobody has. `own` must outlive the bond. */
bool bond_make(struct bond *bond, const struct primitives *primitives, const struct key_pair *own,
               const uint8_t peer[SEAL_KEY_BYTES]);
/* The MAC of a whole datagram, whose own place [tag_at, tag_at + SEAL_TAG_BYTES) counts as zeros. At most
 * HANDSHAKE_DATAGRAM_MAX bytes. */
#define HANDSHAKE_DATAGRAM_MAX 256
void bond_mac_out(const struct bond *bond, const uint8_t *datagram, size_t length, size_t tag_at,
                  uint8_t tag[SEAL_TAG_BYTES]);
bool bond_mac_fits(const struct bond *bond, const uint8_t *datagram, size_t length, size_t tag_at);

/* The initiator. `ephemeral` is fresh random bytes; `scratch` is initialized, and its content lost. False: the keys are not
 * of this world (a low-order one). */
bool handshake_initiate(struct noise *noise, const struct bond *bond, struct cipher_key *scratch,
                        const uint8_t ephemeral[SEAL_KEY_BYTES],
                        const uint8_t payload[HANDSHAKE_PAYLOAD_BYTES],
                        uint8_t out[HANDSHAKE_INITIATION_BYTES]);
/* The responder: reads; false: it is not the bond's peer, or something was changed. */
bool handshake_read(struct noise *noise, const struct bond *bond, struct cipher_key *scratch,
                    const uint8_t in[HANDSHAKE_INITIATION_BYTES], uint8_t payload[HANDSHAKE_PAYLOAD_BYTES]);
/* … and answers what he has read. */
bool handshake_respond(struct noise *noise, const uint8_t ephemeral[SEAL_KEY_BYTES],
                       const uint8_t payload[HANDSHAKE_PAYLOAD_BYTES], uint8_t out[HANDSHAKE_RESPONSE_BYTES],
                       struct session_secrets *secrets);
/* The initiator reads the answer. It may be a forged one: then false, and the handshake goes on as if it had not come. */
bool handshake_finish(struct noise *noise, const uint8_t in[HANDSHAKE_RESPONSE_BYTES],
                      uint8_t payload[HANDSHAKE_PAYLOAD_BYTES], struct session_secrets *secrets);
/* Of an initiation whose MAC fits no bond: the public key that it names as its author's, which proves nothing yet. False: it
 * is not for this node's key. */
bool handshake_peek(const struct primitives *primitives, const struct key_pair *own,
                    struct cipher_key *scratch, const uint8_t in[HANDSHAKE_INITIATION_BYTES],
                    uint8_t author[SEAL_KEY_BYTES]);
