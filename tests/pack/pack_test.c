/* The index of a packed directory: what is refused and why, and that ranges and pieces agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "pack/layout.h"
#include "pack/pack.h"

#define ROOM      8192
#define ROWS_MAX  16
#define MANY      100000u
#define LONG_NAME PACK_NAME_BYTES_MAX

struct row {
    uint8_t kind;
    uint32_t parent;
    const char *name;
    uint64_t size_bytes;
    const char *target;
    uint32_t link;
};

static struct pack_entry entry_of(const struct row *row)
{
    struct pack_entry entry = {.kind = row->kind,
                               .mode = 0755,
                               .parent = row->parent,
                               .link = row->link,
                               .size_bytes = row->size_bytes,
                               .modified_s = -5,
                               .modified_ns = 999999999,
                               .name = row->name,
                               .target = row->target};
    entry.name_bytes = (uint16_t)strlen(row->name);
    entry.target_bytes = row->target == NULL ? 0 : (uint16_t)strlen(row->target);
    return entry;
}

/* Writes the rows as they are, right or not; returns the object's length. */
static uint64_t build(uint8_t *out, const struct row *rows, uint32_t count, uint64_t *index_bytes)
{
    uint64_t text_bytes = 0;
    struct pack_writer writer;
    for (uint32_t at = 0; at < count; at++) {
        struct pack_entry entry = entry_of(&rows[at]);
        text_bytes += pack_text_bytes(&entry);
    }
    *index_bytes = pack_index_bytes(count, text_bytes);
    pack_write_begin(&writer, out, count, text_bytes);
    for (uint32_t at = 0; at < count; at++) {
        struct pack_entry entry = entry_of(&rows[at]);
        pack_write(&writer, &entry);
    }
    return pack_write_end(&writer);
}

#define ROOT                                                                                                 \
    {                                                                                                        \
        PACK_DIRECTORY, 0, "", 0, NULL, 0                                                                    \
    }

static const struct row good_rows[] = {
    ROOT,
    {PACK_FILE, 0, "a", 3, NULL, 0},
    {PACK_DIRECTORY, 0, "b", 0, NULL, 0},
    {PACK_SYMLINK, 0, "c", 0, "../../etc/passwd", 0},
    {PACK_HARDLINK, 0, "d", 0, NULL, 1},
    {PACK_FILE, 0, "e \xff\xfe", 0, NULL, 0},
    {PACK_FILE, 2, "a", 5000, NULL, 0},
    {PACK_FILE, 2, "a.b", 1, NULL, 0},
    {PACK_FILE, 2, "z", 0, NULL, 0},
};
#define GOOD_ROWS (sizeof(good_rows) / sizeof(good_rows[0]))

static void pack_open__good(void **state)
{
    (void)state;
    uint8_t bytes[ROOM];
    uint64_t index_bytes;
    struct pack pack;
    struct pack_entry entry;
    struct err err;
    uint64_t object_bytes = build(bytes, good_rows, GOOD_ROWS, &index_bytes);
    assert_int_equal(object_bytes, index_bytes + 5004);
    assert_true(pack_open(&pack, bytes, index_bytes, object_bytes, &err));
    assert_int_equal(pack.entries, GOOD_ROWS);
    for (uint32_t number = 0; number < GOOD_ROWS; number++) {
        pack_entry(&pack, number, &entry);
        assert_int_equal(entry.kind, good_rows[number].kind);
        assert_string_equal(entry.name, good_rows[number].name);
        assert_string_equal(entry.target, good_rows[number].target == NULL ? "" : good_rows[number].target);
        assert_int_equal(entry.modified_s, -5);
        assert_int_equal(entry.modified_ns, 999999999);
    }
    char shown[16];
    pack_show(&pack, 7, shown, sizeof(shown));
    assert_string_equal(shown, "b/a.b");
    pack_show(&pack, 5, shown, sizeof(shown));
    assert_string_equal(shown, "e ??");
    pack_show(&pack, 7, shown, 5);
    assert_string_equal(shown, "...b");
}

static void pack_open__every_truncation_and_wrong_length_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[ROOM];
    uint64_t index_bytes;
    struct pack pack;
    struct err err;
    uint64_t object_bytes = build(bytes, good_rows, GOOD_ROWS, &index_bytes);
    for (uint64_t length = 0; length < index_bytes; length++)
        assert_false(pack_open(&pack, bytes, length, object_bytes, &err));
    assert_false(pack_open(&pack, bytes, index_bytes, object_bytes + 1, &err));
    assert_false(pack_open(&pack, bytes, index_bytes, object_bytes - 1, &err));
}

