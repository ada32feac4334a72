/* sluice-wanem: the WAN of a scenario file in real time, on DPDK ports, one per site. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/version.h"
#include "app/exit_usage.h"
#include "app/wanem/emulator.h"
#include "base/units.h"
#include "conf/conf.h"
#include "dpdk/eal.h"
#include "dpdk/memory.h"

#define REPORT_BYTES      (4 << 20)
#define PACKETS_MAX       (1u << 26)
#define TABLE_ENTRY_BYTES (sizeof(struct hold_item) + sizeof(struct wan_entry))

struct options {
    const char *scenario_path;
    const char *socket_prefix, *socket_directory;
    const char *json_path;
    uint64_t period_s;
    uint64_t packets; /* 0: computed */
    uint32_t mtu;
    uint8_t idle;
    bool hugepages;
    bool check_only;
    uint16_t lcore_count, lcore;
    int device_count;
    const char *devices[SCENARIO_NODES_MAX]; /* SITE=DEVICE */
    int extra_count;
    char **extra;
};

static volatile sig_atomic_t stopping;

static void on_signal(int number)
{
    (void)number;
    stopping = 1;
}

static void usage(FILE *stream)
{
    fputs("usage: sluice-wanem -c SCENARIO.yaml [options] [-- EAL arguments]\n"
          "  -c, --config FILE        scenario: sites, links (sluice-sim reads the same)\n"
          "      --sockets DIRECTORY  memif sockets are DIRECTORY/SITE.memif, for whom their permissions let "
          "in\n"
          "      --socket-prefix ID   they are the abstract names @sluice-ID-SITE, for this user and root;\n"
          "                           default: wan\n"
          "      --device SITE=DEVICE another device for a site, e.g. tokyo=net_tap0,iface=wan-tokyo; "
          "repeatable\n"
          "      --mtu BYTES          largest IP packet of sites that state none; default: Ethernet's\n"
          "      --packets N          packets on their way at once; default: computed from the scenario\n"
          "      --idle MODE          sleep (default), yield or poll\n"
          "      --lcore CPU          run on this CPU; default: where the kernel likes\n"
          "      --hugepages          use them when enough are free\n"
          "      --stats-period S     a line of sums every S seconds; default 0: none\n"
          "      --json FILE          all counters at the end\n"
          "      --check              print what would be used, then exit\n"
          "      --version            release and commit\n"
          "  -h, --help               this text\n"
          "Site N of the scenario (from 1) has the addresses x.x.N.x and xxxx:xxxx:xxxx:N::. Prints\n"
          "\"sluice-wanem: ready\" when all ports have started. Ends with SIGTERM or SIGINT.\n"
          "Exit status: 0, 1 (could not run), 2 (wrong command line or scenario).\n",
          stream);
}

enum option_id {
    OPTION_PREFIX = 256,
    OPTION_SOCKETS,
    OPTION_DEVICE,
    OPTION_MTU,
    OPTION_PACKETS,
    OPTION_IDLE,
    OPTION_LCORE,
    OPTION_HUGEPAGES,
    OPTION_PERIOD,
    OPTION_JSON,
    OPTION_CHECK,
    OPTION_HELP_COUNTERS
};

static const struct option option_table[] = {
    {"config", required_argument, NULL, 'c'},
    {"socket-prefix", required_argument, NULL, OPTION_PREFIX},
    {"sockets", required_argument, NULL, OPTION_SOCKETS},
    {"device", required_argument, NULL, OPTION_DEVICE},
    {"mtu", required_argument, NULL, OPTION_MTU},
    {"packets", required_argument, NULL, OPTION_PACKETS},
    {"idle", required_argument, NULL, OPTION_IDLE},
    {"lcore", required_argument, NULL, OPTION_LCORE},
    {"hugepages", no_argument, NULL, OPTION_HUGEPAGES},
    {"stats-period", required_argument, NULL, OPTION_PERIOD},
    {"json", required_argument, NULL, OPTION_JSON},
    {"check", no_argument, NULL, OPTION_CHECK},
    {"help-counters", no_argument, NULL, OPTION_HELP_COUNTERS},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    char *end;
    *value = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && *value >= least && *value <= most;
}

static bool parse_idle(const char *text, uint8_t *mode)
{
    static const char *const names[] = {"sleep", "yield", "poll"};
    for (uint8_t index = 0; index < 3; index++)
        if (strcmp(text, names[index]) == 0) {
            *mode = index;
            return true;
        }
    return false;
}

