/* What is a step of the path, and what is a queue, jitter, a host or a clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/path_step.h"

#define ACK_MS    5
#define NOISE_US  2000
#define RATE_BPS  100000000ULL
#define LEVEL_US  22000 /* base of 20 ms, and a queue */
#define EMPTY_US  20000
#define ROW_ACKS  12
#define FIRST_ACK 4

/* Delays of acks each ACK_MS, one after the other, in us; 0: the row is over. */
struct row {
    const char *what;
    int64_t owd_us[ROW_ACKS];
    uint64_t gap_ms;  /* before the first of them */
    bool told;        /* … acks were lost, not packets */
    uint64_t hole_ms; /* … told of by an ack of its own, right before it */
    bool stands;
    uint64_t jump_us; /* told by the first, and usual jitter */
    uint64_t jitter_us;
    uint64_t wait_us; /* of the receiver's host, for the first three */
    int stepped_at;   /* the ack that shows a step; -1: none does */
};

static void look(struct path_step *step, const struct row *row, int64_t owd_us, int ack, uint64_t now_ns)
{
    uint64_t gap_ns = ack >= 0 && !row->told ? row->gap_ms * NS_PER_MS : 0;
    bool first = ack == 0, early = ack >= 0 && ack < 3;
    struct congestion_sample sample = {.owd_known = true,
                                       .owd_ns = owd_us * (int64_t)NS_PER_US,
                                       .jump_ns = (first ? row->jump_us : row->jitter_us) * NS_PER_US,
                                       .wait_ns = early ? row->wait_us * NS_PER_US : 0,
                                       .delivered_ns = now_ns,
                                       .delivered_bytes = bytes_within(RATE_BPS, now_ns - gap_ns),
                                       .now_ns = now_ns};
    /* The edge gives way to what it takes for a queue: what was known before counts. */
    uint64_t rate_bps = ack > 0 ? RATE_BPS / 2 : RATE_BPS;
    struct path_step_look known = {.empty_ns = EMPTY_US * (int64_t)NS_PER_US,
                                   .noise_ns = NOISE_US * NS_PER_US,
                                   .rtt_ns = 40 * NS_PER_MS,
                                   .delivered_bps = RATE_BPS,
                                   .stands = row->stands,
                                   .known = {rate_bps, rate_bps, row->jitter_us * NS_PER_US}};
    path_step_on_sample(step, &sample, &known);
}

static int stepped_at(struct path_step *step, const struct row *row)
{
    uint64_t now_ns = NS_PER_S;
    for (int ack = 0; ack < FIRST_ACK; ack++, now_ns += ACK_MS * NS_PER_MS)
        look(step, row, LEVEL_US, -1, now_ns);
    if (row->hole_ms > 0) {
        const struct congestion_sample hole = {
            .owd_known = true, .before_hole = true, .hole_ns = row->hole_ms * NS_PER_MS, .now_ns = now_ns};
        path_step_on_sample(step, &hole, &(struct path_step_look){.noise_ns = NOISE_US * NS_PER_US});
    }
    now_ns += row->gap_ms * NS_PER_MS;
    for (int ack = 0; ack < ROW_ACKS && row->owd_us[ack] > 0; ack++, now_ns += ACK_MS * NS_PER_MS) {
        look(step, row, row->owd_us[ack], ack, now_ns);
        if (step->stepped)
            return ack;
    }
    return -1;
}

static const struct row rows[] = {
    {"12 ms longer", {34000, 34000, 34000, 34000, 34000, 34000}, .stepped_at = 4},
    {"… as the edge's own queue goes", {34000, 33000, 32000, 32000, 32000, 32000}, .stepped_at = 4},
    {"3 ms: less than a queue may grow by", {25000, 25000, 25000, 25000, 25000, 25000}, .stepped_at = -1},
    {"… but not where one stood, and was kept as it is",
     {25000, 25000, 25000, 25000, 25000},
     .stands = true,
     .stepped_at = 4},
    {"… but for jitter",
     {25000, 25000, 25000, 25000, 25000},
     .stands = true,
     .jitter_us = 1500,
     .stepped_at = -1},
    {"… but not between neighbours", {25000, 25000, 25000, 25000, 25000}, .jump_us = 3000, .stepped_at = 4},
    {"… where jitter is as much",
     {25000, 25000, 25000, 25000, 25000},
     .jump_us = 3000,
     .jitter_us = 3000,
     .stepped_at = -1},
    {"… after an outage, without the queue",
     {23000, 23000, 23000, 23000, 23000},
     .gap_ms = 45,
     .stepped_at = 4},
    {"… after acks that were lost",
     {23000, 23000, 23000, 23000, 23000},
     .gap_ms = 45,
     .told = true,
     .stepped_at = -1},
    {"nothing, after an outage", {20000, 20500, 21000, 22000, 22000}, .gap_ms = 45, .stepped_at = -1},
    {"a queue that grows as a start-up does", {27000, 32000, 37000, 42000, 47000, 52000}, .stepped_at = -1},
    {"… as where the path slows to a fifth", {42000, 62000, 82000, 102000, 122000}, .stepped_at = -1},
    {"one late ack", {40000, 22000, 22000, 22000, 22000, 22000}, .stepped_at = -1},
    {"a burst of others that goes", {40000, 37000, 34000, 30000, 26000, 22000}, .stepped_at = -1},
    {"what stood in the receiver's host",
     {34000, 34000, 34000, 22000, 22000, 22000},
     .wait_us = 30000,
     .stepped_at = -1},
    {"3 ms after a time in which this host stood still",
     {23000, 23000, 23000, 23000, 23000},
     .gap_ms = 45,
     .hole_ms = 45,
     .stepped_at = -1},
    {"what an outage held back",
     {65000, 57000, 49000, 41000, 33000, 25000, 20000},
     .gap_ms = 45,
     .stepped_at = -1},
    {"… of a path that is longer since",
     {65000, 57000, 49000, 41000, 34000, 34000, 34000, 34000, 34000},
     .gap_ms = 45,
     .stepped_at = 8},
};

static void path_step__is_what_no_queue_does(void **state)
{
    (void)state;
    for (size_t index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct path_step step = {.count = 0};
        int found = stepped_at(&step, &rows[index]);
        if (found != rows[index].stepped_at)
            fail_msg("%s: at ack %d", rows[index].what, found);
        if (found < 0)
            continue;
        assert_int_equal(step.known.rate_bps, RATE_BPS);
        assert_int_equal(step.known.capacity_bps, RATE_BPS);
        path_step_rest(&step, 0);
        assert_false(step.stepped);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(path_step__is_what_no_queue_does)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
