/* CSV files of the planner: cells between commas, no quotes, '#' begins a line that is passed over. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CSV_BYTES_MAX (64u << 20)

struct csv {
    const char *path; /* in messages */
    char *text, *rest;
    char *row;  /* what is left of the row */
    int number; /* of its line */
};

/* Says on stderr why it can't. */
bool csv_open(struct csv *csv, const char *path);
void csv_close(struct csv *csv);
/* The next line that has anything; false: the end. */
bool csv_row(struct csv *csv);
/* The next cell of the row, without blanks around it; NULL: there is none. */
char *csv_cell(struct csv *csv);
/* One error on stderr, with file and line; returns false. */
bool csv_error(const struct csv *csv, const char *text, const char *cell);
