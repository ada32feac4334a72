/* bql/park.h and bql/chance.h: what a lower rate proves of a loss, round by round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/bql/park.h"

#define BEFORE_BPS 100000000ULL
#define PACKETS    1000

/* What takes packets: a share of whatever is sent, for so long; and what is more than the path takes. */
struct losses {
    uint32_t share_ppm;
    uint64_t share_ms; /* TIME_NEVER: for good */
    uint64_t takes_bps;
};

static struct bql_loss lose(const struct losses *losses, uint64_t since_ns, uint64_t rate_bps)
{
    bool shares = losses->share_ms == TIME_NEVER || since_ns < losses->share_ms * NS_PER_MS;
    uint64_t passes_bps = muldiv64(rate_bps, BQL_PPM - (shares ? losses->share_ppm : 0), BQL_PPM);
    passes_bps = MIN(passes_bps, losses->takes_bps);
    return (struct bql_loss){(uint32_t)muldiv64(rate_bps - passes_bps, BQL_PPM, rate_bps), passes_bps,
                             PACKETS};
}

/* An edge at BEFORE_BPS that parks for the loss, a round each round trip. */
struct stay {
    struct bql_path path;
    struct bql_ceiling ceiling;
    struct bql_park park;
    struct bql_view view;
    uint64_t rate_bps, from_ns;
};

static void begin(struct stay *stay, const struct losses *losses, uint32_t shown_ppm, bool starts,
                  uint64_t rtt_ns)
{
    *stay = (struct stay){.rate_bps = BEFORE_BPS, .from_ns = NS_PER_S};
    bql_path_init(&stay->path, 1538, rtt_ns, true, NS_PER_S);
    stay->path.chance.base_ppm = shown_ppm;
    bql_chance_on_shown(&stay->path.chance);
    bql_ceiling_init(&stay->ceiling);
    stay->view = (struct bql_view){.now_ns = NS_PER_S, .rtt_ns = rtt_ns, .target_ns = 10 * NS_PER_MS};
    const struct bql_start first_trial = {.before_bps = 0};
    struct bql_loss loss = lose(losses, 0, BEFORE_BPS);
    stay->path.delivered_bps = loss.delivered_bps;
    stay->rate_bps = bql_park_begin(&stay->park, &stay->ceiling, &stay->path, &loss, 0,
                                    starts ? &first_trial : NULL, BEFORE_BPS);
}

/* A round. True: the stay is over. */
static bool passes(struct stay *stay, const struct losses *losses, struct bql_move *move)
{
    struct bql_path *path = &stay->path;
    path->now_ns += path->rtt_ns;
    stay->view.now_ns = path->now_ns;
    stay->park.rounds++;
    struct bql_loss loss = lose(losses, path->now_ns - stay->from_ns, stay->rate_bps);
    bool excess = loss.loss_ppm > bql_chance_likely_ppm(&path->chance, PACKETS);
    if (excess) {
        *move = bql_park_on_loss(&stay->park, &stay->ceiling, path, &loss, stay->rate_bps);
    } else {
        *move = bql_park_on_quiet_round(&stay->park, &stay->ceiling, path, &stay->view, stay->rate_bps);
        bql_chance_on_round(&path->chance, loss.loss_ppm, PACKETS, true);
    }
    if (move->rate_bps > 0)
        stay->rate_bps = move->rate_bps;
    if (move->enters && move->phase == BQL_PARK)
        stay->rate_bps = bql_park_lower(&stay->park, &stay->ceiling, path, &move->loss, stay->rate_bps);
    stay->rate_bps = MAX(stay->rate_bps, BQL_RATE_MIN_BPS);
    if (!move->enters || move->phase == BQL_PARK)
        *move = bql_park_step(&stay->park, &stay->ceiling, path, &stay->view);
    return move->enters;
}

/* The edge knows that chance takes so much, and then so much gets lost: how long it stays, with what rate it goes on,
 * and what it takes for chance then. */
