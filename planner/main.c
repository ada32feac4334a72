/* sluice-planner: command line and signals. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/version.h"
#include "conf/conf.h"
#include "conf/value.h"
#include "planner/auto.h"
#include "planner/large.h"
#include "planner/program.h"
#include "planner/solve.h"

static volatile sig_atomic_t stop;

/* The second one ends it, whatever hangs (the filesystem of the history). */
static void on_signal(int number)
{
    stop = number;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

struct arguments {
    const char *ring, *offline;
    const char *edge;         /* FROM,TO; NULL: the plan is asked for */
    struct large_files large; /* rtt_ms: `offline` is a list of hosts */
    enum plan_form form;
    struct history_options history;
};

static void print_help(void)
{
    fputs("sluice-planner --ring PATH | --offline NET.yaml [--json | --dot | --svg | --why FROM,TO]\n"
          "sluice-planner --offline HOSTS.csv --rtt RTT.csv [--avb AVB.csv] [--size BYTES] [--trees N] "
          "[--json]\n"
          "  -r, --ring PATH     serve the node whose control ring this is (control.ring of its file)\n"
          "      --history FILE  what nodes tell of edges is kept there; without it, as long as the planner "
          "runs\n"
          "      --history-rows N, --history-days N\n"
          "                      of each edge at most, 1 to 1000000, default 2000; and no older, 1 to 3650, "
          "default 30\n"
          "  -o, --offline FILE  plan once from a net file (YAML or JSON) and print the plan\n"
          "      --help-net      what a net file may say; conf/nets has an example\n"
          "  -j, --json          print it as one JSON object\n"
          "      --dot, --svg    print it as a drawing, for Graphviz or as a picture\n"
          "      --why FROM,TO   print instead why the plan uses the edge or does not: what forbids it, or "
          "what "
          "rate and\n"
          "                      delay would become\n"
          "Nets of up to 1000 hosts:\n"
          "      --rtt FILE      RTTs in ms, from\\to; FILE of --offline is then name,up_mbps,down_mbps,role "
          "with\n"
          "                      role source, receiver or relay\n"
          "      --avb FILE      available bandwidth in Mbit/s, from\\to\n"
          "      --size BYTES    of the object, like 2GB; default: a stream\n"
          "      --trees N       at most 1 to 8; default 4\n"
          "      --version       release and commit\n"
          "  -h, --help          this text\n"
          "Exit status: 0 stopped as asked or planned, 1 no plan is possible, 2 wrong usage or file.\n",
          stdout);
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGHUP, SIG_IGN); /* a terminal that closes is no word to a planner */
}

static bool take_count(const char *text, uint64_t most, unsigned *count)
{
    uint64_t value;
    bool good = value_parse_decimal(text, 0, &value) && value >= 1 && value <= most;
    *count = good ? (unsigned)value : 0;
    return good;
}

static bool take_trees(const char *text, uint16_t *trees)
{
    unsigned count;
    bool good = take_count(text, PLAN_TREES_MAX, &count);
    *trees = (uint16_t)count;
    return good;
}

static bool refuse(const char *option, const char *expected)
{
    fprintf(stderr, "sluice-planner: %s: \"%.60s\", expected %s\n", option, optarg, expected);
    return false;
}

static bool take_option(int letter, struct arguments *arguments)
{
    switch (letter) {
    case 'r':
        arguments->ring = optarg;
        return true;
    case 'o':
        arguments->offline = arguments->large.hosts = optarg;
        return true;
    case 'j':
        arguments->form = PLAN_FORM_JSON;
        return true;
    case 'd':
        arguments->form = PLAN_FORM_DOT;
        return true;
    case 'g':
        arguments->form = PLAN_FORM_SVG;
        return true;
    case 'y':
        arguments->edge = optarg;
        return true;
    case 't':
        arguments->large.rtt_ms = optarg;
        return true;
    case 'a':
        arguments->large.avb_mbps = optarg;
        return true;
    case 'H':
        arguments->history.path = optarg;
        return true;
    case 'R':
        return take_count(optarg, 1000000, &arguments->history.rows) ||
               refuse("--history-rows", "1 to 1000000");
    case 'D':
        return take_count(optarg, 3650, &arguments->history.days) || refuse("--history-days", "1 to 3650");
    case 's':
        return conf_parse_size(optarg, &arguments->large.size_bytes) || refuse("--size", "a size like 2GB");
    case 'k':
        return take_trees(optarg, &arguments->large.trees_max) || refuse("--trees", "1 to 8");
    default:
        return false; /* getopt has said why */
    }
}

