/* Keys of a session through updates: their order, their ids, and what opens with which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "crypt/crypt.h"
#include "seal/insecure.h"
#include "seal/session_keys.h"
#include "sizes/sizes.h"

#define TEXT_BYTES 24

static const struct primitives *tables[4];
static unsigned table_count;

static struct session_keys one, other;

static void begin(const struct primitives *primitives)
{
    struct session_secrets secrets, crossed;
    memset(secrets.out, 0x17, sizeof(secrets.out));
    memset(secrets.in, 0x29, sizeof(secrets.in));
    memcpy(crossed.out, secrets.in, sizeof(crossed.out));
    memcpy(crossed.in, secrets.out, sizeof(crossed.in));
    memset(&one, 0, sizeof(one));
    memset(&other, 0, sizeof(other));
    session_keys_init(&one, primitives);
    session_keys_init(&other, primitives);
    session_keys_set(&one, &secrets);
    session_keys_set(&other, &crossed);
}

/* A packet of that number from one, under its current keys. */
struct packet {
    uint8_t id;
    struct sealing what;
    uint8_t text[TEXT_BYTES], tag[SEAL_TAG_BYTES];
};

static void make_packet(struct packet *packet, enum seal_space space, uint64_t number)
{
    static const uint8_t known[32] = "header", text[TEXT_BYTES] = "what is said";
    packet->id = one.out.id;
    packet->what = (struct sealing){space, number, {known, sizeof(known)}, text, TEXT_BYTES};
    session_keys_seal(&one, &packet->what, packet->text, packet->tag);
    packet->what.text = packet->text;
}

/* With the set of that age at the other one. */
static bool opens_with(const struct packet *packet, enum key_age age)
{
    uint8_t opened[TEXT_BYTES];
    return session_keys_open(&other, age, &packet->what, opened, packet->tag);
}

static void move_one(void)
{
    session_keys_prepare(&one, &one.out);
    session_keys_move(&one.out);
    session_keys_forget_old(&one, &one.out);
}

static void move_other(void)
{
    session_keys_prepare(&other, &other.in);
    session_keys_move(&other.in);
}

static void session_keys__each_set_opens_its_own(void **state)
{
    (void)state;
    for (unsigned table = 0; table < table_count; table++) {
        begin(tables[table]);
        session_keys_prepare(&other, &other.in);
        struct packet packets[3];
        for (unsigned update = 0; update < 3; update++) {
            make_packet(&packets[update], update % SEAL_SPACES, UINT32_MAX - 1 + update);
            move_one();
        }
        for (unsigned at = 0; at < 3; at++) {
            assert_true(opens_with(&packets[at], KEYS_CURRENT));
            if (at < 2)
                assert_true(opens_with(&packets[at + 1], KEYS_NEXT));
            if (at > 0)
                assert_true(opens_with(&packets[at - 1], KEYS_OLD));
            for (unsigned packet = 0; packet < 3; packet++)
                if (packet != at)
                    assert_false(opens_with(&packets[packet], KEYS_CURRENT));
            session_keys_move(&other.in);
            session_keys_prepare(&other, &other.in);
        }
        assert_true(opens_with(&packets[2], KEYS_OLD));
        session_keys_forget_old(&other, &other.in);
        assert_false(opens_with(&packets[2], KEYS_OLD)); /* wiped */
    }
}

/* 1 … 255, 1, …: never 0; an id belongs to at most one set, and to none that is not there. */
static void session_keys__ids_come_again(void **state)
{
    (void)state;
    begin(&sizes_primitives);
    for (unsigned update = 0; update < 600; update++) {
        uint8_t id = (uint8_t)(update % 255 + 1), before = (uint8_t)((update + 254) % 255 + 1),
                behind = (uint8_t)((update + 1) % 255 + 1);
        assert_int_equal(other.in.id, id);
        for (unsigned any = 0; any <= UINT8_MAX; any++) {
            enum key_age age = any == id ? KEYS_CURRENT : any == before && update != 0 ? KEYS_OLD : KEYS_NONE;
            assert_int_equal(session_keys_find(&other.in, (uint8_t)any), age);
        }
        session_keys_prepare(&other, &other.in);
        assert_int_equal(session_keys_find(&other.in, behind), KEYS_NEXT);
        session_keys_forget_old(&other, &other.in);
        assert_int_equal(session_keys_find(&other.in, before), KEYS_NONE);
        struct packet packet;
        make_packet(&packet, SEAL_DATA, update);
        assert_int_equal(packet.id, id);
        assert_true(opens_with(&packet, KEYS_CURRENT));
        move_one();
        move_other();
    }
}

