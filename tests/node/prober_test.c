/* What becomes of an estimate: in the table of paths, at the planner, in `show`, and when the background measures. */
#include "node/peer/path_table.h"
#include "scripted.h"

/* The result is there for the planner, and for the planner of whoever asks this node for a measurement. */
static void probe_result__goes_to_planners(void **state)
{
    (void)state;
    begin(3, 100, 1000000000);
    script.estimate = (struct estimate){
        .kind = ESTIMATE_VALUE, .avail_bps = 4000000000, .low_bps = 3900000000, .high_bps = 4100000000};
    start();
    ask(1, "n2");
    run(100 * NS_PER_MS);
    struct plan_path path = path_table_path(node_of(1)->paths, PATH_SITE_SELF, 2, 0, world.now_ns);
    assert_int_equal(path.avb_kbps, 4000000);
    assert_int_equal(path.avb_low_kbps, 3900000);
    assert_int_equal(path.avb_high_kbps, 4100000);
    run(2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    run_until_over(0, "j", 10 * NS_PER_S);
    path = path_table_path(node_of(0)->paths, 1, 2, 0, world.now_ns);
    assert_int_equal(path.avb_kbps, 4000000);
    assert_int_equal(path.avb_high_kbps, 4100000);
    assert_in_range(path.avb_age_s, 2, 4);
    path = path_table_path(node_of(0)->paths, 2, 1, 0, world.now_ns);
    assert_int_equal(path.avb_kbps, 0);
    /* What was told from elsewhere comes before it. */
    struct plan_path told = {.avb_kbps = 7000};
    path_table_tell_path(node_of(0)->paths, 1, 2, &told);
    path = path_table_path(node_of(0)->paths, 1, 2, 0, world.now_ns);
    assert_int_equal(path.avb_kbps, 7000);
    assert_int_equal(path.avb_low_kbps, 0);
    world_end(&world);
}

static char text[65536];

static const char *show_probes(uint16_t node, enum report_form form)
{
    static struct ctl_msg msg = {.type = CTL_SHOW};
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    msg.body.show.what = CTL_SHOW_probes;
    msg.body.show.form = form;
    assert_int_equal(node_ctl(node_of(node), &msg, &reply, world.now_ns), 0);
    return text;
}

static int probe_by_command(uint16_t node, const char *peer, struct err *err)
{
    struct ctl_msg msg = {.type = CTL_PROBE};
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    snprintf(msg.body.probe.peer, NAME_BYTES, "%s", peer);
    int result = node_ctl(node_of(node), &msg, &reply, world.now_ns);
    *err = reply.err;
    return result;
}

static void show_probes__says_what_is_known(void **state)
{
    (void)state;
    struct err err;
    begin(3, 100, 1000000000);
    script.estimate = (struct estimate){.kind = ESTIMATE_VALUE,
                                        .stamp_kind = STAMP_VIRTUAL,
                                        .flags = ESTIMATE_MULTI_HOP | ESTIMATE_LOSSY,
                                        .avail_bps = 4000000000,
                                        .low_bps = 3900000000,
                                        .high_bps = 4100000000,
                                        .trains = 7};
    start();
    assert_int_not_equal(probe_by_command(0, "n0", &err), 0);
    assert_string_equal(err.text, "there is no peer 'n0'");
    assert_int_equal(probe_by_command(0, "n2", &err), 0);
    assert_non_null(strstr(show_probes(0, REPORT_JSON), "\"measuring\":true"));
    run(100 * NS_PER_MS);
    show_probes(0, REPORT_JSON);
    assert_non_null(strstr(text, "\"estimator\":\"scripted\""));
    assert_non_null(strstr(text, "\"to\":\"n1\",\"kind\":\"none\""));
    assert_non_null(
        strstr(text, "\"to\":\"n2\",\"kind\":\"value\",\"avail_bps\":4000000000,\"low_bps\":3900000000"));
    assert_non_null(strstr(
        text, "\"stamps\":\"software\",\"flags\":\"multi-hop lossy\",\"reason\":\"none\",\"trains\":7"));
    assert_null(strstr(text, "\"measuring\":true"));
    const char *ends = strstr(text, "\"ends\":[{\"to\":\"n2\",\"end\":\"sender\",\"stamps\":\"software\"");
    assert_non_null(ends);
    assert_non_null(
        strstr(ends, "{\"to\":\"n2\",\"end\":\"receiver\",\"stamps\":\"software\",\"noise_ns\":0,"));
    assert_non_null(strstr(ends, "\"batch\":1,\"gap_us\":"));
    assert_null(strstr(ends, "\"n1\""));
    assert_non_null(strstr(show_probes(0, REPORT_TEXT), "multi-hop lossy"));
    world.nodes[1].config.probe.estimator = NULL;
    world_start(&world, 1);
    assert_int_not_equal(probe_by_command(1, "n0", &err), 0);
    assert_non_null(strstr(show_probes(1, REPORT_JSON), "\"estimator\":\"none\""));
    world_end(&world);
}

/* NULL: none, err says why. */
static const struct train_record *show_train(uint16_t node, const char *peer, struct err *err)
{
    static union {
        char text[CTL_REPLY_BYTES];
        struct plot_train train;
    } shown;
    struct ctl_msg msg = {.type = CTL_TRAIN};
    struct ctl_reply reply = {.text = shown.text, .room = sizeof(shown.text)};
    snprintf(msg.body.probe.peer, NAME_BYTES, "%s", peer);
    int result = node_ctl(node_of(node), &msg, &reply, world.now_ns);
    *err = reply.err;
    assert_true(result != 0 || plot_train_bytes(&shown.train) == reply.length);
    return result == 0 ? &shown.train.record : NULL;
}

/* What an operator had measured last, the newest train that came as it was sent; nothing of what the background sends. */
static void show_train__is_the_newest_good_one(void **state)
{
    (void)state;
    struct err err;
    begin(3, 100, 1000000000);
    script.again = true;
    start();
    assert_null(show_train(0, "n0", &err));
    assert_string_equal(err.text, "there is no peer 'n0'");
    assert_null(show_train(0, "n1", &err));
    assert_non_null(strstr(err.text, "no train to 'n1' is kept"));
    ask(0, "n1");
    assert_null(show_train(0, "n1", &err));
    assert_non_null(strstr(err.text, "as yet"));
    run(100 * NS_PER_MS);
    assert_int_equal(show_train(0, "n1", &err)->count, 100);
    assert_null(show_train(0, "n2", &err));
    ask(0, "n1"); /* begins anew */
    assert_null(show_train(0, "n1", &err));
    run(100 * NS_PER_MS);
    ask(0, "n2");
    run(100 * NS_PER_MS);
    assert_null(show_train(0, "n1", &err));
    assert_non_null(show_train(0, "n2", &err));
    world_end(&world);
}

/* One that was cut takes the place of no whole one; where it is all there is, it says so. */
static void show_train__of_one_that_was_cut(void **state)
{
    (void)state;
    struct err err;
    begin(2, 2000, 1000000000);
    script.again = true;
    script.trains = 2;
    script.distance_ns = 50 * NS_PER_MS;
    start();
    for (unsigned trains = 2; trains > 0; trains--) {
        script.trains = trains;
        ask(0, "n1");
        run((trains - 1) * script.distance_ns + 5 * NS_PER_MS);
        world.nodes[0].stopped_until_ns = world.now_ns + 5 * NS_PER_MS;
        run(100 * NS_PER_MS);
        assert_int_equal(script.records, trains);
        assert_true((script.last.marks & TRAIN_CUT) != 0);
        const struct train_record *shown = show_train(0, "n1", &err);
        assert_non_null(shown);
        assert_int_equal(shown->marks & TRAIN_CUT, trains == 2 ? 0 : TRAIN_CUT);
        assert_int_equal(shown->sent == 2000, trains == 2);
    }
    world_end(&world);
}

/* In the background: one peer after the other, and no more than the load that is allowed. */
static void prober__background(void **state)
{
    (void)state;
    begin(4, 100, 1000000000);
    script.trains = 12;
    script.again = true;
    world.nodes[0].config.probe.background = true;
    world.nodes[0].config.probe.period_ns = 100 * NS_PER_MS;
    script.distance_ns = 5 * NS_PER_MS;
    start();
    run(10 * NS_PER_S);
    uint32_t turns = prober_result(node_of(0), 0)->count;
    assert_true(turns > 10);
    /* A random order, and nobody has his turn twice before all have had theirs. */
    for (uint16_t peer = 1; peer < 3; peer++)
        assert_in_range(prober_result(node_of(0), peer)->count, turns - 1, turns + 1);
    uint64_t bits = world_counter(&world, 0, "tx_trains") * 1538 * 8;
    uint64_t allowed = node_of(0)->config.ports[0].rate_bps / 100 * 13;
    assert_true(bits > allowed / 2 && bits < allowed + allowed / 10);
    assert_true(prober_load_bps(node_of(0), world.now_ns) < allowed / 13 * 11 / 10);
    assert_int_equal(world_counter(&world, 1, "tx_trains"), 0);
    assert_false(script.goal.continuous);
    world_end(&world);
}

/* The first train of another measurement that says "at least" does not take the place of what is known to be more. */
static void prober__keeps_what_says_more(void **state)
{
    (void)state;
    begin(3, 100, 1000000000);
    script.again = true;
    script.estimate = (struct estimate){
        .kind = ESTIMATE_VALUE, .avail_bps = 900000000, .low_bps = 890000000, .high_bps = 910000000};
    world.nodes[0].config.probe.background = true;
    start();
    run(10 * NS_PER_S);
    assert_int_equal(prober_result(node_of(0), 0)->estimate.avail_bps, 900000000);
    script.estimate =
        (struct estimate){.kind = ESTIMATE_AT_LEAST, .avail_bps = 280000000, .low_bps = 280000000};
    run(10 * NS_PER_S);
    assert_int_equal(prober_result(node_of(0), 0)->estimate.avail_bps, 900000000);
    ask(0, "n1"); /* who asks is told what was found */
    run(NS_PER_S);
    assert_int_equal(prober_result(node_of(0), 0)->estimate.avail_bps, 280000000);
    world_end(&world);
}

/* No path is faster than its ends' ports, whatever trains say; and what a refusal means is told to people. */
static void prober__tells_no_more_than_the_ports(void **state)
{
    (void)state;
    static const struct {
        uint64_t port_bps, down_bps, capacity_bps; /* of the sender; as the receiver told, 0: not */
    } rows[] = {
        {1000000000, 0, 1000000000}, {1000000000, 800000000, 800000000}, {10000000000, 800000000, 800000000}};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        begin(3, 100, 1000000000);
        script.estimate = (struct estimate){.kind = ESTIMATE_VALUE,
                                            .avail_bps = 781000000,
                                            .low_bps = 700000000,
                                            .high_bps = 46000000000,
                                            .capacity_bps = 46924000000};
        world.nodes[0].config.ports[0].rate_bps = rows[row].port_bps;
        start();
        if (rows[row].down_bps != 0)
            path_table_set_site(
                node_of(0)->paths, 1,
                &(struct path_site){.up_bps = rows[row].down_bps, .down_bps = rows[row].down_bps});
        ask(0, "n1");
        run(NS_PER_S);
        const struct estimate *estimate = &prober_result(node_of(0), 0)->estimate;
        assert_int_equal(estimate->capacity_bps, rows[row].capacity_bps);
        assert_int_equal(estimate->high_bps, rows[row].capacity_bps);
        assert_int_equal(estimate->avail_bps, 781000000);
        assert_null(strstr(show_probes(0, REPORT_TEXT), "CPU of its own"));
        script.estimate = (struct estimate){.kind = ESTIMATE_REFUSED, .reason = ESTIMATE_DEPARTURES};
        ask(0, "n1");
        run(NS_PER_S);
        assert_non_null(strstr(show_probes(0, REPORT_TEXT), "CPU of its own"));
        assert_null(strstr(show_probes(0, REPORT_JSON), "CPU of its own"));
        world_end(&world);
    }
}

