/* The receiver alone: what its acks say is compared with what was put in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/serial.h"
#include "base/units.h"
#include "edge/receiver.h"

#define JUDGED_AFTER 500

struct fixture {
    struct receiver receiver;
    void *memory;
    uint8_t *reports; /* by number: how often reported missing */
    bool *judged;     /* by number: … with a packet sent JUDGED_AFTER numbers later already there */
    struct wire_ack ack;
    uint8_t runs[WIRE_ACK_RUNS_MAX];
};

static struct fixture fixture;

static void open_receiver(uint32_t window)
{
    free(fixture.memory);
    size_t bytes = receiver_bytes(window);
    fixture.memory = aligned_alloc(ARENA_ALIGN, bytes);
    assert_non_null(fixture.memory);
    struct arena arena;
    arena_init(&arena, fixture.memory, bytes);
    receiver_init(&fixture.receiver, window, &arena);
}

static int teardown(void **state)
{
    (void)state;
    free(fixture.memory);
    free(fixture.reports);
    free(fixture.judged);
    fixture.judged = NULL;
    fixture.memory = NULL;
    fixture.reports = NULL;
    return 0;
}

static void packet(uint64_t number, uint64_t floor, uint64_t now_ns)
{
    receiver_on_packet(&fixture.receiver, number, floor, wire_stamp(now_ns), 1000, false, now_ns);
}

/* A number far ahead, by itself the floor, that others beyond the window have proven before. */
static void jump(uint64_t number, uint64_t now_ns)
{
    packet(number + 1, number, now_ns);
    packet(number + 2, number, now_ns);
    packet(number, number, now_ns);
    assert_int_equal(fixture.receiver.end, number + 1);
}

/* Checks every run against the truth and counts reports of gaps; returns the end of what was described. */
static uint64_t check_runs(const uint64_t base, bool (*came)(uint64_t number))
{
    const uint8_t *in = fixture.runs;
    uint64_t number = base;
    for (bool received = true; in < fixture.runs + fixture.ack.run_bytes; received = !received)
        for (uint32_t left = wire_run_get(&in); left > 0; left--, number++) {
            assert_int_equal(came(number), received);
            if (!received && fixture.reports != NULL && fixture.reports[number] < UINT8_MAX)
                fixture.reports[number]++;
            if (!received && fixture.judged != NULL && fixture.receiver.end > number + JUDGED_AFTER)
                fixture.judged[number] = true;
        }
    assert_true(fixture.ack.run_bytes <= WIRE_ACK_RUNS_MAX);
    return number;
}

static bool came_but_3(uint64_t number)
{
    return number % 10 != 3;
}

static void receiver__check_tells_new_duplicate_and_beyond(void **state)
{
    (void)state;
    open_receiver(64);
    const struct receiver *receiver = &fixture.receiver;
    assert_int_equal(receiver_check(receiver, 0, 0), RECEIVER_NEW);
    assert_int_equal(receiver_check(receiver, 63, 0), RECEIVER_NEW);
    assert_int_equal(receiver_check(receiver, 64, 0), RECEIVER_BEYOND_WINDOW);
    assert_int_equal(receiver_check(receiver, 64, 1), RECEIVER_BEYOND_WINDOW);
    packet(10, 0, 1);
    assert_int_equal(receiver_check(receiver, 10, 0), RECEIVER_DUPLICATE);
    assert_int_equal(receiver_check(receiver, 9, 0), RECEIVER_NEW);
    /* 74 lies where 10 lay; with its own floor it is inside and new. */
    assert_int_equal(receiver_check(receiver, 74, 11), RECEIVER_NEW);
    packet(74, 11, 2);
    assert_int_equal(receiver_check(receiver, 10, 0), RECEIVER_DUPLICATE);
    assert_int_equal(receiver_check(receiver, 74, 11), RECEIVER_DUPLICATE);
    assert_int_equal(receiver_check(receiver, 75, 0), RECEIVER_BEYOND_WINDOW);
    /* A floor above the packet's own number is a bad peer's: it counts as the number. */
    assert_int_equal(receiver_check(receiver, 73, 1000), RECEIVER_NEW);
    packet(75, 0, 3);
    assert_int_equal(receiver->counters.beyond_window, 1);
    assert_int_equal(receiver->end, 75);
    packet(74, 11, 4);
    assert_int_equal(receiver->counters.duplicates, 1);
    assert_int_equal(receiver->counters.packets, 2);
    assert_int_equal(receiver->counters.bytes, 2000);
    /* A jump of the floor over more than the window leaves nothing behind. */
    jump(1000000, 5);
    for (uint64_t number = 1000001; number < 1000064; number++)
        assert_int_equal(receiver_check(receiver, number, 0), RECEIVER_NEW);
}

