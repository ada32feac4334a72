#include "lp_check.h"
#include "lp_example.h"
#include "planner/lp/bound.h"

#define HOSTS 16
#define CLOSE 1e-6

static uint8_t net_memory[1 << 20] __attribute__((aligned(ARENA_ALIGN)));
static uint8_t memory[16 << 20] __attribute__((aligned(ARENA_ALIGN)));

static const struct packing_options plain = {.rounds_max = PACKING_ROUNDS_MAX,
                                             .pivots_max = PACKING_PIVOTS_MAX};

static void make_net(struct net *net, uint16_t count, enum example_kind kind, uint64_t seed)
{
    struct arena arena;
    arena_init(&arena, net_memory, net_bytes(count, 4));
    example_net(net, count, kind, seed, &arena);
}

/* In memory that says no more than packing_bytes() asks for; the answer lasts until the next call. */
static struct packing solved(const struct net *net, const struct packing_options *options)
{
    struct packing packing;
    struct arena arena;
    arena_init(&arena, memory, arena_need(packing_bytes(net->count, net->shared_count)));
    assert_true(arena.size <= sizeof(memory));
    memset(memory, 0xa5, arena.size);
    packing_solve(net, options, NULL, 0, &arena, &packing);
    return packing;
}

static bool all_receive(const struct net *net)
{
    for (uint16_t host = 0; host < net->count; host++)
        if (host != net->source && !net->hosts[host].receiver)
            return false;
    return true;
}

static void packing__rate_and_proven_bound_meet(void **state)
{
    (void)state;
    for (enum example_kind kind = 0; kind < EXAMPLE_KINDS; kind++)
        for (uint64_t seed = 0; seed < 40; seed++) {
            struct net net;
            make_net(&net, (uint16_t)(2 + seed % (HOSTS - 1)), kind, seed);
            struct packing packing = solved(&net, &plain);
            check_loads(&net, &packing, false);
            if (packing.tree_count > 0)
                check_proof(&net, &packing, 0);
            assert_true(packing.rate_bps <= packing.bound_bps * (1 + 1e-12));
            assert_true(packing.bound_bps <= bound_of(&net).bps * (1 + 1e-12));
            if (all_receive(&net) && !check_near(packing.rate_bps, packing.bound_bps, 1e-7))
                fail_msg("kind %d seed %d: rate %.3f bound %.3f", kind, (int)seed, packing.rate_bps,
                         packing.bound_bps);
        }
}

static void packing__limits_children_on_the_average(void **state)
{
    (void)state;
    struct packing_options options = plain;
    options.fan_out = true;
    for (enum example_kind kind = 0; kind < EXAMPLE_KINDS; kind++)
        for (uint64_t seed = 0; seed < 30; seed++) {
            struct net net;
            make_net(&net, (uint16_t)(3 + seed % (HOSTS - 2)), kind, seed);
            for (uint16_t host = 0; host < net.count; host++)
                if (net.hosts[host].children_max > 2)
                    net.hosts[host].children_max = (uint16_t)(1 + (host + seed) % 2);
            struct packing packing = solved(&net, &options);
            check_loads(&net, &packing, true);
            assert_true(packing.rate_bps <= packing.bound_bps * (1 + 1e-12));
            if (packing.tree_count > 0)
                check_proof(&net, &packing, 0);
            if (all_receive(&net))
                assert_true(check_near(packing.rate_bps + 10, packing.bound_bps + 10, CLOSE));
        }
}

static void packing__keeps_to_a_cap(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct net net;
        make_net(&net, 9, EXAMPLE_PATHS, seed);
        double free_bps = solved(&net, &plain).rate_bps;
        for (int half = 1; half <= 3; half++) {
            struct packing_options options = plain;
            options.rate_cap_bps = free_bps * half / 2;
            struct packing packing = solved(&net, &options);
            assert_true(check_near(packing.rate_bps, half == 1 ? free_bps / 2 : free_bps, CLOSE));
            check_loads(&net, &packing, false);
            check_proof(&net, &packing, options.rate_cap_bps);
        }
    }
}

static void scale(struct net *net, double factor)
{
    for (uint16_t host = 0; host < net->count; host++) {
        net->hosts[host].up_bps *= factor;
        net->hosts[host].down_bps *= factor;
        if (net->hosts[host].packets_ps < NET_NO_LIMIT)
            net->hosts[host].packets_ps *= factor;
        if (net->hosts[host].window_bytes < NET_NO_LIMIT)
            net->hosts[host].window_bytes *= factor;
    }
    for (uint16_t shared = 0; shared < net->shared_count; shared++)
        net->shared[shared].rate_bps *= factor;
    for (uint32_t edge = 0; edge < (uint32_t)net->count * net->count; edge++)
        if (net->path_bps[edge] < NET_NO_LIMIT)
            net->path_bps[edge] *= factor;
}

static void packing__scales_with_the_capacities(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct net net;
        make_net(&net, 10, EXAMPLE_SITES, seed);
        double before_bps = solved(&net, &plain).rate_bps;
        scale(&net, 1e-4);
        assert_true(check_near(solved(&net, &plain).rate_bps, before_bps * 1e-4, CLOSE));
        scale(&net, 3e6);
        assert_true(check_near(solved(&net, &plain).rate_bps, before_bps * 300, CLOSE));
    }
}

