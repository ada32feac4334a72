/* CSV files of the planner, with its messages; how lines and cells are cut: conf/csv.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "conf/csv.h"

#define CSV_BYTES_MAX (64u << 20)

struct csv_file {
    const char *path; /* in messages */
    char *text;
    struct csv lines;
    char *row; /* what is left of the row */
};

/* Says on stderr why it can't. */
bool csv_open(struct csv_file *csv, const char *path);
void csv_close(struct csv_file *csv);
/* The next line that has anything; false: the end. */
bool csv_row(struct csv_file *csv);
/* The next cell of the row, without blanks around it; NULL: there is none. */
char *csv_cell(struct csv_file *csv);
/* One error on stderr, with file and line; returns false. */
bool csv_error(const struct csv_file *csv, const char *text, const char *cell);
