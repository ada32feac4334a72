/* Keys as text: tables of good and hostile texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "crypt/crypt.h"
#include "seal/key_text.h"

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))
#define ZEROS         "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" /* 252 of 256 bits */

static const uint8_t zeros[SEAL_KEY_BYTES];

/* The checksum of 32 zeros is 0x8a9136aa (RFC 3720), its bits in base64url: 6 characters, with 4 zero bits before. */
static void key_text__known_text(void **state)
{
    (void)state;
    char text[KEY_TEXT_BYTES], private_text[KEY_TEXT_PRIVATE_BYTES], beginning[KEY_TEXT_SHORT_BYTES];
    uint8_t key[SEAL_KEY_BYTES];
    key_text_public(text, zeros);
    assert_string_equal(text, "slk1:" ZEROS "CKkTaq");
    key_text_private(private_text, zeros);
    assert_string_equal(private_text, "slk1-private:" ZEROS "CKkTaq");
    memset(key, 0xff, sizeof(key));
    key_text_short(beginning, key);
    assert_string_equal(beginning, "________");
}

static void key_text__there_and_back(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 7);
    for (unsigned round = 0; round < 1000; round++) {
        char text[KEY_TEXT_BYTES], private_text[KEY_TEXT_PRIVATE_BYTES];
        uint8_t key[SEAL_KEY_BYTES], back[SEAL_KEY_BYTES];
        for (unsigned at = 0; at < sizeof(key); at++)
            key[at] = (uint8_t)rng_next(&rng);
        key_text_public(text, key);
        assert_int_equal(key_text_read_public(back, text), KEY_TEXT_GOOD);
        assert_memory_equal(back, key, sizeof(key));
        assert_int_equal(key_text_read_private(back, text), KEY_TEXT_WRONG_KIND);
        key_text_private(private_text, key);
        assert_int_equal(key_text_read_private(back, private_text), KEY_TEXT_GOOD);
        assert_memory_equal(back, key, sizeof(key));
        assert_int_equal(key_text_read_public(back, private_text), KEY_TEXT_WRONG_KIND);
        assert_memory_equal(back, zeros, sizeof(back));
    }
}

static void key_text__hostile(void **state)
{
    static const struct {
        const char *text;
        enum key_text_fault fault;
    } rows[] = {
        {"", KEY_TEXT_WRONG_PREFIX},
        {"slk1", KEY_TEXT_WRONG_PREFIX},
        {"SLK1:" ZEROS "CKkTaq", KEY_TEXT_WRONG_PREFIX},
        {"slk2:" ZEROS "CKkTaq", KEY_TEXT_WRONG_PREFIX},
        {" slk1:" ZEROS "CKkTaq", KEY_TEXT_WRONG_PREFIX},
        {ZEROS "CKkTaq", KEY_TEXT_WRONG_PREFIX},
        {"slk1-private:", KEY_TEXT_WRONG_KIND},
        {"slk1:", KEY_TEXT_WRONG_LENGTH},
        {"slk1:" ZEROS, KEY_TEXT_WRONG_LENGTH},
        {"slk1:" ZEROS "CKkTa", KEY_TEXT_WRONG_LENGTH},
        {"slk1:" ZEROS "CKkTaqA", KEY_TEXT_WRONG_LENGTH},
        {"slk1:" ZEROS "CKkTaq=", KEY_TEXT_WRONG_LENGTH},
        {"slk1:" ZEROS "CKkTaq\n", KEY_TEXT_WRONG_LENGTH},
        {"slk1:" ZEROS "CKkT q", KEY_TEXT_WRONG_CHARACTERS},
        {"slk1:" ZEROS "CKkT+q", KEY_TEXT_WRONG_CHARACTERS},
        {"slk1:" ZEROS "CKkT/q", KEY_TEXT_WRONG_CHARACTERS},
        {"slk1:" ZEROS "CKkT=q", KEY_TEXT_WRONG_CHARACTERS},
        {"slk1:" ZEROS "CKk\xc3\xa4q", KEY_TEXT_WRONG_CHARACTERS},
        {"slk1:" ZEROS "CKkT\x1bq", KEY_TEXT_WRONG_CHARACTERS},
        {"slk1:" ZEROS "CKkTar", KEY_TEXT_WRONG_CHECKSUM},
    };
    (void)state;
    for (unsigned row = 0; row < LENGTH(rows); row++) {
        uint8_t key[SEAL_KEY_BYTES];
        memset(key, 1, sizeof(key));
        assert_int_equal(key_text_read_public(key, rows[row].text), rows[row].fault);
        assert_memory_equal(key, zeros, sizeof(key));
    }
}

