/* units.h, file_time.h, serial.h, rng.h, digest.h, arena.h: arithmetic that everything else stands on. */
#include "include.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/file_time.h"
#include "base/rng.h"
#include "base/serial.h"
#include "base/units.h"

static void muldiv64__rows(void **state)
{
    static const struct {
        uint64_t a, b, c, down, up;
    } rows[] = {
        {0, 5, 7, 0, 0},
        {1, 1, 1, 1, 1},
        {7, 3, 4, 5, 6},
        {8, 3, 4, 6, 6},
        {10000000000, 2 * NS_PER_S, 8 * NS_PER_S, 2500000000, 2500000000}, /* the product passes 2^64 */
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
        {UINT64_MAX, 2, 3, 12297829382473034410U, 12297829382473034410U},
        {UINT64_MAX, 2, 4, 9223372036854775807U, 9223372036854775808U},
        {UINT64_MAX - 1, UINT64_MAX, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 1},
    };
    (void)state;
    for (unsigned index = 0; index < ROWS(rows); index++) {
        assert_true(muldiv64(rows[index].a, rows[index].b, rows[index].c) == rows[index].down);
        assert_true(muldiv64_up(rows[index].a, rows[index].b, rows[index].c) == rows[index].up);
    }
}

static void transmit_ns__rows(void **state)
{
    static const struct {
        uint64_t bytes, rate_bps, ns;
    } rows[] = {
        {1538, 10000000000, 1230}, /* 1230.4: rounded down */
        {1538, 1000000000, 12304}, {0, 1, 0}, {1, 8, NS_PER_S}, {20000000000, 10000000000, 16 * NS_PER_S},
    };
    (void)state;
    for (unsigned index = 0; index < ROWS(rows); index++)
        assert_int_equal(transmit_ns(rows[index].bytes, rows[index].rate_bps), rows[index].ns);
    assert_int_equal(bytes_within(10000000000, NS_PER_S), 1250000000);
    assert_int_equal(bytes_within(1, 7 * NS_PER_S), 0);
    assert_int_equal(bytes_within(400000000000, 3600 * NS_PER_S), 180000000000000);
}

static void file_time__rows(void **state)
{
    static const struct {
        int64_t seconds;
        uint32_t ns;
        uint64_t time;
        int64_t kept_seconds; /* other than `seconds` where no number stands for it */
        uint32_t kept_ns;
    } rows[] = {
        {0, 0, 0, 0, 0},
        {1752008896, 400000000, 1752008896400000000, 1752008896, 400000000},
        {13569465600, 1, 13569465600000000001U, 13569465600, 1}, /* the year 2400 */
        {-1, 500000000, (uint64_t)-500000000, -1, 500000000},
        {-1, 0, (uint64_t)-1000000000, -1, 0},
        {-1, 999999999, UINT64_MAX, -1, 999999999},
        {-31536000, 0, (uint64_t)-31536000000000000, -31536000, 0},
        {-2147483648, 0, (uint64_t)-2147483648000000000, -2147483648, 0},
        {-2147483649, 7, (uint64_t)-2147483648000000000, -2147483648, 0},
        {INT64_MIN, 0, (uint64_t)-2147483648000000000, -2147483648, 0},
        {16299260424, 0, 16299260424000000000U, 16299260424, 0}, /* the year 2486 */
        {16299260426, 5, 16299260425000000000U, 16299260425, 0},
        {INT64_MAX, 0, 16299260425000000000U, 16299260425, 0},
    };
    (void)state;
    for (unsigned index = 0; index < ROWS(rows); index++) {
        uint64_t time = file_time_of(rows[index].seconds, rows[index].ns);
        assert_true(time == rows[index].time);
        assert_true(file_time_seconds(time) == rows[index].kept_seconds);
        assert_int_equal(file_time_ns(time), rows[index].kept_ns);
        assert_int_equal(file_time_is_before_1970(time), rows[index].seconds < 0);
    }
}

static void time__saturates(void **state)
{
    (void)state;
    assert_int_equal(elapsed_ns(7, 5), 2);
    assert_int_equal(elapsed_ns(5, 7), 0);
    assert_int_equal(later_ns(5, 7), 12);
    assert_true(later_ns(TIME_NEVER, 1) == TIME_NEVER);
    assert_true(later_ns(1, TIME_NEVER) == TIME_NEVER);
    assert_true(later_ns(TIME_NEVER - 5, 5) == TIME_NEVER);
    assert_true(later_ns(TIME_NEVER - 5, 6) == TIME_NEVER);
    assert_true(later_ns(TIME_NEVER - 5, 4) == TIME_NEVER - 1);
}

static void min_max__evaluate_once(void **state)
{
    int calls = 0;
    (void)state;
    assert_int_equal(MIN(++calls, 5), 1);
    assert_int_equal(MAX(++calls, 1), 2);
    assert_int_equal(calls, 2);
}

static void serial_expand32__rows(void **state)
{
    static const struct {
        uint64_t reference;
        uint32_t low;
        uint64_t expanded;
    } rows[] = {
        {0, 0, 0},
        {0, 5, 5},
        {100, 99, 99},
        {0, 0x7fffffff, 0x7fffffff},
        {5, 0xffffffff, 0xffffffff}, /* would lie below zero */
        {0xffffffff, 0, 0x100000000},
        {0x100000000, 0xffffffff, 0xffffffff},
        {0x100000005, 0xfffffff0, 0xfffffff0},
        {0x500000000, 0x7fffffff, 0x57fffffff},
        {0x500000000, 0x80000001, 0x480000001},
        {0xffffffff00000000, 1, 0xffffffff00000001},
        {0x123456789abcdef0, 0x9abcdef0, 0x123456789abcdef0},
    };
    (void)state;
    for (unsigned index = 0; index < ROWS(rows); index++)
        assert_true(serial_expand32(rows[index].reference, rows[index].low) == rows[index].expanded);
}

