/* Faults of a scenario: what goes wrong, and when. Each item has `at` and one key that says what. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "conf/job_file.h"
#include "conf/scenario_file.h"

/* One row of the file; which of the kinds it is follows from the keys it has. */
struct fault_item {
    struct scenario_fault fault;
    uint16_t kill, restart, planner, disk_full, clock;
    uint64_t restart_after_ns, down_ns;
    char job[NAME_BYTES], cancel[NAME_BYTES], source_changed[NAME_BYTES];
};

static void read_job(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                     void *field)
{
    const struct scenario *scenario = reader->context;
    const char *name = conf_scalar(node);
    if (name != NULL)
        name_copy(field, option->bytes, name);
    for (unsigned job = 0; name != NULL && job < scenario->job_count; job++)
        if (strcmp(scenario->jobs[job].spec.name, name) == 0)
            return;
    conf_error(reader, node, "\"%s\" is not a job of this scenario", name != NULL ? name : "?");
}

static void read_shared(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                        void *field)
{
    const struct scenario *scenario = reader->context;
    const char *name = conf_scalar(node);
    uint16_t index = scenario_shared_index(scenario, name != NULL ? name : "");
    (void)option;
    if (index == scenario->shared_count)
        conf_error(reader, node, "\"%s\" is not a shared link of this scenario", name != NULL ? name : "?");
    *(uint16_t *)field = (uint16_t)(index + 1);
}

static void read_link(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                      void *field)
{
    struct fault_item *item = field;
    (void)option;
    if (conf_length(node) != 2) {
        conf_error(reader, node, "expected [from, to], two names of nodes");
        return;
    }
    item->fault.link_from = scenario_node_find(reader, conf_at(reader, node, 0));
    item->fault.link_to = scenario_node_find(reader, conf_at(reader, node, 1));
    if (item->fault.link_from == item->fault.link_to && item->fault.link_from != SCENARIO_NO_NODE)
        conf_error(reader, node, "from and to are the same node");
}

/* Row n is bit n of enum job_control. */
static const struct conf_option set_job_options[] = {
    {.type = OPTION_INCLUDE, .options = job_control_options},
    {"paused", OPTION_BOOL, FIELD(struct job_controls, paused), .help = "nothing of the job is sent"},
    {.type = OPTION_END}};

static void read_set_job(struct conf_reader *reader, yaml_node_t *map, struct scenario_fault *fault)
{
    unsigned row = 0;
    conf_read_map(reader, set_job_options, map, &fault->controls);
    for (; job_control_options[row].type != OPTION_END; row++)
        if (conf_find(reader, map, job_control_options[row].key) != NULL)
            fault->changed |= (uint8_t)(1u << row);
    if (conf_find(reader, map, "paused") != NULL)
        fault->changed |= JOB_CONTROL_PAUSED;
}

static void read_set_link(struct conf_reader *reader, yaml_node_t *map, struct scenario_fault *fault)
{
    conf_read_map(reader, scenario_set_options, map, &fault->set);
    for (unsigned row = 0; scenario_set_options[row].type != OPTION_END; row++)
        if (conf_find(reader, map, scenario_set_options[row].key) != NULL)
            fault->set_mask |= 1u << row;
}

static void read_set(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *map,
                     void *field)
{
    struct fault_item *item = field;
    (void)option;
    if (item->job[0] != '\0')
        read_set_job(reader, map, &item->fault);
    else if (item->fault.shared != 0)
        scenario_read_set_shared(reader, map, &item->fault);
    else
        read_set_link(reader, map, &item->fault);
    if (map->type == YAML_MAPPING_NODE && map->data.mapping.pairs.start == map->data.mapping.pairs.top)
        conf_error(reader, map, "sets nothing");
}

static const struct word mode_words[] = {{"drop", 0}, {"hold", 1}, {NULL, 0}};