static void receiver__expand_follows_the_wrap(void **state)
{
    (void)state;
    open_receiver(1024);
    uint64_t start = (3ULL << 32) - 2;
    jump(start, 1);
    assert_int_equal(receiver_expand(&fixture.receiver, (uint32_t)(start + 5)), start + 5);
    assert_int_equal(receiver_expand(&fixture.receiver, (uint32_t)(start - 5)), start - 5);
}

static void receiver__acks_when_they_are_due(void **state)
{
    (void)state;
    open_receiver(4096);
    struct receiver *receiver = &fixture.receiver;
    receiver_set_rtt(receiver, 80 * NS_PER_MS);
    assert_int_equal(receiver_next_ns(receiver), TIME_NEVER);
    assert_false(receiver_ack(receiver, &fixture.ack, fixture.runs, 1));
    /* The first packet at once. */
    packet(0, 0, 1000);
    assert_int_equal(receiver_next_ns(receiver), 1000);
    assert_true(receiver_ack(receiver, &fixture.ack, fixture.runs, 1500));
    assert_int_equal(fixture.ack.largest, 0);
    assert_int_equal(fixture.ack.largest_delay, 500);
    assert_int_equal(fixture.ack.delivered_bytes, 1000);
    assert_false(receiver_ack(receiver, &fixture.ack, fixture.runs, 1500));
    assert_int_equal(receiver_next_ns(receiver), 1500 + RECEIVER_ACK_DELAY_MAX_NS);
    /* Fewer than 16 packets: 25 ms after the first of them. */
    uint64_t start_ns = 2 * NS_PER_MS;
    for (uint64_t number = 1; number <= 15; number++)
        packet(number, 0, start_ns + number);
    assert_int_equal(receiver_next_ns(receiver), start_ns + 1 + RECEIVER_ACK_DELAY_MAX_NS);
    assert_false(receiver_ack(receiver, &fixture.ack, fixture.runs, start_ns + 10 * NS_PER_MS));
    /* With 16: an eighth of the RTT after the first. */
    packet(16, 0, start_ns + 16);
    assert_int_equal(receiver_next_ns(receiver), start_ns + 1 + 10 * NS_PER_MS);
    assert_true(receiver_ack(receiver, &fixture.ack, fixture.runs, start_ns + 11 * NS_PER_MS));
    assert_int_equal(fixture.ack.run_bytes, 1);
    /* The sender is at its tail: a 64th of it, however few they are. */
    packet(17, 0, start_ns + 20 * NS_PER_MS);
    packet(18, 0, start_ns + 21 * NS_PER_MS);
    receiver_hurry(receiver);
    assert_int_equal(receiver_next_ns(receiver), start_ns + 20 * NS_PER_MS + 80 * NS_PER_MS / 64);
    assert_true(receiver_ack(receiver, &fixture.ack, fixture.runs, start_ns + 22 * NS_PER_MS));
    /* Idle again: at once; a duplicate is not answered, and its mark is none of the path's. */
    uint64_t next_ns = receiver_next_ns(receiver);
    receiver_on_packet(receiver, 16, 0, wire_stamp(0), 1000, true, start_ns + 90 * NS_PER_MS);
    assert_int_equal(receiver_next_ns(receiver), next_ns);
    assert_int_equal(receiver->ce_count, 0);
    packet(19, 0, start_ns + 100 * NS_PER_MS);
    assert_int_equal(receiver_next_ns(receiver), start_ns + 100 * NS_PER_MS);
}

