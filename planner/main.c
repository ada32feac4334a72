/* sluice-planner: command line and signals. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "planner/program.h"
#include "planner/solve.h"

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    stop = number;
}

static void print_help(FILE *stream)
{
    fputs("sluice-planner --ring PATH | --offline NET.yaml [--json]\n"
          "  -r, --ring PATH     serve the node whose control ring this is (control.ring of its file)\n"
          "  -o, --offline FILE  plan once from a net file (YAML or JSON) and print the plan\n"
          "  -j, --json          print it as one JSON object\n"
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

int main(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"ring", required_argument, NULL, 'r'}, {"offline", required_argument, NULL, 'o'},
        {"json", no_argument, NULL, 'j'},       {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},       {NULL, 0, NULL, 0},
    };
    const char *ring = NULL, *offline = NULL;
    bool json = false;
    int letter;
    while ((letter = getopt_long(argc, argv, "r:o:jh", long_options, NULL)) != -1) {
        switch (letter) {
        case 'r':
            ring = optarg;
            break;
        case 'o':
            offline = optarg;
            break;
        case 'j':
            json = true;
            break;
        case 'v':
            printf("sluice-planner %s\n", SLUICE_VERSION);
            return PROGRAM_DONE;
        case 'h':
            print_help(stdout);
            return PROGRAM_DONE;
        default:
            print_help(stderr);
            return PROGRAM_USAGE;
        }
    }
    if (optind != argc || (ring == NULL) == (offline == NULL) || (json && offline == NULL)) {
        print_help(stderr);
        return PROGRAM_USAGE;
    }
    void *memory = aligned_alloc(ARENA_ALIGN, arena_need(solve_bytes()));
    if (memory == NULL) {
        fprintf(stderr, "sluice-planner: %zu MB of memory are missing\n", solve_bytes() / 1000000 + 1);
        return PROGRAM_NO_PLAN;
    }
    struct arena arena;
    arena_init(&arena, memory, solve_bytes());
    if (offline != NULL)
        return plan_offline(offline, json, &arena);
    catch_signals();
    return serve_ring(ring, &arena, &stop);
}