static const struct {
    uint32_t shown_permille, share_permille;
    uint64_t share_ms;
    uint32_t takes_percent; /* of the rate of before */
    bool alone, starts;
    uint64_t rtt_ms, least_ms, most_ms; /* that it stays; TIME_NEVER: for ever */
    enum bql_phase then;
    uint32_t rate_permille_min, rate_permille_max; /* of that of before */
    uint32_t p0_permille;
} proofs[] = {
    {0, 45, TIME_NEVER, 100, false, false, 50, 50, 400, BQL_CALM, 1000, 1000, 45},  /* plausible */
    {0, 55, TIME_NEVER, 100, false, false, 50, 3750, 4200, BQL_CALM, 125, 125, 55}, /* a little more is not */
    {0, 200, TIME_NEVER, 100, false, false, 50, 3750, 4200, BQL_CALM, 125, 125, 200}, /* nor much more */
    {0, 200, TIME_NEVER, 100, false, false, 80, 4500, 5000, BQL_CALM, 125, 125, 200}, /* a longer path */
    {0, 200, TIME_NEVER, 100, false, false, 200, 9000, 10000, BQL_CALM, 125, 125,
     200},                                                                        /* a still longer one */
    {0, 200, TIME_NEVER, 100, false, false, 1, 1, 10, BQL_CALM, 1000, 1000, 200}, /* one of few packets */
    {165, 280, TIME_NEVER, 100, false, false, 50, 3750, 4200, BQL_CALM, 125, 125, 280}, /* much was known */
    {320, 390, TIME_NEVER, 100, false, false, 50, 50, 400, BQL_CALM, 1000, 1000, 390}, /* … and a quarter */
    {165, 245, TIME_NEVER, 100, false, false, 50, 50, 400, BQL_CALM, 1000, 1000, 245}, /* … and 3 sigma */
    {0, 200, TIME_NEVER, 100, false, true, 50, 50, 400, BQL_START, 1000, 1000, 200},   /* the first trial */
    {0, 200, TIME_NEVER, 100, true, false, 50, 50, 400, BQL_CALM, 1000, 1000, 200}, /* no others for long */
    {0, 200, 3000, 100, false, false, 50, 3000, 3750, BQL_CALM, 60, 70, 0},         /* a crowd goes lower */
    {0, 0, 0, 1, false, false, 50, 50, 1000, BQL_CALM, 0, 11, 0},                   /* a slower path */
    {0, 600, TIME_NEVER, 100, false, false, 50, TIME_NEVER, TIME_NEVER, BQL_PARK, 0, 1,
     0}, /* no chance takes that */
};

static void park__chance_beyond_what_was_shown_takes_depth(void **state)
{
    (void)state;
    for (size_t index = 0; index < sizeof(proofs) / sizeof(proofs[0]); index++) {
        print_message("row %zu\n", index);
        const struct losses losses = {proofs[index].share_permille * 1000, proofs[index].share_ms,
                                      BEFORE_BPS / 100 * proofs[index].takes_percent};
        struct stay stay;
        struct bql_move move = bql_stay();
        begin(&stay, &losses, proofs[index].shown_permille * 1000, proofs[index].starts,
              proofs[index].rtt_ms * NS_PER_MS);
        stay.park.alone = proofs[index].alone;
        bool over = false;
        for (uint32_t round = 0; round < 400 && !over; round++)
            over = passes(&stay, &losses, &move);
        uint64_t stayed_ms = over ? (stay.path.now_ns - stay.from_ns) / NS_PER_MS : TIME_NEVER;
        assert_in_range(stayed_ms, proofs[index].least_ms, proofs[index].most_ms);
        if (over)
            assert_int_equal(move.phase, proofs[index].then);
        assert_in_range(stay.rate_bps * 1000 / BEFORE_BPS, proofs[index].rate_permille_min,
                        proofs[index].rate_permille_max);
        assert_in_range((stay.path.chance.base_ppm + 500) / 1000, proofs[index].p0_permille,
                        proofs[index].p0_permille);
    }
}

/* Within 10 s or 20 RTT of the last time that a loss led here others may be there. */
static void park__a_ceiling_becomes_old(void **state)
{
    (void)state;
    static const struct {
        uint64_t rtt_ms, after_ms;
        bool old;
    } rows[] = {{50, 10000, false}, {50, 10001, true}, {600, 12000, false}, {600, 12001, true}};
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct stay stay;
        const struct losses losses = {100000, TIME_NEVER, TIME_NEVER};
        begin(&stay, &losses, 0, false, rows[index].rtt_ms * NS_PER_MS);
        stay.path.now_ns += rows[index].after_ms * NS_PER_MS;
        assert_int_equal(bql_ceiling_is_old(&stay.ceiling, &stay.path), rows[index].old);
    }
}