static void receiver__reports_lateness_and_lets_it_decay(void **state)
{
    (void)state;
    open_receiver(4096);
    struct receiver *receiver = &fixture.receiver;
    /* 1 left 7 ms before 2 and came after it. */
    receiver_on_packet(receiver, 0, 0, wire_stamp(0), 1000, false, 50 * NS_PER_MS);
    receiver_on_packet(receiver, 2, 0, wire_stamp(8 * NS_PER_MS), 1000, true, 58 * NS_PER_MS);
    receiver_on_packet(receiver, 1, 0, wire_stamp(1 * NS_PER_MS), 1000, true, 59 * NS_PER_MS);
    assert_true(receiver_ack(receiver, &fixture.ack, fixture.runs, 90 * NS_PER_MS));
    assert_in_range(fixture.ack.late_us, 7000, 7001);
    assert_int_equal(fixture.ack.ce_count, 2);
    assert_int_equal(fixture.ack.owd_min, 50 * NS_PER_MS / WIRE_STAMP_UNIT_NS);
    assert_int_equal(fixture.ack.delivered_stamp, wire_stamp(59 * NS_PER_MS));
    assert_int_equal(receiver->counters.late_packets, 1);
    for (uint64_t turn = 0; turn < 200; turn++) {
        uint64_t now_ns = (100 + 30 * turn) * NS_PER_MS;
        packet(3 + turn, 0, now_ns);
        assert_true(receiver_ack(receiver, &fixture.ack, fixture.runs, now_ns));
    }
    assert_in_range(fixture.ack.late_us, 100, 1000);
    /* A gap that the floor has passed is not spoken of any more. */
    packet(1000, 990, 10 * NS_PER_S);
    assert_true(receiver_ack(receiver, &fixture.ack, fixture.runs, 10 * NS_PER_S));
    assert_int_equal(fixture.ack.base, 990);
}

/* This host stood still for 20 ms: what came meanwhile is told late, and the ack says so; jitter it is not. */
static void receiver__tells_that_it_was_away(void **state)
{
    (void)state;
    open_receiver(4096);
    struct receiver *receiver = &fixture.receiver;
    for (uint64_t number = 0; number < 50; number++) {
        uint64_t sent_ns = number * NS_PER_MS, came_ns = sent_ns + 30 * NS_PER_MS;
        bool away = number >= 20 && number < 40;
        receiver_set_wait(receiver, away ? 20 * NS_PER_MS : 0);
        receiver_on_packet(receiver, number, 0, wire_stamp(sent_ns), 1000, false,
                           away ? 70 * NS_PER_MS : came_ns);
        if (number == 19 || number == 39 || number == 49) {
            assert_true(
                receiver_ack(receiver, &fixture.ack, fixture.runs, 200 * NS_PER_MS + number * NS_PER_S));
            assert_int_equal(fixture.ack.wait, number == 39 ? 20 * NS_PER_MS / WIRE_STAMP_UNIT_NS : 0);
            assert_int_equal(fixture.ack.jump, 0);
        }
    }
}

static void receiver__one_ack_describes_every_gap_that_fits(void **state)
{
    (void)state;
    open_receiver(4096);
    for (uint64_t number = 5; number < 3000; number++)
        if (came_but_3(number))
            packet(number, 5, 1000 + number);
    assert_true(receiver_ack(&fixture.receiver, &fixture.ack, fixture.runs, 10 * NS_PER_MS));
    assert_int_equal(fixture.ack.base, 5);
    assert_int_equal(check_runs(5, came_but_3), 3000);
    assert_false(receiver_ack(&fixture.receiver, &fixture.ack, fixture.runs, 10 * NS_PER_MS));
    assert_true(receiver_next_ns(&fixture.receiver) > 10 * NS_PER_MS);
}

static uint64_t scattered_seed;

static bool came_scattered(uint64_t number)
{
    struct rng rng;
    rng_init(&rng, number * 2654435761ULL + scattered_seed);
    return !rng_chance_ppb(&rng, 300000000);
}

/* A full window with 30 % loss: packets at one every 2 us for four RTT, the floor two RTT behind. */
static void receiver__reports_each_gap_often_and_soon(void **state)
{
    (void)state;
    const uint64_t rtt_ns = 200 * NS_PER_MS, spacing_ns = 2000, total = 400000;
    const uint64_t window = 2 * rtt_ns / spacing_ns;
    open_receiver(1 << 19);
    fixture.reports = calloc(total, 1);
    fixture.judged = calloc(total, sizeof(bool));
    scattered_seed = 5;
    receiver_set_rtt(&fixture.receiver, rtt_ns);
    uint64_t described = 0, group = 0, group_max = 0;
    for (uint64_t number = 0; number < total; number++) {
        uint64_t now_ns = number * spacing_ns;
        uint64_t floor = number > window ? number - window : 0;
        if (came_scattered(number) || number == 0)
            packet(number, floor, now_ns);
        /* What the floor passes now was reported often enough. */
        if (floor > 0 && !came_scattered(floor - 1))
            assert_true(fixture.reports[floor - 1] >= RECEIVER_GAP_REPORTS);
        for (group = 0; receiver_ack(&fixture.receiver, &fixture.ack, fixture.runs, now_ns); group++) {
            uint64_t base = serial_expand32(number, fixture.ack.base);
            assert_true(base >= fixture.receiver.floor);
            if (number == 0)
                continue;
            uint64_t end = check_runs(base, came_scattered);
            assert_true(end <= fixture.receiver.end);
            described = MAX(described, end);
        }
        group_max = MAX(group_max, group);
        /* New gaps are told of within two intervals. */
        uint64_t soon = 2 * RECEIVER_ACK_DELAY_MAX_NS / spacing_ns;
        if (number > soon)
            assert_true(described > number - soon);
        /* And once they are old enough for a verdict (1 ms), told again as soon, not by the rotation. */
        if (number > soon + JUDGED_AFTER && !came_scattered(number - soon - JUDGED_AFTER))
            assert_true(fixture.judged[number - soon - JUDGED_AFTER]);
    }
    assert_in_range(group_max, 2, RECEIVER_ACKS_PER_TURN_MAX);
}

