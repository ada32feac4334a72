/* The handshake between two nodes, by each table of primitives; then packets under the session's keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "crypt/crypt.h"
#include "seal/insecure.h"
#include "sizes/nonces.h"
#include "sizes/sizes.h"
#include "seal/session_keys.h"

#define HEADER 32
#define TAG_AT 16

static const struct primitives *tables[4];
static unsigned table_count;

struct node {
    struct key_pair own;
    struct bond bond;
    struct noise noise;
    struct session_secrets secrets;
    struct session_keys keys;
};

static struct world {
    const struct primitives *primitives;
    struct cipher_key scratch;
    struct node one, other;
    uint8_t first[HANDSHAKE_INITIATION_BYTES], second[HANDSHAKE_RESPONSE_BYTES], got[HANDSHAKE_PAYLOAD_BYTES];
} world;

static const uint8_t said[HANDSHAKE_PAYLOAD_BYTES] = "what the initiator says";
static const uint8_t answered[HANDSHAKE_PAYLOAD_BYTES] = "what the responder says";
static const uint8_t fresh[2][SEAL_KEY_BYTES] = {"ephemeral bytes of the initiator",
                                                 "ephemeral bytes of the responder"};

static void begin(const struct primitives *primitives)
{
    memset(&world, 0, sizeof(world));
    nonces_forget();
    world.primitives = primitives;
    primitives->cipher_key_init(&world.scratch);
    memset(world.one.own.private_key, 0x41, SEAL_KEY_BYTES);
    memset(world.other.own.private_key, 0x62, SEAL_KEY_BYTES);
    primitives->public_key(world.one.own.public_key, world.one.own.private_key);
    primitives->public_key(world.other.own.public_key, world.other.own.private_key);
    assert_true(bond_make(&world.one.bond, primitives, &world.one.own, world.other.own.public_key));
    assert_true(bond_make(&world.other.bond, primitives, &world.other.own, world.one.own.public_key));
}

static void initiate(void)
{
    assert_true(
        handshake_initiate(&world.one.noise, &world.one.bond, &world.scratch, fresh[0], said, world.first));
}

static void respond(void)
{
    assert_true(
        handshake_read(&world.other.noise, &world.other.bond, &world.scratch, world.first, world.got));
    assert_memory_equal(world.got, said, sizeof(said));
    assert_true(
        handshake_respond(&world.other.noise, fresh[1], answered, world.second, &world.other.secrets));
}

static void finish(void)
{
    assert_true(handshake_finish(&world.one.noise, world.second, world.got, &world.one.secrets));
    assert_memory_equal(world.got, answered, sizeof(answered));
}

static void shake(const struct primitives *primitives)
{
    begin(primitives);
    initiate();
    respond();
    finish();
    session_keys_init(&world.one.keys, primitives);
    session_keys_init(&world.other.keys, primitives);
    session_keys_set(&world.one.keys, &world.one.secrets);
    session_keys_set(&world.other.keys, &world.other.secrets);
}

static void handshake__both_know_the_same(void **state)
{
    (void)state;
    for (unsigned table = 0; table < table_count; table++) {
        shake(tables[table]);
        assert_memory_equal(world.one.secrets.out, world.other.secrets.in, SEAL_KEY_BYTES);
        assert_memory_equal(world.one.secrets.in, world.other.secrets.out, SEAL_KEY_BYTES);
        assert_memory_not_equal(world.one.secrets.in, world.one.secrets.out, SEAL_KEY_BYTES);
        assert_true(world.one.secrets.name == world.other.secrets.name && world.one.secrets.name != 0);
    }
}

/* A response that somebody made up does not end the handshake: the true one is read after it. */
static void handshake__goes_on_after_a_forged_response(void **state)
{
    (void)state;
    for (unsigned table = 0; table < table_count; table++) {
        if (!tables[table]->authenticates)
            continue;
        begin(tables[table]);
        initiate();
        respond();
        for (size_t byte = 0; byte < sizeof(world.second); byte += 5) {
            world.second[byte] ^= 0x08;
            assert_false(handshake_finish(&world.one.noise, world.second, world.got, &world.one.secrets));
            world.second[byte] ^= 0x08;
        }
        finish();
    }
}

