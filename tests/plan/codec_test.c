#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/rng.h"
#include "example.h"

static const uint16_t node_counts[] = {1, 2, 5, 15, PLAN_NODES_MAX};

/* Every mixture of what may be known of a path. */
static struct plan_path varied_path(uint16_t from, uint16_t to)
{
    unsigned mixture = (unsigned)from * 31 + to;
    struct plan_path path = {.rtt_us = PLAN_RTT_UNKNOWN, .rule = (uint8_t)(mixture % PLAN_RULE_COUNT)};
    if (mixture & 1)
        path.rtt_us = 1000u * from + to;
    if (mixture & 2)
        path.loss_ppm = 1 + mixture;
    if (mixture & 4) {
        path.avb_kbps = 4000000000u;
        path.avb_low_kbps = 7 + to;
        path.avb_high_kbps = 4200000000u;
        path.avb_age_s = from;
    }
    if (mixture & 8)
        path.mtu = 9000;
    if (mixture & 32)
        path.distance = 1 + 1000 * mixture;
    if (mixture & 16)
        path.shared = (uint16_t)(0x8001 + to);
    return path;
}

static struct plan_request varied_request(uint16_t count)
{
    struct plan_request request = example_request(count);
    request.metric = PLAN_METRIC_GIVEN;
    request.children_max = 3;
    request.dcmst_of = PLAN_METRIC_LEXICOGRAPHIC;
    request.degree = 5;
    request.avb_of = PLAN_AVB_MEASURED;
    request.ties_random = true;
    request.ties_seed = UINT64_C(0x8000000000000001);
    request.nodes[0].leaf = true;
    request.nodes[count - 1].packets_ps = 123456;
    request.nodes[count - 1].window_bytes = UINT64_C(1) << 40;
    request.size_bytes = UINT64_C(0x123456789abcdef0);
    request.rate_cap_bps = 42;
    request.wanted_bps = 43;
    request.assumed_ppm = 999999;
    request.source = count - 1;
    for (uint16_t from = 0; from < count; from++)
        for (uint16_t to = 0; to < count; to++)
            request.paths[from][to] = varied_path(from, to);
    request.shared_count = PLAN_SHARED_MAX;
    for (uint16_t shared = 0; shared < PLAN_SHARED_MAX; shared++) {
        snprintf(request.shared[shared].name, NAME_BYTES, "link%u", shared);
        request.shared[shared].rate_bps = 5000000000u + shared;
    }
    for (uint16_t node = 1; node < count; node++)
        request.given.edges[request.given.edge_count++] = (struct plan_edge){0, node};
    return request;
}

/* A heap copy of exact size lets the address sanitizer see a read beyond the record. */
static bool decode_request(struct plan_request *request, const uint8_t *in, size_t length)
{
    struct err err;
    uint8_t *copy = malloc(length == 0 ? 1 : length);
    memcpy(copy, in, length);
    bool decoded = plan_request_decode(request, copy, length, &err);
    free(copy);
    return decoded;
}

static bool decode_plan(struct plan *plan, const uint8_t *in, size_t length)
{
    struct err err;
    uint8_t *copy = malloc(length == 0 ? 1 : length);
    memcpy(copy, in, length);
    bool decoded = plan_decode(plan, copy, length, &err);
    free(copy);
    return decoded;
}

static void plan_request_codec__round_trip(void **state)
{
    (void)state;
    static uint8_t record[PLAN_REQUEST_BYTES_MAX + 1], second[PLAN_REQUEST_BYTES_MAX];
    for (size_t i = 0; i < sizeof(node_counts) / sizeof(node_counts[0]); i++) {
        struct plan_request request = varied_request(node_counts[i]), back;
        size_t length = plan_request_encode(&request, record, PLAN_REQUEST_BYTES_MAX);
        assert_true(length > 0);
        assert_true(decode_request(&back, record, length));
        size_t again = plan_request_encode(&back, second, PLAN_REQUEST_BYTES_MAX);
        assert_int_equal(again, length);
        assert_memory_equal(second, record, length);
        assert_memory_equal(back.shared, request.shared, sizeof(request.shared));
        assert_memory_equal(back.nodes, request.nodes, sizeof(request.nodes));
        assert_int_equal(back.paths[1][0].distance, request.paths[1][0].distance);
        assert_int_equal(back.dcmst_of, request.dcmst_of);
        assert_int_equal(back.degree, request.degree);
        assert_int_equal(back.avb_of, PLAN_AVB_MEASURED);
        assert_int_equal(back.assumed_ppm, 999999);
        assert_true(back.ties_random);
        assert_int_equal(back.ties_seed, request.ties_seed);
        assert_memory_equal(&back.given, &request.given, sizeof(request.given));
        assert_int_equal(back.size_bytes, request.size_bytes);
        assert_int_equal(back.source, request.source);
        assert_int_equal(plan_request_encode(&request, record, length - 1), 0);
        for (size_t shorter = 0; shorter < length; shorter += 1 + shorter / 64)
            assert_false(decode_request(&back, record, shorter));
        assert_false(decode_request(&back, record, length + 1));
    }
}

