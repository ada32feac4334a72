/* How trees are found: `plan` of a job. */
#include "conf/job_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "conf/value.h"

const struct word conf_metric_words[] = {PLAN_METRICS(WORD_ENTRY){NULL, 0}};
const struct word conf_avb_words[] = {PLAN_AVB_SOURCES(WORD_ENTRY){NULL, 0}};
const struct word conf_dcmst_words[] = {{"rtt", PLAN_METRIC_RTT},
                                        {"avb", PLAN_METRIC_AVB},
                                        {"distance", PLAN_METRIC_DISTANCE},
                                        {"lexicographic", PLAN_METRIC_LEXICOGRAPHIC},
                                        {NULL, 0}};
const struct word conf_trees_words[] = {{"auto", 0}, {"1", 1}, {"2", 2}, {"3", 3}, {"4", 4},
                                        {"5", 5},    {"6", 6}, {"7", 7}, {"8", 8}, {NULL, 0}};
_Static_assert(PLAN_TREES_MAX == 8, "the words above");

bool conf_parse_ties(const struct conf_option *option, const char *text, void *field)
{
    struct job_ties *ties = field;
    (void)option;
    ties->random = strncmp(text, "seed ", 5) == 0;
    ties->seed = 0;
    return ties->random ? value_parse_decimal(text + 5, 0, &ties->seed) : strcmp(text, "name") == 0;
}

static void read_tree(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                      void *field)
{
    struct job_spec *spec = field;
    (void)option;
    if (conf_length(node) == 0) {
        conf_error(reader, node, "expected a list of edges [from, to]");
        return;
    }
    for (size_t index = 0; index < conf_length(node); index++) {
        yaml_node_t *edge = conf_at(reader, node, index);
        if (spec->given_count == PLAN_NODES_MAX - 1) {
            conf_error(reader, edge, "more than %d edges", PLAN_NODES_MAX - 1);
            break;
        }
        if (conf_read_name_pair(reader, edge, spec->given[spec->given_count]))
            spec->given_count++;
    }
    spec->metric = PLAN_METRIC_GIVEN;
}

static void read_relays(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                        void *field)
{
    struct job_spec *spec = field;
    const char *text = conf_scalar(node);
    (void)option;
    if (text == NULL) {
        spec->relays = JOB_RELAYS_NAMED;
        spec->relay_count = conf_read_names(reader, node, spec->relay_names, PLAN_NODES_MAX);
    } else if (strcmp(text, "all") == 0 || strcmp(text, "none") == 0) {
        spec->relays = text[0] == 'a' ? JOB_RELAYS_ALL : JOB_RELAYS_NONE;
    } else {
        conf_error(reader, node, "\"%s\", expected %s", text, option->form);
    }
}

static void read_leaves(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                        void *field)
{
    struct job_spec *spec = field;
    (void)option;
    spec->leaf_count = conf_read_names(reader, node, spec->leaves, PLAN_NODES_MAX);
}

static void read_rules(struct conf_reader *reader, yaml_node_t *list, enum plan_rule rule,
                       struct job_spec *spec)
{
    if (list->type != YAML_SEQUENCE_NODE)
        conf_error(reader, list, "expected a list of edges [from, to]");
    for (size_t index = 0; index < conf_length(list); index++) {
        yaml_node_t *edge = conf_at(reader, list, index);
        if (spec->rule_count == JOB_RULES_MAX) {
            conf_error(reader, edge, "more than %d edges that are forbidden or pinned", JOB_RULES_MAX);
            break;
        }
        struct job_rule *target = &spec->rules[spec->rule_count];
        target->rule = (uint8_t)rule;
        if (conf_read_name_pair(reader, edge, target->edge))
            spec->rule_count++;
    }
}

static void read_forbidden(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                           void *field)
{
    (void)option;
    read_rules(reader, node, PLAN_RULE_FORBIDDEN, field);
}

