#include "base/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/file_time.h"
#include "base/text.h"
#include "base/units.h"

static void put(struct report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct report *report, const char *format, ...)
{
    if (report->truncated)
        return;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(report->buffer + report->length, report->room - report->length, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= report->room - report->length)
        report->truncated = true;
    else
        report->length += (size_t)length;
}

/* A character as JSON writes it, or as a terminal may have it: no control character of C0 or C1. */
static void put_character(struct report *report, const char *c, int bytes)
{
    bool json = report->form == REPORT_JSON;
    unsigned char first = (unsigned char)c[0];
    if (bytes == 0)
        put(report, "%s", json ? "\\ufffd" : "\xef\xbf\xbd");
    else if (json && (first == '"' || first == '\\'))
        put(report, "\\%c", first);
    else if (json && first < 0x20)
        put(report, "\\u%04x", first);
    else if (!json && text_is_control(c, bytes))
        put(report, "?");
    else
        put(report, "%.*s", bytes, c);
}

/* Up to `end`, a place inside the text or its terminating zero. */
static void put_characters(struct report *report, const char *text, const char *end)
{
    int bytes;
    for (const char *c = text; c < end; c += bytes == 0 ? 1 : bytes) {
        bytes = text_utf8_bytes(c);
        put_character(report, c, bytes);
    }
}

static void put_string(struct report *report, const char *text)
{
    const char *quote = report->form == REPORT_JSON ? "\"" : "";
    put(report, "%s", quote);
    put_characters(report, text, text + strlen(text));
    put(report, "%s", quote);
}

static void put_indent(struct report *report, int depth)
{
    put(report, "%*s", 2 * (depth - 1), "");
}

/* ---- levels ---- */

static struct report_level *level_of(struct report *report)
{
    return &report->levels[report->depth];
}

static void enter(struct report *report, enum report_kind kind)
{
    report->depth++;
    CHECK(report->depth < REPORT_DEPTH_MAX);
    *level_of(report) = (struct report_level){.kind = kind, .first = true, .start = report->length};
}

static void leave(struct report *report)
{
    CHECK(report->depth > 0);
    report->depth--;
}

/* More than a line per value cannot be aligned: not the object or row, nor the table that the row is of. */
static void set_nested(struct report *report)
{
    struct report_level *level = level_of(report);
    level->nested = true;
    if (level->kind == REPORT_ROW)
        report->levels[report->depth - 1].nested = true;
}

/* In a row of a table: which columns hold texts. */
static void count_column(struct report *report, bool is_number)
{
    struct report_level *row = level_of(report);
    if (row->kind != REPORT_ROW)
        return;
    if (row->columns < REPORT_COLUMNS_MAX && !is_number)
        report->levels[report->depth - 1].text_columns |= 1u << row->columns;
    row->columns++;
}

/* What stands before a value: comma and key in JSON; in text a line's beginning, "name:", where the first
 * line of a row has a dash before it. */
static void put_name_bytes(struct report *report, const char *name, size_t bytes)
{
    struct report_level *level = level_of(report);
    bool first = level->first;
    level->first = false;
    if (report->form == REPORT_JSON) {
        put(report, "%s\"%.*s\":", first ? "" : ",", (int)bytes, name);
        return;
    }
    bool dash = first && level->kind == REPORT_ROW;
    put_indent(report, report->depth - (dash ? 1 : 0));
    put(report, "%s%.*s:", dash ? "- " : "", (int)bytes, name);
}

static void put_name(struct report *report, const char *name, bool is_number)
{
    put_name_bytes(report, name, strlen(name));
    count_column(report, is_number);
    if (report->form == REPORT_TEXT)
        put(report, " ");
}

static void put_value_end(struct report *report)
{
    if (report->form == REPORT_TEXT)
        put(report, "\n");
}

/* ---- aligned text ----
 *
 * Values are first written a line each; when their object or table ends, the aligned form is put behind these
 * lines, which it is made of, and then moved over them. */

struct cell {
    const char *name, *value;
    size_t name_bytes, value_bytes;
};

/* The line at the cursor, "- name: value" or "  name: value", whose name begins after `skip` bytes. */
static struct cell next_cell(const char **cursor, size_t skip)
{
    const char *name = *cursor + skip;
    const char *colon = strchr(name, ':');
    CHECK(colon != NULL);
    const char *end = strchr(colon, '\n');
    CHECK(end != NULL);
    *cursor = end + 1;
    return (struct cell){.name = name,
                         .name_bytes = (size_t)(colon - name),
                         .value = colon + 2,
                         .value_bytes = (size_t)(end - colon - 2)};
}

