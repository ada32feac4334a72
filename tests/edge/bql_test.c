/* The strategies over a bottleneck in virtual time: shares, queues and losses, in cells that no other test
 * has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/cubic_window.h"
#include "lab.h"

#define MBPS(n) ((uint64_t)(n)*1000000)
#define MS(n)   ((uint64_t)((n)*1e6))

/* Times and sizes of a cell; limits of what it may show. A limit of 0 is none. */
struct cell {
    const char *name;
    uint64_t rate_mbps, rtt_ms, buffer_us;
    uint32_t loss_permille, jitter_ms;
    bool reorder, known;
    uint64_t from_ms, to_ms;
    uint32_t share_permille_min; /* of the rate less the loss */
    uint64_t queue_p50_us_max;
    uint32_t own_loss_permille_max;
    uint32_t packet_bytes; /* 0: LAB_PACKET_BYTES */
};

static const struct cell cells[] = {
    {"plain", 1000, 50, 100000, 0, 0, false, false, 1000, 3000, 980, 5000, 1, 0},
    {"loss", 1000, 50, 100000, 50, 0, false, false, 1500, 3500, 970, 5000, 1, 0},
    {"much loss", 100, 100, 100000, 300, 0, false, false, 4000, 8000, 930, 15000, 3, 0},
    {"jitter that overtakes", 1000, 60, 50000, 7, 9, true, false, 1000, 3000, 960, 18000, 5, 0},
    {"jitter in order", 1000, 60, 50000, 1, 3, false, false, 1000, 3000, 960, 8000, 10, 0},
    {"shallow buffer", 1000, 100, 2000, 0, 0, false, false, 1500, 5500, 970, 2000, 10, 0},
    {"deep buffer", 100, 20, 400000, 0, 0, false, false, 1000, 5000, 980, 12000, 1, 0},
    {"short path", 2000, 1, 2000, 0, 0, false, false, 500, 1000, 950, 2000, 10, 0},
    {"slow path", 5, 100, 200000, 0, 0, false, false, 3000, 12000, 930, 50000, 5, 0},
    {"known rate", 1000, 100, 50000, 0, 0, false, true, 250, 1000, 980, 10000, 1, 0},
    {"known rate, much loss", 1000, 100, 50000, 300, 0, false, true, 2000, 5000, 950, 10000, 1, 0},
    {"large packets", 8000, 10, 50000, 60, 0, false, false, 150, 1000, 970, 2000, 1, 9038},
};

static struct lab_result result;

static uint32_t packet_bytes(const struct cell *cell)
{
    return cell->packet_bytes > 0 ? cell->packet_bytes : LAB_PACKET_BYTES;
}

static void set_edge(struct lab_config *config, uint32_t index, const struct cell *cell,
                     const struct congestion_type *type)
{
    config->edges[index] = (struct lab_edge){.type = type,
                                             .rtt_ns = MS(cell->rtt_ms),
                                             .jitter_ns = MS(cell->jitter_ms),
                                             .reorder = cell->reorder,
                                             .loss_ppb = cell->loss_permille * 1000000ULL,
                                             .loss_back_ppb = cell->loss_permille * 1000000ULL,
                                             .initial_bps = MBPS(cell->known ? cell->rate_mbps : 10),
                                             .known = cell->known,
                                             .packet_bytes = packet_bytes(cell)};
}

static struct lab_config config_of(const struct cell *cell)
{
    struct lab_config config = {.edge_count = 1,
                                .end_ns = MS(cell->to_ms),
                                .measure_from_ns = MS(cell->from_ms),
                                .measure_to_ns = MS(cell->to_ms),
                                .seed = 1};
    config.bottleneck.rate_bps = MBPS(cell->rate_mbps);
    config.bottleneck.queue_unit = NETEM_QUEUE_BYTES;
    config.bottleneck.queue_limit = MAX(bytes_within(MBPS(cell->rate_mbps), cell->buffer_us * NS_PER_US),
                                        (uint64_t)4 * packet_bytes(cell));
    set_edge(&config, 0, cell, congestion_find("bql"));
    return config;
}

