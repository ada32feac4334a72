/* two_clocks: what drift, steps and changes of the path do to it. Acks come every 5 ms; `queue` is what the way
 * there has in a row's time, and it was empty in the beginning. */
#include "include.h"

#include "base/rng.h"
#include "base/two_clocks.h"
#include "base/units.h"

#define EVERY_NS (5 * NS_PER_MS)
#define THERE_NS (30 * (int64_t)NS_PER_MS)
#define BACK_NS  (30 * (int64_t)NS_PER_MS)
#define QUEUE_NS (5 * (int64_t)NS_PER_MS / 2)

/* What happens, from at_ns on. */
struct happening {
    uint64_t at_ns;
    int64_t far_ahead_ns; /* the far clock jumps by so much */
    int64_t own_ahead_ns;
    int64_t longer_ns; /* the way back */
    int64_t back_queue_ns;
};

struct row {
    const char *name;
    int64_t drift_ppm; /* of the far clock */
    struct happening happening;
    uint64_t end_ns;
    int64_t off_ns_max;        /* of the queue that shows from the one there is, at the end … */
    int64_t on_the_way_ns_max; /* … and half a second after the happening */
};

/* Long enough ago that acks on their way did not leave before. */
static int64_t happened(const struct row *row, uint64_t since_ns, int64_t value_ns)
{
    return since_ns >= row->happening.at_ns && row->happening.at_ns > 0 ? value_ns : 0;
}

static struct clock_exchange exchange_at(const struct row *row, uint64_t true_ns)
{
    int64_t queue_ns = true_ns < NS_PER_S / 10 ? 0 : QUEUE_NS;
    int64_t lead_ns = (int64_t)true_ns / 1000000 * row->drift_ppm;
    /* The packets of which the ack tells came a little before it left: a jump between is seen an ack later. It tells the
     * least delay of those on both sides. */
    uint64_t came_ns = elapsed_ns(true_ns, 30 * NS_PER_MS + EVERY_NS),
             sent_ns = elapsed_ns(true_ns, 65 * NS_PER_MS);
    uint64_t least_ns = row->happening.far_ahead_ns > 0 ? came_ns + EVERY_NS : came_ns;
    uint64_t left_ns = elapsed_ns(true_ns, 30 * NS_PER_MS);
    bool torn = least_ns >= row->happening.at_ns && elapsed_ns(least_ns, EVERY_NS) < row->happening.at_ns &&
                row->happening.far_ahead_ns != 0;
    int64_t out_ns = THERE_NS + queue_ns + lead_ns + happened(row, came_ns, row->happening.far_ahead_ns) -
                     happened(row, sent_ns, row->happening.own_ahead_ns);
    int64_t back_ns = BACK_NS - lead_ns - happened(row, left_ns, row->happening.far_ahead_ns) +
                      happened(row, true_ns, row->happening.own_ahead_ns) +
                      happened(row, left_ns, row->happening.longer_ns) +
                      (elapsed_ns(true_ns, row->happening.at_ns) < 5 * NS_PER_S
                           ? happened(row, true_ns, row->happening.back_queue_ns)
                           : 0);
    int64_t now_ns = (int64_t)true_ns + happened(row, true_ns, row->happening.own_ahead_ns);
    int64_t jumped_ns = MAX(row->happening.far_ahead_ns, -row->happening.far_ahead_ns);
    return (struct clock_exchange){.out_ns = out_ns,
                                   .back_ns = back_ns,
                                   .jump_ns = torn ? (uint64_t)jumped_ns : 0,
                                   .rtt_ns = 60 * NS_PER_MS,
                                   .now_ns = (uint64_t)now_ns};
}

static int64_t off_ns(const struct two_clocks *clocks, const struct clock_exchange *exchange)
{
    int64_t shows_ns = exchange->out_ns - two_clocks_gained_ns(clocks) - clocks->floor.ns;
    return shows_ns > QUEUE_NS ? shows_ns - QUEUE_NS : QUEUE_NS - shows_ns;
}

