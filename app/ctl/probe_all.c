#include "app/ctl/probe_all.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/ctl/probe.h"
#include "base/name.h"
#include "base/units.h"
#include "ctl/command.h"

#define POLL_NS    (200 * NS_PER_MS)
#define MEET_POLLS 25 /* nodes tell in a round trip or two */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

static int ask(struct client *client, enum command_kind kind)
{
    char *text = NULL;
    int result = client_ask(client, json_pack("{s:s}", "command", command_rows[kind].words), &text);
    free(text);
    return result;
}

static void rest(void)
{
    struct timespec pause = {.tv_nsec = (long)POLL_NS};
    nanosleep(&pause, NULL);
}

static bool is_state(const json_t *probes, const char *state)
{
    const char *word = json_string_value(json_object_get(json_object_get(probes, "all"), "state"));
    return word != NULL && strcmp(word, state) == 0;
}

static long long number(const json_t *probes, const char *key)
{
    return (long long)json_integer_value(json_object_get(json_object_get(probes, "all"), key));
}

static double real(const json_t *probes, const char *key)
{
    return json_number_value(json_object_get(json_object_get(probes, "all"), key));
}

static void print_cost(const json_t *probes)
{
    fprintf(stderr,
            "%lld nodes, %lld pairs: at most %lld trains, %.1f MB in all, %.1f MB sent by each node and as "
            "much received, %.1f s\n",
            number(probes, "nodes"), number(probes, "cost_pairs"), number(probes, "cost_trains"),
            (double)number(probes, "cost_bytes") / 1e6, (double)number(probes, "cost_node_bytes") / 1e6,
            real(probes, "cost_s"));
}

/* Where nobody sits at a terminal nobody is asked. */
static bool wants_start(const struct probe_all_options *options)
{
    char line[16];
    if (options->yes || !isatty(STDIN_FILENO))
        return true;
    fprintf(stderr, "start? [y/N] ");
    return fgets(line, sizeof(line), stdin) != NULL && (line[0] == 'y' || line[0] == 'Y');
}

/* What it costs, printed. */
static int reckon(struct client *client, const struct probe_all_options *options)
{
    int result = ask(client, options->order ? COMMAND_PROBE_ORDER : COMMAND_PROBE_ALL);
    for (unsigned polls = 0; result == EXIT_OK; polls++) {
        json_t *probes = probe_ask_all(client, &result);
        bool ready = probes != NULL && is_state(probes, "ready");
        bool meeting = probes != NULL && is_state(probes, "meeting");
        if (ready)
            print_cost(probes);
        json_decref(probes);
        if (ready)
            return EXIT_OK;
        if (result == EXIT_OK && (!meeting || polls == MEET_POLLS)) {
            complain("the appliance tells no cost");
            return EXIT_REFUSED;
        }
        if (result == EXIT_OK)
            rest();
    }
    return result;
}

static void print_progress(const json_t *probes)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%lld of %lld pairs known, %lld trains, %.1f MB, %.1f s left   ",
                number(probes, "known"), number(probes, "cost_pairs"), number(probes, "trains"),
                (double)number(probes, "sent_bytes") / 1e6, real(probes, "left_s"));
}

/* What the words of refusals mean: each once. */
static void print_helps(const json_t *pairs)
{
    const json_t *row, *other;
    size_t index, before;
    json_array_foreach(pairs, index, row)
    {
        const char *help = probe_row_help(row);
        bool told = help[0] == '\0';
        json_array_foreach(pairs, before, other)
        {
            if (before == index)
                break;
            told |= strcmp(probe_row_help(other), help) == 0;
        }
        if (!told)
            printf("  %s: %s\n", json_string_value(json_object_get(row, "why")), help);
    }
}

static void print_pairs(const json_t *probes)
{
    const json_t *row;
    size_t index;
    json_array_foreach(json_object_get(probes, "pairs"), index, row)
    {
        char name[2 * NAME_BYTES + 4];
        snprintf(name, sizeof(name), "%s > %s", json_string_value(json_object_get(row, "from")),
                 json_string_value(json_object_get(row, "to")));
        probe_print_row(row, name, true);
    }
    print_helps(json_object_get(probes, "pairs"));
    const char *silent = json_string_value(json_object_get(json_object_get(probes, "all"), "silent"));
    printf("%lld of %lld pairs known, %lld refused; %lld trains, %.1f MB, %.1f s%s%s\n",
           number(probes, "known"), number(probes, "cost_pairs"), number(probes, "refused"),
           number(probes, "trains"), (double)number(probes, "sent_bytes") / 1e6, real(probes, "took_s"),
           silent != NULL && silent[0] != '\0' ? "; no answer: " : "", silent != NULL ? silent : "");
}

static int finish(const json_t *probes, const struct probe_all_options *options)
{
    long long found = number(probes, "known") + number(probes, "refused");
    if (isatty(STDERR_FILENO))
        fputc('\n', stderr);
    if (options->json)
        answer_json(probes);
    else
        print_pairs(probes);
    if (interrupted)
        return EXIT_DETACHED;
    return found >= number(probes, "cost_pairs") ? EXIT_OK : EXIT_JOB_FAILED;
}

/* To its end, or until somebody interrupts it. */
static int follow(struct client *client, const struct probe_all_options *options)
{
    bool stopped = false;
    for (;;) {
        int result;
        if (interrupted && !stopped) {
            ask(client, COMMAND_PROBE_STOP);
            stopped = true;
        }
        json_t *probes = probe_ask_all(client, &result);
        if (probes == NULL)
            return result;
        if (!is_state(probes, "running")) {
            result = finish(probes, options);
            json_decref(probes);
            return result;
        }
        print_progress(probes);
        json_decref(probes);
        if (!interrupted)
            rest();
    }
}

int probe_all_follow(struct client *client, const struct probe_all_options *options)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    client_be_patient(client, NULL);
    int result = reckon(client, options);
    if (result != EXIT_OK)
        return result;
    if (!wants_start(options)) {
        fprintf(stderr, "nothing was sent\n");
        return EXIT_OK;
    }
    sigaction(SIGINT, &action, NULL);
    result = ask(client, COMMAND_PROBE_START);
    return result == EXIT_OK ? follow(client, options) : result;
}
