/* What a scenario expects of its run: name: ">= value". The rows give each name its kind of value; those
 * without a prefix are sim/expects.def. */
#include <string.h>

#include "conf/scenario_file.h"
#include "node/node.h"

#define EXPECT_VALUE FIELD(struct scenario_expect, value)

static bool parse_state(const struct conf_option *option, const char *text, void *field)
{
    for (unsigned state = 0; state < JOB_STATE_COUNT; state++)
        if (strcmp(job_state_name(state), text) == 0)
            return name_copy(field, option->bytes, text);
    return false;
}

static bool parse_words(const struct conf_option *option, const char *text, void *field)
{
    return text[0] != '\0' && name_copy(field, option->bytes, text);
}

const struct conf_option scenario_expect_options[] = {
#define VALUE(name, kind, value, text)        {#name, OPTION_##kind, EXPECT_VALUE, .help = text},
#define METER(name, kind, worst, value, text) VALUE(name, kind, value, text)
#include "sim/expects.def"
#undef METER
#undef VALUE
    {EXPECT_STATE "JOB", OPTION_SCALAR, FIELD(struct scenario_expect, text), .parse = parse_state,
     .form = "the state of a job: done, failed, cancelled …", .help = "the state in which this job ends"},
    {EXPECT_TEXT "JOB", OPTION_SCALAR, FIELD(struct scenario_expect, text), .parse = parse_words,
     .form = "words", .help = "words that the job's final text contains"},
    {EXPECT_LIMITED "NODE", OPTION_SCALAR, FIELD(struct scenario_expect, text), .parse = parse_words,
     .form = "FROM > TO: CAUSE",
     .help = "the edge that limited this receiver most, and why, as its source says: cap, congestion, …"},
    {EXPECT_COMPLETE "NODE", OPTION_TIME, EXPECT_VALUE,
     .help = "from a job's start until this receiver has everything, of its last job"},
    {EXPECT_FLOW "NUMBER", OPTION_RATE, EXPECT_VALUE,
     .help = "wire rate of a flow of cross traffic, counted from 0, over its life; "
             "flow.0.20-200: of the seconds 20 to 200"},
    {EXPECT_SHARED_DROPS "NAME", OPTION_UINT, EXPECT_VALUE, .help = "packets that this shared link dropped"},
    {EXPECT_SHARED_LOAD "NAME", OPTION_SHARE, EXPECT_VALUE,
     .help = "what it carried, as a share of its rate over the whole run"},
    {EXPECT_PROBE "FROM>TO", OPTION_SHARE, EXPECT_VALUE,
     .help =
         "error of what is known of that path's bandwidth, from the mean that the link models leave, as a "
         "share of the tight hop's rate"},
    {EXPECT_PROBE_KIND "FROM>TO", OPTION_SCALAR, FIELD(struct scenario_expect, text), .parse = parse_words,
     .form = "value, at-least, refused or none", .help = "what kind of estimate that is"},
    {EXPECT_COUNTER "NAME", OPTION_UINT, EXPECT_VALUE,
     .help = "a counter, summed over the nodes, or of the network, hosts, disks"},
    {.type = OPTION_END}};

/* The row of a name; a prefix (its row goes on after a dot) stands for all names that begin so. */
static const struct conf_option *find_row(const char *name)
{
    for (const struct conf_option *row = scenario_expect_options; row->type != OPTION_END; row++) {
        const char *dot = strchr(row->key, '.');
        size_t prefix = dot == NULL ? 0 : (size_t)(dot - row->key) + 1;
        if (prefix > 0 ? strncmp(row->key, name, prefix) == 0 && name[prefix] != '\0'
                       : strcmp(row->key, name) == 0)
            return row;
    }
    return NULL;
}

static const char *read_compare(const char *text, uint8_t *compare)
{
    *compare = COMPARE_EQUAL;
    if (strncmp(text, ">=", 2) == 0 || strncmp(text, "<=", 2) == 0) {
        *compare = text[0] == '>' ? COMPARE_AT_LEAST : COMPARE_AT_MOST;
        text += 2;
    } else if (strncmp(text, "==", 2) == 0) {
        text += 2;
    }
    return text + strspn(text, " ");
}

