/* Scenario files: YAML → struct scenario. Nodes and jobs here; links, faults and expectations in files of
 * their own. */
#include "conf/scenario_file.h"

#include <string.h>

#include "base/units.h"
#include "conf/change.h"
#include "conf/conf.h"
#include "conf/reference.h"
#include "conf/job_file.h"
#include "conf/value.h"

#define RING_MAX (1ULL << 31) /* bytes or packets */

/* ---- nodes ---- */

static bool parse_node_queue(const struct conf_option *option, const char *text, void *field)
{
    struct scenario_node *node = field;
    return scenario_queue_parse(option, text, &node->uplink) &&
           scenario_queue_parse(option, text, &node->downlink);
}

static bool parse_ring(const struct conf_option *option, const char *text, void *field)
{
    struct scenario_node *node = field;
    struct netem_config ring = {0};
    if (!scenario_queue_parse(option, text, &ring) || ring.queue_unit == NETEM_QUEUE_NS)
        return false;
    if (ring.queue_unit != NETEM_QUEUE_NONE && (ring.queue_limit == 0 || ring.queue_limit > RING_MAX))
        return false;
    node->ring_bytes = ring.queue_unit == NETEM_QUEUE_BYTES ? ring.queue_limit : 0;
    node->ring_packets = ring.queue_unit == NETEM_QUEUE_PACKETS ? (uint32_t)ring.queue_limit : 0;
    return true;
}

static const struct word store_words[] = {{"disk", 0}, {"none", 1}, {NULL, 0}};
static const struct word relay_words[] = {{"yes", false}, {"no", true}, {NULL, 0}};

static const struct conf_option clock_options[] = {
    {"offset", OPTION_SCALAR, FIELD(struct scenario_node, clock_offset_ns), .form = SCENARIO_OFFSET_FORM,
     .parse = scenario_parse_offset, .initial = "0s",
     .help = "how far the node's clock is ahead of true time"},
    {"skew", OPTION_SCALAR, FIELD(struct scenario_node, clock_skew_ppb), .form = SCENARIO_SKEW_FORM,
     .parse = scenario_parse_skew, .initial = "0ppm", .help = "how much faster than true time it runs"},
    {.type = OPTION_END}};

static const struct conf_option stamps_options[] = {
    {"batch", OPTION_UINT, FIELD(struct scenario_node, stamping.batch), .max = NETEM_BATCH_MAX,
     .initial = "0", .help = "packets that come are stamped together, up to so many; 0: each for itself"},
    {"batch_timeout", OPTION_TIME, FIELD(struct scenario_node, stamping.batch_ns), .min = 1,
     .max = 100 * NS_PER_MS, .initial = "50us", .help = "behind its first packet, a batch is taken as it is"},
    {"noise", OPTION_TIME, FIELD(struct scenario_node, stamping.noise_ns), .max = NS_PER_S, .initial = "0s",
     .help = "standard deviation of each stamp, of what comes and of what leaves"},
    {"granularity", OPTION_TIME, FIELD(struct scenario_node, stamping.granularity_ns), .max = NS_PER_S,
     .initial = "0s", .help = "stamps are multiples of this"},
    {"device", OPTION_BOOL, FIELD(struct scenario_node, stamped_by_device), .initial = "false",
     .help = "true: stamps are of when packets came, however late a stall or the node's turn has them taken"},
    {.type = OPTION_END}};

static const struct conf_option stall_options[] = {
    {"every", OPTION_TIME, FIELD(struct scenario_node, stall.every_ns), .min = NS_PER_US,
     .max = 3600 * NS_PER_S, .required = true,
     .help = "from the beginning of one to that of the next, on average"},
    {"for", OPTION_TIME, FIELD(struct scenario_node, stall.for_ns), .min = 1, .max = 3600 * NS_PER_S,
     .required = true, .help = "how long it lasts"},
    {"spread", OPTION_TIME, FIELD(struct scenario_node, stall.spread_ns), .max = 3600 * NS_PER_S,
     .initial = "0s", .help = "`every` is longer or shorter by a uniform draw up to this"},
    {.type = OPTION_END}};