/* Characters, which are what a terminal gives a place to. */
static size_t text_width(const char *text, size_t bytes)
{
    size_t width = 0;
    for (size_t index = 0; index < bytes; index++)
        width += ((unsigned char)text[index] & 0xc0) != 0x80;
    return width;
}

/* Without what was written since `start`, if not all of it could be. */
static void cut(struct report *report, size_t start)
{
    report->length = start;
    report->buffer[start] = '\0';
}

static void replace(struct report *report, size_t start, size_t end)
{
    if (report->truncated) {
        cut(report, start);
        return;
    }
    memmove(report->buffer + start, report->buffer + end, report->length - end + 1);
    report->length -= end - start;
}

/* Lines of one object or of rows: all values begin in the same column. */
static void align_values(struct report *report, size_t start, size_t skip)
{
    size_t end = report->length;
    size_t widest = 0;
    for (const char *cursor = report->buffer + start; cursor < report->buffer + end;)
        widest = MAX(widest, next_cell(&cursor, skip).name_bytes);
    for (const char *cursor = report->buffer + start; cursor < report->buffer + end;) {
        const char *line = cursor;
        struct cell cell = next_cell(&cursor, skip);
        put(report, "%.*s:%*s %.*s\n", (int)(skip + cell.name_bytes), line, (int)(widest - cell.name_bytes),
            "", (int)cell.value_bytes, cell.value);
    }
    replace(report, start, end);
}

struct columns {
    struct cell cells[REPORT_COLUMNS_MAX]; /* of the first row */
    size_t widths[REPORT_COLUMNS_MAX];
    uint16_t count;
    uint32_t texts; /* bit set: texts, to the left */
};

/* False when the rows are no table: different names, or lines too long. */
static bool measure(const struct report *report, const struct report_level *table, size_t skip,
                    struct columns *columns)
{
    const char *cursor = report->buffer + table->start;
    *columns = (struct columns){.count = table->columns, .texts = table->text_columns};
    for (uint32_t row = 0; row < table->rows; row++)
        for (uint16_t index = 0; index < columns->count; index++) {
            struct cell cell = next_cell(&cursor, skip);
            if (row == 0)
                columns->cells[index] = cell;
            const struct cell *head = &columns->cells[index];
            if (cell.name_bytes != head->name_bytes || memcmp(cell.name, head->name, head->name_bytes) != 0)
                return false;
            size_t width = MAX(head->name_bytes, text_width(cell.value, cell.value_bytes));
            columns->widths[index] = MAX(columns->widths[index], width);
        }
    size_t total = skip - 2;
    for (uint16_t index = 0; index < columns->count; index++) {
        bool is_last_text = index + 1 == columns->count && (columns->texts >> index & 1) != 0;
        total += is_last_text ? columns->cells[index].name_bytes : columns->widths[index] + 2;
    }
    return total <= REPORT_LINE_MAX;
}

static void put_cell(struct report *report, const struct columns *columns, uint16_t index, const char *text,
                     size_t bytes)
{
    int room = (int)(columns->widths[index] - text_width(text, bytes));
    bool is_text = (columns->texts >> index & 1) != 0;
    bool last = index + 1 == columns->count;
    put(report, "%*s%.*s%*s%s", is_text ? 0 : room, "", (int)bytes, text, is_text && !last ? room : 0, "",
        last ? "\n" : "  ");
}

static void align_table(struct report *report, const struct report_level *table, size_t skip)
{
    struct columns columns;
    if (table->ragged || !measure(report, table, skip, &columns)) {
        align_values(report, table->start, skip);
        return;
    }
    size_t end = report->length;
    put(report, "%*s", (int)skip - 2, "");
    for (uint16_t index = 0; index < columns.count; index++)
        put_cell(report, &columns, index, columns.cells[index].name, columns.cells[index].name_bytes);
    const char *cursor = report->buffer + table->start;
    for (uint32_t row = 0; row < table->rows; row++) {
        put(report, "%*s", (int)skip - 2, "");
        for (uint16_t index = 0; index < columns.count; index++) {
            struct cell cell = next_cell(&cursor, skip);
            put_cell(report, &columns, index, cell.value, cell.value_bytes);
        }
    }
    replace(report, table->start, end);
}

