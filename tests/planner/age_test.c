/* What plans count on of paths that were measured: the quantile by interval and age, and the trees that come of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../plan/example.h"
#include "planner/age.h"
#include "planner/solve.h"

static void age__ends_and_quantile(void **state)
{
    (void)state;
    const struct {
        uint32_t avb_kbps, low_kbps, high_kbps, age_s, planned_kbps, aged_low_kbps, aged_high_kbps;
    } cases[] = {
        /* Told: as it is, however old. */
        {1000000, 0, 0, 0, 1000000, 0, 0},
        {1000000, 0, 0, 86400, 1000000, 0, 0},
        {1000000, 1000000, 1000000, 86400, 1000000, 1000000, 1000000},
        /* Measured: 1.2816 / 1.96 of the lower half … */
        {1000000, 902000, 1049000, 0, 935920, 902000, 1049000},
        {1000000, 1000000, 1049000, 0, 1000000, 1000000, 1049000},
        /* … and of what its age adds: 0.4 % per square root of a second, 25 % at most. */
        {1000000, 1000000, 0, 100, 948736, 921600, 0},
        {1000000, 961584, 1039200, 25, 964005, 945058, 1055437},
        {1000000, 1000000, 0, 1000000, 679600, 510000, 0},
        {1000000, 990000, 1010000, 4000000000u, 679533, 509897, 1490102},
        /* Never nothing. */
        {1000000, 1, 2000000, 0, 346122, 1, 2000000},
        {1000000, 1, 2000000, 1000000, 271844, 1, 2113600},
        {10, 0, 20, 0, 3, 1, 20},
        {1, 0, 3, 0, 1, 1, 3},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct plan_path path = {.avb_kbps = cases[i].avb_kbps,
                                 .avb_low_kbps = cases[i].low_kbps,
                                 .avb_high_kbps = cases[i].high_kbps,
                                 .avb_age_s = cases[i].age_s};
        assert_in_range(age_planned_kbps(&path), cases[i].planned_kbps * 0.999,
                        cases[i].planned_kbps * 1.001);
        assert_in_range(age_low_kbps(&path), cases[i].aged_low_kbps * 0.999, cases[i].aged_low_kbps * 1.001);
        assert_in_range(age_high_kbps(&path), cases[i].aged_high_kbps * 0.999,
                        cases[i].aged_high_kbps * 1.001);
    }
}

static bool starts(uint8_t avb_of, const struct plan_path *path)
{
    struct plan_known known = plan_path_known(avb_of, path);
    return plan_known_starts(&known);
}

/* To be freed. */
static void *open_arena(struct arena *arena)
{
    void *memory = aligned_alloc(ARENA_ALIGN, arena_need(solve_bytes()));
    assert_non_null(memory);
    arena_init(arena, memory, solve_bytes());
    return memory;
}

/* A job says whose word counts. */
static void age__whose_word(void **state)
{
    (void)state;
    const struct plan_path told = {.avb_kbps = 5},
                           measured = {.avb_kbps = 5, .avb_low_kbps = 4, .avb_high_kbps = 7}, unknown = {0};
    const struct {
        uint8_t avb_of;
        bool told, measured;
    } cases[] = {{PLAN_AVB_ANY, true, true},
                 {PLAN_AVB_TOLD, true, false},
                 {PLAN_AVB_MEASURED, false, true},
                 {PLAN_AVB_NONE, false, false}};
    struct arena arena;
    void *memory = open_arena(&arena);
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static struct plan plan;
        struct err err;
        struct plan_request request = example_request(3);
        assert_int_equal(plan_path_counts(cases[i].avb_of, &told), cases[i].told);
        assert_int_equal(plan_path_counts(cases[i].avb_of, &measured), cases[i].measured);
        assert_false(plan_path_counts(cases[i].avb_of, &unknown));
        /* Where it counts edges begin at it, if it was told or is not old. */
        struct plan_path aged = measured, old_word = told;
        aged.avb_age_s = PLAN_START_AGE_S;
        old_word.avb_age_s = 1000 * PLAN_START_AGE_S;
        assert_int_equal(starts(cases[i].avb_of, &old_word), cases[i].told);
        assert_int_equal(starts(cases[i].avb_of, &aged), cases[i].measured);
        aged.avb_age_s++;
        assert_false(starts(cases[i].avb_of, &aged));
        assert_false(starts(cases[i].avb_of, &unknown));
        /* n0 to n1 is narrow by a matrix, n0 to n2 by probes: with both nothing is left but a tenth. */
        request.metric = PLAN_METRIC_STAR;
        request.avb_of = cases[i].avb_of;
        request.paths[0][1].avb_kbps = 300000;
        request.paths[0][2].avb_kbps = 100000;
        request.paths[0][2].avb_low_kbps = request.paths[0][2].avb_high_kbps = 100001;
        request.paths[0][2].avb_low_kbps = 99999;
        assert_true(solve(&request, &arena, &plan, &err));
        uint64_t most_bps = cases[i].measured ? 100000000 : cases[i].told ? 300000000 : 500000000;
        assert_in_range(plan.edge_rate_bps[0], solve_usable_bps(most_bps) * 99 / 100,
                        solve_usable_bps(most_bps));
    }
    free(memory);
}

