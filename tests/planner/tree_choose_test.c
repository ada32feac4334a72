/* The planner's own choice. `tree_choose_test NETS` looks at that many small nets instead of 2,000. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "nets.h"
#include "planner/tree/choose.h"

#define MEMORY_BYTES (64u << 20)
#define PAYLOAD      (1408.0 / 1538)
#define EXACT        (1 + 1e-9)

static struct arena arena;
static struct net net;
static uint64_t small_nets = 2000;

static struct choose_options options_of(uint64_t size_bytes, double eps)
{
    return (struct choose_options){.pool = {.object = {.size_bytes = size_bytes,
                                                       .payload_per_wire = PAYLOAD,
                                                       .rate_cap_bps = NET_NO_LIMIT},
                                            .eps = eps,
                                            .trees_max = 4},
                                   .pack = true};
}

static struct choice chosen(const struct choose_options *options)
{
    struct choice choice;
    struct err err = {""};
    size_t before = arena.used;
    if (!choose(&net, options, &arena, &choice, &err))
        fail_msg("%s", err.text);
    assert_true(arena.used - before <= choose_bytes(&net));
    return choice;
}

static void pure(void)
{
    arena.used = 0;
    nets_make(&net, NETS_PURE, 0, 1, &arena);
}

/* ---- properties ---- */

/* All edges at the rates that are told, row by row. */
static void expect_within_capacity(const struct choice *choice)
{
    size_t mark = arena.used;
    double *load = arena_alloc(&arena, net_rows(&net) * sizeof(double));
    memset(load, 0, net_rows(&net) * sizeof(double));
    for (uint16_t tree = 0; tree < choice->forest.tree_count; tree++)
        for (uint16_t host = 0; host < net.count; host++) {
            struct net_use uses[NET_USES_MAX];
            uint16_t parent = choice->forest.trees[tree].parent[host];
            unsigned count = parent == NET_NONE ? 0 : net_uses(&net, parent, host, uses);
            for (unsigned use = 0; use < count; use++)
                load[uses[use].row] += uses[use].per_bit * choose_edge_bps(choice, tree, host);
        }
    for (uint32_t row = 0; row < net_rows(&net); row++)
        assert_true(load[row] <= net_capacity(&net, row) * EXACT);
    arena.used = mark;
}

/* A host is never sent more than its parent has, in any tree. */
static void expect_fed_by_faster(const struct choice *choice)
{
    for (uint16_t tree = 0; tree < choice->forest.tree_count; tree++)
        for (uint16_t host = 0; host < net.count; host++) {
            uint16_t parent = choice->forest.trees[tree].parent[host];
            if (parent != NET_NONE && parent != net.source)
                assert_true(choose_host_bps(choice, parent) >= choose_host_bps(choice, host));
        }
}

/* Shortest time by any mode that has an answer. */
static double best_mode_seconds(const struct choose_options *options)
{
    static bool member[NET_HOSTS_MAX];
    static double pace_bps[NET_HOSTS_MAX];
    struct task task = {&net, member, pace_bps};
    struct shares shares;
    struct search search;
    double best = NET_NO_LIMIT;
    size_t mark = arena.used;
    for (uint16_t host = 0; host < net.count; host++) {
        member[host] = host == net.source || net.hosts[host].receiver;
        pace_bps[host] = NET_NO_LIMIT;
    }
    shares_init(&shares, &task, &arena);
    search_init(&search, &task, &shares, &arena);
    for (enum plan_metric mode = 0; mode < PLAN_METRIC_COUNT; mode++) {
        struct net_forest forest = {
            .tree_count = 1, .period = 1, .weight = {1}, .trees = {net_tree_new(&net, &arena)}};
        struct err err;
        if (!mode_tree(&search, mode, &options->pool.modes, &forest.trees[0], &err))
            continue;
        double seconds = judge(&task, &forest, &options->pool.object, &arena).seconds;
        best = seconds < best ? seconds : best;
    }
    arena.used = mark;
    return best;
}

