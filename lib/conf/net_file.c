/* Net files: the planner's offline input, YAML or JSON → struct plan_request. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "conf/conf.h"
#include "conf/job_file.h"
#include "conf/reference.h"
#include "conf/value.h"

#define RTT_MAX_US 100000000

/* The request comes first: OPTION_CUSTOM rows without offset get it as their field. */
struct net_file {
    struct plan_request request;
};

static const struct word tree_words[] = {{"auto", 0}, {"1", 1}, {NULL, 0}};

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

static void read_rtt_row(struct conf_reader *reader, const yaml_node_t *row, struct plan_path *paths)
{
    const struct net_file *file = reader->context;
    if (conf_length(row) != file->request.node_count)
        conf_error(reader, row, "%zu numbers, expected one for each of the %u nodes", conf_length(row),
                   file->request.node_count);
    for (size_t to = 0; to < conf_length(row) && to < file->request.node_count; to++) {
        const yaml_node_t *cell = conf_at(reader, row, to);
        const char *text = conf_scalar(cell);
        uint64_t value;
        if (conf_is_null(cell))
            continue;
        if (text == NULL || !value_parse_decimal(text, 3, &value) || value > RTT_MAX_US)
            conf_error(reader, cell, "\"%s\", expected an RTT in ms (at most 3 decimals) or null",
                       text != NULL ? text : "?");
        else
            paths[to].rtt_us = (uint32_t)value;
    }
}

static void read_rtts(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *rows,
                      void *field)
{
    struct plan_request *request = field;
    (void)option;
    if (conf_length(rows) != request->node_count) {
        conf_error(reader, rows, "%zu rows, expected one for each of the %u nodes", conf_length(rows),
                   request->node_count);
        return;
    }
    for (size_t from = 0; from < request->node_count; from++) {
        size_t previous = conf_enter(reader, "[%zu]", from);
        read_rtt_row(reader, conf_at(reader, rows, from), request->paths[from]);
        conf_leave(reader, previous);
    }
}

static void read_tree(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *edges,
                      void *field)
{
    struct plan_request *request = field;
    (void)option;
    request->metric = PLAN_METRIC_GIVEN;
    request->given.weight_ppm = 1000000;
    if (conf_length(edges) == 0 || conf_length(edges) >= PLAN_NODES_MAX) {
        conf_error(reader, edges, "expected a list of 1 to %d edges [from, to]", PLAN_NODES_MAX - 1);
        return;
    }
    for (size_t place = 0; place < conf_length(edges); place++) {
        const yaml_node_t *edge = conf_at(reader, edges, place);
        struct plan_edge *target = &request->given.edges[request->given.edge_count];
        if (conf_length(edge) != 2)
            conf_error(reader, edge, "expected [from, to]");
        else if (find_node(reader, conf_at(reader, edge, 0), &target->from) &&
                 find_node(reader, conf_at(reader, edge, 1), &target->to))
            request->given.edge_count++;
    }
}

static const struct conf_option net_node_options[] = {
    {"name", OPTION_NAME, FIELD(struct plan_node, name), .required = true, .help = "name of the node"},
    {"up_bps", OPTION_UINT, FIELD(struct plan_node, up_bps), .min = 1, .required = true,
     .help = "wire rate of its uplink, bit/s"},
    {"down_bps", OPTION_UINT, FIELD(struct plan_node, down_bps), .min = 1, .required = true,
     .help = "wire rate of its downlink, bit/s"},
    {"max_children", OPTION_LATER, .help = "children that this node may have"},
    {.type = OPTION_END}};

#define REQUEST(member) FIELD(struct net_file, request.member)
const struct conf_option net_file_options[] = {
    {"nodes", OPTION_LIST, LIST_FIELD(struct net_file, request.nodes, request.node_count),
     .options = net_node_options, .required = true, .help = "the sites"},
    {"source", OPTION_CUSTOM, REQUEST(source), .form = "a node, by name or index", .read = read_source,
     .required = true, .help = "where the object is"},
    {"receivers", OPTION_CUSTOM, .form = "all | list of nodes", .read = read_receivers, .required = true,
     .help = "where it is wanted; the others may relay"},
    {"rtt_ms", OPTION_CUSTOM, .form = "a list of rows", .read = read_rtts,
     .help = "RTT in ms, [from][to]; null: not measured"},
    {"size_bytes", OPTION_UINT, REQUEST(size_bytes), .initial = "0", .help = "size of the object"},
    {"metric", OPTION_WORD, REQUEST(metric), .words = conf_metric_words, .initial = "auto",
     .help = "rtt (auto): a minimum spanning tree on RTT; star: no relays"},
    {"trees", OPTION_WORD, REQUEST(trees_max), .words = tree_words, .initial = "1",
     .help = "number of trees that share the object"},
    {"max_children", OPTION_UINT, REQUEST(children_max), .max = PLAN_CHILDREN_MAX, .initial = "0",
     .help = "children that a node may have at most; 0: no limit"},
    {"rate_max_bps", OPTION_UINT, REQUEST(rate_cap_bps), .initial = "0",
     .help = "payload rate that must not be exceeded; 0: none"},
    {"tree", OPTION_CUSTOM, .form = "a list of [from, to]", .read = read_tree,
     .help = "a given tree, in place of metric"},
    {"avb_bps", OPTION_LATER, .help = "available bandwidth, [from][to]"},
    {"loss", OPTION_LATER, .help = "loss rate, [from][to]"},
    {"groups", OPTION_LATER, .help = "edges that share a bottleneck"},
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
    if (conf_read_document(&reader, net_file_options, file))
        check_net(&reader, &file->request);
    conf_unload(&reader);
    *request = file->request;
    free(file);
    return errors->count == 0;
}
