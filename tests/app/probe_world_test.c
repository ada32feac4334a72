#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "app/probe/judge.h"
#include "base/units.h"

#define RATE_BPS  10000000000ULL
#define CROSS_MAX 8192
#define PACKETS   400
#define BEGIN_NS  (50 * NS_PER_US)

/* A packet of full size at 10 Gbit/s. */
#define FULL_NS (FULL_PACKET_WIRE_BYTES * 8 * NS_PER_S / (double)RATE_BPS)

static struct hop_config hop_of(enum netem_load_kind kind, uint64_t cross_bps)
{
    struct hop_config config = {.link = {.rate_bps = RATE_BPS}, .cross_bps = cross_bps};
    config.link.load_count = cross_bps > 0;
    config.link.loads[0] = (struct netem_load){
        .kind = (uint8_t)kind, .wire_bytes = FULL_PACKET_WIRE_BYTES, .rate_bps = cross_bps};
    return config;
}

/* ---- the truth of a hop against a list ---- */

static uint64_t cross_ns[CROSS_MAX];
static uint64_t came_ns[PACKETS];

static void list_cross(const struct hop_config *config, uint64_t seed)
{
    struct netem_background background;
    netem_background_of(&background, &config->link.loads[0], seed, NULL);
    for (unsigned i = 0; i < CROSS_MAX; i++) {
        cross_ns[i] = background.next_ns;
        netem_background_step(&background);
    }
}

/* What of the hop was left between packets a and b, and whether a packet between waits for nothing. */
static uint64_t listed_bps(unsigned a, unsigned b)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < CROSS_MAX; i++)
        if (cross_ns[i] > came_ns[a] && cross_ns[i] <= came_ns[b])
            bits += FULL_PACKET_WIRE_BYTES * 8;
    uint64_t ns = came_ns[b] - came_ns[a];
    return muldiv64(muldiv64(RATE_BPS, ns, NS_PER_S) - bits, NS_PER_S, ns);
}

/* Bits of time and cross traffic over the busy parts, by walking through the FIFO packet by packet. */
static double walked_bps(unsigned least)
{
    double free_ns = 0, sum_ns = 0, sum_bits = 0, part_ns = 0, part_bits = 0, bits = 0;
    unsigned cross = 0, part = 0;
    bool idle = true;
    for (unsigned i = 0; i <= PACKETS; i++) {
        double now_ns = i < PACKETS ? (double)came_ns[i] : 1e18;
        for (; cross < CROSS_MAX && (double)cross_ns[cross] <= now_ns; cross++) {
            idle = idle || (double)cross_ns[cross] > free_ns;
            free_ns = fmax(free_ns, (double)cross_ns[cross]) + FULL_NS;
            bits += FULL_PACKET_WIRE_BYTES * 8;
        }
        if (i == 0 || idle || now_ns > free_ns) {
            sum_ns += part >= least ? part_ns : 0;
            sum_bits += part >= least ? part_bits : 0;
            part = 0;
            part_ns = part_bits = 0;
        } else {
            part++;
            part_ns += now_ns - (double)came_ns[i - 1];
            part_bits += bits;
        }
        free_ns = fmax(free_ns, now_ns) + FULL_NS;
        bits = 0;
        idle = false;
    }
    return sum_ns > 0 ? (double)RATE_BPS - sum_bits / sum_ns * 1e9 : 0;
}

