/* Trains on their way between nodes: true departures and arrivals, what spoils one, whose are taken. */
#include "node/train/in.h"
#include "scripted.h"

static uint64_t drops(uint16_t node)
{
    static const char *const names[] = {"drop_train_off", "drop_train_busy", "drop_train_budget",
                                        "drop_train_late"};
    uint64_t sum = 0;
    for (unsigned index = 0; index < sizeof(names) / sizeof(names[0]); index++)
        sum += world_counter(&world, node, names[index]);
    return sum;
}

/* Each packet left when its schedule says, and came a link's time later. */
static void assert_exact(const struct train_record *record)
{
    struct train_schedule schedule;
    train_begin(&schedule, &record->shape, record->start_ns);
    uint64_t way_ns = record->samples[0].received_ns - record->samples[0].sent_ns;
    assert_int_equal(record->count, train_packets(&record->shape));
    for (uint32_t index = 0; index < record->count; index++, train_step(&schedule)) {
        assert_int_equal(record->samples[index].index, index);
        assert_int_equal(record->samples[index].arrival, index);
        assert_int_equal(record->samples[index].sent_ns, schedule.next_ns);
        assert_int_equal(record->samples[index].received_ns - record->samples[index].sent_ns, way_ns);
    }
}

static void train__arrives_as_it_left(void **state)
{
    (void)state;
    begin(2, 1000, 5000000000);
    assert_true(train_add_pause(&script.shape, 3000000));
    assert_true(train_add(&script.shape, 500, 700000000));
    start();
    ask(0, "n1");
    run(100 * NS_PER_MS);
    assert_int_equal(script.records, 1);
    assert_int_equal(script.last.marks, 0);
    assert_int_equal(script.last.sent, 1500);
    assert_int_equal(script.last.shape.wire_bytes, 1538);
    assert_exact(&script.last);
    assert_int_equal(script.goal.port_bps, node_of(0)->config.ports[0].rate_bps);
    assert_true(script.goal.rtt_ns >= 2 * world.delay_ns);
    assert_int_equal(script.goal.wire_bytes, 1538);
    assert_int_equal(script.goal.receiver.batch, 0);
    /* What it told of its ends is known when the next one begins. */
    script.again = true;
    ask(0, "n1");
    run(NS_PER_MS);
    assert_int_equal(script.goal.receiver.batch, 1);
    assert_int_equal(script.goal.receiver.gap_ns, script.last.receiver.gap_ns);
    run(100 * NS_PER_MS);
    assert_int_equal(world_counter(&world, 1, "rx_trains"), 3000);
    assert_int_equal(world_counter(&world, 0, "tx_trains"), 3000);
    assert_int_equal(drops(1), 0);
    assert_int_equal(prober_result(node_of(0), 0)->count, 2);
    assert_false(prober_is_busy(node_of(0), 0));
    world_end(&world);
}

/* Through 1 Gbit/s: the gaps at the other end are the link's. */
static void train__shows_the_link(void **state)
{
    (void)state;
    begin(2, 200, 5000000000);
    world.rate_bps[0][1] = 1000000000;
    start();
    ask(0, "n1");
    run(100 * NS_PER_MS);
    assert_int_equal(script.last.count, 200);
    const struct train_sample *samples = script.last.samples;
    uint64_t took_ns = samples[199].received_ns - samples[0].received_ns;
    assert_true(took_ns >= 199 * 11776ULL && took_ns < 199 * 11776ULL + 500);
    world_end(&world);
}

static void count_gaps(const struct train_record *record)
{
    for (uint32_t at = 1; at < record->count; at++)
        assert_true(record->samples[at].index > record->samples[at - 1].index);
}

/* A tenth is lost, also the last ones: what came is told once they are overdue. Copies are dropped. */
static void train__loses_and_doubles(void **state)
{
    (void)state;
    begin(2, 400, 2000000000);
    script.on_record = count_gaps;
    script.trains = 6;
    script.distance_ns = 20 * NS_PER_MS;
    start();
    world.loss_ppb = 100000000;
    world.duplicate_ppb = 50000000;
    world.late_ppb = 50000000;
    world.late_ns = 50000;
    ask(0, "n1");
    run(NS_PER_S);
    assert_int_equal(script.records, 6);
    assert_true(script.last.count > 320 && script.last.count < 400);
    assert_true(world_counter(&world, 1, "drop_replay") > 0);
    assert_int_equal(script.last.sent, 400);
    assert_int_equal(script.last.marks, 0);
    world_end(&world);
}