static void two_clocks__the_queue_shows(void **state)
{
    static const struct row rows[] = {
        {"nothing", 0, {.at_ns = 0}, 60 * NS_PER_S, 0, 0},
        {"crystals", 100, {.at_ns = 0}, 60 * NS_PER_S, 100000, 0},
        {"set right", 600, {.at_ns = 0}, 60 * NS_PER_S, 100000, 0},
        {"long", 200, {.at_ns = 0}, 3600 * NS_PER_S, 100000, 0},
        {"ahead 1 ms: as good as jitter", 0, {5 * NS_PER_S, 1000000, 0, 0, 0}, 20 * NS_PER_S, 300000, 300000},
        {"ahead 10 ms", 200, {5 * NS_PER_S, 10000000, 0, 0, 0}, 20 * NS_PER_S, 100000, 100000},
        {"ahead 1 s", -100, {5 * NS_PER_S, 1000000000, 0, 0, 0}, 6 * NS_PER_S, 700000, 600000},
        {"ahead 10 s", 200, {5 * NS_PER_S, 10000000000, 0, 0, 0}, 20 * NS_PER_S, 100000, 100000},
        {"own clock ahead 10 ms", 100, {5 * NS_PER_S, 0, 10000000, 0, 0}, 20 * NS_PER_S, 150000, 150000},
        {"own clock ahead 10 s", -100, {5 * NS_PER_S, 0, 10000000000, 0, 0}, 8 * NS_PER_S, 800000, 600000},
        {"back longer", 200, {5 * NS_PER_S, 0, 0, 20000000, 0}, 60 * NS_PER_S, 400000, 400000},
        {"back shorter", 200, {5 * NS_PER_S, 0, 0, -20000000, 0}, 60 * NS_PER_S, 150000, 150000},
        {"queue back", 200, {5 * NS_PER_S, 0, 0, 0, 20000000}, 60 * NS_PER_S, 400000, 400000},
    };
    (void)state;
    for (unsigned index = 0; index < ROWS(rows); index++) {
        const struct row *row = &rows[index];
        struct two_clocks clocks = {.known = false};
        for (uint64_t true_ns = 0; true_ns < row->end_ns; true_ns += EVERY_NS) {
            struct clock_exchange exchange = exchange_at(row, true_ns);
            two_clocks_on_exchange(&clocks, &exchange);
            bool after = row->happening.at_ns > 0 && true_ns == row->happening.at_ns + NS_PER_S / 2;
            if (after && off_ns(&clocks, &exchange) > row->on_the_way_ns_max)
                fail_msg("%s: off by %ld ns at once", row->name, (long)off_ns(&clocks, &exchange));
            if (true_ns + EVERY_NS >= row->end_ns && off_ns(&clocks, &exchange) > row->off_ns_max)
                fail_msg("%s: off by %ld ns", row->name, (long)off_ns(&clocks, &exchange));
        }
    }
}

/* The far clock loses, and the way there is empty for a moment every two seconds: after the second of them the slope
 * is known and the queue shows; before, and where it is the way back that gets a queue, there is doubt. */
