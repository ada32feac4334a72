/* sluice-planner: command line and signals. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "conf/conf.h"
#include "conf/value.h"
#include "planner/auto.h"
#include "planner/large.h"
#include "planner/program.h"
#include "planner/solve.h"

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    stop = number;
}

struct arguments {
    const char *ring, *offline;
    struct large_files large; /* rtt_ms: `offline` is a list of hosts */
    enum plan_form form;
};

static void print_help(FILE *stream)
{
    fputs("sluice-planner --ring PATH | --offline NET.yaml [--json | --dot | --svg]\n"
          "sluice-planner --offline HOSTS.csv --rtt RTT.csv [--avb AVB.csv] [--size BYTES] [--trees N] "
          "[--json]\n"
          "  -r, --ring PATH     serve the node whose control ring this is (control.ring of its file)\n"
          "  -o, --offline FILE  plan once from a net file (YAML or JSON) and print the plan\n"
          "  -j, --json          print it as one JSON object\n"
          "      --dot, --svg    print it as a drawing, for Graphviz or as a picture\n"
          "Nets of up to 1000 hosts:\n"
          "      --rtt FILE      RTTs in ms, from\\to; FILE of --offline is then name,up_mbps,down_mbps,role "
          "with\n"
          "                      role source, receiver or relay\n"
          "      --avb FILE      available bandwidth in Mbit/s, from\\to\n"
          "      --size BYTES    of the object, like 2GB; default: a stream\n"
          "      --trees N       at most 1 to 8; default 4\n"
          "      --version       program version\n"
          "  -h, --help          this text\n"
          "Exit status: 0 stopped as asked or planned, 1 no plan is possible, 2 wrong usage or file.\n",
          stream);
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static bool take_trees(const char *text, uint16_t *trees)
{
    uint64_t value;
    bool good = value_parse_decimal(text, 0, &value) && value >= 1 && value <= PLAN_TREES_MAX;
    *trees = good ? (uint16_t)value : 0;
    return good;
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
    case 't':
        arguments->large.rtt_ms = optarg;
        return true;
    case 'a':
        arguments->large.avb_mbps = optarg;
        return true;
    case 's':
        return conf_parse_size(optarg, &arguments->large.size_bytes);
    case 'k':
        return take_trees(optarg, &arguments->large.trees_max);
    default:
        return false;
    }
}

static bool check_arguments(const struct arguments *arguments, int left)
{
    const struct large_files *large = &arguments->large;
    bool of_large = large->avb_mbps != NULL || large->size_bytes != 0 || large->trees_max != 0;
    return left == 0 && (arguments->ring == NULL) != (arguments->offline == NULL) &&
           (arguments->offline != NULL || (arguments->form == PLAN_FORM_TEXT && large->rtt_ms == NULL)) &&
           (large->rtt_ms == NULL || arguments->form <= PLAN_FORM_JSON) &&
           (large->rtt_ms != NULL || !of_large);
}

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
                               ? plan_offline(arguments->offline, arguments->form, &arena)
                               : serve_ring(arguments->ring, &arena, &stop);
    free(memory);
    return end;
}

int main(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"ring", required_argument, NULL, 'r'},  {"offline", required_argument, NULL, 'o'},
        {"dot", no_argument, NULL, 'd'},         {"svg", no_argument, NULL, 'g'},
        {"json", no_argument, NULL, 'j'},        {"rtt", required_argument, NULL, 't'},
        {"avb", required_argument, NULL, 'a'},   {"size", required_argument, NULL, 's'},
        {"trees", required_argument, NULL, 'k'}, {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0},
    };
    struct arguments arguments = {0};
    int letter;
    while ((letter = getopt_long(argc, argv, "r:o:jh", long_options, NULL)) != -1) {
        if (letter == 'v') {
            printf("sluice-planner %s\n", SLUICE_VERSION);
            return PROGRAM_DONE;
        }
        if (letter == 'h') {
            print_help(stdout);
            return PROGRAM_DONE;
        }
        if (!take_option(letter, &arguments)) {
            print_help(stderr);
            return PROGRAM_USAGE;
        }
    }
    if (!check_arguments(&arguments, argc - optind)) {
        print_help(stderr);
        return PROGRAM_USAGE;
    }
    if (arguments.large.rtt_ms == NULL)
        return run(&arguments);
    if (arguments.large.trees_max == 0)
        arguments.large.trees_max = AUTO_TREES_MAX;
    return plan_large(&arguments.large, arguments.form == PLAN_FORM_JSON);
}