/* A round trip is only latency: trains follow each other without waiting for reports. */
static void train__several_are_under_way(void **state)
{
    (void)state;
    begin(2, 100, 1000000000);
    script.trains = 6;
    script.distance_ns = 5 * NS_PER_MS;
    world.delay_ns = 100 * NS_PER_MS;
    start();
    ask(0, "n1");
    run(150 * NS_PER_MS);
    assert_int_equal(script.asked, 6);
    assert_int_equal(script.records, 0);
    run(200 * NS_PER_MS);
    assert_int_equal(script.records, 6);
    assert_int_equal(script.last.start_ns, script.at_ns[5]);
    assert_exact(&script.last);
    world_end(&world);
}

/* Nothing comes back: lost, no sooner than a report could have come, and the measurement ends. */
static void train__nobody_tells(void **state)
{
    (void)state;
    begin(2, 100, 1000000000);
    start();
    world_cut(&world, 0, 1, world.now_ns + 2 * NS_PER_S);
    ask(0, "n1");
    run(200 * NS_PER_MS);
    assert_int_equal(script.lost, 0);
    run(200 * NS_PER_MS);
    assert_int_equal(script.lost, 1);
    assert_int_equal(script.records, 0);
    assert_int_equal(prober_result(node_of(0), 0)->count, 1);
    world_end(&world);
}

/* A node that comes later than a good part of the train sends no burst: the train ends there. */
static void train__is_cut_by_a_standstill(void **state)
{
    (void)state;
    begin(2, 2000, 1000000000);
    start();
    ask(0, "n1");
    run(5 * NS_PER_MS);
    world.nodes[0].stopped_until_ns = world.now_ns + 5 * NS_PER_MS;
    run(100 * NS_PER_MS);
    assert_int_equal(script.records, 1);
    assert_int_equal(script.last.marks & ~TRAIN_STOOD_STILL, TRAIN_CUT);
    assert_true(script.last.sent > 300 && script.last.sent < 500);
    assert_int_equal(script.last.count, script.last.sent);
    for (uint32_t at = 1; at < script.last.count; at++)
        assert_true(script.last.samples[at].sent_ns - script.last.samples[at - 1].sent_ns >= 12304);
    world_end(&world);
}

/* Of one that never left nobody will tell: that is known at once, and is no silence of the receiver. */
static void train__of_which_nothing_left_is_told_at_once(void **state)
{
    (void)state;
    begin(2, 2000, 1000000000);
    start();
    ask(0, "n1");
    run(TX_HORIZON_NS / 4);
    assert_int_equal(script.asked, 1);
    world.nodes[0].stopped_until_ns = world.now_ns + 5 * NS_PER_MS;
    run(7 * NS_PER_MS);
    assert_int_equal(world_counter(&world, 0, "tx_trains"), 0);
    assert_int_equal(script.lost, 0);
    assert_int_equal(script.records, 1);
    assert_int_equal(script.last.marks, TRAIN_CUT);
    assert_int_equal(script.last.sent, 0);
    assert_int_equal(script.last.count, 0);
    world_end(&world);
}

static void train__what_a_port_refuses_is_cut(void **state)
{
    (void)state;
    begin(2, 1000, 1000000000);
    start();
    ask(0, "n1");
    run(3 * NS_PER_MS);
    world.nodes[0].refused_until_ns = world.now_ns + NS_PER_MS;
    run(100 * NS_PER_MS);
    assert_int_equal(script.records, 1);
    assert_int_equal(script.last.marks & ~TRAIN_STOOD_STILL, TRAIN_CUT);
    uint64_t refused = world_counter(&world, 0, "tx_trains_refused");
    assert_true(refused > 50);
    assert_int_equal(script.last.sent, 1000 - refused);
    assert_int_equal(world_counter(&world, 0, "tx_refused"), 0);
    world_end(&world);
}

/* An interrupt: what was to leave in that time leaves at its end. */
static struct {
    uint64_t begin_ns; /* of the train */
    uint64_t after_ns, for_ns;
} away;

static uint64_t after_away(uint64_t depart_ns)
{
    away.begin_ns = away.begin_ns == 0 ? depart_ns : away.begin_ns;
    uint64_t from_ns = away.begin_ns + away.after_ns, until_ns = from_ns + away.for_ns;
    return depart_ns > from_ns && depart_ns < until_ns ? until_ns : depart_ns;
}