static void two_clocks__losing(void **state)
{
    static const struct {
        int64_t losing_ppm, back_queue_ppm;
        int64_t off_ns_max, doubt_ns_min, doubt_ns_max; /* at the end */
    } rows[] = {
        {20, 0, 50000, 0, 50000},
        {100, 0, 100000, 0, 100000},
        {500, 0, 150000, 0, 150000},
        {900, 0, 300000, 0, 300000},
        {0, 0, 0, 0, 0},
        {0, 400, 50000, 7000000, 8000000},
    };
    (void)state;
    for (unsigned index = 0; index < ROWS(rows); index++) {
        struct two_clocks clocks = {.known = false};
        struct clock_exchange exchange = {.rtt_ns = 60 * NS_PER_MS};
        for (uint64_t true_ns = 0; true_ns < 19900 * NS_PER_MS; true_ns += EVERY_NS) {
            int64_t lead_ns = -(int64_t)true_ns / 1000000 * rows[index].losing_ppm;
            bool empty = true_ns % (2 * NS_PER_S) < 100 * NS_PER_MS;
            exchange.now_ns = true_ns;
            exchange.out_ns = THERE_NS + lead_ns + (empty ? 0 : QUEUE_NS);
            exchange.back_ns = BACK_NS - lead_ns + (int64_t)true_ns / 1000000 * rows[index].back_queue_ppm;
            two_clocks_on_exchange(&clocks, &exchange);
            if (true_ns == 1900 * NS_PER_MS && rows[index].losing_ppm == 500)
                assert_in_range(two_clocks_doubt_ns(&clocks), 300000, 1000000);
        }
        assert_in_range(off_ns(&clocks, &exchange), 0, rows[index].off_ns_max);
        assert_in_range(two_clocks_doubt_ns(&clocks), rows[index].doubt_ns_min, rows[index].doubt_ns_max);
    }
}

/* Where few acks come, or the own clock jumps ahead, a half window is one ack or two, which jitter has made late: the way
 * back is no longer for that. */
static void two_clocks__few_late_acks_are_no_longer_way(void **state)
{
    static const uint64_t every_ns[] = {20 * NS_PER_MS, 300 * NS_PER_MS, 700 * NS_PER_MS};
    (void)state;
    for (unsigned index = 0; index < ROWS(every_ns); index++) {
        struct two_clocks clocks = {.known = false};
        struct rng rng;
        rng_init(&rng, 1);
        for (uint64_t turn = 0; turn < 300; turn++) {
            int64_t late_ns = turn == 0 ? 0 : (int64_t)rng_below(&rng, 10 * NS_PER_MS);
            bool jumped = every_ns[index] < 100 * NS_PER_MS && turn >= 200;
            const struct clock_exchange exchange = {.out_ns = THERE_NS + QUEUE_NS,
                                                    .back_ns = BACK_NS + late_ns,
                                                    .jump_ns = turn % 10 == 0 ? 4 * NS_PER_MS : 0,
                                                    .rtt_ns = 60 * NS_PER_MS,
                                                    .now_ns = turn * every_ns[index] + jumped * NS_PER_S};
            two_clocks_on_exchange(&clocks, &exchange);
            assert_int_equal(clocks.trip_ns, THERE_NS + QUEUE_NS + BACK_NS);
        }
    }
}

/* Out and back with up to 20 ms of jitter; an ack tells the least of three packets. */
static void few_acks(struct two_clocks *clocks, struct rng *rng, uint64_t every_ns)
{
    const uint64_t jitter_ns = 20 * NS_PER_MS;
    for (uint64_t now_ns = 0; now_ns < 60 * NS_PER_S; now_ns += every_ns) {
        uint64_t late_ns = jitter_ns;
        for (unsigned packet = 0; packet < 3; packet++)
            late_ns = MIN(late_ns, rng_below(rng, jitter_ns));
        const struct clock_exchange exchange = {.out_ns = THERE_NS + (int64_t)late_ns,
                                                .back_ns = BACK_NS + (int64_t)rng_below(rng, jitter_ns),
                                                .jump_ns = rng_below(rng, jitter_ns / 2),
                                                .rtt_ns = 60 * NS_PER_MS,
                                                .now_ns = now_ns};
        two_clocks_on_exchange(clocks, &exchange);
    }
}

/* Where few acks come most ways back that are as short as can be lie below the least of a second. They count all the same,
 * or T is too long, and what `gained` is lifted by hides as much of a queue: 17 ms in the mean, up to 60. */
static void two_clocks__few_acks_beside_jitter_hide_little(void **state)
{
    static const uint64_t every_ms[] = {50, 100, 200, 400};
    (void)state;
    for (unsigned index = 0; index < ROWS(every_ms); index++) {
        int64_t hidden_ns = 0;
        for (uint64_t seed = 1; seed <= 40; seed++) {
            struct two_clocks clocks = {.known = false};
            struct rng rng;
            rng_init(&rng, seed);
            few_acks(&clocks, &rng, every_ms[index] * NS_PER_MS);
            hidden_ns += two_clocks_gained_ns(&clocks);
        }
        assert_in_range(hidden_ns, 0, 40 * 6 * NS_PER_MS);
    }
}

