/* Lines and cells of a CSV text, cut in place: no quotes, cells between commas, blanks around them removed. */
#pragma once

#include <stdbool.h>

struct csv {
    char *rest;
    int line; /* number of the last one that was cut off */
};

/* The next line that is neither blank nor a comment ('#' at its begin); NULL: there is none. */
char *csv_next_line(struct csv *csv);
/* Cuts the next cell off a line; NULL at its end. */
char *csv_next_cell(char **line);
