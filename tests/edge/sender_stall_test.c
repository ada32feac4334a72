/* The sender where hosts stand still: what waited at either of them is not taken for the path's. */
#include "sender_hand.h"

/* A strategy that only looks at its samples. */
static struct congestion_sample sampled;
static void on_sampled(struct congestion *congestion, const struct congestion_sample *sample)
{
    (void)congestion;
    sampled = *sample;
}

static const struct congestion_type *watching(void)
{
    static struct congestion_type type;
    type = congestion_fixed_type;
    type.on_ack = on_sampled;
    return &type;
}

/* What stood at the receiver, or as an ack at this host, was not under way for so long: of a sample that is longer than
 * what is known, as much counts as is not explained by that. */
static void sender__waits_are_no_path(void **state)
{
    (void)state;
    static const struct {
        uint32_t receiver_ns, own_ns;    /* waits that are told */
        int64_t late_ns, rtt_ns, owd_ns; /* of the second ack, against the first; what counts of it */
    } rows[] = {
        {0, 0, 20 * MS, 20 * MS, 20 * MS},
        {20 * MS, 0, 20 * MS, 0, 0},
        {5 * MS, 0, 20 * MS, 15 * MS, 15 * MS},
        {0, 5 * MS, 20 * MS, 15 * MS, 20 * MS},
        {5 * MS, 5 * MS, 20 * MS, 10 * MS, 15 * MS},
        {20 * MS, 20 * MS, 0, 0, 0},
        {20 * MS, 20 * MS, -5 * (int64_t)MS, -5 * (int64_t)MS, -5 * (int64_t)MS}, /* shorter at any rate */
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        open_sender(WINDOW);
        sender_set_congestion(&fixture.sender, watching(), RATE_BPS, true, 0);
        send(1, 0, 1000);
        struct told told = {.largest = 0, .delivered_bytes = 1000, .owd_ns = 30 * MS, .runs = {1}};
        assert_true(ack(&told, 60 * MS));
        int64_t owd_ns = sampled.owd_ns;
        send(1, 60 * MS, 1000);
        told = (struct told){.base = 1,
                             .largest = 1,
                             .delivered_bytes = 2000,
                             .owd_ns = (uint64_t)(30 * (int64_t)MS + rows[row].late_ns),
                             .wait_ns = rows[row].receiver_ns,
                             .runs = {1}};
        sender_set_wait(&fixture.sender, rows[row].own_ns);
        assert_true(ack(&told, (uint64_t)(120 * (int64_t)MS + rows[row].late_ns)));
        assert_int_equal(sampled.rtt_ns, (uint64_t)(60 * (int64_t)MS + rows[row].rtt_ns));
        assert_int_equal(sampled.owd_ns - owd_ns, rows[row].owd_ns);
        assert_int_equal(sampled.wait_ns, rows[row].receiver_ns);
        assert_int_equal(fixture.sender.counters.peer_pauses, rows[row].receiver_ns > 0);
    }
}

/* This host stood still for 20 ms. What left right before may have left only at the end; the first ack from behind the
 * hole tells of it. */
static void sender__holes_are_told(void **state)
{
    (void)state;
    sender_set_congestion(&fixture.sender, watching(), RATE_BPS, true, 0);
    send(100, 0, 10000); /* to 1 ms; the last ten or so may be spoilt */
    sender_on_lag(&fixture.sender, 20 * MS, 21 * MS);
    send(10, 21 * MS, 10000);
    static const struct {
        uint64_t largest, jump_ns, hole_ns;
    } rows[] = {{50, MS, 0}, {85, MS, 0}, {95, 0, 0}, {99, 0, 0}, {104, 0, 20 * MS}, {109, MS, 0}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct told told = {.largest = rows[row].largest,
                            .delivered_bytes = rows[row].largest * 1000 + 1000,
                            .owd_ns = 30 * MS,
                            .jump_ns = MS,
                            .runs = {(uint32_t)rows[row].largest + 1}};
        assert_true(ack(&told, (60 + row) * MS));
        assert_int_equal(sampled.jump_ns, rows[row].jump_ns);
        assert_int_equal(sampled.hole_ns, rows[row].hole_ns);
        assert_int_equal(sampled.limited, EDGE_LIMIT_congestion);
    }
    assert_int_equal(fixture.sender.counters.pauses, 1);
    assert_int_equal(fixture.sender.counters.paused_ns, 20 * MS - fixture.sender.pacer.burst_ns);
}

/* What operators are told of marks, which a peer may make up, and of a clock that jumps, here by 100 ms after the third
 * ack. */