static const struct {
    const char *text; /* of the refusal; NULL: accepted */
    struct row rows[ROWS_MAX];
} hostile[] = {
    {NULL, {ROOT}},
    {"not the directory itself", {{PACK_FILE, 0, "", 0, NULL, 0}}},
    {"not the directory itself", {{PACK_DIRECTORY, 0, "a", 0, NULL, 0}}},
    {"leads out", {ROOT, {PACK_FILE, 0, "..", 0, NULL, 0}}},
    {"leads out", {ROOT, {PACK_DIRECTORY, 0, "..", 0, NULL, 0}}},
    {"leads out", {ROOT, {PACK_FILE, 0, ".", 0, NULL, 0}}},
    {NULL, {ROOT, {PACK_FILE, 0, "...", 0, NULL, 0}}},
    {"slash", {ROOT, {PACK_FILE, 0, "/etc/passwd", 0, NULL, 0}}},
    {"slash", {ROOT, {PACK_FILE, 0, "a/../../b", 0, NULL, 0}}},
    {"slash", {ROOT, {PACK_FILE, 0, "a/", 0, NULL, 0}}},
    {"no name", {ROOT, {PACK_FILE, 0, "", 0, NULL, 0}}},
    {"twice", {ROOT, {PACK_FILE, 0, "a", 0, NULL, 0}, {PACK_FILE, 0, "a", 0, NULL, 0}}},
    {"twice", {ROOT, {PACK_SYMLINK, 0, "a", 0, "/", 0}, {PACK_DIRECTORY, 0, "a", 0, NULL, 0}}},
    {"order", {ROOT, {PACK_FILE, 0, "b", 0, NULL, 0}, {PACK_FILE, 0, "a", 0, NULL, 0}}},
    {"order", {ROOT, {PACK_FILE, 0, "ab", 0, NULL, 0}, {PACK_FILE, 0, "a", 0, NULL, 0}}},
    {NULL, {ROOT, {PACK_FILE, 0, "a", 0, NULL, 0}, {PACK_FILE, 0, "a\xff", 0, NULL, 0}}},
    {"order",
     {ROOT,
      {PACK_DIRECTORY, 0, "d", 0, NULL, 0},
      {PACK_FILE, 1, "x", 0, NULL, 0},
      {PACK_FILE, 0, "z", 0, NULL, 0}}},
    {"no directory", {ROOT, {PACK_SYMLINK, 0, "l", 0, "/etc", 0}, {PACK_FILE, 1, "passwd", 0, NULL, 0}}},
    {"no directory", {ROOT, {PACK_FILE, 0, "f", 0, NULL, 0}, {PACK_FILE, 1, "x", 0, NULL, 0}}},
    {"before its directory", {ROOT, {PACK_DIRECTORY, 1, "loop", 0, NULL, 0}}},
    {"before its directory", {ROOT, {PACK_FILE, 7, "a", 0, NULL, 0}}},
    {NULL, {ROOT, {PACK_SYMLINK, 0, "a", 0, "b", 0}, {PACK_SYMLINK, 0, "b", 0, "a", 0}}},
    {"target", {ROOT, {PACK_SYMLINK, 0, "a", 0, NULL, 0}}},
    {"target", {ROOT, {PACK_FILE, 0, "a", 0, "b", 0}}},
    {"no file before it", {ROOT, {PACK_HARDLINK, 0, "a", 0, NULL, 0}}},
    {"no file before it", {ROOT, {PACK_HARDLINK, 0, "a", 0, NULL, 2}, {PACK_FILE, 0, "b", 0, NULL, 0}}},
    {"no file before it", {ROOT, {PACK_SYMLINK, 0, "a", 0, "/", 0}, {PACK_HARDLINK, 0, "b", 0, NULL, 1}}},
    {"no file before it", {ROOT, {PACK_FILE, 0, "a", 0, NULL, 9}}},
    {"no known kind", {ROOT, {PACK_KIND_END, 0, "a", 0, NULL, 0}}},
    {"no known kind", {ROOT, {0, 0, "a", 0, NULL, 0}}},
    {"no file", {ROOT, {PACK_DIRECTORY, 0, "a", 1, NULL, 0}}},
};

