#include "lp_check.h"
#include "lp_example.h"

#define HOSTS 4

static uint8_t memory[1 << 16] __attribute__((aligned(ARENA_ALIGN)));
static struct arena arena;

/* 0 → 1, 2, 3: uplinks 100 Mbit/s, no other limit. */
static struct net plain_net(void)
{
    struct net net;
    arena_init(&arena, memory, sizeof(memory));
    net_make(&net, HOSTS, 0, 1, &arena);
    assert_true(arena.used <= net_bytes(HOSTS, 1));
    net.packet_bits = 12000;
    net.shared[0].rate_bps = NET_NO_LIMIT;
    for (uint16_t host = 0; host < HOSTS; host++) {
        net.hosts[host].up_bps = 1e8;
        net.hosts[host].down_bps = NET_NO_LIMIT;
        net.hosts[host].children_max = net.hosts[host].distinct_max = 3;
        net.hosts[host].receiver = host != 0;
    }
    return net;
}

static struct net_tree tree_of(const struct net *net, uint16_t of_1, uint16_t of_2, uint16_t of_3)
{
    struct net_tree tree = net_tree_new(net, &arena);
    tree.parent[1] = of_1;
    tree.parent[2] = of_2;
    tree.parent[3] = of_3;
    return tree;
}

static double rate_of_star(const struct net *net, enum net_row_kind expected)
{
    static double use[HOSTS * HOSTS + 4 * HOSTS + 1];
    uint32_t tight;
    struct net_forest forest = {
        .tree_count = 1, .period = 1, .weight = {1}, .trees = {tree_of(net, 0, 0, 0)}};
    assert_true(net_forest_valid(net, &forest));
    double bps = net_forest_rate(net, &forest, use, &tight);
    assert_int_equal(net_row_of(net, tight).kind, expected);
    return bps;
}

static void net_forest_rate__is_that_of_the_row_that_gives_out_first(void **state)
{
    (void)state;
    struct net net = plain_net();
    assert_true(check_near(rate_of_star(&net, NET_UPLINK), 1e8 / 3, 1e-12));
    net.loss[net_edge(&net, 0, 1)] = 0.5; /* twice as much on this edge */
    assert_true(check_near(rate_of_star(&net, NET_UPLINK), 1e8 / 4, 1e-12));
    net.hosts[0].packets_ps = 4000; /* 48 Mbit/s for 4 copies */
    assert_true(check_near(rate_of_star(&net, NET_PACKETS), 1.2e7, 1e-12));
    net.path_bps[net_edge(&net, 0, 2)] = 1e7;
    assert_true(check_near(rate_of_star(&net, NET_PATH), 1e7, 1e-12));
    for (uint16_t to = 1; to < HOSTS; to++)
        net.rtt_us[net_edge(&net, 0, to)] = 100000; /* 0.3 s of data in the window */
    net.hosts[0].window_bytes = 300000;
    assert_true(check_near(rate_of_star(&net, NET_WINDOW), 8e6, 1e-12));
    net.shared[0].rate_bps = 1e7;
    assert_true(net_cross(&net, 0, 1, 0));
    assert_true(net_cross(&net, 0, 2, 0));
    assert_true(check_near(rate_of_star(&net, NET_SHARED), 5e6, 1e-12));
    net.hosts[3].down_bps = 1e6;
    assert_true(check_near(rate_of_star(&net, NET_DOWNLINK), 1e6, 1e-12));
}

static void net_forest_rate__adds_up_trees_by_weight(void **state)
{
    (void)state;
    static double use[HOSTS * HOSTS + 4 * HOSTS + 1];
    struct net net = plain_net();
    uint32_t tight;
    struct net_forest forest = {.tree_count = 2, .period = 3, .weight = {2, 1}};
    forest.trees[0] = tree_of(&net, 0, 1, 2);
    forest.trees[1] = tree_of(&net, 0, 0, 0);
    /* Of 3 blocks the source sends 2 once and 1 thrice. */
    assert_true(check_near(net_forest_rate(&net, &forest, use, &tight), 6e7, 1e-12));
    assert_int_equal(tight, 0);
    assert_true(net_forest_valid(&net, &forest));
    forest.period = 4;
    assert_false(net_forest_valid(&net, &forest));
}