static uint64_t share_permille(const struct lab_config *config, uint32_t edge)
{
    uint64_t measured_ns = config->measure_to_ns - config->measure_from_ns;
    uint64_t bytes = result.edges[edge].new_packets * config->edges[edge].packet_bytes;
    uint64_t bps = muldiv64(bytes * 8, NS_PER_S, measured_ns);
    uint64_t left_ppb = NS_PER_S - config->edges[edge].loss_ppb;
    return muldiv64(bps, 1000, muldiv64(config->bottleneck.rate_bps, left_ppb, NS_PER_S));
}

static void bql__fills_paths_without_filling_buffers(void **state)
{
    (void)state;
    for (size_t index = 0; index < sizeof(cells) / sizeof(cells[0]); index++) {
        const struct cell *cell = &cells[index];
        struct lab_config config = config_of(cell);
        lab_run(&config, &result);
        print_message("%s: share %llu per mille, queue p50 %llu us\n", cell->name,
                      (unsigned long long)share_permille(&config, 0),
                      (unsigned long long)(result.queue_p50_ns / NS_PER_US));
        assert_in_range(share_permille(&config, 0), cell->share_permille_min, 1010);
        assert_in_range(result.queue_p50_ns / NS_PER_US, 0, cell->queue_p50_us_max);
        assert_in_range(muldiv64(result.queue_drops, 1000, MAX(result.offered, (uint64_t)1)), 0,
                        cell->own_loss_permille_max);
    }
}

/* Bursts of 50 packets, 1 % of all: a round trip may lose several times what the one before did. */
static void bql__bursts_of_loss_are_no_full_buffer(void **state)
{
    (void)state;
    const struct cell cell = {.name = "bursts",
                              .rate_mbps = 1000,
                              .rtt_ms = 200,
                              .buffer_us = 200000,
                              .from_ms = 2400,
                              .to_ms = 7400};
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct lab_config config = config_of(&cell);
        config.bottleneck.burst =
            (struct netem_burst){.enter_ppb = 202000, .leave_ppb = 20000000, .loss_ppb = NS_PER_S};
        config.seed = seed;
        lab_run(&config, &result);
        print_message("bursts, seed %llu: share %llu per mille\n", (unsigned long long)seed,
                      (unsigned long long)share_permille(&config, 0));
        assert_in_range(share_permille(&config, 0), 960, 1010);
    }
}

/* Rounds of 32 packets that lose a fifth by chance, in a buffer shorter than q*: what these let pass for chance was
 * also what a path drops of fifty times its rate. */
static void bql__never_outruns_its_deliveries(void **state)
{
    (void)state;
    const struct cell cell = {.name = "near and lossy",
                              .rate_mbps = 146,
                              .rtt_ms = 1,
                              .buffer_us = 920,
                              .from_ms = 1000,
                              .to_ms = 8000};
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct lab_config config = config_of(&cell);
        config.edges[0].rtt_ns = 243600;
        config.edges[0].jitter_ns = 21000;
        config.edges[0].reorder = true;
        config.edges[0].loss_ppb = 189500000;
        config.edges[0].loss_back_ppb = 189500000;
        config.seed = seed;
        lab_run(&config, &result);
        uint64_t own_permille = muldiv64(result.queue_drops, 1000, MAX(result.offered, (uint64_t)1));
        print_message("near and lossy, seed %llu: share %llu, own loss %llu per mille\n",
                      (unsigned long long)seed, (unsigned long long)share_permille(&config, 0),
                      (unsigned long long)own_permille);
        assert_in_range(share_permille(&config, 0), 820, 1010);
        assert_in_range(own_permille, 0, 120);
    }
}

/* Few packets a round trip, and packets and acks that overtake each other by up to 0.8 RTT: their least delay says little
 * of a queue. One start took 30 round trips, and one edge in twelve ended, refresh by refresh, below a tenth of the path. */