static void pack_open__hostile(void **state)
{
    (void)state;
    for (size_t at = 0; at < sizeof(hostile) / sizeof(hostile[0]); at++) {
        uint8_t bytes[ROOM];
        uint64_t index_bytes;
        struct pack pack;
        struct err err = {""};
        uint32_t count = 1;
        while (count < ROWS_MAX && hostile[at].rows[count].name != NULL)
            count++;
        uint64_t object_bytes = build(bytes, hostile[at].rows, count, &index_bytes);
        bool good = pack_open(&pack, bytes, index_bytes, object_bytes, &err);
        if (good != (hostile[at].text == NULL) || (!good && strstr(err.text, hostile[at].text) == NULL))
            fail_msg("case %zu: %s", at, good ? "accepted" : err.text);
    }
}

static void pack_open__changed_fields_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t entry;
        unsigned offset;
        uint8_t bits;
    } cases[] = {{1, RECORD_MODE, 0x80},      {1, RECORD_TEXT_AT + 3, 1},  {1, RECORD_SIZE, 0x40},
                 {1, RECORD_SIZE + 7, 1},     {6, RECORD_OFFSET + 7, 1},   {1, RECORD_MODIFIED_NS, 0x80},
                 {1, RECORD_NAME_BYTES, 2},   {1, RECORD_XATTR_BYTES, 1},  {3, RECORD_TARGET_BYTES + 1, 1},
                 {3, RECORD_TARGET_BYTES, 1}, {6, RECORD_PARENT + 3, 0x80}};
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        uint8_t bytes[ROOM] = {0};
        uint64_t index_bytes;
        struct pack pack;
        struct err err;
        uint64_t object_bytes = build(bytes, good_rows, GOOD_ROWS, &index_bytes);
        bytes[pack_record_at(cases[at].entry) + cases[at].offset] ^= cases[at].bits;
        assert_false(pack_open(&pack, bytes, index_bytes, object_bytes, &err));
    }
}

static void pack_open__depth_and_length_of_names(void **state)
{
    (void)state;
    static uint8_t bytes[64 * 1024];
    static struct row rows[PACK_DEPTH_MAX + 2];
    char name[LONG_NAME + 1];
    uint64_t index_bytes;
    struct pack pack;
    struct err err;
    memset(name, 'n', LONG_NAME);
    name[LONG_NAME] = '\0';
    rows[0] = (struct row)ROOT;
    for (uint32_t level = 1; level <= PACK_DEPTH_MAX + 1; level++)
        rows[level] = (struct row){PACK_DIRECTORY, level - 1, name, 0, NULL, 0};
    uint64_t object_bytes = build(bytes, rows, PACK_DEPTH_MAX + 1, &index_bytes);
    assert_true(pack_open(&pack, bytes, index_bytes, object_bytes, &err));
    char shown[32];
    pack_show(&pack, PACK_DEPTH_MAX, shown, sizeof(shown));
    assert_int_equal(strlen(shown), sizeof(shown) - 1);
    object_bytes = build(bytes, rows, PACK_DEPTH_MAX + 2, &index_bytes);
    assert_false(pack_open(&pack, bytes, index_bytes, object_bytes, &err));
    assert_non_null(strstr(err.text, "too deep"));
}

/* Cuts the content into ranges: every file's bytes come exactly once and in order, every entry without
 * content exactly once. */
static void assert_cover(const struct pack *pack, uint64_t step)
{
    uint64_t *got = calloc(pack->entries, sizeof(*got));
    uint32_t *seen = calloc(pack->entries, sizeof(*seen));
    uint64_t start = pack->index_bytes;
    do {
        struct pack_cursor cursor;
        struct pack_piece piece;
        uint64_t end = start + step < pack->object_bytes ? start + step : pack->object_bytes, in_range = 0;
        pack_seek(&cursor, pack, start, end);
        while (pack_next(&cursor, &piece)) {
            assert_int_equal(piece.file_offset, got[piece.entry]);
            assert_int_equal(piece.range_offset, in_range);
            got[piece.entry] += piece.length;
            in_range += piece.length;
            seen[piece.entry]++;
        }
        assert_int_equal(in_range, end - start);
        start = end;
    } while (start < pack->object_bytes);
    for (uint32_t number = 0; number < pack->entries; number++) {
        struct pack_entry entry;
        pack_entry(pack, number, &entry);
        bool piece = entry.kind == PACK_FILE || entry.kind == PACK_SYMLINK;
        assert_int_equal(got[number], entry.size_bytes);
        assert_true(entry.size_bytes != 0 ? seen[number] > 0 : seen[number] == piece);
    }
    free(got);
    free(seen);
}

