/* What a transfer came to, in words. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "app/sluice/transfer.h"
#include "base/units.h"

static void transfer_words__table(void **state)
{
    (void)state;
    static const struct {
        struct transfer transfer;
        const char *words;
    } cases[] = {
        {{.object = "nightly/archive.tar",
          .from = "london",
          .via = "frankfurt",
          .bytes = 1206000000,
          .took_ns = 13400 * NS_PER_MS},
         "received nightly/archive.tar from london: 1.21 GB in 13.4 s, 720 Mbit/s, via frankfurt"},
        {{.object = "in/a", .from = "london", .bytes = 999, .took_ns = NS_PER_MS},
         "received in/a from london: 999 bytes in 0.001 s, 7.99 Mbit/s"},
        {{.object = "in/a", .from = "london"}, "received in/a from london: 0 bytes in 0.000 s, 0 bit/s"},
        {{.object = "/data/a.tar", .bytes = 999600000, .took_ns = 8 * NS_PER_S, .sites = 4, .sites_whole = 3},
         "sent /data/a.tar to 3 of 4 sites: 1 GB in 8.000 s, 1 Gbit/s"},
        {{.object = "in/a\033[2J\xff", .from = "l", .bytes = 1000, .took_ns = NS_PER_S},
         "received in/a?[2J? from l: 1 kB in 1.000 s, 8 kbit/s"},
    };
    for (size_t row = 0; row < sizeof(cases) / sizeof(cases[0]); row++) {
        char text[256];
        transfer_words(&cases[row].transfer, text, sizeof(text));
        assert_string_equal(text, cases[row].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(transfer_words__table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
