/* Joint trains between nodes, and the lines that they tell of: whose packets go to whom, who is missing, who else sends. */
#include <stdio.h>

#include "node/peer/path_table.h"
#include "node/peer/post.h"
#include "node/train/in.h"
#include "node/train/pairs.h"
#include "scripted.h"

static void begin_lines(uint16_t count, uint32_t packets)
{
    begin(count, packets, 1000000000);
    script.again = true;
    script.estimate = (struct estimate){.kind = ESTIMATE_VALUE,
                                        .avail_bps = 4000000000,
                                        .low_bps = 3900000000,
                                        .high_bps = 4100000000,
                                        .trains = 1};
}

/* The line of `site`, asked for by n0; one train is a look, which has sprints. */
static void ask_line_for(uint16_t site, uint16_t trains, uint32_t bytes)
{
    struct wire_probe_ask message = {.lasts_ms = 2000, .bytes = bytes, .trains = trains};
    struct err err;
    if (!pairs_ask(node_of(0), site, site, &message, world.now_ns, &err))
        fail_msg("%s", err.text);
}

static void ask_line(uint16_t site, uint16_t trains)
{
    ask_line_for(site, trains, 1000000);
}

static const struct pair_result *line_at_n0(uint16_t site)
{
    return pairs_result(node_of(0), site, site);
}

/* Of 560 packets to seven peers each second one is of the nearest; the record is of one peer's part, by indexes in the whole. Eight
 * more go to each. */
static void line__goes_to_peers_in_turn(void **state)
{
    (void)state;
    static const struct {
        uint16_t nodes, turns, most; /* of the part that tells; packets of the nearest one … */
        uint16_t least;              /* … and of another */
    } rows[] = {{8, 12, 280, 46}, {5, 6, 280, 93}, {4, 3, 187, 186}, {3, 2, 280, 280}};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        begin_lines(rows[row].nodes, 560);
        start();
        ask_line(0, 1);
        run(200 * NS_PER_MS);
        assert_int_equal(script.records, 1);
        uint64_t sprints = 8 * (rows[row].nodes - 1u), sum = 0, most = 0, least = 560;
        assert_int_equal(world_counter(&world, 0, "tx_trains"), 560 + sprints);
        for (uint16_t node = 1; node < rows[row].nodes; node++) {
            uint64_t came = world_counter(&world, node, "rx_trains");
            sum += came;
            most = MAX(most, came);
            least = MIN(least, came);
        }
        assert_int_equal(sum, 560 + sprints);
        assert_int_equal(most, rows[row].most + 8);
        assert_int_equal(least, rows[row].least + 8);
        assert_true(script.last.turns == rows[row].turns || script.last.turns == 2);
        for (uint32_t at = 1; at < script.last.count; at++)
            assert_int_equal(script.last.samples[at].index - script.last.samples[at - 1].index,
                             script.last.turns);
        assert_int_equal(line_at_n0(0)->answer, PROBE_MEASURED);
        world_end(&world);
    }
}

/* Another node's line: what it found is in the asker's table, with its age, and is shown. */
static void line__of_another_node(void **state)
{
    (void)state;
    static char text[131072];
    struct wire_available_peer known;
    begin_lines(6, 200);
    start();
    ask_line(2, 1);
    run(500 * NS_PER_MS);
    assert_int_equal(line_at_n0(2)->answer, PROBE_MEASURED);
    assert_int_equal(line_at_n0(2)->estimate.avail_bps, 4000000000);
    assert_true(path_table_available(node_of(0)->paths, 2, 2, world.now_ns, &known));
    assert_true(known.avail_kbps > 3990000);
    assert_true(path_table_available(node_of(1)->paths, PATH_SITE_SELF, PATH_SITE_SELF, world.now_ns,
                                     &known) == false);
    struct ctl_msg msg = {.type = CTL_SHOW, .body.show = {.what = CTL_SHOW_probes, .form = REPORT_JSON}};
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    assert_int_equal(node_ctl(node_of(0), &msg, &reply, world.now_ns), 0);
    assert_non_null(strstr(text, "\"from\":\"n2\",\"to\":\"(line)\""));
    world_end(&world);
}

