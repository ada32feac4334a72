/* Lines in: who is asked for trains, what comes of them without some, and what nobody may have of a node. */
#include <stdio.h>

#include "node/peer/path_table.h"
#include "node/peer/post.h"
#include "node/train/in.h"
#include "node/train/line_in.h"
#include "node/train/pairs.h"
#include "scripted.h"

#define LASTS_NS NS_PER_S

/* The line in of `site`, asked for by n0. */
static void ask_line(uint16_t site)
{
    struct wire_probe_ask message = {.lasts_ms = 2000, .trains = 1};
    struct err err;
    if (!pairs_ask(node_of(0), PATH_SITE_ANY, site, &message, world.now_ns, &err))
        fail_msg("%s", err.text);
}

static const struct pair_result *line_at_n0(uint16_t site)
{
    return pairs_result(node_of(0), PATH_SITE_ANY, site);
}

static void begin_lines(uint16_t count)
{
    begin(count, 200, 1000000000);
    for (uint16_t node = 0; node < count; node++)
        world.nodes[node].config.ports[0].rate_bps = 1000000000;
    start();
}

/* Nothing waits, nothing is awaited, no train has a place. */
static void assert_at_rest(uint16_t node)
{
    const struct line_in *in = node_of(node)->line_in;
    assert_false(in->open);
    assert_int_equal(in->part_count, 0);
    assert_int_equal(node_of(node)->train_in->gather_mask, 0);
    assert_int_equal(line_in_next_ns(node_of(node)), TIME_NEVER);
    for (uint16_t slot = 0; slot < TRAIN_IN_MAX; slot++)
        assert_int_equal(node_of(node)->train_in->slots[slot].peer, PEER_NONE);
}

/* Six peers at most send one train each; what came is in the asker's table, and is shown. */
static void line_in__of_another_node(void **state)
{
    (void)state;
    static char text[131072];
    static const uint16_t counts[] = {3, 6, 8};
    for (unsigned row = 0; row < sizeof(counts) / sizeof(counts[0]); row++) {
        struct wire_available_peer known;
        uint16_t senders = 0;
        begin_lines(counts[row]);
        ask_line(2);
        run(500 * NS_PER_MS);
        assert_int_equal(line_at_n0(2)->answer, PROBE_MEASURED);
        assert_int_equal(line_at_n0(2)->estimate.kind, ESTIMATE_AT_LEAST);
        for (uint16_t node = 0; node < counts[row]; node++) {
            senders += world_counter(&world, node, "tx_trains") > 0;
            assert_at_rest(node);
        }
        assert_int_equal(senders, MIN(counts[row] - 1, (int)GATHER_SENDERS_MAX));
        assert_int_equal(line_at_n0(2)->estimate.trains, senders);
        assert_true(line_at_n0(2)->estimate.bytes <= LINE_IN_BYTES);
        assert_true(path_table_available(node_of(0)->paths, PATH_SITE_ANY, 2, world.now_ns, &known));
        assert_false(path_table_available(node_of(1)->paths, PATH_SITE_ANY, 2, world.now_ns, &known));
        struct ctl_msg msg = {.type = CTL_SHOW, .body.show = {.what = CTL_SHOW_probes, .form = REPORT_JSON}};
        struct ctl_reply reply = {.text = text, .room = sizeof(text)};
        assert_int_equal(node_ctl(node_of(0), &msg, &reply, world.now_ns), 0);
        assert_non_null(strstr(text, "\"from\":\"(line)\",\"to\":\"n2\""));
        world_end(&world);
    }
}

/* A node asks itself as it asks others, and both at once: one is measured, the other told that it is busy. */
static void line_in__one_at_a_time(void **state)
{
    (void)state;
    struct wire_probe_ask message = {.lasts_ms = 2000, .trains = 1};
    struct err err;
    begin_lines(5);
    ask_line(0);
    assert_true(pairs_ask(node_of(1), PATH_SITE_ANY, 1, &message, world.now_ns, &err)); /* n0's */
    run(500 * NS_PER_MS);
    assert_int_equal(line_at_n0(0)->answer, PROBE_MEASURED);
    assert_int_equal(pairs_result(node_of(1), PATH_SITE_ANY, 1)->answer, PROBE_BUSY);
    assert_at_rest(0);
    world_end(&world);
}

/* One peer alone tells of its path, not of a line; who may send none is missing, and is waited for no longer than trains take. */
static void line_in__does_without_some(void **state)
{
    (void)state;
    begin_lines(2);
    ask_line(0);
    run(100 * NS_PER_MS);
    assert_int_equal(line_at_n0(0)->answer, PROBE_UNKNOWN);
    assert_non_null(strstr(line_at_n0(0)->why, "fewer than two peers"));
    world_end(&world);

    begin(6, 200, 1000000000);
    world.nodes[1].config.probe.off = true;
    start();
    ask_line(2);
    run(LASTS_NS);
    assert_int_equal(line_at_n0(2)->answer, PROBE_MEASURED);
    assert_int_equal(world_counter(&world, 1, "tx_trains"), 0);
    assert_int_equal(world_counter(&world, 1, "asks_declined"), 1);
    assert_at_rest(2);
    world_end(&world);
}

