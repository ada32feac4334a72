/* Job files: YAML → struct job_spec. */
#include "conf/job_file.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "conf/conf.h"
#include "conf/job_plan.h"
#include "conf/reference.h"
#include "conf/value.h"

static const struct word owner_words[] = {{"drop", 0}, {"keep", PART_TREE_OWNER}, {NULL, 0}};
static const struct word xattr_words[] = {{"drop", 0}, {"keep", PART_TREE_XATTR}, {NULL, 0}};
static const struct word hardlink_words[] = {{"keep", PART_TREE_HARDLINKS}, {"copy", 0}, {NULL, 0}};

#define CONGESTION_HELP(constant, value, word, help) "; " word ": " help

static void read_receivers(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                           void *field)
{
    struct job_spec *spec = field;
    const char *text = conf_scalar(node);
    (void)option;
    spec->to_all = text != NULL && strcmp(text, "all") == 0;
    if (spec->to_all)
        return;
    if (text != NULL || node->type != YAML_SEQUENCE_NODE) {
        conf_error(reader, node, "expected all or a list of names");
        return;
    }
    spec->receiver_count = conf_read_names(reader, node, spec->receivers, PLAN_NODES_MAX);
    if (conf_length(node) == 0)
        conf_error(reader, node, "no receiver");
}

/* ---- what may be changed while the job runs ---- */

static bool parse_cap(const struct conf_option *option, const char *text, void *field)
{
    uint64_t rate_bps = 0;
    (void)option;
    if (strcmp(text, "none") != 0 &&
        (!value_parse(VALUE_RATE, text, &rate_bps) || rate_bps < SEND_RATE_MIN_BPS))
        return false;
    memcpy(field, &rate_bps, sizeof(rate_bps));
    return true;
}

/* One of the words, or a whole number up to `max`. */
static bool parse_word_or_number(const struct conf_option *option, const char *text, void *field)
{
    uint64_t value = UINT64_MAX;
    for (const struct word *word = option->words; word->word != NULL; word++)
        if (strcmp(word->word, text) == 0)
            value = (uint64_t)word->value;
    if (value == UINT64_MAX && (!value_parse_decimal(text, 0, &value) || value > option->max))
        return false;
    *(uint8_t *)field = (uint8_t)value;
    return true;
}

static const struct word priority_words[] = {
    {"low", 1}, {"normal", JOB_PRIORITY_NORMAL}, {"high", 5}, {NULL, 0}};

/* RFC 2474, 2597, 3246, 5865 and 8622. */
static const struct word dscp_words[] = {
    {"default", 0}, {"le", 1},    {"cs1", 8},   {"af11", 10}, {"af12", 12}, {"af13", 14},
    {"cs2", 16},    {"af21", 18}, {"af22", 20}, {"af23", 22}, {"cs3", 24},  {"af31", 26},
    {"af32", 28},   {"af33", 30}, {"cs4", 32},  {"af41", 34}, {"af42", 36}, {"af43", 38},
    {"cs5", 40},    {"va", 44},   {"ef", 46},   {"cs6", 48},  {"cs7", 56},  {NULL, 0}};

/* Row n is bit n of enum job_control. */
const struct conf_option job_control_options[] = {
    {"rate", OPTION_SCALAR, FIELD(struct job_controls, rate_cap_bps), .parse = parse_cap, .initial = "none",
     .form = "a rate like 100Mbps or 1Gbps, at least 1kbps, or none",
     .help = "payload rate that no edge of the job exceeds, repairs included; job set changes it"},
    {"priority", OPTION_SCALAR, FIELD(struct job_controls, priority), .parse = parse_word_or_number,
     .words = priority_words, .max = CONTROL_PRIORITY_MAX, .initial = "normal",
     .form = "low | normal | high | a whole number from 0 to 7",
     .help = "share of an edge among the jobs that want to send there: weight 2^priority; "
             "low is 1, normal 3, high 5"},
    {"dscp", OPTION_SCALAR, FIELD(struct job_controls, dscp), .parse = parse_word_or_number,
     .words = dscp_words, .max = CONTROL_DSCP_MAX, .initial = "default",
     .form = "default | le | cs1 to cs7 | af11 to af43 | va | ef | a whole number from 0 to 63",
     .help = "code point in the IP header of the job's data packets and their acks"},
    {.type = OPTION_END}};

bool conf_parse_job_control(const char *key, const char *text, struct job_controls *controls,
                            uint8_t *changed, struct err *err)
{
    bool later;
    char keys[80] = "";
    for (unsigned row = 0; job_control_options[row].type != OPTION_END; row++) {
        const struct conf_option *option = &job_control_options[row];
        if (strcmp(option->key, key) != 0) {
            size_t length = strlen(keys);
            snprintf(keys + length, sizeof(keys) - length, "%s%s", row > 0 ? ", " : "", option->key);
            continue;
        }
        *changed = (uint8_t)(1u << row);
        if (option_parse(option, text, (uint8_t *)controls + option->offset, &later))
            return true;
        return err_set(err, "%s: \"%.60s\", expected %s", key, text, option->form);
    }
    return err_set(err, "\"%.60s\" cannot be set, only %s", key, keys);
}

