#include "seal/noise.h"

#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "seal/hkdf.h"
#include "seal/wipe.h"

static const char name_ik[] = "Noise_IK_25519_AESGCM_SHA256";
static const char name_ikpsk2[] = "Noise_IKpsk2_25519_AESGCM_SHA256";
_Static_assert(sizeof(name_ikpsk2) - 1 <= SEAL_KEY_BYTES, "names are padded to a hash, not hashed");

/* ---- the symmetric state: names as in the specification, section 5.2 ---- */

static void mix_hash(struct noise *noise, const uint8_t *data, size_t length)
{
    const struct seal_bytes pieces[2] = {{noise->transcript, SEAL_KEY_BYTES}, {data, length}};
    noise->terms.primitives->hash(noise->transcript, pieces, 2);
}

/* HKDF(chaining key, secret) of the specification: RFC 5869 with an empty purpose. */
static void mix(struct noise *noise, const uint8_t secret[SEAL_KEY_BYTES], uint8_t *out, size_t keys)
{
    static const struct seal_bytes no_purpose[2];
    uint8_t drawn[SEAL_KEY_BYTES];
    hkdf_extract(noise->terms.primitives, (struct seal_bytes){noise->chaining_key, SEAL_KEY_BYTES},
                 (struct seal_bytes){secret, SEAL_KEY_BYTES}, drawn);
    hkdf_expand(noise->terms.primitives, drawn, no_purpose, out, keys * SEAL_KEY_BYTES);
    wipe(drawn, sizeof(drawn));
}

static void mix_key(struct noise *noise, const uint8_t secret[SEAL_KEY_BYTES])
{
    uint8_t keys[2][SEAL_KEY_BYTES];
    mix(noise, secret, keys[0], 2);
    memcpy(noise->chaining_key, keys[0], SEAL_KEY_BYTES);
    memcpy(noise->key, keys[1], SEAL_KEY_BYTES);
    noise->nonce = 0;
    wipe(keys, sizeof(keys));
}

static void mix_key_and_hash(struct noise *noise, const uint8_t secret[SEAL_KEY_BYTES])
{
    uint8_t keys[3][SEAL_KEY_BYTES];
    mix(noise, secret, keys[0], 3);
    memcpy(noise->chaining_key, keys[0], SEAL_KEY_BYTES);
    mix_hash(noise, keys[1], SEAL_KEY_BYTES);
    memcpy(noise->key, keys[2], SEAL_KEY_BYTES);
    noise->nonce = 0;
    wipe(keys, sizeof(keys));
}

static void next_nonce(struct noise *noise, uint8_t nonce[SEAL_NONCE_BYTES])
{
    memset(nonce, 0, SEAL_NONCE_BYTES);
    store_be64(nonce + 4, noise->nonce++);
    noise->terms.primitives->cipher_key_set(noise->terms.scratch, noise->key);
}

/* Writes length + SEAL_TAG_BYTES. */
static void encrypt_and_hash(struct noise *noise, const uint8_t *text, size_t length, uint8_t *out)
{
    uint8_t nonce[SEAL_NONCE_BYTES];
    next_nonce(noise, nonce);
    noise->terms.primitives->seal(noise->terms.scratch, nonce,
                                  (struct seal_bytes){noise->transcript, SEAL_KEY_BYTES}, text, length, out,
                                  out + length);
    mix_hash(noise, out, length + SEAL_TAG_BYTES);
}

static bool decrypt_and_hash(struct noise *noise, const uint8_t *sealed, size_t length, uint8_t *out)
{
    uint8_t nonce[SEAL_NONCE_BYTES], known[SEAL_KEY_BYTES];
    next_nonce(noise, nonce);
    memcpy(known, noise->transcript, SEAL_KEY_BYTES);
    mix_hash(noise, sealed, length + SEAL_TAG_BYTES);
    return noise->terms.primitives->open(noise->terms.scratch, nonce,
                                         (struct seal_bytes){known, sizeof(known)}, sealed, length, out,
                                         sealed + length);
}

/* ---- tokens of the pattern, section 7 ---- */

static bool mix_agreed(struct noise *noise, const uint8_t private_key[SEAL_KEY_BYTES],
                       const uint8_t public_key[SEAL_KEY_BYTES])
{
    uint8_t secret[SEAL_KEY_BYTES];
    bool agreed = noise->terms.primitives->agree(secret, private_key, public_key);
    if (agreed)
        mix_key(noise, secret);
    wipe(secret, sizeof(secret));
    return agreed;
}

/* ss */
static bool mix_static(struct noise *noise, const uint8_t *secret)
{
    if (secret == NULL)
        return mix_agreed(noise, noise->own->private_key, noise->peer_static);
    mix_key(noise, secret);
    return true;
}

/* e: where a psk is used, it is mixed into the key as well (section 9.2). */
static void mix_ephemeral(struct noise *noise, const uint8_t public_key[SEAL_KEY_BYTES])
{
    mix_hash(noise, public_key, SEAL_KEY_BYTES);
    if (noise->terms.psk != NULL)
        mix_key(noise, public_key);
}

static void write_ephemeral(struct noise *noise, const uint8_t private_key[SEAL_KEY_BYTES], uint8_t *out)
{
    memcpy(noise->ephemeral.private_key, private_key, SEAL_KEY_BYTES);
    noise->terms.primitives->public_key(noise->ephemeral.public_key, private_key);
    memcpy(out, noise->ephemeral.public_key, SEAL_KEY_BYTES);
    mix_ephemeral(noise, out);
}

static void read_ephemeral(struct noise *noise, const uint8_t *in)
{
    memcpy(noise->peer_ephemeral, in, SEAL_KEY_BYTES);
    mix_ephemeral(noise, in);
}