static void serial_expand32__within_half_a_turn(void **state)
{
    struct rng rng;
    (void)state;
    rng_init(&rng, 7);
    for (unsigned round = 0; round < 10000; round++) {
        uint64_t truth = (rng_next(&rng) >> 16) + (1ULL << 32);
        uint64_t reference = truth + rng_below(&rng, 1ULL << 32) - ((1ULL << 31) - 1);
        assert_true(serial_expand32(reference, (uint32_t)truth) == truth);
    }
    assert_int_equal(serial_distance32(2, 0xffffffff), 3);
    assert_int_equal(serial_distance32(0xffffffff, 2), -3);
}

/* The published sequence of splitmix64 for this seed. */
static void rng_next__golden(void **state)
{
    static const uint64_t expected[] = {6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                                        4593380528125082431U, 16408922859458223821U};
    struct rng rng;
    (void)state;
    rng_init(&rng, 1234567);
    for (unsigned index = 0; index < ROWS(expected); index++)
        assert_true(rng_next(&rng) == expected[index]);
}

static void rng_below__even_and_below(void **state)
{
    struct rng rng;
    unsigned counts[10] = {0};
    (void)state;
    rng_init(&rng, 1);
    for (unsigned round = 0; round < 100000; round++) {
        uint64_t value = rng_below(&rng, 10);
        assert_in_range(value, 0, 9);
        counts[value]++;
    }
    for (unsigned index = 0; index < 10; index++)
        assert_in_range(counts[index], 9500, 10500); /* five standard deviations are 475 */
    for (unsigned round = 0; round < 100; round++)
        assert_int_equal(rng_below(&rng, 1), 0);
}

static void rng_chance__draws_only_when_open(void **state)
{
    struct rng rng;
    unsigned hits = 0;
    (void)state;
    rng_init(&rng, 3);
    uint64_t before = rng.state;
    assert_false(rng_chance_ppb(&rng, 0));
    assert_true(rng_chance_ppb(&rng, 1000000000));
    assert_true(rng.state == before);
    for (unsigned round = 0; round < 100000; round++)
        hits += (unsigned)rng_chance_ppb(&rng, 10000000);
    assert_in_range(hits, 840, 1160); /* 1 %: 1000, five standard deviations are 157 */
}

static void digest__depends_on_words_and_order(void **state)
{
    struct digest one, other;
    (void)state;
    digest_init(&one);
    digest_add(&one, 1);
    digest_add(&one, 2);
    assert_true(one.value == 0x22cd3bb8014ae476); /* by an implementation in Python */
    digest_init(&other);
    digest_add(&other, 2);
    digest_add(&other, 1);
    assert_true(one.value != other.value);
    digest_init(&other);
    digest_add(&other, 1);
    assert_true(one.value != other.value);
    digest_add(&other, 2);
    assert_true(one.value == other.value);
}

static void arena__aligned_and_full_to_the_last_line(void **state)
{
    static _Alignas(ARENA_ALIGN) uint8_t memory[4 * ARENA_ALIGN];
    struct arena arena;
    (void)state;
    arena_init(&arena, memory, sizeof(memory));
    assert_ptr_equal(arena_alloc(&arena, 1), memory);
    assert_ptr_equal(arena_alloc(&arena, 65), memory + ARENA_ALIGN);
    assert_ptr_equal(arena_alloc(&arena, 0), memory + 3 * ARENA_ALIGN);
    assert_ptr_equal(arena_alloc(&arena, 64), memory + 3 * ARENA_ALIGN);
    assert_int_equal(arena.used, sizeof(memory));
    assert_int_equal(arena_need(0), 0);
    assert_int_equal(arena_need(64), 64);
    assert_int_equal(arena_need(65), 128);
}

static void allocate_too_much(void)
{
    static _Alignas(ARENA_ALIGN) uint8_t memory[ARENA_ALIGN];
    struct arena arena;
    arena_init(&arena, memory, sizeof(memory));
    arena_alloc(&arena, ARENA_ALIGN + 1);
}

static void divide_by_zero(void)
{
    muldiv64(1, 1, 0);
}

static void draw_below_nothing(void)
{
    struct rng rng = {0};
    rng_below(&rng, 0);
}

/* Bugs abort in release builds too. */
static void check__aborts(void **state)
{
    static void (*const rows[])(void) = {allocate_too_much, divide_by_zero, draw_below_nothing};
    (void)state;
    for (unsigned index = 0; index < ROWS(rows); index++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            signal(SIGABRT, SIG_DFL);
            fclose(stderr);
            rows[index]();
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(muldiv64__rows),
        cmocka_unit_test(transmit_ns__rows),
        cmocka_unit_test(file_time__rows),
        cmocka_unit_test(time__saturates),
        cmocka_unit_test(min_max__evaluate_once),
        cmocka_unit_test(serial_expand32__rows),
        cmocka_unit_test(serial_expand32__within_half_a_turn),
        cmocka_unit_test(rng_next__golden),
        cmocka_unit_test(rng_below__even_and_below),
        cmocka_unit_test(rng_chance__draws_only_when_open),
        cmocka_unit_test(digest__depends_on_words_and_order),
        cmocka_unit_test(arena__aligned_and_full_to_the_last_line),
        cmocka_unit_test(check__aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