static void read_pins(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                      void *field)
{
    (void)option;
    read_rules(reader, node, PLAN_RULE_PINNED, field);
}

static bool parse_start(const struct conf_option *option, const char *text, void *field)
{
    uint64_t rate_bps = strcmp(text, "unknown") == 0 ? UINT64_MAX
                        : strcmp(text, "plan") == 0  ? JOB_START_PLAN
                                                     : 0;
    (void)option;
    if (rate_bps == 0 && strcmp(text, "auto") != 0 &&
        (!value_parse(VALUE_RATE, text, &rate_bps) || rate_bps < SEND_RATE_MIN_BPS))
        return false;
    memcpy(field, &rate_bps, sizeof(rate_bps));
    return true;
}

static bool parse_measure(const struct conf_option *option, const char *text, void *field)
{
    uint64_t time_ns = strcmp(text, "off") == 0 ? JOB_SURVEY_OFF : 0;
    (void)option;
    if (time_ns == 0 && strcmp(text, "auto") != 0 &&
        (!value_parse(VALUE_TIME, text, &time_ns) || time_ns < NS_PER_MS || time_ns > JOB_SURVEY_NS_MAX))
        return false;
    memcpy(field, &time_ns, sizeof(time_ns));
    return true;
}

const struct conf_option job_plan_options[] = {
    {"metric", OPTION_WORD, FIELD(struct job_spec, metric), .words = conf_metric_words, .initial = "auto",
     .help = "how the planner finds the trees" PLAN_METRICS(CONF_METRIC_HELP)},
    {"trees", OPTION_WORD, FIELD(struct job_spec, trees), .words = conf_trees_words, .initial = "auto",
     .help = CONF_TREES_HELP},
    {"max_children", OPTION_UINT, FIELD(struct job_spec, children_max), .max = PLAN_CHILDREN_MAX,
     .initial = "0", .help = "children that a node may have at most; 0: as many as the planner likes"},
    {"dcmst_of", OPTION_WORD, FIELD(struct job_spec, dcmst_of), .words = conf_dcmst_words, .initial = "rtt",
     .help = CONF_DCMST_HELP},
    {"degree", OPTION_UINT, FIELD(struct job_spec, degree), .min = 1, .max = PLAN_CHILDREN_MAX,
     .initial = "2", .help = CONF_DEGREE_HELP},
    {"avb", OPTION_WORD, FIELD(struct job_spec, avb_of), .words = conf_avb_words, .initial = "any",
     .help = CONF_AVB_HELP PLAN_AVB_SOURCES(CONF_METRIC_HELP)},
    {"ties", OPTION_SCALAR, FIELD(struct job_spec, ties), .form = CONF_TIES_FORM, .parse = conf_parse_ties,
     .initial = "name", .help = CONF_TIES_HELP},
    {"relays", OPTION_CUSTOM, .form = "all | none | a list of names", .read = read_relays,
     .help = "nodes that don't get the object, but may pass it on where that is faster; default: none"},
    {"leaf", OPTION_CUSTOM, .form = "a list of names", .read = read_leaves,
     .help = "receivers that pass nothing on"},
    {"forbid", OPTION_CUSTOM, .form = "a list of [from, to]", .read = read_forbidden,
     .help = "edges that no tree has"},
    {"pin", OPTION_CUSTOM, .form = "a list of [from, to]", .read = read_pins,
     .help = "edges that every tree has: nothing else leads to the node that one enters"},
    {"tree", OPTION_CUSTOM, .form = "a list of [from, to]", .read = read_tree,
     .help = "a given tree from the source to all receivers, in place of all of the above"},
    {"rate", OPTION_RATE, FIELD(struct job_spec, plan_rate_bps), .min = SEND_RATE_MIN_BPS,
     .help = "payload rate of the given tree; without it the planner computes one"},
    {"start", OPTION_SCALAR, FIELD(struct job_spec, start_bps),
     .form = "auto | plan | unknown | a rate like 900Mbps", .parse = parse_start, .initial = "auto",
     .help = "wire rate at which each edge begins: the plan's, or a rate below it, or unknown: it is found "
             "out; auto: the plan's where the path was told or measured not long ago"},
    {"measure", OPTION_SCALAR, FIELD(struct job_spec, survey_ns), .form = "auto | off | a time like 3s",
     .parse = parse_measure, .initial = "auto",
     .help =
         "paths that a plan would use and nobody has measured for ten minutes are measured first, and it is "
         "planned anew, up to six times; auto: where trains take no more than 1 % of the object from a "
         "port, and of time 4 % of the plan's, or more where paths that nobody measured may be slow, but "
         "never longer than the plan or 10 s, but for looks at sites' lines, and never for a "
         "stream; a time: that long at most, whatever the trains take. For metrics that mind bandwidth"},
    {.type = OPTION_END}};