static bool parse_option(struct options *options, int option, const char *text)
{
    uint64_t value = 0;
    bool good = true;
    switch (option) {
    case 'c':
        options->scenario_path = text;
        break;
    case OPTION_PREFIX:
        options->socket_prefix = text;
        good = name_valid(text);
        break;
    case OPTION_SOCKETS:
        options->socket_directory = text;
        good = text[0] == '/';
        break;
    case OPTION_DEVICE:
        good = options->device_count < SCENARIO_NODES_MAX && strchr(text, '=') != NULL;
        if (good)
            options->devices[options->device_count++] = text;
        break;
    case OPTION_MTU:
        good = parse_number(text, 1280, 65535 - ETHERNET_HEADER_BYTES, &value);
        options->mtu = (uint32_t)value;
        break;
    case OPTION_PACKETS:
        good = parse_number(text, 64, PACKETS_MAX, &options->packets);
        break;
    case OPTION_IDLE:
        good = parse_idle(text, &options->idle);
        break;
    case OPTION_LCORE:
        good = parse_number(text, 0, UINT16_MAX, &value);
        options->lcore = (uint16_t)value;
        options->lcore_count = 1;
        break;
    case OPTION_HUGEPAGES:
        options->hugepages = true;
        break;
    case OPTION_PERIOD:
        good = parse_number(text, 0, 86400, &options->period_s);
        break;
    case OPTION_JSON:
        options->json_path = text;
        break;
    case OPTION_HELP_COUNTERS:
        emulator_print_counter_help(stdout);
        exit(0);
    case OPTION_CHECK:
        options->check_only = true;
        break;
    default:
        return false; /* getopt has said why */
    }
    if (!good)
        fprintf(stderr, "sluice-wanem: \"%s\": not a value of this option; see --help\n", text);
    return good;
}

static bool parse_options(struct options *options, int count, char **arguments)
{
    *options = (struct options){.socket_prefix = "wan", .mtu = MTU_DEFAULT};
    for (int option; (option = getopt_long(count, arguments, "c:h", option_table, NULL)) != -1;) {
        if (option == 'h') {
            usage(stdout);
            exit(0);
        }
        if (!parse_option(options, option, optarg))
            return false;
    }
    options->extra = arguments + optind;
    options->extra_count = count - optind;
    if (options->extra_count > 0 && strcmp(arguments[optind - 1], "--") != 0) {
        fprintf(stderr, "sluice-wanem: unexpected \"%s\"; see --help\n", arguments[optind]);
        return false;
    }
    if (options->scenario_path == NULL)
        fputs("sluice-wanem: -c SCENARIO.yaml is missing; see --help\n", stderr);
    return options->scenario_path != NULL;
}

static bool device_set(char (*devices)[DEVICE_ARGS_BYTES], const struct scenario *scenario, const char *text)
{
    size_t name_bytes = strcspn(text, "=");
    for (uint16_t site = 0; site < scenario->node_count; site++) {
        const char *name = scenario->nodes[site].name;
        if (strlen(name) == name_bytes && memcmp(name, text, name_bytes) == 0 &&
            name_copy(devices[site], DEVICE_ARGS_BYTES, text + name_bytes + 1))
            return true;
    }
    fprintf(stderr, "sluice-wanem: --device %s: the scenario has no such site\n", text);
    return false;
}

static bool devices_make(char (*devices)[DEVICE_ARGS_BYTES], const struct scenario *scenario,
                         const struct options *options)
{
    for (uint16_t site = 0; site < scenario->node_count; site++) {
        const char *name = scenario->nodes[site].name;
        if (options->socket_directory != NULL)
            snprintf(devices[site], DEVICE_ARGS_BYTES, "net_memif%u,role=server,socket=%s/%s.memif", site,
                     options->socket_directory, name);
        else
            snprintf(devices[site], DEVICE_ARGS_BYTES,
                     "net_memif%u,role=server,socket-abstract=yes,socket=@sluice-%s-%s", site,
                     options->socket_prefix, name);
    }
    for (int index = 0; index < options->device_count; index++)
        if (!device_set(devices, scenario, options->devices[index]))
            return false;
    return true;
}

static bool configure(struct emulator_config *config, const struct options *options)
{
    const struct scenario *scenario = config->scenario;
    for (uint16_t site = 0; site < scenario->node_count; site++) {
        uint32_t mtu = scenario->nodes[site].mtu == 0 ? options->mtu : scenario->nodes[site].mtu;
        config->frame_bytes[site] = mtu + ETHERNET_HEADER_BYTES;
        config->frame_bytes_max = MAX(config->frame_bytes_max, config->frame_bytes[site]);
    }
    uint64_t packets = options->packets;
    if (packets == 0) /* every packet might be duplicated, and room is kept for a burst of each site */
        packets =
            wan_packets_needed(scenario, config->frame_bytes_max + ETHERNET_OVERHEAD_BYTES) + 4 * PORT_BURST;
    if (packets > PACKETS_MAX) {
        fprintf(
            stderr,
            "sluice-wanem: %llu packets on their way are more than fit; set smaller queues or --packets\n",
            (unsigned long long)packets);
        return false;
    }
    config->packets = (uint32_t)packets;
    config->idle = options->idle;
    return true;
}

