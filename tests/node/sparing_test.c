/* peer/sparing.h: by a table of rates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/units.h"
#include "node/peer/sparing.h"

static void sparing__as_the_data_can_pay(void **state)
{
    (void)state;
    static const struct {
        uint64_t data_bps, wanted_ms, interval_ms;
    } rows[] = {
        {0, 1000, 1000},        {16000, 1000, 3000},     {64000, 1000, 3000}, {180000, 1000, 2000},
        {360000, 1000, 1000},   {1000000, 1000, 1000},   {64000, 250, 750},   {64000, 10000, 10000},
        {40000000, 1000, 1000}, {100000000, 1000, 1000},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct sparing sparing;
        uint64_t wanted_ns = rows[row].wanted_ms * NS_PER_MS, now_ns = 5 * NS_PER_S, bytes = 0;
        sparing_init(&sparing, wanted_ns, 5, 1000000000, now_ns);
        assert_int_equal(sparing.interval_ns, wanted_ns);
        for (int look = 0; look < 4; look++) {
            bytes += bytes_within(rows[row].data_bps, sparing.interval_ns);
            now_ns += sparing.interval_ns;
            sparing_look(&sparing, bytes, wanted_ns, wanted_ns, now_ns);
        }
        assert_int_equal(sparing.interval_ns / NS_PER_MS, rows[row].interval_ms);
        /* The data has ended: the next one but one is in time again. */
        assert_int_equal(sparing_look(&sparing, bytes, wanted_ns, wanted_ns, now_ns + sparing.interval_ns),
                         wanted_ns);
    }
}

static void sparing__as_the_ports_can_pay(void **state)
{
    (void)state;
    static const struct {
        uint32_t peers;
        uint64_t port_bps, told_ms, interval_ms;
    } rows[] = {
        {63, 10000000000, 0, 1000}, {63, 10000000000, 1000, 1000}, {63, 2268000, 1000, 1000},
        {63, 1134000, 1000, 2000},  {63, 256000, 1000, 3000},      {1, 36000, 1000, 1000},
        {1, 18000, 1000, 2000},     {1, 10000000, 2500, 2500},     {1, 10000000, 65535, 3000},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct sparing sparing;
        sparing_init(&sparing, NS_PER_S, rows[row].peers, rows[row].port_bps, 5 * NS_PER_S);
        sparing_look(&sparing, 0, NS_PER_S, rows[row].told_ms * NS_PER_MS, 6 * NS_PER_S);
        assert_int_equal(sparing.interval_ns / NS_PER_MS, rows[row].interval_ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sparing__as_the_data_can_pay),
                                       cmocka_unit_test(sparing__as_the_ports_can_pay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
