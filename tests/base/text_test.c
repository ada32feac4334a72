/* text.h, name.h, err.h, bytes.h. */
#include "include.h"

#include "base/bytes.h"
#include "base/err.h"
#include "base/name.h"
#include "base/text.h"

static void text_make_printable__rows(void **state)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"", ""},
        {"plain text, caf\xc3\xa9 \xe2\x9c\x93 \xf0\x9f\x98\x80",
         "plain text, caf\xc3\xa9 \xe2\x9c\x93 \xf0\x9f\x98\x80"},
        {"red \x1b[31m", "red ?[31m"},
        {"one\nNode gone\r\t\b", "one?Node gone???"},
        {"\x7f", "?"},
        {"\xc2\x9b"
         "2J",
         "??2J"}, /* CSI of C1 */
        {"\xc2\xa0", "\xc2\xa0"},
        {"\x9b\xff", "??"},
        {"cut \xe2\x9c", "cut ??"},
        {"overlong \xc0\xaf", "overlong ??"},
        {"surrogate \xed\xa0\x80", "surrogate ???"},
    };
    (void)state;
    for (unsigned index = 0; index < ROWS(rows); index++) {
        char text[64];
        name_copy(text, sizeof(text), rows[index].text);
        text_make_printable(text);
        assert_string_equal(text, rows[index].expected);
        assert_true(text_printable(text));
        assert_int_equal(text_printable(rows[index].text), strcmp(rows[index].text, text) == 0);
    }
}

static void name_is_number__rows(void **state)
{
    (void)state;
    assert_true(name_is_number("0"));
    assert_true(name_is_number("4294967295"));
    assert_false(name_is_number(""));
    assert_false(name_is_number("1a"));
    assert_false(name_is_number("_1"));
}

static void name_valid__rows(void **state)
{
    static const struct {
        const char *name;
        bool valid;
    } rows[] = {
        {"london", true},
        {"a", true},
        {"A.b_c-9", true},
        {"_x", true},
        {"9", true},
        {"abcdefghijklmnopqrstuvwxyz12345", true},   /* 31 */
        {"abcdefghijklmnopqrstuvwxyz123456", false}, /* 32 */
        {"", false},
        {".", false},
        {"..", false},
        {".hidden", false},
        {"-option", false},
        {"a/b", false},
        {"a b", false},
        {"a\n", false},
        {"caf\xc3\xa9", false},
        {"a:b", false},
        {"\x7f", false},
    };
    (void)state;
    for (unsigned index = 0; index < ROWS(rows); index++)
        if (name_valid(rows[index].name) != rows[index].valid)
            fail_msg("\"%s\"", rows[index].name);
}

static void path_stays_below__rows(void **state)
{
    static const struct {
        const char *path;
        bool below;
    } rows[] = {
        {"file", true},    {"a/b/c.iso", true}, {"...", true},
        {"..a/b..", true}, {".hidden", true},   {"a b/caf\xc3\xa9", true},
        {"", false},       {"/", false},        {"/etc/passwd", false},
        {"a//b", false},   {"a/", false},       {".", false},
        {"..", false},     {"../a", false},     {"a/..", false},
        {"a/../b", false}, {"a/./b", false},    {"./a", false},
        {"a\nb", true},    {"a/\x1b[2J", true}, {"a\xff/b", true},
        {"\n/..", false},
    };
    (void)state;
    for (unsigned index = 0; index < ROWS(rows); index++)
        if (path_stays_below(rows[index].path) != rows[index].below)
            fail_msg("\"%s\"", rows[index].path);
}

