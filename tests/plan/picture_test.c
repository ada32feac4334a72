#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "example.h"
#include "plan/load.h"
#include "plan/picture.h"

static char text[PICTURE_BYTES_MAX];

static unsigned count_of(const char *part)
{
    unsigned count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        count++;
    return count;
}

/* Two trees over four nodes of 1 Gbit/s: n0 sends 985 Mbit/s, the path n2 - n3 is full. */
static struct plan_request request;
static struct plan plan;

static void begin(void)
{
    request = example_request(4);
    request.trees_max = 2;
    request.paths[2][3].avb_kbps = 500000;
    plan = example_plan(&request, "0-1 0-2 2-3", 300000000);
    plan.trees[0].weight_ppm = 750000;
    plan.trees[1] = example_tree("0-1 1-2 1-3");
    plan.trees[1].weight_ppm = 250000;
    plan.tree_count = 2;
    plan.edge_rate_bps[1] = 100000000;
    plan.into_rate_bps[0][3] = 492000000;
    plan.into_rate_bps[0][2] = 585000000;
    plan_note_known(&plan, &request);
    plan.into_known[0][2] = (struct plan_known){.basis = PLAN_BASIS_MEASURED, .age_s = 12};
    struct err err;
    if (!plan_validate(&plan, &request, &err))
        fail_msg("%s", err.text);
}

static void load__adds_up_over_trees(void **state)
{
    (void)state;
    struct load load;
    begin();
    request.shared_count = 1;
    strcpy(request.shared[0].name, "wan");
    request.shared[0].rate_bps = 800000000;
    request.paths[2][3].shared = request.paths[1][3].shared = 1;
    load_init(&load, &plan, &request);
    assert_int_equal(load_up(&load, &request, 0), 985);
    assert_int_equal(load_up(&load, &request, 1), 200);
    assert_int_equal(load_down(&load, &request, 3), 592);
    assert_int_equal(load_path(&load, &request, 2, 3),
                     984); /* of its own 500, before 592 of the shared 800 */
    assert_int_equal(load_path(&load, &request, 1, 3), 740);
    assert_int_equal(load_path(&load, &request, 0, 1), 0); /* nobody knows its limit */
    request.paths[1][3].loss_ppm = 500000;                 /* half of 100 Mbit/s does not arrive */
    load_init(&load, &plan, &request);
    assert_int_equal(load_down(&load, &request, 3), 542);
    assert_int_equal(load_up(&load, &request, 1), 200);
}

static void picture__dot_has_every_edge(void **state)
{
    (void)state;
    begin();
    assert_true(picture_dot(&plan, &request, text, sizeof(text)));
    assert_int_equal(count_of(" -> "), 6);
    assert_int_equal(count_of("fillcolor"), 1);
    assert_non_null(strstr(text, "\"n0\" [label=\"n0\\nup 98 %, down 0 %\", style=filled"));
    assert_non_null(strstr(
        text,
        "\"n2\" -> \"n3\" [color=\"#0072b2\", fontcolor=red, penwidth=3, label=\"492 Mbit/s\\ntold\"]"));
    assert_non_null(
        strstr(text, "\"n1\" -> \"n3\" [color=\"#009e73\", style=dashed, label=\"100 Mbit/s\\nassumed\"]"));
}

static void picture__svg_has_every_edge(void **state)
{
    (void)state;
    begin();
    assert_true(picture_svg(&plan, &request, text, sizeof(text)));
    assert_int_equal(count_of("<path "), 6);
    assert_int_equal(count_of("<rect "), 1 + 2 * 4);
    assert_int_equal(count_of("edge tight"), 1);
    assert_int_equal(count_of("edge assumed"), 4);
    assert_int_equal(count_of(">measured 12 s ago<"), 1);
    assert_int_equal(count_of(">told<"), 1);
    assert_int_equal(count_of("#ffc9c9"), 2); /* the source, in both trees */
    assert_non_null(strstr(text, "tree 2 of 2: 25.0 % of the blocks"));
}

/* No name is wider than its box, and the foot says whom its rates are of and what holds them. */
static void picture__svg_of_long_names_and_slow_receivers(void **state)
{
    (void)state;
    begin();
    strcpy(request.nodes[2].name, "a-name-as-long-as-it-may-be-031");
    plan.why.limit_count = 4;
    for (uint16_t index = 0; index < 4; index++)
        plan.why.limits[index].limit = (struct plan_limit){.row = PLAN_ROW_UPLINK, .node = index};
    assert_true(picture_svg(&plan, &request, text, sizeof(text)));
    assert_int_equal(count_of(" width=\"288\" height=\"32\""), 2 * 4);
    assert_non_null(strstr(text, "slow receivers get 300 Mbit/s at least, all others 366 Mbit/s; no plan"));
    assert_non_null(strstr(text,
                           ">held by uplink of n0, uplink of n1, uplink of a-name-as-long-as-it-may-be-031"
                           " and more<"));
    plan.rate_bps = 366189000;
    assert_true(picture_svg(&plan, &request, text, sizeof(text)));
    assert_non_null(strstr(text, "every receiver gets 366 Mbit/s at least"));
}

/* Eight trees over 64 nodes: a chain, a star of stars, whatever is longest. */
static void picture__largest_fits(void **state)
{
    (void)state;
    request = example_request(PLAN_NODES_MAX);
    request.trees_max = PLAN_TREES_MAX;
    for (uint16_t node = 0; node < PLAN_NODES_MAX; node++) {
        snprintf(request.nodes[node].name, NAME_BYTES, "a-very-long-name-of-a-site-%u", node);
        request.nodes[node].up_bps = request.nodes[node].down_bps = UINT64_C(900000000000);
    }
    plan = example_plan(&request, "", 1234567890);
    plan.tree_count = PLAN_TREES_MAX;
    for (uint16_t tree = 0; tree < PLAN_TREES_MAX; tree++) {
        plan.trees[tree] = (struct plan_tree){.weight_ppm = 125000, .edge_count = PLAN_NODES_MAX - 1};
        plan.edge_rate_bps[tree] = 1234567890;
        for (uint16_t node = 1; node < PLAN_NODES_MAX; node++)
            plan.trees[tree].edges[node - 1] =
                (struct plan_edge){(uint16_t)(tree % 2 ? node - 1 : (node - 1) / 15), node};
    }
    assert_true(picture_dot(&plan, &request, text, sizeof(text)));
    assert_true(picture_svg(&plan, &request, text, sizeof(text)));
    size_t length = strlen(text);
    assert_false(picture_svg(&plan, &request, text, length));
    assert_true(picture_svg(&plan, &request, text, length + 1));
    assert_false(picture_dot(&plan, &request, text, 100));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load__adds_up_over_trees),
        cmocka_unit_test(picture__dot_has_every_edge),
        cmocka_unit_test(picture__svg_has_every_edge),
        cmocka_unit_test(picture__svg_of_long_names_and_slow_receivers),
        cmocka_unit_test(picture__largest_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
