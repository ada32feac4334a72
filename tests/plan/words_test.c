#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "example.h"
#include "plan/words.h"

static char text[PLAN_DRAWING_BYTES_MAX];

/* Shares of thirds and sixths, rounded to the nearest tenth of a percent. */
static void plan_tree_title__shares_are_rounded(void **state)
{
    (void)state;
    static const struct {
        uint32_t weight_ppm;
        const char *expected;
    } rows[] = {{666667, "tree 1 of 2: 66.7 % of the blocks"},
                {333333, "tree 1 of 2: 33.3 % of the blocks"},
                {1000000, "tree 1 of 2: 100.0 % of the blocks"},
                {499, "tree 1 of 2: 0.0 % of the blocks"},
                {999500, "tree 1 of 2: 100.0 % of the blocks"}};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct plan plan = {.tree_count = 2, .trees[0].weight_ppm = rows[row].weight_ppm};
        assert_true(plan_tree_title(&plan, 0, text, sizeof(text)));
        assert_string_equal(text, rows[row].expected);
        assert_false(plan_tree_title(&plan, 0, text, strlen(rows[row].expected)));
    }
}

static void plan_draw_trees__titles_where_there_are_several(void **state)
{
    (void)state;
    struct plan_request request = example_request(3);
    struct plan plan = example_plan(&request, "0-1 1-2", 1000000);
    plan.into_known[0][2] = (struct plan_known){.basis = PLAN_BASIS_MEASURED, .age_s = 12};
    assert_true(plan_draw_trees(&plan, &request, text, sizeof(text)));
    assert_string_equal(text, "n0\n└── n1  assumed\n    └── n2  measured 12 s ago");
    plan.tree_count = 2;
    plan.trees[0].weight_ppm = 750000;
    plan.trees[1] = example_tree("0-1 0-2");
    plan.trees[1].weight_ppm = 250000;
    plan.into_known[1][1].basis = PLAN_BASIS_TOLD;
    const char *whole =
        "tree 1 of 2: 75.0 % of the blocks\nn0\n└── n1  assumed\n    └── n2  measured 12 s ago\n\n"
        "tree 2 of 2: 25.0 % of the blocks\nn0\n├── n1  told\n└── n2  assumed";
    assert_true(plan_draw_trees(&plan, &request, text, sizeof(text)));
    assert_string_equal(text, whole);
    for (size_t room = 1; room <= strlen(whole); room++) {
        text[room] = '#';
        assert_false(plan_draw_trees(&plan, &request, text, room));
        assert_true(strlen(text) < room);
        assert_int_equal(text[room], '#');
    }
}

/* Eight chains of 64 nodes with names as long as they may be. */
static void plan_draw_trees__largest_fits(void **state)
{
    (void)state;
    struct plan_request request = example_request(PLAN_NODES_MAX);
    static struct plan plan;
    plan = example_plan(&request, "", 1000000);
    plan.tree_count = PLAN_TREES_MAX;
    for (uint16_t node = 0; node < PLAN_NODES_MAX; node++)
        snprintf(request.nodes[node].name, NAME_BYTES, "a-name-as-long-as-it-may-be-%03u", node);
    for (uint16_t tree = 0; tree < PLAN_TREES_MAX; tree++) {
        plan.trees[tree] = (struct plan_tree){.weight_ppm = 125000, .edge_count = PLAN_NODES_MAX - 1};
        for (uint16_t edge = 0; edge < PLAN_NODES_MAX - 1; edge++) {
            plan.trees[tree].edges[edge] = (struct plan_edge){edge, (uint16_t)(edge + 1)};
            plan.into_known[tree][edge + 1] =
                (struct plan_known){.basis = PLAN_BASIS_MEASURED, .age_s = UINT32_MAX};
        }
    }
    assert_true(plan_draw_trees(&plan, &request, text, sizeof(text)));
}

static void plan_known_text__ages_in_two_of_a_unit_at_least(void **state)
{
    (void)state;
    static const struct {
        struct plan_known known;
        const char *expected;
    } rows[] = {{{PLAN_BASIS_ASSUMED, 0}, "assumed"},
                {{PLAN_BASIS_TOLD, 0}, "told"},
                {{PLAN_BASIS_MEASURED, 0}, "measured 0 s ago"},
                {{PLAN_BASIS_MEASURED, 119}, "measured 119 s ago"},
                {{PLAN_BASIS_MEASURED, 120}, "measured 2 min ago"},
                {{PLAN_BASIS_MEASURED, 7200}, "measured 2 h ago"},
                {{PLAN_BASIS_MEASURED, 172799}, "measured 47 h ago"},
                {{PLAN_BASIS_MEASURED, UINT32_MAX}, "measured 49710 d ago"}};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        char small[PLAN_KNOWN_TEXT_BYTES];
        assert_true(plan_known_text(&rows[row].known, small, sizeof(small)));
        assert_string_equal(small, rows[row].expected);
        assert_false(plan_known_text(&rows[row].known, small, strlen(rows[row].expected)));
    }
}