/* ---- checks ---- */

static bool fed(const struct job_spec *spec, uint16_t edges, const char *node)
{
    if (strcmp(node, spec->source) == 0)
        return true;
    for (uint16_t edge = 0; edge < edges; edge++)
        if (strcmp(spec->given[edge][1], node) == 0)
            return true;
    return false;
}

/* Moves edges whose tail is fed to the front, in passes; returns how many are in order. */
static uint16_t order_tree(struct job_spec *spec)
{
    uint16_t ordered = 0;
    for (uint16_t edge = 0; edge < spec->given_count; edge++) {
        char moved[2][NAME_BYTES];
        if (!fed(spec, ordered, spec->given[edge][0]))
            continue;
        memcpy(moved, spec->given[edge], sizeof(moved));
        memmove(spec->given[ordered + 1], spec->given[ordered],
                (size_t)(edge - ordered) * sizeof(spec->given[0]));
        memcpy(spec->given[ordered], moved, sizeof(moved));
        ordered++;
        edge = (uint16_t)(ordered - 1); /* what was passed over may be fed now */
    }
    return ordered;
}

static void check_tree(struct conf_reader *reader, const char *where, struct job_spec *spec)
{
    char place[CONF_WHERE_BYTES];
    for (uint16_t edge = 0; edge < spec->given_count; edge++) {
        const char *child = spec->given[edge][1];
        snprintf(place, sizeof(place), "%splan.tree[%u]", where, edge);
        if (strcmp(child, spec->source) == 0)
            conf_fault(reader, place, "leads back to the source \"%s\"", child);
        for (uint16_t before = 0; before < edge; before++)
            if (strcmp(spec->given[before][1], child) == 0)
                conf_fault(reader, place, "\"%s\" already has a parent, \"%s\"", child,
                           spec->given[before][0]);
    }
    snprintf(place, sizeof(place), "%splan.tree", where);
    uint16_t ordered = order_tree(spec);
    if (ordered < spec->given_count)
        conf_fault(reader, place, "nothing leads from the source \"%s\" to \"%s\"", spec->source,
                   spec->given[ordered][0]);
    for (uint16_t index = 0; index < spec->receiver_count; index++)
        if (!fed(spec, spec->given_count, spec->receivers[index]))
            conf_fault(reader, place, "does not reach the receiver \"%s\"", spec->receivers[index]);
}

const yaml_node_t *conf_find_job(struct conf_reader *reader, const char *where)
{
    const yaml_node_t *map = yaml_document_get_root_node(&reader->document);
    unsigned job;
    if (sscanf(where, "jobs[%u]", &job) == 1)
        map = conf_at(reader, conf_find(reader, map, "jobs"), job);
    return map;
}

static const yaml_node_t *find_plan_key(struct conf_reader *reader, const char *where, const char *key)
{
    const yaml_node_t *plan = conf_find(reader, conf_find_job(reader, where), "plan");
    return plan == NULL ? NULL : conf_find(reader, plan, key);
}