/* With one peer alone there is no turn to give: only an operator ends what goes on, and it begins again. */
static void prober__one_peer_in_the_background(void **state)
{
    (void)state;
    begin(3, 100, 1000000000);
    script.trains = 1000000;
    script.again = true;
    script.distance_ns = 20 * NS_PER_MS;
    world.nodes[0].config.probe.background = true;
    world.nodes[0].config.peers[1].probe_off = true;
    start();
    run(10 * NS_PER_S);
    assert_true(script.goal.continuous);
    assert_int_equal(prober_result(node_of(0), 0)->count, 0);
    assert_true(script.records > 300);
    ask(0, "n1");
    run(NS_PER_S);
    assert_int_equal(prober_result(node_of(0), 0)->count, 1);
    assert_false(script.goal.continuous);
    assert_in_range(script.records, 40, 50);
    world_end(&world);
}

/* One train that the receiver slept through, and took with one stamp, is no word of the batches that others come in. */
static void goal__a_receiver_that_was_away_has_no_batches(void **state)
{
    (void)state;
    static const struct {
        uint16_t batch; /* of the 100 packets, so many come with one stamp */
        uint32_t known; /* to the next measurement */
    } rows[] = {{1, 1}, {8, 8}, {25, 25}, {26, 25}, {100, 25}, {2, 2}};
    begin(2, 100, 1000000000);
    script.again = true;
    start();
    world_cut(&world, 0, 1, world.now_ns + 10 * NS_PER_S);
    struct node *node = node_of(0);
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        ask(0, "n1");
        run(10 * NS_PER_MS);
        struct control_train_report report = {
            .fixed = {.train = row + 1, .answer = TRAIN_TAKEN, .batch = rows[row].batch, .total = 100}};
        struct control_arrival last;
        for (uint16_t index = 0; index < 100; index++) {
            struct control_arrival arrival = {.index = index,
                                              .came_ns = 1000 + index / rows[row].batch * 1000};
            assert_true(control_arrival_add(&report, &last, &arrival));
        }
        prober_on_message(node, &node->peers[0], &report, world.now_ns);
        run(10 * NS_PER_MS);
        assert_int_equal(script.last.receiver.batch, rows[row].batch);
        assert_int_equal(prober_result(node, 0)->receiver.batch, rows[row].known);
    }
    ask(0, "n1");
    run(10 * NS_PER_MS);
    assert_int_equal(script.goal.receiver.batch, 2);
    world_end(&world);
}

