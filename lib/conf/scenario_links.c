/* Links of a scenario: the default of all pairs, then matrices, then single links. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "conf/scenario_file.h"
#include "conf/value.h"

#define DELAY_MAX_NS      (100 * NS_PER_S)
#define LINK_MTU_MIN      576
#define LINK_MTU_MAX      65535
#define PACKETS_MAX       16777216
#define CROSS_MAX_BPS     100000000000ULL        /* an interface takes that of 63 pairs */
#define POLICER_DEPTH_MIN FULL_PACKET_WIRE_BYTES /* less passes nothing */

/* "1 BDP@100ms", "1.5BDP@40ms": so many times the time that a queue of one BDP takes to drain. */
static bool parse_bdp(const char *text, uint64_t *ns)
{
    char number[24];
    uint64_t thousandths, base_ns;
    size_t length = strspn(text, "0123456789.");
    const char *rest = text + length + strspn(text + length, " ");
    if (length == 0 || length >= sizeof(number) || strncmp(rest, "BDP@", 4) != 0)
        return false;
    memcpy(number, text, length);
    number[length] = '\0';
    if (!value_parse_decimal(number, 3, &thousandths) || thousandths > 1000000 ||
        !value_parse(VALUE_TIME, rest + 4, &base_ns) || base_ns > DELAY_MAX_NS)
        return false;
    *ns = muldiv64(base_ns, thousandths, 1000);
    return true;
}

static bool parse_packets(const char *text, uint64_t *packets)
{
    char *end;
    *packets = strtoull(text, &end, 10);
    end += strspn(end, " ");
    return text[0] >= '0' && text[0] <= '9' && *packets <= PACKETS_MAX &&
           (strcmp(end, "packets") == 0 || strcmp(end, "packet") == 0);
}

bool scenario_queue_parse(const struct conf_option *option, const char *text, void *field)
{
    struct netem_config *config = field;
    uint64_t limit = 0;
    (void)option;
    if (strcmp(text, "unlimited") == 0)
        config->queue_unit = NETEM_QUEUE_NONE;
    else if (parse_bdp(text, &limit) || value_parse(VALUE_TIME, text, &limit))
        config->queue_unit = NETEM_QUEUE_NS;
    else if (parse_packets(text, &limit))
        config->queue_unit = NETEM_QUEUE_PACKETS;
    else if (value_parse(VALUE_SIZE, text, &limit) && strchr(text, 'B') != NULL)
        config->queue_unit = NETEM_QUEUE_BYTES;
    else
        return false;
    config->queue_limit = limit;
    return true;
}

/* ---- policer, bursts and shaper: a map, or the word none ---- */

static const struct conf_option policer_options[] = {
    {"rate", OPTION_RATE, FIELD(struct netem_config, policer_bps), .min = 1000, .required = true,
     .help = "wire rate at which tokens come"},
    {"depth", OPTION_SIZE, FIELD(struct netem_config, policer_depth_bytes), .min = POLICER_DEPTH_MIN,
     .max = NETEM_DEPTH_BYTES_MAX, .required = true, .help = "what the full bucket holds"},
    {.type = OPTION_END}};

static const struct conf_option shaper_options[] = {
    {"rate", OPTION_RATE, FIELD(struct netem_config, shaper_bps), .min = 1000, .required = true,
     .help = "wire rate at which tokens come"},
    {"depth", OPTION_SIZE, FIELD(struct netem_config, shaper_depth_bytes), .max = NETEM_DEPTH_BYTES_MAX,
     .required = true, .help = "what the full bucket holds: so much passes at the link's own rate"},
    {.type = OPTION_END}};