static void bql__starts_and_stays_where_packets_overtake_by_far(void **state)
{
    (void)state;
    static const struct {
        uint64_t seed, from_s, to_s;
    } rows[] = {{4, 14, 40}, {5, 14, 40}, {7, 14, 40}, {9, 14, 40}, {12, 14, 40},
                {1, 55, 85}, {2, 55, 85}, {3, 55, 85}, {4, 55, 85}, {10, 55, 85}};
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        const struct cell cell = {.name = "overtaking",
                                  .rate_mbps = 50,
                                  .rtt_ms = 1000,
                                  .buffer_us = 300000,
                                  .from_ms = rows[index].from_s * 1000,
                                  .to_ms = rows[index].to_s * 1000};
        struct lab_config config = config_of(&cell);
        config.edges[0].jitter_ns = MS(400);
        config.edges[0].reorder = true;
        config.seed = rows[index].seed;
        lab_run(&config, &result);
        print_message("overtaking, seed %llu: share %llu per mille\n", (unsigned long long)rows[index].seed,
                      (unsigned long long)share_permille(&config, 0));
        assert_in_range(share_permille(&config, 0), 930, 1010);
    }
}

/* Seeds of which each was a slow start once: the train met packets that waited for their predecessors. */
static void bql__starts_where_packets_wait_for_their_predecessors(void **state)
{
    (void)state;
    static const struct {
        uint64_t rtt_ms, seed;
        uint32_t jitter_ms, loss_permille;
    } starts[] = {{120, 26, 9, 0}, {120, 52, 9, 0}, {120, 56, 9, 1}, {120, 42, 7, 0},
                  {60, 8, 8, 1},   {60, 26, 6, 0},  {60, 15, 9, 0}};
    for (size_t index = 0; index < sizeof(starts) / sizeof(starts[0]); index++) {
        const struct cell cell = {.name = "start",
                                  .rate_mbps = 1000,
                                  .rtt_ms = starts[index].rtt_ms,
                                  .buffer_us = 1000 * starts[index].rtt_ms,
                                  .loss_permille = starts[index].loss_permille,
                                  .jitter_ms = starts[index].jitter_ms,
                                  .from_ms = 12 * starts[index].rtt_ms,
                                  .to_ms = 12 * starts[index].rtt_ms + 2000};
        struct lab_config config = config_of(&cell);
        config.seed = starts[index].seed;
        lab_run(&config, &result);
        assert_in_range(share_permille(&config, 0), 950, 1010);
        assert_in_range(result.queue_p50_ns, 0, MS(2 * cell.jitter_ms));
    }
}

/* … and by much of the round trip: a trial takes as long as one and a half, and of the last one's queue half was taken for
 * the way, or all of the first one's for a queue. The share from the 12th round trip on. */
static void bql__starts_where_packets_wait_for_much_of_the_round_trip(void **state)
{
    (void)state;
    static const struct {
        uint64_t rate_mbps, rtt_ms, seed;
        uint32_t jitter_ms;
    } rows[] = {{400, 250, 1, 80},  {400, 250, 2, 80},  {400, 250, 3, 80},  {400, 250, 5, 80},
                {400, 250, 6, 80},  {400, 250, 8, 80},  {100, 400, 1, 150}, {100, 400, 2, 150},
                {100, 400, 3, 150}, {100, 400, 5, 150}, {407, 96, 4, 33}};
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        const struct cell cell = {.name = "waits long",
                                  .rate_mbps = rows[index].rate_mbps,
                                  .rtt_ms = rows[index].rtt_ms,
                                  .buffer_us = 2000 * rows[index].rtt_ms,
                                  .jitter_ms = rows[index].jitter_ms,
                                  .from_ms = 12 * rows[index].rtt_ms,
                                  .to_ms = 50 * rows[index].rtt_ms};
        struct lab_config config = config_of(&cell);
        config.seed = rows[index].seed;
        lab_run(&config, &result);
        print_message("waits long, row %zu: share %llu per mille\n", index,
                      (unsigned long long)share_permille(&config, 0));
        assert_in_range(share_permille(&config, 0), 800, 1010);
    }
}