static bool parse_value(const struct conf_option *row, const char *text, struct scenario_expect *expect)
{
    bool later;
    expect->is_text = row->type == OPTION_SCALAR;
    if (expect->is_text)
        return expect->compare == COMPARE_EQUAL && option_parse(row, text, expect->text, &later);
    if (row->type != OPTION_BOOL)
        return option_parse(row, text, &expect->value, &later);
    bool flag;
    if (expect->compare != COMPARE_EQUAL || !option_parse(row, text, &flag, &later))
        return false;
    expect->value = flag;
    return true;
}

static bool is_job_known(const struct scenario *scenario, const char *name)
{
    for (unsigned job = 0; job < scenario->job_count; job++)
        if (strcmp(scenario->jobs[job].spec.name, name) == 0)
            return true;
    return false;
}

static bool is_name_known(const struct scenario *scenario, const char *name)
{
    const char *job = expect_after(name, EXPECT_STATE), *node = expect_after(name, EXPECT_LIMITED);
    const char *shared = expect_after(name, EXPECT_SHARED_DROPS), *pair = expect_after(name, EXPECT_PROBE);
    uint16_t from, to;
    if (pair == NULL)
        pair = expect_after(name, EXPECT_PROBE_KIND);
    if (pair != NULL)
        return scenario_pair(scenario, pair, &from, &to);
    if (job == NULL)
        job = expect_after(name, EXPECT_TEXT);
    if (shared == NULL)
        shared = expect_after(name, EXPECT_SHARED_LOAD);
    if (job != NULL)
        return is_job_known(scenario, job);
    if (shared != NULL)
        return scenario_shared_index(scenario, shared) != scenario->shared_count;
    return node == NULL || scenario_node_index(scenario, node) != SCENARIO_NO_NODE;
}

static bool is_counter_known(const char *name)
{
#define COUNTER(name, ...)        #name,
#define STORE_COUNTER(name, help) #name,
    static const char *const names[] = {
#include "node/counters.def"
#include "sim/counters.def"
    };
#undef STORE_COUNTER
#undef COUNTER
    for (size_t index = 0; index < sizeof(names) / sizeof(names[0]); index++)
        if (strcmp(names[index], name) == 0)
            return true;
    return false;
}

static void read_expect(struct conf_reader *reader, const char *name, const yaml_node_t *key,
                        const yaml_node_t *value)
{
    struct scenario *scenario = reader->context;
    struct scenario_expect expect = {.line = conf_line(key)};
    const struct conf_option *row = name == NULL ? NULL : find_row(name);
    const char *text = conf_scalar(value), *counter = row == NULL ? NULL : expect_after(name, EXPECT_COUNTER);
    char form[200];
    if (row == NULL || !name_copy(expect.name, sizeof(expect.name), name)) {
        conf_error(reader, key, "unknown name \"%s\", see sluice-sim --help-scenario",
                   name != NULL ? name : "?");
    } else if (counter != NULL && !is_counter_known(counter)) {
        conf_error(reader, key, "no counter is called \"%s\", see counters in what sluice-sim --json prints",
                   counter);
    } else if (!is_name_known(scenario, name)) {
        conf_error(reader, key, "\"%s\" names no job, node or shared link of this scenario", name);
    } else if (text == NULL || !parse_value(row, read_compare(text, &expect.compare), &expect)) {
        option_form(row, form, sizeof(form));
        bool ordered = row->type != OPTION_BOOL && row->type != OPTION_SCALAR;
        conf_error(reader, value, "%s: \"%s\", expected %s%s", name, text != NULL ? text : "?", form,
                   ordered ? ", with >= or <= before it or nothing" : "");
    } else if (scenario->expect_count == SCENARIO_EXPECT_MAX) {
        conf_error(reader, key, "more than %d expectations", SCENARIO_EXPECT_MAX);
    } else {
        scenario->expects[scenario->expect_count++] = expect;
    }
}

void scenario_read_expects(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *map,
                           void *field)
{
    const char *name;
    yaml_node_t *key, *value;
    (void)option;
    (void)field;
    if (map->type != YAML_MAPPING_NODE)
        conf_error(reader, map, "expected a map of name: comparison");
    for (size_t index = 0; conf_pair(reader, map, index, &name, &key, &value); index++)
        read_expect(reader, name, key, value);
}