/* ---- numbers with units ---- */

static const struct unit {
    const char *suffix; /* of the name; not written where the unit is */
    const char *names[7];
    uint64_t base;
} units[] = {
    {"_bps", {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "Pbit/s", "Ebit/s"}, 1000},
    {"_bytes", {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}, 1024},
};

static const struct unit *unit_of(const char *name, size_t *bytes)
{
    size_t length = strlen(name);
    for (size_t index = 0; index < sizeof(units) / sizeof(units[0]); index++) {
        size_t suffix = strlen(units[index].suffix);
        if (length > suffix && strcmp(name + length - suffix, units[index].suffix) == 0) {
            *bytes = length - suffix;
            return &units[index];
        }
    }
    return NULL;
}

/* Rounded down: nothing looks faster or larger than it is. */
static void put_scaled(struct report *report, uint64_t value, const struct unit *unit)
{
    uint64_t scale = 1;
    unsigned prefix = 0;
    for (; value / scale >= unit->base; prefix++)
        scale *= unit->base;
    if (prefix == 0)
        put(report, " %" PRIu64 " %s\n", value, unit->names[0]);
    else
        put(report, " %" PRIu64 ".%" PRIu64 " %s\n", value / scale, value % scale * 10 / scale,
            unit->names[prefix]);
}

/* ---- verbs ---- */

void report_begin(struct report *report, enum report_form form, char *buffer, size_t room)
{
    CHECK(room > 0);
    *report = (struct report){.form = form, .buffer = buffer, .room = room};
    buffer[0] = '\0';
    enter(report, REPORT_OBJECT);
    if (form == REPORT_JSON)
        put(report, "{");
}

bool report_end(struct report *report)
{
    if (report->form == REPORT_JSON)
        put(report, "}");
    leave(report);
    CHECK(report->depth == 0);
    return !report->truncated;
}

void report_u64(struct report *report, const char *name, uint64_t value)
{
    size_t bytes;
    const struct unit *unit = report->form == REPORT_TEXT ? unit_of(name, &bytes) : NULL;
    if (unit != NULL) {
        put_name_bytes(report, name, bytes);
        count_column(report, true);
        put_scaled(report, value, unit);
        return;
    }
    put_name(report, name, true);
    put(report, "%" PRIu64, value);
    put_value_end(report);
}

void report_word(struct report *report, const char *name, const char *word)
{
    size_t bytes = strlen(name);
    if (report->form == REPORT_JSON) {
        report_u64(report, name, 0);
        return;
    }
    unit_of(name, &bytes);
    put_name_bytes(report, name, bytes);
    count_column(report, true);
    put(report, " %s\n", word);
}

void report_traffic(struct report *report, const char *name, uint64_t bytes)
{
    static const struct unit traffic = {"_bytes", {"B", "kB", "MB", "GB", "TB", "PB", "EB"}, 1000};
    size_t length = strlen(name);
    if (report->form == REPORT_JSON) {
        report_u64(report, name, bytes);
        return;
    }
    CHECK(unit_of(name, &length) != NULL);
    put_name_bytes(report, name, length);
    count_column(report, true);
    put_scaled(report, bytes, &traffic);
}

void report_file_time(struct report *report, const char *name, uint64_t time)
{
    if (!file_time_is_before_1970(time)) {
        report_u64(report, name, time);
        return;
    }
    put_name(report, name, true);
    put(report, "%" PRId64, (int64_t)time);
    put_value_end(report);
}

void report_numbers(struct report *report, const char *name, const uint64_t *values, uint32_t count)
{
    bool json = report->form == REPORT_JSON;
    put_name(report, name, false);
    put(report, "%s", json ? "[" : "");
    for (uint32_t index = 0; index < count; index++)
        put(report, "%s%" PRIu64, index == 0 ? "" : json ? "," : " ", values[index]);
    put(report, "%s", json ? "]" : "");
    put_value_end(report);
}

void report_bool(struct report *report, const char *name, bool value)
{
    bool json = report->form == REPORT_JSON;
    put_name(report, name, false);
    put(report, "%s", json ? (value ? "true" : "false") : (value ? "yes" : "no"));
    put_value_end(report);
}