/* The receiver's clock gains or loses, jumps, and the way back changes under that: all that is no queue, and hides
 * none from a small buffer. */
static void bql__clocks_are_no_queue(void **state)
{
    (void)state;
    static const struct {
        uint64_t rtt_ms, buffer_us;
        int64_t skew_ppm;
        int64_t ahead_ms, longer_ms;
        uint64_t jitter_ms; /* overtakes */
    } rows[] = {{2, 4000, -500, 0, 0, 0},   {20, 40000, 500, 0, 0, 0},     {20, 40000, -500, 0, 0, 0},
                {20, 40000, 0, 10, 0, 0},   {20, 40000, -200, 5000, 0, 0}, {20, 40000, 500, 0, 20, 0},
                {20, 40000, 500, 0, -5, 0}, {20, 40000, 0, -100, 0, 0},    {60, 60000, 0, -500, 0, 20},
                {60, 60000, 0, 500, 0, 20}};
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        const struct cell cell = {.name = "clocks",
                                  .rate_mbps = 400,
                                  .rtt_ms = rows[index].rtt_ms,
                                  .buffer_us = 2 * rows[index].buffer_us,
                                  .from_ms = 2000,
                                  .to_ms = 12000};
        struct lab_config config = config_of(&cell);
        config.edges[0].skew_ppm = rows[index].skew_ppm;
        config.edges[0].ahead_at_ns = 3 * NS_PER_S;
        config.edges[0].ahead_ns = rows[index].ahead_ms * 1000000;
        config.edges[0].jitter_ns = MS(rows[index].jitter_ms);
        config.edges[0].longer_at_ns = 3 * NS_PER_S;
        config.edges[0].longer_ns = rows[index].longer_ms * 1000000;
        lab_run(&config, &result);
        print_message("clocks, row %zu: share %llu per mille, queue %llu us\n", index,
                      (unsigned long long)share_permille(&config, 0),
                      (unsigned long long)(result.queue_p50_ns / 1000));
        /* Set back by 500 ms the receiver's clock counts nothing for some of them. */
        assert_in_range(share_permille(&config, 0), rows[index].ahead_ms <= -500 ? 940 : 975, 1010);
        assert_in_range(result.queue_p50_ns, 0, MS(5 + rows[index].jitter_ms));
        assert_int_equal(result.queue_drops, 0);
    }
}

/* A receiver's clock that was set back hides as much of the queue, or the way back has become longer: which of them is
 * found out without half a round trip's packets. */
static void bql__doubt_costs_little(void **state)
{
    (void)state;
    static const struct {
        uint64_t rate_mbps, rtt_ms;
        int64_t ahead_us, longer_us;
    } rows[] = {{1000, 60, -1000, 0}, {1000, 60, 0, 1500}, {1000, 60, -3000, 0}, {1000, 30, 0, 1500}};
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        const struct cell cell = {.name = "doubt",
                                  .rate_mbps = rows[index].rate_mbps,
                                  .rtt_ms = rows[index].rtt_ms,
                                  .buffer_us = 200000,
                                  .from_ms = 4000,
                                  .to_ms = 8000};
        struct lab_config config = config_of(&cell);
        config.series_ns = MS(cell.rtt_ms);
        config.edges[0].ahead_at_ns = config.edges[0].longer_at_ns = 4 * NS_PER_S;
        config.edges[0].ahead_ns = rows[index].ahead_us * 1000;
        config.edges[0].longer_ns = rows[index].longer_us * 1000;
        lab_run(&config, &result);
        uint64_t full = bytes_within(MBPS(cell.rate_mbps), config.series_ns) / LAB_PACKET_BYTES, least = full;
        for (uint64_t turn = 4000 / cell.rtt_ms; turn < 8000 / cell.rtt_ms; turn++)
            least = MIN(least, (uint64_t)result.edges[0].series[turn]);
        print_message("doubt, row %zu: least round trip %llu of %llu, queue %llu us\n", index,
                      (unsigned long long)least, (unsigned long long)full,
                      (unsigned long long)(result.queue_p50_ns / 1000));
        assert_in_range(least * 100 / full, 92, 100);
        assert_in_range(result.queue_p50_ns, 0, MS(5));
    }
}