/* False: the net cannot be planned, nor has any mode a tree. */
static bool expect_never_worse(uint64_t seed)
{
    static const uint64_t sizes_bytes[] = {0, 1000, 1000000, 1000000000};
    struct choose_options options = options_of(sizes_bytes[seed % 4], seed / 4 % 2 == 0 ? 0 : 0.03);
    struct choice choice;
    struct err err;
    arena.used = 0;
    nets_make_small(&net, seed, &arena);
    double best_seconds = best_mode_seconds(&options);
    if (!choose(&net, &options, &arena, &choice, &err)) {
        if (best_seconds < NET_NO_LIMIT)
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
        return false;
    }
    if (choice.judgement.last_seconds > best_seconds * (1 + options.pool.eps) * EXACT)
        fail_msg("seed %llu: %.9g s, a mode takes %.9g s", (unsigned long long)seed,
                 choice.judgement.last_seconds, best_seconds);
    assert_true(net_forest_valid(&net, &choice.forest));
    assert_true(choice.judgement.rate_bps <= choice.bound_bps * EXACT);
    expect_within_capacity(&choice);
    expect_fed_by_faster(&choice);
    return true;
}

static void choose__never_worse_than_any_mode(void **state)
{
    (void)state;
    uint64_t planned = 0;
    for (uint64_t seed = 0; seed < small_nets; seed++)
        planned += expect_never_worse(seed);
    assert_true(planned > small_nets / 2);
}

/* A relay that paid with a slow receiver's pace stayed when the pace was taken back. */
static void choose__without_paces_no_relays_either(void **state)
{
    (void)state;
    assert_true(expect_never_worse(89986));
}

static void scale(double by)
{
    for (uint16_t host = 0; host < net.count; host++) {
        net.hosts[host].up_bps *= by;
        net.hosts[host].down_bps *= by;
    }
    for (uint32_t edge = 0; edge < (uint32_t)net.count * net.count; edge++)
        if (net.path_bps[edge] < NET_NO_LIMIT)
            net.path_bps[edge] *= by;
    for (uint16_t shared = 0; shared < net.shared_count; shared++)
        net.shared[shared].rate_bps *= by;
}

static void choose__rates_scale(void **state)
{
    (void)state;
    static const enum nets_kind kinds[] = {NETS_UPLINK, NETS_HET, NETS_HOST, NETS_EDGES, NETS_TIGHT};
    struct choose_options options = options_of(0, 0);
    for (unsigned kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
        arena.used = 0;
        nets_make(&net, kinds[kind], 12, 5, &arena);
        struct choice before = chosen(&options);
        scale(8);
        struct choice after = chosen(&options);
        assert_true(after.judgement.rate_bps <= 8 * before.judgement.rate_bps * EXACT);
        assert_true(after.judgement.rate_bps * EXACT >= 8 * before.judgement.rate_bps);
        assert_int_equal(after.forest.tree_count, before.forest.tree_count);
        for (uint16_t tree = 0; tree < before.forest.tree_count; tree++)
            assert_memory_equal(after.forest.trees[tree].parent, before.forest.trees[tree].parent,
                                net.count * sizeof(uint16_t));
    }
}

/* Shares of the bound on nets of each kind: what the token builds are for. tree_bench has more of them. */
static void choose__near_the_bound(void **state)
{
    (void)state;
    for (enum nets_kind kind = 0; kind < NETS_KIND_COUNT; kind++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            struct choose_options options = options_of(0, 0);
            for (uint16_t trees = 4; trees <= 8; trees += 4) {
                double share =
                    nets_binds_nodes(kind) ? (trees == 4 ? 0.92 : 0.95) : (trees == 4 ? 0.78 : 0.85);
                arena.used = 0;
                nets_make(&net, kind, 24, seed, &arena);
                options.pool.trees_max = trees;
                struct choice choice = chosen(&options);
                assert_in_range(choice.forest.tree_count, 1, trees);
                if (choice.judgement.rate_bps < share * choice.bound_bps)
                    fail_msg("%s, seed %llu, %u trees: %.3f of the bound", nets_names[kind],
                             (unsigned long long)seed, trees, choice.judgement.rate_bps / choice.bound_bps);
            }
        }
}

/* Of so many hosts builders look at few edges; no mode does better for it, and little is lost. */
static void choose__many_hosts(void **state)
{
    (void)state;
    static const enum nets_kind kinds[] = {NETS_NODES, NETS_SKEW, NETS_EDGES};
    for (unsigned kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
        struct choose_options options = options_of(1000000000, 0.03);
        options.pool.trees_max = 4;
        arena.used = 0;
        nets_make(&net, kinds[kind], 240, 1, &arena);
        struct choice choice = chosen(&options);
        assert_true(net_forest_valid(&net, &choice.forest));
        expect_within_capacity(&choice);
        assert_true(choice.judgement.seconds <= best_mode_seconds(&options) * 1.03 * EXACT);
        if (choice.judgement.rate_bps < 0.85 * choice.bound_bps)
            fail_msg("%s: %.3f of the bound", nets_names[kinds[kind]],
                     choice.judgement.rate_bps / choice.bound_bps);
    }
}