/* Every single change, and every two neighbours that change places. */
static void key_text__slips_of_the_pen(void **state)
{
    static const char others[] = "AZaz09-_";
    char text[KEY_TEXT_BYTES];
    uint8_t key[SEAL_KEY_BYTES], back[SEAL_KEY_BYTES];
    (void)state;
    for (unsigned at = 0; at < sizeof(key); at++)
        key[at] = (uint8_t)(at * 37 + 11);
    key_text_public(text, key);
    for (size_t at = strlen(KEY_TEXT_PREFIX); at < KEY_TEXT_BYTES - 1; at++) {
        char kept = text[at], next = text[at + 1];
        for (size_t other = 0; other < strlen(others); other++) {
            text[at] = others[other];
            assert_int_equal(key_text_read_public(back, text),
                             kept == others[other] ? KEY_TEXT_GOOD : KEY_TEXT_WRONG_CHECKSUM);
        }
        text[at] = kept;
        if (next == '\0' || next == kept)
            continue;
        text[at] = next;
        text[at + 1] = kept;
        assert_int_equal(key_text_read_public(back, text), KEY_TEXT_WRONG_CHECKSUM);
        text[at] = kept;
        text[at + 1] = next;
    }
}

static void key_of_hex(uint8_t key[SEAL_KEY_BYTES], const char *hex)
{
    for (unsigned at = 0; at < SEAL_KEY_BYTES; at++)
        assert_int_equal(sscanf(hex + 2 * at, "%2hhx", &key[at]), 1);
}

/* Whatever the table says, X25519 has the last word: no secret comes of these, and one of all others. */
static void key_is_low_order__as_x25519_says(void **state)
{
    static const struct {
        const char *hex;
        bool low;
    } rows[] = {
        {"0000000000000000000000000000000000000000000000000000000000000000", true},
        {"0100000000000000000000000000000000000000000000000000000000000000", true},
        {"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800", true},
        {"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157", true},
        {"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", true},
        {"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", true},
        {"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", true},
        {"0200000000000000000000000000000000000000000000000000000000000000", false},
        {"0900000000000000000000000000000000000000000000000000000000000000", false},
        {"ebffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", false},
        {"efffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", false},
        {"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b801", false},
    };
    (void)state;
    struct err err;
    const struct primitives *primitives = crypt_primitives(&err);
    uint8_t key[SEAL_KEY_BYTES], own[SEAL_KEY_BYTES], out[SEAL_KEY_BYTES];
    memset(own, 0x41, sizeof(own));
    assert_non_null(primitives);
    for (unsigned row = 0; row < LENGTH(rows); row++) {
        key_of_hex(key, rows[row].hex);
        for (unsigned with_high_bit = 0; with_high_bit < 2; with_high_bit++) {
            assert_int_equal(key_is_low_order(key), rows[row].low);
            assert_int_equal(primitives->agree(out, own, key), !rows[row].low);
            key[SEAL_KEY_BYTES - 1] |= 0x80;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_text__known_text),
        cmocka_unit_test(key_text__there_and_back),
        cmocka_unit_test(key_text__hostile),
        cmocka_unit_test(key_text__slips_of_the_pen),
        cmocka_unit_test(key_is_low_order__as_x25519_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