/* Full of packets all the time a small buffer loses ever more of them; once that was taken for chance,
 * without end. */
static void bql__takes_loss_that_grows_with_the_rate_for_its_own(void **state)
{
    (void)state;
    const struct cell cell = {.name = "creep",
                              .rate_mbps = 1545,
                              .rtt_ms = 1,
                              .buffer_us = 160,
                              .loss_permille = 11,
                              .from_ms = 100,
                              .to_ms = 1500};
    struct lab_config config = config_of(&cell);
    config.seed = 2023;
    config.edges[0].rtt_ns = 430 * NS_PER_US;
    config.edges[0].jitter_ns = 180 * NS_PER_US;
    lab_run(&config, &result);
    assert_in_range(share_permille(&config, 0), 950, 1010);
    assert_in_range(muldiv64(result.queue_drops, 1000, result.offered), 0, 100);
}

/* Shares are of the link, of which the policer lets pass a twentieth: by a bucket that a train overflows, and
 * by ones that let pass more for a while; with loss by chance beside. */
static void bql__settles_below_a_policer(void **state)
{
    (void)state;
    static const uint32_t depths_kbytes[] = {10, 100, 1000};
    for (uint32_t draw = 0; draw < 6; draw++) {
        const uint32_t loss_permille = draw % 2 * 10;
        const struct cell cell = {"policer", 10000, 20, 100000, loss_permille, 0, false, false, 400, 5000,
                                  0,         0,     0,  0};
        struct lab_config config = config_of(&cell);
        config.bottleneck.policer_bps = MBPS(500);
        config.bottleneck.policer_depth_bytes = depths_kbytes[draw / 2] * 1000;
        lab_run(&config, &result);
        print_message("policer of %u KB: share %llu, own loss %llu per mille\n", depths_kbytes[draw / 2],
                      (unsigned long long)share_permille(&config, 0),
                      (unsigned long long)muldiv64(result.policer_drops, 1000, result.offered));
        assert_in_range(share_permille(&config, 0), 47, 50);
        assert_in_range(muldiv64(result.policer_drops, 1000, result.offered), 0, 9);
    }
}

static void bql__shares_a_queue_that_stood_before_it_came(void **state)
{
    (void)state;
    const struct cell cell = {"shared", 500, 40, 100000, 0, 0, false, false, 25000, 35000, 0, 0, 0, 0};
    struct lab_config config = config_of(&cell);
    config.edge_count = 4;
    for (uint32_t edge = 0; edge < 4; edge++) {
        set_edge(&config, edge, &cell, congestion_find("bql"));
        config.edges[edge].rtt_ns = MS(20 + 30 * edge);
        config.edges[edge].start_ns = MS(2000 * edge);
    }
    lab_run(&config, &result);
    for (uint32_t edge = 0; edge < 4; edge++)
        assert_in_range(share_permille(&config, edge), 150, 340);
    assert_in_range(result.queue_p50_ns, 0, MS(15));
}

static void bql__is_back_at_once_after_a_blackout(void **state)
{
    (void)state;
    const struct cell cell = {"blackout", 1000, 100, 100000, 0, 0, false, false, 8300, 9000, 0, 0, 0, 0};
    struct lab_config config = config_of(&cell);
    config.step_count = 2;
    config.steps[0] = (struct lab_step){.at_ns = MS(3000), .down = true};
    config.steps[1] = (struct lab_step){.at_ns = MS(8000), .rate_bps = MBPS(1000)};
    lab_run(&config, &result);
    assert_in_range(share_permille(&config, 0), 970, 1010);
}

