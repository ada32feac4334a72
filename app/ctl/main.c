/* sluicectl: says what to do to a running appliance. See README.md for protocol and exit codes. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/version.h"
#include "base/check.h"
#include "base/text.h"
#include "conf/app_config.h"
#include "conf/conf.h"
#include "ctl/command.h"
#include "ctl/ctl.h"
#include "app/ctl/find.h"
#include "app/ctl/follow.h"
#include "app/ctl/job_plan.h"
#include "app/ctl/key.h"
#include "app/ctl/probe.h"
#include "app/ctl/probe_all.h"
#include "app/ctl/send.h"
#include "app/ctl/input.h"

#define REQUEST_TEXT  (512u << 10) /* of a job file; escaped it must fit a request line of 1 MiB */
#define LINE_BYTES    (PATH_MAX + 256)
#define HELP_BYTES    8192
#define PLOT_OPTION   "--plot"
#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))

struct options {
    const char *socket;        /* NULL: not given */
    const char *config, *name; /* NULL: not given */
    bool json;
    int count;
    char **words;       /* the command */
    const char *option; /* behind it, "--no-wait"; NULL: none */
    const char *file;   /* behind that one; NULL: it takes none */
    bool order, yes;    /* of probe all */
};

#define USAGE "usage: sluicectl COMMAND [-s SOCKET | -n NAME] [--json]"

static void print_usage(FILE *stream)
{
    static char commands[HELP_BYTES];
    command_help(COMMAND_AT_SLUICECTL, commands, sizeof(commands));
    fprintf(stream,
            USAGE
            "\n\n%s\n"
            "send FILE SITE… [--as PATH] [--directory NAME] [--rate RATE] [--priority WORD]: a job of these "
            "words alone,\n"
            "followed as by job run; SITE: names, or all.\n"
            "job run follows the job to its end (Ctrl-C detaches, the job goes on), with --no-wait it only "
            "starts it. A job\n"
            "with object: {stream: \"-\"} sends the standard input. show plan --why explains the plan of the "
            "newest job,\n"
            "--dot and --svg draw it; so does job plan FILE, which sends nothing (--dry-run is the same).\n"
            "probe PEER " PLOT_OPTION
            " FILE draws the newest of its trains too, as SVG. probe SITE SITE, of one name: its\n"
            "line out, which all of its paths share. probe all says what it costs to\n"
            "measure all pairs, asks whether to start (unless --yes is given, or the standard input is no "
            "terminal), and\n"
            "follows it; Ctrl-C ends it, what is known stays. --order: fewer trains, only what a plan may "
            "need to know.\n\n"
            "Options stand anywhere:\n"
            "  -s, --socket SOCKET  default: $SLUICE_SOCKET, or that of the appliance that runs here\n"
            "  -j, --json           JSON instead of text\n"
            "  -c, --config FILE    of key show: the node file; default: $SLUICE_CONFIG\n"
            "  -n, --name NAME      the node's, where several run here; of key: default the file's, or the "
            "host's\n"
            "      --version        release and commit\n"
            "  -h, --help           this text\n"
            "Exit status: 0 done, 1 the job failed, a probe found nothing, or there is no key, 2 usage or a "
            "faulty job file,\n"
            "3 no appliance there, 4 the appliance refused, 5 some sites have everything and some do not, "
            "130 detached\n",
            commands);
}

/* What is wrong stays in sight: all commands are told to who asks. */
static int usage_error(const char *what, const char *word)
{
    complain("%s%s%s", what, word != NULL ? ": " : "", word != NULL ? word : "");
    fprintf(stderr, USAGE "; sluicectl help lists the commands\n");
    return EXIT_USAGE;
}

/* The socket that is said, or the one that there is. */
static int open_appliance(struct client *client, const struct options *options)
{
    static char found[PATH_BYTES];
    if (options->socket != NULL)
        return client_open(client, options->socket);
    int result = find_socket(options->name, found);
    return result == EXIT_OK ? client_open(client, found) : result;
}