/* A derivation happens once for each update, and leaves nothing that the set before could be made of. */
static void session_keys__the_secret_is_replaced(void **state)
{
    (void)state;
    for (unsigned table = 0; table < table_count; table++) {
        begin(tables[table]);
        uint8_t first[SEAL_KEY_BYTES], second[SEAL_KEY_BYTES];
        memcpy(first, other.in.secret, sizeof(first));
        session_keys_prepare(&other, &other.in);
        memcpy(second, other.in.secret, sizeof(second));
        assert_memory_not_equal(first, second, sizeof(first));
        session_keys_prepare(&other, &other.in);
        assert_memory_equal(second, other.in.secret, sizeof(second));
        assert_memory_equal(other.out.secret, one.in.secret,
                            SEAL_KEY_BYTES); /* the other direction as it was */
        session_keys_forget(&other);
        static const uint8_t zeros[SEAL_KEY_BYTES];
        assert_memory_equal(other.in.secret, zeros, sizeof(zeros));
        assert_memory_equal(other.out.secret, zeros, sizeof(zeros));
        assert_int_equal(session_keys_find(&other.in, 1), KEYS_NONE);
    }
}

/* HKDF-Expand(k, "sluice 2 update", 32) of 32 bytes 0x17, twice, by Python's hmac. */
static void session_keys__known_secret(void **state)
{
    (void)state;
    static const uint8_t known[2][SEAL_KEY_BYTES] = {
        {0xf6, 0x5b, 0xa4, 0x46, 0x01, 0x5e, 0xe6, 0x6a, 0x7f, 0xc8, 0x09, 0x7f, 0x9f, 0x4c, 0x5f, 0xef,
         0x85, 0x0a, 0x91, 0x70, 0x81, 0x9e, 0x66, 0x7a, 0xa9, 0xf8, 0x1b, 0x90, 0xdc, 0xf7, 0x72, 0x85},
        {0x4c, 0x63, 0xaa, 0xe9, 0x13, 0xd0, 0xf1, 0x47, 0xdc, 0x1f, 0xfa, 0xaf, 0xbe, 0xb6, 0x8a, 0xc8,
         0x2b, 0x25, 0xa5, 0xc4, 0x66, 0x62, 0xde, 0x08, 0x30, 0x85, 0x52, 0xcf, 0x7a, 0x90, 0x74, 0x66}};
    begin(crypt_libcrypto());
    for (unsigned update = 0; update < 2; update++) {
        session_keys_prepare(&one, &one.out);
        assert_memory_equal(one.out.secret, known[update], SEAL_KEY_BYTES);
        session_keys_move(&one.out);
    }
}

/* Where nobody is kept out, there is one set, of id 0. */
static void session_keys__nothing_to_update(void **state)
{
    (void)state;
    begin(&insecure_primitives);
    session_keys_prepare(&one, &one.out);
    assert_false(one.out.has_next);
    assert_int_equal(session_keys_find(&one.in, 0), KEYS_CURRENT);
    assert_int_equal(session_keys_find(&one.in, 1), KEYS_NONE);
    assert_int_equal(session_keys_find(&one.in, 255), KEYS_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(session_keys__each_set_opens_its_own),
        cmocka_unit_test(session_keys__ids_come_again),
        cmocka_unit_test(session_keys__the_secret_is_replaced),
        cmocka_unit_test(session_keys__known_secret),
        cmocka_unit_test(session_keys__nothing_to_update),
    };
    struct err err;
    if (crypt_primitives(&err) == NULL) {
        print_error("%s\n", err.text);
        return 1;
    }
    tables[table_count++] = &sizes_primitives;
    tables[table_count++] = crypt_libcrypto();
    if (crypt_multi_buffer() != NULL)
        tables[table_count++] = crypt_multi_buffer();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