/* Who dies on the way, as the one that asks, the one that measures, or one that sends, leaves nothing behind. */
static void line_in__outlives_nodes(void **state)
{
    (void)state;
    for (uint16_t dead = 0; dead < 3; dead++) {
        begin_lines(5);
        ask_line(2);
        run(world.delay_ns + 2 * NS_PER_MS);
        world_kill(&world, dead);
        run(LASTS_NS);
        world_start(&world, dead);
        run(3 * NS_PER_S);
        for (uint16_t node = 0; node < 5; node++)
            assert_at_rest(node);
        assert_true(dead == 0 || line_at_n0(2)->answer == (dead == 2 ? PROBE_NO_REPLY : PROBE_MEASURED));
        ask_line(2);
        run(LASTS_NS);
        assert_int_equal(line_at_n0(2)->answer, PROBE_MEASURED);
        world_end(&world);
    }
}

/* Of one peer's asks for trains two wait at most, and none is worth more than a node sends for others. */
static void parts__have_bounds(void **state)
{
    (void)state;
    begin_lines(4);
    struct wire_probe_ask part = {.to = {"n1"},
                                  .what = PROBE_WHAT_PART,
                                  .wait_us = 50000,
                                  .bytes = UINT32_MAX,
                                  .rate_kbps = UINT32_MAX};
    for (unsigned turn = 0; turn < 5; turn++)
        line_in_take(node_of(0), 0, &part, world.now_ns);
    assert_int_equal(node_of(0)->line_in->part_count, LINE_IN_OF_ONE_MAX);
    line_in_take(node_of(0), 1, &part, world.now_ns);
    assert_int_equal(node_of(0)->line_in->part_count, LINE_IN_OF_ONE_MAX + 1);
    run(300 * NS_PER_MS);
    assert_int_equal(world_counter(&world, 0, "asks_declined"), 3);
    assert_true(world_counter(&world, 0, "tx_trains") <= (LINE_IN_OF_ONE_MAX + 1) * GATHER_PACKETS_MAX);
    assert_at_rest(0);
    /* Of what nobody has asked for here nothing stays either. */
    run(2 * NS_PER_S);
    assert_at_rest(1);
    part.bytes = 100;
    line_in_take(node_of(0), 0, &part, world.now_ns);
    assert_int_equal(node_of(0)->line_in->part_count, 0);
    world_end(&world);
}

/* What one asks for is spent for others, so that no flood of asks fills the queues to third ones; and what is over in the middle of
 * its trains leaves no place taken. */
static void line_in__spends_for_others(void **state)
{
    (void)state;
    begin_lines(4);
    struct wire_probe_ask flood = {.to = {"n0"}, .what = PROBE_WHAT_LINE_IN, .lasts_ms = 1};
    for (unsigned turn = 0; turn < 400; turn++) {
        line_in_take(node_of(0), 0, &flood, world.now_ns);
        run(2 * NS_PER_MS);
        assert_true(post_has_ample_room(node_of(0), 1));
    }
    assert_in_range(world_counter(&world, 0, "asks_declined"), 200, 300);
    run(2 * NS_PER_S);
    assert_at_rest(0);

    flood.lasts_ms = (uint32_t)(2 * world.delay_ns / NS_PER_MS + 4);
    run(10 * NS_PER_S);
    line_in_take(node_of(0), 0, &flood, world.now_ns);
    run((flood.lasts_ms - 1) * NS_PER_MS);
    assert_true(node_of(0)->train_in->count > 0);
    run(2 * NS_PER_MS);
    for (uint16_t slot = 0; slot < TRAIN_IN_MAX; slot++) /* what begins only now is a train like any other */
        assert_true(node_of(0)->train_in->slots[slot].peer == PEER_NONE ||
                    !node_of(0)->train_in->slots[slot].gathered);
    run(3 * NS_PER_S);
    assert_at_rest(0);
    world_end(&world);
}

/* Who asks for later and is gone by then keeps nobody off. */
static void line_in__forgets_who_is_gone(void **state)
{
    (void)state;
    begin_lines(4);
    struct wire_probe_ask later = {.to = {"n0"}, .what = PROBE_WHAT_LINE_IN, .wait_us = UINT32_MAX};
    line_in_take(node_of(0), 1, &later, world.now_ns);
    assert_true(node_of(0)->line_in->open);
    line_in_forget(node_of(0), 1);
    assert_false(node_of(0)->line_in->open);
    assert_at_rest(0);
    world_end(&world);
}

/* Another one's line in can't be measured here. */
static void line_in__of_nobody_else(void **state)
{
    (void)state;
    begin_lines(4);
    struct wire_probe_ask other = {.to = {"n2"}, .what = PROBE_WHAT_LINE_IN};
    line_in_take(node_of(1), 0, &other, world.now_ns);
    assert_false(node_of(1)->line_in->open);
    assert_int_equal(world_counter(&world, 1, "asks_declined"), 1);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_in__of_another_node),   cmocka_unit_test(line_in__one_at_a_time),
        cmocka_unit_test(line_in__does_without_some), cmocka_unit_test(line_in__outlives_nodes),
        cmocka_unit_test(parts__have_bounds),         cmocka_unit_test(line_in__of_nobody_else),
        cmocka_unit_test(line_in__spends_for_others), cmocka_unit_test(line_in__forgets_who_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