static void set_pair(struct plan_request *request, uint16_t one, uint16_t other, struct plan_path path)
{
    request->paths[one][other] = request->paths[other][one] = path;
}

/* Three nodes: n2 is fed by n0 if that path is worth more than the one from n1, by every metric that looks at it. */
static void solve__plans_on_the_quantile(void **state)
{
    (void)state;
    const struct {
        uint32_t avb_kbps, low_kbps, high_kbps, age_s;
        int parent, parent_lexicographic;
    } cases[] = {
        {600000, 600000, 600000, 0, 0, 0},     /* told */
        {600000, 600000, 600000, 86400, 0, 0}, /* and old */
        {600000, 590000, 610000, 0, 0, 0},     /* measured well */
        {600000, 590000, 610000, 100, 0, 0},   /* a while ago */
        {600000, 590000, 610000, 3600, 1,
         1}, /* long ago: n1's path is the surer one, and by class its RTT is less */
        {600000, 400000, 800000, 0, 1, 1},  /* coarse */
        {600000, 600000, 0, 100, 0, 0},     /* at least: as good as its ends, however old */
        {600000, 600000, 0, 86400, 0, 1},   /* by class it may be less */
        {800000, 400000, 1200000, 0, 0, 0}, /* coarse and much more: of the class of n1's 900 even */
    };
    const uint8_t metrics[] = {PLAN_METRIC_AVB, PLAN_METRIC_AVB_DIRECTED, PLAN_METRIC_WIDEST,
                               PLAN_METRIC_AUTO, PLAN_METRIC_LEXICOGRAPHIC};
    struct arena arena;
    void *memory = open_arena(&arena);
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (unsigned at = 0; at < sizeof(metrics); at++) {
            static struct plan plan;
            struct err err;
            struct plan_request request = example_request(3);
            struct plan_path path = {.rtt_us = 20000,
                                     .avb_kbps = cases[i].avb_kbps,
                                     .avb_low_kbps = cases[i].low_kbps,
                                     .avb_high_kbps = cases[i].high_kbps,
                                     .avb_age_s = cases[i].age_s};
            request.metric = metrics[at];
            request.nodes[0].up_bps = request.nodes[1].up_bps = 2000000000;
            set_pair(&request, 0, 1, (struct plan_path){.rtt_us = 10000, .avb_kbps = 900000});
            set_pair(
                &request, 1, 2,
                (struct plan_path){
                    .rtt_us = 10000, .avb_kbps = 500000, .avb_low_kbps = 490000, .avb_high_kbps = 510000});
            set_pair(&request, 0, 2, path);
            if (!solve(&request, &arena, &plan, &err))
                fail_msg("%s", err.text);
            int parent = plan_parent(&plan.trees[0], 2);
            bool lexicographic = metrics[at] == PLAN_METRIC_LEXICOGRAPHIC;
            if (parent != (lexicographic ? cases[i].parent_lexicographic : cases[i].parent))
                fail_msg("case %u, metric %u: n2 is fed by n%d", i, metrics[at], parent);
            bool at_least = plan_path_at_least(&request.paths[parent][2]);
            uint64_t ends_bps = MIN(request.nodes[parent].up_bps, request.nodes[2].down_bps);
            uint64_t most_bps =
                at_least ? ends_bps : age_planned_kbps(&request.paths[parent][2]) * UINT64_C(1000);
            assert_true(plan_validate(&plan, &request, &err));
            assert_true(plan_edge_rate_bps(&plan, 0, 2) <= solve_usable_bps(most_bps));
            assert_true(plan_edge_rate_bps(&plan, 0, 2) >= solve_usable_bps(most_bps) * 99 / 100);
        }
    free(memory);
}

