/* shared of a scenario: links that several pairs cross. */
#include <string.h>

#include "base/units.h"
#include "conf/scenario_file.h"

#define MEMBERS_FORM "a list of [from, to], pairs of nodes"
#define TIME_MAX_NS  (100 * NS_PER_S)

static void read_member(struct conf_reader *reader, const yaml_node_t *node, struct scenario_shared *shared)
{
    const struct scenario *scenario = reader->context;
    if (node->type != YAML_SEQUENCE_NODE || conf_length(node) != 2) {
        conf_error(reader, node, "expected [from, to], two names of nodes");
        return;
    }
    uint16_t from = scenario_node_find(reader, conf_at(reader, node, 0));
    uint16_t to = scenario_node_find(reader, conf_at(reader, node, 1));
    if (from == SCENARIO_NO_NODE || to == SCENARIO_NO_NODE)
        return;
    if (from == to)
        conf_error(reader, node, "from and to are both \"%s\"", scenario->nodes[from].name);
    else if (shared->members[from] >> to & 1)
        conf_error(reader, node, "[%s, %s] is there twice", scenario->nodes[from].name,
                   scenario->nodes[to].name);
    shared->members[from] |= 1ULL << to;
}

static void read_members(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *list,
                         void *field)
{
    if (list->type != YAML_SEQUENCE_NODE || conf_length(list) == 0)
        conf_error(reader, list, "expected %s, at least one", option->form);
    for (size_t index = 0; list->type == YAML_SEQUENCE_NODE && index < conf_length(list); index++) {
        size_t previous = conf_enter(reader, "[%zu]", index);
        read_member(reader, conf_at(reader, list, index), field);
        conf_leave(reader, previous);
    }
}

const struct conf_option scenario_shared_options[] = {
    {"name", OPTION_NAME, FIELD(struct scenario_shared, name), .required = true, .help = "name of the link"},
    {"rate", OPTION_RATE, FIELD(struct scenario_shared, link.rate_bps), .min = 1000, .required = true,
     .help = "wire rate that all members have together"},
    {"queue", OPTION_SCALAR, FIELD(struct scenario_shared, link), .form = SCENARIO_QUEUE_FORM,
     .parse = scenario_queue_parse, .initial = "50ms", .help = "what the queue before it holds"},
    {"ecn", OPTION_TIME, FIELD(struct scenario_shared, link.ecn_ns), .min = 1, .max = TIME_MAX_NS,
     .zero_unlimited = true, .initial = "unlimited",
     .help = "ECN-capable packets that wait longer for it are marked (CE)"},
    {"ecn_ramp", OPTION_TIME, FIELD(struct scenario_shared, link.ecn_ramp_ns), .max = TIME_MAX_NS,
     .initial = "0ms", .help = "as that of links.default"},
    {"cross", OPTION_LIST, LIST_FIELD(struct scenario_shared, link.loads, link.load_count),
     .options = scenario_load_options, .same_as = "node_defaults.uplink_cross[]",
     .help = "cross traffic in its queue"},
    {"members", OPTION_CUSTOM, .form = MEMBERS_FORM, .read = read_members, .required = true,
     .help = "the pairs that cross it, behind the uplink of their sender; who crosses several meets them in "
             "the order of this list"},
    {.type = OPTION_END}};

static const struct conf_option set_options[] = {
    {"rate", OPTION_RATE, FIELD(struct netem_config, rate_bps), .min = 1000, .help = "wire rate"},
    {"queue", OPTION_SCALAR, .bytes = sizeof(struct netem_config), .form = SCENARIO_QUEUE_FORM,
     .parse = scenario_queue_parse, .help = "what the queue before it holds"},
    {.type = OPTION_END}};

void scenario_read_set_shared(struct conf_reader *reader, yaml_node_t *map, struct scenario_fault *fault)
{
    conf_read_map(reader, set_options, map, &fault->set);
    if (conf_find(reader, map, "rate") != NULL)
        fault->set_mask |= NETEM_CHANGE_RATE;
    if (conf_find(reader, map, "queue") != NULL)
        fault->set_mask |= NETEM_CHANGE_QUEUE;
}

uint16_t scenario_shared_index(const struct scenario *scenario, const char *name)
{
    uint16_t index = 0;
    while (index < scenario->shared_count && strcmp(scenario->shared[index].name, name) != 0)
        index++;
    return index;
}

/* The first pair that crosses more shared links than it may. */
static void check_ways(struct conf_reader *reader)
{
    const struct scenario *scenario = reader->context;
    for (uint16_t from = 0; from < scenario->node_count; from++)
        for (uint16_t to = 0; to < scenario->node_count; to++) {
            unsigned crossed = 0;
            for (uint16_t index = 0; index < scenario->shared_count; index++)
                crossed += scenario->shared[index].members[from] >> to & 1;
            if (crossed <= SCENARIO_WAY_MAX)
                continue;
            conf_fault(reader, "shared", "[%s, %s] crosses %u of these links, at most %d",
                       scenario->nodes[from].name, scenario->nodes[to].name, crossed, SCENARIO_WAY_MAX);
            return;
        }
}

/* No fault sets the threshold of a shared link. */
static void check_ramp(struct conf_reader *reader, uint16_t index)
{
    const struct scenario *scenario = reader->context;
    const struct netem_config *link = &scenario->shared[index].link;
    char where[32];
    snprintf(where, sizeof(where), "shared[%u].ecn_ramp", index);
    if (link->ecn_ramp_ns > 0 && link->ecn_ns == 0)
        conf_fault(reader, where, SCENARIO_RAMP_ALONE);
}

void scenario_check_shared(struct conf_reader *reader)
{
    const struct scenario *scenario = reader->context;
    for (uint16_t index = 0; index < scenario->shared_count; index++) {
        char where[32];
        check_ramp(reader, index);
        const char *name = scenario->shared[index].name;
        uint16_t first = scenario_shared_index(scenario, name);
        snprintf(where, sizeof(where), "shared[%u].name", index);
        if (first < index && name[0] != '\0')
            conf_fault(reader, where, "\"%s\" is also the name of shared[%u]", name, first);
    }
    check_ways(reader);
}