static const struct conf_option disk_options[] = {
    {"rate", OPTION_RATE, FIELD(struct scenario_node, disk_rate_bps), .min = 1000, .initial = "8Gbps",
     .help = "of reading and writing, together"},
    {"free", OPTION_SIZE, FIELD(struct scenario_node, disk_free_bytes), .max_unlimited = true,
     .initial = "unlimited", .help = "space left at the start"},
    {.type = OPTION_END}};

static const struct conf_option node_options[] = {
    {"uplink", OPTION_RATE, FIELD(struct scenario_node, uplink.rate_bps), .min = 1000, .initial = "10Gbps",
     .help = "wire rate of the node's interface, out"},
    {"downlink", OPTION_RATE, FIELD(struct scenario_node, downlink.rate_bps), .min = 1000,
     .initial = "10Gbps", .help = "and in"},
    {"queue", OPTION_SCALAR, .form = SCENARIO_QUEUE_FORM, .parse = parse_node_queue, .initial = "10ms",
     .help = "what the interface's queue holds, in each direction"},
    {"mtu", OPTION_UINT, FIELD(struct scenario_node, mtu), .min = MTU_MIN, .max = MTU_MAX, .initial = "1500",
     .help = "largest IP packet of the interface"},
    {"clock", OPTION_MAP, .options = clock_options, .help = "the node's own clock"},
    {"stamps", OPTION_MAP, .options = stamps_options,
     .help = "how it tells when packets came and left (in the simulator); default: exactly"},
    {"stall", OPTION_MAP, .options = stall_options,
     .help = "the node stands still now and then (in the simulator): what comes waits in its ring, and is "
             "stamped when it is taken; default: never"},
    {"turn", OPTION_TIME, FIELD(struct scenario_node, turn_ns), .min = NS_PER_US, .max = 100 * NS_PER_MS,
     .help = "the node looks for packets so often, and stamps them then (in the simulator); default: 20us, "
             "stamps exact"},
    {"ring", OPTION_SCALAR, .form = "a size, or a number of packets, like 64MB or 4096 packets",
     .parse = parse_ring, .initial = "unlimited",
     .help = "what comes between two looks of the node; the rest is dropped (net_ring_drops)"},
    {"uplink_cross", OPTION_LIST, LIST_FIELD(struct scenario_node, uplink.loads, uplink.load_count),
     .options = scenario_load_options,
     .help = "cross traffic in the queue of the uplink: sent by others beside it"},
    {"downlink_cross", OPTION_LIST, LIST_FIELD(struct scenario_node, downlink.loads, downlink.load_count),
     .options = scenario_load_options, .same_as = "node_defaults.uplink_cross[]",
     .help = "and of the downlink: what others send to it"},
    {"watch", OPTION_TIME, FIELD(struct scenario_node, watch_ns), .max = 60 * NS_PER_S, .initial = "0s",
     .help = "how far back the simulator knows each packet of downlink_cross: for judging estimates; 0: not"},
    {"store", OPTION_WORD, FIELD(struct scenario_node, store_none), .words = store_words, .initial = "disk",
     .help = "none: hash what comes and discard it"},
    {"buffer", OPTION_SIZE, FIELD(struct scenario_node, buffer_bytes), .min = 4 << 20,
     .help = "symbol buffer; default: the node's own"},
    {"relay", OPTION_WORD, FIELD(struct scenario_node, leaf), .words = relay_words, .initial = "yes",
     .help = "no: jobs of other nodes end here, none goes through"},
    {"probe", OPTION_WORD, FIELD(struct scenario_node, probe_off), .words = conf_off_words, .initial = "on",
     .help = "off: it measures nothing, and takes no trains"},
    {"port", OPTION_RATE, FIELD(struct scenario_node, port_bps), .initial = "0", .min = 0, .max = INT64_MAX,
     .help = "what its node file says of its port, each way; 0: what uplink and downlink are; more: these "
             "are the lines "
             "behind it"},
    {"packets_ps", OPTION_UINT, FIELD(struct scenario_node, packets_ps), .initial = "0",
     .help = "packets a second that planners count on; 0: no limit (the simulator has none)"},
    {"disk", OPTION_MAP, .options = disk_options, .help = "the simulated disk"},
    {"sink", OPTION_RATE, FIELD(struct scenario_node, sink_rate_bps), .min = 1000, .zero_unlimited = true,
     .initial = "unlimited", .help = "rate of whoever reads the streams that end here"},
    {"absent", OPTION_BOOL, FIELD(struct scenario_node, absent), .initial = "false",
     .help = "configured everywhere but never started"},
    {.type = OPTION_END}};

