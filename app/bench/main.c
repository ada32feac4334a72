/* sluice-bench: one measurement a call, as JSON; scripts/bench calls it, repeats, and judges. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/version.h"
#include "app/bench/bench.h"
#include "app/exit_usage.h"
#include "base/units.h"
#include "conf/conf.h"
#include "dpdk/idle.h"
#include "probe/estimator.h"

static const char help[] =
    "sluice-bench PART [OPTION]…: one measurement, printed as one JSON object\n"
    "parts: goodput, bare, relay, bare-relay, pacer, probe, seal, cores, locks (app/bench/README.md)\n"
    "  --link ring|memif|vhost   goodput: two lcores of one process, or two processes (ring)\n"
    "  --mtu BYTES         1280 to 9216 (1500)\n"
    "  --size SIZE         goodput, relay, bare-relay: of the object (1GiB); relay: more than 96MiB\n"
    "  --rate RATE         of ports (100Gbps; probe: 10Gbps at most); pacer: the schedule's\n"
    "  --duration TIME     bare, pacer; probe: of a measurement (1s)\n"
    "  --capacity RATE     probe: of the link (1Gbps)\n"
    "  --cross RATE        probe: evenly spaced traffic that crosses it (300Mbps)\n"
    "  --delay TIME        probe: of the link, each way (500us)\n"
    "  --runs NUMBER       probe: measurements, 1 to 200 (20)\n"
    "  --estimator NAME    probe: probe/README.md (sluice)\n"
    "  --children NUMBER   relay, bare-relay: 1 to 8 (1)\n"
    "  --stripes NUMBER    relay: trees, all alike, that the blocks are spread over, 1 to 8 (1)\n"
    "  --jobs NUMBER       relay: at once, the object's bytes shared among them, 1 to 8 (1)\n"
    "  --peers NUMBER      relay: peers of the relay, idle but for source and children, 1 to 60 (1)\n"
    "  --interval TIME     relay: the idle ones each send a small packet so often (never)\n"
    "  --workers NUMBER    relay: 2: its port is driven by the other lcore, its node alone by the first (1)\n"
    "  --stages            relay: ns of each stage of a turn\n"
    "  --first-pass        relay: with a buffer of 1 GiB; the first way through it against the second\n"
    "  --sealed            goodput, with --source: content and packets are sealed, as the appliance's;\n"
    "                      relay: the same; pacer: beside tags and handshakes\n"
    "  --hugepages         all memory from hugepages (ordinary ones)\n"
    "  --source FILE       goodput: sent from the disk; without it no disk is read\n"
    "  --directory PATH    goodput: received files go there; without it no disk is written\n"
    "  --sha256            goodput: blocks are hashed\n"
    "  --durable           goodput: the end waits until all is on the disk\n"
    "  --threads NUMBER    goodput: of each site's disk (1)\n"
    "  --lcores A,B        the CPUs (0,1)\n"
    "  --idle poll|yield|sleep   (poll)\n"
    "  --version           release and commit\n"
    "  --help              this text\n";

static const struct option option_table[] = {
    {"link", required_argument, NULL, 'l'},     {"mtu", required_argument, NULL, 'm'},
    {"sha256", no_argument, NULL, 's'},         {"directory", required_argument, NULL, 'd'},
    {"source", required_argument, NULL, 'f'},   {"size", required_argument, NULL, 'z'},
    {"duration", required_argument, NULL, 't'}, {"rate", required_argument, NULL, 'r'},
    {"children", required_argument, NULL, 'c'}, {"lcores", required_argument, NULL, 'L'},
    {"idle", required_argument, NULL, 'i'},     {"threads", required_argument, NULL, 'n'},
    {"durable", no_argument, NULL, 'D'},        {"stripes", required_argument, NULL, 'S'},
    {"jobs", required_argument, NULL, 'j'},     {"peers", required_argument, NULL, 'p'},
    {"interval", required_argument, NULL, 'I'}, {"workers", required_argument, NULL, 'w'},
    {"stages", no_argument, NULL, 'g'},         {"sealed", no_argument, NULL, 'K'},
    {"first-pass", no_argument, NULL, 'F'}, /* of relay */
    {"hugepages", no_argument, NULL, 'H'},      {"capacity", required_argument, NULL, 'C'},
    {"cross", required_argument, NULL, 'X'},    {"delay", required_argument, NULL, 'y'},
    {"runs", required_argument, NULL, 'R'},     {"estimator", required_argument, NULL, 'E'}, /* of probe */
    {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0},
};