/* An edge of several trees counts once. */
static void plan_known_total__counts_edges(void **state)
{
    (void)state;
    struct plan_request request = example_request(4);
    struct plan plan = example_plan(&request, "0-1 1-2 1-3", 1000000);
    request.paths[0][1] = (struct plan_path){.avb_kbps = 5};
    request.paths[1][2] =
        (struct plan_path){.avb_kbps = 5, .avb_low_kbps = 4, .avb_high_kbps = 7, .avb_age_s = 9};
    plan.tree_count = 2;
    plan.trees[1] = example_tree("0-1 1-2 2-3");
    plan_note_known(&plan, &request);
    assert_int_equal(plan.into_known[1][2].basis, PLAN_BASIS_MEASURED);
    assert_int_equal(plan.into_known[1][2].age_s, 9);
    assert_true(plan_known_total(&plan, &request, text, sizeof(text)));
    assert_string_equal(text, "1 measured, 1 told, 2 assumed");
    assert_true(plan_assumed_help(&plan, text, sizeof(text)));
    assert_true(strstr(text, "sluicectl probe all") != NULL);
    request.paths[1][1] = request.paths[3][3] = request.paths[1][2]; /* site 3 sends nothing */
    assert_true(plan_known_total(&plan, &request, text, sizeof(text)));
    assert_string_equal(text, "1 measured, 1 told, 2 assumed, 1 line out measured");
    request.avb_of = PLAN_AVB_NONE; /* what is known does not count */
    plan_note_known(&plan, &request);
    assert_true(plan_known_total(&plan, &request, text, sizeof(text)));
    assert_string_equal(text, "4 assumed");
}

static void plan_raise_text__in_the_unit_of_the_row(void **state)
{
    (void)state;
    static const struct {
        uint8_t row;
        uint64_t raised;
        uint32_t gain_ppm;
        const char *expected;
    } rows[] = {{PLAN_ROW_UPLINK, 200000001, 350000, "to 200.0 Mbit/s: +35.0 %"},
                {PLAN_ROW_SHARED, 1000000, 5000, "to 1.0 Mbit/s: +0.5 %"},
                {PLAN_ROW_PACKETS, 123456, 1000000, "to 123456: +100.0 %"},
                {PLAN_ROW_WINDOW, 64000000, 10000, "to 64.0 MB: +1.0 %"},
                {PLAN_ROW_PATH, 0, 0, ""}};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct plan_why_limit limit = {
            .limit.row = rows[row].row, .raised = rows[row].raised, .gain_ppm = rows[row].gain_ppm};
        assert_true(plan_raise_text(&limit, text, sizeof(text)));
        assert_string_equal(text, rows[row].expected);
        assert_false(plan_raise_text(&limit, text, strlen(rows[row].expected)));
    }
}

/* n3 is sent half of what the others get over the first tree and all of it over the second one. */
static void plan_receiver__slow_ones(void **state)
{
    (void)state;
    struct plan_request request = example_request(4);
    struct plan plan = example_plan(&request, "0-1 1-2 1-3", 15380000);
    plan.rate_bps = 12000000;
    plan.tree_count = 2;
    plan.trees[1] = example_tree("0-1 1-2 2-3");
    plan.edge_rate_bps[1] = 3076000;
    plan.into_rate_bps[0][3] = 7690000;
    assert_int_equal(plan_common_bps(&plan), 14080000 + 2816000);
    assert_int_equal(plan_receiver_bps(&plan, &request, 3), 7040000 + 2816000);
    request.paths[1][3].loss_ppm = 100000;
    assert_int_equal(plan_receiver_bps(&plan, &request, 3), 7040000 * 9 / 10 + 2816000);
    assert_int_equal(plan_receiver_bps(&plan, &request, 2), plan_common_bps(&plan));
    for (uint16_t node = 0; node < 4; node++)
        assert_int_equal(plan_receiver_slow(&plan, &request, node), node == 3);
    request.nodes[3].receiver = false; /* who only relays is nobody's concern */
    assert_false(plan_receiver_slow(&plan, &request, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_tree_title__shares_are_rounded),
        cmocka_unit_test(plan_draw_trees__titles_where_there_are_several),
        cmocka_unit_test(plan_draw_trees__largest_fits),
        cmocka_unit_test(plan_known_text__ages_in_two_of_a_unit_at_least),
        cmocka_unit_test(plan_known_total__counts_edges),
        cmocka_unit_test(plan_raise_text__in_the_unit_of_the_row),
        cmocka_unit_test(plan_receiver__slow_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
