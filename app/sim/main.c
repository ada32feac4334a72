/* sluice-sim: runs a scenario in virtual time and judges it by its own expectations.
 * Exit status: 0 all is well, 1 the run failed or an expectation does not hold, 2 usage or scenario error. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "app/version.h"
#include "app/exit_usage.h"
#include "app/sim/random.h"
#include "app/sim/random_hosts.h"
#include "app/sim/recall.h"
#include "app/sim/summary.h"
#include "app/sim/trace_file.h"
#include "conf/conf.h"
#include "planner/solve.h"
#include "crypt/crypt.h"
#include "seal/insecure.h"
#include "sim/sim.h"
#include "sizes/sizes.h"

#define REPORT_BYTES (16u << 20)
#define SETS_MAX     64
#define DRAWS_MAX    1000000

enum { EXIT_GOOD = 0, EXIT_FAILED = 1 };

struct arguments {
    char **paths; /* of scenario files: one, and with `check` any number */
    int path_count;
    const char *trace; /* file; NULL: none is asked for */
    bool seed_given;
    uint64_t seed;
    bool json;
    bool check;
    bool print;
    const char *security;  /* a word; NULL: sizes */
    uint64_t random_count; /* draws; 0: a scenario file is run */
    bool random_hosts;     /* … of hosts that stand still */
    bool draw_given;
    uint64_t draw; /* only this one */
    const char *sets[SETS_MAX];
    unsigned set_count;
};

static void usage(FILE *out)
{
    fprintf(
        out,
        "usage: sluice-sim SCENARIO.yaml [options]\n"
        "       sluice-sim --check SCENARIO.yaml… [options]\n"
        "       sluice-sim --random N | --random-hosts N [--draw K] [options]\n"
        "  --seed N          instead of the scenario's\n"
        "  --set PATH=VALUE  instead of what the scenario says, as links.default.loss=1%% or "
        "jobs[0].size=2GB;\n"
        "                    may be repeated\n"
        "  --json            the result as one JSON object on standard output\n"
        "  --trace FILE      what each edge does, as CSV, a row for each measure.step (100 ms) of virtual "
        "time\n"
        "  --security WORD   what packets are sealed with: real (as in the appliance), sizes (cheap tags of "
        "the same\n"
        "                    length), none (sizes); always none where a job has hash: none\n"
        "  --check           read and check the scenarios only\n"
        "  --random N        N neighbours drawn at random by --seed: a line for each, and how many reach\n"
        "                    0.9 of what their links carry; 95 %% of them must (with --json: a JSON\n"
        "                    object for each, and one for all)\n"
        "  --random-hosts N  the same of hosts that take turns and stand still: all of them must reach 0.8 "
        "of\n"
        "                    what their phases and rings leave, from 2 to 22 s\n"
        "  --draw K          only draw K of them, from 0\n"
        "  --print           the drawn scenarios, not run\n"
        "  --version         release and commit\n"
        "  --help            this text; --help-scenario: what a scenario file may say\n"
        "exit status: 0 expectations hold, 1 they do not or the run failed, 2 usage or scenario error\n");
}

static bool parse_number(const char *name, const char *text, uint64_t most, uint64_t *value)
{
    char *end;
    *value = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && *value <= most)
        return true;
    fprintf(stderr, "sluice-sim: --%s %s: expected a number%s\n", name, text,
            most < UINT64_MAX ? " up to 1000000" : "");
    return false;
}

static bool add_set(struct arguments *arguments, const char *set)
{
    if (arguments->set_count == SETS_MAX) {
        fprintf(stderr, "sluice-sim: more than %d --set\n", SETS_MAX);
        return false;
    }
    arguments->sets[arguments->set_count++] = set;
    return true;
}

static bool check_arguments(const struct arguments *arguments)
{
    int left = arguments->path_count;
    const char *fault = NULL;
    if (arguments->random_count > 0 && arguments->trace != NULL)
        fault = "--trace goes with a scenario file (--print makes one of a draw)";
    else if (arguments->random_count > 0 && left != 0)
        fault = "--random takes no scenario file";
    else if (arguments->random_count == 0 && (arguments->draw_given || arguments->print))
        fault = "--draw and --print go with --random, --random-hosts";
    else if (arguments->draw_given && arguments->draw >= arguments->random_count)
        fault = "--draw: there are not that many draws";
    if (fault != NULL)
        fprintf(stderr, "sluice-sim: %s\n", fault);
    else if (arguments->random_count == 0 && (left == 0 || (left > 1 && !arguments->check)))
        usage(stderr);
    else
        return true;
    return false;
}

/* What packets are sealed with; set by choose_primitives. */
static const struct primitives *primitives = &sizes_primitives;

static bool choose_primitives(const char *word)
{
    struct err err;
    if (word == NULL || strcmp(word, "sizes") == 0)
        return true;
    primitives = strcmp(word, "none") == 0 ? &insecure_primitives : NULL;
    if (strcmp(word, "real") == 0 && (primitives = crypt_primitives(&err)) == NULL)
        fprintf(stderr, "sluice-sim: %s\n", err.text);
    else if (primitives == NULL)
        fprintf(stderr, "sluice-sim: --security: real, sizes or none expected, not \"%s\"\n", word);
    return primitives != NULL;
}