static void plan_codec__round_trip(void **state)
{
    (void)state;
    uint8_t record[PLAN_BYTES_MAX + 1];
    struct plan_request request = example_request(PLAN_NODES_MAX);
    struct plan plan = example_plan(&request, "", 123456789), back;
    plan.delay_us = 77000;
    plan.tree_count = PLAN_TREES_MAX;
    for (uint16_t tree = 0; tree < PLAN_TREES_MAX; tree++) {
        plan.edge_rate_bps[tree] = 1000u + tree;
        for (uint16_t node = 1; node < PLAN_NODES_MAX; node++) {
            plan.into_rate_bps[tree][node] = 2000u + tree * PLAN_NODES_MAX + node;
            plan.into_known[tree][node].basis = (uint8_t)(node % PLAN_BASIS_COUNT);
            if (plan.into_known[tree][node].basis == PLAN_BASIS_MEASURED)
                plan.into_known[tree][node].age_s = UINT32_MAX - node;
        }
        plan.trees[tree].weight_ppm = 1000000 / PLAN_TREES_MAX;
        plan.trees[tree].edge_count = PLAN_NODES_MAX - 1;
        for (uint16_t edge = 0; edge < PLAN_NODES_MAX - 1; edge++)
            plan.trees[tree].edges[edge] = (struct plan_edge){edge, (uint16_t)(edge + 1)};
    }
    plan.why.metric_count = PLAN_METRIC_COUNT;
    for (uint16_t metric = 0; metric < PLAN_METRIC_COUNT; metric++)
        plan.why.metrics[metric] = (struct plan_why_metric){
            (uint8_t)metric, 1u + metric, 2u + metric, 3u + metric, {PLAN_ROW_PATH, metric, 63}};
    plan.why.limit_count = PLAN_WHY_LIMITS_MAX;
    for (uint16_t limit = 0; limit < PLAN_WHY_LIMITS_MAX; limit++)
        plan.why.limits[limit] = (struct plan_why_limit){
            {PLAN_ROW_SHARED, limit, 0}, UINT64_C(0x8000000000000000) + limit, 5u + limit};
    plan.why.edges_known = true;
    plan.why.edges[62][63] =
        (struct plan_why_edge){PLAN_EDGE_COSTS, {PLAN_ROW_PATH, 62, 63}, 4000000000u, -1000000, -77};
    size_t length = plan_encode(&plan, record, PLAN_BYTES_MAX);
    assert_true(length > 0);
    assert_true(decode_plan(&back, record, length));
    assert_true(back.why.edges_known);
    assert_int_equal(back.why.edges[62][63].verdict, PLAN_EDGE_COSTS);
    assert_int_equal(back.why.edges[62][63].limit.to, 63);
    assert_int_equal(back.why.edges[62][63].kbps, 4000000000u);
    assert_int_equal(back.why.edges[62][63].change_ppm, -1000000);
    assert_int_equal(back.why.edges[62][63].delay_us, -77);
    assert_int_equal(back.why.metric_count, PLAN_METRIC_COUNT);
    assert_int_equal(back.why.metrics[7].time_us, 10);
    assert_int_equal(back.why.metrics[7].limit.to, 63);
    assert_int_equal(back.why.limit_count, PLAN_WHY_LIMITS_MAX);
    assert_int_equal(back.why.limits[15].raised, UINT64_C(0x800000000000000f));
    assert_int_equal(back.why.limits[15].gain_ppm, 20);
    assert_memory_equal(back.trees, plan.trees, sizeof(plan.trees));
    assert_memory_equal(back.into_rate_bps, plan.into_rate_bps, sizeof(plan.into_rate_bps));
    for (uint16_t tree = 0; tree < PLAN_TREES_MAX; tree++)
        for (uint16_t node = 1; node < PLAN_NODES_MAX; node++) {
            assert_int_equal(back.into_known[tree][node].basis, plan.into_known[tree][node].basis);
            assert_int_equal(back.into_known[tree][node].age_s, plan.into_known[tree][node].age_s);
        }
    assert_memory_equal(back.edge_rate_bps, plan.edge_rate_bps, sizeof(plan.edge_rate_bps));
    assert_int_equal(back.delay_us, plan.delay_us);
    assert_int_equal(plan_encode(&plan, record, length - 1), 0);
    for (size_t shorter = 0; shorter < length; shorter += 1 + shorter / 64)
        assert_false(decode_plan(&back, record, shorter));
    assert_false(decode_plan(&back, record, length + 1));
}