/* Lines of their own, further in than the name. */
static void put_lines(struct report *report, const char *name, const char *text)
{
    set_nested(report);
    put_name_bytes(report, name, strlen(name));
    count_column(report, false);
    put(report, "\n");
    while (*text != '\0') {
        const char *end = text + strcspn(text, "\n");
        if (end != text)
            put_indent(report, report->depth + 1);
        put_characters(report, text, end);
        put(report, "\n");
        text = *end == '\0' ? end : end + 1;
    }
}

void report_text(struct report *report, const char *name, const char *value)
{
    bool json = report->form == REPORT_JSON;
    if (!json && strchr(value, '\n') != NULL) {
        put_lines(report, name, value);
        return;
    }
    put_name(report, name, false);
    put_string(report, json || value[0] != '\0' ? value : "-");
    put_value_end(report);
}

void report_fixed(struct report *report, const char *name, uint64_t value, unsigned decimals)
{
    CHECK(decimals <= 9);
    uint64_t scale = 1;
    for (unsigned digit = 0; digit < decimals; digit++)
        scale *= 10;
    put_name(report, name, true);
    if (decimals == 0)
        put(report, "%" PRIu64, value);
    else
        put(report, "%" PRIu64 ".%0*" PRIu64, value / scale, (int)decimals, value % scale);
    put_value_end(report);
}

/* An object or table within what is described; its first line ends when it is known not to be empty. */
static void begin_nested(struct report *report, const char *name, enum report_kind kind)
{
    set_nested(report);
    put_name_bytes(report, name, strlen(name));
    count_column(report, false);
    if (report->form == REPORT_JSON)
        put(report, "%s", kind == REPORT_TABLE ? "[" : "{");
    else if (kind == REPORT_OBJECT)
        put(report, "\n");
    enter(report, kind);
}

void report_object(struct report *report, const char *name)
{
    begin_nested(report, name, REPORT_OBJECT);
}

void report_object_end(struct report *report)
{
    struct report_level *object = level_of(report);
    CHECK(object->kind == REPORT_OBJECT);
    if (report->form == REPORT_JSON)
        put(report, "}");
    else if (report->truncated)
        cut(report, object->start);
    else if (!object->nested)
        align_values(report, object->start, 2 * (size_t)(report->depth - 1));
    leave(report);
}

void report_table(struct report *report, const char *name)
{
    begin_nested(report, name, REPORT_TABLE);
}

static void begin_row(struct report *report)
{
    struct report_level *table = level_of(report);
    CHECK(table->kind == REPORT_TABLE);
    if (report->form == REPORT_JSON) {
        put(report, "%s", table->first ? "" : ",");
    } else if (table->first) {
        put(report, "\n");
        table->start = report->length;
    }
    table->first = false;
    table->rows++;
}

void report_row(struct report *report)
{
    begin_row(report);
    if (report->form == REPORT_JSON)
        put(report, "{");
    enter(report, REPORT_ROW);
}

void report_row_end(struct report *report)
{
    struct report_level *row = level_of(report);
    CHECK(row->kind == REPORT_ROW);
    leave(report);
    struct report_level *table = level_of(report);
    if (report->form == REPORT_JSON) {
        put(report, "}");
        return;
    }
    if (row->columns == 0) {
        table->nested = true;
        put_indent(report, report->depth);
        put(report, "-\n");
    }
    if (table->rows == 1)
        table->columns = row->columns;
    table->ragged |= row->columns != table->columns || row->columns > REPORT_COLUMNS_MAX;
}

void report_row_texts(struct report *report, const char *const *values, unsigned count)
{
    bool json = report->form == REPORT_JSON;
    begin_row(report);
    level_of(report)->nested = true;
    if (json)
        put(report, "[");
    else
        put_indent(report, report->depth);
    for (unsigned value = 0; value < count; value++) {
        put(report, "%s", value == 0 ? "" : json ? "," : " ");
        put_string(report, values[value]);
    }
    put(report, "%s", json ? "]" : "\n");
}

void report_table_end(struct report *report)
{
    struct report_level *table = level_of(report);
    CHECK(table->kind == REPORT_TABLE);
    if (report->form == REPORT_JSON)
        put(report, "]");
    else if (report->truncated)
        cut(report, table->start);
    else if (table->rows == 0)
        put(report, " (none)\n");
    else if (!table->nested)
        align_table(report, table, 2 * (size_t)report->depth);
    leave(report);
}