static void hop__truth_is_that_of_a_list(void **state)
{
    (void)state;
    static const struct {
        enum netem_load_kind kind;
        uint64_t cross_bps;
        uint64_t gap_ns[2]; /* of the packets: the first half, the second */
    } cases[] = {{NETEM_LOAD_CBR, 5000000000, {2000, 2600}},
                 {NETEM_LOAD_CBR, 9000000000, {9000, 20000}},
                 {NETEM_LOAD_POISSON, 5000000000, {2000, 2600}},
                 {NETEM_LOAD_POISSON, 2000000000, {1400, 1700}},
                 {NETEM_LOAD_POISSON, 8000000000, {5000, 9000}}};
    for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct hop_config config = hop_of(cases[c].kind, cases[c].cross_bps);
        static struct hop hop;
        list_cross(&config, c + 1);
        hop_begin(&hop, &config, c + 1, 0, 0, true);
        hop_train(&hop);
        for (unsigned i = 0; i < PACKETS; i++) {
            came_ns[i] = i == 0 ? BEGIN_NS : came_ns[i - 1] + cases[c].gap_ns[i >= PACKETS / 2];
            struct netem_decision decision =
                hop_send(&hop, FULL_PACKET_WIRE_BYTES, came_ns[i] - 7, came_ns[i]);
            assert_int_equal(decision.verdict, NETEM_PASS);
        }
        hop_train(&hop);
        static const unsigned windows[][2] = {{0, PACKETS - 1}, {0, 1}, {17, 200}, {300, 399}};
        for (unsigned w = 0; w < sizeof(windows) / sizeof(windows[0]); w++) {
            unsigned a = windows[w][0], b = windows[w][1];
            assert_int_equal(hop_available_bps(&hop, came_ns[a] - 7, came_ns[b] - 7), listed_bps(a, b));
        }
        double busy_bps = (double)hop_busy_available_bps(&hop);
        assert_true(fabs(busy_bps - walked_bps(HOP_PART_LEAST)) < 10);
        assert_true(hop_added_bytes(&hop) >= FULL_PACKET_WIRE_BYTES);
        hop_end(&hop);
    }
}

static void hop_available_bps__follows_capacity(void **state)
{
    (void)state;
    struct hop_config config = hop_of(NETEM_LOAD_CBR, 0);
    config.step_count = 1;
    config.steps[0] = (struct hop_step){1000, RATE_BPS / 2};
    static struct hop hop;
    hop_begin(&hop, &config, 1, BEGIN_NS, 0, false);
    hop_send(&hop, FULL_PACKET_WIRE_BYTES, 1, BEGIN_NS);
    hop_send(&hop, FULL_PACKET_WIRE_BYTES, 2, BEGIN_NS + 4000);
    assert_int_equal(hop_available_bps(&hop, 0, 9), RATE_BPS / 4 + RATE_BPS * 3 / 8);
    assert_int_equal(hop_capacity_bps(&hop, BEGIN_NS + 999), RATE_BPS);
    assert_int_equal(hop_capacity_bps(&hop, BEGIN_NS + 1000), RATE_BPS / 2);
    assert_int_equal(hop_available_bps(&hop, 2, 9), 0);
    hop_end(&hop);
}

/* ---- stamps ---- */

static void stamps__a_clock_of_its_own(void **state)
{
    (void)state;
    struct stamps_config config = {.skew_ppb = 100000, .offset_ns = NS_PER_S};
    assert_int_equal(stamps_clock_ns(&config, 10 * NS_PER_S), 11001000000);
    config.skew_ppb = -100000;
    assert_int_equal(stamps_clock_ns(&config, 10 * NS_PER_S), 10999000000);
    assert_int_equal(stamps_floor(&config).stamp_kind, STAMP_VIRTUAL);
    config.stamping = (struct netem_stamping){.batch = 8, .batch_ns = 100, .noise_ns = 30};
    struct train_floor floor = stamps_floor(&config);
    assert_int_equal(floor.stamp_kind, STAMP_SOFTWARE);
    assert_true(floor.batch == 8 && floor.gap_ns == 100 && floor.noise_ns == 30);
}

/* ---- the path ---- */

static struct world world;
static struct train_record record;