/* One request, its text to stdout. */
static int ask_and_print(const struct options *options, json_t *request)
{
    struct client client;
    char *text = NULL;
    int result = open_appliance(&client, options);
    if (result != EXIT_OK) {
        json_decref(request);
        return result;
    }
    result = client_ask(&client, request, &text);
    client_close(&client);
    if (result != EXIT_OK)
        return result;
    answer_text(text);
    free(text);
    return EXIT_OK;
}

/* What most commands are: a request as its row says. */
static int pass_on(const struct options *options, const struct command_words *words)
{
    char name[COMMAND_NAME_BYTES];
    json_t *request =
        json_pack("{s:s, s:b}", "command", command_rows[words->kind].words, "json", options->json);
    for (unsigned index = 0; command_argument(words->kind, index, name); index++)
        if (words->arguments[index][0] != '\0')
            json_object_set_new(request, name, json_string(words->arguments[index])); /* UTF-8: see run */
    return ask_and_print(options, request);
}

/* "show plan --dot" is the same as "show dot"; so with every word about the plan. */
static bool is_plan_option(const char *option)
{
    return ctl_show_find_option(option) != CTL_SHOW_COUNT;
}

static int show(const struct options *options, const struct command_words *given)
{
    struct command_words words = *given;
    if (options->option != NULL && strcmp(given->arguments[0], "plan") != 0)
        return usage_error("unknown option", options->option);
    if (options->option != NULL)
        words.arguments[0] = ctl_show_name(ctl_show_find_option(options->option));
    enum ctl_show what = ctl_show_find(words.arguments[0]);
    if (what == CTL_SHOW_COUNT)
        return usage_error("unknown word after show", words.arguments[0]);
    if (words.arguments[1][0] != '\0' && !ctl_show_is_of_job(what))
        return usage_error("no word is expected behind it", words.arguments[1]);
    return pass_on(options, &words);
}

static void complain_of_file(const struct conf_errors *errors)
{
    conf_errors_print(errors, stderr);
    for (unsigned index = 0; index < errors->count && index < CONF_ERRORS_MAX; index++)
        answer_keep(errors->lines[index]);
}

/* Looks through the job file before anything is sent: its mistakes are the user's, with file and line. */
static char *read_job(const char *path, struct job_spec *spec)
{
    struct conf_errors errors;
    struct err err;
    char *text = conf_slurp(path, REQUEST_TEXT, &err);
    if (text == NULL)
        complain("%s: %s", path, err.text);
    if (text != NULL && !conf_read_job(path, text, spec, &errors)) {
        complain_of_file(&errors);
        free(text);
        text = NULL;
    }
    return text;
}

static int start_job(struct client *client, json_t *request, const char *name, bool wait, bool feeds,
                     bool json)
{
    struct client_job job;
    client_be_patient(client, NULL);
    int result = client_ask_job(client, request, name, &job);
    if (result == EXIT_OK && wait)
        return follow_job(client, name, job.asked, true, feeds, json);
    if (result == EXIT_OK)
        answer_text(json ? job.document : job.done);
    return result;
}

static int send_job(const struct options *options, json_t *request, const char *name, bool wait, bool feeds)
{
    struct client client;
    int result = open_appliance(&client, options);
    if (result != EXIT_OK) {
        json_decref(request);
        return result;
    }
    result = start_job(&client, request, name, wait, feeds, options->json);
    client_close(&client);
    return result;
}

/* The same for a job whose stream is our standard input. */
static int send_fed(const struct options *options, json_t *request, const char *name)
{
    static struct input input; /* the thread that passes it on may outlive this call */
    if (!input_open(&input)) {
        json_decref(request);
        return EXIT_USAGE;
    }
    json_object_set_new(request, "input", json_string(input.path));
    int result = send_job(options, request, name, true, true);
    input_close(&input);
    return result;
}

/* Paths, and files that have them in them, are bytes of any kind. */
static json_t *json_bytes(const char *text)
{
    char *armoured = malloc(TEXT_ARMOUR_MOST * strlen(text) + 1);
    CHECK(armoured != NULL);
    text_armour(armoured, text);
    json_t *string = json_string(armoured);
    free(armoured);
    CHECK(string != NULL);
    return string;
}

