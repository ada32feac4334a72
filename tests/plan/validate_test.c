#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "example.h"

/* Each case spoils one thing of a good request or plan; `expected` is part of the message, NULL: still
 * good. */
static void expect(bool valid, const struct err *err, const char *expected, int place)
{
    if (expected == NULL && !valid)
        fail_msg("case %d: %s", place, err->text);
    if (expected != NULL && (valid || strstr(err->text, expected) == NULL))
        fail_msg("case %d: expected \"%s\", got \"%s\"", place, expected, valid ? "valid" : err->text);
}

/* In a frame of its own: one for each case of a table would not fit the stack. */
static __attribute__((noinline)) void begin_request(struct plan_request *request, uint16_t count)
{
    *request = example_request(count);
}

static void plan_request_validate__table(void **state)
{
    (void)state;
    static struct plan_request r;
    struct err err;
#define CASE(spoil, expected)                                                                                \
    begin_request(&r, 4);                                                                                    \
    spoil;                                                                                                   \
    expect(plan_request_validate(&r, &err), &err, expected, __LINE__)
    CASE((void)0, NULL);
    CASE(begin_request(&r, PLAN_NODES_MAX), NULL);
    CASE(begin_request(&r, 2), NULL);
    CASE(r.trees_max = 0, NULL);
    CASE(r.node_count = 1, "expected 2 to 64");
    CASE(r.node_count = PLAN_NODES_MAX + 1, "expected 2 to 64");
    CASE(r.source = 4, "the source is none");
    CASE(r.metric = PLAN_METRIC_COUNT, "no metric");
    CASE(r.trees_max = PLAN_TREES_MAX + 1, "9 trees");
    CASE(r.children_max = PLAN_CHILDREN_MAX + 1, "17 children");
    CASE(strcpy(r.nodes[2].name, "../x"), "node 2 has no valid name");
    CASE(memset(r.nodes[3].name, 'a', NAME_BYTES), "node 3 has no valid name");
    CASE(strcpy(r.nodes[3].name, "n1"), "two nodes have the name n1");
    CASE(r.nodes[1].up_bps = 0, "n1: uplink");
    CASE(r.nodes[0].down_bps = 0, "n0: uplink and downlink");
    CASE(r.nodes[1].receiver = r.nodes[2].receiver = r.nodes[3].receiver = false, "no node but the source");
    CASE((r.nodes[1].receiver = false, r.nodes[0].receiver = true), NULL);
    CASE(r.paths[1][2].loss_ppm = 999999, NULL);
    CASE(r.paths[1][2].loss_ppm = 1000000, "n1 - n2: a loss of 1000000 ppm");
    CASE((r.paths[1][2].avb_kbps = 5, r.paths[1][2].avb_low_kbps = 5, r.paths[1][2].avb_high_kbps = 5), NULL);
    CASE(r.paths[1][2].avb_kbps = 5, NULL);
    CASE((r.paths[1][2].avb_kbps = 5, r.paths[1][2].avb_low_kbps = 6), "n1 - n2: available bandwidth");
    CASE((r.lines_in[1].avb_kbps = 5, r.lines_in[1].avb_high_kbps = 4),
         "n1: available bandwidth of its line in");
    CASE((r.paths[1][2].avb_kbps = 5, r.paths[1][2].avb_high_kbps = 4), "n1 - n2: available bandwidth");
    CASE(r.paths[3][0].rule = PLAN_RULE_COUNT, "n3 - n0: no rule");
    CASE(r.paths[1][2].rule = PLAN_RULE_PINNED, NULL);
    CASE(r.paths[1][0].rule = PLAN_RULE_PINNED, "pin n1 - n0: no edge enters the source");
    CASE(r.paths[1][1].rule = PLAN_RULE_PINNED, "pin n1 - n1: no edge");
    CASE(r.paths[1][2].rule = r.paths[3][2].rule = PLAN_RULE_PINNED, "n2 is pinned to n1 and to n3");
    CASE(r.nodes[0].leaf = true, "n0 is the source and a leaf");
    CASE((r.paths[1][2].rule = PLAN_RULE_PINNED, r.nodes[1].leaf = true), "pin n1 - n2: n1 is a leaf");
    CASE(r.dcmst_of = PLAN_METRIC_STAR, "dcmst is of rtt, avb");
    CASE((r.dcmst_of = PLAN_METRIC_DISTANCE, r.degree = 16), NULL);
    CASE(r.degree = 17, "a degree of 17, at most 16");
    CASE(r.avb_of = PLAN_AVB_NONE, NULL);
    CASE(r.avb_of = PLAN_AVB_COUNT, "nobody with number 4");
    CASE(r.shared_count = PLAN_SHARED_MAX + 1, "17 shared links");
    CASE(r.shared_count = 1, "shared link 0 has no valid name");
    CASE((r.shared_count = 1, strcpy(r.shared[0].name, "wan")), "wan: its rate");
    CASE((r.shared_count = 1, strcpy(r.shared[0].name, "wan"), r.shared[0].rate_bps = 1,
          r.paths[0][1].shared = 1),
         NULL);
    CASE(r.paths[0][1].shared = 1, "n0 - n1 crosses a shared link");
#define GIVEN(tree) (r.metric = PLAN_METRIC_GIVEN, r.given = example_tree(tree))
    CASE(GIVEN("0-1 1-2 2-3"), NULL);
    CASE(GIVEN("2-3 1-2 0-1"), NULL);
    CASE(GIVEN("0-1 1-2"), "receiver n3 is not reached");
    CASE(GIVEN("0-1 1-2 2-3 0-3"), "no tree");
    CASE(GIVEN("0-1 2-3 3-2"), "no tree");
    CASE(GIVEN("0-1 1-2 2-4"), "no tree");
    CASE(GIVEN("0-1 1-0 1-2 1-3"), "no tree");
    CASE((GIVEN("0-1 0-2 0-3"), r.children_max = 2), "n0 has more than 2 children");
    CASE((GIVEN("0-1 1-2 2-3"), r.nodes[3].receiver = false), "relay n3 leads nowhere");
    CASE((GIVEN("0-1 1-2 2-3"), r.nodes[2].receiver = false), NULL);
    CASE((GIVEN("0-1 1-2 2-3"), r.nodes[2].leaf = true), "n2 is a leaf, but is to feed n3");
    CASE((GIVEN("0-1 1-2 2-3"), r.nodes[3].leaf = true), NULL);
    CASE((GIVEN("0-1 1-2 2-3"), r.paths[1][2].rule = PLAN_RULE_FORBIDDEN), "edge n1 - n2 is forbidden");
    CASE((GIVEN("0-1 1-2 2-3"), r.paths[1][2].rule = PLAN_RULE_PINNED), NULL);
    CASE((GIVEN("0-1 1-2 2-3"), r.paths[1][3].rule = PLAN_RULE_PINNED), "only n1 may feed n3, by a pin");
    CASE((GIVEN("0-1 1-2 2-3"), r.given.edge_count = UINT16_MAX), "no tree");
#undef GIVEN
#undef CASE
}