/* By a small part of the train it is the train that was asked for, with the departures that it had, at the port's rate;
 * by more it is not. A pause that is gone is gone. */
static void train__leaves_late(void **state)
{
    (void)state;
    static const struct {
        uint32_t pause_ns;
        uint64_t after_ns, for_ns; /* of the train */
        uint32_t marks;
    } rows[] = {
        {0, 100000, 7000, 0},
        {0, 100000, 30000, 0},
        {0, 100000, 150000, 0},
        {0, 100000, 200000, TRAIN_REANCHORED},
        {250000, 1215000, 300000, TRAIN_REANCHORED | TRAIN_MERGED},
    };
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        begin(2, 100, 1000000000); /* 1.23 ms */
        if (rows[row].pause_ns > 0)
            assert_true(train_add_pause(&script.shape, rows[row].pause_ns));
        assert_true(train_add(&script.shape, 10, 1000000000));
        start();
        away.begin_ns = 0;
        away.after_ns = rows[row].after_ns;
        away.for_ns = rows[row].for_ns;
        world.nodes[0].left_ns = after_away;
        ask(0, "n1");
        run(100 * NS_PER_MS);
        assert_int_equal(script.records, 1);
        assert_int_equal(script.last.marks & ~TRAIN_STOOD_STILL, rows[row].marks);
        for (uint32_t at = 1; at < script.last.count; at++)
            assert_true(script.last.samples[at].sent_ns - script.last.samples[at - 1].sent_ns >= 1230);
        world_end(&world);
    }
}

/* A report that contradicts itself spoils its record, also that of a train whose number is 0; one that begins anew
 * is another one. */
static void train__a_spoiled_report_stays_so(void **state)
{
    (void)state;
    begin(2, 4, 1000000000);
    start();
    world_cut(&world, 0, 1, world.now_ns + 10 * NS_PER_S);
    struct node *node = node_of(0);
    node->train_out->next_number = 0; /* as after 2^32 trains */
    ask(0, "n1");
    run(10 * NS_PER_MS);
    static const struct {
        uint16_t index, first; /* of an arrival, its place */
        enum train_news news;
        uint64_t refused;
    } rows[] = {{0, 0, TRAIN_NONE, 0}, {9, 1, TRAIN_NONE, 1}, {1, 1, TRAIN_NONE, 2},
                {2, 2, TRAIN_NONE, 3}, {3, 3, TRAIN_NONE, 4}, {0, 0, TRAIN_NONE, 4},
                {1, 1, TRAIN_NONE, 4}, {2, 2, TRAIN_NONE, 4}, {3, 3, TRAIN_RECORDED, 4}};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct control_train_report report = {
            .fixed = {.answer = TRAIN_TAKEN, .total = 4, .first = rows[row].first}};
        struct control_arrival last, arrival = {.index = rows[row].index, .came_ns = 1000 + row};
        assert_true(control_arrival_add(&report, &last, &arrival));
        assert_int_equal(train_out_on_message(node, &node->peers[0], &report), rows[row].news);
        assert_int_equal(node->counters.messages_refused, rows[row].refused);
    }
    world_end(&world);
}

/* What the port took when more stood there is of one batch with what it took next. */
static void train__what_waited_is_one_batch(void **state)
{
    (void)state;
    static const struct {
        uint64_t taken_ns;
        bool waited;
        uint64_t came_ns;
    } rows[] = {{100, false, 100}, {200, false, 400}, {200, false, 400}, {300, true, 400},
                {300, true, 400},  {400, true, 400},  {500, false, 500}, {600, false, 600}};
    const unsigned count = sizeof(rows) / sizeof(rows[0]);
    begin(2, 100, 1000000000);
    start();
    struct node *node = node_of(1);
    uint64_t now_ns = world.now_ns;
    for (unsigned row = 0; row < count; row++) {
        struct wire_train train = {.train = 7, .index = (uint16_t)row, .count = 100, .rest_us = 100};
        struct rx_packet packet = {
            .length = 1472, .rx_ns = now_ns + rows[row].taken_ns, .waited = rows[row].waited};
        train_in_on_packet(node, &node->peers[0], &train, &packet, now_ns + rows[row].taken_ns);
    }
    assert_int_equal(node->train_in->slots[0].arrived, count);
    assert_int_equal(node->train_in->slots[0].batch, 5);
    for (unsigned row = 0; row < count; row++)
        assert_int_equal(node->train_in->slots[0].arrivals[row].came_ns - now_ns, rows[row].came_ns);
    world_end(&world);
}

