#include "fixture.h"

#include "base/rng.h"
#include "base/units.h"

static void geometry_symbol_bytes_for__fills_the_packet(void **state)
{
    (void)state;
    const struct {
        uint32_t mtu, overhead, symbol_bytes, per_packet;
    } cases[] = {
        {1500, 28, 1408, 1},  {1500, 48, 1376, 1}, {1400, 28, 1296, 1}, {9000, 28, 8896, 1},
        {65535, 28, 8960, 7}, {1116, 28, 1024, 1}, {1115, 28, 0, 0},    {0, 28, 0, 0},
        {28, 28, 0, 0},       {576, 28, 0, 0},
    };
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        uint32_t bytes = geometry_symbol_bytes_for(cases[at].mtu, cases[at].overhead);
        assert_int_equal(bytes, cases[at].symbol_bytes);
        uint32_t one = bytes == 0 ? SYMBOL_BYTES_MIN : bytes;
        assert_int_equal(geometry_symbols_per_packet(cases[at].mtu, cases[at].overhead, one),
                         cases[at].per_packet);
    }
    assert_int_equal(geometry_symbols_per_packet(9000, 28, 1408), 6);
    assert_int_equal(geometry_symbols_per_packet(9000, 28, 1024), 8);
    assert_int_equal(geometry_block_symbols_for(1408), 744);
    assert_int_equal(geometry_block_symbols_for(SYMBOL_BYTES_MIN), BLOCK_SYMBOLS_MAX);
    assert_int_equal(geometry_block_symbols_for(SYMBOL_BYTES_MAX), 117);
}

static void geometry_init__refuses_bad_sizes(void **state)
{
    (void)state;
    const struct {
        uint64_t size_bytes;
        uint32_t symbol_bytes, block_symbols;
        const char *text;
    } cases[] = {
        {OBJECT_BYTES_MAX + 1, 1408, 744, "the limit is 1125899906842624"},
        {1, 1023, 744, "expected 1024 to 8960"},
        {1, 8961, 1, "expected 1024 to 8960"},
        {1, 1408, 0, "expected 1 to 1024"},
        {1, 1024, 1025, "expected 1 to 1024"},
        {1, 1408, 745, "block of 1048960 bytes: the limit is 1048576"},
        {1, 1024, UINT32_MAX, "expected 1 to 1024"},
    };
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        struct geometry geometry;
        struct err err;
        assert_false(geometry_init(&geometry, cases[at].size_bytes, cases[at].symbol_bytes,
                                   cases[at].block_symbols, &err));
        assert_non_null(strstr(err.text, cases[at].text));
    }
}

static void geometry__ends(void **state)
{
    (void)state;
    const uint64_t full = 1408ULL * 744;
    const struct {
        uint64_t size_bytes, symbols, blocks;
        uint32_t last_symbol_bytes, last_block_symbols, last_block_bytes;
    } cases[] = {
        {1, 1, 1, 1, 1, 1},
        {1408, 1, 1, 1408, 1, 1408},
        {1409, 2, 1, 1, 2, 1409},
        {full - 1, 744, 1, 1407, 744, (uint32_t)full - 1},
        {full, 744, 1, 1408, 744, (uint32_t)full},
        {full + 1, 745, 2, 1, 1, 1},
        {3000 * full + 1409, 3000 * 744 + 2, 3001, 1, 2, 1409}, /* 3.1 GB */
    };
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        struct geometry geometry = geometry_of(cases[at].size_bytes, 1408, 744);
        assert_int_equal(geometry.symbols, cases[at].symbols);
        assert_int_equal(geometry.blocks, cases[at].blocks);
        uint64_t last = geometry.blocks - 1;
        assert_int_equal(geometry_symbol_length(&geometry, geometry.symbols - 1),
                         cases[at].last_symbol_bytes);
        assert_int_equal(geometry_symbols_in_block(&geometry, last), cases[at].last_block_symbols);
        assert_int_equal(geometry_block_length(&geometry, last), cases[at].last_block_bytes);
        assert_int_equal(geometry_block_offset(&geometry, last) + geometry_block_length(&geometry, last),
                         cases[at].size_bytes);
        assert_int_equal(geometry_block_of(&geometry, geometry.symbols - 1), last);
    }
    struct geometry empty = geometry_of(0, 1408, 744);
    assert_int_equal(empty.symbols, 0);
    assert_int_equal(empty.blocks, 0);
}

/* Multiplying by the inverse is a division, for every divisor, up to the last symbol of 1 PiB. */
static void geometry_block_of__is_exact(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 1);
    for (uint32_t block_symbols = 1; block_symbols <= BLOCK_SYMBOLS_MAX; block_symbols++) {
        struct geometry geometry = geometry_of(OBJECT_BYTES_MAX, SYMBOL_BYTES_MIN, block_symbols);
        assert_int_equal(geometry.symbols, 1ULL << 40);
        for (int round = 0; round < 100; round++) {
            uint64_t block = round == 0 ? geometry.blocks - 1 : rng_below(&rng, geometry.blocks);
            uint64_t first = block * block_symbols;
            uint32_t count = geometry_symbols_in_block(&geometry, block);
            assert_int_equal(geometry_block_of(&geometry, first), block);
            assert_int_equal(geometry_block_of(&geometry, first + count - 1), block);
            assert_int_equal(geometry_index_of(&geometry, first + count - 1), count - 1);
            assert_int_equal(geometry_block_offset(&geometry, block), first * SYMBOL_BYTES_MIN);
        }
    }
}

static void geometry_run_length__counts_the_short_symbol(void **state)
{
    (void)state;
    struct geometry geometry = geometry_of(10 * 1408 + 5, 1408, 4);
    assert_int_equal(geometry_run_length(&geometry, 0, 4), 4 * 1408);
    assert_int_equal(geometry_run_length(&geometry, 8, 3), 2 * 1408 + 5);
    assert_int_equal(geometry_run_length(&geometry, 10, 1), 5);
    struct geometry even = geometry_of(8 * 1408, 1408, 4);
    assert_int_equal(geometry_run_length(&even, 4, 4), 4 * 1408);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(geometry_symbol_bytes_for__fills_the_packet),
        cmocka_unit_test(geometry_init__refuses_bad_sizes),
        cmocka_unit_test(geometry__ends),
        cmocka_unit_test(geometry_block_of__is_exact),
        cmocka_unit_test(geometry_run_length__counts_the_short_symbol),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