/* What is dark from the beginning tells nothing of its rate: a flood must not be the answer. */
static void bql__begins_with_a_train_after_a_silence(void **state)
{
    (void)state;
    const struct cell cell = {"dark", 200, 40, 20000, 0, 0, false, false, 3700, 5000, 0, 0, 0, 0};
    struct lab_config config = config_of(&cell);
    config.step_count = 2;
    config.steps[0] = (struct lab_step){.at_ns = 0, .down = true};
    config.steps[1] = (struct lab_step){.at_ns = MS(3000), .rate_bps = MBPS(200)};
    lab_run(&config, &result);
    assert_in_range(share_permille(&config, 0), 970, 1010);
    assert_in_range(muldiv64(result.queue_drops_all, 1000, result.offered_all), 0, 10);
}

/* At 1 s of RTT and 30 % loss both ways every train and its acks count: it holds for any draw. */
static void bql__starts_in_spite_of_lost_acks(void **state)
{
    (void)state;
    const struct cell cell = {"far", 50, 1000, 50000, 300, 0, false, false, 12000, 20000, 0, 0, 0, 0};
    struct lab_config config = config_of(&cell);
    for (config.seed = 1; config.seed <= 30; config.seed++) {
        lab_run(&config, &result);
        assert_in_range(share_permille(&config, 0), 930, 1020);
    }
}

/* The train's own acks are lost: the first that comes tells of the last few packets, or of a probe that left
 * long after them, and neither is the path's rate. Seeds of which each flooded the path once. */
static void bql__takes_no_later_packet_for_the_train(void **state)
{
    (void)state;
    static const struct {
        uint64_t rate_mbps, rtt_ms, seed;
        uint32_t back_permille;
    } starts[] = {{100, 20, 1, 750}, {100, 20, 5, 750}, {300, 40, 1, 750}, {300, 40, 5, 750},
                  {20, 30, 4, 500},  {20, 30, 1, 750},  {20, 30, 5, 750}};
    for (size_t index = 0; index < sizeof(starts) / sizeof(starts[0]); index++) {
        uint64_t rtt_ms = starts[index].rtt_ms;
        bool jittery = rtt_ms == 40;
        const struct cell cell = {.name = "acks",
                                  .rate_mbps = starts[index].rate_mbps,
                                  .rtt_ms = rtt_ms,
                                  .buffer_us = 500 * rtt_ms,
                                  .jitter_ms = jittery ? 4 : 0,
                                  .from_ms = 1500,
                                  .to_ms = 6000};
        struct lab_config config = config_of(&cell);
        config.edges[0].loss_back_ppb = starts[index].back_permille * 1000000ULL;
        config.seed = starts[index].seed;
        lab_run(&config, &result);
        print_message("acks lost: %llu of %llu dropped\n", (unsigned long long)result.queue_drops_all,
                      (unsigned long long)result.offered_all);
        assert_in_range(muldiv64(result.queue_drops_all, 1000, result.offered_all), 0, 20);
    }
}

/* 10 % lost by chance where few packets come, from early on: once p0 stayed too low for a minute and more, and the edge
 * parked at down to 40 % of what the path takes. */
static void bql__learns_chance_from_few_packets(void **state)
{
    (void)state;
    static const struct {
        uint64_t rate_kbps, rtt_ms, seed;
    } paths[] = {{64, 300, 2},    {64, 300, 5},    {64, 1200, 6},   {256, 300, 6},   {256, 300, 19},
                 {256, 1200, 32}, {256, 1200, 45}, {256, 1200, 59}, {1000, 700, 11}, {128, 450, 3}};
    for (size_t index = 0; index < sizeof(paths) / sizeof(paths[0]); index++) {
        const struct cell cell = {.name = "chance",
                                  .rate_mbps = 1,
                                  .rtt_ms = paths[index].rtt_ms,
                                  .loss_permille = 100,
                                  .from_ms = 15 * paths[index].rtt_ms + 1000,
                                  .to_ms = 75000};
        struct lab_config config = config_of(&cell);
        config.seed = paths[index].seed;
        config.bottleneck.rate_bps = paths[index].rate_kbps * 1000;
        config.bottleneck.queue_limit =
            MAX(bytes_within(config.bottleneck.rate_bps, MS(400)), (uint64_t)10 * LAB_PACKET_BYTES);
        lab_run(&config, &result);
        print_message("chance %zu: share %llu per mille\n", index,
                      (unsigned long long)share_permille(&config, 0));
        assert_in_range(share_permille(&config, 0), 900, 1050);
    }
}

