/* CSV in, net, choice, text or JSON out. */
#include "planner/large.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "conf/value.h"
#include "planner/auto.h"
#include "planner/csv.h"
#include "planner/solve.h"

#define RTT_MAX_US 100000000
#define RATE_MAX   UINT64_C(1000000000000) /* bit/s */

struct large_host {
    char name[NAME_BYTES];
    uint64_t up_bps, down_bps;
    bool receiver, source;
};

struct large {
    uint16_t count;
    struct large_host hosts[NET_HOSTS_MAX]; /* by name, once all are read */
};

static int by_name(const void *one, const void *other)
{
    return strcmp(((const struct large_host *)one)->name, ((const struct large_host *)other)->name);
}

/* NET_NONE: there is no such host. */
static uint16_t find_host(const struct large *large, const char *name)
{
    struct large_host key;
    if (!name_copy(key.name, sizeof(key.name), name))
        return NET_NONE;
    const struct large_host *found =
        bsearch(&key, large->hosts, large->count, sizeof(large->hosts[0]), by_name);
    return found == NULL ? NET_NONE : (uint16_t)(found - large->hosts);
}

static bool parse_mbps(const char *text, uint64_t *bps)
{
    return text != NULL && value_parse_decimal(text, 6, bps) && *bps >= SEND_RATE_MIN_BPS && *bps <= RATE_MAX;
}

static bool read_host(struct csv_file *csv, struct large_host *host)
{
    char *name = csv_cell(csv), *up = csv_cell(csv), *down = csv_cell(csv), *role = csv_cell(csv);
    if (name == NULL || !name_valid(name) || !name_copy(host->name, sizeof(host->name), name))
        return csv_error(csv, "is not a name", name);
    if (!parse_mbps(up, &host->up_bps))
        return csv_error(csv, "expected an uplink in Mbit/s", up);
    if (!parse_mbps(down, &host->down_bps))
        return csv_error(csv, "expected a downlink in Mbit/s", down);
    host->source = role != NULL && strcmp(role, "source") == 0;
    host->receiver = role != NULL && strcmp(role, "receiver") == 0;
    if (!host->source && !host->receiver && (role == NULL || strcmp(role, "relay") != 0))
        return csv_error(csv, "expected source, receiver or relay", role);
    return true;
}

static bool check_hosts(const struct csv_file *csv, const struct large *large)
{
    unsigned sources = 0, receivers = 0;
    for (uint16_t host = 0; host < large->count; host++) {
        sources += large->hosts[host].source;
        receivers += large->hosts[host].receiver;
        if (host > 0 && by_name(&large->hosts[host - 1], &large->hosts[host]) == 0)
            return csv_error(csv, "is there twice", large->hosts[host].name);
    }
    return (sources == 1 && receivers > 0) || csv_error(csv, "expected one source, and receivers", "role");
}

static bool read_hosts(const char *path, struct large *large)
{
    struct csv_file csv;
    if (!csv_open(&csv, path))
        return false;
    bool good = csv_row(&csv) || csv_error(&csv, "is empty", path);
    while (good && csv_row(&csv)) {
        good = large->count < NET_HOSTS_MAX
                   ? read_host(&csv, &large->hosts[large->count])
                   : csv_error(&csv, "too many hosts, at most 1000 are planned", csv.row);
        large->count = (uint16_t)(large->count + good);
    }
    qsort(large->hosts, large->count, sizeof(large->hosts[0]), by_name);
    good = good && check_hosts(&csv, large);
    csv_close(&csv);
    return good;
}

/* ---- matrices ---- */

static bool store_rtt(struct net *net, uint32_t edge, const char *text)
{
    uint64_t us;
    if (!value_parse_decimal(text, 3, &us) || us > RTT_MAX_US)
        return false;
    net->rtt_us[edge] = (uint32_t)us;
    return true;
}

static bool store_avb(struct net *net, uint32_t edge, const char *text)
{
    uint64_t bps;
    if (!value_parse_decimal(text, 6, &bps) || bps > RATE_MAX)
        return false;
    double usable_bps = (double)solve_usable_bps(bps);
    if (usable_bps < net->path_bps[edge])
        net->path_bps[edge] = usable_bps;
    return true;
}

/* Labels of a matrix; hosts that are not planned may be among them. */
struct labels {
    uint16_t columns[4 * NET_HOSTS_MAX]; /* host of each; NET_NONE */
    unsigned column_count, known_columns, known_rows;
    bool has_column[NET_HOSTS_MAX], has_row[NET_HOSTS_MAX];
};

