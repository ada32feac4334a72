/* Nodes that do not want the object, but may pass it on: used where they add rate, missed by nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "world.h"

static struct world world;

/* n0 sends to n1 and n2; all three have an uplink of 20 Mbit/s, n3 one of `relay_bps`. */
static void begin(uint64_t relay_bps)
{
    world_init(&world, 4, 1);
    for (uint16_t node = 0; node < 4; node++) {
        world.nodes[node].config.ports[0].rate_bps = node == 3 ? relay_bps : 20000000;
        world.nodes[node].config.ports[0].down_bps = 1000000000;
    }
}

static struct job_spec job(enum job_relays relays)
{
    struct job_spec spec = world_job(&world, "j");
    spec.metric = PLAN_METRIC_AUTO;
    spec.trees = 1;
    spec.children_max = 2;
    spec.to_all = false;
    spec.receiver_count = 2;
    strcpy(spec.receivers[0], "n1");
    strcpy(spec.receivers[1], "n2");
    spec.leaf_count = 2; /* so that a chain is no way out */
    strcpy(spec.leaves[0], "n1");
    strcpy(spec.leaves[1], "n2");
    spec.relays = (uint8_t)relays;
    spec.relay_count = 1;
    strcpy(spec.relay_names[0], "n3");
    return spec;
}

static struct node_job_view *run(const struct job_spec *spec)
{
    struct err err;
    world_run_until(&world, 2 * NS_PER_S);
    if (!world_run_job(&world, spec, &err))
        fail_msg("%s", err.text);
    return world_finish_job(&world, 60 * NS_PER_S);
}

static void start(uint16_t nodes)
{
    for (uint16_t node = 0; node < nodes; node++)
        world_start(&world, node);
}

static void relays__are_used_where_they_help(void **state)
{
    (void)state;
    static const struct {
        enum job_relays relays;
        uint64_t relay_bps;
        bool used;
    } rows[] = {
        {JOB_RELAYS_NAMED, 1000000000, true},
        {JOB_RELAYS_ALL, 1000000000, true},
        {JOB_RELAYS_NONE, 1000000000, false},
        {JOB_RELAYS_ALL, 10000000, false},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        begin(rows[row].relay_bps);
        start(4);
        struct job_spec spec = job(rows[row].relays);
        struct node_job_view *view = run(&spec);
        assert_int_equal(view->state, JOB_DONE);
        assert_string_equal(view->note, "");
        assert_int_equal(view->site_count, 2); /* who only relays gets no copy and has no row */
        assert_int_equal(view->plan->trees[0].edge_count, rows[row].used ? 3 : 2);
        assert_int_equal(world_counter(&world, 3, "rx_data") != 0, rows[row].used);
        assert_int_equal(node_job_count(world.nodes[3].node), rows[row].used);
        world_end(&world);
    }
}

/* Not there, there but cut off, or gone while it is asked: the job goes on without it, and names it. */
static void relays__silent_one_is_left_out(void **state)
{
    (void)state;
    for (int cut = 0; cut < 2; cut++) {
        begin(1000000000);
        start(cut ? 4 : 3);
        if (cut)
            world_run_until(&world, NS_PER_S);
        for (uint16_t node = 0; cut && node < 3; node++)
            world_cut(&world, node, 3, TIME_NEVER);
        struct job_spec spec = job(JOB_RELAYS_NAMED);
        struct node_job_view *view = run(&spec);
        assert_int_equal(view->state, JOB_DONE);
        assert_non_null(strstr(view->note, "n3 does not relay: "));
        assert_int_equal(view->plan->trees[0].edge_count, 2);
        assert_true(elapsed_ns(view->running_ns, view->created_ns) < 6 * NS_PER_S);
        world_end(&world);
    }
}

static void relays__unknown_one_is_refused(void **state)
{
    (void)state;
    struct err err;
    begin(1000000000);
    start(4);
    struct job_spec spec = job(JOB_RELAYS_NAMED);
    strcpy(spec.relay_names[0], "n9");
    assert_false(world_run_job(&world, &spec, &err));
    assert_non_null(strstr(err.text, "'n9' is no peer of n0"));
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relays__are_used_where_they_help),
        cmocka_unit_test(relays__silent_one_is_left_out),
        cmocka_unit_test(relays__unknown_one_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
