/* One description, two forms: the same calls write an aligned text for people or JSON for programs.
 *
 * A report is an object of named values, nested objects and tables (arrays of objects with the same keys).
 * Guarantee: JSON output is well-formed whenever report_end returns true; names are copied verbatim, strings
 * are escaped, bytes that are not UTF-8 become U+FFFD. No allocation: text goes into the caller's buffer,
 * `truncated` says that it did not fit. Names hold no ':' and none of what JSON escapes.
 *
 * Text form: a value is a line "name: value", a table is a line of names and aligned columns, numbers to the
 * right. A row is a block of lines instead, begun by a dash, where the table has a value of more than one
 * line (object, table, text with line ends), rows of different names, more than REPORT_COLUMNS_MAX columns or
 * lines longer than REPORT_LINE_MAX characters, a last column of texts not counted. A u64 named x_bps or
 * x_bytes is written as x with a unit ("485.0 Mbit/s", "64.0 MiB", rounded down), a boolean as yes or no, an
 * empty text as "-", control characters as "?". For aligning, an object or table needs room for its values
 * twice: as lines and as aligned. What is truncated ends before the outermost object or table that did not
 * fit.
 *
 *     report_begin(&r, REPORT_JSON, buffer, sizeof(buffer));
 *     report_u64(&r, "jobs", 2);
 *     report_table(&r, "edges");
 *     for (…) {
 *         report_row(&r);
 *         report_text(&r, "to", "oregon");
 *         report_u64(&r, "packets", 9);
 *         report_row_end(&r);
 *     }
 *     report_table_end(&r);
 *     report_end(&r); */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum report_form { REPORT_TEXT, REPORT_JSON };

enum report_kind { REPORT_OBJECT, REPORT_TABLE, REPORT_ROW };

#define REPORT_DEPTH_MAX   12
#define REPORT_COLUMNS_MAX 32
#define REPORT_LINE_MAX    160

/* An object, table or row that has begun and not ended. All but kind and first serve the text form. */
struct report_level {
    enum report_kind kind;
    bool first;            /* nothing in it yet */
    bool nested;           /* something in it takes more than a line: not aligned */
    bool ragged;           /* table: rows differ in columns, or have too many */
    uint16_t columns;      /* row: so far; table: of its first row */
    uint32_t rows;         /* table: so far */
    uint32_t text_columns; /* table: bit set, the column is not one of numbers */
    size_t start;          /* where its text begins in the buffer */
};

struct report {
    enum report_form form;
    char *buffer;
    size_t room;
    size_t length;
    bool truncated;
    int depth;
    struct report_level levels[REPORT_DEPTH_MAX];
};

void report_begin(struct report *report, enum report_form form, char *buffer, size_t room);
/* Closes the outermost object and terminates the string. False when it was truncated. */
bool report_end(struct report *report);

void report_u64(struct report *report, const char *name, uint64_t value);
void report_bool(struct report *report, const char *name, bool value);
void report_text(struct report *report, const char *name, const char *value);
/* value / 10^decimals as a decimal fraction, e.g. (1234567, 6) prints 1.234567. decimals <= 9. */
void report_fixed(struct report *report, const char *name, uint64_t value, unsigned decimals);

/* A number that is not there, 0 in JSON: people get the word ("-", "none") where it would stand. */
void report_word(struct report *report, const char *name, const char *word);
/* What is sent, as rates are written: decimal ("37.0 MB"). `name` ends in _bytes, and is without that for people. */
void report_traffic(struct report *report, const char *name, uint64_t bytes);
/* A time of file_time.h: before 1970 it is below 0. */
void report_file_time(struct report *report, const char *name, uint64_t time);

/* "name":[1,2,3] in JSON, "name: 1 2 3" in text. */
void report_numbers(struct report *report, const char *name, const uint64_t *values, uint32_t count);

void report_object(struct report *report, const char *name);
void report_object_end(struct report *report);
void report_table(struct report *report, const char *name);
void report_row(struct report *report);
void report_row_end(struct report *report);
/* A row of strings without names: ["a","b"] in JSON, "a b" in text. */
void report_row_texts(struct report *report, const char *const *values, unsigned count);
void report_table_end(struct report *report);
