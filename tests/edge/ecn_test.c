/* Edges over a bottleneck that marks, in virtual time: thresholds, a ramp, several edges, and boxes that mark
 * wrongly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "lab.h"

#define MBPS(n) ((uint64_t)(n)*1000000)
#define MS(n)   ((uint64_t)(n)*NS_PER_MS)

struct cell {
    const char *name;
    uint64_t rate_mbps, rtt_ms;
    uint64_t ecn_us, ecn_ramp_us;
    uint8_t ecn_field;
    uint32_t jitter_ms;
    bool reorder;
    uint32_t edges;
    uint64_t from_ms, to_ms;
    /* What it may show. */
    uint64_t share_permille_min;
    uint64_t queue_p99_us_max; /* 0: any */
    uint64_t jain_permille_min;
    uint32_t loss_permille;
};

static const struct cell cells[] = {
    {"1 ms", 500, 50, 1000, 0, 0, 0, false, 1, 2000, 8000, 975, 2000, 0, 0},
    {"3 ms, slow", 20, 50, 3000, 0, 0, 0, false, 1, 5000, 30000, 970, 6000, 0, 0},
    {"1 ms, long", 200, 200, 1000, 0, 0, 0, false, 1, 6000, 30000, 970, 2000, 0, 0},
    {"2 ms, ramp", 200, 50, 2000, 4000, 0, 0, false, 1, 4000, 16000, 975, 6000, 0, 0},
    {"1 ms, jitter in order", 200, 50, 1000, 0, 0, 3, false, 1, 4000, 16000, 960, 2500, 0, 0},
    {"1 ms, jitter that overtakes", 200, 50, 1000, 0, 0, 9, true, 1, 4000, 16000, 960, 2500, 0, 0},
    {"1 ms, loss", 500, 100, 1000, 0, 0, 0, false, 1, 3000, 13000, 960, 1700, 0, 10},
    {"2 ms, five edges", 200, 20, 2000, 0, 0, 0, false, 5, 20000, 60000, 980, 4000, 930, 0},
    {"all marked", 200, 50, 0, 0, NETEM_ECN_MARKED, 0, false, 1, 1000, 12000, 970, 0, 0, 0},
    {"all marked, jitter", 200, 60, 0, 0, NETEM_ECN_MARKED, 9, true, 1, 5000, 13000, 970, 0, 0, 0},
    {"all cleared", 200, 50, 1000, 0, NETEM_ECN_CLEARED, 0, false, 1, 1000, 6000, 970, 0, 0, 0},
};

static struct lab_result result;

static struct lab_config config_of(const struct cell *cell)
{
    struct lab_config config = {.edge_count = cell->edges,
                                .end_ns = MS(cell->to_ms),
                                .measure_from_ns = MS(cell->from_ms),
                                .measure_to_ns = MS(cell->to_ms),
                                .seed = 1};
    config.bottleneck = (struct netem_config){.rate_bps = MBPS(cell->rate_mbps),
                                              .queue_unit = NETEM_QUEUE_NS,
                                              .queue_limit = MS(cell->rtt_ms),
                                              .ecn_ns = cell->ecn_us * NS_PER_US,
                                              .ecn_ramp_ns = cell->ecn_ramp_us * NS_PER_US,
                                              .ecn_field = cell->ecn_field};
    for (uint32_t edge = 0; edge < cell->edges; edge++)
        config.edges[edge] = (struct lab_edge){.type = &congestion_bql_type,
                                               .rtt_ns = MS(cell->rtt_ms),
                                               .jitter_ns = MS(cell->jitter_ms),
                                               .reorder = cell->reorder,
                                               .loss_ppb = cell->loss_permille * 1000000ULL,
                                               .start_ns = edge * NS_PER_S,
                                               .initial_bps = MBPS(10)};
    return config;
}

static uint64_t share_permille(const struct lab_config *config, uint32_t edge)
{
    uint64_t span_ns = config->measure_to_ns - config->measure_from_ns;
    uint64_t bytes = result.edges[edge].new_packets * LAB_PACKET_BYTES;
    return muldiv64(muldiv64(bytes * 8, NS_PER_S, span_ns), 1000, config->bottleneck.rate_bps);
}

static void bql__heeds_marks(void **state)
{
    (void)state;
    for (size_t index = 0; index < sizeof(cells) / sizeof(cells[0]); index++) {
        const struct cell *cell = &cells[index];
        struct lab_config config = config_of(cell);
        lab_run(&config, &result);
        uint64_t share = 0;
        for (uint32_t edge = 0; edge < cell->edges; edge++)
            share += share_permille(&config, edge);
        print_message("%s: share %llu per mille, queue p99 %llu us, Jain %llu per mille\n", cell->name,
                      (unsigned long long)share, (unsigned long long)(result.queue_p99_ns / NS_PER_US),
                      (unsigned long long)lab_jain_permille(&result, cell->edges));
        assert_in_range(share, cell->share_permille_min, 1005);
        if (cell->queue_p99_us_max > 0)
            assert_in_range(result.queue_p99_ns / NS_PER_US, 0, cell->queue_p99_us_max);
        assert_in_range(lab_jain_permille(&result, cell->edges), cell->jain_permille_min, 1000);
        assert_int_equal(result.queue_drops, 0);
    }
}

/* Beside bql, whose queue the threshold keeps below what scavenger yields to; and on a path that marks all. */
static void scavenger__yields_to_marks(void **state)
{
    (void)state;
    static const struct {
        uint8_t ecn_field;
        uint32_t bql_edges;
        uint64_t least_permille, most_permille;
    } rows[] = {
        {NETEM_ECN_KEPT, 1, 0, 100}, {NETEM_ECN_KEPT, 0, 700, 1000}, {NETEM_ECN_MARKED, 0, 800, 1000}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        const struct cell cell = {.rate_mbps = 500,
                                  .rtt_ms = 50,
                                  .ecn_us = 1000,
                                  .ecn_field = rows[row].ecn_field,
                                  .edges = rows[row].bql_edges + 1,
                                  .from_ms = 8000,
                                  .to_ms = 16000};
        struct lab_config config = config_of(&cell);
        config.edges[0].type = &congestion_scavenger_type;
        lab_run(&config, &result);
        print_message("scavenger: share %llu per mille\n", (unsigned long long)share_permille(&config, 0));
        assert_in_range(share_permille(&config, 0), rows[row].least_permille, rows[row].most_permille);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bql__heeds_marks),
        cmocka_unit_test(scavenger__yields_to_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
