/* Paths that others measure: one that an operator names, and all of them; what refuses, what is silent, who dies meanwhile. */
#include "node/peer/path_table.h"
#include "node/train/all.h"
#include "scripted.h"

static const struct estimate four_gbps = {.kind = ESTIMATE_VALUE,
                                          .avail_bps = 4000000000,
                                          .low_bps = 3900000000,
                                          .high_bps = 4100000000,
                                          .capacity_bps = 10000000000,
                                          .trains = 1,
                                          .bytes = 153800};

/* Nodes that find 4 Gbit/s on every path, with one train. */
static void begin_pairs(uint16_t count)
{
    begin(count, 100, 1000000000);
    script.again = true;
    script.estimate = four_gbps;
}

static bool probe(uint16_t node, const char *from, const char *to, struct err *err)
{
    static char text[1024];
    struct ctl_msg msg = {.type = CTL_PROBE};
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    snprintf(msg.body.probe.peer, NAME_BYTES, "%s", from);
    snprintf(msg.body.probe.to, NAME_BYTES, "%s", to);
    bool done = node_ctl(node_of(node), &msg, &reply, world.now_ns) == 0;
    *err = reply.err;
    return done;
}

static bool all(uint16_t node, enum ctl_all what, bool order, struct err *err)
{
    static char text[1024];
    struct ctl_msg msg = {.type = CTL_PROBE_ALL, .body.probe_all = {.what = (uint8_t)what, .order = order}};
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    bool done = node_ctl(node_of(node), &msg, &reply, world.now_ns) == 0;
    *err = reply.err;
    return done;
}

/* Sites at n0: itself 0, n1 is 1, and so on. */
static const struct pair_result *result_at_n0(uint16_t from, uint16_t to)
{
    return pairs_result(node_of(0), from, to);
}

static const char *show_probes(size_t room)
{
    static char text[131072];
    struct ctl_msg msg = {.type = CTL_SHOW, .body.show = {.what = CTL_SHOW_probes, .form = REPORT_JSON}};
    struct ctl_reply reply = {.text = text, .room = MIN(room, sizeof(text))};
    assert_int_equal(node_ctl(node_of(0), &msg, &reply, world.now_ns), 0);
    return strstr(text, "\"pairs\"");
}

/* What nothing is known of as yet has no age; what there is just room for is not left out. */
static void show_probes__tells_pairs_of_others(void **state)
{
    (void)state;
    static const struct {
        size_t room; /* rows of 700 bytes beside all else */
        bool told, left_out;
    } rows[] = {{131072, true, false}, {65536 + 700, true, false}, {65536 + 699, false, true}};
    struct err err;
    begin_pairs(3);
    start();
    assert_true(probe(0, "n1", "n2", &err));
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        const char *pairs = show_probes(rows[row].room);
        assert_int_equal(strstr(pairs, "\"from\":\"n1\",\"to\":\"n2\"") != NULL, rows[row].told);
        assert_int_equal(strstr(pairs, "\"pairs_left_out\":true") != NULL, rows[row].left_out);
        assert_true(!rows[row].told || strstr(pairs, "\"age_s\":0.000") != NULL);
    }
    script.estimate = (struct estimate){.kind = ESTIMATE_NONE};
    run(200 * NS_PER_MS);
    assert_non_null(strstr(show_probes(131072), "\"why\":\"not-in-time\""));
    world_end(&world);
}