static int acks_until_quiet(uint64_t now_ns)
{
    struct receiver *receiver = &fixture.receiver;
    int acks = 0;
    while (receiver_next_ns(receiver) != TIME_NEVER) {
        now_ns = MAX(now_ns, receiver_next_ns(receiver));
        while (receiver_ack(receiver, &fixture.ack, fixture.runs, now_ns))
            acks++;
    }
    return acks;
}

static void receiver__reminds_until_a_packet_comes(void **state)
{
    (void)state;
    open_receiver(64);
    struct receiver *receiver = &fixture.receiver;
    receiver_remind(receiver, 5);
    assert_int_equal(receiver_next_ns(receiver), TIME_NEVER); /* nothing came: nothing to ack */
    packet(0, 0, 10);
    while (receiver_ack(receiver, &fixture.ack, fixture.runs, 10))
        continue;
    receiver_remind(receiver, 1000);
    assert_int_equal(acks_until_quiet(1000), 1 + RECEIVER_REMINDERS);
    receiver_remind(receiver, NS_PER_S);
    assert_true(receiver_ack(receiver, &fixture.ack, fixture.runs, NS_PER_S));
    packet(1, 0, NS_PER_S + 1);
    assert_int_equal(acks_until_quiet(NS_PER_S + 1), 1 + RECEIVER_REPETITIONS);
}

/* An ack that no packet follows is told again, within 400 ms; one that a packet follows is not. */
static void receiver__repeats_the_ack_of_a_tail(void **state)
{
    (void)state;
    open_receiver(64);
    struct receiver *receiver = &fixture.receiver;
    packet(0, 0, 0);
    assert_true(receiver_ack(receiver, &fixture.ack, fixture.runs, 0));
    assert_int_equal(receiver_next_ns(receiver), RECEIVER_ACK_DELAY_MAX_NS);
    packet(1, 0, RECEIVER_ACK_DELAY_MAX_NS - 1);
    assert_int_equal(receiver_next_ns(receiver), 2 * RECEIVER_ACK_DELAY_MAX_NS - 1);
    assert_int_equal(acks_until_quiet(RECEIVER_ACK_DELAY_MAX_NS), 1 + RECEIVER_REPETITIONS);
    assert_int_equal(fixture.ack.delivered_bytes, receiver->counters.bytes);
    assert_int_equal(fixture.ack.largest, 1);
}

static void receiver__reset_begins_anew(void **state)
{
    (void)state;
    open_receiver(256);
    struct receiver *receiver = &fixture.receiver;
    for (uint64_t number = 0; number < 100; number++)
        packet(number, 0, number);
    receiver_reset(receiver);
    assert_int_equal(receiver_next_ns(receiver), TIME_NEVER);
    for (uint64_t number = 0; number < 256; number++)
        assert_int_equal(receiver_check(receiver, number, 0), RECEIVER_NEW);
    packet(0, 0, 1000);
    assert_int_equal(receiver->end, 1);
    assert_int_equal(receiver->counters.packets, 101);
}

#define RECEIVER_TEST(function) cmocka_unit_test_teardown(function, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECEIVER_TEST(receiver__check_tells_new_duplicate_and_beyond),
        RECEIVER_TEST(receiver__expand_follows_the_wrap),
        RECEIVER_TEST(receiver__acks_when_they_are_due),
        RECEIVER_TEST(receiver__reports_lateness_and_lets_it_decay),
        RECEIVER_TEST(receiver__tells_that_it_was_away),
        RECEIVER_TEST(receiver__one_ack_describes_every_gap_that_fits),
        RECEIVER_TEST(receiver__reports_each_gap_often_and_soon),
        RECEIVER_TEST(receiver__reminds_until_a_packet_comes),
        RECEIVER_TEST(receiver__repeats_the_ack_of_a_tail),
        RECEIVER_TEST(receiver__reset_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
