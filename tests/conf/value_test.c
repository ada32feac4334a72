/* Values with units: tables of text and number. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdio.h>
#include <cmocka.h>

#include "conf/conf.h"
#include "conf/value.h"

#define BAD UINT64_MAX

struct value_case {
    enum value_kind kind;
    const char *text;
    uint64_t value; /* BAD: refused */
};

static const struct value_case parse_cases[] = {
    {VALUE_RATE, "1Gbps", 1000000000},
    {VALUE_RATE, "1.5 Gbps", 1500000000},
    {VALUE_RATE, "100kbps", 100000},
    {VALUE_RATE, "100Kbps", 100000},
    {VALUE_RATE, "0", 0},
    {VALUE_RATE, "0bps", 0},
    {VALUE_RATE, "18446744Tbps", 18446744000000000000ULL},
    {VALUE_RATE, "18446745Tbps", BAD},
    {VALUE_RATE, "1000", BAD}, /* of what? */
    {VALUE_RATE, "1gbps", BAD},
    {VALUE_RATE, "1Gbit", BAD},
    {VALUE_RATE, "0.5bps", BAD},
    {VALUE_RATE, "-1Gbps", BAD},
    {VALUE_RATE, "1Gbps ", BAD},
    {VALUE_RATE, " 1Gbps", BAD},
    {VALUE_RATE, "", BAD},
    {VALUE_RATE, "Gbps", BAD},
    {VALUE_TIME, "40ms", 40000000},
    {VALUE_TIME, "0.5us", 500},
    {VALUE_TIME, "1\u00b5s", 1000},
    {VALUE_TIME, "2min", 120000000000},
    {VALUE_TIME, "1h", 3600000000000},
    {VALUE_TIME, "0.000000001s", 1},
    {VALUE_TIME, "0.0000000001s", BAD},
    {VALUE_TIME, "1.2.3s", BAD},
    {VALUE_TIME, "1.s", BAD},
    {VALUE_TIME, ".5s", BAD},
    {VALUE_TIME, "1e3s", BAD},
    {VALUE_SIZE, "64MiB", 64ULL << 20},
    {VALUE_SIZE, "100MB", 100000000},
    {VALUE_SIZE, "100 kB", 100000},
    {VALUE_SIZE, "1048577", 1048577},
    {VALUE_SIZE, "1.5", BAD},
    {VALUE_SIZE, "0.5KiB", 512},
    {VALUE_SIZE, "9999999999999999999", 9999999999999999999ULL},
    {VALUE_SIZE, "99999999999999999999", BAD},
    {VALUE_SIZE, "16777216TiB", BAD},
    {VALUE_SHARE, "0.7%", 7000000},
    {VALUE_SHARE, "100%", 1000000000},
    {VALUE_SHARE, "0.0202%", 202000},
    {VALUE_SHARE, "5ppm", 5000},
    {VALUE_SHARE, "0.7", BAD},
};

static void value_parse__table(void **state)
{
    (void)state;
    for (size_t index = 0; index < sizeof(parse_cases) / sizeof(parse_cases[0]); index++) {
        const struct value_case *row = &parse_cases[index];
        uint64_t value = BAD;
        bool parsed = value_parse(row->kind, row->text, &value);
        if (parsed != (row->value != BAD) || (parsed && value != row->value))
            fail_msg("\"%s\": %s, %llu", row->text, parsed ? "parsed" : "refused", (unsigned long long)value);
    }
}

static void value_format__parses_back(void **state)
{
    (void)state;
    static const struct value_case cases[] = {
        {VALUE_RATE, "10Gbps", 10000000000},
        {VALUE_RATE, "1500Mbps", 1500000000},
        {VALUE_RATE, "1bps", 1},
        {VALUE_RATE, "0bps", 0},
        {VALUE_TIME, "1h", 3600000000000},
        {VALUE_TIME, "90s", 90000000000},
        {VALUE_TIME, "40ms", 40000000},
        {VALUE_SIZE, "256MiB", 256ULL << 20},
        {VALUE_SIZE, "100MB", 100000000},
        {VALUE_SIZE, "0B", 0},
        {VALUE_SHARE, "100%", 1000000000},
        {VALUE_SHARE, "7000ppm", 7000000},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        char text[VALUE_TEXT_BYTES];
        uint64_t value;
        value_format(cases[index].kind, cases[index].value, text);
        assert_string_equal(text, cases[index].text);
        assert_true(value_parse(cases[index].kind, text, &value));
        assert_true(value == cases[index].value);
    }
}

static void value_parse_signed__both_sides(void **state)
{
    (void)state;
    int64_t value;
    assert_true(value_parse_signed(VALUE_TIME, "-40ms", &value));
    assert_int_equal(value, -40000000);
    assert_true(value_parse_signed(VALUE_SKEW, "+20ppm", &value));
    assert_int_equal(value, 20000);
    assert_false(value_parse_signed(VALUE_TIME, "--1s", &value));
    assert_false(value_parse_signed(VALUE_SIZE, "9999999999999999999", &value));
}

static void value_parse_decimal__scales(void **state)
{
    (void)state;
    uint64_t value;
    assert_true(value_parse_decimal("13.4", 6, &value));
    assert_int_equal(value, 13400000);
    assert_false(value_parse_decimal("13.4", 0, &value));
    assert_false(value_parse_decimal("13ms", 6, &value));
    assert_false(value_parse_decimal("-1", 6, &value));
}

static void conf_parse_share__not_above_one(void **state)
{
    (void)state;
    uint64_t ppb;
    assert_true(conf_parse_share("100%", &ppb));
    assert_false(conf_parse_share("100.1%", &ppb));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value_parse__table),
        cmocka_unit_test(value_format__parses_back),
        cmocka_unit_test(value_parse_signed__both_sides),
        cmocka_unit_test(value_parse_decimal__scales),
        cmocka_unit_test(conf_parse_share__not_above_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