static void mix_psk(struct noise *noise)
{
    if (noise->terms.psk != NULL)
        mix_key_and_hash(noise, noise->terms.psk);
}

/* ---- messages ---- */

static void begin(struct noise *noise, const struct noise_terms *terms, const struct key_pair *own)
{
    const char *name = terms->psk != NULL ? name_ikpsk2 : name_ik;
    memset(noise, 0, sizeof(*noise));
    noise->terms = *terms;
    noise->own = own;
    memcpy(noise->transcript, name, strlen(name));
    memcpy(noise->chaining_key, noise->transcript, SEAL_KEY_BYTES);
    mix_hash(noise, terms->prologue.data, terms->prologue.length);
    noise->terms.prologue = (struct seal_bytes){NULL, 0};
}

void noise_begin_initiator(struct noise *noise, const struct noise_terms *terms, const struct key_pair *own,
                           const uint8_t peer_static[SEAL_KEY_BYTES])
{
    begin(noise, terms, own);
    memcpy(noise->peer_static, peer_static, SEAL_KEY_BYTES);
    mix_hash(noise, peer_static, SEAL_KEY_BYTES);
}

void noise_begin_responder(struct noise *noise, const struct noise_terms *terms, const struct key_pair *own)
{
    begin(noise, terms, own);
    mix_hash(noise, own->public_key, SEAL_KEY_BYTES);
}

static bool over(struct noise *noise, bool good)
{
    if (!good)
        noise_wipe(noise);
    return good;
}

bool noise_write_initiation(struct noise *noise, const uint8_t ephemeral[SEAL_KEY_BYTES],
                            const uint8_t *secret, struct seal_bytes payload, uint8_t *out)
{
    write_ephemeral(noise, ephemeral, out);
    out += SEAL_KEY_BYTES;
    if (!mix_agreed(noise, noise->ephemeral.private_key, noise->peer_static)) /* es */
        return over(noise, false);
    encrypt_and_hash(noise, noise->own->public_key, SEAL_KEY_BYTES, out); /* s */
    out += SEAL_KEY_BYTES + SEAL_TAG_BYTES;
    if (!mix_static(noise, secret))
        return over(noise, false);
    encrypt_and_hash(noise, payload.data, payload.length, out);
    return true;
}

bool noise_read_static(struct noise *noise, const uint8_t *message)
{
    read_ephemeral(noise, message);
    return over(noise,
                mix_agreed(noise, noise->own->private_key, noise->peer_ephemeral) && /* es */
                    decrypt_and_hash(noise, message + SEAL_KEY_BYTES, SEAL_KEY_BYTES, noise->peer_static));
}

bool noise_read_payload(struct noise *noise, const uint8_t *message, const uint8_t *secret, uint8_t *payload,
                        size_t payload_bytes)
{
    const uint8_t *sealed = message + NOISE_INITIATION_BYTES(0) - SEAL_TAG_BYTES;
    return over(noise, mix_static(noise, secret) && decrypt_and_hash(noise, sealed, payload_bytes, payload));
}

bool noise_write_response(struct noise *noise, const uint8_t ephemeral[SEAL_KEY_BYTES],
                          struct seal_bytes payload, uint8_t *out)
{
    write_ephemeral(noise, ephemeral, out);
    if (!mix_agreed(noise, noise->ephemeral.private_key, noise->peer_ephemeral) || /* ee */
        !mix_agreed(noise, noise->ephemeral.private_key, noise->peer_static))      /* se */
        return over(noise, false);
    mix_psk(noise);
    encrypt_and_hash(noise, payload.data, payload.length, out + SEAL_KEY_BYTES);
    return true;
}

bool noise_read_response(struct noise *noise, const uint8_t *message, uint8_t *payload, size_t payload_bytes)
{
    read_ephemeral(noise, message);
    if (!mix_agreed(noise, noise->ephemeral.private_key, noise->peer_ephemeral) || /* ee */
        !mix_agreed(noise, noise->own->private_key, noise->peer_ephemeral))        /* se */
        return over(noise, false);
    mix_psk(noise);
    return over(noise, decrypt_and_hash(noise, message + SEAL_KEY_BYTES, payload_bytes, payload));
}

void noise_split(struct noise *noise, uint8_t from_initiator[SEAL_KEY_BYTES],
                 uint8_t from_responder[SEAL_KEY_BYTES])
{
    static const uint8_t nothing[1];
    static const struct seal_bytes no_purpose[2];
    uint8_t drawn[SEAL_KEY_BYTES], keys[2][SEAL_KEY_BYTES], transcript[SEAL_KEY_BYTES],
        peer_static[SEAL_KEY_BYTES];
    hkdf_extract(noise->terms.primitives, (struct seal_bytes){noise->chaining_key, SEAL_KEY_BYTES},
                 (struct seal_bytes){nothing, 0}, drawn);
    hkdf_expand(noise->terms.primitives, drawn, no_purpose, keys[0], sizeof(keys));
    memcpy(from_initiator, keys[0], SEAL_KEY_BYTES);
    memcpy(from_responder, keys[1], SEAL_KEY_BYTES);
    memcpy(transcript, noise->transcript, SEAL_KEY_BYTES);
    memcpy(peer_static, noise->peer_static, SEAL_KEY_BYTES);
    noise_wipe(noise);
    memcpy(noise->transcript, transcript, SEAL_KEY_BYTES);
    memcpy(noise->peer_static, peer_static, SEAL_KEY_BYTES);
    wipe(drawn, sizeof(drawn));
    wipe(keys, sizeof(keys));
}

void noise_wipe(struct noise *noise)
{
    wipe(noise, sizeof(*noise));
}