/* Paths of a few packets a second, with a buffer of 400 ms or 10 packets: once a full buffer was taken for the
 * empty path, or its own queue for somebody else's, and more was dropped than came. */
static void bql__keeps_a_slow_path_from_dropping(void **state)
{
    (void)state;
    static const struct {
        uint64_t rate_kbps, rtt_ms;
        uint32_t loss_permille, share_permille;
    } paths[] = {{64, 300, 0, 930},  {64, 1200, 0, 900},  {256, 300, 0, 950},   {256, 300, 100, 850},
                 {256, 700, 0, 950}, {500, 200, 30, 900}, {2000, 300, 100, 920}};
    for (size_t index = 0; index < sizeof(paths) / sizeof(paths[0]); index++) {
        const struct cell cell = {.name = "slow",
                                  .rate_mbps = 1,
                                  .rtt_ms = paths[index].rtt_ms,
                                  .loss_permille = paths[index].loss_permille,
                                  .from_ms = 30000,
                                  .to_ms = 150000};
        struct lab_config config = config_of(&cell);
        config.bottleneck.rate_bps = paths[index].rate_kbps * 1000;
        config.bottleneck.queue_limit =
            MAX(bytes_within(config.bottleneck.rate_bps, MS(400)), (uint64_t)10 * LAB_PACKET_BYTES);
        lab_run(&config, &result);
        uint64_t dropped = muldiv64(result.queue_drops, 1000, result.offered);
        print_message("slow path %zu: share %llu per mille, own loss %llu per mille\n", index,
                      (unsigned long long)share_permille(&config, 0), (unsigned long long)dropped);
        assert_in_range(share_permille(&config, 0), paths[index].share_permille, 1010);
        assert_in_range(dropped, 0, 10);
    }
}

/* By 10 round trips after each step the share is that of the new rate. */
static void bql__follows_steps_of_the_rate(void **state)
{
    (void)state;
    const struct cell cell = {"steps", 200, 50, 250000, 0, 0, false, false, 3500, 4000, 0, 0, 0, 0};
    struct lab_config config = config_of(&cell);
    config.step_count = 1;
    config.steps[0] = (struct lab_step){.at_ns = MS(3000), .rate_bps = MBPS(800)};
    lab_run(&config, &result);
    assert_in_range(share_permille(&config, 0), 3600, 4040);
    config.steps[0].rate_bps = MBPS(40);
    config.measure_from_ns = MS(4000);
    config.measure_to_ns = config.end_ns = MS(5000);
    lab_run(&config, &result);
    assert_in_range(share_permille(&config, 0), 180, 202);
    assert_in_range(result.queue_p50_ns, 0, MS(25));
}

/* Whatever its receiver's clock does: one that loses hides a queue from it. Where jitter keeps the order, packets that wait
 * for their predecessors are no queue, and bql's is one. */