struct scenario_file {
    struct scenario scenario;
    struct scenario_node node_defaults;
};

static void add_node(struct conf_reader *reader, const yaml_node_t *place, const char *name,
                     yaml_node_t *options)
{
    struct scenario_file *file = reader->context;
    struct scenario *scenario = &file->scenario;
    if (name == NULL || !name_valid(name)) {
        conf_error(reader, place, "\"%s\" is not a name", name != NULL ? name : "?");
    } else if (scenario_node_index(scenario, name) != SCENARIO_NO_NODE) {
        conf_error(reader, place, "\"%s\" is there twice", name);
    } else if (scenario->node_count == SCENARIO_NODES_MAX) {
        conf_error(reader, place, "more than %d nodes", SCENARIO_NODES_MAX);
    } else {
        struct scenario_node *node = &scenario->nodes[scenario->node_count++];
        *node = file->node_defaults;
        name_copy(node->name, sizeof(node->name), name);
        if (options == NULL)
            return;
        size_t previous = conf_enter(reader, "%s", name);
        conf_read_map(reader, node_options, options, node);
        conf_leave(reader, previous);
    }
}

static void read_nodes(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *nodes,
                       void *field)
{
    struct scenario_file *file = field;
    const char *name;
    yaml_node_t *key, *value;
    (void)option;
    for (size_t index = 0; index < conf_length(nodes); index++) {
        yaml_node_t *node = conf_at(reader, nodes, index);
        add_node(reader, node, conf_scalar(node), NULL);
    }
    for (size_t index = 0; conf_pair(reader, nodes, index, &name, &key, &value); index++)
        add_node(reader, key, name, value);
    if (file->scenario.node_count < 2)
        conf_error(reader, nodes, "expected a list of names or a map of name: options, at least two nodes");
}

/* ---- jobs ---- */

static const struct word object_words[] = {
    {"file", PART_OBJECT_FILE}, {"stream", PART_OBJECT_STREAM}, {NULL, 0}};

static const struct conf_option input_options[] = {
    {"rate", OPTION_RATE, FIELD(struct scenario_job, rate_bps), .min = 1000, .required = true,
     .help = "while it is on"},
    {"duration", OPTION_TIME, FIELD(struct scenario_job, duration_ns), .max = 86400 * NS_PER_S,
     .required = true, .help = "after that it ends"},
    {"on", OPTION_TIME, FIELD(struct scenario_job, on_ns), .max = 3600 * NS_PER_S, .initial = "0s",
     .help = "in turns it is on for so long; 0: always"},
    {"off", OPTION_TIME, FIELD(struct scenario_job, off_ns), .max = 3600 * NS_PER_S, .initial = "0s",
     .help = "and off for so long"},
    {.type = OPTION_END}};

static const struct conf_option job_item_options[] = {
    {.type = OPTION_INCLUDE,
     .options = job_options,
     .offset = offsetof(struct scenario_job, spec),
     .same_as = "a job file (sluicectl help job)"},
    {"object", OPTION_WORD, FIELD(struct scenario_job, spec.object), .words = object_words, .initial = "file",
     .help = "what is sent; a stream has an input, a file its size"},
    {"size", OPTION_SIZE, FIELD(struct scenario_job, size_bytes), .max = 1ULL << 50,
     .help = "size of the file that is sent"},
    {"input", OPTION_MAP, .options = input_options, .help = "stream: what comes into the source"},
    {"files", OPTION_UINT, FIELD(struct scenario_job, files), .max = 1000000, .initial = "0",
     .help = "a directory of so many files that share `size`; 0: one file"},
    {"sparse", OPTION_BOOL, FIELD(struct scenario_job, sparse), .initial = "false",
     .help = "the file is a hole: all zeros; else its content is pseudo-random"},
    {"at", OPTION_TIME, FIELD(struct scenario_job, start_ns), .initial = "0s",
     .help = "when the job is handed to its source"},
    {.type = OPTION_END}};