static void sender__counts_marks_and_steps(void **state)
{
    (void)state;
    static const uint32_t marks[] = {0, 1, 1, 4, 5, 5 + 2 * WINDOW};
    static const uint64_t counted[] = {0, 1, 1, 4, 5, 5 + WINDOW};
    for (uint32_t turn = 0; turn < 6; turn++) {
        send(1, turn * 600 * MS, 1000);
        struct told told = {.base = turn,
                            .largest = turn,
                            .delivered_bytes = turn * 1000 + 1000,
                            .owd_ns = 30 * MS,
                            .clock_offset_ns = turn < 3 ? 0 : 100 * MS,
                            .marks = marks[turn],
                            .runs = {1}};
        assert_true(ack(&told, turn * 600 * MS + 60 * MS));
        assert_int_equal(fixture.sender.counters.marked_packets, counted[turn]);
        assert_int_equal(fixture.sender.counters.clock_steps, turn >= 4); /* when both ways have shown it */
    }
}

/* Of 100 packets 60 are lost while the receiver stands still, of which its port missed so many: those are no loss of the
 * path, and the edge says what limits it. Without a standstill they are, and it says so as well. */
static void sender__losses_of_the_ring(void **state)
{
    (void)state;
    static const struct {
        uint32_t missed;
        uint64_t stood_ns;
        uint64_t lost_packets, ring_lost, counted;
    } rows[] = {{0, 50 * MS, 60, 0, 0},
                {60, 50 * MS, 0, 60, 60},
                {40, 50 * MS, 20, 40, 40},
                {99, 50 * MS, 0, 60, 60},
                {60, 0, 60, 0, 60}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        open_sender(WINDOW);
        sender_set_congestion(&fixture.sender, watching(), RATE_BPS, true, 0);
        sender_set_rtt(&fixture.sender, 10 * MS);
        uint64_t now_ns = 0;
        for (uint32_t turn = 0; turn < 100; turn++, now_ns += MS) {
            send(1, now_ns, 1000);
            struct told told = {.base = turn,
                                .largest = turn,
                                .delivered_bytes = turn * 1000 + 1000,
                                .owd_ns = 0,
                                .runs = {1}};
            assert_true(ack(&told, now_ns + MS));
        }
        send(100, now_ns, 1000);
        for (uint32_t wait = 0; rows[row].stood_ns == 0 && wait < 21; wait++) {
            struct told nothing = {.base = 99, .largest = 99, .delivered_bytes = 100000, .runs = {1}};
            assert_true(ack(&nothing, now_ns + wait * MS));
        }
        send(1, now_ns + 20 * MS, 1000);
        struct told told = {.base = 100,
                            .largest = 200,
                            .delivered_bytes = 141000,
                            .missed = rows[row].missed,
                            .wait_ns = (uint32_t)rows[row].stood_ns,
                            .runs = {40, 60, 1}};
        assert_true(ack(&told, now_ns + 20 * MS + MAX(rows[row].stood_ns, MS)));
        assert_int_equal(sampled.lost_packets, rows[row].lost_packets);
        assert_int_equal(sampled.ring_lost, rows[row].ring_lost);
        assert_int_equal(fixture.sender.counters.lost_packets, 60);
        assert_int_equal(fixture.sender.counters.ring_lost, rows[row].counted);
        enum edge_limit cause = rows[row].counted > 0 ? EDGE_LIMIT_receiver_ring : EDGE_LIMIT_congestion;
        uint64_t later_ns = now_ns + 600 * MS;
        send(1, later_ns - MS, 1000);
        told = (struct told){
            .base = 201, .largest = 201, .delivered_bytes = 142000, .missed = rows[row].missed, .runs = {1}};
        assert_true(ack(&told, later_ns));
        assert_int_equal(sender_cause(&fixture.sender, EDGE_LIMIT_congestion, later_ns), cause);
        assert_int_equal(sender_cause(&fixture.sender, EDGE_LIMIT_cap, later_ns), EDGE_LIMIT_cap);
    }
}

/* A host that is late by a little, all the time, limits the edge. */
static void sender__short_of_time(void **state)
{
    (void)state;
    sender_set_congestion(&fixture.sender, watching(), RATE_BPS, true, 0);
    sender_set_rtt(&fixture.sender, 10 * MS);
    for (unsigned turn = 0; turn < 100; turn++) {
        sender_on_lag(&fixture.sender, MS / 2, turn * MS);
        send(1, turn * MS, 1000);
    }
    struct told told = {.largest = 99, .delivered_bytes = 1000, .owd_ns = 30 * MS, .runs = {100}};
    assert_true(ack(&told, 110 * MS));
    assert_int_equal(sampled.limited, EDGE_LIMIT_cpu);
}

#define SENDER_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SENDER_TEST(sender__waits_are_no_path),      SENDER_TEST(sender__holes_are_told),
        SENDER_TEST(sender__counts_marks_and_steps), SENDER_TEST(sender__losses_of_the_ring),
        SENDER_TEST(sender__short_of_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