static void scavenger__yields_to_bql_and_comes_back(void **state)
{
    (void)state;
    struct cell cell = {"beside", 200, 50, 100000, 0, 0, false, false, 8000, 12000, 0, 0, 0, 0};
    static const struct {
        int64_t skew_ppm;
        uint32_t jitter_ms, back_permille;
    } rows[] = {{0, 0, 850}, {-500, 0, 800}, {500, 0, 800}, {0, 4, 200}};
    for (uint32_t run = 0; run < 8; run++) {
        cell.jitter_ms = rows[run / 2].jitter_ms;
        struct lab_config config = config_of(&cell);
        uint32_t first = run % 2;
        config.edge_count = 2;
        set_edge(&config, 0, &cell, congestion_find("scavenger"));
        set_edge(&config, 1, &cell, congestion_find("bql"));
        config.edges[0].skew_ppm = rows[run / 2].skew_ppm;
        config.edges[first].start_ns = MS(4000);
        config.edges[1].stop_ns = MS(12000);
        lab_run(&config, &result);
        assert_in_range(share_permille(&config, 0), 0, 100);
        assert_in_range(share_permille(&config, 1), 880, 1010);
        config.measure_from_ns = MS(13500); /* 30 round trips later */
        config.measure_to_ns = config.end_ns = MS(16000);
        lab_run(&config, &result);
        print_message("run %u: back with %llu per mille\n", run,
                      (unsigned long long)share_permille(&config, 0));
        assert_in_range(share_permille(&config, 0), rows[run / 2].back_permille, 1010);
    }
}

/* RFC 9438: back at W_max after K seconds, beyond it after that. */
static void cubic__returns_to_its_old_window_after_k(void **state)
{
    (void)state;
    const uint64_t packet = 1538, rtt_ns = MS(100);
    struct cubic_window window;
    cubic_init(&window, 10000 * packet, packet, 0);
    cubic_on_loss(&window, rtt_ns, NS_PER_S);
    assert_int_equal(window.bytes, 8000 * packet);
    cubic_on_loss(&window, rtt_ns, NS_PER_S + MS(50)); /* the same round trip */
    assert_int_equal(window.bytes, 8000 * packet);
    uint64_t k_ms = window.inflect_ms; /* cbrt(2000 / 0.4) s */
    assert_in_range(k_ms, 17090, 17110);
    for (uint64_t ms = 1000; ms < 1000 + k_ms; ms += 100)
        cubic_on_acked(&window, window.bytes, rtt_ns, MS(ms));
    assert_in_range(window.bytes, 9900 * packet, 10010 * packet);
    for (uint64_t ms = 1000 + k_ms; ms < 11000 + k_ms; ms += 100)
        cubic_on_acked(&window, window.bytes, rtt_ns, MS(ms));
    assert_in_range(window.bytes, 10350 * packet, 10450 * packet); /* + 0.4 10^3 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bql__fills_paths_without_filling_buffers),
        cmocka_unit_test(bql__bursts_of_loss_are_no_full_buffer),
        cmocka_unit_test(bql__never_outruns_its_deliveries),
        cmocka_unit_test(bql__starts_and_stays_where_packets_overtake_by_far),
        cmocka_unit_test(bql__starts_where_packets_wait_for_their_predecessors),
        cmocka_unit_test(bql__starts_where_packets_wait_for_much_of_the_round_trip),
        cmocka_unit_test(bql__clocks_are_no_queue),
        cmocka_unit_test(bql__doubt_costs_little),
        cmocka_unit_test(bql__takes_loss_that_grows_with_the_rate_for_its_own),
        cmocka_unit_test(bql__settles_below_a_policer),
        cmocka_unit_test(bql__shares_a_queue_that_stood_before_it_came),
        cmocka_unit_test(bql__is_back_at_once_after_a_blackout),
        cmocka_unit_test(bql__begins_with_a_train_after_a_silence),
        cmocka_unit_test(bql__starts_in_spite_of_lost_acks),
        cmocka_unit_test(bql__takes_no_later_packet_for_the_train),
        cmocka_unit_test(bql__learns_chance_from_few_packets),
        cmocka_unit_test(bql__keeps_a_slow_path_from_dropping),
        cmocka_unit_test(bql__follows_steps_of_the_rate),
        cmocka_unit_test(scavenger__yields_to_bql_and_comes_back),
        cmocka_unit_test(cubic__returns_to_its_old_window_after_k),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
