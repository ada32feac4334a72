/* sluice-bench: one measurement a call, as JSON; scripts/bench calls it, repeats, and judges. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench/bench.h"
#include "base/units.h"
#include "conf/conf.h"
#include "dpdk/idle.h"

#define EXIT_USAGE 2

static const struct option option_table[] = {
    {"link", required_argument, NULL, 'l'},     {"mtu", required_argument, NULL, 'm'},
    {"sha256", no_argument, NULL, 's'},         {"directory", required_argument, NULL, 'd'},
    {"source", required_argument, NULL, 'f'},   {"size", required_argument, NULL, 'z'},
    {"duration", required_argument, NULL, 't'}, {"rate", required_argument, NULL, 'r'},
    {"children", required_argument, NULL, 'c'}, {"lcores", required_argument, NULL, 'L'},
    {"idle", required_argument, NULL, 'i'},     {"threads", required_argument, NULL, 'n'},
    {"durable", no_argument, NULL, 'D'},        {NULL, 0, NULL, 0},
};

static bool parse_option(struct bench_options *options, int option, const char *text)
{
    switch (option) {
    case 'l':
        options->link = text;
        return strcmp(text, "memif") == 0 || strcmp(text, "ring") == 0;
    case 'm':
        return sscanf(text, "%u", &options->mtu) == 1 && options->mtu >= 1280 && options->mtu <= 9216;
    case 's':
        options->sha256 = true;
        return true;
    case 'd':
        options->directory = text;
        return true;
    case 'f':
        options->source_file = text;
        return true;
    case 'z':
        return conf_parse_size(text, &options->object_bytes);
    case 't':
        return conf_parse_time(text, &options->duration_ns);
    case 'r':
        return conf_parse_rate(text, &options->rate_bps);
    case 'c':
        return sscanf(text, "%u", &options->children) == 1 && options->children >= 1 &&
               options->children <= 8;
    case 'L':
        return sscanf(text, "%hu,%hu", &options->lcores[0], &options->lcores[1]) == 2;
    case 'n':
        return sscanf(text, "%u", &options->disk_threads) == 1;
    case 'D':
        options->durable = true;
        return true;
    case 'i':
        options->idle = strcmp(text, "poll") == 0    ? IDLE_MODE_POLL
                        : strcmp(text, "yield") == 0 ? IDLE_MODE_YIELD
                                                     : IDLE_MODE_SLEEP;
        return true;
    default:
        return false;
    }
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        int (*run)(const struct bench_options *options);
    } parts[] = {{"goodput", bench_goodput},
                 {"bare", bench_bare},
                 {"relay", bench_relay},
                 {"pacer", bench_pacer},
                 {"cores", bench_cores}};
    struct bench_options options = {.link = "ring",
                                    .mtu = MTU_DEFAULT,
                                    .object_bytes = 1ULL << 30,
                                    .duration_ns = NS_PER_S,
                                    .rate_bps = 100000000000ULL,
                                    .children = 1,
                                    .lcores = {0, 1},
                                    .idle = IDLE_MODE_POLL,
                                    .disk_threads = 1};
    for (int option; (option = getopt_long(count, arguments, "", option_table, NULL)) != -1;)
        if (!parse_option(&options, option, optarg)) {
            fprintf(stderr, "sluice-bench: bad option; scripts/bench is how this is called\n");
            return EXIT_USAGE;
        }
    options.part = optind < count ? arguments[optind] : "";
    for (size_t index = 0; index < sizeof(parts) / sizeof(parts[0]); index++)
        if (strcmp(options.part, parts[index].name) == 0)
            return parts[index].run(&options);
    fprintf(stderr, "usage: sluice-bench goodput|bare|relay|pacer|cores [options]\n");
    return EXIT_USAGE;
}
