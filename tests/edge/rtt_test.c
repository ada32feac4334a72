#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/rtt.h"

static void rtt__before_the_first_sample(void **state)
{
    (void)state;
    struct rtt rtt;
    rtt_init(&rtt, 5);
    assert_int_equal(rtt.smoothed_ns, RTT_INITIAL_NS);
    assert_int_equal(rtt_min_ns(&rtt), RTT_INITIAL_NS);
    assert_true(rtt_timeout_ns(&rtt) >= RTT_INITIAL_NS);
}

static void rtt__follows_rfc6298(void **state)
{
    (void)state;
    struct rtt rtt;
    rtt_init(&rtt, 0);
    rtt_on_sample(&rtt, 800000, 1);
    assert_int_equal(rtt.smoothed_ns, 800000);
    assert_int_equal(rtt.variation_ns, 400000);
    rtt_on_sample(&rtt, 1600000, 2);
    assert_int_equal(rtt.variation_ns, 300000 + 200000);
    assert_int_equal(rtt.smoothed_ns, 700000 + 200000);
    assert_int_equal(rtt.latest_ns, 1600000);
    assert_int_equal(rtt_timeout_ns(&rtt), 900000 + 4 * 500000);
    rtt_init(&rtt, 0);
    rtt_on_sample(&rtt, 10, 1);
    assert_int_equal(rtt_timeout_ns(&rtt), NS_PER_MS);
}

static void rtt__minimum_slides(void **state)
{
    (void)state;
    static const struct {
        uint64_t at_s, sample_ns, min_ns;
    } steps[] = {
        {0, 500, 500},  {1, 300, 300},     {9, 900, 300},     {15, 700, 300},
        {25, 800, 300}, {31, 850, 700},    {45, 900, 800},    {55, 950, 850},
        {65, 990, 900}, {300, 2000, 2000}, {301, 1500, 1500}, {332, 1800, 1800},
    };
    struct rtt rtt;
    rtt_init(&rtt, 0);
    for (size_t index = 0; index < sizeof(steps) / sizeof(steps[0]); index++) {
        rtt_on_sample(&rtt, steps[index].sample_ns, steps[index].at_s * NS_PER_S);
        assert_int_equal(rtt_min_ns(&rtt), steps[index].min_ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rtt__before_the_first_sample),
        cmocka_unit_test(rtt__follows_rfc6298),
        cmocka_unit_test(rtt__minimum_slides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