/* Hosts of the other net in the opposite order. */
static void reverse(const struct net *net, struct net *other)
{
    uint16_t last = (uint16_t)(net->count - 1);
    other->source = (uint16_t)(last - net->source);
    for (uint16_t from = 0; from < net->count; from++) {
        other->hosts[last - from] = net->hosts[from];
        for (uint16_t to = 0; to < net->count; to++) {
            uint32_t edge = net_edge(net, from, to), mirror = net_edge(net, last - from, last - to);
            other->path_bps[mirror] = net->path_bps[edge];
            other->loss[mirror] = net->loss[edge];
            other->rtt_us[mirror] = net->rtt_us[edge];
            other->crosses[mirror] = net->crosses[edge];
            memcpy(&other->shared_of[mirror * NET_SHARED_OF_EDGE], &net->shared_of[edge * NET_SHARED_OF_EDGE],
                   NET_SHARED_OF_EDGE);
        }
    }
}

static void packing__is_the_same_for_hosts_in_another_order(void **state)
{
    (void)state;
    static uint8_t other_memory[1 << 20] __attribute__((aligned(ARENA_ALIGN)));
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct net net, other;
        struct arena arena;
        make_net(&net, 11, EXAMPLE_MIXED, seed);
        arena_init(&arena, other_memory, sizeof(other_memory));
        net_make(&other, net.count, 0, net.shared_count, &arena);
        memcpy(other.shared, net.shared, net.shared_count * sizeof(*net.shared));
        other.packet_bits = net.packet_bits;
        reverse(&net, &other);
        double bound_bps = solved(&net, &plain).bound_bps;
        assert_true(check_near(solved(&other, &plain).bound_bps, bound_bps, CLOSE));
    }
}

/* From a net where half of the edges and, among others, all relays are missing
 * to the whole one, step by step. */
static void packing__an_edge_or_relay_more_never_lowers_the_bound(void **state)
{
    (void)state;
    static const enum example_kind kinds[] = {EXAMPLE_MIXED, EXAMPLE_RELAYS, EXAMPLE_SITES};
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct net net;
        double path_bps[HOSTS * HOSTS], before_bps = 0;
        make_net(&net, (uint16_t)(5 + seed % 6), kinds[seed % 3], seed);
        uint32_t edges = (uint32_t)net.count * net.count;
        memcpy(path_bps, net.path_bps, edges * sizeof(double));
        for (uint32_t part = 0; part <= 8; part++) {
            for (uint32_t edge = 0; edge < edges; edge++)
                net.path_bps[edge] = edge * 7 % 8 < part ? path_bps[edge] : 0;
            struct packing packing = solved(&net, &plain);
            if (packing.bound_bps < before_bps * (1 - CLOSE))
                fail_msg("seed %d part %u: %.3f, before %.3f (rate %.3f)", (int)seed, part, packing.bound_bps,
                         before_bps, packing.rate_bps);
            before_bps = packing.bound_bps;
        }
    }
}

static void packing__begins_with_trees_that_are_given(void **state)
{
    (void)state;
    struct net net;
    make_net(&net, HOSTS, EXAMPLE_SITES, 3);
    struct packing first = solved(&net, &plain), again;
    struct packing_options no_turns = plain;
    no_turns.rounds_max = 0;
    static uint8_t more[16 << 20] __attribute__((aligned(ARENA_ALIGN)));
    struct arena arena;
    arena_init(&arena, more, sizeof(more));
    packing_solve(&net, &no_turns, first.trees, first.tree_count, &arena, &again);
    assert_true(check_near(again.rate_bps, first.rate_bps, CLOSE));
    check_proof(&net, &again, 0);
}

static void packing__uplinks_alone_attain_the_closed_form(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct net net;
        make_net(&net, HOSTS, EXAMPLE_UPLINKS, seed);
        assert_true(check_near(solved(&net, &plain).rate_bps, bound_of(&net).bps, 1e-7));
    }
}

static void packing__says_nothing_where_a_receiver_cannot_be_reached(void **state)
{
    (void)state;
    struct net net;
    make_net(&net, 6, EXAMPLE_PATHS, 1);
    for (uint16_t from = 0; from < net.count; from++)
        net.path_bps[net_edge(&net, from, net.source == 3 ? 4 : 3)] = 0;
    struct packing packing = solved(&net, &plain);
    assert_true(packing.rate_bps <= 0);
    assert_true(packing.bound_bps <= 0);
    assert_int_equal(packing.tree_count, 0);
}

static void net_weigh__adds_what_uses_say(void **state)
{
    (void)state;
    struct net net;
    static double price[HOSTS * (HOSTS + 4) + 4], weight[HOSTS * HOSTS];
    make_net(&net, HOSTS, EXAMPLE_MIXED, 5);
    for (uint32_t row = 0; row < net_rows(&net); row++)
        price[row] = row * 7 % 13;
    net_weigh(&net, price, weight);
    for (uint16_t from = 0; from < net.count; from++)
        for (uint16_t to = 0; to < net.count; to++) {
            struct net_use uses[NET_USES_MAX];
            unsigned count = net_uses(&net, from, to, uses);
            double sum = 0;
            for (unsigned index = 0; index < count; index++)
                sum += price[uses[index].row] * uses[index].per_bit;
            if (net_usable(&net, from, to))
                assert_true(check_near(weight[net_edge(&net, from, to)], sum, 1e-12));
            else
                assert_true(weight[net_edge(&net, from, to)] >= NET_NO_LIMIT);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packing__rate_and_proven_bound_meet),
        cmocka_unit_test(packing__limits_children_on_the_average),
        cmocka_unit_test(packing__keeps_to_a_cap),
        cmocka_unit_test(packing__scales_with_the_capacities),
        cmocka_unit_test(packing__is_the_same_for_hosts_in_another_order),
        cmocka_unit_test(packing__an_edge_or_relay_more_never_lowers_the_bound),
        cmocka_unit_test(packing__begins_with_trees_that_are_given),
        cmocka_unit_test(packing__uplinks_alone_attain_the_closed_form),
        cmocka_unit_test(packing__says_nothing_where_a_receiver_cannot_be_reached),
        cmocka_unit_test(net_weigh__adds_what_uses_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