static void pack_next__covers_every_byte_once(void **state)
{
    (void)state;
    uint8_t bytes[ROOM];
    struct rng rng;
    rng_init(&rng, 7);
    for (uint32_t round = 0; round < 300; round++) {
        static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
        struct row rows[9] = {ROOT};
        uint64_t index_bytes;
        struct pack pack;
        struct err err;
        uint32_t count = 1 + (uint32_t)(rng_next(&rng) % 9);
        for (uint32_t at = 1; at < count; at++) {
            uint64_t kind = rng_next(&rng) % 6;
            rows[at] = (struct row){PACK_FILE, 0, names[at - 1], rng_next(&rng) % 40, NULL, 0};
            if (kind == 0)
                rows[at] = (struct row){PACK_SYMLINK, 0, names[at - 1], 0, "x", 0};
            else if (kind == 1)
                rows[at] = (struct row){PACK_DIRECTORY, 0, names[at - 1], 0, NULL, 0};
            else if (kind == 2)
                rows[at].size_bytes = 0;
        }
        uint64_t object_bytes = build(bytes, rows, count, &index_bytes);
        assert_true(pack_open(&pack, bytes, index_bytes, object_bytes, &err));
        for (uint64_t step = 1; step < 60; step += 7)
            assert_cover(&pack, step);
    }
}

static void pack__many_files(void **state)
{
    (void)state;
    struct pack pack;
    struct pack_writer writer;
    struct err err;
    char name[16] = "";
    struct pack_entry entry = {.kind = PACK_DIRECTORY, .name = name};
    uint64_t index_bytes = pack_index_bytes(MANY + 1, 1 + MANY * 7);
    uint8_t *bytes = malloc(index_bytes);
    pack_write_begin(&writer, bytes, MANY + 1, 1 + MANY * 7);
    pack_write(&writer, &entry);
    for (uint32_t number = 0; number < MANY; number++) {
        entry = (struct pack_entry){.kind = PACK_FILE, .name = name, .name_bytes = 6, .size_bytes = 10240};
        snprintf(name, sizeof(name), "%06u", number);
        pack_write(&writer, &entry);
    }
    uint64_t object_bytes = pack_write_end(&writer);
    assert_int_equal(object_bytes, index_bytes + MANY * 10240ULL);
    assert_true(pack_open(&pack, bytes, index_bytes, object_bytes, &err));
    assert_cover(&pack, 1 << 20);
    free(bytes);
}

static void pack_xattr__round_trip_and_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
        bool good;
    } cases[] = {{"user.a", "1", true}, {"user.", "1", false}, {"security.selinux", "1", false}};
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        uint8_t blob[64], bytes[256];
        struct pack pack;
        struct pack_writer writer;
        struct pack_xattr xattr;
        struct err err;
        struct pack_entry entry = {.kind = PACK_DIRECTORY, .name = "", .xattrs = blob};
        assert_true(pack_xattr_put(blob, sizeof(blob), &entry.xattr_bytes, "user.first", NULL, 0));
        assert_true(pack_xattr_put(blob, sizeof(blob), &entry.xattr_bytes, cases[at].name,
                                   (const uint8_t *)cases[at].value, strlen(cases[at].value)));
        assert_false(pack_xattr_put(blob, sizeof(blob), &entry.xattr_bytes, "user.long", bytes, 60));
        pack_write_begin(&writer, bytes, 1, pack_text_bytes(&entry));
        pack_write(&writer, &entry);
        uint64_t object_bytes = pack_write_end(&writer);
        assert_int_equal(pack_open(&pack, bytes, object_bytes, object_bytes, &err), cases[at].good);
        if (!cases[at].good)
            continue;
        uint16_t place = 0;
        pack_entry(&pack, 0, &entry);
        assert_true(pack_xattr_next(&entry, &place, &xattr));
        assert_string_equal(xattr.name, "user.first");
        assert_true(pack_xattr_next(&entry, &place, &xattr));
        assert_string_equal(xattr.name, cases[at].name);
        assert_int_equal(xattr.value_bytes, 1);
        assert_memory_equal(xattr.value, "1", 1);
        assert_false(pack_xattr_next(&entry, &place, &xattr));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pack_open__good),
        cmocka_unit_test(pack_open__every_truncation_and_wrong_length_is_refused),
        cmocka_unit_test(pack_open__hostile),
        cmocka_unit_test(pack_open__changed_fields_are_refused),
        cmocka_unit_test(pack_open__depth_and_length_of_names),
        cmocka_unit_test(pack_next__covers_every_byte_once),
        cmocka_unit_test(pack__many_files),
        cmocka_unit_test(pack_xattr__round_trip_and_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