static const struct conf_option gilbert_elliott_options[] = {
    {"p", OPTION_SHARE, FIELD(struct netem_config, burst.enter_ppb), .min = 1, .required = true,
     .help = "chance of a packet that the state becomes bad behind it"},
    {"r", OPTION_SHARE, FIELD(struct netem_config, burst.leave_ppb), .min = 1, .required = true,
     .help = "chance that it becomes good again: 1/r packets is the mean burst"},
    {"h", OPTION_SHARE, FIELD(struct netem_config, burst.loss_ppb), .initial = "100%",
     .help = "loss in the bad state"},
    {"k", OPTION_SHARE, FIELD(struct netem_config, burst.gap_loss_ppb), .initial = "0%",
     .help = "loss in the good state"},
    {.type = OPTION_END}};

static const struct conf_option loss_model_options[] = {{"gilbert_elliott", OPTION_MAP,
                                                         .options = gilbert_elliott_options, .required = true,
                                                         .help = "two states, a step for each packet"},
                                                        {.type = OPTION_END}};

/* False: the word none. */
static bool read_map_or_none(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                             struct netem_config *config)
{
    const char *text = conf_scalar(node);
    if (text != NULL && strcmp(text, "none") == 0)
        return false;
    if (node->type != YAML_MAPPING_NODE) {
        conf_error(reader, node, "expected %s", option->form);
        return true;
    }
    conf_apply_defaults(option->options, config);
    conf_read_map(reader, option->options, node, config);
    return true;
}

static void read_policer(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                         void *field)
{
    struct netem_config *config = field;
    if (!read_map_or_none(reader, option, node, config))
        config->policer_bps = config->policer_depth_bytes = 0;
}

static void read_shaper(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                        void *field)
{
    struct netem_config *config = field;
    if (!read_map_or_none(reader, option, node, config))
        config->shaper_bps = config->shaper_depth_bytes = 0;
}

static void read_loss_model(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                            void *field)
{
    struct netem_config *config = field;
    if (!read_map_or_none(reader, option, node, config))
        config->burst = (struct netem_burst){0};
}

/* ---- the values of a link ---- */

/* A fault's mask has a bit for each row, in this order. */
_Static_assert(NETEM_CHANGE_RATE == 1 << 0 && NETEM_CHANGE_QUEUE == 1 << 4 &&
                   NETEM_CHANGE_QUEUE_MIN == 1 << 5 && NETEM_CHANGE_ECN == 1 << 6 &&
                   NETEM_CHANGE_POLICER == 1 << 7 && NETEM_CHANGE_BURST == 1 << 8 &&
                   NETEM_CHANGE_SHAPER == 1 << 9 && NETEM_CHANGE_MTU == 1 << 10,
               "the rows below have this order");

const struct conf_option scenario_set_options[] = {
    {"rate", OPTION_RATE, FIELD(struct netem_config, rate_bps), .min = 1000, .zero_unlimited = true,
     .initial = "unlimited", .help = "wire rate, Ethernet overhead included"},
    {"owd", OPTION_TIME, FIELD(struct netem_config, delay_ns), .max = DELAY_MAX_NS, .initial = "0ms",
     .help = "one-way delay"},
    {"jitter", OPTION_TIME, FIELD(struct netem_config, jitter_ns), .max = DELAY_MAX_NS, .initial = "0ms",
     .help = "each packet is delayed by a further uniform 0 … jitter"},
    {"loss", OPTION_SHARE, FIELD(struct netem_config, loss_ppb), .initial = "0%",
     .help = "share of packets lost, independently of each other"},
    {"queue", OPTION_SCALAR, .bytes = sizeof(struct netem_config), .form = SCENARIO_QUEUE_FORM,
     .parse = scenario_queue_parse, .initial = "50ms",
     .help = "what the queue before the link holds; a queue in time or BDP follows the rate"},
    {"queue_min", OPTION_UINT, FIELD(struct netem_config, queue_min_packets), .max = PACKETS_MAX,
     .initial = "0", .help = "packets that a queue given in time, BDP or size holds at least"},
    {"ecn", OPTION_TIME, FIELD(struct netem_config, ecn_ns), .min = 1, .max = DELAY_MAX_NS,
     .zero_unlimited = true, .initial = "unlimited",
     .help = "ECN-capable packets that wait longer for the link are marked (CE)"},
    {"policer", OPTION_CUSTOM, .form = "a map or none", .read = read_policer, .options = policer_options,
     .help = "token bucket in front of the queue: drops what finds too few tokens; none: there is none"},
    {"loss_model", OPTION_CUSTOM, .form = "a map or none", .read = read_loss_model,
     .options = loss_model_options, .help = "loss in bursts, besides loss; none: there is none"},
    {"shaper", OPTION_CUSTOM, .form = "a map or none", .read = read_shaper, .options = shaper_options,
     .help = "token bucket behind the queue: delays what finds no tokens; none: there is none"},
    {"mtu", OPTION_UINT, FIELD(struct netem_config, mtu), .min = LINK_MTU_MIN, .max = LINK_MTU_MAX,
     .help = "largest IP packet that passes; default: no limit"},
    {.type = OPTION_END}};