static void probe_from_elsewhere__is_told(void **state)
{
    (void)state;
    struct err err;
    struct ctl_reply reply = {0};
    begin_pairs(3);
    start();
    node_ctl(node_of(0), &(struct ctl_msg){.type = CTL_PLANNER_GONE}, &reply, world.now_ns);
    assert_true(probe(0, "n1", "n2", &err));
    assert_true(result_at_n0(1, 2)->asked);
    assert_false(probe(0, "n1", "n2", &err)); /* it is under way */
    assert_non_null(strstr(err.text, "is being measured"));
    run(200 * NS_PER_MS);
    const struct pair_result *result = result_at_n0(1, 2);
    assert_false(result->asked);
    assert_int_equal(result->answer, PROBE_MEASURED);
    assert_int_equal(result->estimate.kind, ESTIMATE_VALUE);
    assert_int_equal(result->estimate.avail_bps, 4000000000);
    assert_int_equal(result->estimate.high_bps, 4100000000);
    assert_int_equal(result->estimate.capacity_bps, 10000000000);
    assert_true(result->rtt_ns > 0);
    struct plan_path path = path_table_path(node_of(0)->paths, 1, 2, 0, world.now_ns);
    assert_in_range(path.avb_kbps, 3999000, 4000000);
    /* n1 knows it as its own; n0's own table of results is not touched. */
    assert_int_equal(prober_result(node_of(1), 1)->estimate.avail_bps, 4000000000);
    assert_int_equal(prober_result(node_of(0), 0)->known_ns, 0);
    assert_int_equal(world_counter(&world, 1, "asks_served"), 1);
    /* To the planner, as a pair of two other nodes. */
    static struct ctl_msg msg;
    node_ctl(node_of(0), &(struct ctl_msg){.type = CTL_PLANNER_HELLO}, &reply, world.now_ns);
    assert_true(node_ctl_next(node_of(0), &msg));
    assert_int_equal(msg.type, CTL_ESTIMATE);
    assert_string_equal(msg.body.estimate.from, "n1");
    assert_string_equal(msg.body.estimate.to, "n2");
    assert_int_equal(msg.body.estimate.estimate.avail_bps, 4000000000);
    assert_false(node_ctl_next(node_of(0), &msg));
    /* From here it is this node's own affair; to here another's. */
    assert_true(probe(0, "n0", "n2", &err));
    run(200 * NS_PER_MS);
    assert_true(probe(0, "n1", "n0", &err));
    run(200 * NS_PER_MS);
    assert_int_equal(prober_result(node_of(0), 1)->estimate.avail_bps, 4000000000);
    assert_int_equal(result_at_n0(1, 0)->estimate.avail_bps, 4000000000);
    world_end(&world);
}

/* Why there is nothing, by a word and a text; and bad requests at once. */
static void probe_from_elsewhere__is_refused(void **state)
{
    (void)state;
    struct err err;
    begin_pairs(5);
    world.nodes[2].config.probe.off = true;
    world.nodes[1].config.peers[2].probe_off = true; /* n1's entry of n3 */
    start_all();
    world_kill(&world, 4);
    world_run_until(&world, 8 * NS_PER_S);
    assert_false(probe(0, "n9", "n1", &err));
    assert_false(probe(0, "n1", "n9", &err));
    assert_false(probe(0, "n4", "n1", &err));
    assert_string_equal(err.text, "'n4' is down");
    static const struct {
        uint16_t from, to;
        uint8_t answer;
        const char *why;
    } rows[] = {
        {2, 1, PROBE_OFF, "n2 measures no paths"},
        {1, 3, PROBE_OFF, "the entry of 'n3' at n1 says probe: off"},
        {1, 4, PROBE_DOWN, "'n4' is down, as n1 sees it"},
    };
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        char from[NAME_BYTES], to[NAME_BYTES];
        snprintf(from, sizeof(from), "n%u", rows[row].from);
        snprintf(to, sizeof(to), "n%u", rows[row].to);
        assert_true(probe(0, from, to, &err));
        run(200 * NS_PER_MS);
        const struct pair_result *result = result_at_n0(rows[row].from, rows[row].to);
        assert_int_equal(result->answer, rows[row].answer);
        assert_string_equal(result->why, rows[row].why);
        assert_int_equal(result->estimate.kind, ESTIMATE_NONE);
    }
    /* One that takes no trains says so to who sends them. */
    script.estimate = (struct estimate){.kind = ESTIMATE_REFUSED, .reason = ESTIMATE_NO_ANSWER};
    assert_true(probe(0, "n1", "n2", &err));
    run(NS_PER_S);
    assert_int_equal(result_at_n0(1, 2)->answer, PROBE_OFF);
    assert_string_equal(result_at_n0(1, 2)->why, "n2 took no train: off");
    assert_int_equal(world_counter(&world, 1, "asks_declined"), 3);
    world_end(&world);
}