/* Notes the host that the label names, if there is one; false: it was named before. */
static bool note_label(const struct csv_file *csv, const struct large *large, const char *label, bool *had,
                       unsigned *known, uint16_t *host)
{
    *host = find_host(large, label);
    if (*host == NET_NONE)
        return true;
    if (had[*host])
        return csv_error(csv, "is there twice", label);
    had[*host] = true;
    (*known)++;
    return true;
}

static bool read_header(struct csv_file *csv, const struct large *large, struct labels *labels)
{
    bool good = csv_row(csv) || csv_error(csv, "is empty", csv->path);
    char *cell = csv_cell(csv);
    for (; good && (cell = csv_cell(csv)) != NULL; labels->column_count++)
        good = labels->column_count < sizeof(labels->columns) / sizeof(labels->columns[0])
                   ? note_label(csv, large, cell, labels->has_column, &labels->known_columns,
                                &labels->columns[labels->column_count])
                   : csv_error(csv, "too many columns", cell);
    return good;
}

static bool read_row(struct csv_file *csv, const struct large *large, struct labels *labels, struct net *net,
                     bool (*store)(struct net *net, uint32_t edge, const char *text))
{
    uint16_t from = NET_NONE;
    char *cell = csv_cell(csv);
    bool good = cell == NULL || note_label(csv, large, cell, labels->has_row, &labels->known_rows, &from);
    for (unsigned column = 0; good && from != NET_NONE && (cell = csv_cell(csv)) != NULL; column++)
        if (column >= labels->column_count)
            good = csv_error(csv, "more columns than the header has", cell);
        else if (labels->columns[column] != NET_NONE && labels->columns[column] != from && cell[0] != '\0')
            good = store(net, net_edge(net, from, labels->columns[column]), cell) ||
                   csv_error(csv, "is not a number that fits", cell);
    return good;
}

static bool read_matrix(const char *path, const struct large *large, struct net *net,
                        bool (*store)(struct net *net, uint32_t edge, const char *text))
{
    struct csv_file csv;
    static struct labels labels;
    labels = (struct labels){.column_count = 0};
    if (!csv_open(&csv, path))
        return false;
    bool good = read_header(&csv, large, &labels);
    while (good && csv_row(&csv))
        good = read_row(&csv, large, &labels, net, store);
    if (good && (labels.known_columns == 0 || labels.known_rows == 0))
        good = csv_error(&csv, "names none of the hosts in its header, or in its rows", path);
    csv_close(&csv);
    return good;
}

/* RTTs of a pair are the smaller one; pairs without are closed. */
static void close_unmeasured(struct net *net)
{
    for (uint16_t from = 0; from < net->count; from++)
        for (uint16_t to = 0; to < from; to++) {
            uint32_t there = net_edge(net, from, to), back = net_edge(net, to, from);
            uint32_t rtt_us = net->rtt_us[there] < net->rtt_us[back] ? net->rtt_us[there] : net->rtt_us[back];
            net->rtt_us[there] = net->rtt_us[back] = rtt_us;
            if (rtt_us == NET_RTT_UNKNOWN)
                net->path_bps[there] = net->path_bps[back] = 0;
        }
}

static bool make_net(const struct large_files *files, const struct large *large, struct arena *arena,
                     struct net *net)
{
    uint16_t source = 0;
    while (!large->hosts[source].source)
        source++;
    net_make(net, large->count, source, 0, arena);
    net->packet_bits = SOLVE_SYMBOL_WIRE_BYTES * 8;
    for (uint16_t host = 0; host < net->count; host++) {
        const struct large_host *from = &large->hosts[host];
        net->hosts[host] = (struct net_host){.up_bps = (double)solve_usable_bps(from->up_bps),
                                             .down_bps = (double)solve_usable_bps(from->down_bps),
                                             .packets_ps = NET_NO_LIMIT,
                                             .window_bytes = NET_NO_LIMIT,
                                             .children_max = PLAN_CHILDREN_MAX,
                                             .distinct_max = PLAN_CHILDREN_MAX,
                                             .receiver = from->receiver};
        memcpy(net->hosts[host].name, from->name, NAME_BYTES);
    }
    bool good = read_matrix(files->rtt_ms, large, net, store_rtt);
    if (good && files->avb_mbps != NULL)
        good = read_matrix(files->avb_mbps, large, net, store_avb);
    close_unmeasured(net);
    return good;
}

/* ---- out ---- */

static double payload_bps(double wire_bps)
{
    return wire_bps * SOLVE_PAYLOAD;
}

