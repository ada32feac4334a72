/* The strategies fed with samples of a simple fluid path; whole transfers are in transfer_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/congestion.h"

#define MS     NS_PER_MS
#define RTT_NS (100 * MS)
#define MBIT   1000000ULL

/* A bottleneck: what is sent beyond its rate waits in its buffer, and beyond that is lost. */
struct fluid {
    struct congestion congestion;
    uint64_t now_ns;
    uint64_t capacity_bps, buffer_bytes;
    uint32_t loss_ppm;
    uint64_t queue_bytes;
    uint64_t cap_bps;
    enum edge_limit limited;
    uint64_t sent_bytes, dropped_bytes;
    uint64_t queue_ns_max;
};

static void open_fluid(struct fluid *fluid, uint64_t initial_bps, bool known)
{
    *fluid = (struct fluid){.capacity_bps = 1000 * MBIT,
                            .buffer_bytes = 12500000,
                            .cap_bps = UINT64_MAX,
                            .limited = EDGE_LIMIT_congestion};
    fluid->congestion.type = &congestion_delay_type;
    congestion_delay_type.init(&fluid->congestion, initial_bps, known, RTT_NS, 0);
}

/* An eighth of a round trip: what left a round trip ago is acked now (the path keeps its rate meanwhile). */
static void step(struct fluid *fluid)
{
    const uint64_t step_ns = RTT_NS / 8;
    uint64_t rate_bps = MIN(fluid->congestion.rate_bps, fluid->cap_bps);
    uint64_t offered = bytes_within(rate_bps, step_ns);
    uint64_t served = MIN(fluid->queue_bytes + offered, bytes_within(fluid->capacity_bps, step_ns));
    uint64_t queue = fluid->queue_bytes + offered - served;
    uint64_t dropped = queue > fluid->buffer_bytes ? queue - fluid->buffer_bytes : 0;
    uint64_t random_loss = muldiv64(served, fluid->loss_ppm, 1000000);
    fluid->queue_bytes = queue - dropped;
    fluid->sent_bytes += offered;
    fluid->dropped_bytes += dropped;
    fluid->now_ns += step_ns;
    uint64_t queue_ns = transmit_ns(fluid->queue_bytes, fluid->capacity_bps);
    fluid->queue_ns_max = MAX(fluid->queue_ns_max, queue_ns);
    bool capped = fluid->congestion.rate_bps > fluid->cap_bps;
    struct congestion_sample sample = {
        .now_ns = fluid->now_ns,
        .rtt_ns = RTT_NS + queue_ns,
        .rtt_min_ns = RTT_NS,
        .rtt_smoothed_ns = RTT_NS + queue_ns,
        .delivery_rate_bps = muldiv64((served - random_loss) * 8, NS_PER_S, step_ns),
        .acked_bytes = served - random_loss,
        .lost_bytes = dropped + random_loss,
        .limited = fluid->limited == EDGE_LIMIT_congestion && capped ? EDGE_LIMIT_cap : fluid->limited,
    };
    fluid->congestion.type->on_ack(&fluid->congestion, &sample);
}

static void steps(struct fluid *fluid, uint32_t round_trips)
{
    for (uint32_t count = 0; count < 8 * round_trips; count++)
        step(fluid);
}

static void congestion__found_by_name(void **state)
{
    (void)state;
    assert_ptr_equal(congestion_find("fixed"), &congestion_fixed_type);
    assert_ptr_equal(congestion_find("delay"), &congestion_delay_type);
    assert_null(congestion_find("reno"));
}

static void fixed__never_changes_its_rate(void **state)
{
    (void)state;
    struct fluid fluid;
    open_fluid(&fluid, 2000 * MBIT, true);
    fluid.congestion.type = &congestion_fixed_type;
    congestion_fixed_type.init(&fluid.congestion, 2000 * MBIT, true, RTT_NS, 0);
    fluid.loss_ppm = 300000;
    steps(&fluid, 50);
    congestion_fixed_type.on_timeout(&fluid.congestion, fluid.now_ns);
    assert_int_equal(fluid.congestion.rate_bps, 2000 * MBIT);
    uint64_t queued_ns = RTT_NS + transmit_ns(fluid.queue_bytes, fluid.capacity_bps);
    assert_int_equal(fluid.congestion.in_flight_max_bytes,
                     2 * bytes_within(2000 * MBIT, queued_ns + 50 * MS));
}

static uint32_t base_loss_ppm(const struct fluid *fluid)
{
    struct congestion_view view;
    fluid->congestion.type->view(&fluid->congestion, &view);
    return view.base_loss_ppm;
}

static void delay__fills_the_path_and_keeps_the_queue_short(void **state)
{
    (void)state;
    const uint32_t losses_ppm[] = {0, 1000, 10000, 50000, 300000};
    for (size_t index = 0; index < sizeof(losses_ppm) / sizeof(losses_ppm[0]); index++) {
        struct fluid fluid;
        open_fluid(&fluid, 1000 * MBIT, true);
        fluid.loss_ppm = losses_ppm[index];
        steps(&fluid, 50);
        fluid.sent_bytes = 0;
        fluid.queue_ns_max = 0;
        steps(&fluid, 200);
        uint64_t possible = bytes_within(1000 * MBIT, 200 * RTT_NS);
        assert_true(fluid.sent_bytes * 100 >= possible * 95);
        assert_true(fluid.queue_ns_max <= RTT_NS / 2);
    }
}