const struct conf_option job_options[] = {
    {"name", OPTION_NAME, FIELD(struct job_spec, name), .required = true,
     .help = "name of the job, for show and cancel"},
    {"source", OPTION_NAME, FIELD(struct job_spec, source),
     .help = "the node that has the file; the job is run there; default: the one it is handed to"},
    {"to", OPTION_CUSTOM, .form = "all | list of names", .read = read_receivers, .required = true,
     .help = "the receivers: names of nodes, or all that the source knows"},
    {"directory", OPTION_NAME, FIELD(struct job_spec, directory), .initial = "incoming",
     .help = "where the receivers put it: the name of one of their configured directories"},
    {"as", OPTION_FILE, FIELD(struct job_spec, target),
     .help = "path below that directory; default: the file's own name, or a stream's job's"},
    {"plan", OPTION_MAP, .options = job_plan_options, .help = "how the tree is found"},
    {.type = OPTION_INCLUDE, .options = job_control_options, .offset = offsetof(struct job_spec, controls)},
    {"hash", OPTION_WORD, FIELD(struct job_spec, hash), .words = part_hash_words, .initial = "sha256",
     .help = "hash of every block, checked by every site; none only for benchmarks: it takes "
             "nodes without keys"},
    {"durable", OPTION_WORD, FIELD(struct job_spec, durable), .words = part_durable_words, .initial = "end",
     .help =
         "when sites make sure that data is on the disk (fsync): once at the end, after each block, never"},
    {"exists", OPTION_WORD, FIELD(struct job_spec, exists), .words = part_exists_words, .initial = "fail",
     .help = "what a site does when the name is already there; same means equal size and modification time"},
    {"owner", OPTION_WORD, FIELD(struct job_spec, tree_owner), .words = owner_words, .initial = "drop",
     .help = "directory: user and group ids and set-id bits; kept by sites whose directory accepts them"},
    {"xattrs", OPTION_WORD, FIELD(struct job_spec, tree_xattrs), .words = xattr_words, .initial = "drop",
     .help = "directory: extended attributes in user.*; kept by sites whose directory accepts them"},
    {"hardlinks", OPTION_WORD, FIELD(struct job_spec, tree_hardlinks), .words = hardlink_words,
     .initial = "keep",
     .help = "directory: names of one file stay names of one file, or each becomes a file of its own"},
    {"congestion", OPTION_WORD, FIELD(struct job_spec, congestion), .words = part_congestion_words,
     .initial = "bql", .help = "how an edge finds its rate" PART_CONGESTIONS(CONGESTION_HELP)},
    {"manifest", OPTION_PATH, FIELD(struct job_spec, manifest),
     .help = "directory at the source for NAME.manifest.json, written when the job ends; default: the node's "
             "manifests"},
    {"retention", OPTION_SIZE, FIELD(struct job_spec, retention_bytes), .min = 1, .max = 1ULL << 40,
     .initial = "64MB", .help = "stream: what is kept for slow receivers and repairs"},
    {"window", OPTION_TIME, FIELD(struct job_spec, window_ns), .max = 86400 * NS_PER_S,
     .zero_unlimited = true, .initial = "unlimited",
     .help = "stream: a receiver may not be further behind than this, retention or not"},
    {"slow", OPTION_WORD, FIELD(struct job_spec, slow), .words = part_slow_words, .initial = "drop",
     .help = "stream: what becomes of a receiver that holds the others up: it ends, or they wait"},
    {"flush", OPTION_TIME, FIELD(struct job_spec, flush_ns), .max = 10 * NS_PER_S, .initial = "20ms",
     .help = "stream: how long bytes wait for more before they leave in a symbol that is not full"},
    {"measure", OPTION_TIME, FIELD(struct job_spec, measure_ns), .min = NS_PER_MS, .max = JOB_MEASURE_NS_MAX,
     .initial = "200ms", .help = "how long paths are measured before planning, where that is needed"},
    {"measure_age", OPTION_TIME, FIELD(struct job_spec, measure_age_ns), .max = JOB_MEASURE_AGE_NS_MAX,
     .initial = "10s",
     .help = "what nodes have measured by themselves within this time will do; 0s: measure anew"},
    {.type = OPTION_END}};

struct job_file {
    struct job_spec spec;
    char file[PATH_BYTES];
    char object_file[PATH_BYTES];
    char stream[PATH_BYTES];
};

static const struct conf_option object_options[] = {
    {"file", OPTION_FILE, FIELD(struct job_file, object_file),
     .help =
         "path of the file or directory at the source; a relative one counts from the job file's directory"},
    {"stream", OPTION_FILE, FIELD(struct job_file, stream),
     .help = "path of a FIFO, a listening unix socket, a device or a file at the source, read to its end; "
             "\"" CONF_JOB_STDIN "\": what sluicectl gets on its standard input"},
    {.type = OPTION_END}};

