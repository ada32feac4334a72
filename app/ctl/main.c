/* sluicectl: says what to do to a running appliance. See README.md for protocol and exit codes. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "ctl/ctl.h"
#include "app/ctl/follow.h"
#include "app/ctl/input.h"

#define SOCKET_DEFAULT "/run/sluice/sluice.sock"
#define REQUEST_TEXT   (512u << 10) /* of a job file; escaped it must fit a request line of 1 MiB */

struct options {
    const char *socket;
    bool json;
    int count;
    char **words; /* the command */
};

static void print_usage(FILE *stream)
{
    fprintf(stream,
            "usage: sluicectl [-s SOCKET] [--json] COMMAND\n\n"
            "  job run FILE.yaml [--no-wait]  start a job and follow it; Ctrl-C detaches. A job with\n"
            "                                 object: {stream: \"-\"} sends the standard input\n"
            "  job watch NAME                 follow a job\n"
            "  job cancel NAME\n"
            "  job pause NAME                 nothing of it is sent until job resume NAME\n"
            "  job set NAME KEY VALUE         rate 200Mbps | rate none | priority high | dscp af11\n"
            "  job manifest NAME              what every site got: size, hash, time, path\n"
            "  job list                       short for show jobs\n");
    for (unsigned show = 0; show < CTL_SHOW_COUNT; show++)
        fprintf(stream, "  show %-25s %s\n", ctl_show_name(show), ctl_show_help(show));
    fprintf(stream,
            "  help [job|counters]            this, the reference of job files, or of the appliance's "
            "counters\n\n"
            "SOCKET: of -s, of $SLUICE_SOCKET, or " SOCKET_DEFAULT "\n"
            "exit status: 0 done, 1 the job failed, 2 usage or a faulty job file, 3 no appliance there,\n"
            "4 the appliance refused, 130 detached\n");
}

static int usage_error(const char *what, const char *word)
{
    fprintf(stderr, "sluicectl: %s%s%s\n\n", what, word != NULL ? ": " : "", word != NULL ? word : "");
    print_usage(stderr);
    return EXIT_USAGE;
}

/* One request, its text to stdout. */
static int ask_and_print(const struct options *options, json_t *request)
{
    struct client client;
    char *text = NULL;
    int result = client_open(&client, options->socket);
    if (result != EXIT_OK) {
        json_decref(request);
        return result;
    }
    result = client_ask(&client, request, &text);
    client_close(&client);
    if (result != EXIT_OK)
        return result;
    size_t length = strlen(text);
    printf("%s%s", text, length > 0 && text[length - 1] != '\n' ? "\n" : "");
    free(text);
    return EXIT_OK;
}

static int show(const struct options *options)
{
    if (options->count != 2)
        return usage_error("show what?", NULL);
    if (ctl_show_find(options->words[1]) == CTL_SHOW_COUNT)
        return usage_error("unknown word after show", options->words[1]);
    return ask_and_print(options, json_pack("{s:s, s:s, s:b}", "command", "show", "what", options->words[1],
                                            "json", options->json));
}

/* Looks through the job file before anything is sent: its mistakes are the user's, with file and line. */
static char *read_job(const char *path, struct job_spec *spec)
{
    struct conf_errors errors;
    char *text = NULL;
    FILE *file = fopen(path, "re");
    size_t length = 0;
    if (file != NULL) {
        text = calloc(1, REQUEST_TEXT + 1);
        length = text != NULL ? fread(text, 1, REQUEST_TEXT + 1, file) : 0;
    }
    if (file == NULL || text == NULL || ferror(file) || length > REQUEST_TEXT) {
        fprintf(stderr, "sluicectl: %s: %s\n", path,
                length > REQUEST_TEXT ? "too long for a job file" : strerror(errno));
        free(text);
        text = NULL;
    }
    if (file != NULL)
        fclose(file);
    if (text != NULL && !conf_read_job(path, text, spec, &errors)) {
        conf_errors_print(&errors, stderr);
        free(text);
        text = NULL;
    }
    return text;
}

static int start_job(struct client *client, json_t *request, const char *name, bool wait, bool feeds,
                     bool json)
{
    char *text = NULL;
    int result = client_ask(client, request, &text);
    if (result == EXIT_OK && wait)
        result = follow_job(client, name, true, feeds, json);
    else if (result == EXIT_OK)
        printf("%s\n", text);
    free(text);
    return result;
}

