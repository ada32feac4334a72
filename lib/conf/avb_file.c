#include "conf/avb_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/units.h"
#include "conf/csv.h"
#include "conf/scenario_file.h"
#include "conf/value.h"

#define AVB_BPS_MAX 1000000000000ULL

struct avb_reader {
    const char *name;
    struct csv csv;
    struct ctl_paths *paths;
    uint16_t columns[PLAN_NODES_MAX];
    unsigned column_count;
    bool has_row[PLAN_NODES_MAX];
};

/* Index of the site, new ones at the end. */
static bool take_site(struct avb_reader *reader, const char *name, uint16_t *site, struct err *err)
{
    struct ctl_paths *paths = reader->paths;
    for (*site = 0; *site < paths->site_count; (*site)++)
        if (strcmp(paths->sites[*site].name, name) == 0)
            return true;
    if (!name_valid(name))
        return err_set(err, "%s:%d: \"%.40s\" is not a name", reader->name, reader->csv.line, name);
    if (paths->site_count == PLAN_NODES_MAX)
        return err_set(err, "%s:%d: more than %d sites", reader->name, reader->csv.line, PLAN_NODES_MAX);
    name_copy(paths->sites[paths->site_count++].name, NAME_BYTES, name);
    return true;
}

static bool read_header(struct avb_reader *reader, char *line, struct err *err)
{
    csv_next_cell(&line);
    for (char *cell = csv_next_cell(&line); cell != NULL; cell = csv_next_cell(&line)) {
        uint16_t site;
        if (!take_site(reader, cell, &site, err))
            return false;
        if (site != reader->column_count)
            return err_set(err, "%s:%d: %s is there twice", reader->name, reader->csv.line, cell);
        reader->columns[reader->column_count++] = site;
    }
    return reader->column_count > 0 ||
           err_set(err, "%s:%d: no columns: expected from\\to,name,…", reader->name, reader->csv.line);
}

static bool read_cell(struct avb_reader *reader, uint16_t from, uint16_t to, const char *text,
                      struct err *err)
{
    uint64_t bps;
    if (from == to || text[0] == '\0')
        return true;
    if (!value_parse_decimal(text, 6, &bps) || bps > AVB_BPS_MAX)
        return err_set(err, "%s:%d: \"%.40s\" in the column of %s, expected a rate in Mbit/s", reader->name,
                       reader->csv.line, text, reader->paths->sites[to].name);
    uint32_t kbps = (uint32_t)MAX(bps / 1000, 1ULL);
    reader->paths->paths[from][to] =
        (struct plan_path){.avb_kbps = kbps, .avb_low_kbps = kbps, .avb_high_kbps = kbps};
    return true;
}

static bool read_row(struct avb_reader *reader, char *line, struct err *err)
{
    uint16_t from;
    unsigned column = 0;
    if (!take_site(reader, csv_next_cell(&line), &from, err))
        return false;
    if (reader->has_row[from])
        return err_set(err, "%s:%d: a second row of %s", reader->name, reader->csv.line,
                       reader->paths->sites[from].name);
    reader->has_row[from] = true;
    for (char *cell = csv_next_cell(&line); cell != NULL; cell = csv_next_cell(&line), column++)
        if (column < reader->column_count && !read_cell(reader, from, reader->columns[column], cell, err))
            return false;
    return column == reader->column_count ||
           err_set(err, "%s:%d: %u columns, the header has %u", reader->name, reader->csv.line, column,
                   reader->column_count);
}

bool avb_parse(char *text, const char *name, struct ctl_paths *paths, struct err *err)
{
    struct avb_reader reader = {.name = name, .csv = {.rest = text}, .paths = paths};
    memset(paths, 0, sizeof(*paths));
    for (char *line = csv_next_line(&reader.csv); line != NULL; line = csv_next_line(&reader.csv))
        if (reader.column_count == 0 ? !read_header(&reader, line, err) : !read_row(&reader, line, err))
            return false;
    return reader.column_count > 0 || err_set(err, "%s: empty: expected a row from\\to,name,…", name);
}

void scenario_read_avb(struct conf_reader *reader, const yaml_node_t *node)
{
    struct scenario *scenario = reader->context;
    struct ctl_paths *paths = malloc(sizeof(*paths));
    char *text = scenario_open_matrix(reader, node);
    struct err err;
    CHECK(paths != NULL);
    if (text != NULL && !avb_parse(text, conf_scalar(node), paths, &err))
        conf_error(reader, node, "%s", err.text);
    for (uint16_t from = 0; text != NULL && from < paths->site_count; from++)
        for (uint16_t to = 0; to < paths->site_count; to++) {
            uint16_t row = scenario_node_index(scenario, paths->sites[from].name);
            uint16_t column = scenario_node_index(scenario, paths->sites[to].name);
            if (row != SCENARIO_NO_NODE && column != SCENARIO_NO_NODE)
                scenario->avb_kbps[row][column] = paths->paths[from][to].avb_kbps;
        }
    free(text);
    free(paths);
}

bool conf_read_avb(const char *path, struct ctl_paths *paths, struct err *err)
{
    char *text = conf_slurp(path, CONF_FILE_BYTES_MAX, err);
    if (text == NULL)
        return err_context(err, "%s", path);
    bool read = avb_parse(text, path, paths, err);
    free(text);
    return read;
}
