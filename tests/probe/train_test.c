#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "probe/train.h"

static struct train_shape shape_of(uint32_t packets, uint64_t rate_bps)
{
    struct train_shape shape = {.wire_bytes = FULL_PACKET_WIRE_BYTES};
    assert_true(train_add(&shape, packets, rate_bps));
    return shape;
}

/* Each departure is the exact one, rounded down, or 1 ns before where rounding the carry shows. */
static void train_step__departures_keep_to_the_rate(void **state)
{
    (void)state;
    static const uint64_t rates[] = {10000000000, 9999999999, 40000000000, 7, 1000, 123456789, 3333333333};
    for (unsigned r = 0; r < sizeof rates / sizeof rates[0]; r++) {
        struct train_shape shape = shape_of(rates[r] < 1000 ? 5 : TRAIN_PACKETS_MAX, rates[r]);
        struct train_schedule schedule;
        train_begin(&schedule, &shape, 1000);
        for (uint64_t k = 0; k < train_packets(&shape); k++) {
            uint64_t exact_ns = 1000 + muldiv64(k * FULL_PACKET_WIRE_BYTES * 8, NS_PER_S, rates[r]);
            assert_int_equal(schedule.index, k);
            assert_in_range(schedule.next_ns, exact_ns - 1, exact_ns);
            train_step(&schedule);
        }
        assert_true(schedule.next_ns == TIME_NEVER);
    }
}

static void train_step__pieces_follow_without_a_gap(void **state)
{
    (void)state;
    struct train_shape shape = {.wire_bytes = 1250}; /* 1 us at 10 Gbit/s */
    assert_true(train_add(&shape, 2, 10000000000));
    assert_true(train_add(&shape, 0, 0));
    assert_true(train_add_pause(&shape, 500));
    assert_true(train_add(&shape, 2, 5000000000));
    assert_true(train_add(&shape, 1, 10000000000));
    static const uint64_t departures[] = {0, 1000, 2500, 4500, 6500};
    struct train_schedule schedule;
    train_begin(&schedule, &shape, 0);
    for (unsigned k = 0; k < 5; k++) {
        assert_int_equal(schedule.next_ns, departures[k]);
        train_step(&schedule);
    }
    assert_true(schedule.next_ns == TIME_NEVER);
    assert_int_equal(train_packets(&shape), 5);
    assert_int_equal(train_bytes(&shape), 6250);
    assert_int_equal(train_duration_ns(&shape), 7500);
}

/* A thousand pieces' worth of thirds of a nanosecond add up to whole ones. */
static void train_step__what_is_left_out_is_carried(void **state)
{
    (void)state;
    struct train_shape shape = {.wire_bytes = 1000};
    for (unsigned i = 0; i < TRAIN_PIECES_MAX; i++)
        assert_true(train_add(&shape, 1, 3000000000)); /* 2666 2/3 ns each */
    assert_false(train_add(&shape, 1, 3000000000));
    assert_in_range(train_duration_ns(&shape), 64 * 8000 / 3 - 1, 64 * 8000 / 3);
    struct train_schedule schedule;
    train_begin(&schedule, &shape, 0);
    for (uint64_t k = 0; k < TRAIN_PIECES_MAX; k++) {
        assert_in_range(schedule.next_ns + 1, k * 8000 / 3, k * 8000 / 3 + 1);
        train_step(&schedule);
    }
}

static void train_shape_valid__cases(void **state)
{
    (void)state;
    static const struct {
        struct train_shape shape;
        bool valid;
    } cases[] = {
        {{.wire_bytes = 1538, .piece_count = 1, .pieces = {{.packets = 1, .rate_bps = 1}}}, true},
        {{.wire_bytes = 1538, .piece_count = 1, .pieces = {{.packets = 1}}}, false},
        {{.wire_bytes = 1538, .piece_count = 1, .pieces = {{.pause_ns = 1}}}, false},
        {{.wire_bytes = 1538}, false},
        {{.wire_bytes = 38, .piece_count = 1, .pieces = {{.packets = 1, .rate_bps = 1}}}, false},
        {{.wire_bytes = 9255, .piece_count = 1, .pieces = {{.packets = 1, .rate_bps = 1}}}, false},
        {{.wire_bytes = 1538, .piece_count = TRAIN_PIECES_MAX + 1}, false},
        {{.wire_bytes = 1538,
          .piece_count = 1,
          .pieces = {{.packets = TRAIN_PACKETS_MAX + 1, .rate_bps = 1}}},
         false},
        {{.wire_bytes = 1538,
          .piece_count = 2,
          .pieces = {{.packets = UINT32_MAX, .rate_bps = 1}, {.packets = 2, .rate_bps = 1}}},
         false},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(train_shape_valid(&cases[i].shape), cases[i].valid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(train_step__departures_keep_to_the_rate),
        cmocka_unit_test(train_step__pieces_follow_without_a_gap),
        cmocka_unit_test(train_step__what_is_left_out_is_carried),
        cmocka_unit_test(train_shape_valid__cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
