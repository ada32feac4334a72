#include "seal/handshake.h"

#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "seal/hkdf.h"
#include "seal/wipe.h"

static const char prologue[] = "sluice 2";
static const char mac_label[] = "sluice 2 mac1";
static const uint8_t no_psk[SEAL_KEY_BYTES];

/* For each direction one of its own, so that no datagram can be sent back to its author. */
static void make_mac_key(const struct bond *bond, const uint8_t drawn[SEAL_KEY_BYTES], const uint8_t *sender,
                         const uint8_t *receiver, uint8_t out[SEAL_MAC_KEY_BYTES])
{
    const struct seal_bytes info[2] = {{sender, SEAL_KEY_BYTES}, {receiver, SEAL_KEY_BYTES}};
    hkdf_expand(bond->primitives, drawn, info, out, SEAL_MAC_KEY_BYTES);
}

bool bond_make(struct bond *bond, const struct primitives *primitives, const struct key_pair *own,
               const uint8_t peer[SEAL_KEY_BYTES])
{
    uint8_t drawn[SEAL_KEY_BYTES];
    bond->primitives = primitives;
    bond->own = own;
    memcpy(bond->peer, peer, SEAL_KEY_BYTES);
    if (!primitives->agree(bond->shared, own->private_key, peer))
        return false;
    hkdf_extract(primitives, (struct seal_bytes){(const uint8_t *)mac_label, sizeof(mac_label) - 1},
                 (struct seal_bytes){bond->shared, SEAL_KEY_BYTES}, drawn);
    make_mac_key(bond, drawn, own->public_key, peer, bond->mac_out);
    make_mac_key(bond, drawn, peer, own->public_key, bond->mac_in);
    wipe(drawn, sizeof(drawn));
    return true;
}

static void mac_of(const struct bond *bond, const uint8_t key[SEAL_MAC_KEY_BYTES], const uint8_t *datagram,
                   size_t length, size_t tag_at, uint8_t tag[SEAL_TAG_BYTES])
{
    uint8_t copy[HANDSHAKE_DATAGRAM_MAX];
    CHECK(length <= sizeof(copy) && tag_at + SEAL_TAG_BYTES <= length);
    memcpy(copy, datagram, length);
    memset(copy + tag_at, 0, SEAL_TAG_BYTES);
    bond->primitives->mac(tag, key, copy, length);
}

void bond_mac_out(const struct bond *bond, const uint8_t *datagram, size_t length, size_t tag_at,
                  uint8_t tag[SEAL_TAG_BYTES])
{
    mac_of(bond, bond->mac_out, datagram, length, tag_at, tag);
}

bool bond_mac_fits(const struct bond *bond, const uint8_t *datagram, size_t length, size_t tag_at)
{
    uint8_t tag[SEAL_TAG_BYTES];
    mac_of(bond, bond->mac_in, datagram, length, tag_at, tag);
    return equal_in_constant_time(tag, datagram + tag_at, SEAL_TAG_BYTES);
}

static struct noise_terms terms_of(const struct primitives *primitives, struct cipher_key *scratch)
{
    return (struct noise_terms){.primitives = primitives,
                                .scratch = scratch,
                                .prologue = {(const uint8_t *)prologue, sizeof(prologue) - 1},
                                .psk = no_psk};
}

bool handshake_initiate(struct noise *noise, const struct bond *bond, struct cipher_key *scratch,
                        const uint8_t ephemeral[SEAL_KEY_BYTES],
                        const uint8_t payload[HANDSHAKE_PAYLOAD_BYTES],
                        uint8_t out[HANDSHAKE_INITIATION_BYTES])
{
    struct noise_terms terms = terms_of(bond->primitives, scratch);
    noise_begin_initiator(noise, &terms, bond->own, bond->peer);
    return noise_write_initiation(noise, ephemeral, bond->shared,
                                  (struct seal_bytes){payload, HANDSHAKE_PAYLOAD_BYTES}, out);
}

bool handshake_read(struct noise *noise, const struct bond *bond, struct cipher_key *scratch,
                    const uint8_t in[HANDSHAKE_INITIATION_BYTES], uint8_t payload[HANDSHAKE_PAYLOAD_BYTES])
{
    struct noise_terms terms = terms_of(bond->primitives, scratch);
    noise_begin_responder(noise, &terms, bond->own);
    if (!noise_read_static(noise, in))
        return false;
    if (!equal_in_constant_time(noise->peer_static, bond->peer, SEAL_KEY_BYTES)) {
        noise_wipe(noise);
        return false;
    }
    return noise_read_payload(noise, in, bond->shared, payload, HANDSHAKE_PAYLOAD_BYTES);
}

bool handshake_peek(const struct primitives *primitives, const struct key_pair *own,
                    struct cipher_key *scratch, const uint8_t in[HANDSHAKE_INITIATION_BYTES],
                    uint8_t author[SEAL_KEY_BYTES])
{
    struct noise noise;
    struct noise_terms terms = terms_of(primitives, scratch);
    noise_begin_responder(&noise, &terms, own);
    bool good = noise_read_static(&noise, in);
    if (good)
        memcpy(author, noise.peer_static, SEAL_KEY_BYTES);
    noise_wipe(&noise);
    return good;
}

static void split(struct noise *noise, uint8_t from_initiator[SEAL_KEY_BYTES],
                  uint8_t from_responder[SEAL_KEY_BYTES], struct session_secrets *secrets)
{
    noise_split(noise, from_initiator, from_responder);
    secrets->name = load_be64(noise->transcript);
}

bool handshake_respond(struct noise *noise, const uint8_t ephemeral[SEAL_KEY_BYTES],
                       const uint8_t payload[HANDSHAKE_PAYLOAD_BYTES], uint8_t out[HANDSHAKE_RESPONSE_BYTES],
                       struct session_secrets *secrets)
{
    if (!noise_write_response(noise, ephemeral, (struct seal_bytes){payload, HANDSHAKE_PAYLOAD_BYTES}, out))
        return false;
    split(noise, secrets->in, secrets->out, secrets);
    return true;
}

bool handshake_finish(struct noise *noise, const uint8_t in[HANDSHAKE_RESPONSE_BYTES],
                      uint8_t payload[HANDSHAKE_PAYLOAD_BYTES], struct session_secrets *secrets)
{
    struct noise tried = *noise;
    bool good = noise_read_response(&tried, in, payload, HANDSHAKE_PAYLOAD_BYTES);
    if (good) {
        split(&tried, secrets->out, secrets->in, secrets);
        noise_wipe(noise);
    }
    noise_wipe(&tried);
    return good;
}