/* A tree is given or computed. */
static void check_plan_keys(struct conf_reader *reader, const char *where)
{
    static const char *const computed[] = {"metric", "trees",  "max_children", "dcmst_of", "degree",
                                           "ties",   "relays", "leaf",         "forbid",   "pin"};
    char place[CONF_WHERE_BYTES];
    bool given = find_plan_key(reader, where, "tree") != NULL;
    bool rate = find_plan_key(reader, where, "rate") != NULL;
    for (unsigned index = 0; index < sizeof(computed) / sizeof(computed[0]); index++) {
        snprintf(place, sizeof(place), "%splan.%s", where, computed[index]);
        if (given && find_plan_key(reader, where, computed[index]) != NULL)
            conf_fault(reader, place, "contradicts plan.tree: a tree is either given or computed");
    }
    snprintf(place, sizeof(place), "%splan.rate", where);
    if (rate && !given)
        conf_fault(reader, place, "is the rate of a given plan.tree; the cap of a job is its rate");
}

/* What is said of dcmst is for dcmst. */
static void check_metric(struct conf_reader *reader, const char *where, const struct job_spec *spec)
{
    static const char *const of_dcmst[] = {"dcmst_of", "degree"};
    char place[CONF_WHERE_BYTES];
    bool dcmst = spec->metric == PLAN_METRIC_DCMST;
    for (unsigned index = 0; index < sizeof(of_dcmst) / sizeof(of_dcmst[0]); index++) {
        snprintf(place, sizeof(place), "%splan.%s", where, of_dcmst[index]);
        if (!dcmst && spec->metric != PLAN_METRIC_GIVEN &&
            find_plan_key(reader, where, of_dcmst[index]) != NULL)
            conf_fault(reader, place, "is for metric: dcmst");
    }
}

/* Rules that can't hold together; what the planner would find out too, but later. */
static void check_rules(struct conf_reader *reader, const char *where, const struct job_spec *spec)
{
    char place[CONF_WHERE_BYTES];
    snprintf(place, sizeof(place), "%splan.leaf", where);
    for (uint16_t leaf = 0; leaf < spec->leaf_count; leaf++)
        if (strcmp(spec->leaves[leaf], spec->source) == 0)
            conf_fault(reader, place, "\"%s\" is the source: nobody would be fed", spec->source);
    snprintf(place, sizeof(place), "%splan.pin", where);
    for (uint16_t index = 0; index < spec->rule_count; index++) {
        const struct job_rule *rule = &spec->rules[index];
        if (rule->rule == PLAN_RULE_PINNED && strcmp(rule->edge[1], spec->source) == 0)
            conf_fault(reader, place, "leads back to the source \"%s\"", spec->source);
        for (uint16_t leaf = 0; leaf < spec->leaf_count; leaf++)
            if (rule->rule == PLAN_RULE_PINNED && strcmp(rule->edge[0], spec->leaves[leaf]) == 0)
                conf_fault(reader, place, "\"%s\" is a leaf", spec->leaves[leaf]);
        for (uint16_t before = 0; before < index; before++) {
            const struct job_rule *other = &spec->rules[before];
            if (strcmp(rule->edge[1], other->edge[1]) != 0)
                continue;
            if (strcmp(rule->edge[0], other->edge[0]) == 0 && rule->rule != other->rule)
                conf_fault(reader, place, "\"%s\" to \"%s\" is forbidden", rule->edge[0], rule->edge[1]);
            else if (rule->rule == PLAN_RULE_PINNED && other->rule == PLAN_RULE_PINNED)
                conf_fault(reader, place, "\"%s\" is pinned already, to \"%s\"", rule->edge[1],
                           other->edge[0]);
        }
    }
}

void job_plan_check(struct conf_reader *reader, const char *where, struct job_spec *spec)
{
    check_plan_keys(reader, where);
    check_metric(reader, where, spec);
    check_rules(reader, where, spec);
    if (spec->metric == PLAN_METRIC_GIVEN && spec->source[0] != '\0')
        check_tree(reader, where, spec);
}