static void delay__unknown_rate_finds_the_path_quickly(void **state)
{
    (void)state;
    struct fluid fluid;
    open_fluid(&fluid, 10 * MBIT, false);
    fluid.loss_ppm = 20000;
    steps(&fluid, 25);
    assert_true(fluid.congestion.rate_bps >= 700 * MBIT);
}

static void delay__follows_a_path_that_shrinks_and_grows(void **state)
{
    (void)state;
    struct fluid fluid;
    open_fluid(&fluid, 1000 * MBIT, true);
    steps(&fluid, 20);
    fluid.capacity_bps = 200 * MBIT;
    steps(&fluid, 30);
    assert_in_range(fluid.congestion.rate_bps, 140 * MBIT, 240 * MBIT);
    assert_true(fluid.queue_bytes < bytes_within(200 * MBIT, RTT_NS / 2));
    fluid.capacity_bps = 1000 * MBIT;
    steps(&fluid, 60);
    assert_true(fluid.congestion.rate_bps >= 900 * MBIT);
}

static void delay__random_loss_is_learnt_and_the_rate_restored(void **state)
{
    (void)state;
    struct fluid fluid;
    open_fluid(&fluid, 500 * MBIT, true);
    fluid.cap_bps = 500 * MBIT; /* no growth hides what parking took */
    steps(&fluid, 20);
    uint64_t before_bps = fluid.congestion.rate_bps;
    fluid.loss_ppm = 80000;
    steps(&fluid, 2);
    assert_true(fluid.congestion.rate_bps < before_bps);
    steps(&fluid, 4);
    assert_int_equal(fluid.congestion.rate_bps, before_bps);
    assert_in_range(base_loss_ppm(&fluid), 79000, 81000);
    /* It falls at once when the loss is gone. */
    fluid.loss_ppm = 0;
    steps(&fluid, 3);
    assert_int_equal(base_loss_ppm(&fluid), 0);
}

static void delay__shallow_buffer_is_not_flooded(void **state)
{
    (void)state;
    struct fluid fluid;
    open_fluid(&fluid, 900 * MBIT, true);
    fluid.buffer_bytes = 125000; /* 1 ms: far below the target */
    steps(&fluid, 300);
    assert_true(fluid.sent_bytes * 100 >= bytes_within(1000 * MBIT, 300 * RTT_NS) * 93);
    assert_true(fluid.dropped_bytes * 100 <= fluid.sent_bytes * 2);
}

static void delay__rounds_limited_by_something_else_freeze(void **state)
{
    (void)state;
    struct fluid fluid;
    open_fluid(&fluid, 100 * MBIT, true);
    for (enum edge_limit limit = EDGE_LIMIT_none; limit < EDGE_LIMIT_COUNT; limit++) {
        if (limit == EDGE_LIMIT_congestion || limit == EDGE_LIMIT_cap)
            continue;
        fluid.limited = limit;
        steps(&fluid, 10);
        assert_int_equal(fluid.congestion.rate_bps, 100 * MBIT);
    }
}

static void delay__cap_stops_growth_but_not_reduction(void **state)
{
    (void)state;
    struct fluid fluid;
    open_fluid(&fluid, 800 * MBIT, true);
    fluid.cap_bps = 800 * MBIT;
    steps(&fluid, 100);
    assert_in_range(fluid.congestion.rate_bps, 800 * MBIT, 900 * MBIT);
    fluid.capacity_bps = 400 * MBIT;
    steps(&fluid, 30);
    assert_true(fluid.congestion.rate_bps <= 480 * MBIT);
}

static void delay__silence_lowers_and_the_first_ack_restores(void **state)
{
    (void)state;
    struct fluid fluid;
    open_fluid(&fluid, 500 * MBIT, true);
    fluid.cap_bps = 500 * MBIT;
    steps(&fluid, 10);
    uint64_t before_bps = fluid.congestion.rate_bps;
    for (int silence = 0; silence < 10; silence++)
        congestion_delay_type.on_timeout(&fluid.congestion, fluid.now_ns);
    assert_int_equal(fluid.congestion.rate_bps, before_bps / 8);
    step(&fluid);
    assert_in_range(fluid.congestion.rate_bps, before_bps * 74 / 100, before_bps);
    steps(&fluid, 20);
    assert_true(fluid.congestion.rate_bps >= 500 * MBIT);
}

static void delay__stays_within_its_bounds(void **state)
{
    (void)state;
    struct fluid fluid;
    open_fluid(&fluid, 1, true);
    assert_int_equal(fluid.congestion.rate_bps, 100000);
    open_fluid(&fluid, UINT64_MAX / 2, true);
    assert_int_equal(fluid.congestion.rate_bps, 1000000000000ULL);
    open_fluid(&fluid, 10 * MBIT, true);
    fluid.capacity_bps = 10000;
    fluid.buffer_bytes = 20000;
    steps(&fluid, 1000);
    assert_true(fluid.congestion.rate_bps >= 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(congestion__found_by_name),
        cmocka_unit_test(fixed__never_changes_its_rate),
        cmocka_unit_test(delay__fills_the_path_and_keeps_the_queue_short),
        cmocka_unit_test(delay__unknown_rate_finds_the_path_quickly),
        cmocka_unit_test(delay__follows_a_path_that_shrinks_and_grows),
        cmocka_unit_test(delay__random_loss_is_learnt_and_the_rate_restored),
        cmocka_unit_test(delay__shallow_buffer_is_not_flooded),
        cmocka_unit_test(delay__rounds_limited_by_something_else_freeze),
        cmocka_unit_test(delay__cap_stops_growth_but_not_reduction),
        cmocka_unit_test(delay__silence_lowers_and_the_first_ack_restores),
        cmocka_unit_test(delay__stays_within_its_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
