#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/reorder.h"

#define MS  NS_PER_MS
#define RTT (100 * MS)

/* Acks every 10 ms over `span_ns` that all report this lateness. */
static uint64_t watch(struct reorder *reorder, uint64_t from_ns, uint64_t span_ns, uint64_t late_ns)
{
    uint64_t now_ns = from_ns;
    for (; now_ns < from_ns + span_ns; now_ns += 10 * MS)
        reorder_on_ack(reorder, late_ns, now_ns + 1, RTT, now_ns + RTT);
    return now_ns;
}

static void reorder__little_is_known_at_first(void **state)
{
    (void)state;
    static const struct {
        uint64_t rtt_ns, allowance_ns;
    } cases[] = {{100 * MS, 25 * MS}, {4 * MS, MS}, {1000 * MS, REORDER_CEILING_NS}};
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        struct reorder reorder;
        uint64_t rtt_ns = cases[index].rtt_ns;
        reorder_init(&reorder);
        reorder_on_ack(&reorder, 0, 1, rtt_ns, rtt_ns);
        assert_int_equal(reorder.allowance_ns, cases[index].allowance_ns);
        reorder_on_ack(&reorder, 0, rtt_ns / 4, rtt_ns, rtt_ns);
        assert_int_equal(reorder.allowance_ns, cases[index].allowance_ns);
        reorder_on_ack(&reorder, 0, rtt_ns / 4 * 3, rtt_ns, rtt_ns);
        assert_int_equal(reorder.allowance_ns, REORDER_MIN_NS);
    }
}

static void reorder__follows_lateness_within_its_bounds(void **state)
{
    (void)state;
    static const struct {
        uint64_t late_ns, allowance_ns;
    } cases[] = {{0, REORDER_MIN_NS},
                 {MS / 2, REORDER_MIN_NS},
                 {8 * MS, 10 * MS},
                 {64 * MS, 80 * MS},
                 {TIME_NEVER / 1000, RTT}};
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        struct reorder reorder;
        reorder_init(&reorder);
        watch(&reorder, 0, RTT, cases[index].late_ns);
        assert_in_range(reorder.allowance_ns, cases[index].allowance_ns - 100, cases[index].allowance_ns);
    }
}

static void reorder__lateness_fades_with_acks_not_with_idleness(void **state)
{
    (void)state;
    struct reorder reorder;
    reorder_init(&reorder);
    uint64_t now_ns = watch(&reorder, 0, RTT, 8 * MS);
    now_ns = watch(&reorder, now_ns, REORDER_FADE_RTTS * RTT, 0);
    assert_in_range(reorder.late_ns, 8 * MS * 36 / 100, 8 * MS * 37 / 100); /* 1/e */
    uint64_t before_ns = reorder.late_ns;
    watch(&reorder, now_ns + 1000 * RTT, 10 * MS, 0);
    assert_true(reorder.late_ns >= before_ns - before_ns / 16);
}

static void reorder__needless_repairs_widen_it_for_a_while(void **state)
{
    (void)state;
    struct reorder reorder;
    reorder_init(&reorder);
    uint64_t now_ns = watch(&reorder, 0, RTT, 8 * MS);
    uint64_t narrow_ns = reorder.allowance_ns, last_ns = narrow_ns;
    for (int count = 0; count < 7; count++) {
        reorder_on_spurious(&reorder, RTT);
        assert_true(reorder.allowance_ns > last_ns);
        last_ns = reorder.allowance_ns;
    }
    reorder_on_spurious(&reorder, RTT);
    assert_int_equal(reorder.allowance_ns, last_ns); /* 3 times the lateness at most */
    assert_in_range(last_ns, 24 * MS - 1000, 24 * MS);
    now_ns =
        watch(&reorder, now_ns, (REORDER_MARGIN_MAX - REORDER_MARGIN) * REORDER_CALM_RTTS * RTT / 2, 8 * MS);
    assert_in_range(reorder.allowance_ns, narrow_ns + MS, last_ns - MS);
    watch(&reorder, now_ns, (REORDER_MARGIN_MAX - REORDER_MARGIN) * REORDER_CALM_RTTS * RTT, 8 * MS);
    assert_int_equal(reorder.allowance_ns, narrow_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reorder__little_is_known_at_first),
        cmocka_unit_test(reorder__follows_lateness_within_its_bounds),
        cmocka_unit_test(reorder__lateness_fades_with_acks_not_with_idleness),
        cmocka_unit_test(reorder__needless_repairs_widen_it_for_a_while),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