static bool parse_idle(const char *text, uint8_t *idle)
{
    static const char *const names[] = {
        [IDLE_MODE_SLEEP] = "sleep", [IDLE_MODE_YIELD] = "yield", [IDLE_MODE_POLL] = "poll"};
    for (*idle = 0; *idle < sizeof(names) / sizeof(names[0]); (*idle)++)
        if (strcmp(text, names[*idle]) == 0)
            return true;
    return false;
}

static bool parse_few(const char *text, uint32_t *value, uint32_t most)
{
    return sscanf(text, "%u", value) == 1 && *value >= 1 && *value <= most;
}

static bool parse_probe_option(struct bench_options *options, int option, const char *text)
{
    switch (option) {
    case 'C':
        return conf_parse_rate(text, &options->capacity_bps);
    case 'X':
        return conf_parse_rate(text, &options->cross_bps);
    case 'y':
        return conf_parse_time(text, &options->delay_ns);
    case 'R':
        return parse_few(text, &options->runs, 200);
    case 'E':
        options->estimator = text;
        return estimator_kind(text) != NULL;
    default:
        return false;
    }
}

static bool parse_option(struct bench_options *options, int option, const char *text)
{
    switch (option) {
    case 'l':
        options->link = text;
        return strcmp(text, "memif") == 0 || strcmp(text, "vhost") == 0 || strcmp(text, "ring") == 0;
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
        return parse_few(text, &options->children, 8);
    case 'L':
        return sscanf(text, "%hu,%hu", &options->lcores[0], &options->lcores[1]) == 2;
    case 'n':
        return sscanf(text, "%u", &options->disk_threads) == 1;
    case 'D':
        options->durable = true;
        return true;
    case 'S':
        return parse_few(text, &options->stripes, 8);
    case 'j':
        return parse_few(text, &options->jobs, 8);
    case 'p':
        return parse_few(text, &options->peers, 60);
    case 'I':
        return conf_parse_time(text, &options->interval_ns);
    case 'w':
        return parse_few(text, &options->workers, 2);
    case 'g':
        options->stages = true;
        return true;
    case 'F':
        options->first_pass = true;
        return true;
    case 'K':
        options->sealed = true;
        return true;
    case 'H':
        options->hugepages = true;
        return true;
    case 'i':
        return parse_idle(text, &options->idle);
    case 'h':
        fputs(help, stdout);
        exit(EXIT_SUCCESS);
    default:
        return parse_probe_option(options, option, text);
    }
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        int (*run)(const struct bench_options *options);
    } parts[] = {{"goodput", bench_goodput}, {"bare", bench_bare},
                 {"relay", bench_relay},     {"bare-relay", bench_bare_relay},
                 {"pacer", bench_pacer},     {"probe", bench_probe},
                 {"seal", bench_seal},       {"cores", bench_cores},
                 {"locks", bench_locks}};
    struct bench_options options = {.link = "ring",
                                    .mtu = MTU_DEFAULT,
                                    .object_bytes = 1ULL << 30,
                                    .duration_ns = NS_PER_S,
                                    .rate_bps = 100000000000ULL,
                                    .children = 1,
                                    .stripes = 1,
                                    .jobs = 1,
                                    .peers = 1,
                                    .workers = 1,
                                    .capacity_bps = 1000000000,
                                    .cross_bps = 300000000,
                                    .delay_ns = 500 * NS_PER_US,
                                    .runs = 20,
                                    .estimator = "sluice",
                                    .lcores = {0, 1},
                                    .idle = IDLE_MODE_POLL,
                                    .disk_threads = 1};
    if (version_asked(count, arguments, "sluice-bench"))
        return EXIT_SUCCESS;
    for (int option; (option = getopt_long(count, arguments, "", option_table, NULL)) != -1;)
        if (!parse_option(&options, option, optarg)) {
            fprintf(stderr, "sluice-bench: bad option, see --help\n");
            return EXIT_USAGE;
        }
    options.part = optind < count ? arguments[optind] : "";
    for (size_t index = 0; index < sizeof(parts) / sizeof(parts[0]); index++)
        if (strcmp(options.part, parts[index].name) == 0)
            return parts[index].run(&options);
    fputs(help, stderr);
    return EXIT_USAGE;
}
