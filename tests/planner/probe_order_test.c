/* All pairs measured for a plan: the rotation sends, the order stops, trains err as the law says (cross packets of a Poisson
 * stream, counted over the train), and what is planned by that is judged on the true net. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <math.h>

#include "base/rng.h"
#include "base/units.h"
#include "fluid.h"
#include "planner/auto.h"
#include "probe/order.h"

#define MEMORY_BYTES (64u << 20)
#define HOSTS        20
#define SITE_HOSTS   5
#define SEEDS        5
#define KEEP         4
#define LOW_SIGMAS   1.2816 /* a quantile of 10 % */
#define PACKET_BITS  12304.0
#define PASSES_MAX   400
#define FULL_PASSES  1000

static struct arena arena;
static struct net net;
static struct known known[ROTATION_NODES_MAX * ROTATION_NODES_MAX];
static const char *matrix_path;

struct world {
    uint16_t count;
    double capacity_bps;
    uint64_t train_ns;
    double avail_bps[ROTATION_NODES_MAX][ROTATION_NODES_MAX];
    struct rng rng;
};

static double uniform(struct rng *rng)
{
    return (double)(rng_next(rng) >> 11) / (double)(UINT64_C(1) << 53);
}

static unsigned poisson(struct rng *rng, double mean)
{
    unsigned count = 0;
    for (double product = uniform(rng), end = exp(-mean); product > end; product *= uniform(rng))
        count++;
    return count;
}

/* What one train finds: its interval is by what it counted, not by what is true. */
static struct estimate measure(struct world *world, uint16_t from, uint16_t to)
{
    double seconds = (double)world->train_ns / 1e9, capacity_bps = world->capacity_bps;
    double cross_bps = capacity_bps - world->avail_bps[from][to];
    unsigned packets = poisson(&world->rng, cross_bps * seconds / PACKET_BITS);
    double avail_bps = MAX(capacity_bps - packets * PACKET_BITS / seconds, 0.0);
    double half_bps = KNOWN_SIGMAS * sqrt(packets + 1.0) * PACKET_BITS / seconds;
    return (struct estimate){.kind = ESTIMATE_VALUE,
                             .avail_bps = (uint64_t)avail_bps,
                             .low_bps = (uint64_t)MAX(avail_bps - half_bps, 0.0),
                             .high_bps = (uint64_t)MIN(avail_bps + half_bps, capacity_bps),
                             .capacity_bps = (uint64_t)capacity_bps};
}

/* 4 sites, own link per pair, Poisson load uniform from 0 to 80 %. */
static void make_world(struct world *world, uint64_t seed)
{
    *world = (struct world){.count = HOSTS, .capacity_bps = 10e9, .train_ns = 400 * NS_PER_US};
    rng_init(&world->rng, seed);
    for (uint16_t from = 0; from < HOSTS; from++)
        for (uint16_t to = 0; to < HOSTS; to++)
            world->avail_bps[from][to] = from == to ? 0 : 10e9 * (1 - 0.8 * uniform(&world->rng));
}

/* The papers' fifteen hosts, 100 Mbit/s less what crosses their paths. */
static void read_world(struct world *world)
{
    char line[512];
    FILE *file = fopen(matrix_path, "r");
    assert_non_null(file);
    *world = (struct world){.capacity_bps = 100e6, .train_ns = 40 * NS_PER_MS};
    rng_init(&world->rng, 7);
    assert_non_null(fgets(line, sizeof(line), file));
    for (; fgets(line, sizeof(line), file) != NULL; world->count++) {
        char *at = line;
        for (uint16_t to = 0; (at = strchr(at, ',')) != NULL; to++)
            world->avail_bps[world->count][to] = 100e6 - 1e6 * strtod(++at, NULL);
    }
    fclose(file);
    assert_int_equal(world->count, 15);
}

static struct order_goal goal_of(const struct world *world)
{
    return (struct order_goal){.node_count = world->count,
                               .keep = KEEP,
                               .coarse_bps = (uint64_t)(0.06 * world->capacity_bps),
                               .fine_bps = (uint64_t)(0.01 * world->capacity_bps),
                               .port_bps = (uint64_t)world->capacity_bps,
                               .drift_bps = 1};
}

struct spent {
    unsigned trains;
    uint64_t duration_ns;
};

static struct rotation_goal rotation_of(const struct world *world, uint32_t passes)
{
    struct rotation_goal goal = {.node_count = world->count,
                                 .passes = passes,
                                 .train_ns = world->train_ns,
                                 .train_bytes = 500000,
                                 .train_bps = (uint64_t)world->capacity_bps,
                                 .guard_ns = world->train_ns / 4,
                                 .timeout_ns = NS_PER_S};
    for (uint16_t node = 0; node < world->count; node++) {
        goal.group_of[node] = node / SITE_HOSTS;
        goal.group_bps[node] = (uint64_t)(4 * world->capacity_bps);
    }
    return goal;
}