/* One buffer: of two at once one is taken, the other's sender is told, and each packet is counted once. The one that is taken was
 * crossed by the other, and is no measurement. */
static void train__one_comes_in_at_a_time(void **state)
{
    (void)state;
    begin(3, 1000, 1000000000);
    script.trains = 2;
    start();
    ask(0, "n2");
    ask(1, "n2");
    run(NS_PER_S);
    assert_int_equal(script.records, 0);
    assert_int_equal(script.lost, 2);
    uint64_t sent = world_counter(&world, 0, "tx_trains") + world_counter(&world, 1, "tx_trains");
    assert_int_equal(world_counter(&world, 2, "drop_train_busy"), 1);
    assert_int_equal(world_counter(&world, 2, "rx_trains"), 1000);
    assert_int_equal(drops(2) + 1000, sent);
    /* … who stops when he hears of it. */
    assert_true(sent < 2000 || world.delay_ns > 10 * NS_PER_MS);
    assert_int_equal(world_counter(&world, 0, "trains_refused") + world_counter(&world, 1, "trains_refused"),
                     2);
    world_end(&world);
}

/* Trains of 154 kB: 10 of them in ten seconds, then one more when there is room. */
static void train__keeps_the_receivers_budget(void **state)
{
    (void)state;
    begin(2, 100, 1000000000);
    world.nodes[1].config.probe.receive_bytes = 1540000;
    script.trains = 13;
    script.distance_ns = 60 * NS_PER_MS;
    start();
    ask(0, "n1");
    run(750 * NS_PER_MS);
    assert_int_equal(script.records, 10);
    assert_int_equal(world_counter(&world, 1, "drop_train_budget"), 1);
    /* The next one is withdrawn, and none is asked for before there is room. */
    assert_int_equal(script.lost, 2);
    assert_int_equal(script.asked, 12);
    run(NS_PER_S);
    assert_int_equal(script.records, 11);
    world_end(&world);
}

/* Beside a job a train of the background counts ten times; one that somebody has asked for does not. */
static void train__gives_way_to_a_job(void **state)
{
    (void)state;
    begin(3, 100, 1000000000);
    script.trains = 20;
    script.distance_ns = 10 * NS_PER_MS;
    script.again = true;
    for (uint16_t node = 0; node < 3; node++)
        world.nodes[node].config.probe.receive_bytes = 4000000;
    world.nodes[0].config.probe.background = true;
    world.nodes[0].config.peers[1].probe_off = true; /* n0 measures n1 alone, and n1 gets a job from n2 */
    world.source_bytes = 300000000;
    start();
    struct job_spec spec = world_job(&world, "j");
    spec.to_all = false;
    spec.receiver_count = 1;
    snprintf(spec.receivers[0], NAME_BYTES, "n1");
    snprintf(spec.source, NAME_BYTES, "n2");
    spec.controls.rate_cap_bps = 100000000;
    run_job_at(2, &spec);
    assert_true(run_until_state(2, "j", JOB_RUNNING, 10 * NS_PER_S));
    run(5 * NS_PER_S);
    assert_int_equal(state_at(2, "j"), JOB_RUNNING);
    uint64_t taken = world_counter(&world, 1, "rx_trains"),
             refused = world_counter(&world, 1, "drop_train_budget");
    assert_true(refused > 0);
    run(5 * NS_PER_S);
    /* … and it is left alone for a while. */
    assert_int_equal(world_counter(&world, 1, "drop_train_budget"), refused);
    assert_int_equal(world_counter(&world, 1, "rx_trains"), taken);
    ask(0, "n1");
    run(500 * NS_PER_MS);
    assert_int_equal(world_counter(&world, 1, "rx_trains"), taken + 2000);
    world_end(&world);
}

/* A packet a second of a train that says that it goes on: the buffer is free for others before long. */
static void train__that_never_ends(void **state)
{
    (void)state;
    begin(3, 100, 1000000000);
    start();
    struct node *node = node_of(2);
    for (uint16_t index = 0; index < 4; index++) {
        struct wire_train train = {.train = 7, .index = index, .count = 4096, .rest_us = UINT32_MAX};
        struct rx_packet packet = {.length = 100, .rx_ns = world.now_ns};
        train_in_on_packet(node, &node->peers[0], &train, &packet, world.now_ns);
        run(990 * NS_PER_MS);
    }
    assert_int_equal(node->train_in->count, 0);
    ask(1, "n2");
    run(NS_PER_S);
    assert_int_equal(script.records, 1);
    world_end(&world);
}

