#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "example.h"
#include "plan/load.h"
#include "plan/picture.h"
#include "plan/sheet.h"

static char text[PICTURE_BYTES_MAX];

static unsigned count_of(const char *part)
{
    unsigned count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        count++;
    return count;
}

#define LEGEND_LINES 3
#define LEGEND_BOXES 2

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
    assert_true(picture_dot(&plan, &request, "job films", text, sizeof(text)));
    assert_int_equal(count_of(" -> "), 6);
    assert_int_equal(count_of("fillcolor"), 1);
    assert_non_null(strstr(text, "label=\"job films\\la stream to 3 sites, 300 Mbit/s of payload\\l"));
    assert_non_null(strstr(text, "\\lat edges: rates on the wire"));
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
    assert_true(picture_svg(&plan, &request, "job films", text, sizeof(text)));
    assert_int_equal(count_of("<path "), 6 + LEGEND_LINES);
    assert_int_equal(count_of("<rect "), 1 + 2 * 4 + LEGEND_BOXES);
    assert_int_equal(count_of("edge tight"), 1 + 1);
    assert_int_equal(count_of("edge assumed"), 4 + 1);
    assert_int_equal(count_of(">measured 12 s ago<"), 1);
    assert_int_equal(count_of(">told<"), 1);
    assert_int_equal(count_of("\"box up\""), 2 + 1); /* the source, in both trees */
    assert_non_null(strstr(text, "at edges: rates on the wire"));
    assert_non_null(strstr(text, "tree 2 of 2: 25.0 % of the blocks"));
}

/* No name is wider than its box. Whose rates these are and what holds them stands above the trees. */
static void picture__svg_of_long_names_and_slow_receivers(void **state)
{
    (void)state;
    begin();
    strcpy(request.nodes[2].name, "a-name-as-long-as-it-may-be-031");
    request.size_bytes = 3000000000;
    plan.delay_us = 42000;
    plan.into_rate_bps[0][3] = 200000000;
    plan.why.limit_count = 4;
    for (uint16_t index = 0; index < 4; index++)
        plan.why.limits[index].limit = (struct plan_limit){.row = PLAN_ROW_UPLINK, .node = index};
    plan.why.limits[2].raised = 2000000000;
    plan.why.limits[2].gain_ppm = 350000;
    assert_true(picture_svg(&plan, &request, "job films", text, sizeof(text)));
    assert_int_equal(count_of(" width=\"264\" height=\"36\""), 2 * 4);
    assert_non_null(strstr(text, " class=\"title\">job films</text>"));
    assert_non_null(strstr(text, ">3.00 GB to 3 sites, expected in 1 min 6 s at 366 Mbit/s of payload<"));
    assert_non_null(strstr(text, ">1 of them is slow: expected in 1 min 20 s at 300 Mbit/s of payload<"));
    assert_non_null(strstr(text, "more than 300 Mbit/s of payload; the farthest site is 42.0 ms away<"));
    assert_non_null(strstr(text, ">held by uplink of n0<"));
    assert_non_null(strstr(text, ">held by uplink of a-name-as-long-as-it-may-be-031; raise it, on the wire, "
                                 "to 2000.0 Mbit/s: +35.0 %<"));
    assert_non_null(strstr(text, ">held by 1 more: show plan --why<"));
    assert_non_null(strstr(text, ">rates of paths: 1 measured, 1 told, 3 assumed<"));
    assert_int_equal(count_of(", slow<"), 2);
    request.size_bytes = UINT64_MAX;
    assert_true(picture_svg(&plan, &request, "job films", text, sizeof(text)));
    assert_non_null(strstr(text, ">18446744 TB to 3 sites, expected in 291"));
    request.size_bytes = 0;
    assert_true(picture_svg(&plan, &request, "job films", text, sizeof(text)));
    assert_non_null(strstr(text, ">a stream to 3 sites, 366 Mbit/s of payload<"));
}