/* Every byte and what may stand beside it: armoured it is UTF-8, disarmed it is the same again. */
static void text_armour__any_bytes(void **state)
{
    static const struct {
        const char *text, *armoured;
    } rows[] = {
        {"", ""},
        {"caf\xc3\xa9\n", "caf\xc3\xa9\n"},
        {"caf\xe9.txt", "caf\xf4\x8f\xbf\xa9.txt"},
        {"\x80\xbf\xc0\xff", "\xf4\x8f\xbe\x80\xf4\x8f\xbe\xbf\xf4\x8f\xbf\x80\xf4\x8f\xbf\xbf"},
        {"\xe2\x82", "\xf4\x8f\xbf\xa2\xf4\x8f\xbe\x82"}, /* the beginning of a character */
        {"\xf4\x8f\xbd\xbf", "\xf4\x8f\xbd\xbf"},         /* U+10FF7F is a character */
        {"\xf4\x8f\xbe", "\xf4\x8f\xbf\xb4\xf4\x8f\xbe\x8f\xf4\x8f\xbe\xbe"},
        {"\xf4\x8f\xbf\xa9", "\xf4\x8f\xbf\xb4\xf4\x8f\xbe\x8f\xf4\x8f\xbe\xbf\xf4\x8f\xbe\xa9"},
    };
    char armoured[TEXT_ARMOUR_MOST * 512 + 1];
    (void)state;
    for (unsigned index = 0; index < ROWS(rows); index++) {
        assert_int_equal(text_armour(armoured, rows[index].text), strlen(rows[index].armoured));
        assert_string_equal(armoured, rows[index].armoured);
        assert_int_equal(text_disarm(armoured), strlen(rows[index].text));
        assert_string_equal(armoured, rows[index].text);
    }
    for (unsigned first = 1; first < 256; first++)
        for (unsigned second = 0; second < 256; second++) {
            const char text[] = {(char)first, (char)second, 'x', '\0'};
            text_armour(armoured, text);
            for (const char *at = armoured; *at != '\0'; at += text_utf8_bytes(at))
                assert_int_not_equal(text_utf8_bytes(at), 0);
            text_disarm(armoured);
            assert_string_equal(armoured, text);
        }
}

static void path_stays_below__length(void **state)
{
    char path[PATH_BYTES + 1] = {0};
    (void)state;
    memset(path, 'a', PATH_BYTES - 1);
    assert_true(path_stays_below(path));
    path[PATH_BYTES - 1] = 'a';
    assert_false(path_stays_below(path));
}

static void name_copy__truncates_and_says_so(void **state)
{
    char target[6];
    (void)state;
    assert_true(name_copy(target, sizeof(target), "12345"));
    assert_string_equal(target, "12345");
    assert_false(name_copy(target, sizeof(target), "abcdef"));
    assert_string_equal(target, "abcde");
    assert_true(name_copy(target, sizeof(target), ""));
    assert_string_equal(target, "");
}

static void err__gathers_context(void **state)
{
    struct err err;
    (void)state;
    assert_false(err_set(&err, "expected %d", 5));
    assert_string_equal(err.text, "expected 5");
    assert_false(err_context(&err, "%s:%d", "node.yaml", 7));
    assert_string_equal(err.text, "node.yaml:7: expected 5");
}

/* File names and the words of peers are quoted in errors, which go to terminals and logs. */
static void err__steers_no_terminal(void **state)
{
    struct err err;
    (void)state;
    err_set(&err, "can't open %s", "a\x1b]0;title\x07\nforged");
    assert_string_equal(err.text, "can't open a?]0;title??forged");
    err_context(&err, "%s", "x\xc2\x9b");
    assert_string_equal(err.text, "x??: can't open a?]0;title??forged");
}

static void err__too_long_is_cut(void **state)
{
    struct err err;
    char text[2 * ERR_TEXT_BYTES] = {0};
    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    err_set(&err, "%s", text);
    assert_int_equal(strlen(err.text), ERR_TEXT_BYTES - 1);
    err_context(&err, "file");
    assert_int_equal(strlen(err.text), ERR_TEXT_BYTES - 1);
    assert_memory_equal(err.text, "file: xxx", 9);
    err_context(&err, "%s", text);
    assert_int_equal(strlen(err.text), ERR_TEXT_BYTES - 1);
}

static void bytes__big_endian_at_any_alignment(void **state)
{
    static const uint8_t expected[] = {1, 2, 3, 4, 5, 6, 7, 8};
    (void)state;
    for (unsigned offset = 0; offset < 8; offset++) {
        uint8_t memory[16] = {0};
        store_be64(memory + offset, 0x0102030405060708);
        assert_memory_equal(memory + offset, expected, 8);
        assert_true(load_be64(memory + offset) == 0x0102030405060708);
        assert_int_equal(load_be32(memory + offset), 0x01020304);
        assert_int_equal(load_be16(memory + offset), 0x0102);
        store_be32(memory + offset, 0x05060708);
        store_be16(memory + offset, 0x090a);
        assert_true(load_be64(memory + offset) == 0x090a070805060708);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_make_printable__rows),
        cmocka_unit_test(name_valid__rows),
        cmocka_unit_test(name_is_number__rows),
        cmocka_unit_test(path_stays_below__rows),
        cmocka_unit_test(path_stays_below__length),
        cmocka_unit_test(text_armour__any_bytes),
        cmocka_unit_test(name_copy__truncates_and_says_so),
        cmocka_unit_test(err__gathers_context),
        cmocka_unit_test(err__steers_no_terminal),
        cmocka_unit_test(err__too_long_is_cut),
        cmocka_unit_test(bytes__big_endian_at_any_alignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
