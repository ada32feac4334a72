/* Published vectors through each implementation of the primitives, and through the Noise handshake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crypt/crypt.h"
#include "crypt/self_test.h"
#include "seal/hkdf.h"
#include "seal/noise.h"
#include "vectors.h"

static const char *folder;
static const struct primitives *primitives;

static void gcm_both_ways(const struct primitives *table)
{
    struct vectors vectors;
    struct cipher_key key = {0};
    table->cipher_key_init(&key);
    unsigned count = 0;
    vectors_open(&vectors, folder, "gcm256.csv");
    for (; vectors_next(&vectors); count++) {
        uint8_t bytes[VECTOR_BYTES_MAX], nonce[VECTOR_BYTES_MAX], known[VECTOR_BYTES_MAX],
            text[VECTOR_BYTES_MAX];
        uint8_t sealed[VECTOR_BYTES_MAX], tag[VECTOR_BYTES_MAX], out[VECTOR_BYTES_MAX], made[SEAL_TAG_BYTES];
        assert_int_equal(vectors_bytes(&vectors, 0, bytes), SEAL_KEY_BYTES);
        assert_int_equal(vectors_bytes(&vectors, 1, nonce), SEAL_NONCE_BYTES);
        struct seal_bytes with = {known, vectors_bytes(&vectors, 2, known)};
        size_t length = vectors_bytes(&vectors, 3, text);
        assert_int_equal(vectors_bytes(&vectors, 4, sealed), length);
        assert_int_equal(vectors_bytes(&vectors, 5, tag), SEAL_TAG_BYTES);
        table->cipher_key_set(&key, bytes);
        table->seal(&key, nonce, with, text, length, out, made);
        assert_memory_equal(out, sealed, length);
        assert_memory_equal(made, tag, SEAL_TAG_BYTES);
        assert_true(table->open(&key, nonce, with, out, length, out, tag)); /* in place */
        assert_memory_equal(out, text, length);
        for (unsigned bit = 0; bit < 8 * SEAL_TAG_BYTES; bit += 11) {
            made[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_false(table->open(&key, nonce, with, sealed, length, out, made));
            made[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
    print_message("%s: %u vectors of GCM\n", table->name, count);
    assert_int_equal(count, 150);
}

static void gcm__nist(void **state)
{
    (void)state;
    gcm_both_ways(crypt_libcrypto());
    if (crypt_multi_buffer() != NULL)
        gcm_both_ways(crypt_multi_buffer());
}

/* Right for no text, and for all that it opens itself: another cipher. */
static void wrong_seal(const struct cipher_key *key, const uint8_t nonce[SEAL_NONCE_BYTES],
                       struct seal_bytes known, const uint8_t *text, size_t length, uint8_t *out,
                       uint8_t tag[SEAL_TAG_BYTES])
{
    primitives->seal(key, nonce, known, text, length, out, tag);
    for (size_t at = 0; at < length; at++)
        out[at] ^= 0x55;
}

static bool wrong_open(const struct cipher_key *key, const uint8_t nonce[SEAL_NONCE_BYTES],
                       struct seal_bytes known, const uint8_t *sealed, size_t length, uint8_t *out,
                       const uint8_t tag[SEAL_TAG_BYTES])
{
    for (size_t at = 0; at < length; at++)
        out[at] = sealed[at] ^ 0x55;
    return primitives->open(key, nonce, known, out, length, out, tag);
}

static void self_test__finds_a_cipher_that_agrees_with_itself_only(void **state)
{
    (void)state;
    struct primitives wrong = *primitives;
    assert_null(self_test(&wrong));
    wrong.seal = wrong_seal;
    wrong.open = wrong_open;
    assert_string_equal(self_test(&wrong), "AES-256-GCM");
}

static void x25519__rfc_7748(void **state)
{
    (void)state;
    struct vectors vectors;
    unsigned count = 0;
    vectors_open(&vectors, folder, "x25519.csv");
    for (; vectors_next(&vectors); count++) {
        uint8_t scalar[VECTOR_BYTES_MAX], point[VECTOR_BYTES_MAX], expected[VECTOR_BYTES_MAX],
            out[SEAL_KEY_BYTES];
        vectors_bytes(&vectors, 1, scalar);
        vectors_bytes(&vectors, 2, point);
        vectors_bytes(&vectors, 3, expected);
        for (int round = atoi(vectors.columns[0]); round > 0; round--) {
            assert_true(primitives->agree(out, scalar, point));
            memcpy(point, scalar, SEAL_KEY_BYTES);
            memcpy(scalar, out, SEAL_KEY_BYTES);
        }
        assert_memory_equal(scalar, expected, SEAL_KEY_BYTES);
    }
    print_message("%u vectors of X25519\n", count);
    assert_int_equal(count, 4);
}

static void x25519__low_order(void **state)
{
    (void)state;
    static const uint8_t low[2][SEAL_KEY_BYTES] = {{0}, {1}};
    uint8_t scalar[SEAL_KEY_BYTES] = {7}, out[SEAL_KEY_BYTES];
    assert_false(primitives->agree(out, scalar, low[0]));
    assert_false(primitives->agree(out, scalar, low[1]));
}

static void hkdf__rfc_5869(void **state)
{
    (void)state;
    struct vectors vectors;
    unsigned count = 0;
    vectors_open(&vectors, folder, "hkdf.csv");
    for (; vectors_next(&vectors); count++) {
        uint8_t secret[VECTOR_BYTES_MAX], salt[VECTOR_BYTES_MAX], info[VECTOR_BYTES_MAX],
            key[VECTOR_BYTES_MAX];
        uint8_t expected[VECTOR_BYTES_MAX], drawn[SEAL_KEY_BYTES], out[HKDF_OUT_MAX];
        struct seal_bytes from = {secret, vectors_bytes(&vectors, 0, secret)};
        struct seal_bytes salted = {salt, vectors_bytes(&vectors, 1, salt)};
        size_t info_bytes = vectors_bytes(&vectors, 2, info);
        const struct seal_bytes purpose[2] = {{info, info_bytes / 2},
                                              {info + info_bytes / 2, info_bytes - info_bytes / 2}};
        vectors_bytes(&vectors, 3, key);
        size_t length = vectors_bytes(&vectors, 4, expected);
        hkdf_extract(primitives, salted, from, drawn);
        assert_memory_equal(drawn, key, SEAL_KEY_BYTES);
        hkdf_expand(primitives, drawn, purpose, out, length);
        assert_memory_equal(out, expected, length);
    }
    print_message("%u vectors of HKDF\n", count);
    assert_int_equal(count, 3);
}

static void siphash__authors(void **state)
{
    (void)state;
    struct vectors vectors;
    unsigned count = 0;
    uint8_t key[64], expected[VECTOR_BYTES_MAX], out[SEAL_TAG_BYTES];
    for (uint8_t index = 0; index < sizeof(key); index++)
        key[index] = index;
    vectors_open(&vectors, folder, "siphash128.csv");
    for (; vectors_next(&vectors); count++) {
        vectors_bytes(&vectors, 1, expected);
        primitives->mac(out, key, key, (size_t)atoi(vectors.columns[0]));
        assert_memory_equal(out, expected, SEAL_TAG_BYTES);
    }
    print_message("%u vectors of SipHash\n", count);
    assert_int_equal(count, 64);
}

/* ---- Noise ---- */

enum {
    PROLOGUE = 1,
    PSK,
    INIT_STATIC,
    INIT_EPHEMERAL,
    RESP_PUBLIC,
    RESP_STATIC,
    RESP_EPHEMERAL,
    HASH,
    PAYLOAD
};

struct ends {
    struct noise init, resp;
    struct key_pair init_own, resp_own;
    struct cipher_key scratch;
    uint8_t init_ephemeral[SEAL_KEY_BYTES], resp_ephemeral[SEAL_KEY_BYTES];
};

static void key_of(const struct vectors *vectors, size_t column, uint8_t out[SEAL_KEY_BYTES])
{
    uint8_t bytes[VECTOR_BYTES_MAX];
    assert_int_equal(vectors_bytes(vectors, column, bytes), SEAL_KEY_BYTES);
    memcpy(out, bytes, SEAL_KEY_BYTES);
}

static void begin(struct ends *ends, const struct vectors *vectors)
{
    uint8_t prologue[VECTOR_BYTES_MAX], psk[VECTOR_BYTES_MAX], public_key[SEAL_KEY_BYTES];
    memset(ends, 0, sizeof(*ends));
    primitives->cipher_key_init(&ends->scratch);
    key_of(vectors, INIT_STATIC, ends->init_own.private_key);
    key_of(vectors, RESP_STATIC, ends->resp_own.private_key);
    key_of(vectors, INIT_EPHEMERAL, ends->init_ephemeral);
    key_of(vectors, RESP_EPHEMERAL, ends->resp_ephemeral);
    primitives->public_key(ends->init_own.public_key, ends->init_own.private_key);
    primitives->public_key(ends->resp_own.public_key, ends->resp_own.private_key);
    key_of(vectors, RESP_PUBLIC, public_key);
    assert_memory_equal(public_key, ends->resp_own.public_key, SEAL_KEY_BYTES);
    static uint8_t kept_psk[SEAL_KEY_BYTES];
    bool has_psk = vectors_bytes(vectors, PSK, psk) > 0;
    memcpy(kept_psk, psk, sizeof(kept_psk));
    struct noise_terms terms = {primitives,
                                &ends->scratch,
                                {prologue, vectors_bytes(vectors, PROLOGUE, prologue)},
                                has_psk ? kept_psk : NULL};
    noise_begin_initiator(&ends->init, &terms, &ends->init_own, ends->resp_own.public_key);
    noise_begin_responder(&ends->resp, &terms, &ends->resp_own);
}

static void shake(struct ends *ends, const struct vectors *vectors, uint8_t keys[2][SEAL_KEY_BYTES])
{
    uint8_t payload[VECTOR_BYTES_MAX], expected[VECTOR_BYTES_MAX], out[VECTOR_BYTES_MAX],
        got[VECTOR_BYTES_MAX];
    size_t length = vectors_bytes(vectors, PAYLOAD, payload);
    assert_int_equal(vectors_bytes(vectors, PAYLOAD + 1, expected), NOISE_INITIATION_BYTES(length));
    assert_true(noise_write_initiation(&ends->init, ends->init_ephemeral, NULL,
                                       (struct seal_bytes){payload, length}, out));
    assert_memory_equal(out, expected, NOISE_INITIATION_BYTES(length));
    assert_true(noise_read_static(&ends->resp, out));
    assert_memory_equal(ends->resp.peer_static, ends->init_own.public_key, SEAL_KEY_BYTES);
    uint8_t secret[SEAL_KEY_BYTES];
    assert_true(primitives->agree(secret, ends->resp_own.private_key, ends->resp.peer_static));
    assert_true(noise_read_payload(&ends->resp, out, secret, got, length));
    assert_memory_equal(got, payload, length);

    length = vectors_bytes(vectors, PAYLOAD + 2, payload);
    assert_int_equal(vectors_bytes(vectors, PAYLOAD + 3, expected), NOISE_RESPONSE_BYTES(length));
    assert_true(
        noise_write_response(&ends->resp, ends->resp_ephemeral, (struct seal_bytes){payload, length}, out));
    assert_memory_equal(out, expected, NOISE_RESPONSE_BYTES(length));
    assert_true(noise_read_response(&ends->init, out, got, length));
    assert_memory_equal(got, payload, length);

    uint8_t others[2][SEAL_KEY_BYTES], hash[SEAL_KEY_BYTES];
    noise_split(&ends->init, keys[0], keys[1]);
    noise_split(&ends->resp, others[0], others[1]);
    assert_memory_equal(keys[0], others[0], sizeof(others));
    key_of(vectors, HASH, hash);
    assert_memory_equal(ends->init.transcript, hash, SEAL_KEY_BYTES);
    assert_memory_equal(ends->resp.transcript, hash, SEAL_KEY_BYTES);
}

static void noise__cacophony(void **state)
{
    (void)state;
    struct vectors vectors;
    struct ends ends;
    unsigned count = 0;
    vectors_open(&vectors, folder, "noise.csv");
    for (; vectors_next(&vectors); count++) {
        uint8_t keys[2][SEAL_KEY_BYTES];
        begin(&ends, &vectors);
        shake(&ends, &vectors, keys);
        for (unsigned message = 2; message < 6; message++) {
            uint8_t payload[VECTOR_BYTES_MAX], expected[VECTOR_BYTES_MAX], out[VECTOR_BYTES_MAX];
            uint8_t nonce[SEAL_NONCE_BYTES] = {[11] = (uint8_t)(message / 2 - 1)};
            size_t length = vectors_bytes(&vectors, PAYLOAD + 2 * message, payload);
            vectors_bytes(&vectors, PAYLOAD + 2 * message + 1, expected);
            primitives->cipher_key_set(&ends.scratch, keys[message % 2]);
            primitives->seal(&ends.scratch, nonce, (struct seal_bytes){NULL, 0}, payload, length, out,
                             out + length);
            assert_memory_equal(out, expected, length + SEAL_TAG_BYTES);
        }
    }
    print_message("%u handshakes of Noise\n", count);
    assert_int_equal(count, 2);
}

/* Any single bit changed on the way ends the handshake, and nothing is left of it. */
static void noise__changed_bits(void **state)
{
    (void)state;
    struct vectors vectors;
    struct ends ends;
    vectors_open(&vectors, folder, "noise.csv");
    while (vectors_next(&vectors)) {
        const uint8_t said[9] = "a payload";
        uint8_t first[NOISE_INITIATION_BYTES(9)], got[9];
        static const struct noise wiped;
        for (size_t bit = 0; bit < 8 * sizeof(first); bit += 7) {
            begin(&ends, &vectors);
            assert_true(noise_write_initiation(&ends.init, ends.init_ephemeral, NULL,
                                               (struct seal_bytes){said, sizeof(said)}, first));
            first[bit / 8] ^= (uint8_t)(1u << bit % 8);
            /* The highest bit of a point is not looked at (RFC 7748, section 5), but is part of the transcript. */
            bool taken = noise_read_static(&ends.resp, first) &&
                         noise_read_payload(&ends.resp, first, NULL, got, sizeof(got));
            assert_false(taken);
            assert_memory_equal(&ends.resp, &wiped, sizeof(wiped));
        }
    }
}

static void crypt__random(void **state)
{
    (void)state;
    uint8_t one[32], other[32];
    crypt_random(one, sizeof(one));
    crypt_random(other, sizeof(other));
    assert_memory_not_equal(one, other, sizeof(one));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gcm__nist),
        cmocka_unit_test(self_test__finds_a_cipher_that_agrees_with_itself_only),
        cmocka_unit_test(x25519__rfc_7748),
        cmocka_unit_test(x25519__low_order),
        cmocka_unit_test(hkdf__rfc_5869),
        cmocka_unit_test(siphash__authors),
        cmocka_unit_test(noise__cacophony),
        cmocka_unit_test(noise__changed_bits),
        cmocka_unit_test(crypt__random),
    };
    struct err err;
    folder = argc > 1 ? argv[1] : ".";
    primitives = crypt_primitives(&err);
    if (primitives == NULL) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
