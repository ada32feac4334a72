/* report.h: JSON is read back by an independent parser (jansson). */
#include "include.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/report.h"
#include "base/rng.h"

#define ROOM 4096

static bool describe(struct report *report, enum report_form form, char *buffer, size_t room)
{
    report_begin(report, form, buffer, room);
    report_u64(report, "most", UINT64_MAX >> 1);
    report_i64(report, "least", INT64_MIN);
    report_bool(report, "up", true);
    report_bool(report, "down", false);
    report_text(report, "name", "a \"quoted\" \\ back\nslash");
    report_fixed(report, "time_s", 1234567, 6);
    report_fixed(report, "small", 5, 3);
    report_fixed(report, "whole", 42, 0);
    report_object(report, "inner");
    report_u64(report, "a", 1);
    report_table(report, "none");
    report_table_end(report);
    report_object_end(report);
    report_table(report, "edges");
    for (unsigned row = 0; row < 2; row++) {
        report_row(report);
        report_text(report, "to", row == 0 ? "oregon" : "canada");
        report_u64(report, "packets", row);
        report_row_end(report);
    }
    report_table_end(report);
    report_u64(report, "last", 0);
    return report_end(report);
}

static void json__reads_back(void **state)
{
    char buffer[ROOM];
    struct report report;
    (void)state;
    assert_true(describe(&report, REPORT_JSON, buffer, sizeof(buffer)));
    assert_int_equal(report.length, strlen(buffer));
    json_error_t error;
    json_t *root = json_loads(buffer, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL)
        fail_msg("%s in %s", error.text, buffer);
    assert_int_equal(json_integer_value(json_object_get(root, "most")), INT64_MAX);
    assert_true(json_integer_value(json_object_get(root, "least")) == INT64_MIN);
    assert_true(json_is_true(json_object_get(root, "up")));
    assert_true(json_is_false(json_object_get(root, "down")));
    assert_string_equal(json_string_value(json_object_get(root, "name")), "a \"quoted\" \\ back\nslash");
    assert_true(json_real_value(json_object_get(root, "time_s")) == 1.234567);
    assert_true(json_real_value(json_object_get(root, "small")) == 0.005);
    assert_int_equal(json_integer_value(json_object_get(root, "whole")), 42);
    json_t *inner = json_object_get(root, "inner");
    assert_int_equal(json_integer_value(json_object_get(inner, "a")), 1);
    assert_true(json_is_array(json_object_get(inner, "none")));
    json_t *edges = json_object_get(root, "edges");
    assert_int_equal(json_array_size(edges), 2);
    json_t *second = json_array_get(edges, 1);
    assert_string_equal(json_string_value(json_object_get(second, "to")), "canada");
    assert_int_equal(json_integer_value(json_object_get(second, "packets")), 1);
    assert_int_equal(json_object_size(root), 11);
    json_decref(root);
}

static void row_texts__is_a_list_of_strings(void **state)
{
    static const struct {
        enum report_form form;
        const char *text;
    } rows[] = {{REPORT_JSON, "{\"edges\":[[\"a\",\"b\"],[\"b\",\"c\"]]}"},
                {REPORT_TEXT, "edges: \n  a b\n  b c\n"}};
    (void)state;
    for (unsigned index = 0; index < 2; index++) {
        char buffer[ROOM];
        struct report report;
        report_begin(&report, rows[index].form, buffer, sizeof(buffer));
        report_table(&report, "edges");
        report_row_texts(&report, (const char *const[]){"a", "b"}, 2);
        report_row_texts(&report, (const char *const[]){"b", "c"}, 2);
        report_table_end(&report);
        assert_true(report_end(&report));
        assert_string_equal(buffer, rows[index].text);
    }
}

static void text__golden(void **state)
{
    char buffer[ROOM];
    struct report report;
    (void)state;
    report_begin(&report, REPORT_TEXT, buffer, sizeof(buffer));
    report_u64(&report, "jobs", 2);
    report_object(&report, "plan");
    report_fixed(&report, "rate_mbps", 9005, 1);
    report_object_end(&report);
    report_table(&report, "edges");
    report_row(&report);
    report_text(&report, "to", "oregon");
    report_u64(&report, "packets", 9);
    report_row_end(&report);
    report_table_end(&report);
    assert_true(report_end(&report));
    assert_string_equal(buffer, "jobs: 2\n"
                                "plan: \n"
                                "  rate_mbps: 900.5\n"
                                "edges: \n"
                                "  to oregon  packets 9\n");
}

/* Any room: true exactly when all of it fits, a terminated string always, nothing written behind it. */
static void truncation__every_room(void **state)
{
    (void)state;
    for (int form = REPORT_TEXT; form <= REPORT_JSON; form++) {
        char whole[ROOM];
        struct report report;
        assert_true(describe(&report, (enum report_form)form, whole, sizeof(whole)));
        size_t length = strlen(whole);
        for (size_t room = 1; room <= length + 2; room++) {
            char *buffer = malloc(room);
            bool fits = describe(&report, (enum report_form)form, buffer, room);
            assert_int_equal(fits, room > length);
            assert_int_equal(report.truncated, !fits);
            assert_true(strnlen(buffer, room) < room);
            assert_memory_equal(buffer, whole, strlen(buffer));
            free(buffer);
        }
    }
}

/* Whatever a peer or a file name puts into a text: control characters, broken UTF-8. */
static void json__any_bytes_stay_well_formed(void **state)
{
    struct rng rng;
    (void)state;
    rng_init(&rng, 5);
    for (unsigned round = 0; round < 20000; round++) {
        char text[16] = {0};
        char buffer[ROOM];
        struct report report;
        size_t length = rng_below(&rng, sizeof(text));
        for (size_t index = 0; index < length; index++) /* half of them from 0xc0 up: starts of sequences */
            text[index] =
                (char)(rng_below(&rng, 2) != 0 ? 1 + rng_below(&rng, 255) : 0x80 | rng_below(&rng, 128));
        report_begin(&report, REPORT_JSON, buffer, sizeof(buffer));
        report_text(&report, "text", text);
        assert_true(report_end(&report));
        json_error_t error;
        json_t *root = json_loads(buffer, 0, &error);
        if (root == NULL)
            fail_msg("round %u: %s", round, error.text);
        json_decref(root);
    }
}

static void json__utf8(void **state)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"\xe2\x82\xac \xf0\x9f\x98\x80", "\xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},                 /* U+10FFFF */
        {"a\xff", "a\xef\xbf\xbd"},                               /* never a byte of UTF-8 */
        {"\xc3", "\xef\xbf\xbd"},                                 /* cut off */
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* '/' in a longer disguise */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* past U+10FFFF */
        {"\xe2\x82z", "\xef\xbf\xbd\xef\xbf\xbdz"},
    };
    (void)state;
    for (unsigned index = 0; index < ROWS(rows); index++) {
        char buffer[ROOM];
        struct report report;
        report_begin(&report, REPORT_JSON, buffer, sizeof(buffer));
        report_text(&report, "text", rows[index].text);
        assert_true(report_end(&report));
        json_t *root = json_loads(buffer, 0, NULL);
        assert_non_null(root);
        assert_string_equal(json_string_value(json_object_get(root, "text")), rows[index].expected);
        json_decref(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json__reads_back),
        cmocka_unit_test(text__golden),
        cmocka_unit_test(row_texts__is_a_list_of_strings),
        cmocka_unit_test(truncation__every_room),
        cmocka_unit_test(json__any_bytes_stay_well_formed),
        cmocka_unit_test(json__utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
