/* Net files: the planner's offline input, YAML or JSON → struct plan_request. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "conf/conf.h"
#include "conf/job_plan.h"
#include "conf/reference.h"
#include "conf/value.h"

#define RTT_MAX_US 100000000

/* The request comes first: OPTION_CUSTOM rows without offset get it as their field. */
struct net_file {
    struct plan_request request;
    struct job_ties ties;
};

/* A node by name or by index. */
static bool find_node(struct conf_reader *reader, const yaml_node_t *node, uint16_t *index)
{
    const struct net_file *file = reader->context;
    const char *text = conf_scalar(node);
    uint64_t number;
    for (*index = 0; text != NULL && *index < file->request.node_count; (*index)++)
        if (strcmp(file->request.nodes[*index].name, text) == 0)
            return true;
    if (text != NULL && value_parse_decimal(text, 0, &number) && number < file->request.node_count) {
        *index = (uint16_t)number;
        return true;
    }
    conf_error(reader, node, "\"%s\" is neither the name nor the index of a node", text != NULL ? text : "?");
    return false;
}

static void read_source(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                        void *field)
{
    (void)option;
    find_node(reader, node, field);
}

static void read_receivers(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                           void *field)
{
    struct plan_request *request = field;
    const char *text = conf_scalar(node);
    uint16_t index;
    (void)option;
    if (text != NULL && strcmp(text, "all") == 0) {
        for (index = 0; index < request->node_count; index++)
            request->nodes[index].receiver = index != request->source;
        return;
    }
    if (conf_length(node) == 0)
        conf_error(reader, node, "expected all or a list of nodes");
    for (size_t place = 0; place < conf_length(node); place++) {
        const yaml_node_t *item = conf_at(reader, node, place);
        if (!find_node(reader, item, &index))
            continue;
        if (index == request->source)
            conf_error(reader, item, "\"%s\" is the source", request->nodes[index].name);
        else if (request->nodes[index].receiver)
            conf_error(reader, item, "\"%s\" is there twice", request->nodes[index].name);
        request->nodes[index].receiver = true;
    }
}

/* ---- matrices ---- */

/* What a cell of a matrix says of its path. */
struct cell {
    const char *form;
    bool (*store)(const char *text, struct plan_path *path);
};

static bool store_rtt(const char *text, struct plan_path *path)
{
    uint64_t us;
    if (!value_parse_decimal(text, 3, &us) || us > RTT_MAX_US)
        return false;
    path->rtt_us = (uint32_t)us;
    return true;
}

static bool store_avb(const char *text, struct plan_path *path)
{
    uint64_t bps;
    if (!value_parse_decimal(text, 0, &bps) || bps < 1000 || bps / 1000 > UINT32_MAX)
        return false;
    path->avb_kbps = (uint32_t)(bps / 1000);
    return true;
}

static bool store_loss(const char *text, struct plan_path *path)
{
    uint64_t ppm;
    if (!value_parse_decimal(text, 6, &ppm) || ppm >= PLAN_WHOLE_PPM)
        return false;
    path->loss_ppm = (uint32_t)ppm;
    return true;
}

/* 0 is a distance too: the smallest there is. */
static bool store_distance(const char *text, struct plan_path *path)
{
    uint64_t thousandths;
    if (!value_parse_decimal(text, 3, &thousandths) || thousandths > UINT32_MAX)
        return false;
    path->distance = thousandths == 0 ? 1 : (uint32_t)thousandths;
    return true;
}

static const struct cell rtt_cell = {"an RTT in ms (at most 3 decimals) or null", store_rtt};
static const struct cell avb_cell = {"a rate in bit/s, at least 1000, or null", store_avb};
static const struct cell loss_cell = {"a share below 1 (at most 6 decimals) or null", store_loss};
static const struct cell distance_cell = {"a distance (at most 3 decimals) or null", store_distance};

static void read_row(struct conf_reader *reader, const yaml_node_t *row, const struct cell *form, size_t from)
{
    struct net_file *file = reader->context;
    struct plan_path *paths = file->request.paths[from];
    if (conf_length(row) != file->request.node_count)
        conf_error(reader, row, "%zu numbers, expected one for each of the %u nodes", conf_length(row),
                   file->request.node_count);
    for (size_t to = 0; to < conf_length(row) && to < file->request.node_count; to++) {
        const yaml_node_t *cell = conf_at(reader, row, to);
        const char *text = conf_scalar(cell);
        if (conf_is_null(cell) || (to == from && form != &rtt_cell))
            continue;
        if (text == NULL || !form->store(text, &paths[to]))
            conf_error(reader, cell, "\"%s\", expected %s", text != NULL ? text : "?", form->form);
    }
}

static void read_matrix(struct conf_reader *reader, yaml_node_t *rows, const struct cell *form)
{
    const struct net_file *file = reader->context;
    if (conf_length(rows) != file->request.node_count) {
        conf_error(reader, rows, "%zu rows, expected one for each of the %u nodes", conf_length(rows),
                   file->request.node_count);
        return;
    }
    for (size_t from = 0; from < file->request.node_count; from++) {
        size_t previous = conf_enter(reader, "[%zu]", from);
        read_row(reader, conf_at(reader, rows, from), form, from);
        conf_leave(reader, previous);
    }
}