/* Trains of a path that is too slow for them tell nothing: how much of it they take is not known, so that they become rare. */
static void background__of_a_path_that_tells_nothing(void **state)
{
    (void)state;
    begin(3, 100, 1000000000);
    script.again = true;
    script.estimate = (struct estimate){.kind = ESTIMATE_REFUSED, .reason = ESTIMATE_LOSS};
    world.nodes[0].config.probe.background = true;
    start();
    run(90 * NS_PER_S);
    assert_in_range(prober_result(node_of(0), 0)->count, 2, 4);
    assert_in_range(prober_result(node_of(0), 1)->count, 2, 4);
    script.estimate =
        (struct estimate){.kind = ESTIMATE_AT_LEAST, .avail_bps = 1000000000, .low_bps = 1000000000};
    run(180 * NS_PER_S);
    assert_true(prober_result(node_of(0), 0)->count > 20);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probe_result__goes_to_planners),
        cmocka_unit_test(show_probes__says_what_is_known),
        cmocka_unit_test(show_train__is_the_newest_good_one),
        cmocka_unit_test(show_train__of_one_that_was_cut),
        cmocka_unit_test(prober__background),
        cmocka_unit_test(prober__keeps_what_says_more),
        cmocka_unit_test(prober__tells_no_more_than_the_ports),
        cmocka_unit_test(prober__one_peer_in_the_background),
        cmocka_unit_test(background__of_a_path_that_tells_nothing),
        cmocka_unit_test(goal__a_receiver_that_was_away_has_no_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