/* ---- hosts that cap the others, hosts that only help ---- */

static void expect_leaf(const struct choice *choice, uint16_t host)
{
    for (uint16_t tree = 0; tree < choice->forest.tree_count; tree++)
        for (uint16_t child = 0; child < net.count; child++)
            assert_int_not_equal(choice->forest.trees[tree].parent[child], host);
}

static void choose__slow_downlink_holds_nobody(void **state)
{
    (void)state;
    struct choose_options options = options_of(1000000000, 0.03);
    pure();
    net.hosts[7].down_bps = 5e6;
    struct choice choice = chosen(&options);
    expect_leaf(&choice, 7);
    assert_true(choose_host_bps(&choice, 7) >= 5e6);
    pure();
    net.hosts[7].receiver = false;
    net.hosts[7].children_max = 0;
    struct choice without = chosen(&options);
    assert_true(without.judgement.rate_bps <= 1.10 * choice.judgement.rate_bps);
    assert_true(choice.judgement.rate_bps > 80e6);
}

static void choose__slow_ones_by_themselves(void **state)
{
    (void)state;
    struct choose_options options = options_of(1000000000, 0.03);
    pure();
    net.hosts[7].down_bps = 5e6;
    net.hosts[11].down_bps = 20e6;
    for (uint16_t from = 0; from < net.count; from++)
        net.path_bps[net_edge(&net, from, 13)] = from == 13 ? 0 : 1e6; /* 14 paths into it, no wide one */
    struct choice choice = chosen(&options);
    assert_true(choose_host_bps(&choice, 7) >= 5e6 && choose_host_bps(&choice, 7) < 5.1e6);
    assert_true(choose_host_bps(&choice, 11) >= 20e6 && choose_host_bps(&choice, 11) < 20.1e6);
    assert_true(choose_host_bps(&choice, 13) > 3.9e6); /* four trees, each by another path */
    assert_true(choice.judgement.rate_bps > 70e6);
}

/* Three hosts behind one link: they share its rate and feed each other. */
static void choose__slow_site(void **state)
{
    (void)state;
    struct choose_options options = options_of(1000000000, 0.03);
    struct arena *at = &arena;
    at->used = 0;
    struct net flat;
    nets_make(&flat, NETS_PURE, 0, 1, at);
    net_make(&net, flat.count, flat.source, 1, at);
    memcpy(net.hosts, flat.hosts, flat.count * sizeof(struct net_host));
    memcpy(net.rtt_us, flat.rtt_us, (size_t)flat.count * flat.count * sizeof(uint32_t));
    net.shared[0] = (struct net_shared){"ingress", 6e6};
    for (uint16_t from = 0; from < net.count; from++)
        for (uint16_t to = 12; to < 15; to++)
            if (from < 12)
                net_cross(&net, from, to, 0);
    struct choice choice = chosen(&options);
    for (uint16_t host = 12; host < 15; host++)
        assert_true(choose_host_bps(&choice, host) > 5.9e6);
    assert_true(choice.judgement.rate_bps > 80e6);
    expect_within_capacity(&choice);
    expect_fed_by_faster(&choice);
}

/* A source of 100 and three receivers that send nothing; one relay sends 200, another one 100. */
static void relays(double relay_up_bps)
{
    arena.used = 0;
    net_make(&net, 6, 0, 0, &arena);
    for (uint16_t host = 0; host < 6; host++) {
        net.hosts[host] = (struct net_host){.up_bps = host == 0  ? 100e6
                                                      : host < 4 ? 1e3
                                                                 : relay_up_bps / (host - 3),
                                            .down_bps = 1e9,
                                            .packets_ps = NET_NO_LIMIT,
                                            .window_bytes = NET_NO_LIMIT,
                                            .children_max = 16,
                                            .distinct_max = 16,
                                            .receiver = host > 0 && host < 4};
        snprintf(net.hosts[host].name, NAME_BYTES, "h%u", host);
        for (uint16_t to = 0; to < 6; to++)
            net.rtt_us[net_edge(&net, host, to)] = 10000;
    }
}

static bool used(const struct choice *choice, uint16_t host)
{
    for (uint16_t tree = 0; tree < choice->forest.tree_count; tree++)
        if (choice->forest.trees[tree].parent[host] != NET_NONE)
            return true;
    return false;
}