static void print_plan(const struct emulator_config *config)
{
    const struct scenario *scenario = config->scenario;
    printf("sluice-wanem: scenario %s, %u sites, up to %u packets on their way\n", scenario->name,
           scenario->node_count, config->packets);
    for (uint16_t site = 0; site < scenario->node_count; site++)
        printf("  site %u %s: addresses x.x.%u.x, device %s\n", site + 1, scenario->nodes[site].name,
               site + 1, config->devices[site]);
    unsigned played = 0;
    for (uint16_t fault = 0; fault < scenario->fault_count; fault++)
        played += wan_plays(&scenario->faults[fault]);
    if (scenario->fault_count > 0)
        printf(
            "  of the scenario's %u faults %u are of links, and played; the others are the lab's to cause\n",
            scenario->fault_count, played);
}

/* Says the need and starts the EAL on memory that is there. */
static bool start_eal(struct eal *eal, const struct emulator_config *config, const struct options *options,
                      struct err *err)
{
    struct memory_need need = {
        .packet_bytes = memory_pool_bytes(emulator_mbufs(config), emulator_buffer_bytes(config)),
        .node_bytes = (uint64_t)config->packets * TABLE_ENTRY_BYTES,
        .overhead_bytes = MEMORY_OVERHEAD_BYTES,
    };
    struct memory_host host;
    bool hugepages;
    char text[256];
    memory_host_read(&host);
    if (!memory_choose(&need, &host, options->hugepages, &hugepages, err))
        return err_context(err, "%u packets on their way", config->packets);
    memory_print(&need, &host, hugepages, text, sizeof(text));
    printf("sluice-wanem: memory: %s\n", text);
    if (options->check_only)
        return true;
    struct eal_options eal_options = {
        .program = "sluice-wanem",
        .hugepages = hugepages,
        .memory_bytes = need.packet_bytes + need.overhead_bytes,
        .lcore_count = options->lcore_count,
        .lcores = {options->lcore},
        .extra_count = options->extra_count,
        .extra = options->extra,
    };
    return eal_start(eal, &eal_options, err);
}

static bool write_report(const struct emulator *emulator, const char *path)
{
    char *text = malloc(REPORT_BYTES);
    CHECK(text != NULL);
    struct report report;
    report_begin(&report, REPORT_JSON, text, REPORT_BYTES);
    emulator_report(emulator, &report);
    bool good = report_end(&report);
    FILE *file = fopen(path, "w");
    good = file != NULL && fputs(text, file) >= 0 && good;
    if (file != NULL)
        good = fclose(file) == 0 && good;
    free(text);
    if (!good)
        fprintf(stderr, "sluice-wanem: --json %s: cannot be written\n", path);
    return good;
}

static int run(const struct emulator_config *config, const struct options *options)
{
    static struct eal eal;
    static struct emulator emulator;
    struct err err;
    print_plan(config);
    if (!start_eal(&eal, config, options, &err) ||
        (!options->check_only && !emulator_open(&emulator, config, &err))) {
        fprintf(stderr, "sluice-wanem: %s\n", err.text);
        return 1;
    }
    if (options->check_only)
        return 0;
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* of memif clients that went away */
    if (options->lcore_count > 0)
        eal_worker_pin(&eal);
    puts("sluice-wanem: ready");
    fflush(stdout);
    emulator_run(&emulator, &stopping, options->period_s);
    bool good = options->json_path == NULL || write_report(&emulator, options->json_path);
    emulator_print_sums(&emulator);
    emulator_close(&emulator);
    eal_stop(&eal);
    return good ? 0 : 1;
}

int main(int count, char **arguments)
{
    static struct options options;
    static struct scenario scenario;
    static struct conf_errors errors;
    static char devices[SCENARIO_NODES_MAX][DEVICE_ARGS_BYTES];
    if (version_asked(count, arguments, "sluice-wanem"))
        return 0;
    if (!parse_options(&options, count, arguments))
        return EXIT_USAGE;
    if (!conf_read_scenario(options.scenario_path, NULL, &scenario, &errors)) {
        conf_errors_print(&errors, stderr);
        return EXIT_USAGE;
    }
    struct emulator_config config = {.scenario = &scenario, .devices = devices};
    if (!devices_make(devices, &scenario, &options) || !configure(&config, &options))
        return EXIT_USAGE;
    return run(&config, &options);
}
