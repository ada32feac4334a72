#include "conf/avb_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/units.h"
#include "conf/csv.h"
#include "conf/scenario_file.h"
#include "conf/value.h"

#define AVB_BPS_MAX 1000000000000ULL

/* What a cell of a matrix says of its path. */
struct told {
    const char *form;
    bool (*store)(const char *text, struct plan_path *path);
};

struct avb_reader {
    const struct told *told;
    const char *name;
    struct csv csv;
    struct ctl_paths *paths;
    uint16_t columns[PLAN_NODES_MAX];
    unsigned column_count;
    bool has_column[PLAN_NODES_MAX];
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
        if (reader->has_column[site])
            return err_set(err, "%s:%d: %s is there twice", reader->name, reader->csv.line, cell);
        reader->has_column[site] = true;
        reader->columns[reader->column_count++] = site;
    }
    return reader->column_count > 0 ||
           err_set(err, "%s:%d: no columns: expected from\\to,name,…", reader->name, reader->csv.line);
}

static bool store_avb(const char *text, struct plan_path *path)
{
    uint64_t bps;
    if (!value_parse_decimal(text, 6, &bps) || bps > AVB_BPS_MAX)
        return false;
    path->avb_kbps = path->avb_low_kbps = path->avb_high_kbps = (uint32_t)MAX(bps / 1000, 1ULL);
    return true;
}

/* 0 is a distance too: the smallest there is. */
static bool store_distance(const char *text, struct plan_path *path)
{
    uint64_t thousandths;
    if (!value_parse_decimal(text, 3, &thousandths) || thousandths > UINT32_MAX)
        return false;
    path->distance = (uint32_t)MAX(thousandths, 1ULL);
    return true;
}

static bool read_cell(struct avb_reader *reader, uint16_t from, uint16_t to, const char *text,
                      struct err *err)
{
    if (from == to || text[0] == '\0' || reader->told->store(text, &reader->paths->paths[from][to]))
        return true;
    return err_set(err, "%s:%d: \"%.40s\" in the column of %s, expected %s", reader->name, reader->csv.line,
                   text, reader->paths->sites[to].name, reader->told->form);
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

static bool parse(const struct told *told, char *text, const char *name, struct ctl_paths *paths,
                  struct err *err)
{
    struct avb_reader reader = {.told = told, .name = name, .csv = {.rest = text}, .paths = paths};
    for (char *line = csv_next_line(&reader.csv); line != NULL; line = csv_next_line(&reader.csv))
        if (reader.column_count == 0 ? !read_header(&reader, line, err) : !read_row(&reader, line, err))
            return false;
    return reader.column_count > 0 || err_set(err, "%s: empty: expected a row from\\to,name,…", name);
}

bool avb_parse(char *text, const char *name, struct ctl_paths *paths, struct err *err)
{
    static const struct told told = {"a rate in Mbit/s", store_avb};
    return parse(&told, text, name, paths, err);
}

bool distance_parse(char *text, const char *name, struct ctl_paths *paths, struct err *err)
{
    static const struct told told = {"a distance", store_distance};
    return parse(&told, text, name, paths, err);
}

/* The matrix that `node` names, by the scenario's nodes. */
static void read_of_scenario(struct conf_reader *reader, const yaml_node_t *node,
                             bool (*parse_text)(char *, const char *, struct ctl_paths *, struct err *),
                             void (*take)(struct scenario *, uint16_t, uint16_t, const struct plan_path *))
{
    struct scenario *scenario = reader->context;
    struct ctl_paths *paths = calloc(1, sizeof(*paths));
    char *text = scenario_open_matrix(reader, node);
    struct err err;
    CHECK(paths != NULL);
    if (text != NULL && !parse_text(text, conf_scalar(node), paths, &err))
        conf_error(reader, node, "%s", err.text);
    for (uint16_t from = 0; from < paths->site_count; from++)
        for (uint16_t to = 0; to < paths->site_count; to++) {
            uint16_t row = scenario_node_index(scenario, paths->sites[from].name);
            uint16_t column = scenario_node_index(scenario, paths->sites[to].name);
            if (row != SCENARIO_NO_NODE && column != SCENARIO_NO_NODE)
                take(scenario, row, column, &paths->paths[from][to]);
        }
    free(text);
    free(paths);
}

static void take_avb(struct scenario *scenario, uint16_t from, uint16_t to, const struct plan_path *path)
{
    scenario->avb_kbps[from][to] = path->avb_kbps;
}

static void take_distance(struct scenario *scenario, uint16_t from, uint16_t to, const struct plan_path *path)
{
    scenario->distance[from][to] = path->distance;
}

void scenario_read_avb(struct conf_reader *reader, const yaml_node_t *node)
{
    read_of_scenario(reader, node, avb_parse, take_avb);
}

void scenario_read_distance(struct conf_reader *reader, const yaml_node_t *node)
{
    read_of_scenario(reader, node, distance_parse, take_distance);
}

static bool read_file(const char *path,
                      bool (*parse_text)(char *, const char *, struct ctl_paths *, struct err *),
                      struct ctl_paths *paths, struct err *err)
{
    char *text = conf_slurp(path, CONF_FILE_BYTES_MAX, err);
    if (text == NULL)
        return err_context(err, "%s", path);
    bool read = parse_text(text, path, paths, err);
    free(text);
    return read;
}

bool conf_read_paths(const char *avb_path, const char *distance_path, struct ctl_paths *paths,
                     struct err *err)
{
    memset(paths, 0, sizeof(*paths));
    return (avb_path[0] == '\0' || read_file(avb_path, avb_parse, paths, err) ||
            err_context(err, "plan.avb")) &&
           (distance_path[0] == '\0' || read_file(distance_path, distance_parse, paths, err) ||
            err_context(err, "plan.distance"));
}
