/* What jumps say of packets that wait for their predecessors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/path_wait.h"
#include "edge/path_delay.h"

#define US(n) ((uint64_t)(n)*NS_PER_US)

/* Four times the distance between packets: neighbours jump by twice as much. */
static void wait__jumps_grow_by_the_root_of_the_gap(void **state)
{
    (void)state;
    static const struct {
        uint64_t gap_us, jump_us;
    } rows[] = {{100, 2000}, {25, 1000}, {400, 4000}, {1600, 8000}};
    struct path_wait wait = {.start_ns = 0};
    assert_int_equal(path_wait_jump_ns(&wait, US(100)), 0);
    path_wait_on_jump(&wait, US(2000), US(100), 0);
    path_wait_on_jump(&wait, US(500), US(100), 1);  /* less than the peak */
    path_wait_on_jump(&wait, US(3000), US(400), 2); /* more, but not for packets so far apart */
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++)
        assert_int_equal(path_wait_jump_ns(&wait, US(rows[index].gap_us)) / NS_PER_US, rows[index].jump_us);
    assert_int_equal(path_wait_most_ns(&wait), US(10000));
}

static void wait__forgets_after_twice_the_hold_time(void **state)
{
    (void)state;
    struct path_wait wait = {.start_ns = 0};
    path_wait_on_jump(&wait, US(2000), US(100), 0);
    path_wait_on_jump(&wait, US(1000), US(100), PATH_DELAY_JITTER_HOLD_NS);
    assert_int_equal(path_wait_jump_ns(&wait, US(100)), US(2000));
    path_wait_on_jump(&wait, 0, US(100), 2 * PATH_DELAY_JITTER_HOLD_NS);
    assert_int_equal(path_wait_jump_ns(&wait, US(100)), US(1000));
}

/* How much longer packets wait than when the empty path was seen last: the peaks of one and the same jitter differ. */
static void wait__tells_that_jitter_has_grown(void **state)
{
    (void)state;
    static const struct {
        uint64_t seen_us, then_us, grown_us; /* jumps of packets 100 us apart */
    } rows[] = {{0, 2000, 10000},   {1000, 2000, 7500}, {2000, 2400, 0},
                {2000, 2500, 5625}, {2000, 1000, 0},    {0, 0, 0}};
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct path_wait wait = {.start_ns = 0};
        path_wait_on_jump(&wait, US(rows[index].seen_us), US(100), 0);
        path_wait_on_look(&wait);
        path_wait_on_jump(&wait, US(rows[index].then_us), US(100), 1);
        assert_int_equal(path_wait_grown_ns(&wait), US(rows[index].grown_us));
        path_wait_on_look(&wait);
        assert_int_equal(path_wait_grown_ns(&wait), 0);
    }
}

/* Neither a jump of a second at 100 Gbit/s nor packets a second apart overflow. */
static void wait__bears_extremes(void **state)
{
    (void)state;
    struct path_wait wait = {.start_ns = 0};
    path_wait_on_jump(&wait, NS_PER_S, 0, 0);
    assert_in_range(path_wait_jump_ns(&wait, NS_PER_S), NS_PER_S / 2, NS_PER_S);
}

/* Packets of 100 us waited for those that come each 1.6 ms as little as they jumped there, by 4 ms; or by less, where
 * neighbours never differed so much. */
static void wait__closer_packets_wait_longer(void **state)
{
    (void)state;
    static const struct {
        uint64_t seen_gap_us, gap_us, jitter_us, longer_us;
    } rows[] = {{1600, 100, 9000, 3000}, {1600, 100, 2500, 1500}, {1600, 100, 500, 0},
                {100, 1600, 9000, 0},    {100, 100, 9000, 0},     {100, 25, 9000, 500}};
    struct path_wait wait = {.start_ns = 0};
    path_wait_on_jump(&wait, US(1000), US(100), 0);
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++)
        assert_int_equal(path_wait_longer_ns(&wait, US(rows[index].seen_gap_us), US(rows[index].gap_us),
                                             US(rows[index].jitter_us)),
                         US(rows[index].longer_us));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wait__jumps_grow_by_the_root_of_the_gap),
        cmocka_unit_test(wait__closer_packets_wait_longer),
        cmocka_unit_test(wait__forgets_after_twice_the_hold_time),
        cmocka_unit_test(wait__tells_that_jitter_has_grown),
        cmocka_unit_test(wait__bears_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
