#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "example.h"

static void plan_parent__of_each_node(void **state)
{
    (void)state;
    struct plan_tree tree = example_tree("2-0 2-1 0-3");
    const int parents[] = {2, 2, -1, 0, -1};
    for (uint16_t node = 0; node < 5; node++)
        assert_int_equal(plan_parent(&tree, node), parents[node]);
}

static void plan_children__in_order(void **state)
{
    (void)state;
    struct plan_tree tree = example_tree("2-4 2-1 4-3 2-0");
    uint16_t children[PLAN_CHILDREN_MAX];
    assert_int_equal(plan_children(&tree, 2, children), 3);
    assert_int_equal(children[0], 4);
    assert_int_equal(children[1], 1);
    assert_int_equal(children[2], 0);
    assert_int_equal(plan_children(&tree, 3, children), 0);
}

static void plan_children__never_more_than_room(void **state)
{
    (void)state;
    struct plan_tree tree = {.edge_count = PLAN_NODES_MAX - 1};
    for (uint16_t edge = 0; edge < tree.edge_count; edge++)
        tree.edges[edge] = (struct plan_edge){0, (uint16_t)(edge + 1)};
    uint16_t children[PLAN_CHILDREN_MAX];
    assert_int_equal(plan_children(&tree, 0, children), PLAN_CHILDREN_MAX);
}

static void plan_tree_order__table(void **state)
{
    (void)state;
    static const struct {
        const char *given, *ordered; /* NULL: refused */
    } cases[] = {
        {"0-1 1-2 2-3", "0-1 1-2 2-3"},
        {"2-3 1-2 0-1", "0-1 1-2 2-3"},
        {"2-4 0-3 0-2", "0-3 0-2 2-4"},
        {"", ""},
        {"1-2", NULL},
        {"0-1 0-1", NULL},
        {"0-1 1-0", NULL},
        {"0-0", NULL},
        {"0-1 2-3 3-2", NULL},
        {"0-5", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct plan_tree tree = example_tree(cases[i].given);
        struct plan_tree expected =
            example_tree(cases[i].ordered != NULL ? cases[i].ordered : cases[i].given);
        assert_int_equal(plan_tree_order(&tree, 5, 0), cases[i].ordered != NULL);
        assert_memory_equal(&tree, &expected, sizeof(tree));
    }
}

static void plan_draw__branches(void **state)
{
    (void)state;
    struct plan_request request = example_request(6);
    struct plan_tree tree = example_tree("0-1 0-2 1-3 1-4 2-5");
    char text[512];
    assert_true(plan_draw(&tree, request.nodes, request.node_count, 0, NULL, text, sizeof(text)));
    assert_string_equal(text, "n0\n"
                              "├── n1\n"
                              "│   ├── n3\n"
                              "│   └── n4\n"
                              "└── n2\n"
                              "    └── n5");
}

static void plan_draw__stays_within_any_room(void **state)
{
    (void)state;
    struct plan_request request = example_request(6);
    struct plan_tree tree = example_tree("0-1 0-2 1-3 1-4 2-5");
    char whole[512], text[512];
    assert_true(plan_draw(&tree, request.nodes, request.node_count, 0, NULL, whole, sizeof(whole)));
    for (size_t room = 0; room <= strlen(whole); room++) {
        memset(text, '#', sizeof(text));
        assert_false(plan_draw(&tree, request.nodes, request.node_count, 0, NULL, text, room));
        assert_int_equal(text[room], '#');
        if (room > 0)
            assert_true(memchr(text, '\0', room) != NULL);
    }
}

static void plan_draw__deepest_chain(void **state)
{
    (void)state;
    struct plan_request request = example_request(PLAN_NODES_MAX);
    struct plan_tree tree = {.edge_count = PLAN_NODES_MAX - 1};
    for (uint16_t edge = 0; edge < tree.edge_count; edge++)
        tree.edges[edge] = (struct plan_edge){edge, (uint16_t)(edge + 1)};
    char text[32768];
    assert_true(plan_draw(&tree, request.nodes, request.node_count, 0, NULL, text, sizeof(text)));
    assert_non_null(strstr(text, "└── n63"));
}

/* Not a tree: each node of a level enters both of the next. The room ends it, and so does a cycle's depth. */
static void plan_draw__ends_on_nonsense(void **state)
{
    (void)state;
    struct plan_request request = example_request(5);
    char text[65536];
    struct plan_tree cycle = example_tree("0-1 1-0");
    assert_false(plan_draw(&cycle, request.nodes, request.node_count, 0, NULL, text, sizeof(text)));
    struct plan_tree beyond = example_tree("0-1 1-5");
    assert_false(plan_draw(&beyond, request.nodes, request.node_count, 0, NULL, text, sizeof(text)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_parent__of_each_node),
        cmocka_unit_test(plan_children__in_order),
        cmocka_unit_test(plan_children__never_more_than_room),
        cmocka_unit_test(plan_tree_order__table),
        cmocka_unit_test(plan_draw__branches),
        cmocka_unit_test(plan_draw__stays_within_any_room),
        cmocka_unit_test(plan_draw__deepest_chain),
        cmocka_unit_test(plan_draw__ends_on_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