/* What neighbours differ by because the far clock jumped is no jitter, be the own one ahead of it already or not; an ack
 * on its way tells of the jump. */
static void two_clocks__a_step_is_no_jitter(void **state)
{
    static const struct row rows[] = {
        {"far clock", 0, {5 * NS_PER_S, 100000000, 0, 0, 0}, 0, 0, 0},
        {"both", 0, {5 * NS_PER_S, 100000000, 100000000, 0, 0}, 0, 0, 0},
        {"the own one more", 0, {5 * NS_PER_S, 40000000, 100000000, 0, 0}, 0, 0, 0},
        {"far clock back", 0, {5 * NS_PER_S, -100000000, 0, 0, 0}, 0, 0, 0},
        {"far clock back by little", 0, {5 * NS_PER_S, -2000000, 0, 0, 0}, 0, 0, 0},
    };
    (void)state;
    for (unsigned index = 0; index < ROWS(rows); index++) {
        struct two_clocks clocks = {.known = false};
        unsigned stepped = 0;
        for (uint64_t true_ns = 0; true_ns < 10 * NS_PER_S; true_ns += EVERY_NS) {
            struct clock_exchange exchange = exchange_at(&rows[index], true_ns);
            two_clocks_on_exchange(&clocks, &exchange);
            stepped += two_clocks_stepped(&clocks);
            if (exchange.jump_ns != 0 && !two_clocks_stepped(&clocks))
                fail_msg("%s: not seen", rows[index].name);
        }
        assert_in_range(stepped, 2, 4);
        assert_int_equal(clocks.jitter_ns[0], 0);
    }
}

/* The same where packets and acks wait for their predecessors. */
static void two_clocks__a_step_is_no_jitter_beside_jitter(void **state)
{
    static const struct row rows[] = {
        {"both", 0, {5 * NS_PER_S, 500000000, 500000000, 0, 0}, 0, 0, 0},
        {"far clock back", 0, {5 * NS_PER_S, -500000000, 0, 0, 0}, 0, 0, 0},
    };
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        const struct row row = rows[seed % ROWS(rows)];
        struct two_clocks clocks = {.known = false};
        struct rng rng;
        rng_init(&rng, seed);
        for (uint64_t true_ns = 0; true_ns < 10 * NS_PER_S; true_ns += EVERY_NS) {
            struct clock_exchange exchange = exchange_at(&row, true_ns);
            exchange.out_ns += (int64_t)rng_below(&rng, 20 * NS_PER_MS);
            exchange.back_ns += (int64_t)rng_below(&rng, 20 * NS_PER_MS);
            exchange.jump_ns += rng_below(&rng, 4 * NS_PER_MS);
            two_clocks_on_exchange(&clocks, &exchange);
        }
        assert_in_range(clocks.jitter_ns[0], 3 * NS_PER_MS, 4 * NS_PER_MS);
    }
}

/* Jitter that is larger than what is known of it so far, on both ways, is learnt. */
static void two_clocks__swings_are_no_steps(void **state)
{
    struct two_clocks clocks = {.known = false};
    (void)state;
    for (uint64_t turn = 0; turn < 1000; turn++) {
        int64_t swing_ns = turn % 2 == 1 ? 50 * (int64_t)NS_PER_MS : 0;
        const struct clock_exchange exchange = {.out_ns = THERE_NS,
                                                .back_ns = BACK_NS + swing_ns,
                                                .jump_ns = turn % 2 == 0 && turn > 0 ? 40 * NS_PER_MS : 0,
                                                .rtt_ns = 60 * NS_PER_MS,
                                                .now_ns = turn * EVERY_NS};
        two_clocks_on_exchange(&clocks, &exchange);
        assert_false(two_clocks_stepped(&clocks));
    }
    assert_int_equal(clocks.jitter_ns[0], 40 * NS_PER_MS);
}

