/* Holes in what a host sent: which packets they spoil, when they are told, and when it is the host that limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/holes.h"

#define RTT_NS (60 * NS_PER_MS)

static void holes__are_told_once(void **state)
{
    (void)state;
    struct holes holes;
    struct hole hole;
    holes_init(&holes);
    holes_add(&holes, &(struct hole){.number = 100, .first = 97, .lasted_ns = 7});
    holes_add(&holes, &(struct hole){.number = 200, .first = 200, .lasted_ns = 8});
    static const struct {
        uint64_t before, largest;
        bool spoilt;
    } rows[] = {{0, 96, false}, {0, 97, true},     {96, 99, true},   {99, 100, true},
                {99, 99, true}, {100, 199, false}, {100, 200, true}, {200, 300, false}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
        assert_int_equal(holes_spoil(&holes, rows[row].before, rows[row].largest), rows[row].spoilt);
    assert_false(holes_pass(&holes, 99, &hole));
    assert_true(holes_pass(&holes, 100, &hole));
    assert_int_equal(hole.lasted_ns, 7);
    assert_false(holes_pass(&holes, 199, &hole));
    assert_true(holes_pass(&holes, 500, &hole));
    assert_int_equal(hole.lasted_ns, 8);
    assert_false(holes_pass(&holes, 500, &hole));
    holes_add(&holes, &(struct hole){.number = 600});
    holes_forget(&holes);
    assert_false(holes_pass(&holes, UINT64_MAX, &hole));
}

static void holes__the_oldest_are_forgotten(void **state)
{
    (void)state;
    struct holes holes;
    struct hole hole;
    holes_init(&holes);
    for (uint64_t number = 0; number < HOLES_MAX + 5; number++)
        holes_add(&holes, &(struct hole){.number = number, .first = number});
    for (uint64_t number = 5; number < HOLES_MAX + 5; number++) {
        assert_true(holes_pass(&holes, UINT64_MAX, &hole));
        assert_int_equal(hole.number, number);
    }
    assert_false(holes_pass(&holes, UINT64_MAX, &hole));
}

/* A host that loses a little now and then is not the limit; one that is short of time all the time is, and one that
 * stands still for long is not. */
static void holes__limit(void **state)
{
    (void)state;
    static const struct {
        uint64_t lost_ns, every_ns;
        bool limits;
    } rows[] = {
        {100 * NS_PER_US, 10 * NS_PER_MS, false}, {900 * NS_PER_US, 20 * NS_PER_MS, false},
        {900 * NS_PER_US, 4 * NS_PER_MS, true},   {10 * NS_PER_US, 50 * NS_PER_US, true},
        {10 * NS_PER_US, 200 * NS_PER_US, false}, {20 * NS_PER_MS, 50 * NS_PER_MS, false},
        {1 * NS_PER_MS, 2 * NS_PER_MS, false},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct holes holes;
        bool limits = false;
        holes_init(&holes);
        for (uint64_t now_ns = NS_PER_S; now_ns < 2 * NS_PER_S; now_ns += rows[row].every_ns)
            limits = holes_on_lag(&holes, rows[row].lost_ns, now_ns, RTT_NS);
        assert_int_equal(limits, rows[row].limits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holes__are_told_once),
        cmocka_unit_test(holes__the_oldest_are_forgotten),
        cmocka_unit_test(holes__limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