/* Whoever asks, and however often: no more is sent for others than this node takes of others. */
static void probe_from_elsewhere__keeps_to_a_budget(void **state)
{
    (void)state;
    struct err err;
    begin_pairs(3);
    world.nodes[1].config.probe.receive_bytes = 400000;
    start();
    for (unsigned turn = 0; turn < 10; turn++) {
        probe(0, "n1", "n2", &err);
        probe(2, "n1", "n0", &err);
        run(200 * NS_PER_MS);
    }
    uint64_t sent_bytes = node_of(1)->train_out->sent_bytes;
    assert_in_range(sent_bytes, 300000, 400000 + 80000 + 2 * 153800);
    assert_int_equal(result_at_n0(1, 2)->answer, PROBE_OVER_BUDGET);
    assert_true(world_counter(&world, 1, "asks_declined") >= 10);
    run(10 * NS_PER_S);
    assert_true(probe(0, "n1", "n2", &err));
    run(200 * NS_PER_MS);
    assert_int_equal(result_at_n0(1, 2)->answer, PROBE_MEASURED);
    world_end(&world);
}

/* It dies before it answers: that is known, and it may be asked again. */
static void probe_from_elsewhere__of_a_node_that_dies(void **state)
{
    (void)state;
    struct err err;
    begin_pairs(3);
    start();
    assert_true(probe(0, "n1", "n2", &err));
    world_kill(&world, 1);
    run(40 * NS_PER_S);
    assert_false(result_at_n0(1, 2)->asked);
    assert_int_equal(result_at_n0(1, 2)->answer, PROBE_LOST);
    assert_string_equal(result_at_n0(1, 2)->why, "n1 is down");
    assert_int_equal(node_of(0)->pairs->open_count, 0);
    world_start(&world, 1);
    run(8 * NS_PER_S);
    assert_true(probe(0, "n1", "n2", &err));
    run(200 * NS_PER_MS);
    assert_int_equal(result_at_n0(1, 2)->answer, PROBE_MEASURED);
    world_end(&world);
}

/* Who asked dies, and is back before it is over: his numbers begin anew, and the old answer is none to what he asks now. */
static void probe_from_elsewhere__of_an_asker_that_comes_back(void **state)
{
    (void)state;
    struct err err;
    begin_pairs(4);
    script.trains = 20;
    script.distance_ns = NS_PER_S;
    start();
    assert_true(probe(0, "n1", "n2", &err));
    run(100 * NS_PER_MS);
    world_kill(&world, 0);
    world_start(&world, 0);
    run(5 * NS_PER_S);
    assert_int_equal(node_of(1)->prober->peer, PEER_NONE);
    script.trains = 1;
    script.estimate.avail_bps = 3950000000;
    assert_true(probe(0, "n1", "n3", &err));
    run(NS_PER_S);
    assert_int_equal(result_at_n0(1, 3)->answer, PROBE_MEASURED);
    assert_int_equal(result_at_n0(1, 3)->estimate.avail_bps, 3950000000);
    assert_int_equal(prober_result(node_of(1), 2)->estimate.avail_bps, 3950000000);
    world_end(&world);
}

static void start_round(uint16_t node, bool order)
{
    struct err err;
    assert_true(all(node, CTL_ALL_RECKON, order, &err));
    run(500 * NS_PER_MS);
    if (!all(node, CTL_ALL_START, false, &err))
        fail_msg("%s", err.text);
}

static void all_pairs__are_measured(void **state)
{
    (void)state;
    struct err err;
    struct node_all_view view;
    begin_pairs(4);
    start();
    assert_false(all(0, CTL_ALL_START, false, &err));
    assert_non_null(strstr(err.text, "not estimated"));
    assert_false(all(0, CTL_ALL_STOP, false, &err));
    assert_false(node_all_view(node_of(0), &view));
    start_round(0, false);
    assert_false(all(0, CTL_ALL_RECKON, false, &err));
    uint64_t most_ns = node_of(0)->all->cost.duration_ns;
    run(most_ns);
    assert_true(node_all_view(node_of(0), &view));
    assert_false(view.running);
    assert_int_equal(view.pairs, 12);
    assert_int_equal(view.known, 12);
    assert_true(view.bytes <= node_of(0)->all->cost.bytes && view.trains <= node_of(0)->all->cost.trains);
    for (uint16_t from = 0; from < 4; from++)
        for (uint16_t to = 0; to < 4; to++)
            if (from != to)
                assert_int_equal(result_at_n0(from, to)->estimate.avail_bps, 4000000000);
    for (uint16_t node = 0; node < 4; node++) { /* nobody had two at once */
        assert_int_equal(world_counter(&world, node, "drop_train_busy"), 0);
        assert_int_equal(world_counter(&world, node, "asks_declined"), 0);
    }
    start_round(0, true); /* once more, and it is stopped */
    assert_true(all(0, CTL_ALL_STOP, false, &err));
    run(5 * NS_PER_S);
    assert_true(node_all_view(node_of(0), &view));
    assert_true(view.stopped && !view.running);
    assert_int_equal(node_of(0)->pairs->open_count, 0);
    world_end(&world);
}

