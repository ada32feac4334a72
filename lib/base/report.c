#include "base/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"

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

/* Bytes of the well-formed UTF-8 sequence that begins here (RFC 3629: no overlong forms, no surrogates), 0
 * when there is none. The terminating zero ends any sequence, so nothing behind it is read. */
static int utf8_bytes(const unsigned char *c)
{
    static const struct {
        unsigned char first_min, first_max, second_min, second_max;
        int bytes;
    } forms[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
                 {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
                 {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    if (c[0] < 0x80)
        return 1;
    for (size_t form = 0; form < sizeof(forms) / sizeof(forms[0]); form++) {
        if (c[0] < forms[form].first_min || c[0] > forms[form].first_max)
            continue;
        if (c[1] < forms[form].second_min || c[1] > forms[form].second_max)
            return 0;
        for (int index = 2; index < forms[form].bytes; index++)
            if (c[index] < 0x80 || c[index] > 0xbf)
                return 0;
        return forms[form].bytes;
    }
    return 0;
}

static void put_string(struct report *report, const char *text)
{
    if (report->form == REPORT_TEXT) {
        put(report, "%s", text);
        return;
    }
    put(report, "\"");
    int bytes;
    for (const char *c = text; *c != '\0'; c += bytes == 0 ? 1 : bytes) {
        bytes = utf8_bytes((const unsigned char *)c);
        if (bytes == 0)
            put(report, "\\ufffd");
        else if (*c == '"' || *c == '\\')
            put(report, "\\%c", *c);
        else if ((unsigned char)*c < 0x20)
            put(report, "\\u%04x", (unsigned char)*c);
        else
            put(report, "%.*s", bytes, c);
    }
    put(report, "\"");
}

static void put_indent(struct report *report)
{
    for (int level = 1; level < report->depth; level++)
        put(report, "  ");
}

/* What stands before a value: comma and key in JSON; in text a new line with the name, or "name value" in a
 * row. */
static void put_name(struct report *report, const char *name)
{
    bool first = report->first[report->depth];
    report->first[report->depth] = false;
    if (report->form == REPORT_JSON) {
        put(report, "%s", first ? "" : ",");
        if (name != NULL)
            put(report, "\"%s\":", name);
        return;
    }
    if (report->in_row[report->depth]) {
        put(report, "%s%s ", first ? "" : "  ", name);
        return;
    }
    put_indent(report);
    put(report, "%s: ", name);
}

static void put_value_end(struct report *report)
{
    if (report->form == REPORT_TEXT && !report->in_row[report->depth])
        put(report, "\n");
}

static void enter(struct report *report, bool in_row)
{
    report->depth++;
    CHECK(report->depth < REPORT_DEPTH_MAX);
    report->first[report->depth] = true;
    report->in_row[report->depth] = in_row;
}

static void leave(struct report *report)
{
    CHECK(report->depth > 0);
    report->depth--;
}

void report_begin(struct report *report, enum report_form form, char *buffer, size_t room)
{
    CHECK(room > 0);
    *report = (struct report){.form = form, .buffer = buffer, .room = room};
    buffer[0] = '\0';
    enter(report, false);
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
    put_name(report, name);
    put(report, "%" PRIu64, value);
    put_value_end(report);
}

void report_i64(struct report *report, const char *name, int64_t value)
{
    put_name(report, name);
    put(report, "%" PRId64, value);
    put_value_end(report);
}

void report_bool(struct report *report, const char *name, bool value)
{
    put_name(report, name);
    put(report, "%s", value ? "true" : "false");
    put_value_end(report);
}

void report_text(struct report *report, const char *name, const char *value)
{
    put_name(report, name);
    put_string(report, value);
    put_value_end(report);
}

void report_fixed(struct report *report, const char *name, uint64_t value, unsigned decimals)
{
    CHECK(decimals <= 9);
    uint64_t scale = 1;
    for (unsigned digit = 0; digit < decimals; digit++)
        scale *= 10;
    put_name(report, name);
    if (decimals == 0)
        put(report, "%" PRIu64, value);
    else
        put(report, "%" PRIu64 ".%0*" PRIu64, value / scale, (int)decimals, value % scale);
    put_value_end(report);
}

void report_object(struct report *report, const char *name)
{
    put_name(report, name);
    put(report, "%s", report->form == REPORT_JSON ? "{" : "\n");
    enter(report, false);
}

void report_object_end(struct report *report)
{
    leave(report);
    if (report->form == REPORT_JSON)
        put(report, "}");
}

void report_table(struct report *report, const char *name)
{
    put_name(report, name);
    put(report, "%s", report->form == REPORT_JSON ? "[" : "\n");
    enter(report, false);
}

void report_row(struct report *report)
{
    if (report->form == REPORT_JSON) {
        put_name(report, NULL);
        put(report, "{");
    } else {
        put_indent(report);
    }
    enter(report, true);
}

void report_row_end(struct report *report)
{
    leave(report);
    put(report, "%s", report->form == REPORT_JSON ? "}" : "\n");
}

void report_row_texts(struct report *report, const char *const *values, unsigned count)
{
    bool json = report->form == REPORT_JSON;
    if (json)
        put_name(report, NULL);
    else
        put_indent(report);
    put(report, "%s", json ? "[" : "");
    for (unsigned value = 0; value < count; value++) {
        put(report, "%s", value == 0 ? "" : json ? "," : " ");
        put_string(report, values[value]);
    }
    put(report, "%s", json ? "]" : "\n");
}

void report_table_end(struct report *report)
{
    leave(report);
    if (report->form == REPORT_JSON)
        put(report, "]");
}