const struct conf_option scenario_fault_options[] = {
    {"at", OPTION_TIME, FIELD(struct fault_item, fault.at_ns), .required = true, .help = "when"},
    {"kill", OPTION_CUSTOM, FIELD(struct fault_item, kill), .form = "name of a node",
     .read = scenario_read_node, .help = "the node loses all its state; its disk is kept"},
    {"restart_after", OPTION_TIME, FIELD(struct fault_item, restart_after_ns), .min = 1,
     .help = "kill: it starts again so much later; default: never"},
    {"restart", OPTION_CUSTOM, FIELD(struct fault_item, restart), .form = "name of a node",
     .read = scenario_read_node, .help = "a killed node starts again"},
    {"link", OPTION_CUSTOM, .form = "[from, to]", .read = read_link, .help = "this link, with set or down"},
    {"job", OPTION_CUSTOM, FIELD(struct fault_item, job), .form = "name of a job", .read = read_job,
     .help = "the operator changes this job, with set"},
    {"shared", OPTION_CUSTOM, FIELD(struct fault_item, fault.shared), .form = "name of a shared link",
     .read = read_shared, .help = "this shared link, with set or down"},
    {"set", OPTION_CUSTOM,
     .form = "a map: of a link values of links.default, of a shared link rate, queue, "
             "of a job rate, priority, dscp, paused",
     .read = read_set, .help = "link, shared, job: new values from now on; what is not named stays"},
    {"down", OPTION_TIME, FIELD(struct fault_item, down_ns), .min = 1,
     .help = "link, shared, planner: it is down for so long"},
    {"mode", OPTION_WORD, FIELD(struct fault_item, fault.holds), .words = mode_words, .initial = "drop",
     .help = "link, shared down: packets are dropped, or held until it is up again"},
    {"symmetric", OPTION_BOOL, FIELD(struct fault_item, fault.symmetric), .initial = "false",
     .help = "link: both directions"},
    {"planner", OPTION_CUSTOM, FIELD(struct fault_item, planner), .form = "name of a node",
     .read = scenario_read_node, .help = "the planner of this node is killed, and started again after down"},
    {"cancel", OPTION_CUSTOM, FIELD(struct fault_item, cancel), .form = "name of a job", .read = read_job,
     .help = "the operator cancels this job"},
    {"source_changed", OPTION_CUSTOM, FIELD(struct fault_item, source_changed), .form = "name of a job",
     .read = read_job, .help = "the source file of this job changes"},
    {"disk_full", OPTION_CUSTOM, FIELD(struct fault_item, disk_full), .form = "name of a node",
     .read = scenario_read_node, .help = "the disk of this node has no space left from now on"},
    {"clock", OPTION_CUSTOM, FIELD(struct fault_item, clock), .form = "name of a node",
     .read = scenario_read_node, .help = "the clock of this node changes, by step, skew or both"},
    {"step", OPTION_SCALAR, FIELD(struct fault_item, fault.step_ns), .form = SCENARIO_OFFSET_FORM,
     .parse = scenario_parse_offset, .initial = "0s", .help = "clock: it jumps ahead by so much, or back"},
    {"skew", OPTION_SCALAR, FIELD(struct fault_item, fault.skew_ppb), .form = SCENARIO_SKEW_FORM,
     .parse = scenario_parse_skew, .initial = "0ppm",
     .help = "clock: so much faster than true time it runs from now on; default: as before"},
    {.type = OPTION_END}};

/* The keys that say what happens, and those that go with each of them. */
static const struct fault_kind {
    const char *key;
    const char *with[4];
} fault_kinds[] = {
    {"kill", {"restart_after"}}, {"restart", {NULL}}, {"link", {"set", "down", "mode", "symmetric"}},
    {"planner", {"down"}},       {"cancel", {NULL}},  {"source_changed", {NULL}},
    {"disk_full", {NULL}},       {"job", {"set"}},    {"shared", {"set", "down", "mode"}},
    {"clock", {"step", "skew"}},
};
#define FAULT_KINDS (sizeof(fault_kinds) / sizeof(fault_kinds[0]))

static bool goes_with(const struct fault_kind *kind, const char *key)
{
    for (unsigned index = 0; index < 4 && kind->with[index] != NULL; index++)
        if (strcmp(kind->with[index], key) == 0)
            return true;
    return strcmp(key, kind->key) == 0 || strcmp(key, "at") == 0;
}

/* The one kind that the keys name; NULL after an error. */
static const struct fault_kind *find_kind(struct conf_reader *reader, yaml_node_t *map)
{
    const struct fault_kind *kind = NULL;
    const char *key;
    yaml_node_t *key_node, *value;
    for (unsigned index = 0; index < FAULT_KINDS; index++) {
        if (conf_find(reader, map, fault_kinds[index].key) == NULL)
            continue;
        if (kind != NULL) {
            conf_error(reader, map, "both %s and %s, expected one of them", kind->key,
                       fault_kinds[index].key);
            return NULL;
        }
        kind = &fault_kinds[index];
    }
    if (kind == NULL) {
        conf_error(reader, map,
                   "expected one of kill, restart, link, planner, cancel, source_changed, "
                   "disk_full, job, shared, clock");
        return NULL;
    }
    for (size_t index = 0; conf_pair(reader, map, index, &key, &key_node, &value); index++)
        if (key != NULL && !goes_with(kind, key))
            conf_error(reader, key_node, "\"%s\" does not go with %s", key, kind->key);
    return kind;
}