/* The path only names the file in errors; a pipe has none that leads anywhere. */
static json_t *request_of_text(enum command_kind kind, const char *path, const char *text)
{
    char absolute[PATH_MAX];
    return json_pack("{s:s, s:o, s:o, s:b}", "command", command_rows[kind].words, "path",
                     json_bytes(realpath(path, absolute) != NULL ? absolute : path), "text", json_bytes(text),
                     "json", 1);
}

/* A job file as a request: its mistakes are told here. NULL: it can't be run. To be released. */
static json_t *request_of_file(const struct command_words *words, struct job_spec *spec)
{
    const char *path = words->arguments[0];
    char *text = read_job(path, spec);
    if (text == NULL)
        return NULL;
    json_t *request = request_of_text(words->kind, path, text);
    free(text);
    return request;
}

/* A job of which these words say all. */
static int send_file(struct options *options)
{
    static struct job_spec spec;
    struct conf_errors errors = {0};
    const char *wrong, *word;
    int count = 0; /* of words but --no-wait, which stands anywhere */
    for (int index = 0; index < options->count; index++)
        if (strcmp(options->words[index], "--no-wait") != 0)
            options->words[count++] = options->words[index];
    bool wait = count == options->count;
    char *text = send_job_text(count - 1, options->words + 1, &wrong, &word);
    if (text == NULL)
        return usage_error(wrong, word);
    if (!conf_read_job("send", text, &spec, &errors)) {
        complain_of_file(&errors);
        free(text);
        return EXIT_USAGE;
    }
    json_t *request = request_of_text(COMMAND_JOB_RUN, "/send", text);
    free(text);
    return send_job(options, request, spec.name, wait, false);
}

static int job_run(const struct options *options, const struct command_words *words)
{
    static struct job_spec spec;
    bool wait = options->option == NULL || strcmp(options->option, "--no-wait") != 0;
    json_t *request = request_of_file(words, &spec);
    if (request == NULL)
        return EXIT_USAGE;
    bool feeds = spec.object == PART_OBJECT_STREAM && strcmp(spec.file, CONF_JOB_STDIN) == 0;
    if (feeds && !wait) {
        json_decref(request);
        return usage_error("a job that is fed through sluicectl needs it until its end, without --no-wait",
                           NULL);
    }
    return feeds ? send_fed(options, request, spec.name) : send_job(options, request, spec.name, wait, false);
}

/* "show plan" of a job that is planned for it; the option is that of show plan. */
static int job_plan(const struct options *options, const struct command_words *words)
{
    static struct job_spec spec;
    enum ctl_show what = options->option != NULL && is_plan_option(options->option)
                             ? ctl_show_find_option(options->option)
                             : CTL_SHOW_plan;
    json_t *request = request_of_file(words, &spec);
    if (request == NULL)
        return EXIT_USAGE;
    struct client client;
    int result = open_appliance(&client, options);
    if (result != EXIT_OK) {
        json_decref(request);
        return result;
    }
    result = job_plan_print(&client, request, spec.name, what, options->json);
    client_close(&client);
    return result;
}

static int probe(const struct options *options, const struct command_words *words)
{
    struct client client;
    int result = open_appliance(&client, options);
    if (result != EXIT_OK)
        return result;
    json_t *request =
        json_pack("{s:s, s:s}", "command", command_rows[words->kind].words, "peer", words->arguments[0]);
    if (words->arguments[1][0] != '\0')
        json_object_set_new(request, "to", json_string(words->arguments[1]));
    result = probe_and_print(&client, request, words->arguments[0], words->arguments[1], options->json,
                             options->file);
    client_close(&client);
    return result;
}

static int probe_all(const struct options *options, const struct command_words *words)
{
    struct client client;
    int result = open_appliance(&client, options);
    if (result != EXIT_OK)
        return result;
    const struct probe_all_options what = {.order = options->order || words->kind == COMMAND_PROBE_ORDER,
                                           .yes = options->yes,
                                           .json = options->json};
    result = probe_all_follow(&client, &what);
    client_close(&client);
    return result;
}