static void check_node_name(struct conf_reader *reader, const char *where, const char *name)
{
    if (name[0] != '\0' && scenario_node_index(reader->context, name) == SCENARIO_NO_NODE)
        conf_fault(reader, where, "\"%s\" is not a node of this scenario", name);
}

static void check_given_tree(struct conf_reader *reader, const char *where, const struct job_spec *spec)
{
    const struct scenario *scenario = reader->context;
    char place[CONF_WHERE_BYTES];
    snprintf(place, sizeof(place), "%splan.tree", where);
    for (uint16_t edge = 0; edge < spec->given_count; edge++)
        for (unsigned end = 0; end < 2; end++)
            check_node_name(reader, place, spec->given[edge][end]);
    for (uint16_t index = 0; spec->to_all && index < scenario->node_count; index++) {
        bool reached = strcmp(scenario->nodes[index].name, spec->source) == 0;
        for (uint16_t edge = 0; edge < spec->given_count; edge++)
            reached = reached || strcmp(scenario->nodes[index].name, spec->given[edge][1]) == 0;
        if (!reached)
            conf_fault(reader, place, "does not reach the receiver \"%s\"", scenario->nodes[index].name);
    }
}

/* Names in what the operator says of nodes and edges. */
static void check_rules(struct conf_reader *reader, const char *where, const struct job_spec *spec)
{
    char place[CONF_WHERE_BYTES];
    snprintf(place, sizeof(place), "%splan.relays", where);
    for (uint16_t index = 0; index < spec->relay_count; index++)
        check_node_name(reader, place, spec->relay_names[index]);
    snprintf(place, sizeof(place), "%splan.leaf", where);
    for (uint16_t index = 0; index < spec->leaf_count; index++)
        check_node_name(reader, place, spec->leaves[index]);
    for (uint16_t index = 0; index < spec->rule_count; index++) {
        bool pinned = spec->rules[index].rule == PLAN_RULE_PINNED;
        snprintf(place, sizeof(place), "%splan.%s", where, pinned ? "pin" : "forbid");
        for (unsigned end = 0; end < 2; end++)
            check_node_name(reader, place, spec->rules[index].edge[end]);
    }
}

static void check_object(struct conf_reader *reader, unsigned index, const struct scenario_job *job)
{
    char place[CONF_WHERE_BYTES];
    const yaml_node_t *jobs = conf_find(reader, yaml_document_get_root_node(&reader->document), "jobs");
    const yaml_node_t *item = conf_at(reader, jobs, index);
    bool stream = job->spec.object == PART_OBJECT_STREAM, input = conf_find(reader, item, "input") != NULL;
    snprintf(place, sizeof(place), "jobs[%u]", index);
    if (!stream && conf_find(reader, item, "size") == NULL)
        conf_fault(reader, place, "\"size\" is missing: size of the file that is sent");
    if (stream && !input)
        conf_fault(reader, place, "\"input\" is missing: what comes into the source of a stream");
    snprintf(place, sizeof(place), "jobs[%u].files", index);
    if (job->files != 0 && (stream || job->sparse))
        conf_fault(reader, place, "a directory is neither a stream nor a hole");
    snprintf(place, sizeof(place), "jobs[%u].input", index);
    if (!stream && input)
        conf_fault(reader, place, "is for object: stream");
    if ((job->on_ns == 0) != (job->off_ns == 0))
        conf_fault(reader, place, "on and off belong together");
}