/* Offsets as documented by the encoders' order: a change of layout must be noticed. */
static void plan_codec__little_endian_layout(void **state)
{
    (void)state;
    uint8_t record[PLAN_BYTES_MAX];
    struct plan_request request = example_request(3);
    struct plan plan = example_plan(&request, "0-1 1-2", 0x0102030405060708);
    assert_int_equal(plan_encode(&plan, record, sizeof(record)), 38 + 8 + 6 + 2 * 4 + 2 * 13 + 4 + 1);
    const uint8_t start[] = {7, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1};
    assert_memory_equal(record, start, sizeof(start));
}

static void plan_codec__refuses_bad_counts(void **state)
{
    (void)state;
    uint8_t record[PLAN_REQUEST_BYTES_MAX], spoilt[PLAN_REQUEST_BYTES_MAX];
    struct plan_request request = varied_request(4);
    struct plan plan = example_plan(&request, "3-0 3-1 3-2", 5), plan_back;
    static const struct {
        size_t offset;
        uint8_t value;
        bool request;
    } cases[] = {
        {8, 0, true},
        {8, 65, true},
        {10, 4, true},
        {55 + 31, 'x', true},
        {55 + 64, 4, true},
        {18, 2, true},
        {8, 0, false},
        {8, 65, false},
        {10, 4, false},
        {36, 9, false},
        {38 + 8 + 4, 64, false},
        {52, 4, false},
        {54, 4, false},
        {58, 0, false},
        {38 + 8 + 5, 1, false},
        {72, PLAN_BASIS_COUNT, false},
        {73, 1, false},
        {103, PLAN_METRIC_COUNT + 1, false},
        {105, PLAN_METRIC_COUNT, false},
        {130, 8, false},
        {131, 4, false},
        {133, 4, false},
    };
    plan.why.metric_count = 1;
    plan.why.metrics[0].limit.row = PLAN_ROW_UPLINK;
    size_t request_length = plan_request_encode(&request, record, sizeof(record));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t length = cases[i].request ? plan_request_encode(&request, spoilt, sizeof(spoilt))
                                         : plan_encode(&plan, spoilt, sizeof(spoilt));
        assert_true(spoilt[cases[i].offset] != cases[i].value);
        spoilt[cases[i].offset] = cases[i].value;
        struct plan_request back;
        assert_false(cases[i].request ? decode_request(&back, spoilt, length)
                                      : decode_plan(&plan_back, spoilt, length));
    }
    assert_true(request_length > 0);
}

/* Random bytes, and good records with random bytes in them: decoding ends, and what it accepts is in
 * bounds. */
static void plan_codec__random_bytes(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 1);
    static uint8_t record[PLAN_REQUEST_BYTES_MAX];
    struct plan_request request = varied_request(6);
    struct plan plan = example_plan(&request, "5-0 5-1 5-2 2-3 2-4", 5);
    unsigned accepted = 0;
    for (unsigned round = 0; round < 20000; round++) {
        bool is_request = rng_below(&rng, 2) == 0;
        size_t length = is_request ? plan_request_encode(&request, record, sizeof(record))
                                   : plan_encode(&plan, record, sizeof(record));
        for (uint64_t spoils = rng_below(&rng, 6); spoils > 0; spoils--)
            record[rng_below(&rng, length)] = (uint8_t)rng_below(&rng, 256);
        struct plan_request request_back;
        struct plan plan_back;
        bool decoded = is_request ? decode_request(&request_back, record, length)
                                  : decode_plan(&plan_back, record, length);
        accepted += decoded;
        if (!decoded)
            continue;
        assert_true((is_request ? request_back.node_count : plan_back.node_count) <= PLAN_NODES_MAX);
        assert_true((is_request ? request_back.given.edge_count : plan_back.trees[0].edge_count) <
                    PLAN_NODES_MAX);
    }
    assert_in_range(accepted, 1000, 19000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_request_codec__round_trip),   cmocka_unit_test(plan_codec__round_trip),
        cmocka_unit_test(plan_codec__little_endian_layout), cmocka_unit_test(plan_codec__refuses_bad_counts),
        cmocka_unit_test(plan_codec__random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