static void world_send__makes_the_record(void **state)
{
    (void)state;
    struct world_config config = {.hop_count = 1, .back_ns = 500};
    config.hops[0] = hop_of(NETEM_LOAD_CBR, 0);
    config.approach.delay_ns = 500;
    struct train_shape shape = {.wire_bytes = 1250}; /* 1 us at 10 Gbit/s */
    train_add(&shape, 4, 4 * RATE_BPS);
    world_begin(&world, &config, 1, BEGIN_NS, 0);
    assert_int_equal(world_send(&world, &shape, BEGIN_NS, &record), BEGIN_NS + 500 + 4000 + 500);
    assert_int_equal(record.sent, 4);
    assert_int_equal(record.count, 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(record.samples[i].index, i);
        assert_int_equal(record.samples[i].arrival, i);
        assert_int_equal(record.samples[i].sent_ns, BEGIN_NS + 250 * i);
        assert_int_equal(record.samples[i].received_ns, BEGIN_NS + 500 + 1000 * (i + 1));
    }
}

static void world_send__loses_and_reorders(void **state)
{
    (void)state;
    struct world_config config = {.hop_count = 1};
    config.hops[0] = hop_of(NETEM_LOAD_CBR, 0);
    config.approach = (struct netem_config){
        .loss_ppb = 100000000, .delay_some_ppb = 50000000, .delay_some_ns = 50000, .delay_ns = 1000};
    struct train_shape shape = {.wire_bytes = FULL_PACKET_WIRE_BYTES};
    train_add(&shape, 2000, RATE_BPS / 2);
    world_begin(&world, &config, 5, BEGIN_NS, 0);
    world_send(&world, &shape, BEGIN_NS, &record);
    unsigned late = 0;
    assert_in_range(record.count, 1740, 1860); /* of 1800, four standard deviations and more */
    for (unsigned i = 1; i < record.count; i++) {
        assert_true(record.samples[i].index > record.samples[i - 1].index);
        late += record.samples[i].arrival < record.samples[i - 1].arrival;
    }
    assert_in_range(late, 55, 125); /* of 90 */
}

/* ---- a measurement, and the pool of many ---- */

static struct run_config run_of(const char *name, enum netem_load_kind kind, uint64_t cross_bps)
{
    struct run_config config = {.kind = estimator_kind(name), .limit_ns = 10 * NS_PER_S};
    config.world.hop_count = 1;
    config.world.hops[0] = hop_of(kind, cross_bps);
    config.world.approach.delay_ns = config.world.back_ns = 50 * NS_PER_US;
    config.goal = (struct estimator_goal){.port_bps = 4 * RATE_BPS,
                                          .receiver_bps = RATE_BPS,
                                          .rtt_ns = 100 * NS_PER_US,
                                          .wire_bytes = FULL_PACKET_WIRE_BYTES,
                                          .width_ppm = 10000};
    return config;
}

static void run_measure__same_seed_same_result(void **state)
{
    (void)state;
    struct run_config config = run_of("kite2", NETEM_LOAD_POISSON, RATE_BPS / 2);
    struct run_result results[2];
    for (unsigned i = 0; i < 2; i++) {
        static struct run run;
        assert_true(run_create(&run, &config));
        if (i == 1) /* whatever was measured with it before */
            run_measure(&run, 8, NULL, NULL, &results[1]);
        run_measure(&run, 7, NULL, NULL, &results[i]);
        run_destroy(&run);
    }
    assert_true(results[0].ended);
    assert_memory_equal(&results[0].look.estimate, &results[1].look.estimate, sizeof(struct estimate));
    assert_int_equal(results[0].took_ns, results[1].took_ns);
    assert_int_equal(results[0].load_ppb, results[0].bytes * 8 / 100);
}

struct found {
    const char *name;
    double value;
};

static void find(void *user, const char *name, double value)
{
    struct found *found = user;
    if (strcmp(found->name, name) == 0)
        found->value = value;
}

static double figure(struct judge *judge, const char *name)
{
    struct found found = {name, -1};
    judge_figures(judge, find, &found);
    return found.value;
}