/* The first packets of a path that keeps the order wait up to 9 ms each way, less and less; nothing is known of its
 * jitter yet. */
static void two_clocks__a_new_path_has_no_steps(void **state)
{
    struct two_clocks clocks = {.known = false};
    (void)state;
    for (uint64_t turn = 0; turn < 80; turn++) {
        int64_t waited_ns = (9 - (int64_t)turn % 10) * (int64_t)NS_PER_MS;
        const struct clock_exchange exchange = {.out_ns = THERE_NS + waited_ns,
                                                .back_ns = BACK_NS + 2 * waited_ns - (int64_t)turn * 10000,
                                                .jump_ns = turn / 10 * NS_PER_MS / 2,
                                                .rtt_ns = 60 * NS_PER_MS,
                                                .now_ns = turn * EVERY_NS};
        two_clocks_on_exchange(&clocks, &exchange);
        assert_false(two_clocks_stepped(&clocks));
    }
}

/* A queue that was on the way back for a moment has drained; the way there has jitter of its own. */
static void two_clocks__a_drained_queue_is_no_step(void **state)
{
    const struct row row = {"queue back", 0, {.at_ns = 0}, 0, 0, 0};
    struct two_clocks clocks = {.known = false};
    (void)state;
    for (uint64_t true_ns = 0; true_ns < 15 * NS_PER_S; true_ns += EVERY_NS) {
        struct clock_exchange exchange = exchange_at(&row, true_ns);
        exchange.jump_ns = true_ns % (70 * NS_PER_MS) == 0 ? 8 * NS_PER_MS : 0;
        exchange.back_ns += true_ns % NS_PER_S > 700 * NS_PER_MS ? 20 * (int64_t)NS_PER_MS : 0;
        two_clocks_on_exchange(&clocks, &exchange);
        assert_false(two_clocks_stepped(&clocks));
    }
    assert_int_equal(clocks.jitter_ns[0], 8 * NS_PER_MS);
}

/* Packets that overtake come late, and acks that tell of them: jumps that show both sides of the step. */
static void two_clocks__late_packets_of_a_step_are_no_jitter(void **state)
{
    static const int64_t steps_ns[] = {500000000, -500000000};
    (void)state;
    for (unsigned index = 0; index < ROWS(steps_ns); index++) {
        const struct row row = {"late", 0, {5 * NS_PER_S, steps_ns[index], 0, 0, 0}, 0, 0, 0};
        struct two_clocks clocks = {.known = false};
        for (uint64_t true_ns = 0; true_ns < 10 * NS_PER_S; true_ns += EVERY_NS) {
            struct clock_exchange exchange = exchange_at(&row, true_ns);
            uint64_t seen_ns = 5 * NS_PER_S + 35 * NS_PER_MS; /* by the first ack that tells of both sides */
            bool late = true_ns >= seen_ns && true_ns < seen_ns + 40 * NS_PER_MS;
            exchange.jump_ns = late ? 500 * NS_PER_MS : 40 * NS_PER_MS;
            two_clocks_on_exchange(&clocks, &exchange);
        }
        assert_int_equal(clocks.jitter_ns[0], 40 * NS_PER_MS);
        assert_false(two_clocks_stepped(&clocks));
    }
}

/* An ack that left after a step tells of packets that came before it: a trip too short by as much. Where the step is
 * about the jitter it is not seen as one, and T must not believe it, for nothing but a longer way raises T again. */
