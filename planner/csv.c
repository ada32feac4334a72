#include "planner/csv.h"

#include <stdio.h>
#include <stdlib.h>

#include "conf/conf.h"

bool csv_open(struct csv_file *csv, const char *path)
{
    struct err err;
    *csv = (struct csv_file){.path = path, .text = conf_slurp(path, CSV_BYTES_MAX, &err)};
    csv->lines.rest = csv->text;
    if (csv->text == NULL)
        fprintf(stderr, "sluice-planner: %s: %s\n", path, err.text);
    return csv->text != NULL;
}

void csv_close(struct csv_file *csv)
{
    free(csv->text);
    csv->text = NULL;
}

bool csv_row(struct csv_file *csv)
{
    csv->row = csv_next_line(&csv->lines);
    return csv->row != NULL;
}

char *csv_cell(struct csv_file *csv)
{
    return csv_next_cell(&csv->row);
}

bool csv_error(const struct csv_file *csv, const char *text, const char *cell)
{
    fprintf(stderr, "sluice-planner: %s:%d: \"%.60s\": %s\n", csv->path, csv->lines.line,
            cell == NULL ? "" : cell, text);
    return false;
}