/* What does not go together, for people; NULL: nothing. */
static const char *contradiction(const struct arguments *arguments, int left)
{
    const struct large_files *large = &arguments->large;
    bool of_large = large->avb_mbps != NULL || large->size_bytes != 0 || large->trees_max != 0;
    if (left != 0)
        return "more words than options take";
    if ((arguments->ring == NULL) == (arguments->offline == NULL))
        return "expected either --ring or --offline";
    if (arguments->ring != NULL &&
        (arguments->form != PLAN_FORM_TEXT || large->rtt_ms != NULL || arguments->edge != NULL))
        return "--json, --dot, --svg, --why and --rtt are for --offline";
    if (arguments->ring == NULL && arguments->history.path != NULL)
        return "--history is for --ring";
    if (large->rtt_ms != NULL && arguments->form > PLAN_FORM_JSON)
        return "--dot and --svg are for net files, not for CSV files";
    if (arguments->edge != NULL && (large->rtt_ms != NULL || arguments->form != PLAN_FORM_TEXT))
        return "--why is for net files, and answers in text";
    if (large->rtt_ms == NULL && of_large)
        return "--avb, --size and --trees are for CSV files, with --rtt; a net file has keys for them";
    return NULL;
}
_Static_assert(PLAN_TREES_MAX == 8, "what --trees is said to take");

/* What jobs may have: in one arena, made once. */
static enum program_end run(const struct arguments *arguments)
{
    struct arena arena;
    void *memory = aligned_alloc(ARENA_ALIGN, arena_need(solve_bytes()));
    if (memory == NULL) {
        fprintf(stderr, "sluice-planner: %zu MB of memory are missing\n", solve_bytes() / 1000000 + 1);
        return PROGRAM_NO_PLAN;
    }
    arena_init(&arena, memory, solve_bytes());
    if (arguments->ring != NULL)
        catch_signals();
    enum program_end end = arguments->offline != NULL
                               ? plan_offline(arguments->offline, arguments->form, arguments->edge, &arena)
                               : serve_ring(arguments->ring, &arguments->history, &arena, &stop);
    free(memory);
    return end;
}

/* False: there is nothing to do any more, and *end says how it ended. */
static bool read_arguments(int argc, char **argv, struct arguments *arguments, enum program_end *end)
{
    static const struct option long_options[] = {
        {"ring", required_argument, NULL, 'r'},
        {"offline", required_argument, NULL, 'o'},
        {"why", required_argument, NULL, 'y'},
        {"dot", no_argument, NULL, 'd'},
        {"svg", no_argument, NULL, 'g'},
        {"json", no_argument, NULL, 'j'},
        {"rtt", required_argument, NULL, 't'},
        {"avb", required_argument, NULL, 'a'},
        {"size", required_argument, NULL, 's'},
        {"trees", required_argument, NULL, 'k'},
        {"help", no_argument, NULL, 'h'},
        {"help-net", no_argument, NULL, 'n'},
        {"history", required_argument, NULL, 'H'},
        {"history-rows", required_argument, NULL, 'R'},
        {"history-days", required_argument, NULL, 'D'},
        {NULL, 0, NULL, 0},
    };
    const char *wrong = NULL;
    *end = PROGRAM_DONE;
    for (int letter; (letter = getopt_long(argc, argv, "r:o:jh", long_options, NULL)) != -1;) {
        if (letter == 'h')
            print_help();
        if (letter == 'n')
            conf_print_help("net", stdout);
        if (letter == 'h' || letter == 'n')
            return false;
        if (!take_option(letter, arguments)) {
            *end = PROGRAM_USAGE;
            break;
        }
    }
    if (*end == PROGRAM_DONE && (wrong = contradiction(arguments, argc - optind)) == NULL)
        return true;
    *end = PROGRAM_USAGE;
    if (wrong != NULL)
        fprintf(stderr, "sluice-planner: %s\n", wrong);
    fprintf(stderr, "sluice-planner --help says how it is used\n");
    return false;
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.history = {.rows = HISTORY_ROWS, .days = HISTORY_DAYS}};
    enum program_end end;
    if (version_asked(argc, argv, "sluice-planner"))
        return 0;
    if (!read_arguments(argc, argv, &arguments, &end))
        return end;
    if (arguments.large.rtt_ms == NULL)
        return run(&arguments);
    if (arguments.large.trees_max == 0)
        arguments.large.trees_max = AUTO_TREES_MAX;
    return plan_large(&arguments.large, arguments.form == PLAN_FORM_JSON);
}