/* What a plan counts on is the quantile; its edges may be sent what was measured, as far as their ports and an order allow. */
static void auto__lifts_its_edges(void **state)
{
    (void)state;
    const struct plan_path path = {
        .rtt_us = 10000, .avb_kbps = 100000, .avb_low_kbps = 90000, .avb_high_kbps = 110000};
    const struct {
        uint64_t up_bps, cap_bps; /* 0: none */
        uint32_t line_kbps;       /* of the source, as well measured; 0: unknown */
        uint64_t planned_bps, edge_bps;
        bool guessed; /* that line: without an interval */
        bool in;      /* receivers' lines in are measured, not the paths to them */
        bool unknown; /* nothing is known of the paths, which are guessed to be like a line of 100 Mbit/s */
    } cases[] = {
        {1000000000, 0, 0, 93462000, 100000000, false, false, false},
        {1000000000, 0, 100000, 46731000, 50000000, false, false, false},
        {95000000, 0, 0, 47500000, 47500000, false, false, false}, /* its port is the limit, which is told */
        {1000000000, 50000000, 0, 0, 0, false, false, false},
        {1000000000, 0, 100000, 50000000, 100000000, true, false, false}, /* a guess holds nobody to it */
        {1000000000, 0, 0, 93462000, 100000000, false, true, false},
        {1000000000, 0, 100000, 50000000, 500000000, true, false, true}, /* nor does a guess of paths */
    };
    struct arena arena;
    void *memory = open_arena(&arena);
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static struct plan plan;
        struct err err;
        struct plan_request request = example_request(3);
        request.metric = PLAN_METRIC_AUTO;
        request.trees_max = 1;
        request.nodes[1].leaf = request.nodes[2].leaf = true;
        request.nodes[0].up_bps = cases[i].up_bps;
        request.rate_cap_bps = cases[i].cap_bps;
        request.paths[0][1] = request.paths[0][2] = path;
        if (cases[i].line_kbps != 0)
            request.paths[0][0] = path;
        if (cases[i].guessed)
            request.paths[0][0].avb_low_kbps = request.paths[0][0].avb_high_kbps = 0;
        for (uint16_t node = 1; node <= 2 && cases[i].in; node++) {
            request.lines_in[node] = path;
            request.paths[0][node] = (struct plan_path){.rtt_us = path.rtt_us};
        }
        if (cases[i].unknown) {
            request.paths[0][1] = request.paths[0][2] = (struct plan_path){.rtt_us = path.rtt_us};
            request.assumed_ppm = PLAN_WHOLE_PPM;
        }
        if (!solve(&request, &arena, &plan, &err))
            fail_msg("%s", err.text);
        assert_true(plan_validate(&plan, &request, &err));
        for (uint16_t node = 1; node <= 2; node++) {
            uint64_t edge_bps = plan_edge_rate_bps(&plan, 0, node);
            if (cases[i].cap_bps != 0) {
                assert_in_range(solve_payload_bps(edge_bps), cases[i].cap_bps * 999 / 1000,
                                cases[i].cap_bps + 1);
                continue;
            }
            assert_in_range(edge_bps, solve_usable_bps(cases[i].edge_bps) - 1000,
                            solve_usable_bps(cases[i].edge_bps));
        }
        if (cases[i].cap_bps == 0)
            assert_in_range(plan.rate_bps,
                            solve_payload_bps(solve_usable_bps(cases[i].planned_bps)) * 999 / 1000,
                            solve_payload_bps(solve_usable_bps(cases[i].planned_bps)) * 1001 / 1000);
    }
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(age__ends_and_quantile),
        cmocka_unit_test(age__whose_word),
        cmocka_unit_test(solve__plans_on_the_quantile),
        cmocka_unit_test(auto__lifts_its_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