static int job_watch(const struct options *options, const struct command_words *words)
{
    struct client client;
    int result = open_appliance(&client, options);
    if (result == EXIT_OK)
        result = follow_job(&client, words->arguments[0], words->arguments[0], false, false, options->json);
    client_close(&client);
    return result;
}

static int key(const struct options *options, const struct command_words *words)
{
    const char *environment = getenv("SLUICE_CONFIG");
    if (words->kind == COMMAND_KEY_SHOW)
        return key_show(options->config != NULL ? options->config : environment, options->name,
                        options->json);
    if (options->config != NULL)
        return usage_error("-c is an option of key show", NULL);
    if (options->name != NULL && words->arguments[0][0] != '\0')
        return usage_error("-n and a file, expected one of them", NULL);
    return key_gen(words->arguments[0], options->name, options->json);
}

static int help(const struct options *options, const struct command_words *words)
{
    (void)options;
    if (words->kind == COMMAND_HELP_JOB)
        conf_print_help("job", stdout);
    else
        print_usage(stdout);
    return EXIT_OK;
}

/* Those that are more than a request. */
static int (*const special[COMMAND_COUNT])(const struct options *, const struct command_words *) = {
    [COMMAND_SHOW] = show,
    [COMMAND_JOB_RUN] = job_run,
    [COMMAND_JOB_PLAN] = job_plan,
    [COMMAND_JOB_WATCH] = job_watch,
    [COMMAND_HELP] = help,
    [COMMAND_HELP_JOB] = help,
    [COMMAND_KEY_GEN] = key,
    [COMMAND_KEY_SHOW] = key,
    [COMMAND_PROBE] = probe,
    [COMMAND_PROBE_ALL] = probe_all,
    [COMMAND_PROBE_ORDER] = probe_all,
};

/* The command as one line; false: too long. */
static bool join(const struct options *options, char line[LINE_BYTES])
{
    size_t length = 0;
    line[0] = '\0';
    for (int index = 0; index < options->count && length < LINE_BYTES; index++)
        length += (size_t)snprintf(line + length, LINE_BYTES - length, "%s%s", index > 0 ? " " : "",
                                   options->words[index]);
    return length < LINE_BYTES;
}

static bool option_fits(const char *option, enum command_kind kind)
{
    return option == NULL || (kind == COMMAND_SHOW && is_plan_option(option)) ||
           (kind == COMMAND_JOB_PLAN && (is_plan_option(option) || strcmp(option, "--dry-run") == 0)) ||
           (kind == COMMAND_PROBE && strcmp(option, PLOT_OPTION) == 0) ||
           (kind == COMMAND_JOB_RUN && (strcmp(option, "--no-wait") == 0 || strcmp(option, "--wait") == 0));
}

/* Of probe all, in any order. */
static void take_round_options(struct options *options)
{
    for (; options->count > 0; options->count--) {
        const char *last = options->words[options->count - 1];
        if (strcmp(last, "--order") == 0)
            options->order = true;
        else if (strcmp(last, "--yes") == 0)
            options->yes = true;
        else
            return;
    }
}

static bool takes_path(enum command_kind kind)
{
    return kind == COMMAND_JOB_RUN || kind == COMMAND_JOB_PLAN || kind == COMMAND_KEY_GEN;
}

/* What is behind job run, job plan and key gen is a path, with whatever bytes and blanks are in it; of all other words no byte has a meaning
 * that is no UTF-8. NULL: good; else the first that is none, to be shown. */
static const char *check_words(const struct options *options, struct command_words *words)
{
    if (takes_path(words->kind)) {
        if (options->count == 3)
            words->arguments[0] = options->words[2];
        return NULL;
    }
    for (int index = 0; index < options->count; index++)
        if (!text_printable(options->words[index])) {
            text_make_printable(options->words[index]);
            return options->words[index];
        }
    return NULL;
}

static bool round_options_fit(const struct options *options, enum command_kind kind)
{
    bool round = kind == COMMAND_PROBE_ALL || kind == COMMAND_PROBE_ORDER;
    return round || (!options->order && !options->yes);
}