static void choose__relays_that_add_rate(void **state)
{
    (void)state;
    struct choose_options options = options_of(1000000000, 0.03);
    relays(200e6);
    struct choice choice = chosen(&options);
    assert_true(used(&choice, 4));
    assert_true(choice.judgement.rate_bps > 60e6); /* 33 without */
    expect_within_capacity(&choice);
    relays(6e6);
    choice = chosen(&options);
    assert_false(used(&choice, 4) || used(&choice, 5));
    options = options_of(100, 0.03); /* nothing to gain for an object of one packet */
    relays(200e6);
    choice = chosen(&options);
    assert_false(used(&choice, 4) || used(&choice, 5));
}

/* ---- objectives ---- */

static void choose__small_objects_take_the_near_tree(void **state)
{
    (void)state;
    struct choose_options small = options_of(1000000, 0.03), big = options_of(2000000000, 0.03);
    pure();
    struct choice near = chosen(&small), fast = chosen(&big);
    assert_true(near.judgement.delay_us < fast.judgement.delay_us);
    assert_true(near.judgement.rate_bps < fast.judgement.rate_bps);
    assert_true(near.judgement.seconds <= 1.05 * best_mode_seconds(&small));
    assert_true(fast.judgement.seconds <= 1.05 * best_mode_seconds(&big));
    assert_int_equal(fast.forest.tree_count, 1);
}

/* Within eps fewer trees win; without, the rate does. */
static void choose__fewest_trees_within_eps(void **state)
{
    (void)state;
    struct choose_options exact = options_of(0, 0), loose = options_of(0, 0.2);
    arena.used = 0;
    nets_make(&net, NETS_ASYM, 0, 1, &arena);
    struct choice fastest = chosen(&exact), simplest = chosen(&loose);
    assert_true(simplest.forest.tree_count < fastest.forest.tree_count);
    assert_true(simplest.judgement.rate_bps >= fastest.judgement.rate_bps / 1.2 / EXACT);
}

static void choose__rate_cap(void **state)
{
    (void)state;
    struct choose_options options = options_of(0, 0.03);
    options.pool.object.rate_cap_bps = 12e6;
    pure();
    struct choice choice = chosen(&options);
    assert_true(choice.judgement.rate_bps > 11.99e6 && choice.judgement.rate_bps < 12.01e6);
    assert_int_equal(choice.forest.tree_count, 1);
}

static void choose__says_who_cannot_be_reached(void **state)
{
    (void)state;
    struct choose_options options = options_of(0, 0.03);
    struct choice choice;
    struct err err;
    pure();
    for (uint16_t from = 0; from < net.count; from++)
        net.path_bps[net_edge(&net, from, 6)] = 0;
    assert_false(choose(&net, &options, &arena, &choice, &err));
    assert_string_equal(err.text, "h006 can't be reached from h000: no path leads to it that is measured, "
                                  "allowed and carries anything");
    pure();
    net.hosts[3].down_bps = 0;
    assert_false(choose(&net, &options, &arena, &choice, &err));
    assert_string_equal(err.text, "h003 has a downlink of 0");
    pure();
    for (uint16_t host = 1; host < net.count; host++)
        net.hosts[host].children_max = 0;
    net.hosts[0].children_max = 3;
    assert_false(choose(&net, &options, &arena, &choice, &err));
    assert_string_equal(err.text,
                        "no tree from h000 reaches every receiver: too few hosts may have children");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choose__never_worse_than_any_mode),
        cmocka_unit_test(choose__without_paces_no_relays_either),
        cmocka_unit_test(choose__rates_scale),
        cmocka_unit_test(choose__near_the_bound),
        cmocka_unit_test(choose__many_hosts),
        cmocka_unit_test(choose__slow_downlink_holds_nobody),
        cmocka_unit_test(choose__slow_ones_by_themselves),
        cmocka_unit_test(choose__slow_site),
        cmocka_unit_test(choose__relays_that_add_rate),
        cmocka_unit_test(choose__small_objects_take_the_near_tree),
        cmocka_unit_test(choose__fewest_trees_within_eps),
        cmocka_unit_test(choose__rate_cap),
        cmocka_unit_test(choose__says_who_cannot_be_reached),
    };
    void *memory = aligned_alloc(ARENA_ALIGN, MEMORY_BYTES);
    if (memory == NULL)
        return 1;
    if (argc > 1)
        small_nets = strtoull(argv[1], NULL, 10);
    arena_init(&arena, memory, MEMORY_BYTES);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(memory);
    return failed;
}
