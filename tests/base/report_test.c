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
    assert_int_equal(json_object_size(root), 10);
    json_decref(root);
}

static void row_texts__is_a_list_of_strings(void **state)
{
    static const struct {
        enum report_form form;
        const char *text;
    } rows[] = {{REPORT_JSON, "{\"edges\":[[\"a\",\"b\"],[\"b\",\"c\"]]}"},
                {REPORT_TEXT, "edges:\n  a b\n  b c\n"}};
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

static void put_edge(struct report *report, const char *to, uint64_t packets, uint64_t rate_bps,
                     const char *why)
{
    report_row(report);
    report_text(report, "to", to);
    report_u64(report, "packets", packets);
    report_u64(report, "rate_bps", rate_bps);
    report_text(report, "why", why);
    report_row_end(report);
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
    report_bool(&report, "up", true);
    report_object_end(&report);
    report_table(&report, "none");
    report_table_end(&report);
    report_table(&report, "edges");
    put_edge(&report, "oregon", 9, 485000000, "window");
    put_edge(&report, "\xc3\xbc", 12345678, 0, ""); /* two bytes, one place */
    report_table_end(&report);
    report_text(&report, "last", "\x1b[2J");
    assert_true(report_end(&report));
    assert_string_equal(buffer, "jobs: 2\n"
                                "plan:\n"
                                "  rate_mbps: 900.5\n"
                                "  up:        yes\n"
                                "none: (none)\n"
                                "edges:\n"
                                "  to       packets          rate  why\n"
                                "  oregon         9  485.0 Mbit/s  window\n"
                                "  \xc3\xbc       12345678       0 bit/s  -\n"
                                "last: ?[2J\n");
    assert_int_equal(report.length, strlen(buffer));
}

/* Rows with more than lines in them, as `show jobs` has: all rows are blocks, the table inside is aligned. */
static void text__nested_rows_are_blocks(void **state)
{
    char buffer[ROOM];
    struct report report;
    (void)state;
    report_begin(&report, REPORT_TEXT, buffer, sizeof(buffer));
    report_table(&report, "jobs");
    report_row(&report);
    report_text(&report, "name", "j");
    report_text(&report, "tree", "london\n\xe2\x94\x94\xe2\x94\x80\xe2\x94\x80 paris\n");
    report_object(&report, "plan");
    report_u64(&report, "epoch", 1);
    report_object_end(&report);
    report_table(&report, "sites");
    put_edge(&report, "paris", 1, 2, "ok");
    report_table_end(&report);
    report_row_end(&report);
    report_row(&report);
    report_text(&report, "name", "k");
    report_row_end(&report);
    report_row(&report);
    report_row_end(&report);
    report_table_end(&report);
    assert_true(report_end(&report));
    assert_string_equal(buffer, "jobs:\n"
                                "  - name: j\n"
                                "    tree:\n"
                                "      london\n"
                                "      \xe2\x94\x94\xe2\x94\x80\xe2\x94\x80 paris\n"
                                "    plan:\n"
                                "      epoch: 1\n"
                                "    sites:\n"
                                "      to     packets     rate  why\n"
                                "      paris        1  2 bit/s  ok\n"
                                "  - name: k\n"
                                "  -\n");
}

static void table_of(struct report *report, char *buffer, unsigned columns, const char *const values[2])
{
    static const char *const names[] = {"c00", "c01", "c02", "c03", "c04", "c05", "c06", "c07", "c08",
                                        "c09", "c10", "c11", "c12", "c13", "c14", "c15", "c16", "c17",
                                        "c18", "c19", "c20", "c21", "c22", "c23", "c24", "c25", "c26",
                                        "c27", "c28", "c29", "c30", "c31", "c32"};
    assert_true(columns <= ROWS(names));
    report_begin(report, REPORT_TEXT, buffer, ROOM);
    report_table(report, "t");
    for (unsigned row = 0; row < 2; row++) {
        report_row(report);
        for (unsigned column = 0; column < columns; column++)
            report_text(report, names[column], values[column == columns - 1]);
        report_row_end(report);
    }
    report_table_end(report);
    assert_true(report_end(report));
}

/* At the limits a table, behind them rows of lines. */
static void text__limits_of_tables(void **state)
{
    static const char fifty[] = "12345678901234567890123456789012345678901234567890";
    static const struct {
        unsigned columns;
        const char *values[2]; /* of all columns but the last, of the last */
        bool aligned;
    } rows[] = {
        {1, {"", fifty}, true},        {32, {"1", "1"}, true},          {33, {"1", "1"}, false},
        {4, {fifty + 1, ""}, true}, /* 2 + 3 * (49 + 2) and the name of the last: 158 */
        {4, {fifty, ""}, false},    /* 161 */
        {4, {fifty + 1, fifty}, true}, {2, {"1", "two\nlines"}, false},
    };
    (void)state;
    for (unsigned index = 0; index < ROWS(rows); index++) {
        char buffer[ROOM];
        struct report report;
        table_of(&report, buffer, rows[index].columns, rows[index].values);
        assert_int_equal(strstr(buffer, "c00:") == NULL, rows[index].aligned);
        assert_int_equal(strncmp(buffer, "t:\n  c00", 8) == 0, rows[index].aligned);
    }
}

static void text__rows_of_other_names_are_blocks(void **state)
{
    char buffer[ROOM];
    struct report report;
    (void)state;
    report_begin(&report, REPORT_TEXT, buffer, sizeof(buffer));
    report_table(&report, "ports");
    for (unsigned row = 0; row < 2; row++) {
        report_row(&report);
        report_text(&report, "device", "a");
        report_u64(&report, row == 0 ? "rx" : "tx_drops", row);
        report_row_end(&report);
    }
    report_table_end(&report);
    assert_true(report_end(&report));
    assert_string_equal(buffer, "ports:\n"
                                "  - device:   a\n"
                                "    rx:       0\n"
                                "  - device:   a\n"
                                "    tx_drops: 1\n");
}

static void text__units(void **state)
{
    static const struct {
        const char *name;
        uint64_t value;
        const char *text;
    } rows[] = {
        {"rate_bps", 0, "rate: 0 bit/s\n"},
        {"rate_bps", 999, "rate: 999 bit/s\n"},
        {"rate_bps", 1000, "rate: 1.0 kbit/s\n"},
        {"rate_bps", 999999999, "rate: 999.9 Mbit/s\n"},
        {"rate_bps", UINT64_MAX, "rate: 18.4 Ebit/s\n"},
        {"size_bytes", 1023, "size: 1023 B\n"},
        {"size_bytes", 64 << 20, "size: 64.0 MiB\n"},
        {"size_bytes", (64 << 20) - 1, "size: 63.9 MiB\n"},
        {"size_bytes", UINT64_MAX, "size: 15.9 EiB\n"},
        {"bytes", 5000, "bytes: 5000\n"},
        {"_bytes", 5000, "_bytes: 5000\n"},
        {"bytes_max", 5000, "bytes_max: 5000\n"},
        {"age_ns", 5000, "age_ns: 5000\n"},
    };
    (void)state;
    for (unsigned index = 0; index < ROWS(rows); index++) {
        char buffer[ROOM];
        struct report report;
        report_begin(&report, REPORT_TEXT, buffer, sizeof(buffer));
        report_u64(&report, rows[index].name, rows[index].value);
        assert_true(report_end(&report));
        assert_string_equal(buffer, rows[index].text);
    }
}

/* Any room: JSON fits exactly when all of it does, text needs some room more, here less than twice what JSON
 * takes; always a terminated beginning of the whole, nothing written behind it. */
/* Where a number would stand, and to the right as numbers are; JSON keeps a number. */
static void text__words_for_numbers_and_traffic(void **state)
{
    static const struct {
        enum report_form form;
        const char *text;
    } rows[] = {{REPORT_TEXT, "edges:\n"
                              "          rate  rtt_ms     sent  to\n"
                              "          idle       -      0 B  a\n"
                              "  485.0 Mbit/s   0.403  37.0 MB  b\n"},
                {REPORT_JSON, "{\"edges\":[{\"rate_bps\":0,\"rtt_ms\":0,\"sent_bytes\":0,\"to\":\"a\"},"
                              "{\"rate_bps\":485000000,\"rtt_ms\":0.403,\"sent_bytes\":37000000,"
                              "\"to\":\"b\"}]}"}};
    (void)state;
    for (unsigned index = 0; index < 2; index++) {
        char buffer[ROOM];
        struct report report;
        report_begin(&report, rows[index].form, buffer, sizeof(buffer));
        report_table(&report, "edges");
        report_row(&report);
        report_word(&report, "rate_bps", "idle");
        report_word(&report, "rtt_ms", "-");
        report_traffic(&report, "sent_bytes", 0);
        report_text(&report, "to", "a");
        report_row_end(&report);
        report_row(&report);
        report_u64(&report, "rate_bps", 485000000);
        report_fixed(&report, "rtt_ms", 403, 3);
        report_traffic(&report, "sent_bytes", 37000000);
        report_text(&report, "to", "b");
        report_row_end(&report);
        report_table_end(&report);
        assert_true(report_end(&report));
        assert_string_equal(buffer, rows[index].text);
    }
}

static void truncation__every_room(void **state)
{
    (void)state;
    char json[ROOM];
    struct report report;
    assert_true(describe(&report, REPORT_JSON, json, sizeof(json)));
    for (int form = REPORT_TEXT; form <= REPORT_JSON; form++) {
        char whole[ROOM];
        assert_true(describe(&report, (enum report_form)form, whole, sizeof(whole)));
        size_t length = strlen(whole);
        bool fitted = false;
        for (size_t room = 1; room <= 2 * strlen(json); room++) {
            char *buffer = malloc(room);
            bool fits = describe(&report, (enum report_form)form, buffer, room);
            if (form == REPORT_JSON)
                assert_int_equal(fits, room > length);
            assert_true(fits || !fitted);
            assert_true(!fits || strcmp(buffer, whole) == 0);
            assert_int_equal(report.truncated, !fits);
            assert_true(strnlen(buffer, room) < room);
            assert_memory_equal(buffer, whole, strlen(buffer));
            fitted = fits;
            free(buffer);
        }
        assert_true(fitted);
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
        cmocka_unit_test(text__nested_rows_are_blocks),
        cmocka_unit_test(text__limits_of_tables),
        cmocka_unit_test(text__rows_of_other_names_are_blocks),
        cmocka_unit_test(text__units),
        cmocka_unit_test(text__words_for_numbers_and_traffic),
        cmocka_unit_test(row_texts__is_a_list_of_strings),
        cmocka_unit_test(truncation__every_room),
        cmocka_unit_test(json__any_bytes_stay_well_formed),
        cmocka_unit_test(json__utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