static bool key_options_fit(const struct options *options)
{
    bool key = options->count > 0 && strcmp(options->words[0], "key") == 0;
    return key || options->config == NULL;
}

static int run(struct options *options)
{
    static char line[LINE_BYTES];
    struct command_words words;
    struct err err;
    if (!key_options_fit(options))
        return usage_error("-c is an option of key", NULL);
    if (options->count > 0 && strcmp(options->words[0], "send") == 0)
        return send_file(options);
    if (options->count > 1 && strcmp(options->words[options->count - 2], PLOT_OPTION) == 0)
        options->file = options->words[--options->count];
    take_round_options(options);
    if (options->count > 0 && strncmp(options->words[options->count - 1], "--", 2) == 0)
        options->option = options->words[--options->count];
    if (options->count == 0)
        return usage_error("no command", NULL);
    if (!join(options, line))
        return usage_error("the command is too long", NULL);
    if (!command_parse(&words, COMMAND_AT_SLUICECTL, line, &err))
        return usage_error(err.text, NULL);
    const char *unfit = check_words(options, &words);
    if (unfit != NULL)
        return usage_error("a word that is no UTF-8, or has control characters", unfit);
    if (!option_fits(options->option, words.kind))
        return usage_error("unknown option", options->option);
    if (!round_options_fit(options, words.kind))
        return usage_error("--order and --yes are options of probe all", NULL);
    if (words.kind == COMMAND_PROBE && options->option != NULL && words.arguments[1][0] != '\0')
        return usage_error("of a path that another node measures no train is kept here", options->option);
    if (words.kind == COMMAND_PROBE && options->option != NULL && options->file == NULL)
        return usage_error("what file is the picture to be written to", options->option);
    return (special[words.kind] != NULL ? special[words.kind] : pass_on)(options, &words);
}

/* An option with a value of its own, "-s VALUE", "--socket VALUE" or "--socket=VALUE". */
struct valued_option {
    const char *letter, *word, *missing; /* usage error without its value */
    const char **value;
};

/* Whether words[*index] is that option; *index goes on to its value, or to the end where there is none. */
static bool take_valued(const struct valued_option *option, int argc, char **argv, int *index)
{
    const char *word = argv[*index];
    size_t length = strlen(option->word);
    if (strcmp(word, option->letter) == 0 || strcmp(word, option->word) == 0) {
        if (++*index < argc)
            *option->value = argv[*index];
        return true;
    }
    if (strncmp(word, option->word, length) != 0 || word[length] != '=')
        return false;
    *option->value = word + length + 1;
    return true;
}

/* An option of sluicectl itself may stand anywhere before "--"; all else is left to the command. NULL: good; else what is
 * missing. */
static const char *take_general(struct options *options, int argc, char **argv, bool *help)
{
    const struct valued_option valued[] = {{"-s", "--socket", "which socket", &options->socket},
                                           {"-c", "--config", "which node file", &options->config},
                                           {"-n", "--name", "which name", &options->name}};
    bool end = false;
    options->words = argv;
    for (int index = 1; index < argc; index++) {
        char *word = argv[index];
        unsigned row = 0;
        while (!end && row < LENGTH(valued) && !take_valued(&valued[row], argc, argv, &index))
            row++;
        if (!end && row < LENGTH(valued) && index == argc)
            return valued[row].missing;
        if (!end && row < LENGTH(valued))
            continue;
        if (!end && strcmp(word, "--") == 0)
            end = true;
        else if (!end && (strcmp(word, "-j") == 0 || strcmp(word, "--json") == 0))
            options->json = true;
        else if (!end && (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0))
            *help = true;
        else
            options->words[options->count++] = word;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct options options = {.socket = getenv("SLUICE_SOCKET")};
    bool help = false;
    if (version_asked(argc, argv, "sluicectl"))
        return EXIT_OK;
    const char *missing = take_general(&options, argc, argv, &help);
    answer_as_json(options.json);
    if (missing == NULL && help)
        print_usage(stdout);
    return answer_end(missing != NULL ? usage_error(missing, NULL) : help ? EXIT_OK : run(&options));
}