static bool take_option(int option, struct arguments *arguments)
{
    switch (option) {
    case 's':
        arguments->seed_given = true;
        return parse_number("seed", optarg, UINT64_MAX, &arguments->seed);
    case 'r':
        return parse_number("random", optarg, DRAWS_MAX, &arguments->random_count);
    case 'o':
        arguments->random_hosts = true;
        return parse_number("random-hosts", optarg, DRAWS_MAX, &arguments->random_count);
    case 'd':
        arguments->draw_given = true;
        return parse_number("draw", optarg, DRAWS_MAX, &arguments->draw);
    case 'e':
        return add_set(arguments, optarg);
    case 't':
        arguments->trace = optarg;
        return true;
    case 'j':
        arguments->json = true;
        return true;
    case 'c':
        arguments->check = true;
        return true;
    case 'p':
        arguments->print = true;
        return true;
    case 'S':
        arguments->security = optarg;
        return true;
    default:
        usage(stderr);
        return false;
    }
}

/* -1: go on; else the exit status. */
static int parse(int argc, char **argv, struct arguments *arguments)
{
    static const struct option options[] = {{"seed", required_argument, NULL, 's'},
                                            {"set", required_argument, NULL, 'e'},
                                            {"trace", required_argument, NULL, 't'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"check", no_argument, NULL, 'c'},
                                            {"random", required_argument, NULL, 'r'},
                                            {"random-hosts", required_argument, NULL, 'o'},
                                            {"draw", required_argument, NULL, 'd'},
                                            {"print", no_argument, NULL, 'p'},
                                            {"help", no_argument, NULL, 'h'},
                                            {"security", required_argument, NULL, 'S'},
                                            {"help-scenario", no_argument, NULL, 'H'},
                                            {0}};
    int option;
    while ((option = getopt_long(argc, argv, "s:jch", options, NULL)) != -1) {
        if (option == 'h') {
            usage(stdout);
            return EXIT_GOOD;
        }
        if (option == 'H')
            return conf_print_help("scenario", stdout) ? EXIT_GOOD : EXIT_FAILED;
        if (!take_option(option, arguments))
            return EXIT_USAGE;
    }
    arguments->paths = argv + optind;
    arguments->path_count = argc - optind;
    return check_arguments(arguments) && choose_primitives(arguments->security) ? -1 : EXIT_USAGE;
}

static uint64_t wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Made once: every plan of the run comes out of it. */
static struct arena solver;

static bool make_solver(void)
{
    void *memory = aligned_alloc(ARENA_ALIGN, arena_need(solve_bytes()));
    if (memory != NULL)
        arena_init(&solver, memory, solve_bytes());
    else
        fprintf(stderr, "sluice-sim: no memory for the planner\n");
    return memory != NULL;
}

static bool solve_request(const struct plan_request *request, struct plan *plan, struct err *err)
{
    return solve(request, &solver, plan, err);
}

static bool print_json(const struct sim_result *result, const struct scenario *scenario)
{
    struct report report;
    char *text = malloc(REPORT_BYTES);
    if (text == NULL)
        return false;
    report_begin(&report, REPORT_JSON, text, REPORT_BYTES);
    result_report(result, scenario, &report);
    result_expect_report(result, scenario, &report);
    bool good = report_end(&report) && puts(text) != EOF && fflush(stdout) == 0;
    if (!good)
        fprintf(stderr, "sluice-sim: the result could not be printed\n");
    free(text);
    return good;
}

/* Runs the scenario and fills *result, to be freed by result_free. */
static bool simulate(const struct scenario *scenario, uint64_t seed, const char *name,
                     const struct trace_sink *trace, struct sim_result *result)
{
    struct err err;
    struct sim_options options = {.seed = seed,
                                  .solve = solve_request,
                                  .learn = recall_learn,
                                  .recall = recall_complete,
                                  .trace = *trace,
                                  .primitives = primitives};
    struct sim *sim = sim_create(scenario, &options, &err);
    if (sim == NULL) {
        fprintf(stderr, "%s: %s\n", name, err.text);
        return false;
    }
    struct rusage usage_now;
    uint64_t start_ns = wall_ns();
    sim_run(sim, result);
    result->wall_ns = wall_ns() - start_ns;
    getrusage(RUSAGE_SELF, &usage_now);
    result->memory_peak_bytes = (uint64_t)usage_now.ru_maxrss * 1024;
    sim_destroy(sim);
    recall_end();
    return true;
}

static bool read_file(const struct arguments *arguments, const char *path, struct scenario *scenario)
{
    struct conf_errors errors = {0};
    if (conf_read_scenario_set(path, NULL, arguments->sets, arguments->set_count, scenario, &errors))
        return true;
    conf_errors_print(&errors, stderr);
    return false;
}