/* A peer that takes none, and one whose part was lost, are not waited for beyond a report's time; fewer than two are none. */
static void line__does_without_some(void **state)
{
    (void)state;
    begin_lines(6, 200);
    world.nodes[1].config.probe.off = true;
    start();
    world_cut(&world, 2, 0, world.now_ns + 300 * NS_PER_MS);
    ask_line(0, 1);
    run(150 * NS_PER_MS);
    assert_int_equal(script.records, 1);
    assert_int_equal(line_at_n0(0)->answer, PROBE_MEASURED);
    world_end(&world);

    begin_lines(2, 200);
    start();
    ask_line(0, 1);
    run(100 * NS_PER_MS);
    assert_int_equal(line_at_n0(0)->answer, PROBE_UNKNOWN);
    assert_non_null(strstr(line_at_n0(0)->why, "fewer than two peers"));
    world_end(&world);
}

/* Joint trains of several come in at a time, and say so; one for this node alone does not bear them, nor they it. */
static void line__several_at_a_time(void **state)
{
    (void)state;
    begin_lines(6, 400);
    start();
    for (uint16_t site = 0; site < 4; site++)
        ask_line(site, 1);
    run(500 * NS_PER_MS);
    for (uint16_t site = 0; site < 4; site++)
        assert_int_equal(line_at_n0(site)->answer, PROBE_MEASURED);
    for (uint16_t node = 0; node < 6; node++)
        assert_int_equal(world_counter(&world, node, "drop_train_busy"), 0);
    assert_true(script.last.beside);
    world_end(&world);

    begin_lines(6, 4000);
    start();
    ask_line(0, 1);
    ask(1, "n2");
    run(500 * NS_PER_MS);
    assert_int_equal(world_counter(&world, 2, "drop_train_busy"), 1);
    world_end(&world);
}

/* On a slow port sprints would make the train longer than any may be: the look goes without. */
static void line__without_sprints_on_a_slow_port(void **state)
{
    (void)state;
    for (unsigned slow = 0; slow < 2; slow++) {
        begin(8, 30, slow ? 5000000 : 1000000000);
        script.again = true;
        if (slow)
            world.nodes[0].config.ports[0].rate_bps = 5000000;
        start();
        ask_line(0, 1);
        run(500 * NS_PER_MS);
        assert_int_equal(world_counter(&world, 0, "tx_trains"), slow ? 30 : 30 + 7 * 8);
        world_end(&world);
    }
}

/* Each receiver knows how many packets come to it, with sprints and without: its slot is free with the last of them. */
static void line__ends_with_its_last_packet(void **state)
{
    (void)state;
    static const uint32_t bytes[] = {370000, 1000000};
    for (unsigned row = 0; row < 2; row++)
        for (uint16_t nodes = 3; nodes <= 8; nodes++) {
            begin_lines(nodes, 232);
            start();
            ask_line_for(0, 1, bytes[row]);
            run(25 * NS_PER_MS); /* less than what a part that lacks a packet is waited for */
            for (uint16_t node = 1; node < nodes; node++) {
                assert_true(world_counter(&world, node, "rx_trains") > 16);
                assert_int_equal(node_of(node)->train_in->count, 0);
            }
            world_end(&world);
        }
}

/* Of parts that are alike the path to one of the receivers decides. Where it is not known it is measured; a look has sprints, and
 * where there are too few bytes for them says that it does not know. */
static void line__asks_a_path_where_parts_are_alike(void **state)
{
    (void)state;
    static const struct {
        uint16_t trains;
        uint32_t bytes;
        uint64_t sent;
        enum estimate_kind kind;
    } rows[] = {{1, 370000, 100, ESTIMATE_REFUSED},
                {1, 400000, 116, ESTIMATE_AT_LEAST},
                {2, 1000000, 200, ESTIMATE_VALUE}};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        begin_lines(3, 100);
        for (uint16_t node = 0; node < 3; node++)
            for (uint16_t other = 0; other < 3; other++)
                world.rate_bps[node][other] = 100000000;
        start();
        ask_line_for(0, rows[row].trains, rows[row].bytes);
        run(500 * NS_PER_MS);
        assert_int_equal(world_counter(&world, 0, "tx_trains"), rows[row].sent);
        assert_int_equal(line_at_n0(0)->estimate.kind, rows[row].kind);
        world_end(&world);
    }
}