static int send_job(const struct options *options, json_t *request, const char *name, bool wait, bool feeds)
{
    struct client client;
    int result = client_open(&client, options->socket);
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

static int job_run(const struct options *options)
{
    static struct job_spec spec;
    char absolute[PATH_MAX];
    const char *path = options->words[2];
    bool wait = options->count < 4 || strcmp(options->words[3], "--no-wait") != 0;
    if (options->count > 4 || (options->count == 4 && wait && strcmp(options->words[3], "--wait") != 0))
        return usage_error("job run FILE.yaml [--no-wait]", NULL);
    char *text = read_job(path, &spec);
    if (text == NULL || realpath(path, absolute) == NULL) {
        free(text);
        return EXIT_USAGE;
    }
    bool feeds = spec.object == PART_OBJECT_STREAM && strcmp(spec.file, CONF_JOB_STDIN) == 0;
    if (feeds && !wait) {
        free(text);
        return usage_error("a job that is fed through sluicectl needs it until its end, without --no-wait",
                           NULL);
    }
    json_t *request = json_pack("{s:s, s:s, s:s, s:b}", "command", "job run", "path", absolute, "text", text,
                                "json", options->json);
    free(text);
    return feeds ? send_fed(options, request, spec.name) : send_job(options, request, spec.name, wait, false);
}

static int job_watch(const struct options *options)
{
    struct client client;
    int result = client_open(&client, options->socket);
    if (result == EXIT_OK)
        result = follow_job(&client, options->words[2], false, false, options->json);
    client_close(&client);
    return result;
}

static int ask_about_job(const struct options *options, const char *command)
{
    return ask_and_print(options, json_pack("{s:s, s:s, s:b}", "command", command, "name", options->words[2],
                                            "json", options->json));
}

/* The value is looked at by the appliance, whose table says what there is to be set. */
static int job_set(const struct options *options)
{
    if (options->count != 5)
        return usage_error("job set NAME KEY VALUE", NULL);
    return ask_and_print(options,
                         json_pack("{s:s, s:s, s:s, s:s}", "command", "job set", "name", options->words[2],
                                   "key", options->words[3], "value", options->words[4]));
}

static int job(const struct options *options)
{
    if (options->count == 2 && strcmp(options->words[1], "list") == 0)
        return ask_and_print(
            options, json_pack("{s:s, s:s, s:b}", "command", "show", "what", "jobs", "json", options->json));
    if (options->count < 3)
        return usage_error("job run FILE.yaml, or job watch, cancel, pause, resume or set NAME", NULL);
    if (strcmp(options->words[1], "run") == 0)
        return job_run(options);
    if (strcmp(options->words[1], "set") == 0)
        return job_set(options);
    if (options->count > 3)
        return usage_error("unexpected word", options->words[3]);
    if (strcmp(options->words[1], "watch") == 0)
        return job_watch(options);
    if (strcmp(options->words[1], "cancel") == 0)
        return ask_about_job(options, "job cancel");
    if (strcmp(options->words[1], "pause") == 0)
        return ask_about_job(options, "job pause");
    if (strcmp(options->words[1], "resume") == 0)
        return ask_about_job(options, "job resume");
    if (strcmp(options->words[1], "manifest") == 0)
        return ask_and_print(options, json_pack("{s:s, s:s, s:s, s:b}", "command", "show", "what", "manifest",
                                                "job", options->words[2], "json", options->json));
    return usage_error("unknown word after job", options->words[1]);
}

static int help(const struct options *options)
{
    if (options->count == 2 && strcmp(options->words[1], "counters") == 0)
        return ask_and_print(options, json_pack("{s:s}", "command", "help counters"));
    if (options->count == 2 && strcmp(options->words[1], "job") == 0)
        conf_print_help("job", stdout);
    else
        print_usage(stdout);
    return EXIT_OK;
}

static int run(const struct options *options)
{
    if (options->count == 0)
        return usage_error("no command", NULL);
    if (strcmp(options->words[0], "show") == 0)
        return show(options);
    if (strcmp(options->words[0], "job") == 0)
        return job(options);
    if (strcmp(options->words[0], "help") == 0)
        return help(options);
    return usage_error("unknown command", options->words[0]);
}

int main(int argc, char **argv)
{
    static const struct option long_options[] = {{"socket", required_argument, NULL, 's'},
                                                 {"json", no_argument, NULL, 'j'},
                                                 {"help", no_argument, NULL, 'h'},
                                                 {NULL, 0, NULL, 0}};
    const char *environment = getenv("SLUICE_SOCKET");
    struct options options = {.socket = environment != NULL ? environment : SOCKET_DEFAULT};
    /* '+': options end at the command, whose own words may begin with a minus sign */
    for (int letter; (letter = getopt_long(argc, argv, "+s:jh", long_options, NULL)) != -1;) {
        if (letter == 's') {
            options.socket = optarg;
        } else if (letter == 'j') {
            options.json = true;
        } else if (letter == 'h') {
            print_usage(stdout);
            return EXIT_OK;
        } else {
            print_usage(stderr);
            return EXIT_USAGE;
        }
    }
    options.count = argc - optind;
    options.words = argv + optind;
    return run(&options);
}
