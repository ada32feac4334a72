/* Shares of a port in virtual time: a port that is always busy, edges with weights, some of them idle at
 * times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "node/core/fair_queue.h"
#include "node/flow/causes.h"

#define EDGES_MAX 64
#define MBPS      1000000ULL

struct bench {
    struct fair_clock port;
    struct fair_user edges[EDGES_MAX];
    uint64_t weights[EDGES_MAX];
    uint64_t bytes[EDGES_MAX];
    bool idle[EDGES_MAX];
    unsigned count;
};

static void send_one(struct bench *bench, uint32_t wire_bytes)
{
    unsigned best = EDGES_MAX;
    for (unsigned edge = 0; edge < bench->count; edge++)
        if (!bench->idle[edge] && (best == EDGES_MAX || fair_tag(&bench->port, &bench->edges[edge]) <
                                                            fair_tag(&bench->port, &bench->edges[best])))
            best = edge;
    assert_true(best < EDGES_MAX);
    fair_on_sent(&bench->port, &bench->edges[best], fair_rate_cost(wire_bytes, bench->weights[best]));
    bench->bytes[best] += wire_bytes;
}

/* Bytes over weight, in ns, differ by no more than one packet of either. */
static void share__as_the_weights(void **state)
{
    (void)state;
    static const uint64_t weights[][4] = {{100, 100, 100, 100}, {1000, 50, 10, 1}, {985, 984, 1, 10000}};
    for (size_t index = 0; index < sizeof(weights) / sizeof(weights[0]); index++) {
        struct bench bench = {.count = 4};
        struct rng rng;
        rng_init(&rng, index);
        for (unsigned edge = 0; edge < 4; edge++)
            bench.weights[edge] = weights[index][edge] * MBPS;
        for (int packet = 0; packet < 100000; packet++)
            send_one(&bench, 84 + (uint32_t)rng_below(&rng, 1455));
        for (unsigned edge = 1; edge < 4; edge++) {
            uint64_t time_ns = bench.bytes[edge] * 8000 / weights[index][edge];
            uint64_t first_ns = bench.bytes[0] * 8000 / weights[index][0];
            uint64_t packets_ns = 1538 * 8000 / weights[index][edge] + 1538 * 8000 / weights[index][0];
            /* Tags are rounded up to whole ns. */
            uint64_t slack_ns = packets_ns + 100000;
            assert_in_range(time_ns + slack_ns, first_ns, first_ns + 2 * slack_ns);
        }
    }
}

static void share__idle_edges_save_nothing_up(void **state)
{
    (void)state;
    struct bench bench = {.count = 3, .weights = {200 * MBPS, 100 * MBPS, 100 * MBPS}};
    bench.idle[2] = true;
    for (int packet = 0; packet < 3000; packet++)
        send_one(&bench, 1538);
    assert_in_range(bench.bytes[0], 1999 * 1538, 2001 * 1538); /* what the third leaves, 2 : 1 */
    bench.idle[2] = false;
    uint64_t before[3] = {bench.bytes[0], bench.bytes[1], bench.bytes[2]};
    for (int packet = 0; packet < 400; packet++)
        send_one(&bench, 1538);
    assert_in_range(bench.bytes[0] - before[0], 198 * 1538, 202 * 1538);
    assert_in_range(bench.bytes[1] - before[1], 98 * 1538, 102 * 1538);
    assert_in_range(bench.bytes[2] - before[2], 98 * 1538, 102 * 1538);
}

static void share__many_edges_take_turns(void **state)
{
    (void)state;
    struct bench bench = {.count = EDGES_MAX};
    for (unsigned edge = 0; edge < EDGES_MAX; edge++)
        bench.weights[edge] = 1; /* below the least weight: all alike */
    for (int round = 1; round <= 10; round++) {
        for (unsigned packet = 0; packet < EDGES_MAX; packet++)
            send_one(&bench, 9038);
        for (unsigned edge = 0; edge < EDGES_MAX; edge++)
            assert_int_equal(bench.bytes[edge], round * 9038);
    }
}

static void causes__time_of_each(void **state)
{
    (void)state;
    struct causes causes = {0};
    assert_int_equal(causes_dominant(&causes, 1000), EDGE_LIMIT_none);
    assert_int_equal(causes_share_ppm(&causes, EDGE_LIMIT_cap, 1000), 0);
    causes_set(&causes, EDGE_LIMIT_application, 1000);
    causes_set(&causes, EDGE_LIMIT_cap, 1100);
    causes_set(&causes, EDGE_LIMIT_cap, 1150);
    assert_int_equal(causes_dominant(&causes, 1150), EDGE_LIMIT_application);
    assert_int_equal(causes_dominant(&causes, 1400), EDGE_LIMIT_cap); /* it still holds */
    assert_int_equal(causes_share_ppm(&causes, EDGE_LIMIT_cap, 1400), 750000);
    causes_set(&causes, EDGE_LIMIT_none, 1400);
    assert_int_equal(causes_share_ppm(&causes, EDGE_LIMIT_cap, 1000000), 750000); /* nothing left to send */
    assert_int_equal(causes_share_ppm(&causes, EDGE_LIMIT_application, 1000000), 250000);
    assert_int_equal(causes_share_ppm(&causes, EDGE_LIMIT_none, 1000000), 0);
}

static void causes__lost_to_another(void **state)
{
    (void)state;
    struct causes causes = {0};
    causes_set(&causes, EDGE_LIMIT_cap, 1000);
    causes_lost(&causes, EDGE_LIMIT_cpu, 300, 1400);
    causes_set(&causes, EDGE_LIMIT_none, 2000);
    assert_int_equal(causes_share_ppm(&causes, EDGE_LIMIT_cpu, 2000), 300000);
    assert_int_equal(causes_share_ppm(&causes, EDGE_LIMIT_cap, 2000), 700000);
    /* No more than the present cause has held. */
    causes_set(&causes, EDGE_LIMIT_cap, 3000);
    causes_lost(&causes, EDGE_LIMIT_cpu, 5000, 3100);
    assert_int_equal(causes.total_ns[EDGE_LIMIT_cpu], 400);
}

/* An hour at the cap, then congestion: the hour decides the whole, the last seconds what is told now. */
static void causes__of_late(void **state)
{
    (void)state;
    struct causes causes = {0};
    uint64_t now_ns = 3600 * NS_PER_S;
    causes_set(&causes, EDGE_LIMIT_cap, 0);
    assert_int_equal(causes_recent(&causes, now_ns), EDGE_LIMIT_cap);
    for (int tenth = 0; tenth < 40; tenth++) {
        now_ns += NS_PER_S / 10;
        causes_set(&causes, tenth % 3 == 0 ? EDGE_LIMIT_cap : EDGE_LIMIT_congestion, now_ns);
    }
    assert_int_equal(causes_recent(&causes, now_ns), EDGE_LIMIT_congestion);
    assert_int_equal(causes_dominant(&causes, now_ns), EDGE_LIMIT_cap);
    /* What holds now has held for long: nothing else was told meanwhile. */
    causes_set(&causes, EDGE_LIMIT_credit, now_ns);
    assert_int_equal(causes_recent(&causes, now_ns + 60 * NS_PER_S), EDGE_LIMIT_credit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(share__as_the_weights),        cmocka_unit_test(share__idle_edges_save_nothing_up),
        cmocka_unit_test(share__many_edges_take_turns), cmocka_unit_test(causes__time_of_each),
        cmocka_unit_test(causes__lost_to_another),      cmocka_unit_test(causes__of_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