/* Far below it, where other reasons have led, the rate may grow at once. */
static void park__near_a_ceiling(void **state)
{
    (void)state;
    static const struct {
        uint64_t percent, after_ms; /* of the ceiling; since the loss that set it */
        bool again, near;           /* it was found at the same rate before */
    } rows[] = {{24, 0, false, false},    {26, 0, false, true},   {100, 0, false, true},
                {112, 0, false, true},    {113, 0, false, false}, {149, 0, true, true},
                {151, 0, true, false},    {24, 0, true, false},   {100, 5999, false, true},
                {100, 6001, false, false}};
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct stay stay;
        const struct losses losses = {100000, TIME_NEVER, TIME_NEVER};
        begin(&stay, &losses, 0, false, 50 * NS_PER_MS);
        stay.ceiling.rounds *= rows[index].again ? 2 : 1;
        stay.view.now_ns += rows[index].after_ms * NS_PER_MS;
        bool near = bql_ceiling_near(&stay.ceiling, &stay.view, stay.ceiling.bps / 100 * rows[index].percent);
        if (near != rows[index].near)
            fail_msg("row %zu: %s", index, near ? "near" : "not near");
    }
}

/* Quiet rounds raise p0 as far as is plausible, however many there are, and what is plausible falls after p0. */
static void chance__creeps_no_further_than_is_plausible(void **state)
{
    (void)state;
    struct bql_chance chance = {.base_ppm = 100000};
    bql_chance_on_shown(&chance);
    for (uint32_t loss_ppm = 100000; loss_ppm < 400000; loss_ppm += 1000)
        bql_chance_on_round(&chance, loss_ppm, 1000000, true);
    assert_in_range(chance.base_ppm, 145000, 150000);
    for (uint32_t round = 0; round < 200; round++)
        bql_chance_on_round(&chance, 0, 1000000, true);
    assert_in_range(chance.base_ppm, 0, 1000);
    assert_true(bql_chance_plausible(&chance, 50000, 1000000));
    assert_false(bql_chance_plausible(&chance, 53000, 1000000));
}

/* What rounds of many packets swing by counts for 10 % at most, and for all that it is where they have few. */
static void chance__swing_explains_a_tenth_at_most(void **state)
{
    (void)state;
    static const struct {
        uint32_t base_ppm, swing_ppm, likely_ppm;
    } rows[] = {{0, 10000, 20000}, {0, 200000, 100000}, {100000, 20000, 140000}, {400000, 200000, 500000}};
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct bql_chance chance = {.base_ppm = rows[index].base_ppm, .swing_ppm = rows[index].swing_ppm};
        assert_in_range(bql_chance_likely_ppm(&chance, 1000000000ULL), rows[index].likely_ppm,
                        rows[index].likely_ppm + 100);
    }
    const struct bql_chance few = {.base_ppm = 100000, .swing_ppm = 200000};
    assert_in_range(bql_chance_likely_ppm(&few, 95), 500000, 600000);
    assert_in_range(bql_chance_likely_ppm(&few, 96), 200000, 300000);
}

/* A start that shows little tells less; one that shows nothing leaves what a lower rate has proven meanwhile: a path that
 * lost 34 % had 0.2 of its rate. */
static void chance__a_start_that_shows_nothing_leaves_what_is_proven(void **state)
{
    (void)state;
    static const struct {
        uint64_t packets;
        uint32_t after_ppm;
    } rows[] = {{0, 340000}, {48, 255000}, {200, 340000}};
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct bql_chance chance = {.base_ppm = 340000, .shown_ppm = 340000};
        bql_chance_on_start(&chance, rows[index].packets);
        assert_int_equal(chance.base_ppm, rows[index].after_ppm);
        assert_int_equal(chance.shown_ppm, rows[index].after_ppm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(park__chance_beyond_what_was_shown_takes_depth),
        cmocka_unit_test(park__a_ceiling_becomes_old),
        cmocka_unit_test(park__near_a_ceiling),
        cmocka_unit_test(chance__creeps_no_further_than_is_plausible),
        cmocka_unit_test(chance__swing_explains_a_tenth_at_most),
        cmocka_unit_test(chance__a_start_that_shows_nothing_leaves_what_is_proven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
