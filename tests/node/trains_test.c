/* Trains on their way between nodes: true departures and arrivals, what spoils one, whose are taken, what becomes of
 * an estimate. The estimator here sends what a test asks for, and keeps what it is told. */
#include "check.h"
#include "node/peer/path_table.h"
#include "node/train/in.h"
#include "node/train/prober.h"

#define TRAINS_MAX 8

static struct script {
    struct train_shape shape;
    uint32_t trains; /* to be sent */
    uint64_t distance_ns;
    bool again; /* each measurement sends them */
    struct estimate estimate;
    /* what came of it */
    uint32_t asked, records, lost;
    struct estimator_goal goal;
    struct train_record last;
    uint64_t at_ns[TRAINS_MAX];
    void (*on_record)(const struct train_record *record);
} script;

static void script_start(void *state, const struct estimator_goal *goal, uint64_t now_ns)
{
    *(uint64_t *)state = now_ns;
    if (script.again)
        script.asked = script.records = script.lost = 0;
    script.goal = *goal;
}

static enum estimator_step script_next(void *state, uint64_t now_ns, struct train_shape *shape,
                                       uint64_t *at_ns)
{
    if (script.asked == script.trains) {
        *at_ns = TIME_NEVER;
        return script.records + script.lost == script.asked ? ESTIMATOR_DONE : ESTIMATOR_WAIT;
    }
    *shape = script.shape;
    *at_ns = MAX(now_ns, *(uint64_t *)state + script.asked * script.distance_ns);
    script.at_ns[script.asked++ % TRAINS_MAX] = *at_ns;
    return ESTIMATOR_TRAIN;
}

static void script_take(void *state, const struct train_record *record, uint64_t now_ns)
{
    (void)state;
    (void)now_ns;
    if (record == NULL) {
        script.lost++;
        return;
    }
    script.records++;
    script.last = *record;
    if (script.on_record != NULL)
        script.on_record(record);
}

static void script_result(const void *state, uint64_t now_ns, struct estimate *estimate)
{
    (void)state;
    (void)now_ns;
    *estimate = script.estimate;
}

static const struct estimator_kind scripted = {"scripted",  sizeof(uint64_t), script_start,
                                               script_next, script_take,      script_result};

static void begin(uint16_t count, uint32_t packets, uint64_t rate_bps)
{
    script = (struct script){.trains = 1, .shape = {.wire_bytes = 1538}};
    assert_true(train_add(&script.shape, packets, rate_bps));
    world_init(&world, count, 1);
    for (uint16_t node = 0; node < count; node++)
        world.nodes[node].config.probe.estimator = &scripted;
    for (uint16_t node = 0; node < count; node++)
        world.nodes[node].config.ports[0].rate_bps = 10000000000;
}

static void start(void)
{
    start_all();
    world_run_until(&world, 3 * NS_PER_S);
}

static struct node *node_of(uint16_t node)
{
    return world.nodes[node].node;
}

static void ask(uint16_t node, const char *peer)
{
    struct err err;
    if (!prober_ask(node_of(node), peer, world.now_ns, &err))
        fail_msg("%s", err.text);
}

static void run(uint64_t for_ns)
{
    world_run_until(&world, world.now_ns + for_ns);
}

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
    assert_int_equal(script.last.twice, 0);
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

/* A tenth is lost, also the last ones: what came is told once they are overdue. Copies are counted. */
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
    assert_true(script.last.twice > 0);
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

/* A node that comes late sends no burst: the train ends there. */
static void train__is_cut_by_a_standstill(void **state)
{
    (void)state;
    begin(2, 2000, 1000000000);
    start();
    ask(0, "n1");
    run(5 * NS_PER_MS);
    world.nodes[0].stopped_until_ns = world.now_ns + 3 * NS_PER_MS;
    run(100 * NS_PER_MS);
    assert_int_equal(script.records, 1);
    assert_int_equal(script.last.marks & ~TRAIN_STOOD_STILL, TRAIN_CUT);
    assert_true(script.last.sent > 300 && script.last.sent < 500);
    assert_int_equal(script.last.count, script.last.sent);
    for (uint32_t at = 1; at < script.last.count; at++)
        assert_true(script.last.samples[at].sent_ns - script.last.samples[at - 1].sent_ns >= 12304);
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
        {0, 100000, 60000, TRAIN_REANCHORED},
        {50000, 1215000, 70000, TRAIN_REANCHORED | TRAIN_MERGED},
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
    assert_int_equal(node->train_in->arrived, count);
    assert_int_equal(node->train_in->batch, 5);
    for (unsigned row = 0; row < count; row++)
        assert_int_equal(node->train_in->arrivals[row].came_ns - now_ns, rows[row].came_ns);
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

static const char *show_train(uint16_t node, const char *peer, struct err *err)
{
    static char picture[CTL_REPLY_BYTES];
    struct ctl_msg msg = {.type = CTL_TRAIN};
    struct ctl_reply reply = {.text = picture, .room = sizeof(picture)};
    snprintf(msg.body.probe.peer, NAME_BYTES, "%s", peer);
    int result = node_ctl(node_of(node), &msg, &reply, world.now_ns);
    *err = reply.err;
    assert_true(result != 0 || strlen(picture) == reply.length);
    return result == 0 ? picture : NULL;
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
    assert_non_null(strstr(show_train(0, "n1", &err), "100 points of a train"));
    assert_null(show_train(0, "n2", &err));
    ask(0, "n1"); /* begins anew */
    assert_null(show_train(0, "n1", &err));
    run(100 * NS_PER_MS);
    ask(0, "n2");
    run(100 * NS_PER_MS);
    assert_null(show_train(0, "n1", &err));
    const char *picture = show_train(0, "n2", &err);
    assert_true(picture != NULL && strncmp(picture, "<svg ", 5) == 0);
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
        world.nodes[0].stopped_until_ns = world.now_ns + 3 * NS_PER_MS;
        run(100 * NS_PER_MS);
        assert_int_equal(script.records, trains);
        assert_true((script.last.marks & TRAIN_CUT) != 0);
        const char *said =
            trains == 2 ? ">2000 points of a train; 0 lost" : "too little of it came as it was sent";
        assert_non_null(strstr(show_train(0, "n1", &err), said));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(train__arrives_as_it_left),
        cmocka_unit_test(train__shows_the_link),
        cmocka_unit_test(train__loses_and_doubles),
        cmocka_unit_test(train__several_are_under_way),
        cmocka_unit_test(train__nobody_tells),
        cmocka_unit_test(train__is_cut_by_a_standstill),
        cmocka_unit_test(train__what_a_port_refuses_is_cut),
        cmocka_unit_test(train__leaves_late),
        cmocka_unit_test(train__what_waited_is_one_batch),
        cmocka_unit_test(train__one_comes_in_at_a_time),
        cmocka_unit_test(train__keeps_the_receivers_budget),
        cmocka_unit_test(train__gives_way_to_a_job),
        cmocka_unit_test(train__of_a_peer_that_may_send_none),
        cmocka_unit_test(train__leaves_beside_a_job),
        cmocka_unit_test(probe_result__goes_to_planners),
        cmocka_unit_test(show_probes__says_what_is_known),
        cmocka_unit_test(show_train__is_the_newest_good_one),
        cmocka_unit_test(show_train__of_one_that_was_cut),
        cmocka_unit_test(prober__background),
        cmocka_unit_test(prober__keeps_what_says_more),
        cmocka_unit_test(prober__one_peer_in_the_background),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