static void plan_validate__table(void **state)
{
    (void)state;
    static struct plan_request r;
    struct plan p;
    struct err err;
#define CASE(tree, spoil, expected)                                                                          \
    begin_request(&r, 5);                                                                                    \
    r.nodes[4].receiver = false;                                                                             \
    p = example_plan(&r, tree, 300000000);                                                                   \
    spoil;                                                                                                   \
    expect(plan_validate(&p, &r, &err), &err, expected, __LINE__)
    CASE("0-1 0-2 2-3", (void)0, NULL);
    CASE("0-4 4-1 4-2 4-3", (void)0, NULL);
    CASE("0-1 0-2 2-3", p.job++, "expected 7 epoch 3");
    CASE("0-1 0-2 2-3", p.epoch++, "expected 7 epoch 3");
    CASE("0-1 0-2 2-3", p.node_count--, "differ");
    CASE("0-1 0-2 2-3", p.source = 1, "differ");
    CASE("0-1 0-2 2-3", p.tree_count = 0, "0 trees");
    CASE("0-1 0-2 2-3", p.tree_count = 2, "2 trees, expected 1 to 1");
    CASE("0-1 0-2 2-3", p.rate_bps = 0, "rate is 0");
    CASE("0-1 0-2 2-3", p.edge_rate_bps[0] = 0, "above 0");
    CASE("0-1 0-2 2-3", p.trees[0].weight_ppm--, "weights add up to 999999");
    CASE("2-3 0-1 0-2", (void)0, "starts at a node not reached before");
    CASE("0-1 0-2", (void)0, "receiver n3 is not reached");
    CASE("0-1 0-2 2-3 1-3", (void)0, "enters a node a second time");
    CASE("0-1 0-2 2-3 3-0", (void)0, "enters a node a second time");
    CASE("0-1 0-2 2-3 3-3", (void)0, "a second time");
    CASE("0-1 0-2 2-3 3-4", (void)0, "relay n4 leads nowhere");
    CASE("0-1 0-2 2-3 3-5", (void)0, "a node that does not exist");
    CASE("0-1 0-2 0-3", r.children_max = 2, "more than 2 children");
    CASE("0-1 0-2 2-3", p.trees[0].edge_count = PLAN_NODES_MAX, "too many");
    CASE("0-1 0-2 2-3", r.nodes[0].up_bps = 600000000, NULL);
    CASE("0-1 0-2 2-3", r.nodes[0].up_bps = 599999999, "uplink of n0");
    CASE("0-1 0-2 2-3", r.nodes[3].down_bps = 299999999, "downlink of n3");
    CASE("0-1 0-2 2-3", (r.nodes[3].down_bps = 270000000, r.paths[2][3].loss_ppm = 100000), NULL);
    CASE("0-1 0-2 2-3", (r.nodes[3].down_bps = 270000000, r.paths[2][3].loss_ppm = 99999), "downlink of n3");
    CASE("0-1 0-2 2-3", r.paths[0][3].rule = PLAN_RULE_PINNED, "only n0 may feed n3, by a pin");
    CASE("0-1 0-2 2-3", p.edge_rate_bps[0] = UINT64_MAX, "uplink of n0");
    CASE("0-1 0-2 2-3", r.nodes[2].up_bps = 0, "request: n2");
    CASE("0-1 0-2 2-3", (p.into_rate_bps[0][1] = 700000000, p.into_rate_bps[0][2] = 300000000), NULL);
    CASE("0-1 0-2 2-3", (p.into_rate_bps[0][1] = 700000001, p.into_rate_bps[0][2] = 300000000),
         "uplink of n0");
    CASE("0-1 0-2 2-3", (p.into_rate_bps[0][3] = 2000, r.nodes[3].down_bps = 1999), "downlink of n3");
    CASE("0-1 0-2 2-3", p.into_rate_bps[0][3] = 1000, NULL);
    CASE("0-1 0-2 2-3", p.into_rate_bps[0][3] = 999, "the edge from n2 to n3 is given less than 1 kbit/s");
#define SECOND(tree, rate)                                                                                   \
    (r.trees_max = 2, p.tree_count = 2, p.trees[1] = example_tree(tree), p.edge_rate_bps[1] = (rate),        \
     p.trees[0].weight_ppm = 400000, p.trees[1].weight_ppm = 600000)
    CASE("0-1 0-2 2-3", SECOND("0-3 3-2 2-1", 400000000), NULL);
    CASE("0-1 0-2 2-3", SECOND("0-3 3-2 2-1", 400000001), "uplink of n0");
    CASE("0-1 0-2 2-3", (SECOND("0-3 3-2 2-1", 400000000), r.nodes[1].down_bps = 699999999),
         "downlink of n1");
    CASE("0-1 0-2 2-3", (SECOND("0-3 3-2 2-1", 400000000), p.trees[1].weight_ppm = 0), "above 0");
    CASE("0-1 0-2 2-3", (SECOND("0-3", 400000000)), "tree 1: receiver n1");
#undef SECOND
#undef CASE
}