static void check_scenario_job(struct conf_reader *reader, unsigned index)
{
    struct scenario *scenario = reader->context;
    struct job_spec *spec = &scenario->jobs[index].spec;
    char where[32], place[CONF_WHERE_BYTES];
    snprintf(where, sizeof(where), "jobs[%u].", index);
    conf_check_job(reader, where, spec);
    check_object(reader, index, &scenario->jobs[index]);
    snprintf(place, sizeof(place), "%sname", where);
    for (unsigned before = 0; before < index; before++)
        if (strcmp(scenario->jobs[before].spec.name, spec->name) == 0)
            conf_fault(reader, place, "\"%s\" is also the name of jobs[%u]", spec->name, before);
    snprintf(place, sizeof(place), "%ssource", where);
    if (spec->source[0] == '\0')
        conf_fault(reader, place, "is missing: the node that has the file");
    check_node_name(reader, place, spec->source);
    snprintf(place, sizeof(place), "%sto", where);
    for (uint16_t receiver = 0; receiver < spec->receiver_count; receiver++)
        check_node_name(reader, place, spec->receivers[receiver]);
    if (spec->metric == PLAN_METRIC_GIVEN)
        check_given_tree(reader, where, spec);
    check_rules(reader, where, spec);
    name_copy(spec->file, sizeof(spec->file), spec->name); /* the simulated disk knows it by the job's name */
}

/* ---- the file ---- */

static const struct conf_option measure_options[] = {
    {"from", OPTION_TIME, FIELD(struct scenario_measure, from_ns), .initial = "0s",
     .help = "when the window begins in which queues and sums are taken"},
    {"to", OPTION_TIME, FIELD(struct scenario_measure, to_ns),
     .help = "and when it ends; default: with the run"},
    {"step", OPTION_TIME, FIELD(struct scenario_measure, step_ns), .min = NS_PER_MS,
     .help = "prints a series of rates and queues in steps so long; default: none"},
    {.type = OPTION_END}};

static void read_avb(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                     void *field)
{
    struct scenario *scenario = field;
    const char *word = conf_scalar(node);
    (void)option;
    if (word != NULL && strcmp(word, "none") == 0)
        return;
    scenario->plan_avb = SCENARIO_AVB_TRUTH;
    if (word != NULL && strcmp(word, "truth") == 0)
        return;
    scenario->plan_avb = SCENARIO_AVB_FILE;
    scenario_read_avb(reader, node);
}

static void read_distance(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                          void *field)
{
    struct scenario *scenario = field;
    (void)option;
    scenario->plan_distance = true;
    scenario_read_distance(reader, node);
}

static const struct conf_option plan_options[] = {
    {"avb", OPTION_CUSTOM, .form = "none | truth | name of a CSV file", .read = read_avb,
     .help = "what a job's planner is told of available bandwidth when the job starts; default: none; truth: "
             "what the link models leave of pairs' own links, interfaces and shared links, less their cross "
             "traffic, and the loss; a file: Mbit/s of pairs, searched as matrices are"},
    {"distance", OPTION_CUSTOM, .form = "name of a CSV file", .read = read_distance,
     .help = "distances of pairs in any unit, for metric: distance; searched as matrices are"},
    {.type = OPTION_END}};

/* A node that need not be told: 0 is none. */
static void read_by(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                    void *field)
{
    uint16_t *by = field;
    scenario_read_node(reader, option, node, field);
    (*by)++;
}

static const struct conf_option ask_options[] = {
    {"from", OPTION_CUSTOM, FIELD(struct scenario_ask, from), .form = "name of a node",
     .read = scenario_read_node, .required = true, .help = "the node that measures"},
    {"to", OPTION_CUSTOM, FIELD(struct scenario_ask, to), .form = "name of a node",
     .read = scenario_read_node, .required = true, .help = "the path to this one"},
    {"by", OPTION_CUSTOM, FIELD(struct scenario_ask, by), .form = "name of a node", .read = read_by,
     .help = "the node where the operator is; default: from"},
    {"at", OPTION_TIME, FIELD(struct scenario_ask, at_ns), .initial = "3s", .help = "when it is asked to"},
    {.type = OPTION_END}};