/* Its sprints tell what each path carries by itself, far above its part of the packets in turn; who is known alone is left alone. */
static void line__looks_at_paths(void **state)
{
    (void)state;
    static const uint64_t path_mbps[] = {0, 2000, 300, 50, 0, 700};
    begin_lines(6, 280);
    for (uint16_t other = 1; other < 6; other++)
        world.rate_bps[0][other] = path_mbps[other] * 1000000;
    start();
    ask_line(0, 1);
    run(500 * NS_PER_MS);
    for (uint16_t other = 1; other < 6; other++) {
        struct wire_available_peer known;
        assert_true(path_table_available(node_of(0)->paths, PATH_SITE_SELF, other, world.now_ns, &known));
        uint64_t told_mbps = known.avail_kbps / 1000;
        if (path_mbps[other] != 0)
            assert_in_range(told_mbps, path_mbps[other] * 95 / 100, path_mbps[other] * 105 / 100);
        else
            assert_in_range(told_mbps, 8000, 10000);
        assert_int_equal(known.high_kbps == 0, path_mbps[other] == 0);
    }
    world_end(&world);
}

/* One whose report waits, as its peer takes no messages, keeps its slot and gets no other. */
static void line__keeps_one_slot_of_a_peer(void **state)
{
    (void)state;
    begin(4, 200, 1000000000);
    start();
    struct node *node = node_of(0);
    struct control_train_report report = {.fixed = {.train = 7}};
    while (post_has_ample_room(node, 0))
        assert_true(post(node, 0, CONTROL_TRAIN_REPORT, &report));
    for (uint32_t number = 100; number < 103; number++)
        for (uint16_t index = 0; index < 64; index += 4) {
            struct wire_train train = {.train = number,
                                       .index = index,
                                       .count = 64,
                                       .rest_us = 1000,
                                       .flags = 4u << WIRE_TRAIN_TURNS_SHIFT};
            struct rx_packet packet = {.length = 1472, .rx_ns = world.now_ns + index};
            train_in_on_packet(node, &node->peers[0], &train, &packet, world.now_ns);
        }
    assert_int_equal(node->train_in->count, 1);
    assert_int_equal(node->train_in->slots[0].train, 100);
    assert_int_equal(node->counters.drop_train_busy, 32);
    train_in_forget(node, 0);
    assert_int_equal(node->train_in->count, 0);
    world_end(&world);
}

/* Who goes down meanwhile is done without, whoever it is; nothing is said of its path, which was not what was measured. */
static void line__goes_on_without_who_goes_down(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 2; first++) {
        begin_lines(6, 400);
        script.trains = 3;
        start();
        ask_line(0, 0);
        run(500 * NS_PER_US);
        const struct train_receivers *to = &node_of(0)->prober->line.to;
        uint16_t gone = to->peers[first ? 0 : to->count - 1];
        node_of(0)->peers[gone].state = PEER_DOWN;
        run(1500 * NS_PER_MS);
        assert_int_equal(line_at_n0(0)->answer, PROBE_MEASURED);
        assert_true(prober_result(node_of(0), gone)->estimate.kind != ESTIMATE_REFUSED);
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line__goes_to_peers_in_turn),
        cmocka_unit_test(line__of_another_node),
        cmocka_unit_test(line__does_without_some),
        cmocka_unit_test(line__several_at_a_time),
        cmocka_unit_test(line__keeps_one_slot_of_a_peer),
        cmocka_unit_test(line__goes_on_without_who_goes_down),
        cmocka_unit_test(line__asks_a_path_where_parts_are_alike),
        cmocka_unit_test(line__looks_at_paths),
        cmocka_unit_test(line__ends_with_its_last_packet),
        cmocka_unit_test(line__without_sprints_on_a_slow_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
