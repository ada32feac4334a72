/* lp_net KIND COUNT SEED [children CHILDREN_MAX]: makes a seeded net, packs trees, and prints what came of it
 * as JSON: the rows for another solver, rate and bound. With `time` before KIND: seconds and sizes instead of
 * the net. TOLERANCE and PIVOTS in the environment: when to end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lp_example.h"
#include "planner/lp/packing.h"

static const char *const kinds[EXAMPLE_KINDS] = {"uplinks", "paths", "mixed", "sparse",
                                                 "relays",  "ties",  "sites"};

static void print_row(const struct net *net, uint32_t row, double capacity)
{
    struct net_use uses[NET_USES_MAX];
    const char *between = "";
    printf("{\"capacity\":%.17g,\"use\":[", capacity);
    for (uint16_t from = 0; from < net->count; from++)
        for (uint16_t to = 0; to < net->count; to++) {
            unsigned count = net_usable(net, from, to) ? net_uses(net, from, to, uses) : 0;
            for (unsigned index = 0; index < count; index++)
                if (uses[index].row == row) {
                    printf("%s[%u,%u,%.17g]", between, from, to, uses[index].per_bit);
                    between = ",";
                }
        }
    printf("]}");
}

static void print_net(const struct net *net, bool children)
{
    const char *between = "";
    printf("\"count\":%u,\"source\":%u,\"receivers\":[", net->count, net->source);
    for (uint16_t host = 0; host < net->count; host++)
        if (net->hosts[host].receiver && host != net->source) {
            printf("%s%u", between, host);
            between = ",";
        }
    printf("],\"edges\":[");
    between = "";
    for (uint16_t from = 0; from < net->count; from++)
        for (uint16_t to = 0; to < net->count; to++)
            if (net_usable(net, from, to)) {
                printf("%s[%u,%u]", between, from, to);
                between = ",";
            }
    printf("],\"children_max\":[");
    for (uint16_t host = 0; host < net->count && children; host++)
        printf("%s%u", host == 0 ? "" : ",", net->hosts[host].children_max);
    printf("],\"rows\":[");
    between = "";
    for (uint32_t row = 0; row < net_rows(net); row++)
        if (net_capacity(net, row) < NET_NO_LIMIT) {
            printf("%s", between);
            print_row(net, row, net_capacity(net, row));
            between = ",\n";
        }
    printf("],\n");
}

static struct arena arena_of(size_t bytes)
{
    struct arena arena;
    bytes = arena_need(bytes);
    arena_init(&arena, aligned_alloc(ARENA_ALIGN, bytes), bytes);
    return arena;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    bool timed = argc > 1 && strcmp(argv[1], "time") == 0;
    char **word = argv + 1 + timed;
    int words = argc - 1 - timed, kind = 0;
    if (words != 3 && words != 5)
        return 2;
    while (kind < EXAMPLE_KINDS && strcmp(word[0], kinds[kind]) != 0)
        kind++;
    int count = atoi(word[1]);
    if (kind == EXAMPLE_KINDS || count < 2 || count > NET_HOSTS_MAX)
        return 2;
    struct net net;
    struct arena of_net = arena_of(net_bytes((uint16_t)count, 4));
    example_net(&net, (uint16_t)count, (enum example_kind)kind, strtoull(word[2], NULL, 10), &of_net);
    for (uint16_t host = 0; host < count && words == 5; host++)
        if (net.hosts[host].children_max != 0)
            net.hosts[host].children_max = (uint16_t)atoi(word[4]);
    const char *tolerance = getenv("TOLERANCE"), *pivots = getenv("PIVOTS");
    struct packing_options options = {.tolerance = tolerance == NULL ? 0 : atof(tolerance),
                                      .rounds_max = PACKING_ROUNDS_MAX,
                                      .pivots_max =
                                          pivots == NULL ? PACKING_PIVOTS_MAX : (uint32_t)atoi(pivots),
                                      .fan_out = words == 5};
    struct arena arena = arena_of(packing_bytes(net.count, net.shared_count));
    memset(arena.base, 0xa5, arena.size);
    struct packing packing;
    double start = seconds();
    packing_solve(&net, &options, NULL, 0, &arena, &packing);
    double used = seconds() - start;
    printf("{");
    if (timed)
        printf("\"seconds\":%.6f,\"rounds\":%u,\"pivots\":%u,\"trees\":%u,\"gap\":%.3g,\"MB\":%zu,", used,
               packing.rounds, packing.pivots, packing.tree_count, 1 - packing.rate_bps / packing.bound_bps,
               arena.size >> 20);
    else
        print_net(&net, options.fan_out);
    printf("\"rate_bps\":%.17g,\"bound_bps\":%.17g}\n", packing.rate_bps, packing.bound_bps);
    free(arena.base);
    free(of_net.base);
    return 0;
}