static const struct conf_option all_options[] = {
    {"by", OPTION_CUSTOM, FIELD(struct scenario_all, by), .form = "name of a node",
     .read = scenario_read_node, .required = true,
     .help = "the node where the operator is, which says who measures when"},
    {"order", OPTION_BOOL, FIELD(struct scenario_all, order), .initial = "false",
     .help = "only what a plan may need to know"},
    {"at", OPTION_TIME, FIELD(struct scenario_all, at_ns), .initial = "3s", .help = "when it is asked to"},
    {"stop", OPTION_TIME, FIELD(struct scenario_all, stop_ns), .initial = "0s",
     .help = "the operator ends it then; 0s: it comes to its end"},
    {.type = OPTION_END}};

static const struct conf_option probe_options[] = {
    {.type = OPTION_INCLUDE, .options = conf_probe_options, .offset = offsetof(struct scenario_probe, node)},
    {"ask", OPTION_LIST, LIST_FIELD(struct scenario_probe, asks, ask_count), .options = ask_options,
     .help = "paths that operators want measured"},
    {"all", OPTION_LIST, LIST_FIELD(struct scenario_probe, all, all_count), .options = all_options,
     .help = "an operator who wants all pairs measured"},
    {"until", OPTION_TIME, FIELD(struct scenario_probe, until_ns), .initial = "0s",
     .help = "the run does not end before"},
    {.type = OPTION_END}};

static const struct word cross_on_words[] = {
    {"path", CROSS_ON_PATH}, {"interfaces", CROSS_ON_INTERFACES}, {NULL, 0}};

const struct conf_option scenario_file_options[] = {
    {"name", OPTION_NAME, FIELD(struct scenario_file, scenario.name), .required = true,
     .help = "name of the scenario"},
    {"seed", OPTION_UINT, FIELD(struct scenario_file, scenario.seed), .initial = "1",
     .help = "of all randomness; --seed on the command line wins"},
    {"node_defaults", OPTION_MAP, .options = node_options,
     .offset = offsetof(struct scenario_file, node_defaults), .help = "what holds for every node"},
    {"nodes", OPTION_CUSTOM, .form = "a list of names or a map of name: options", .read = read_nodes,
     .required = true, .options = node_options, .below = ".NAME", .same_as = "node_defaults",
     .help = "the sites"},
    {"links", OPTION_MAP, .options = scenario_links_options,
     .help = "the WAN: one link for each ordered pair of nodes"},
    {"matrices", OPTION_MAP, .options = scenario_matrix_options,
     .help = "values of all links from CSV files, over links.default; searched beside the scenario, then in "
             "conf/data"},
    {"cross_on", OPTION_WORD, FIELD(struct scenario_file, scenario.cross_on), .words = cross_on_words,
     .initial = "path",
     .help = "what matrices.cross_mbps loads: the pair's own link, or also the hosts' interfaces and the "
             "shared links between"},
    {"shared", OPTION_LIST, LIST_FIELD(struct scenario_file, scenario.shared, scenario.shared_count),
     .options = scenario_shared_options,
     .help = "links that several pairs cross, between uplink and link: a site's egress, a provider's line"},
    {"cross_traffic", OPTION_LIST, LIST_FIELD(struct scenario_file, scenario.crosses, scenario.cross_count),
     .options = scenario_cross_options,
     .help = "other traffic, through the same uplinks, shared links, links and downlinks"},
    {"plan", OPTION_MAP, .options = plan_options, .offset = offsetof(struct scenario_file, scenario),
     .help = "what planners know besides what nodes measure"},
    {"jobs", OPTION_LIST, LIST_FIELD(struct scenario_file, scenario.jobs, scenario.job_count),
     .options = job_item_options, .help = "what is moved"},
    {"faults", OPTION_CUSTOM, .form = "a list", .read = scenario_read_faults,
     .options = scenario_fault_options, .below = "[]", .help = "what goes wrong, and when"},
    {"measure", OPTION_MAP, .options = measure_options,
     .offset = offsetof(struct scenario_file, scenario.measure), .help = "what --json says of the edges"},
    {"probe", OPTION_MAP, .options = probe_options, .offset = offsetof(struct scenario_file, scenario.probe),
     .help = "what nodes measure of the bandwidth that paths have left"},
    {"limit", OPTION_TIME, FIELD(struct scenario_file, scenario.limit_ns), .min = NS_PER_MS,
     .initial = "600s", .help = "virtual time after which the run has failed"},
    {"expect", OPTION_CUSTOM, .form = "a map of name: comparison", .read = scenario_read_expects,
     .options = scenario_expect_options,
     .help = "what the run must show; comparisons are \">= X\", \"<= X\" and X (equal)"},
    {.type = OPTION_END}};