static const struct conf_option delay_some_options[] = {
    {"p", OPTION_SHARE, FIELD(struct netem_config, delay_some_ppb), .required = true,
     .help = "share of the packets that take longer"},
    {"by", OPTION_TIME, FIELD(struct netem_config, delay_some_ns), .max = DELAY_MAX_NS, .required = true,
     .help = "how much longer; they may be overtaken"},
    {.type = OPTION_END}};

static const struct word ecn_field_words[] = {
    {"kept", NETEM_ECN_KEPT}, {"cleared", NETEM_ECN_CLEARED}, {"marked", NETEM_ECN_MARKED}, {NULL, 0}};

const struct conf_option scenario_link_options[] = {
    {.type = OPTION_INCLUDE, .options = scenario_set_options},
    {"reorder", OPTION_BOOL, FIELD(struct netem_config, reorder), .initial = "false",
     .help = "packets with jitter may overtake each other"},
    {"duplicate", OPTION_SHARE, FIELD(struct netem_config, duplicate_ppb), .initial = "0%",
     .help = "share of packets that arrive twice"},
    {"corrupt", OPTION_SHARE, FIELD(struct netem_config, corrupt_ppb), .initial = "0%",
     .help = "share of packets that arrive with one wrong bit"},
    {"delay_some", OPTION_MAP, .options = delay_some_options, .help = "delays some packets more"},
    {"cross", OPTION_LIST, LIST_FIELD(struct netem_config, loads, load_count),
     .options = scenario_load_options, .same_as = "node_defaults.uplink_cross[]",
     .help = "cross traffic in the link's queue, besides that of matrices.cross_mbps"},
    {"ecn_ramp", OPTION_TIME, FIELD(struct netem_config, ecn_ramp_ns), .max = DELAY_MAX_NS, .initial = "0ms",
     .help = "packets that wait longer than ecn are marked by a chance that grows to 1 over so much; 0: all"},
    {"ecn_field", OPTION_WORD, FIELD(struct netem_config, ecn_field), .words = ecn_field_words,
     .initial = "kept",
     .help =
         "broken middleboxes: cleared, nothing is ECN-capable behind the link; marked, all of that is CE"},
    {.type = OPTION_END}};

/* ---- single links ---- */

struct link_item {
    struct netem_config config;
    uint16_t from, to;
    bool symmetric;
};

static const struct conf_option link_item_options[] = {
    {"from", OPTION_CUSTOM, FIELD(struct link_item, from), .form = "name of a node",
     .read = scenario_read_node, .required = true, .help = "the node that sends into the link"},
    {"to", OPTION_CUSTOM, FIELD(struct link_item, to), .form = "name of a node", .read = scenario_read_node,
     .required = true, .help = "the node at its far end"},
    {"symmetric", OPTION_BOOL, FIELD(struct link_item, symmetric), .initial = "false",
     .help = "the same values hold for the other direction"},
    {.type = OPTION_INCLUDE,
     .options = scenario_link_options,
     .offset = offsetof(struct link_item, config),
     .same_as = "links.default"},
    {.type = OPTION_END}};

