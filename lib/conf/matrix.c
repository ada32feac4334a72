/* Matrices of a scenario: CSV files named in it, searched beside it and then in conf/data. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/csv.h"
#include "conf/scenario_file.h"

#define COLUMNS_MAX 256

char *scenario_open_matrix(struct conf_reader *reader, const yaml_node_t *node)
{
    char path[PATH_BYTES];
    const char *name = conf_scalar(node);
    if (name == NULL || name[0] == '\0') {
        conf_error(reader, node, "expected the name of a CSV file");
        return NULL;
    }
    const char *slash = strrchr(reader->path, '/');
    int directory = name[0] == '/' || slash == NULL ? 0 : (int)(slash - reader->path) + 1;
    snprintf(path, sizeof(path), "%.*s%s", directory, reader->path, name);
    struct err err;
    char *text = conf_slurp(path, CONF_FILE_BYTES_MAX, &err);
    if (text == NULL && errno == ENOENT && name[0] != '/') {
        snprintf(path, sizeof(path), "%s/%s", CONF_DATA_DIRECTORY, name);
        text = conf_slurp(path, CONF_FILE_BYTES_MAX, &err);
    }
    if (text == NULL)
        conf_error(reader, node, "\"%s\": %s (searched beside the scenario, then in conf/data)", name,
                   err.text);
    return text;
}

/* The header: which node each column stands for. Returns the number of columns. */
static unsigned read_header(const struct scenario *scenario, char *line, uint16_t columns[COLUMNS_MAX])
{
    unsigned count = 0;
    csv_next_cell(&line);
    for (char *cell = csv_next_cell(&line); cell != NULL && count < COLUMNS_MAX; cell = csv_next_cell(&line))
        columns[count++] = scenario_node_index(scenario, cell);
    return count;
}

static void read_row(struct conf_reader *reader, const yaml_node_t *node, const struct matrix *matrix,
                     int number, char *line, uint16_t from, const uint16_t *columns, unsigned count)
{
    struct scenario *scenario = reader->context;
    unsigned column = 0;
    for (char *cell = csv_next_cell(&line); cell != NULL; cell = csv_next_cell(&line), column++) {
        uint16_t to = column < count ? columns[column] : SCENARIO_NO_NODE;
        if (to == SCENARIO_NO_NODE || to == from || cell[0] == '\0')
            continue;
        if (!matrix->cell(&scenario->links[from][to], cell))
            conf_error(reader, node, "%s:%d: \"%s\" in the column of %s, expected %s", conf_scalar(node),
                       number, cell, scenario->nodes[to].name, matrix->form);
    }
    if (column != count)
        conf_error(reader, node, "%s:%d: %u columns, the header has %u", conf_scalar(node), number, column,
                   count);
}

/* Every node needs a row and a column. */
static void check_covered(struct conf_reader *reader, const yaml_node_t *node, const bool *rows,
                          const uint16_t *columns, unsigned count)
{
    const struct scenario *scenario = reader->context;
    for (uint16_t index = 0; index < scenario->node_count; index++) {
        bool column = false;
        for (unsigned place = 0; place < count; place++)
            column = column || columns[place] == index;
        if (!rows[index] || !column)
            conf_error(reader, node, "%s has no %s for the node \"%s\"", conf_scalar(node),
                       rows[index] ? "column" : "row", scenario->nodes[index].name);
    }
}

void scenario_read_matrix(struct conf_reader *reader, const yaml_node_t *node, const struct matrix *matrix)
{
    const struct scenario *scenario = reader->context;
    uint16_t columns[COLUMNS_MAX];
    bool rows[SCENARIO_NODES_MAX] = {false};
    unsigned count = 0;
    char *text = scenario_open_matrix(reader, node);
    if (text == NULL)
        return;
    struct csv csv = {.rest = text};
    for (char *line = csv_next_line(&csv); line != NULL; line = csv_next_line(&csv)) {
        if (count == 0) {
            count = read_header(scenario, line, columns);
            continue;
        }
        uint16_t from = scenario_node_index(scenario, csv_next_cell(&line));
        if (from == SCENARIO_NO_NODE)
            continue;
        rows[from] = true;
        read_row(reader, node, matrix, csv.line, line, from, columns, count);
    }
    check_covered(reader, node, rows, columns, count);
    free(text);
}