_Static_assert(offsetof(struct scenario_file, scenario) == 0, "reader->context serves as both");

static void check_asks(struct conf_reader *reader)
{
    const struct scenario *scenario = reader->context;
    for (unsigned index = 0; index < scenario->probe.ask_count; index++) {
        const struct scenario_ask *ask = &scenario->probe.asks[index];
        char where[32];
        snprintf(where, sizeof(where), "probe.ask[%u]", index);
        if (ask->from == ask->to && ask->from < scenario->node_count)
            conf_fault(reader, where, "from and to are both \"%s\"", scenario->nodes[ask->from].name);
    }
}

static bool stalls_overlap(const struct sim_stall_config *stall)
{
    return stall->every_ns != 0 && stall->for_ns + stall->spread_ns >= stall->every_ns;
}

static void check_stall(struct conf_reader *reader, const char *where, const struct sim_stall_config *stall)
{
    if (stalls_overlap(stall))
        conf_fault(reader, where, "must end (for + spread) before the next one (every) begins");
}

/* What all nodes have is told once, where it stands. */
static void check_stalls(struct conf_reader *reader, const struct scenario_file *file)
{
    bool all = stalls_overlap(&file->node_defaults.stall);
    check_stall(reader, "node_defaults.stall", &file->node_defaults.stall);
    for (uint16_t index = 0; !all && index < file->scenario.node_count; index++) {
        char where[sizeof("nodes..stall") + NAME_BYTES];
        snprintf(where, sizeof(where), "nodes.%s.stall", file->scenario.nodes[index].name);
        check_stall(reader, where, &file->scenario.nodes[index].stall);
    }
}

static void check_measure(struct conf_reader *reader, const struct scenario_measure *measure)
{
    if (measure->to_ns != 0 && measure->to_ns <= measure->from_ns)
        conf_fault(reader, "measure.to", "must be later than \"from\"");
}

static void read_file(struct conf_reader *reader, struct scenario_file *file)
{
    struct scenario *scenario = &file->scenario;
    struct netem_config link = {0};
    conf_apply_defaults(scenario_link_options, &link);
    for (unsigned from = 0; from < SCENARIO_NODES_MAX; from++)
        for (unsigned to = 0; to < SCENARIO_NODES_MAX; to++)
            scenario->links[from][to] = link;
    if (!conf_read_document(reader, scenario_file_options, file))
        return;
    scenario_read_link_list(reader);
    scenario_check_ramps(reader);
    scenario_check_shared(reader);
    scenario_check_crosses(reader);
    scenario_check_loads(reader);
    check_asks(reader);
    check_stalls(reader, file);
    check_measure(reader, &scenario->measure);
    scenario_spread_cross(reader);
    for (unsigned index = 0; index < scenario->job_count; index++)
        check_scenario_job(reader, index);
}

bool conf_read_scenario_set(const char *path, const char *text, const char *const *sets, unsigned set_count,
                            struct scenario *scenario, struct conf_errors *errors)
{
    struct conf_reader reader;
    if (!conf_load(&reader, path, text, errors))
        return false;
    struct scenario_file *file = calloc(1, sizeof(*file));
    CHECK(file != NULL);
    reader.context = file;
    bool changed = true;
    for (unsigned set = 0; set < set_count; set++)
        changed &= conf_change(&reader, sets[set]);
    if (changed)
        read_file(&reader, file);
    conf_unload(&reader);
    *scenario = file->scenario;
    free(file);
    return errors->count == 0;
}

bool conf_read_scenario(const char *path, const char *text, struct scenario *scenario,
                        struct conf_errors *errors)
{
    return conf_read_scenario_set(path, text, NULL, 0, scenario, errors);
}