/* One dies meanwhile; one refuses: the others' paths are known, and it comes to its end. */
static void all_pairs__one_dies(void **state)
{
    (void)state;
    struct node_all_view view;
    begin_pairs(5);
    world.nodes[3].config.probe.off = true;
    start();
    start_round(0, false);
    run(50 * NS_PER_MS);
    world_kill(&world, 4);
    run(node_of(0)->all->cost.duration_ns + 5 * NS_PER_S);
    assert_true(node_all_view(node_of(0), &view));
    assert_false(view.running);
    for (uint16_t from = 0; from < 3; from++)
        for (uint16_t to = 0; to < 3; to++)
            if (from != to)
                assert_int_equal(result_at_n0(from, to)->estimate.kind, ESTIMATE_VALUE);
    assert_int_equal(result_at_n0(3, 0)->answer, PROBE_OFF);
    assert_true(result_at_n0(4, 0)->answer == PROBE_LOST || result_at_n0(4, 0)->answer == PROBE_NO_REPLY ||
                result_at_n0(4, 0)->answer == PROBE_MEASURED);
    world_end(&world);
}

/* Who said when dies: the others end what they were asked for, and serve the next one. */
static void all_pairs__the_one_that_asks_dies(void **state)
{
    (void)state;
    struct node_all_view view;
    begin_pairs(4);
    start();
    start_round(0, false);
    run(150 * NS_PER_MS);
    world_kill(&world, 0);
    run(10 * NS_PER_S);
    for (uint16_t node = 1; node < 4; node++) {
        assert_int_equal(node_of(node)->prober->peer, PEER_NONE);
        assert_int_equal(node_of(node)->asked->count, 0);
    }
    start_round(1, false);
    run(node_of(1)->all->cost.duration_ns);
    assert_true(node_all_view(node_of(1), &view));
    assert_false(view.running);
    assert_int_equal(view.known, 6);
    world_start(&world, 0); /* and so does that one, when it is back */
    run(8 * NS_PER_S);
    start_round(0, false);
    run(node_of(0)->all->cost.duration_ns);
    assert_true(node_all_view(node_of(0), &view));
    assert_int_equal(view.known, 12);
    world_end(&world);
}

/* Nodes behind one way out are a group: what leaves it at a time is what it carries. */
static void all_pairs__share_a_way_out(void **state)
{
    (void)state;
    struct err err;
    begin_pairs(4);
    start();
    struct plan_shared shared = {.name = "site", .rate_bps = 10000000000};
    path_table_tell(node_of(0)->paths, &shared, 1, world.now_ns);
    for (uint16_t from = 0; from < 2; from++) /* n0 and n1 are behind it */
        for (uint16_t to = 2; to < 4; to++)
            path_table_tell_path(node_of(0)->paths, from, to, &(struct plan_path){.shared = 1});
    assert_true(all(0, CTL_ALL_RECKON, false, &err));
    run(500 * NS_PER_MS);
    const struct rotation_goal *goal = &node_of(0)->all->goal.rotation;
    assert_int_equal(goal->group_of[0], goal->group_of[1]);
    assert_int_not_equal(goal->group_of[2], goal->group_of[0]);
    assert_int_not_equal(goal->group_of[2], goal->group_of[3]);
    assert_int_equal(rotation_group_most(goal, goal->group_of[0]), 1);
    assert_int_equal(rotation_group_most(goal, goal->group_of[2]), UINT16_MAX);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(show_probes__tells_pairs_of_others),
        cmocka_unit_test(probe_from_elsewhere__is_told),
        cmocka_unit_test(probe_from_elsewhere__is_refused),
        cmocka_unit_test(probe_from_elsewhere__keeps_to_a_budget),
        cmocka_unit_test(probe_from_elsewhere__of_a_node_that_dies),
        cmocka_unit_test(probe_from_elsewhere__of_an_asker_that_comes_back),
        cmocka_unit_test(all_pairs__are_measured),
        cmocka_unit_test(all_pairs__one_dies),
        cmocka_unit_test(all_pairs__the_one_that_asks_dies),
        cmocka_unit_test(all_pairs__share_a_way_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