/* A receiver that wants to be left alone for weeks holds up neither an operator nor the background for as long. */
static void train__refused_for_weeks(void **state)
{
    (void)state;
    begin(2, 100, 1000000000);
    script.trains = 3;
    script.distance_ns = 10 * NS_PER_MS;
    start();
    world_cut(&world, 0, 1, world.now_ns + NS_PER_S);
    ask(0, "n1");
    run(3 * NS_PER_MS);
    struct node *node = node_of(0);
    struct control_train_report report = {.fixed = {.train = node->train_out->next_number - 2,
                                                    .answer = TRAIN_OVER_BUDGET,
                                                    .wait_ms = UINT32_MAX}};
    prober_on_message(node, &node->peers[0], &report, world.now_ns);
    assert_int_equal(script.lost, 2); /* and the one that waited behind it */
    run(70 * NS_PER_S);
    assert_int_equal(script.records, 1);
    assert_int_equal(node->prober->peer, PEER_NONE);
    world_end(&world);
}

static void train__of_a_peer_that_may_send_none(void **state)
{
    (void)state;
    begin(3, 100, 1000000000);
    world.nodes[1].config.peers[0].probe_off = true;
    world.nodes[1].config.peers[1].probe_off = true;
    start();
    struct err err;
    assert_false(prober_ask(node_of(1), "n0", world.now_ns, &err));
    assert_false(prober_ask(node_of(1), "n1", world.now_ns, &err));
    assert_false(prober_ask(node_of(1), "nobody", world.now_ns, &err));
    ask(0, "n1");
    run(NS_PER_S);
    assert_int_equal(script.records, 0);
    assert_int_equal(script.lost, 1);
    assert_int_equal(world_counter(&world, 1, "drop_train_off"), 1);
    assert_int_equal(world_counter(&world, 1, "drop_train_late"), 99);
    assert_int_equal(world_counter(&world, 1, "rx_trains"), 0);
    world_end(&world);
}

/* Data of the same port leaves between a train's packets, which it does not move; a message may by its own length. */
static void train__leaves_beside_a_job(void **state)
{
    (void)state;
    begin(3, 1000, 3000000000);
    script.trains = 8;
    script.distance_ns = 5 * NS_PER_MS;
    world.source_bytes = 300000000;
    world.rate_bps[0][1] = world.rate_bps[1][0] = 5000000000;
    start();
    struct job_spec spec = world_job(&world, "j");
    spec.to_all = false;
    spec.receiver_count = 1;
    snprintf(spec.receivers[0], NAME_BYTES, "n1");
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_RUNNING, NS_PER_S));
    run(50 * NS_PER_MS);
    uint64_t data = world_counter(&world, 0, "tx_data");
    ask(0, "n2");
    run(100 * NS_PER_MS);
    assert_int_equal(state_at(0, "j"), JOB_RUNNING);
    assert_int_equal(script.records, 8);
    assert_int_equal(script.last.marks, 0);
    for (uint32_t at = 0; at < script.last.count; at++) {
        uint64_t due_ns = script.last.start_ns + script.last.samples[at].index * 12304ULL / 3;
        assert_true(script.last.samples[at].sent_ns - due_ns < 1300);
    }
    assert_true(world_counter(&world, 0, "tx_data") - data > 10000);
    run_until_over(0, "j", 10 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(train__arrives_as_it_left),
        cmocka_unit_test(train__shows_the_link),
        cmocka_unit_test(train__loses_and_doubles),
        cmocka_unit_test(train__several_are_under_way),
        cmocka_unit_test(train__nobody_tells),
        cmocka_unit_test(train__is_cut_by_a_standstill),
        cmocka_unit_test(train__of_which_nothing_left_is_told_at_once),
        cmocka_unit_test(train__what_a_port_refuses_is_cut),
        cmocka_unit_test(train__leaves_late),
        cmocka_unit_test(train__a_spoiled_report_stays_so),
        cmocka_unit_test(train__what_waited_is_one_batch),
        cmocka_unit_test(train__one_comes_in_at_a_time),
        cmocka_unit_test(train__keeps_the_receivers_budget),
        cmocka_unit_test(train__gives_way_to_a_job),
        cmocka_unit_test(train__that_never_ends),
        cmocka_unit_test(train__refused_for_weeks),
        cmocka_unit_test(train__of_a_peer_that_may_send_none),
        cmocka_unit_test(train__leaves_beside_a_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
