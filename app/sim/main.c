/* sluice-sim: runs a scenario in virtual time and judges it by its own expectations.
 * Exit status: 0 all is well, 1 the run failed or an expectation does not hold, 2 usage or scenario error. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "app/sim/summary.h"
#include "conf/conf.h"
#include "planner/solve.h"
#include "sim/sim.h"

#define REPORT_BYTES (16u << 20)

enum { EXIT_GOOD = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct arguments {
    const char *path;
    bool seed_given;
    uint64_t seed;
    bool json;
    bool check;
};

static void usage(FILE *out)
{
    fprintf(out,
            "usage: sluice-sim SCENARIO.yaml [options]\n"
            "  --seed N   instead of the scenario's\n"
            "  --json     the result as one JSON object on standard output\n"
            "  --check    read and check the scenario only\n"
            "  --help     this text; --help-scenario: what a scenario file may say\n"
            "exit status: 0 expectations hold, 1 they do not or the run failed, 2 usage or scenario error\n");
}

static bool parse_number(const char *text, uint64_t *value)
{
    char *end;
    *value = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0';
}

/* -1: go on; else the exit status. */
static int parse(int argc, char **argv, struct arguments *arguments)
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, 's'},    {"json", no_argument, NULL, 'j'},
        {"check", no_argument, NULL, 'c'},         {"help", no_argument, NULL, 'h'},
        {"help-scenario", no_argument, NULL, 'S'}, {0}};
    int option;
    while ((option = getopt_long(argc, argv, "s:jch", options, NULL)) != -1) {
        switch (option) {
        case 's':
            arguments->seed_given = true;
            if (parse_number(optarg, &arguments->seed))
                break;
            fprintf(stderr, "sluice-sim: --seed %s: expected a number\n", optarg);
            return EXIT_USAGE;
        case 'j':
            arguments->json = true;
            break;
        case 'c':
            arguments->check = true;
            break;
        case 'h':
            usage(stdout);
            return EXIT_GOOD;
        case 'S':
            return conf_print_help("scenario", stdout) ? EXIT_GOOD : EXIT_FAILED;
        default:
            usage(stderr);
            return EXIT_USAGE;
        }
    }
    if (optind + 1 != argc) {
        usage(stderr);
        return EXIT_USAGE;
    }
    arguments->path = argv[optind];
    return -1;
}

static uint64_t wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static bool solve_request(const struct plan_request *request, struct plan *plan, struct err *err)
{
    return solve(request, plan, NULL, err);
}

static bool print_json(const struct sim_result *result, const struct scenario *scenario)
{
    struct report report;
    char *text = malloc(REPORT_BYTES);
    if (text == NULL)
        return false;
    report_begin(&report, REPORT_JSON, text, REPORT_BYTES);
    result_report(result, scenario, &report);
    bool good = report_end(&report) && puts(text) != EOF && fflush(stdout) == 0;
    if (!good)
        fprintf(stderr, "sluice-sim: the result could not be printed\n");
    free(text);
    return good;
}

static int run(const struct arguments *arguments, const struct scenario *scenario)
{
    struct err err;
    struct sim_options options = {.seed = arguments->seed_given ? arguments->seed : scenario->seed,
                                  .solve = solve_request};
    struct sim *sim = sim_create(scenario, &options, &err);
    if (sim == NULL) {
        fprintf(stderr, "%s: %s\n", arguments->path, err.text);
        return EXIT_USAGE;
    }
    struct sim_result result;
    struct rusage usage_now;
    uint64_t start_ns = wall_ns();
    sim_run(sim, &result);
    result.wall_ns = wall_ns() - start_ns;
    getrusage(RUSAGE_SELF, &usage_now);
    result.memory_peak_bytes = (uint64_t)usage_now.ru_maxrss * 1024;

    bool good = true;
    if (arguments->json)
        good = print_json(&result, scenario);
    else
        summary_print(&result, scenario, stdout);
    good &= result_judge(&result, scenario, arguments->path, stderr);
    result_free(&result);
    sim_destroy(sim);
    return good ? EXIT_GOOD : EXIT_FAILED;
}

int main(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct conf_errors errors = {0};
    int status = parse(argc, argv, &arguments);
    if (status >= 0)
        return status;
    struct scenario *scenario = calloc(1, sizeof(*scenario));
    if (scenario == NULL)
        return EXIT_FAILED;
    if (conf_read_scenario(arguments.path, NULL, scenario, &errors)) {
        status = arguments.check ? EXIT_GOOD : run(&arguments, scenario);
    } else {
        conf_errors_print(&errors, stderr);
        status = EXIT_USAGE;
    }
    free(scenario);
    return status;
}