/* Deep trees are indented: below their parents, words behind the boxes. */
static void picture__svg_of_deep_trees(void **state)
{
    (void)state;
    begin();
    assert_true(picture_svg(&plan, &request, "job films", text, sizeof(text)));
    assert_int_equal(count_of("class=\"trunk\""), 0);
    request = example_request(12);
    plan = example_plan(&request, "0-1 1-2 2-3 3-4 4-5 5-6 6-7 7-8 8-9 9-10 10-11", 300000000);
    assert_true(picture_svg(&plan, &request, "job films", text, sizeof(text)));
    assert_int_equal(count_of("class=\"trunk\""), 11);
    assert_int_equal(count_of("text-anchor=\"end\""), 0);
}

/* A title is any bytes: a file's name. */
static void picture__title_is_escaped(void **state)
{
    (void)state;
    static const struct {
        const char *title, *svg, *dot;
    } rows[] = {
        {"a<b>&\"c\".yaml", ">a&lt;b&gt;&amp;&quot;c&quot;.yaml<", "label=\"a<b>&\\\"c\\\".yaml\\l"},
        {"back\\slash", ">back\\slash<", "label=\"back\\\\slash\\l"},
        {"gr\xc3\xb6\xc3\x9f"
         "e\n\x1b[1m\xff",
         ">gr\xc3\xb6\xc3\x9f"
         "e??[1m?<",
         "label=\"gr\xc3\xb6\xc3\x9f"
         "e??[1m?\\l"},
        {"", "></text>", "label=\"\\l"},
    };
    begin();
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        assert_true(picture_svg(&plan, &request, rows[row].title, text, sizeof(text)));
        assert_non_null(strstr(text, rows[row].svg));
        assert_true(picture_dot(&plan, &request, rows[row].title, text, sizeof(text)));
        assert_non_null(strstr(text, rows[row].dot));
    }
}

/* Names of sites need no escaping, since no request with another one is accepted. */
static void picture__names_are_plain(void **state)
{
    (void)state;
    struct err err;
    begin();
    strcpy(request.nodes[2].name, "a<b");
    assert_false(plan_request_validate(&request, &err));
}

static void sheet__durations_and_sizes(void **state)
{
    (void)state;
    static const struct {
        uint64_t duration_ms;
        const char *text;
    } durations[] = {{0, "0.00 s"},
                     {9994, "9.99 s"},
                     {9995, "10.0 s"},
                     {12460, "12.5 s"},
                     {59949, "59.9 s"},
                     {59950, "1 min 0 s"},
                     {3599400, "59 min 59 s"},
                     {3599600, "1 h 0 min"},
                     {86399000, "23 h 59 min"},
                     {200000000, "2 d 7 h"},
                     {UINT64_MAX, "213503982334 d 14 h"}};
    static const struct {
        uint64_t bytes;
        const char *text;
    } sizes[] = {{1, "1 byte"},
                 {999, "999 bytes"},
                 {1000, "1.00 kB"},
                 {2000000000, "2.00 GB"},
                 {UINT64_MAX, "18446744 TB"}};
    for (size_t row = 0; row < sizeof(durations) / sizeof(durations[0]); row++) {
        sheet_add_duration(&(struct sheet){.text = text, .room = sizeof(text)}, durations[row].duration_ms);
        assert_string_equal(text, durations[row].text);
    }
    for (size_t row = 0; row < sizeof(sizes) / sizeof(sizes[0]); row++) {
        sheet_add_size(&(struct sheet){.text = text, .room = sizeof(text)}, sizes[row].bytes);
        assert_string_equal(text, sizes[row].text);
    }
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
    assert_true(picture_dot(&plan, &request, "job films", text, sizeof(text)));
    assert_true(picture_svg(&plan, &request, "job films", text, sizeof(text)));
    size_t length = strlen(text);
    assert_false(picture_svg(&plan, &request, "job films", text, length));
    assert_true(picture_svg(&plan, &request, "job films", text, length + 1));
    assert_false(picture_dot(&plan, &request, "job films", text, 100));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load__adds_up_over_trees),
        cmocka_unit_test(picture__dot_has_every_edge),
        cmocka_unit_test(picture__svg_has_every_edge),
        cmocka_unit_test(picture__svg_of_long_names_and_slow_receivers),
        cmocka_unit_test(picture__svg_of_deep_trees),
        cmocka_unit_test(picture__title_is_escaped),
        cmocka_unit_test(picture__names_are_plain),
        cmocka_unit_test(sheet__durations_and_sizes),
        cmocka_unit_test(picture__largest_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