static void two_clocks__a_torn_trip_is_no_shorter_way(void **state)
{
    static const int64_t steps_ns[] = {1500000, 3000000, 4900000, 8000000};
    (void)state;
    for (unsigned index = 0; index < ROWS(steps_ns); index++) {
        const struct row row = {"ahead", 0, {5 * NS_PER_S, steps_ns[index], 0, 0, 0}, 0, 0, 0};
        struct two_clocks clocks = {.known = false};
        for (uint64_t true_ns = 0; true_ns < 10 * NS_PER_S; true_ns += EVERY_NS) {
            struct clock_exchange exchange = exchange_at(&row, true_ns);
            exchange.jump_ns = 4 * NS_PER_MS;
            two_clocks_on_exchange(&clocks, &exchange);
        }
        assert_in_range(clocks.trip_ns, THERE_NS + BACK_NS - 300000, THERE_NS + BACK_NS);
    }
}

static int64_t made_up(struct rng *rng)
{
    int64_t ns = rng_below(rng, 4) == 0 ? TWO_CLOCKS_TIME_NS_MAX : (int64_t)(rng_next(rng) >> 5);
    ns = MIN(ns >> (rng_below(rng, 2) == 0 ? 0 : rng_below(rng, 60)), TWO_CLOCKS_TIME_NS_MAX);
    return rng_below(rng, 2) == 0 ? ns : -ns;
}

/* A peer may make up its times: nothing overflows, which the undefined-behaviour sanitizer judges, and what was gained
 * stays within its bound. */
static void two_clocks__made_up_times(void **state)
{
    (void)state;
    for (uint64_t peer = 11579; peer < 11679; peer++) {
        struct two_clocks clocks = {.known = false};
        struct rng rng;
        uint64_t now_ns = 0;
        rng_init(&rng, peer);
        for (uint64_t turn = 0; turn < 2000; turn++) {
            now_ns += rng_below(&rng, 3 * NS_PER_S);
            const struct clock_exchange exchange = {
                .out_ns = made_up(&rng),
                .back_ns = made_up(&rng),
                .jump_ns = rng_below(&rng, 4) == 0 ? rng_below(&rng, 1ULL << 36) : 0,
                .rtt_ns = rng_below(&rng, 1ULL << 36),
                .now_ns = now_ns,
            };
            two_clocks_on_exchange(&clocks, &exchange);
            assert_true(two_clocks_gained_ns(&clocks) <= TWO_CLOCKS_GAINED_NS_MAX);
            assert_true(two_clocks_gained_ns(&clocks) >= -TWO_CLOCKS_GAINED_NS_MAX);
            (void)two_clocks_doubt_ns(&clocks);
        }
    }
}

/* Another far host: what was gained stays, so that delays go on. */
static void two_clocks__forgets(void **state)
{
    const struct row row = {"drift", 500, {.at_ns = 0}, 0, 0, 0};
    struct two_clocks clocks = {.known = false};
    (void)state;
    for (uint64_t true_ns = 0; true_ns < 10 * NS_PER_S; true_ns += EVERY_NS) {
        struct clock_exchange exchange = exchange_at(&row, true_ns);
        two_clocks_on_exchange(&clocks, &exchange);
    }
    int64_t gained_ns = two_clocks_gained_ns(&clocks);
    assert_in_range(gained_ns, 4800000, 5000000);
    two_clocks_forget(&clocks);
    assert_false(clocks.known);
    assert_int_equal(two_clocks_gained_ns(&clocks), gained_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_clocks__the_queue_shows),
        cmocka_unit_test(two_clocks__losing),
        cmocka_unit_test(two_clocks__few_late_acks_are_no_longer_way),
        cmocka_unit_test(two_clocks__few_acks_beside_jitter_hide_little),
        cmocka_unit_test(two_clocks__a_step_is_no_jitter),
        cmocka_unit_test(two_clocks__a_step_is_no_jitter_beside_jitter),
        cmocka_unit_test(two_clocks__late_packets_of_a_step_are_no_jitter),
        cmocka_unit_test(two_clocks__swings_are_no_steps),
        cmocka_unit_test(two_clocks__a_new_path_has_no_steps),
        cmocka_unit_test(two_clocks__a_drained_queue_is_no_step),
        cmocka_unit_test(two_clocks__a_torn_trip_is_no_shorter_way),
        cmocka_unit_test(two_clocks__made_up_times),
        cmocka_unit_test(two_clocks__forgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