/* The item's values go over those that the default and the matrices gave to each direction. */
static void read_link(struct conf_reader *reader, yaml_node_t *node)
{
    struct scenario *scenario = reader->context;
    struct link_item item = {.from = SCENARIO_NO_NODE, .to = SCENARIO_NO_NODE};
    conf_read_map(reader, link_item_options, node, &item);
    if (item.from == SCENARIO_NO_NODE || item.to == SCENARIO_NO_NODE)
        return;
    if (item.from == item.to) {
        conf_error(reader, node, "from and to are both \"%s\"", scenario->nodes[item.from].name);
        return;
    }
    struct link_item there = {.config = scenario->links[item.from][item.to]};
    struct link_item back = {.config = scenario->links[item.to][item.from]};
    conf_read_map(reader, link_item_options, node, &there);
    conf_read_map(reader, link_item_options, node, &back);
    scenario->links[item.from][item.to] = there.config;
    if (item.symmetric)
        scenario->links[item.to][item.from] = back.config;
}

void scenario_read_link_list(struct conf_reader *reader)
{
    const yaml_node_t *root = yaml_document_get_root_node(&reader->document);
    const yaml_node_t *list = conf_find(reader, conf_find(reader, root, "links"), "list");
    for (size_t index = 0; index < conf_length(list); index++) {
        size_t previous = conf_enter(reader, "links.list[%zu]", index);
        read_link(reader, conf_at(reader, list, index));
        conf_leave(reader, previous);
    }
}

/* Packets are marked there from the start, or from a fault on. */
static bool marks(const struct scenario *scenario, uint16_t from, uint16_t to)
{
    for (uint32_t index = 0; index < scenario->fault_count; index++) {
        const struct scenario_fault *fault = &scenario->faults[index];
        bool there = fault->link_from == from && fault->link_to == to;
        bool back = fault->symmetric && fault->link_from == to && fault->link_to == from;
        if (fault->kind == FAULT_LINK_SET && fault->shared == 0 && (there || back) &&
            (fault->set_mask & NETEM_CHANGE_ECN) != 0 && fault->set.ecn_ns > 0)
            return true;
    }
    return scenario->links[from][to].ecn_ns > 0;
}

/* An item that gives a ramp uses it. */
static void check_item_ramp(struct conf_reader *reader, const yaml_node_t *item)
{
    const struct scenario *scenario = reader->context;
    const yaml_node_t *from_node = conf_find(reader, item, "from"), *to_node = conf_find(reader, item, "to");
    const yaml_node_t *ramp = conf_find(reader, item, "ecn_ramp");
    const char *from_name = from_node == NULL ? NULL : conf_scalar(from_node);
    const char *to_name = to_node == NULL ? NULL : conf_scalar(to_node);
    if (from_name == NULL || to_name == NULL || ramp == NULL)
        return;
    uint16_t from = scenario_node_index(scenario, from_name), to = scenario_node_index(scenario, to_name);
    if (from == SCENARIO_NO_NODE || to == SCENARIO_NO_NODE || from == to)
        return;
    if (scenario->links[from][to].ecn_ramp_ns > 0 && !marks(scenario, from, to))
        conf_error(reader, ramp, SCENARIO_RAMP_ALONE);
}

void scenario_check_ramps(struct conf_reader *reader)
{
    const struct scenario *scenario = reader->context;
    const yaml_node_t *links = conf_find(reader, yaml_document_get_root_node(&reader->document), "links");
    const yaml_node_t *list = conf_find(reader, links, "list");
    for (size_t index = 0; index < conf_length(list); index++) {
        size_t previous = conf_enter(reader, "links.list[%zu].ecn_ramp", index);
        check_item_ramp(reader, conf_at(reader, list, index));
        conf_leave(reader, previous);
    }
    /* That of the default is for whichever link marks. */
    bool used = false;
    for (uint16_t from = 0; from < scenario->node_count; from++)
        for (uint16_t to = 0; to < scenario->node_count; to++)
            used |= from != to && marks(scenario, from, to);
    /* No pair has a link to itself: that one has what the default gives. */
    if (scenario->links[0][0].ecn_ramp_ns > 0 && !used)
        conf_fault(reader, "links.default.ecn_ramp", SCENARIO_RAMP_ALONE);
}