/* Passes until nothing is worth a train. */
static struct spent run(struct world *world, const struct order_goal *goal, uint32_t passes)
{
    static struct rotation rotation;
    struct order order;
    struct rotation_train train;
    struct rotation_goal rounds = rotation_of(world, passes);
    struct spent spent = {0};
    struct err err;
    order_init(&order, goal, known);
    if (!rotation_init(&rotation, &rounds, 0, &err))
        fail_msg("%s", err.text);
    for (enum rotation_step step; (step = rotation_next(&rotation, 0, &train)) != ROTATION_DONE;) {
        if (step == ROTATION_TRAIN) {
            struct estimate estimate = measure(world, train.from, train.to);
            order_take(&order, train.from, train.to, &estimate, train.at_ns);
            rotation_take(&rotation, train.from, train.to, true);
            spent.trains++;
            spent.duration_ns = train.at_ns;
            continue;
        }
        order_look(&order, spent.duration_ns);
        for (uint16_t from = 0; from < world->count; from++)
            rotation_want(&rotation, from, order_wanted(&order, from));
    }
    order_look(&order, spent.duration_ns);
    uint64_t left = 0;
    for (uint16_t from = 0; from < world->count; from++)
        left |= order_wanted(&order, from);
    assert_int_equal(left, 0);
    return spent;
}

static double measured_bps(const struct world *world, uint16_t from, uint16_t to)
{
    return known[from * world->count + to].avail_bps;
}

/* What plans count on. */
static double planned_bps(const struct world *world, uint16_t from, uint16_t to)
{
    return measured_bps(world, from, to) - LOW_SIGMAS * sqrt(known[from * world->count + to].variance);
}

/* Over pairs of paths that the one measurement has more than `gap` of the greater one apart. */
static double kendall_tau(const struct world *world, const double (*full)[ROTATION_NODES_MAX], double gap)
{
    unsigned same = 0, all = 0, count = world->count;
    for (unsigned one = 0; one < count * count; one++)
        for (unsigned other = 0; other < one; other++) {
            unsigned from = one / count, to = one % count, from2 = other / count, to2 = other % count;
            double a = full[from][to], b = full[from2][to2];
            if (from == to || from2 == to2 || fabs(a - b) <= gap * MAX(a, b))
                continue;
            all++;
            same += (measured_bps(world, (uint16_t)from, (uint16_t)to) >
                     measured_bps(world, (uint16_t)from2, (uint16_t)to2)) == (a > b);
        }
    return 2.0 * same / all - 1;
}

/* Sites share four of their links' widths on the way out. */
static void make_net(const struct world *world, double port_bps)
{
    arena.used = 0;
    uint16_t sites = world->count / SITE_HOSTS;
    net_make(&net, world->count, 0, sites, &arena);
    net.packet_bits = PACKET_BITS;
    for (uint16_t site = 0; site < sites; site++)
        net.shared[site].rate_bps = 4 * world->capacity_bps;
    for (uint16_t host = 0; host < world->count; host++) {
        net.hosts[host] = (struct net_host){.up_bps = port_bps,
                                            .down_bps = port_bps,
                                            .packets_ps = NET_NO_LIMIT,
                                            .window_bytes = NET_NO_LIMIT,
                                            .children_max = PLAN_CHILDREN_MAX,
                                            .distinct_max = PLAN_CHILDREN_MAX,
                                            .receiver = host != 0};
        snprintf(net.hosts[host].name, NAME_BYTES, "h%02u", host);
        for (uint16_t to = 0; to < world->count; to++) {
            net.rtt_us[net_edge(&net, host, to)] = 20000;
            if (host / SITE_HOSTS != to / SITE_HOSTS)
                net_cross(&net, host, to, (uint8_t)(host / SITE_HOSTS));
        }
    }
}

static void set_paths(const struct world *world, bool true_rates)
{
    for (uint16_t from = 0; from < world->count; from++)
        for (uint16_t to = 1; to < world->count; to++)
            if (from != to)
                net.path_bps[net_edge(&net, from, to)] =
                    true_rates ? world->avail_bps[from][to] : planned_bps(world, from, to);
}

static struct choice chosen(uint16_t trees)
{
    struct choose_options options = {
        .pool = {.object = {.payload_per_wire = 1408.0 / 1538, .rate_cap_bps = NET_NO_LIMIT},
                 .eps = AUTO_EPS,
                 .trees_max = trees},
        .pack = true};
    struct choice choice;
    struct err err = {""};
    if (!choose(&net, &options, &arena, &choice, &err))
        fail_msg("%s", err.text);
    return choice;
}

/* What a plan by the measurement carries on the true net, over what a plan by the truth carries. */
static double worth(const struct world *world, double port_bps, uint16_t trees)
{
    make_net(world, port_bps);
    size_t mark = arena.used;
    set_paths(world, true);
    struct choice best = chosen(trees);
    double best_bps = fluid_rate(&net, &best, &arena);
    arena.used = mark;
    set_paths(world, false);
    struct choice choice = chosen(trees);
    set_paths(world, true);
    return fluid_rate(&net, &choice, &arena) / best_bps;
}