static void net_tree_valid__tells_trees_from_others(void **state)
{
    (void)state;
    struct net net = plain_net();
    static const struct {
        uint16_t parent[3];
        bool valid;
    } cases[] = {
        {{0, 0, 0}, true},         {{0, 1, 2}, true},  {{2, 0, 1}, true},      {{2, 1, 0}, false},
        {{NET_NONE, 0, 0}, false}, {{0, 0, 3}, false}, {{0, 0, HOSTS}, false}, {{0, 3, 2}, false},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(*cases); index++) {
        const uint16_t *parent = cases[index].parent;
        struct net_tree tree = tree_of(&net, parent[0], parent[1], parent[2]);
        assert_int_equal(net_tree_valid(&net, &tree), cases[index].valid);
    }
    struct net_tree star = tree_of(&net, 0, 0, 0), through_3 = tree_of(&net, 3, 0, 0);
    struct net_tree without_3 = tree_of(&net, 0, 0, NET_NONE);
    net.hosts[3].receiver = false;
    assert_false(net_tree_valid(&net, &star)); /* leads nowhere */
    assert_true(net_tree_valid(&net, &through_3));
    assert_true(net_tree_valid(&net, &without_3));
    net.hosts[0].children_max = 1;
    assert_false(net_tree_valid(&net, &without_3));
}

static void net_forest_valid__counts_distinct_children(void **state)
{
    (void)state;
    struct net net = plain_net();
    struct net_forest forest = {.tree_count = 2, .period = 2, .weight = {1, 1}};
    forest.trees[0] = tree_of(&net, 0, 1, 2);
    forest.trees[1] = tree_of(&net, 0, 1, 1);
    net.hosts[1].distinct_max = 2;
    assert_true(net_forest_valid(&net, &forest));
    net.hosts[1].distinct_max = 1;
    assert_false(net_forest_valid(&net, &forest));
}

static void net_row_of__and_uses_agree_on_numbers(void **state)
{
    (void)state;
    struct net net = plain_net();
    for (uint32_t row = 0; row < net_rows(&net); row++)
        assert_int_equal(row >= net_common_rows(&net), net_row_of(&net, row).kind == NET_PATH);
    net.rtt_us[net_edge(&net, 1, 2)] = 1000;
    assert_true(net_cross(&net, 1, 2, 0));
    struct net_use uses[NET_USES_MAX];
    unsigned count = net_uses(&net, 1, 2, uses);
    static const struct net_row expected[] = {
        {NET_UPLINK, 1, 0}, {NET_DOWNLINK, 2, 0}, {NET_PACKETS, 1, 0}, {NET_PACKETS, 2, 0},
        {NET_WINDOW, 1, 0}, {NET_SHARED, 0, 0},   {NET_PATH, 1, 2},
    };
    assert_int_equal(count, sizeof(expected) / sizeof(*expected));
    for (unsigned index = 0; index < count; index++) {
        struct net_row row = net_row_of(&net, uses[index].row);
        assert_int_equal(row.kind, expected[index].kind);
        assert_int_equal(row.host, expected[index].host);
        assert_int_equal(row.to, expected[index].to);
    }
    for (int more = 1; more < NET_SHARED_OF_EDGE; more++)
        assert_true(net_cross(&net, 1, 2, 0));
    assert_false(net_cross(&net, 1, 2, 0));
}

static void net_tree_delay__is_the_longest_way_down(void **state)
{
    (void)state;
    struct net net = plain_net();
    struct net_tree tree = tree_of(&net, 0, 1, 0);
    uint64_t delay_us;
    net.rtt_us[net_edge(&net, 0, 1)] = 4000;
    net.rtt_us[net_edge(&net, 1, 2)] = 6000;
    assert_false(net_tree_delay_us(&net, &tree, &delay_us));
    net.rtt_us[net_edge(&net, 0, 3)] = 9000;
    assert_true(net_tree_delay_us(&net, &tree, &delay_us));
    assert_int_equal(delay_us, 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(net_forest_rate__is_that_of_the_row_that_gives_out_first),
        cmocka_unit_test(net_forest_rate__adds_up_trees_by_weight),
        cmocka_unit_test(net_tree_valid__tells_trees_from_others),
        cmocka_unit_test(net_forest_valid__counts_distinct_children),
        cmocka_unit_test(net_row_of__and_uses_agree_on_numbers),
        cmocka_unit_test(net_tree_delay__is_the_longest_way_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