static void print_trees(const struct net *net, const struct choice *choice)
{
    const struct net_forest *forest = &choice->forest;
    printf(", \"trees\": [");
    for (uint16_t tree = 0; tree < forest->tree_count; tree++) {
        bool first = true;
        printf("%s{\"weight\": %.6f, \"edges\": [", tree == 0 ? "" : ", ",
               (double)forest->weight[tree] / forest->period);
        for (uint16_t host = 0; host < net->count; host++)
            if (forest->trees[tree].parent[host] != NET_NONE) {
                printf("%s[\"%s\", \"%s\"]", first ? "" : ", ",
                       net->hosts[forest->trees[tree].parent[host]].name, net->hosts[host].name);
                first = false;
            }
        printf("]}");
    }
    printf("]");
}

static void print_json(const struct net *net, const struct choice *choice, double solve_ms)
{
    bool first = true;
    printf("{\"rate_bps\": %.0f, \"bound_bps\": %.0f, \"gap\": %.4f, \"delay_ms\": %.3f, \"solve_ms\": %.3f",
           payload_bps(choice->judgement.rate_bps), payload_bps(choice->bound_bps),
           1 - choice->judgement.rate_bps / choice->bound_bps, (double)choice->judgement.delay_us / 1e3,
           solve_ms);
    print_trees(net, choice);
    printf(", \"candidates\": [");
    for (unsigned metric = 0; metric < PLAN_METRIC_COUNT; metric++) {
        if (!choice->mode_known[metric])
            continue;
        printf("%s{\"name\": \"%s\", \"rate_bps\": %.0f, \"delay_ms\": %.3f}", first ? "" : ", ",
               word_of(plan_metric_words, (int)metric), payload_bps(choice->modes[metric].rate_bps),
               (double)choice->modes[metric].delay_us / 1e3);
        first = false;
    }
    printf("]}\n");
}

static void print_text(const struct choice *choice, double solve_ms)
{
    printf("rate    %.3f Mbit/s of payload over %u tree%s; no plan exceeds %.3f (gap %.1f %%)\n",
           payload_bps(choice->judgement.rate_bps) / 1e6, choice->forest.tree_count,
           choice->forest.tree_count == 1 ? "" : "s", payload_bps(choice->bound_bps) / 1e6,
           (1 - choice->judgement.rate_bps / choice->bound_bps) * 100);
    printf("delay   %.3f ms to the farthest host; planned in %.0f ms\n",
           (double)choice->judgement.delay_us / 1e3, solve_ms);
    printf("%-14s %10s %9s\n", "one tree by", "Mbit/s", "delay ms");
    for (unsigned metric = 0; metric < PLAN_METRIC_COUNT; metric++)
        if (choice->mode_known[metric])
            printf("%-14s %10.3f %9.1f\n", word_of(plan_metric_words, (int)metric),
                   payload_bps(choice->modes[metric].rate_bps) / 1e6,
                   (double)choice->modes[metric].delay_us / 1e3);
}

static double clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static enum program_end plan_net(const struct large_files *files, const struct large *large,
                                 struct arena *arena, bool json)
{
    struct net net;
    struct choice choice;
    struct err err;
    if (!make_net(files, large, arena, &net))
        return PROGRAM_USAGE;
    struct choose_options options = {.pool = {.object = {files->size_bytes, SOLVE_PAYLOAD, NET_NO_LIMIT},
                                              .eps = AUTO_EPS,
                                              .trees_max = files->trees_max},
                                     .pack = true};
    double start_ms = clock_ms();
    if (!choose(&net, &options, arena, &choice, &err)) {
        fprintf(stderr, "sluice-planner: %s: %s\n", files->hosts, err.text);
        return PROGRAM_NO_PLAN;
    }
    double solve_ms = clock_ms() - start_ms;
    if (json)
        print_json(&net, &choice, solve_ms);
    else
        print_text(&choice, solve_ms);
    return fflush(stdout) == 0 ? PROGRAM_DONE : PROGRAM_USAGE;
}

enum program_end plan_large(const struct large_files *files, bool json)
{
    static struct large large;
    if (!read_hosts(files->hosts, &large))
        return PROGRAM_USAGE;
    struct net size = {.count = large.count};
    size_t bytes = net_bytes(large.count, 0) + choose_bytes(&size);
    void *memory = aligned_alloc(ARENA_ALIGN, arena_need(bytes));
    struct arena arena;
    if (memory == NULL) {
        fprintf(stderr, "sluice-planner: %zu MB of memory are missing\n", bytes / 1000000 + 1);
        return PROGRAM_NO_PLAN;
    }
    arena_init(&arena, memory, bytes);
    enum program_end end = plan_net(files, &large, &arena, json);
    free(memory);
    return end;
}