/* key: link or shared. */
static void fill_link(struct conf_reader *reader, yaml_node_t *map, const char *key,
                      const struct fault_item *item, struct scenario_fault *fault)
{
    bool set = conf_find(reader, map, "set") != NULL, down = conf_find(reader, map, "down") != NULL;
    if (set == down)
        conf_error(reader, map, "%s: expected either set or down", key);
    if (!down && conf_find(reader, map, "mode") != NULL)
        conf_error(reader, map, "mode goes with down");
    fault->kind = down ? FAULT_LINK_DOWN : FAULT_LINK_SET;
    fault->duration_ns = item->down_ns;
}

static void fill_clock(struct conf_reader *reader, yaml_node_t *map, const struct fault_item *item,
                       struct scenario_fault *fault)
{
    fault->kind = FAULT_CLOCK;
    fault->node = item->clock;
    fault->skewed = conf_find(reader, map, "skew") != NULL;
    if (!fault->skewed && conf_find(reader, map, "step") == NULL)
        conf_error(reader, map, "clock: expected step, skew or both");
}

/* Kind, node, job and duration from what stands in the row's own fields. */
static void fill_fault(struct conf_reader *reader, yaml_node_t *map, const char *key, struct fault_item *item)
{
    struct scenario_fault *fault = &item->fault;
    if (strcmp(key, "kill") == 0) {
        fault->kind = FAULT_KILL;
        fault->node = item->kill;
        fault->duration_ns = item->restart_after_ns;
    } else if (strcmp(key, "restart") == 0) {
        fault->kind = FAULT_RESTART;
        fault->node = item->restart;
    } else if (strcmp(key, "link") == 0 || strcmp(key, "shared") == 0) {
        fill_link(reader, map, key, item, fault);
    } else if (strcmp(key, "planner") == 0) {
        fault->kind = FAULT_PLANNER_KILL;
        fault->node = item->planner;
        fault->duration_ns = item->down_ns;
    } else if (strcmp(key, "cancel") == 0) {
        fault->kind = FAULT_CANCEL;
        name_copy(fault->job, sizeof(fault->job), item->cancel);
    } else if (strcmp(key, "source_changed") == 0) {
        fault->kind = FAULT_SOURCE_CHANGED;
        name_copy(fault->job, sizeof(fault->job), item->source_changed);
    } else if (strcmp(key, "job") == 0) {
        if (conf_find(reader, map, "set") == NULL)
            conf_error(reader, map, "job: expected set");
        fault->kind = FAULT_JOB_SET;
        name_copy(fault->job, sizeof(fault->job), item->job);
    } else if (strcmp(key, "clock") == 0) {
        fill_clock(reader, map, item, fault);
    } else {
        fault->kind = FAULT_DISK_FULL;
        fault->node = item->disk_full;
    }
}

/* Faults at the same time keep the order of the file. */
static void insert_fault(struct scenario *scenario, const struct scenario_fault *fault)
{
    unsigned place = scenario->fault_count++;
    for (; place > 0 && scenario->faults[place - 1].at_ns > fault->at_ns; place--)
        scenario->faults[place] = scenario->faults[place - 1];
    scenario->faults[place] = *fault;
}

static void read_fault(struct conf_reader *reader, yaml_node_t *map)
{
    struct fault_item item = {.fault = {.at_ns = 0}};
    conf_apply_defaults(scenario_fault_options, &item);
    conf_read_map(reader, scenario_fault_options, map, &item);
    if (map->type != YAML_MAPPING_NODE)
        return;
    const struct fault_kind *kind = find_kind(reader, map);
    if (kind == NULL)
        return;
    fill_fault(reader, map, kind->key, &item);
    insert_fault(reader->context, &item.fault);
}

void scenario_read_faults(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *list,
                          void *field)
{
    (void)option;
    (void)field;
    if (list->type != YAML_SEQUENCE_NODE || conf_length(list) > SCENARIO_FAULTS_MAX) {
        conf_error(reader, list, "expected a list of at most %d faults", SCENARIO_FAULTS_MAX);
        return;
    }
    for (size_t index = 0; index < conf_length(list); index++) {
        size_t previous = conf_enter(reader, "[%zu]", index);
        read_fault(reader, conf_at(reader, list, index));
        conf_leave(reader, previous);
    }
}