/* Each tree keeps to the limit, and both together do not: 9 children here, 9 others there. */
static void plan_validate__children_over_all_trees(void **state)
{
    (void)state;
    static struct plan_request r;
    static struct plan p;
    struct err err;
    for (uint16_t more = 8; more < 10; more++) {
        begin_request(&r, 20);
        r.nodes[0].up_bps = 1000000000000;
        r.trees_max = 2;
        p = example_plan(&r, "", 1000000);
        p.tree_count = 2;
        p.edge_rate_bps[1] = 1000000;
        p.trees[0].weight_ppm = p.trees[1].weight_ppm = 500000;
        for (uint16_t node = 1; node < 20; node++) {
            bool first = node < 9, second = node >= 9 && node < 9 + more;
            p.trees[0].edges[p.trees[0].edge_count++] =
                (struct plan_edge){first ? 0 : (uint16_t)(node - 8), node};
            p.trees[1].edges[p.trees[1].edge_count++] = (struct plan_edge){second ? 0 : 9, node};
        }
        /* Parents before children: 9 comes first. */
        struct plan_edge ninth = p.trees[1].edges[8];
        memmove(&p.trees[1].edges[1], &p.trees[1].edges[0], 8 * sizeof(ninth));
        p.trees[1].edges[0] = ninth;
        expect(plan_validate(&p, &r, &err), &err,
               more == 8 ? NULL : "n0 has more than 16 children over all trees", more);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_request_validate__table),
        cmocka_unit_test(plan_validate__table),
        cmocka_unit_test(plan_validate__children_over_all_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
