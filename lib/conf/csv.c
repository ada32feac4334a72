#include "conf/csv.h"

#include <string.h>

char *csv_next_line(struct csv *csv)
{
    for (char *line = strsep(&csv->rest, "\n"); line != NULL; line = strsep(&csv->rest, "\n")) {
        csv->line++;
        if (line[strspn(line, " \t\r")] != '\0' && line[0] != '#')
            return line;
    }
    return NULL;
}

char *csv_next_cell(char **line)
{
    if (*line == NULL)
        return NULL;
    char *cell = strsep(line, ",");
    cell += strspn(cell, " \t");
    for (size_t length = strlen(cell); length > 0 && strchr(" \t\r", cell[length - 1]) != NULL; length--)
        cell[length - 1] = '\0';
    return cell;
}