#define MATRIX_READER(what)                                                                                  \
    static void read_##what(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *rows, \
                            void *field)                                                                     \
    {                                                                                                        \
        (void)option;                                                                                        \
        (void)field;                                                                                         \
        read_matrix(reader, rows, &what##_cell);                                                             \
    }
MATRIX_READER(rtt)
MATRIX_READER(avb)
MATRIX_READER(loss)
MATRIX_READER(distance)

/* ---- edges ---- */

static bool find_pair(struct conf_reader *reader, const yaml_node_t *edge, uint16_t *from, uint16_t *to)
{
    if (conf_length(edge) != 2) {
        conf_error(reader, edge, "expected [from, to]");
        return false;
    }
    return find_node(reader, conf_at(reader, edge, 0), from) &&
           find_node(reader, conf_at(reader, edge, 1), to);
}

/* The field is the shared link. */
static void read_members(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *edges,
                         void *field)
{
    struct net_file *file = reader->context;
    uint16_t from, to, link = (uint16_t)((struct plan_shared *)field - file->request.shared);
    (void)option;
    if (conf_length(edges) == 0)
        conf_error(reader, edges, "expected a list of edges [from, to]");
    for (size_t place = 0; place < conf_length(edges); place++)
        if (find_pair(reader, conf_at(reader, edges, place), &from, &to))
            file->request.paths[from][to].shared |= (uint16_t)(1u << link);
}

static void read_rules(struct conf_reader *reader, yaml_node_t *edges, enum plan_rule rule)
{
    struct net_file *file = reader->context;
    uint16_t from, to;
    if (conf_length(edges) == 0)
        conf_error(reader, edges, "expected a list of edges [from, to]");
    for (size_t place = 0; place < conf_length(edges); place++) {
        const yaml_node_t *edge = conf_at(reader, edges, place);
        if (!find_pair(reader, edge, &from, &to))
            continue;
        if (file->request.paths[from][to].rule != PLAN_RULE_NONE)
            conf_error(reader, edge, "is forbidden or pinned already");
        file->request.paths[from][to].rule = (uint8_t)rule;
    }
}

static void read_forbidden(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *edges,
                           void *field)
{
    (void)option;
    (void)field;
    read_rules(reader, edges, PLAN_RULE_FORBIDDEN);
}

static void read_pins(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *edges,
                      void *field)
{
    (void)option;
    (void)field;
    read_rules(reader, edges, PLAN_RULE_PINNED);
}

static void read_tree(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *edges,
                      void *field)
{
    struct plan_request *request = field;
    (void)option;
    request->metric = PLAN_METRIC_GIVEN;
    request->given.weight_ppm = PLAN_WHOLE_PPM;
    if (conf_length(edges) == 0 || conf_length(edges) >= PLAN_NODES_MAX) {
        conf_error(reader, edges, "expected a list of 1 to %d edges [from, to]", PLAN_NODES_MAX - 1);
        return;
    }
    for (size_t place = 0; place < conf_length(edges); place++) {
        struct plan_edge *target = &request->given.edges[request->given.edge_count];
        request->given.edge_count +=
            find_pair(reader, conf_at(reader, edges, place), &target->from, &target->to);
    }
}

static const struct conf_option net_node_options[] = {
    {"name", OPTION_NAME, FIELD(struct plan_node, name), .required = true, .help = "name of the node"},
    {"up_bps", OPTION_UINT, FIELD(struct plan_node, up_bps), .min = 1, .required = true,
     .help = "wire rate of its uplink, bit/s"},
    {"down_bps", OPTION_UINT, FIELD(struct plan_node, down_bps), .min = 1, .required = true,
     .help = "wire rate of its downlink, bit/s"},
    {"packets_ps", OPTION_UINT, FIELD(struct plan_node, packets_ps), .initial = "0",
     .help = "packets that it can send and receive a second; 0: no limit"},
    {"window_bytes", OPTION_UINT, FIELD(struct plan_node, window_bytes), .initial = "0",
     .help = "its memory for what is on the way to children; 0: no limit"},
    {"leaf", OPTION_BOOL, FIELD(struct plan_node, leaf), .initial = "false", .help = "it passes nothing on"},
    {"max_children", OPTION_LATER, .help = "children that this node may have"},
    {.type = OPTION_END}};

static const struct conf_option net_shared_options[] = {
    {"name", OPTION_NAME, FIELD(struct plan_shared, name), .required = true, .help = "name of the link"},
    {"rate_bps", OPTION_UINT, FIELD(struct plan_shared, rate_bps), .min = 1, .required = true,
     .help = "its wire rate, bit/s, for all that crosses it"},
    {"members", OPTION_CUSTOM, .form = "a list of [from, to]", .read = read_members, .required = true,
     .help = "the edges that cross it"},
    {.type = OPTION_END}};

#define REQUEST(member) FIELD(struct net_file, request.member)
const struct conf_option net_file_options[] = {
    {"nodes", OPTION_LIST, LIST_FIELD(struct net_file, request.nodes, request.node_count),
     .options = net_node_options, .required = true, .help = "the sites"},
    {"source", OPTION_CUSTOM, REQUEST(source), .form = "a node, by name or index", .read = read_source,
     .required = true, .help = "where the object is"},
    {"receivers", OPTION_CUSTOM, .form = "all | list of nodes", .read = read_receivers, .required = true,
     .help = "where it is wanted; the others may relay"},
    {"rtt_ms", OPTION_CUSTOM, .form = "a list of rows", .read = read_rtt,
     .help = "RTT in ms, [from][to]; null: not measured"},
    {"avb_bps", OPTION_CUSTOM, .form = "a list of rows", .read = read_avb,
     .help = "available bandwidth on the wire, bit/s, [from][to]; null: not known, interfaces decide"},
    {"loss", OPTION_CUSTOM, .form = "a list of rows", .read = read_loss,
     .help = "share of packets that are lost, [from][to]"},
    {"distance", OPTION_CUSTOM, .form = "a list of rows", .read = read_distance,
     .help = "for metric: distance, in any unit, [from][to]; null: not known"},
    {"shared", OPTION_LIST, LIST_FIELD(struct net_file, request.shared, request.shared_count),
     .options = net_shared_options, .help = "links that several edges cross"},
    {"size_bytes", OPTION_UINT, REQUEST(size_bytes), .initial = "0",
     .help = "size of the object; 0: a stream, or not known"},
    {"metric", OPTION_WORD, REQUEST(metric), .words = conf_metric_words, .initial = "auto",
     .help = "how the trees are found" PLAN_METRICS(CONF_METRIC_HELP)},
    {"avb_of", OPTION_WORD, REQUEST(avb_of), .words = conf_avb_words, .initial = "any",
     .help = CONF_AVB_HELP PLAN_AVB_SOURCES(CONF_METRIC_HELP)},
    {"trees", OPTION_WORD, REQUEST(trees_max), .words = conf_trees_words, .initial = "auto",
     .help = CONF_TREES_HELP},
    {"max_children", OPTION_UINT, REQUEST(children_max), .max = PLAN_CHILDREN_MAX, .initial = "0",
     .help = "children that a node may have at most; 0: no limit"},
    {"dcmst_of", OPTION_WORD, REQUEST(dcmst_of), .words = conf_dcmst_words, .initial = "rtt",
     .help = CONF_DCMST_HELP},
    {"degree", OPTION_UINT, REQUEST(degree), .min = 1, .max = PLAN_CHILDREN_MAX, .initial = "2",
     .help = CONF_DEGREE_HELP},
    {"ties", OPTION_SCALAR, FIELD(struct net_file, ties), .form = CONF_TIES_FORM, .parse = conf_parse_ties,
     .initial = "name", .help = CONF_TIES_HELP},
    {"forbid", OPTION_CUSTOM, .form = "a list of [from, to]", .read = read_forbidden,
     .help = "edges that no tree has"},
    {"pin", OPTION_CUSTOM, .form = "a list of [from, to]", .read = read_pins,
     .help = "edges that every tree has: nothing else leads to the node that one enters"},
    {"rate_max_bps", OPTION_UINT, REQUEST(rate_cap_bps), .initial = "0",
     .help = "payload rate that must not be exceeded; 0: none"},
    {"tree", OPTION_CUSTOM, .form = "a list of [from, to]", .read = read_tree,
     .help = "a given tree, in place of metric"},
    {.type = OPTION_END}};

static void check_net(struct conf_reader *reader, const struct plan_request *request)
{
    const yaml_node_t *root = yaml_document_get_root_node(&reader->document);
    struct err err;
    if (conf_find(reader, root, "tree") != NULL && conf_find(reader, root, "metric") != NULL)
        conf_fault(reader, "tree", "contradicts metric: a tree is either given or computed");
    if (reader->errors->count == 0 && !plan_request_validate(request, &err))
        conf_fault(reader, "", "%s", err.text);
}

bool conf_read_net(const char *path, const char *text, struct plan_request *request,
                   struct conf_errors *errors)
{
    struct conf_reader reader;
    if (!conf_load(&reader, path, text, errors))
        return false;
    struct net_file *file = calloc(1, sizeof(*file));
    CHECK(file != NULL);
    reader.context = file;
    plan_request_init(&file->request);
    file->request.job = file->request.epoch = 1;
    for (unsigned node = 0; node < PLAN_NODES_MAX; node++)
        file->request.paths[node][node].rtt_us = 0;
    if (conf_read_document(&reader, net_file_options, file)) {
        file->request.ties_random = file->ties.random;
        file->request.ties_seed = file->ties.seed;
        check_net(&reader, &file->request);
    }
    conf_unload(&reader);
    *request = file->request;
    free(file);
    return errors->count == 0;
}