static void handshake__only_the_bonds_peer(void **state)
{
    (void)state;
    for (unsigned table = 0; table < table_count; table++) {
        begin(tables[table]);
        struct key_pair stranger;
        memset(stranger.private_key, 0x77, SEAL_KEY_BYTES);
        tables[table]->public_key(stranger.public_key, stranger.private_key);
        struct bond bond;
        assert_true(bond_make(&bond, tables[table], &stranger, world.other.own.public_key));
        assert_true(handshake_initiate(&world.one.noise, &bond, &world.scratch, fresh[0], said, world.first));
        assert_false(
            handshake_read(&world.other.noise, &world.other.bond, &world.scratch, world.first, world.got));
        static const uint8_t low_order[SEAL_KEY_BYTES];
        assert_false(bond_make(&bond, tables[table], &stranger, low_order));
    }
}

/* Not by another, not of the other direction, not changed in one bit. */
static void bond__mac(void **state)
{
    (void)state;
    for (unsigned table = 0; table < table_count; table++) {
        if (!tables[table]->authenticates)
            continue;
        begin(tables[table]);
        uint8_t datagram[HEADER + HANDSHAKE_INITIATION_BYTES] = "header";
        bond_mac_out(&world.one.bond, datagram, sizeof(datagram), TAG_AT, datagram + TAG_AT);
        assert_true(bond_mac_fits(&world.other.bond, datagram, sizeof(datagram), TAG_AT));
        assert_false(bond_mac_fits(&world.one.bond, datagram, sizeof(datagram), TAG_AT));
        assert_false(bond_mac_fits(&world.other.bond, datagram, sizeof(datagram) - 1, TAG_AT));
        for (size_t bit = 0; bit < 8 * sizeof(datagram); bit += 3) {
            datagram[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_false(bond_mac_fits(&world.other.bond, datagram, sizeof(datagram), TAG_AT));
            datagram[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

static void session_keys__open_what_was_sealed(void **state)
{
    (void)state;
    static const struct {
        enum seal_space space;
        uint64_t number;
        size_t known, text;
    } rows[] = {
        {SEAL_DATA, 0, 64, 0},
        {SEAL_DATA, 1ULL << 40, 176, 0},
        {SEAL_CONTROL, 0, 32, 4},
        {SEAL_CONTROL, UINT32_MAX, 32, 1400},
        {SEAL_CONTROL, 1ULL << 33, 48, 0},
    };
    uint8_t known[176], text[1400], sealed[1400], opened[1400], tag[SEAL_TAG_BYTES];
    memset(known, 0x5a, sizeof(known));
    memset(text, 0xa5, sizeof(text));
    for (unsigned table = 0; table < table_count; table++) {
        shake(tables[table]);
        for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
            struct sealing what = {
                rows[row].space, rows[row].number, {known, rows[row].known}, text, rows[row].text};
            session_keys_seal(&world.one.keys, &what, sealed, tag);
            what.text = sealed;
            assert_true(session_keys_open(&world.other.keys, KEYS_CURRENT, &what, opened, tag));
            assert_memory_equal(opened, text, rows[row].text);
            if (!tables[table]->authenticates)
                continue;
            struct sealing wrong = what;
            wrong.number++;
            assert_false(session_keys_open(&world.other.keys, KEYS_CURRENT, &wrong, opened, tag));
            wrong = what;
            wrong.space = !what.space;
            assert_false(session_keys_open(&world.other.keys, KEYS_CURRENT, &wrong, opened, tag));
            assert_false(session_keys_open(&world.one.keys, KEYS_CURRENT, &what, opened,
                                           tag)); /* sent back to its author */
            known[rows[row].known - 1] ^= 1;
            assert_false(session_keys_open(&world.other.keys, KEYS_CURRENT, &what, opened, tag));
            known[rows[row].known - 1] ^= 1;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handshake__both_know_the_same),
        cmocka_unit_test(handshake__goes_on_after_a_forged_response),
        cmocka_unit_test(handshake__only_the_bonds_peer),
        cmocka_unit_test(bond__mac),
        cmocka_unit_test(session_keys__open_what_was_sealed),
    };
    struct err err;
    if (crypt_primitives(&err) == NULL) {
        print_error("%s\n", err.text);
        return 1;
    }
    tables[table_count++] = &insecure_primitives;
    tables[table_count++] = &sizes_primitives;
    tables[table_count++] = crypt_libcrypto();
    if (crypt_multi_buffer() != NULL)
        tables[table_count++] = crypt_multi_buffer();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