static void judge__pools(void **state)
{
    (void)state;
    struct run_config config = run_of("kite2", NETEM_LOAD_CBR, RATE_BPS / 2);
    struct judge judge;
    judge_begin(&judge, &config);
    struct run_result result = {.ended = true, .window_bps = 5000000000, .bytes = 1000, .load_ppb = 1000000};
    result.look = (struct run_look){.period_bps = 5100000000, .capacity_bps = RATE_BPS};
    result.look.estimate = (struct estimate){
        .kind = ESTIMATE_VALUE, .avail_bps = 5020000000, .low_bps = 4990000000, .high_bps = 5050000000};
    judge_take(&judge, &result);
    result.look.estimate.avail_bps = 5040000000;
    judge_take(&judge, &result);
    result.look.estimate = (struct estimate){.kind = ESTIMATE_REFUSED, .reason = ESTIMATE_NOISE};
    judge_take(&judge, &result);
    result.look.estimate = (struct estimate){.kind = ESTIMATE_AT_LEAST, .low_bps = 4080000000};
    result.ended = false;
    judge_take(&judge, &result);
    static const struct found asked[] = {
        {"runs", 4},
        {"share_value", 0.5},
        {"share_refused", 0.25},
        {"reason_stamps-too-coarse", 0.25},
        {"error_w_bias", 0.003},
        {"error_w_within_003", 0.5},
        {"error_p_bias", -0.007},
        {"covers_w", 1},
        {"covers_p", 0},
        {"outside_p_max", 0.005},
        {"half_width", 0.003},
        {"at_least_of_p_min", 0.8},
        {"load_max", 0.001},
        {"share_unended", 0.25},
        {"bytes", 1000},
        {"wrong_p", 0.5},
        {"wrong_w", 0},
    };
    for (unsigned i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
        if (fabs(figure(&judge, asked[i].name) - asked[i].value) > 1e-9)
            fail_msg("%s: %g instead of %g", asked[i].name, figure(&judge, asked[i].name), asked[i].value);
    assert_true(isnan(figure(&judge, "capacity_error_p95")));
    judge_end(&judge);
}

/* A path of 5 Gbit/s becomes one of 10 at 10 s: seen 0.4 s later; then one of 5 that nobody sees. */
static void judge_look__sees_steps(void **state)
{
    (void)state;
    struct run_config config = run_of("kite2", NETEM_LOAD_CBR, 0);
    config.world.hops[0].step_count = 2;
    config.world.hops[0].steps[0] = (struct hop_step){10 * NS_PER_S, RATE_BPS};
    config.world.hops[0].steps[1] = (struct hop_step){20 * NS_PER_S, RATE_BPS / 2};
    struct judge judge;
    struct run_result result = {0};
    judge_begin(&judge, &config);
    for (uint64_t at_ns = 0; at_ns < 30 * NS_PER_S; at_ns += 200 * NS_PER_MS) {
        struct run_look look = {.at_ns = at_ns};
        bool fast = at_ns >= 10 * NS_PER_S && at_ns < 20 * NS_PER_S;
        look.capacity_bps = fast ? RATE_BPS : RATE_BPS / 2;
        look.estimate.kind = ESTIMATE_VALUE;
        look.estimate.avail_bps = at_ns >= 10400 * NS_PER_MS ? RATE_BPS : RATE_BPS / 2;
        look.estimate.low_bps = look.estimate.high_bps = look.estimate.avail_bps;
        judge_look(&judge, &look);
    }
    judge_take(&judge, &result);
    assert_true(fabs(figure(&judge, "seen_s_max") - 0.4) < 1e-9);
    assert_true(figure(&judge, "steps") == 2 && figure(&judge, "steps_missed") == 1);
    assert_true(figure(&judge, "steady_error_max") == 1);
    judge_end(&judge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hop__truth_is_that_of_a_list),
        cmocka_unit_test(hop_available_bps__follows_capacity),
        cmocka_unit_test(stamps__a_clock_of_its_own),
        cmocka_unit_test(world_send__makes_the_record),
        cmocka_unit_test(world_send__loses_and_reorders),
        cmocka_unit_test(run_measure__same_seed_same_result),
        cmocka_unit_test(judge__pools),
        cmocka_unit_test(judge_look__sees_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