/* Only looks at the form: scenario_read_link_list reads the items, after the matrices. */
static void check_list(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *list,
                       void *field)
{
    (void)option;
    (void)field;
    if (list->type != YAML_SEQUENCE_NODE)
        conf_error(reader, list, "expected a list of links");
}

static void read_default(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *map,
                         void *field)
{
    struct scenario *scenario = field;
    struct netem_config link = scenario->links[0][0];
    (void)option;
    conf_read_map(reader, scenario_link_options, map, &link);
    for (unsigned from = 0; from < SCENARIO_NODES_MAX; from++)
        for (unsigned to = 0; to < SCENARIO_NODES_MAX; to++)
            scenario->links[from][to] = link;
}

/* ---- matrices ---- */

static bool rtt_cell(struct netem_config *link, const char *text)
{
    uint64_t rtt_ns;
    if (!value_parse_decimal(text, 6, &rtt_ns) || rtt_ns / 2 > DELAY_MAX_NS)
        return false;
    link->delay_ns = rtt_ns / 2;
    return true;
}

static bool loss_cell(struct netem_config *link, const char *text)
{
    return value_parse_decimal(text, 7, &link->loss_ppb) && link->loss_ppb <= 1000000000;
}

static bool rate_cell(struct netem_config *link, const char *text)
{
    return value_parse_decimal(text, 6, &link->rate_bps) && link->rate_bps > 0;
}

static bool cross_cell(struct netem_config *link, const char *text)
{
    return value_parse_decimal(text, 6, &link->background_bps) && link->background_bps <= CROSS_MAX_BPS;
}

static const struct matrix rtt_matrix = {"an RTT in ms", rtt_cell};
static const struct matrix loss_matrix = {"a loss in percent", loss_cell};
static const struct matrix rate_matrix = {"a rate in Mbit/s above 0", rate_cell};
static const struct matrix cross_matrix = {"a rate in Mbit/s, at most 100000", cross_cell};

static void read_rtt(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                     void *field)
{
    (void)option;
    (void)field;
    scenario_read_matrix(reader, node, &rtt_matrix);
}

static void read_loss(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                      void *field)
{
    (void)option;
    (void)field;
    scenario_read_matrix(reader, node, &loss_matrix);
}

static void read_rate(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                      void *field)
{
    (void)option;
    (void)field;
    scenario_read_matrix(reader, node, &rate_matrix);
}

static void read_cross(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                       void *field)
{
    (void)option;
    (void)field;
    scenario_read_matrix(reader, node, &cross_matrix);
}

const struct conf_option scenario_matrix_options[] = {
    {"rtt_ms", OPTION_CUSTOM, .form = "name of a CSV file", .read = read_rtt,
     .help = "RTTs in ms; half of it is the owd of each direction"},
    {"loss_percent", OPTION_CUSTOM, .form = "name of a CSV file", .read = read_loss, .help = "loss in %"},
    {"rate_mbps", OPTION_CUSTOM, .form = "name of a CSV file", .read = read_rate, .help = "rates in Mbit/s"},
    {"cross_mbps", OPTION_CUSTOM, .form = "name of a CSV file", .read = read_cross,
     .help = "wire rates in Mbit/s of evenly spaced cross traffic on each pair, all through the run; "
             "cross_on says what it takes"},
    {.type = OPTION_END}};

const struct conf_option scenario_links_options[] = {
    {"default", OPTION_CUSTOM, .form = "a map", .read = read_default, .options = scenario_link_options,
     .help = "what holds for every link"},
    {"list", OPTION_CUSTOM, .form = "a list", .read = check_list, .options = link_item_options, .below = "[]",
     .help = "single links, over the default and the matrices"},
    {.type = OPTION_END}};