static void order__a_quarter_of_the_bytes_is_enough(void **state)
{
    (void)state;
    static struct world world;
    static double full[ROTATION_NODES_MAX][ROTATION_NODES_MAX];
    double wide_sum = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        make_world(&world, seed);
        struct order_goal goal = goal_of(&world), whole = goal;
        whole.coarse_bps = whole.fine_bps; /* every path as well as those that matter */
        struct spent all = run(&world, &whole, FULL_PASSES);
        for (uint16_t from = 0; from < HOSTS; from++)
            for (uint16_t to = 0; to < HOSTS; to++)
                full[from][to] = measured_bps(&world, from, to);
        struct spent spent = run(&world, &goal, PASSES_MAX);
        double share = (double)spent.trains / all.trains;
        double tau = kendall_tau(&world, full, 0.05), tau_true = kendall_tau(&world, world.avail_bps, 0.05);
        double rate = worth(&world, 10e9, 4), wide = worth(&world, 40e9, 4);
        print_message(
            "seed %u: %u of %u trains (%.3f), %.2f s; tau %.4f, against the truth %.4f; rate of auto %.3f, "
            "with ports of 40G %.3f\n",
            (unsigned)seed, spent.trains, all.trains, share, (double)spent.duration_ns / 1e9, tau, tau_true,
            rate, wide);
        assert_true(share <= 0.25 && spent.duration_ns <= 10 * NS_PER_S);
        assert_true(tau >= 0.95 && tau_true >= 0.95);
        assert_true(rate >= 0.97);
        wide_sum += wide;
    }
    /* There each receiver takes of several paths at once, and what `auto` finds differs by some per cent between nets that
     * hardly differ, to either side: measured in full these seeds give 0.94 to 1.05, and the truth itself with 0.1 % of noise
     * on each path 0.93 to 1.05 (0.98 on average, as with 1 %). */
    assert_true(wide_sum / SEEDS >= 0.94);
}

/* The rule, on the papers' matrix and on drawn ones: whatever intervals that hold the truth say, none of the widest paths
 * into a receiver is left out; those who are left are as narrow as asked for; in the end the widest are sure. */
static void order__none_of_the_widest_is_left_out(void **state)
{
    (void)state;
    static struct world world;
    for (unsigned round = 0; round < 20; round++) {
        struct order order;
        round == 0 ? read_world(&world) : make_world(&world, round);
        struct order_goal goal = goal_of(&world);
        goal.keep = (uint16_t)(1 + round % 5);
        order_init(&order, &goal, known);
        uint16_t from, to;
        unsigned steps = 0;
        for (order_look(&order, 0); order_next(&order, &from, &to); order_look(&order, 0)) {
            struct known *pair = &known[from * world.count + to];
            double half =
                pair->taken == 0 ? 0.1 * world.capacity_bps : 0.5 * KNOWN_SIGMAS * sqrt(pair->variance);
            double avail = world.avail_bps[from][to] + (2 * uniform(&world.rng) - 1) * half;
            *pair = (struct known){.newest = {.kind = ESTIMATE_VALUE},
                                   .taken = 1,
                                   .drift_bps = 1,
                                   .avail_bps = avail,
                                   .variance = half * half / KNOWN_SIGMAS / KNOWN_SIGMAS};
            assert_true(++steps < 10000);
        }
        for (to = 0; to < world.count; to++)
            for (from = 0; from < world.count; from++) {
                unsigned wider = 0;
                for (uint16_t other = 0; other < world.count; other++)
                    wider += other != to && world.avail_bps[other][to] > world.avail_bps[from][to];
                if (from != to && wider < goal.keep)
                    assert_int_equal(order_state(&order, from, to), ORDER_SURE);
                else if (from != to)
                    assert_int_not_equal(order_state(&order, from, to), ORDER_OPEN);
            }
    }
}

/* The matrix as trains see it. */
static void order__the_papers_hosts(void **state)
{
    (void)state;
    static struct world world;
    read_world(&world);
    struct order_goal goal = goal_of(&world), whole = goal;
    whole.coarse_bps = whole.fine_bps;
    struct spent all = run(&world, &whole, FULL_PASSES), spent = run(&world, &goal, PASSES_MAX);
    double tau = kendall_tau(&world, world.avail_bps, 0.05), rate = worth(&world, 100e6, 4);
    print_message("%u of %u trains; tau %.4f; rate %.3f\n", spent.trains, all.trains, tau, rate);
    assert_true(tau >= 0.95 && rate >= 0.97);
}

int main(int argc, char **argv)
{
    assert_int_equal(argc, 2);
    matrix_path = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order__none_of_the_widest_is_left_out),
        cmocka_unit_test(order__the_papers_hosts),
        cmocka_unit_test(order__a_quarter_of_the_bytes_is_enough),
    };
    void *memory = aligned_alloc(ARENA_ALIGN, MEMORY_BYTES);
    assert_non_null(memory);
    arena_init(&arena, memory, MEMORY_BYTES);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(memory);
    return failed;
}
