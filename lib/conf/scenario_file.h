/* Parts of reading a scenario, one source file each. All names are resolved to indexes while reading; the
 * nodes come first. */
#pragma once

#include "conf/reader.h"
#include "sim/scenario.h"

#define SCENARIO_NO_NODE UINT16_MAX

/* scenario_names.c: index of a node by name; an unknown one is an error at `node` and gives SCENARIO_NO_NODE. */
uint16_t scenario_node_find(struct conf_reader *reader, const yaml_node_t *node);
/* Index of a node by name, SCENARIO_NO_NODE without an error. */
uint16_t scenario_node_index(const struct scenario *scenario, const char *name);

/* Row of a key that names a node: stores its index, in a uint16_t. */
void scenario_read_node(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                        void *field);

/* scenario_cross.c: of one struct scenario_cross; the check comes when nodes and list have been read. */
extern const struct conf_option scenario_cross_options[];
void scenario_check_crosses(struct conf_reader *reader);
/* cross_on: gives the interfaces and shared links what matrices.cross_mbps gave the links of the pairs. */
void scenario_spread_cross(struct conf_reader *reader);

/* scenario_links.c: fill scenario->links. */
/* Of one struct netem_config. */
extern const struct conf_option scenario_link_options[];
/* Those that a fault may set, in the order of enum netem_change. */
extern const struct conf_option scenario_set_options[];
extern const struct conf_option scenario_links_options[];
extern const struct conf_option scenario_matrix_options[];
/* links.list: to be called when defaults and matrices have been read. */
void scenario_read_link_list(struct conf_reader *reader);
/* To be called when all links and the faults have been read. */
void scenario_check_ramps(struct conf_reader *reader);
#define SCENARIO_RAMP_ALONE "needs ecn: a ramp begins at that threshold"
bool scenario_queue_parse(const struct conf_option *option, const char *text, void *field);
/* scenario_clock.c: of a node's clock; the bounds stand there. */
#define SCENARIO_OFFSET_FORM "a time like 2s or -40ms, -1h to 1h"
#define SCENARIO_SKEW_FORM   "a skew like 20ppm or -5ppm, -1000ppm to 1000ppm"
bool scenario_parse_offset(const struct conf_option *option, const char *text, void *field);
bool scenario_parse_skew(const struct conf_option *option, const char *text, void *field);
#define SCENARIO_QUEUE_FORM                                                                                  \
    "a queue as time (10ms), size (256KB), packets (\"100 packets\"), \"1 BDP@100ms\" or unlimited"

/* scenario_load.c: of one struct netem_load; the check comes when all links have been read. */
extern const struct conf_option scenario_load_options[];
void scenario_check_loads(struct conf_reader *reader);

/* avb_file.c: the matrix that `node` names into scenario->avb_kbps, or scenario->distance; sites that it does not name are not known. */
void scenario_read_avb(struct conf_reader *reader, const yaml_node_t *node);
void scenario_read_distance(struct conf_reader *reader, const yaml_node_t *node);

/* scenario_faults.c, scenario_expect.c. Faults are sorted by time; both need the jobs. */
extern const struct conf_option scenario_fault_options[];
/* Prints what `expect` may say. */
extern const struct conf_option scenario_expect_options[];
void scenario_read_faults(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *list,
                          void *field);
void scenario_read_expects(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *map,
                           void *field);

/* scenario_shared.c: of one struct scenario_shared; the check comes when the list has been read. */
extern const struct conf_option scenario_shared_options[];
void scenario_check_shared(struct conf_reader *reader);
/* A fault's `set` of a shared link. */
void scenario_read_set_shared(struct conf_reader *reader, yaml_node_t *map, struct scenario_fault *fault);
/* Index of a shared link by name, shared_count when there is none. */
uint16_t scenario_shared_index(const struct scenario *scenario, const char *name);

/* matrix.c: a CSV file with a header row "from\to,name,…". `cell` is called for every pair of nodes of the
 * scenario with the cell's text; false: an error is reported for it, "expected `form`". Every node of the
 * scenario must have a row and a column; other names are passed over, empty cells too. */
struct matrix {
    const char *form;
    bool (*cell)(struct netem_config *link, const char *text);
};
/* The text of the CSV file that `node` names, to be freed; NULL after an error. */
char *scenario_open_matrix(struct conf_reader *reader, const yaml_node_t *node);
void scenario_read_matrix(struct conf_reader *reader, const yaml_node_t *node, const struct matrix *matrix);
