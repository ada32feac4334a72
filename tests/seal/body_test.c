/* Bodies of symbols: by each table of primitives, and one of them as another library makes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "crypt/crypt.h"
#include "seal/body.h"
#include "seal/insecure.h"
#include "sizes/sizes.h"

#define SYMBOL 1408u
#define BLOCK  744u
#define COUNT  3u
#define LENGTH (2 * SYMBOL + 17)

static const struct primitives *tables[2];

static struct body_secret secret_of(uint8_t first)
{
    struct body_secret secret = {.job = 0x01020304, .symbol_bytes = SYMBOL, .block_symbols = BLOCK};
    for (unsigned at = 0; at < sizeof(secret.bytes); at++)
        secret.bytes[at] = (uint8_t)(first + at);
    return secret;
}

/* By HKDFExpand and AESGCM of Python's `cryptography`. */
static void body__as_another_library_seals(void **state)
{
    static const uint8_t expected[] = {0xb5, 0xca, 0xf8, 0xb3, 0x2a, 0xed, 0x88, 0x38, 0x32, 0xdd, 0x34,
                                       0x08, 0xe4, 0x5d, 0x38, 0xea, 0x2c, 0x24, 0xcc, 0x1d, 0x00, 0x1b,
                                       0x31, 0x74, 0x53, 0xa3, 0xf3, 0xfd, 0x29, 0x5f, 0xd9};
    static const char text[] = "a symbol's text";
    (void)state;
    struct body_cipher cipher = {0};
    struct body_secret secret = secret_of(0);
    uint8_t out[sizeof(text) - 1], tag[SEAL_TAG_BYTES];
    body_cipher_init(&cipher, tables[0]);
    body_seal(&cipher, &secret, 3809283, (const uint8_t *)text, sizeof(out), out, tag); /* in group 5 */
    assert_memory_equal(out, expected, sizeof(out));
    assert_memory_equal(tag, expected + sizeof(out), sizeof(tag));
}

struct sealed {
    uint8_t bytes[LENGTH], tags[COUNT * SEAL_TAG_BYTES];
};

static void seal(struct body_cipher *cipher, const struct body_secret *secret, uint64_t symbol,
                 struct sealed *sealed)
{
    static uint8_t text[LENGTH];
    for (unsigned at = 0; at < LENGTH; at++)
        text[at] = (uint8_t)(at * 7);
    body_seal(cipher, secret, symbol, text, LENGTH, sealed->bytes, sealed->tags);
}

static bool opens(struct body_cipher *cipher, const struct body_secret *secret, uint64_t symbol,
                  const struct sealed *sealed)
{
    static uint8_t text[LENGTH];
    if (!body_open(cipher, secret, symbol, sealed->bytes, LENGTH, text, sealed->tags))
        return false;
    for (unsigned at = 0; at < LENGTH; at++)
        assert_int_equal(text[at], (uint8_t)(at * 7));
    return true;
}

static void body__is_the_same_each_time(void **state)
{
    (void)state;
    for (unsigned table = 0; table < 2; table++) {
        struct body_cipher one = {0}, other = {0};
        struct body_secret secret = secret_of(1), else_where = secret_of(2);
        struct sealed first, again;
        body_cipher_init(&one, tables[table]);
        body_cipher_init(&other, tables[table]);
        seal(&one, &secret, 5, &first);
        seal(&one, &else_where, 5, &again);
        assert_memory_not_equal(first.bytes, again.bytes, LENGTH);
        seal(&one, &secret, 5 + (uint64_t)BLOCK * BODY_GROUP_BLOCKS, &again);
        assert_memory_not_equal(first.bytes, again.bytes, LENGTH);
        seal(&one, &secret, 5, &again);
        assert_memory_equal(&first, &again, sizeof(first));
        assert_true(opens(&other, &secret, 5, &first));
        body_cipher_forget(&other);
        assert_true(opens(&other, &secret, 5, &first));
    }
}

/* Each of these names another key, or another nonce. A stream's numbers go on beyond the 40 bits of the nonce. */
static void body__opens_nowhere_else(void **state)
{
    (void)state;
    for (unsigned table = 0; table < 2; table++) {
        struct body_cipher cipher = {0};
        struct body_secret secret = secret_of(1), changed = secret;
        struct sealed sealed;
        body_cipher_init(&cipher, tables[table]);
        seal(&cipher, &secret, 5, &sealed);
        assert_false(opens(&cipher, &secret, 6, &sealed));
        assert_false(opens(&cipher, &secret, 5 + (1ULL << 40), &sealed));
        changed.job++;
        assert_false(opens(&cipher, &changed, 5, &sealed));
        changed = secret;
        changed.block_symbols++;
        assert_false(opens(&cipher, &changed, 5, &sealed));
        changed = secret;
        changed.bytes[31] ^= 1;
        assert_false(opens(&cipher, &changed, 5, &sealed));
        assert_true(opens(&cipher, &secret, 5, &sealed));
    }
}

static void body__each_bit_counts(void **state)
{
    (void)state;
    for (unsigned table = 0; table < 2; table++) {
        struct body_cipher cipher = {0};
        struct body_secret secret = secret_of(1);
        struct sealed sealed;
        body_cipher_init(&cipher, tables[table]);
        seal(&cipher, &secret, 5, &sealed);
        for (unsigned bit = 0; bit < 8 * sizeof(sealed); bit++) {
            uint8_t *byte = (uint8_t *)&sealed + bit / 8;
            *byte ^= (uint8_t)(1u << bit % 8);
            assert_false(opens(&cipher, &secret, 5, &sealed));
            *byte ^= (uint8_t)(1u << bit % 8);
        }
        assert_true(opens(&cipher, &secret, 5, &sealed));
    }
}

int main(void)
{
    struct err err;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(body__as_another_library_seals),
        cmocka_unit_test(body__is_the_same_each_time),
        cmocka_unit_test(body__opens_nowhere_else),
        cmocka_unit_test(body__each_bit_counts),
    };
    tables[0] = crypt_primitives(&err);
    tables[1] = &sizes_primitives;
    if (tables[0] == NULL)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