const struct conf_option job_file_options[] = {
    {.type = OPTION_INCLUDE, .options = job_options, .offset = offsetof(struct job_file, spec)},
    {"file", OPTION_FILE, FIELD(struct job_file, file), .help = "short for object: {file: …}"},
    {"object", OPTION_MAP, .options = object_options, .help = "what is sent"},
    {.type = OPTION_END}};

/* ---- checks ---- */

/* Keys that mean nothing for the kind of object would be mistakes that nobody notices. */
static void check_stream_keys(struct conf_reader *reader, const char *where, const struct job_spec *spec)
{
    static const char *const of_streams[] = {"retention", "window", "slow", "flush"};
    char place[CONF_WHERE_BYTES];
    bool stream = spec->object == PART_OBJECT_STREAM;
    for (unsigned index = 0; index < sizeof(of_streams) / sizeof(of_streams[0]); index++) {
        snprintf(place, sizeof(place), "%s%s", where, of_streams[index]);
        if (!stream && conf_find(reader, conf_find_job(reader, where), of_streams[index]) != NULL)
            conf_fault(reader, place, "is for streams");
    }
    snprintf(place, sizeof(place), "%sexists", where);
    if (stream && spec->exists == PART_EXISTS_SKIP_IF_SAME)
        conf_fault(reader, place, "skip-if-same is not for streams: what comes is not known before");
}

void conf_check_job(struct conf_reader *reader, const char *where, struct job_spec *spec)
{
    char place[CONF_WHERE_BYTES];
    for (uint16_t index = 0; index < spec->receiver_count; index++) {
        snprintf(place, sizeof(place), "%sto", where);
        if (strcmp(spec->receivers[index], spec->source) == 0)
            conf_fault(reader, place, "\"%s\" is the source and cannot be a receiver too", spec->source);
    }
    snprintf(place, sizeof(place), "%sas", where);
    if (spec->target[0] != '\0' && !path_stays_below(spec->target))
        conf_fault(reader, place, "\"%s\" is not a path below the directory (no leading /, no ..)",
                   spec->target);
    job_plan_check(reader, where, spec);
    check_stream_keys(reader, where, spec);
}

/* A relative path counts from where the job file lies, whatever directory the appliance runs in. */
static void resolve_file(struct conf_reader *reader, struct job_file *job, const char *file, const char *key)
{
    const char *slash = strrchr(reader->path, '/');
    int directory = file[0] == '/' || slash == NULL ? 0 : (int)(slash - reader->path) + 1;
    int length = snprintf(job->spec.file, sizeof(job->spec.file), "%.*s%s", directory, reader->path, file);
    for (; length > 1 && length < (int)sizeof(job->spec.file) && job->spec.file[length - 1] == '/'; length--)
        job->spec.file[length - 1] = '\0';
    if (length >= (int)sizeof(job->spec.file))
        conf_fault(reader, key, "longer than %d characters with the directory of the job file",
                   PATH_BYTES - 1);
}

static void resolve_object(struct conf_reader *reader, struct job_file *job)
{
    const yaml_node_t *root = yaml_document_get_root_node(&reader->document);
    bool top = conf_find(reader, root, "file") != NULL, nested = conf_find(reader, root, "object") != NULL;
    bool stream = job->stream[0] != '\0';
    if (top && nested)
        conf_fault(reader, "object", "contradicts file: one of them is enough");
    if (!top && !nested)
        conf_fault(reader, "", "\"file\" is missing: path of the file or directory at the source");
    if (nested && stream == (job->object_file[0] != '\0'))
        conf_fault(reader, "object", "expected either file or stream in it");
    if (!stream) {
        bool inner = job->object_file[0] != '\0';
        resolve_file(reader, job, inner ? job->object_file : job->file, inner ? "object.file" : "file");
        return;
    }
    job->spec.object = PART_OBJECT_STREAM;
    if (job->spec.target[0] == '\0')
        name_copy(job->spec.target, sizeof(job->spec.target), job->spec.name);
    if (strcmp(job->stream, CONF_JOB_STDIN) == 0)
        name_copy(job->spec.file, sizeof(job->spec.file), job->stream);
    else
        resolve_file(reader, job, job->stream, "object.stream");
}

bool conf_read_job(const char *path, const char *text, struct job_spec *spec, struct conf_errors *errors)
{
    struct conf_reader reader;
    struct job_file job = {0};
    if (text != NULL ? !conf_load_foreign(&reader, path, text, errors)
                     : !conf_load(&reader, path, NULL, errors))
        return false;
    if (conf_read_document(&reader, job_file_options, &job)) {
        resolve_object(&reader, &job);
        conf_check_job(&reader, "", &job.spec);
    }
    conf_unload(&reader);
    *spec = job.spec;
    return errors->count == 0;
}
