#include "planner/csv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool csv_open(struct csv *csv, const char *path)
{
    *csv = (struct csv){.path = path};
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        fprintf(stderr, "sluice-planner: %s: %s\n", path, strerror(errno));
        return false;
    }
    csv->text = malloc(CSV_BYTES_MAX + 1);
    size_t length = csv->text == NULL ? 0 : fread(csv->text, 1, CSV_BYTES_MAX + 1, file);
    bool read = csv->text != NULL && ferror(file) == 0 && length <= CSV_BYTES_MAX;
    fclose(file);
    if (!read) {
        fprintf(stderr, "sluice-planner: %s: can't be read, or is longer than %u MB\n", path,
                CSV_BYTES_MAX >> 20);
        csv_close(csv);
        return false;
    }
    csv->text[length] = '\0';
    csv->rest = csv->text;
    return true;
}

void csv_close(struct csv *csv)
{
    free(csv->text);
    csv->text = NULL;
}

bool csv_row(struct csv *csv)
{
    while ((csv->row = strsep(&csv->rest, "\n")) != NULL) {
        csv->number++;
        if (csv->row[0] != '#' && csv->row[strspn(csv->row, " \t\r")] != '\0')
            return true;
    }
    return false;
}

char *csv_cell(struct csv *csv)
{
    char *cell = strsep(&csv->row, ",");
    if (cell == NULL)
        return NULL;
    cell += strspn(cell, " \t");
    for (size_t length = strlen(cell); length > 0 && strchr(" \t\r", cell[length - 1]) != NULL; length--)
        cell[length - 1] = '\0';
    return cell;
}

bool csv_error(const struct csv *csv, const char *text, const char *cell)
{
    fprintf(stderr, "sluice-planner: %s:%d: \"%.60s\": %s\n", csv->path, csv->number,
            cell == NULL ? "" : cell, text);
    return false;
}