/* Tells of every file that is wrong. */
static int check_files(const struct arguments *arguments, struct scenario *scenario)
{
    bool good = true;
    for (int i = 0; i < arguments->path_count; i++)
        good &= read_file(arguments, arguments->paths[i], scenario);
    return good ? EXIT_GOOD : EXIT_USAGE;
}

static int run_file(const struct arguments *arguments, struct scenario *scenario)
{
    const char *path = arguments->paths[0];
    struct sim_result result;
    struct trace_file file;
    struct trace_sink trace;
    if (!read_file(arguments, path, scenario))
        return EXIT_USAGE;
    uint64_t seed = arguments->seed_given ? arguments->seed : scenario->seed;
    if (!trace_file_open(&file, arguments->trace, scenario, &trace))
        return EXIT_FAILED;
    bool ran = simulate(scenario, seed, path, &trace, &result);
    bool good = trace_file_close(&file);
    if (!ran)
        return EXIT_USAGE;
    if (arguments->json)
        good &= print_json(&result, scenario);
    else
        summary_print(&result, scenario, stdout);
    good &= result_judge(&result, scenario, path, stderr);
    result_free(&result);
    return good ? EXIT_GOOD : EXIT_FAILED;
}

/* Of the draw, of either kind: its scenario; with a result, its line. False: it misses what it must reach. */
static bool tell_draw(const struct arguments *arguments, uint32_t index, char text[RANDOM_YAML_BYTES],
                      const struct sim_result *result)
{
    uint64_t seed = arguments->seed_given ? arguments->seed : 1;
    if (arguments->random_hosts) {
        struct random_hosts hosts = random_hosts_make(seed, index);
        if (result == NULL)
            random_hosts_yaml(&hosts, text);
        else
            return random_hosts_print(&hosts, result, arguments->json, stdout) &&
                   random_hosts_well(&hosts, result);
        return true;
    }
    struct random_draw draw = random_draw_make(seed, index);
    if (result == NULL)
        random_draw_yaml(&draw, text);
    else
        return random_draw_print(&draw, result, arguments->json, stdout) && random_draw_well(&draw, result);
    return true;
}

/* Prints the draw, or runs it and adds it to the tally. False: it could not be done. */
static bool run_draw(const struct arguments *arguments, uint32_t index, struct scenario *scenario,
                     struct random_tally *tally)
{
    char text[RANDOM_YAML_BYTES], name[64];
    struct conf_errors errors = {0};
    struct sim_result result;
    tell_draw(arguments, index, text, NULL);
    snprintf(name, sizeof(name), "draw %" PRIu32, index);
    if (arguments->print)
        return printf("%s%s", index > 0 ? "---\n" : "", text) > 0;
    if (!conf_read_scenario_set(name, text, arguments->sets, arguments->set_count, scenario, &errors)) {
        conf_errors_print(&errors, stderr);
        return false;
    }
    if (arguments->check)
        return true;
    if (!simulate(scenario, scenario->seed, name, &(struct trace_sink){0}, &result))
        return false;
    bool well = tell_draw(arguments, index, text, &result);
    random_tally_add(tally, well, !arguments->random_hosts && result.limit_reached,
                     result.breaches[BREACH_STUCK].ns != 0);
    if (!arguments->random_hosts) /* whose runs end before their jobs */
        result_judge(&result, scenario, name, stderr);
    result_free(&result);
    return !ferror(stdout);
}

static int run_draws(const struct arguments *arguments, struct scenario *scenario)
{
    struct random_tally tally = {.share_least = RANDOM_SHARE_LEAST, .well_least = RANDOM_WELL_LEAST};
    if (arguments->random_hosts)
        tally = (struct random_tally){.share_least = RANDOM_HOSTS_SHARE_LEAST, .well_least = 1000};
    uint64_t first = arguments->draw_given ? arguments->draw : 0;
    uint64_t end = arguments->draw_given ? first + 1 : arguments->random_count;
    for (uint64_t index = first; index < end; index++)
        if (!run_draw(arguments, (uint32_t)index, scenario, &tally))
            return EXIT_USAGE;
    bool summary = !arguments->print && !arguments->check && !arguments->draw_given;
    if (summary && !random_tally_print(&tally, arguments->json, stdout))
        return EXIT_FAILED;
    return random_tally_well(&tally) ? EXIT_GOOD : EXIT_FAILED;
}

int main(int argc, char **argv)
{
    struct arguments arguments = {0};
    if (version_asked(argc, argv, "sluice-sim"))
        return EXIT_GOOD;
    int status = parse(argc, argv, &arguments);
    if (status >= 0)
        return status;
    struct scenario *scenario = calloc(1, sizeof(*scenario));
    if (scenario == NULL || !make_solver())
        return EXIT_FAILED;
    if (arguments.random_count > 0)
        status = run_draws(&arguments, scenario);
    else
        status = arguments.check ? check_files(&arguments, scenario) : run_file(&arguments, scenario);
    free(scenario);
    return status;
}
