/* One description, two forms: the same calls write an aligned text for people or JSON for programs.
 *
 * A report is an object of named values, nested objects and tables (arrays of objects with the same keys).
 * Guarantee: JSON output is well-formed whenever report_end returns true; names are copied verbatim, strings
 * are escaped, bytes that are not UTF-8 become U+FFFD. No allocation: text goes into the caller's buffer,
 * `truncated` says that it did not fit.
 *
 *     report_begin(&r, REPORT_JSON, buffer, sizeof(buffer));
 *     report_u64(&r, "jobs", 2);
 *     report_table(&r, "edges");
 *     for (…) { report_row(&r); report_text(&r, "to", "oregon"); report_u64(&r, "packets", 9);
 * report_row_end(&r); } report_table_end(&r); report_end(&r);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum report_form { REPORT_TEXT, REPORT_JSON };

#define REPORT_DEPTH_MAX 12

struct report {
    enum report_form form;
    char *buffer;
    size_t room;
    size_t length;
    bool truncated;
    int depth;
    bool first[REPORT_DEPTH_MAX];  /* no comma yet on this level */
    bool in_row[REPORT_DEPTH_MAX]; /* the level is a table row: text form puts it on one line */
};

void report_begin(struct report *report, enum report_form form, char *buffer, size_t room);
/* Closes the outermost object and terminates the string. False when it was truncated. */
bool report_end(struct report *report);

void report_u64(struct report *report, const char *name, uint64_t value);
void report_i64(struct report *report, const char *name, int64_t value);
void report_bool(struct report *report, const char *name, bool value);
void report_text(struct report *report, const char *name, const char *value);
/* value / 10^decimals as a decimal fraction, e.g. (1234567, 6) prints 1.234567. decimals <= 9. */
void report_fixed(struct report *report, const char *name, uint64_t value, unsigned decimals);

void report_object(struct report *report, const char *name);
void report_object_end(struct report *report);
void report_table(struct report *report, const char *name);
void report_row(struct report *report);
void report_row_end(struct report *report);
/* A row of strings without names: ["a","b"] in JSON, "a b" in text. */
void report_row_texts(struct report *report, const char *const *values, unsigned count);
void report_table_end(struct report *report);
