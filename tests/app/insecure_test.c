/* What is said of a node without keys, and how often. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "app/sluice/insecure.h"
#include "base/units.h"

static void insecure_remind__each_minute(void **state)
{
    uint64_t due_ns = 0;
    unsigned said = 0;
    (void)state;
    for (uint64_t second = 0; second < 600; second++)
        said += insecure_remind("london", &due_ns, (1000 + second) * NS_PER_S);
    assert_int_equal(said, 10);
}

#define LINE "insecure: packets are neither authenticated nor encrypted (node.insecure: benchmark)\n"

static void insecure_mark__rows(void **state)
{
    static const struct {
        enum report_form form;
        const char *text, *marked;
    } rows[] = {
        {REPORT_TEXT, "", LINE},
        {REPORT_TEXT, "peers: 1\n", LINE "peers: 1\n"},
        {REPORT_JSON, "{}", "{\"insecure\":\"benchmark\"}"},
        {REPORT_JSON, "{\"a\":1}", "{\"insecure\":\"benchmark\",\"a\":1}"},
    };
    (void)state;
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        char text[256], small[256];
        strcpy(text, rows[row].text);
        strcpy(small, rows[row].text);
        assert_true(insecure_mark(rows[row].form, text, strlen(rows[row].marked) + 1));
        assert_string_equal(text, rows[row].marked);
        assert_false(insecure_mark(rows[row].form, small, strlen(rows[row].marked)));
        assert_string_equal(small, rows[row].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(insecure_remind__each_minute),
                                       cmocka_unit_test(insecure_mark__rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
