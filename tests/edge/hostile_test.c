/* What one forged packet or ack, a cap that ended, and absurd figures may do to an edge. */
#include "sender_hand.h"

#include "edge/congestion.h"
#include "edge/cubic_window.h"
#include "edge/receiver.h"

#define RECEIVER_WINDOW 256u
#define FAR             (1ULL << 30)

static struct receiver receiver;
static void *receiver_memory;

static void open_receiver(void)
{
    size_t bytes = receiver_bytes(RECEIVER_WINDOW);
    free(receiver_memory);
    receiver_memory = aligned_alloc(ARENA_ALIGN, bytes);
    assert_non_null(receiver_memory);
    struct arena arena;
    arena_init(&arena, receiver_memory, bytes);
    receiver_init(&receiver, RECEIVER_WINDOW, &arena);
}

/* As the owner does it. A floor of its own number is what a forger would send. */
static enum receiver_verdict receive(uint64_t number, uint64_t floor, uint64_t now_ns)
{
    enum receiver_verdict verdict = receiver_check(&receiver, number, floor);
    receiver_on_packet(&receiver, number, floor, wire_stamp(now_ns), PACKET_BYTES, false, now_ns);
    return verdict;
}

static int setup_both(void **state)
{
    open_receiver();
    return setup(state);
}

static int teardown_both(void **state)
{
    free(receiver_memory);
    receiver_memory = NULL;
    return teardown(state);
}

static void receiver__one_far_number_moves_nothing(void **state)
{
    (void)state;
    const uint64_t jumps[] = {RECEIVER_WINDOW, 10 * RECEIVER_WINDOW, FAR};
    for (size_t index = 0; index < sizeof(jumps) / sizeof(jumps[0]); index++) {
        open_receiver();
        for (uint64_t number = 0; number < 100; number++)
            assert_int_equal(receive(number, 0, number * MS), RECEIVER_NEW);
        uint64_t far = 100 + jumps[index];
        for (uint64_t again = 0; again < 3; again++) /* the same one proves nothing */
            assert_int_equal(receive(far, far, 100 * MS), RECEIVER_BEYOND_WINDOW);
        assert_int_equal(receiver.counters.beyond_window, 3);
        for (uint64_t number = 100; number < 1000; number++)
            assert_int_equal(receive(number, number - 50, number * MS), RECEIVER_NEW);
        assert_int_equal(receiver.counters.duplicates, 0);
        assert_int_equal(receiver.end, 1000);
        assert_false(receiver_lost_sync(&receiver, TIME_NEVER));
    }
}

/* Forged ones between those that come prove nothing either, however well they fit together. */
static void receiver__far_numbers_between_new_ones_move_nothing(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 1000; number++) {
        assert_int_equal(receive(number, 0 + number - MIN(number, (uint64_t)50), number * MS), RECEIVER_NEW);
        assert_int_equal(receive(FAR + number, FAR, number * MS), RECEIVER_BEYOND_WINDOW);
    }
    assert_int_equal(receiver.counters.packets, 1000);
}

/* The path was dark for the receiver, but its sender went on sending. */
static void receiver__follows_a_sender_that_sent_into_the_dark(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 100; number++)
        receive(number, 0, number * MS);
    assert_int_equal(receive(5000, 4990, NS_PER_S), RECEIVER_BEYOND_WINDOW);
    assert_int_equal(receive(5002, 4990, NS_PER_S), RECEIVER_BEYOND_WINDOW);
    assert_int_equal(receive(5001, 4990, NS_PER_S), RECEIVER_NEW);
    for (uint64_t number = 5003; number < 6000; number++)
        assert_int_equal(receive(number, number - 10, NS_PER_S + number * MS), RECEIVER_NEW);
}

static void receiver__knows_that_it_lost_its_sender(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 100; number++)
        receive(number, 0, number * MS);
    for (uint64_t number = 0; number < 3; number++) /* so many make it believe them */
        receive(FAR + number, FAR, 100 * MS);
    assert_int_equal(receiver.end, FAR + 3);
    uint64_t number = 100, now_ns = 200 * MS;
    for (; number < 100 + RECEIVER_LOST_SYNC_PACKETS; number++, now_ns += 10 * MS) {
        assert_false(receiver_lost_sync(&receiver, now_ns));
        assert_int_equal(receive(number, 0, now_ns), RECEIVER_DUPLICATE);
    }
    assert_false(receiver_lost_sync(&receiver, now_ns)); /* … not for long enough */
    assert_true(receiver_lost_sync(&receiver, 200 * MS + RECEIVER_LOST_SYNC_NS));
    receiver_reset(&receiver);
    assert_false(receiver_lost_sync(&receiver, TIME_NEVER));
    assert_int_equal(receive(0, 0, now_ns), RECEIVER_NEW);
}

/* Nor are those from long before the window, sent again in their order, over any time; nor one of a gap, again and again. */
static void receiver__what_was_received_is_no_lost_sender(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 100; number++)
        receive(number, 0, number * MS);
    for (uint64_t number = 5000; number < 8000; number++)
        receive(number, number - 10, NS_PER_S + number * MS);
    for (uint64_t number = 0; number < 100; number++)
        assert_int_equal(receive(number, 0, 20 * NS_PER_S + number * 100 * MS), RECEIVER_DUPLICATE);
    assert_false(receiver_lost_sync(&receiver, TIME_NEVER));
    for (unsigned times = 0; times < 2 * RECEIVER_LOST_SYNC_PACKETS; times++)
        assert_int_equal(receive(200, 0, 40 * NS_PER_S + times * 100 * MS), RECEIVER_DUPLICATE);
    assert_false(receiver_lost_sync(&receiver, TIME_NEVER));
}

static void receiver__late_duplicates_are_no_lost_sender(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 1000; number++)
        receive(number, number, number * MS);
    for (uint64_t number = 1000 - RECEIVER_WINDOW; number < 1000; number++)
        assert_int_equal(receive(number, number, 2 * NS_PER_S + number * MS), RECEIVER_DUPLICATE);
    assert_false(receiver_lost_sync(&receiver, TIME_NEVER));
}

static void sender__knows_that_it_lost_its_receiver(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    const struct told forged = {.largest = FAR, .base = FAR, .runs = {1}};
    const struct told good = {.largest = 3, .runs = {4}};
    send(10, 0, MS);
    /* Many impossible acks at once are no reason to give up what works. */
    for (uint32_t count = 0; count < 4 * SENDER_LOST_SYNC_ACKS; count++)
        assert_false(ack(&forged, 20 * MS));
    assert_false(sender_lost_sync(sender));
    assert_true(ack(&good, 30 * MS));
    uint64_t now_ns = 30 * MS + SENDER_SILENCE_MIN_NS;
    sender_on_tick(sender, now_ns, &events);
    assert_true(sender->silent);
    assert_false(sender_lost_sync(sender)); /* silent for another reason, perhaps */
    for (uint32_t count = 0; count < SENDER_LOST_SYNC_ACKS; count++) {
        assert_false(sender_lost_sync(sender));
        assert_false(ack(&forged, now_ns));
    }
    assert_true(sender_lost_sync(sender));
    sender_reset(sender, now_ns);
    assert_false(sender_lost_sync(sender));
}

static void sender__low_cap_ends_with_its_job(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    enum edge_limit limit;
    sender_set_cap(sender, SEND_RATE_MIN_BPS);
    send(1, 0, 0);
    assert_int_equal(sender_send_ns(sender, PACKET_BYTES, false, &limit), 8 * NS_PER_S);
    sender_set_cap(sender, RATE_BPS / 100);
    assert_in_range(sender_send_ns(sender, PACKET_BYTES, false, &limit), 0,
                    transmit_ns((uint64_t)SENDER_BURST_PACKETS * PACKET_BYTES, RATE_BPS / 100));
    sender_set_cap(sender, SEND_RATE_MIN_BPS);
    send(1, 10 * MS, 0);
    sender_reset(sender, 20 * MS);
    assert_in_range(sender_send_ns(sender, PACKET_BYTES, false, &limit), 0, 20 * MS);
}

static void sender__cap_has_a_floor(void **state)
{
    (void)state;
    sender_set_cap(&fixture.sender, 1);
    assert_int_equal(sender_rate_bps(&fixture.sender), SEND_RATE_MIN_BPS);
}

/* A peer that makes one-way delays up: each ack adds 34 s, or takes 34 s away. The undefined-behaviour
 * sanitizer judges; what the strategy makes of it must stay within its bounds. */
static void strategies__bear_absurd_delays(void **state)
{
    (void)state;
    const char *const names[] = {"bql", "scavenger"};
    for (size_t index = 0; index < 2; index++)
        for (int sign = -1; sign <= 1; sign += 2) {
            open_sender(WINDOW);
            struct sender *sender = &fixture.sender;
            sender_set_congestion(sender, congestion_find(names[index]), 100000000, true, 0);
            struct told told = {.credit = 100000};
            uint64_t now_ns = NS_PER_S;
            for (uint64_t number = 0; number < 2000; number++, now_ns += 100 * MS) {
                now_ns = MAX(now_ns, pacer_next_ns(&sender->pacer));
                send(1, now_ns, 0);
                told.largest = number;
                told.base = number;
                told.runs[0] = 1;
                told.delivered_bytes += PACKET_BYTES;
                told.owd_ns = (uint64_t)(sign * (int64_t)number * 34 * (int64_t)NS_PER_S);
                fixture.acked_count = 0;
                assert_true(ack(&told, now_ns + 50 * MS));
                /* As far as an ack may bring it. */
                if (number == 1000)
                    sender->owd_ns = sign * (INT64_MAX / 4 - 1000);
                assert_in_range(sender->congestion.rate_bps, 16000, 1000000000000ULL);
            }
        }
}

/* Jitter is what an edge allows itself a queue for. A peer that makes it up gets no more of it than a packet can have been
 * under way. */
static void bql__bears_absurd_jitter(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    struct told told = {.jump_ns = 60 * NS_PER_S, .runs = {1}};
    struct congestion_view view;
    sender_set_congestion(sender, congestion_find("bql"), 100000000, true, 0);
    for (uint64_t number = 0; number < 200; number++) {
        uint64_t now_ns = NS_PER_S + number * 100 * MS;
        send(1, now_ns, 0);
        told.largest = number;
        told.base = number;
        told.delivered_bytes += PACKET_BYTES;
        fixture.acked_count = 0;
        assert_true(ack(&told, now_ns + 50 * MS));
    }
    sender->congestion.type->view(&sender->congestion, &view);
    assert_in_range(view.jitter_ns, 1, 50 * MS);
    /* Three packets at what comes, one each 100 ms, and the jitter. */
    assert_in_range(view.target_ns, 1, 400 * MS);
}

static void scavenger__counts_packets_by_their_size(void **state)
{
    (void)state;
    const struct congestion_type *type = congestion_find("scavenger");
    const uint32_t sizes[] = {1538, 9038};
    for (size_t index = 0; index < 2; index++) {
        struct congestion congestion = {.type = type, .packet_bytes = sizes[index]};
        type->init(&congestion, 0, false, 100 * MS, 0);
        assert_int_equal(congestion.rate_bps,
                         8 * sizes[index] * 8 * 10); /* 8 of them a round trip of 100 ms */
    }
}

/* RFC 9438: 0.4 packets/s^3, whatever their size. */
static void cubic__counts_packets_by_their_size(void **state)
{
    (void)state;
    const uint32_t sizes[] = {1538, 9038};
    uint64_t inflect_ms[2];
    for (size_t index = 0; index < 2; index++) {
        uint64_t packet = sizes[index];
        struct cubic_window window;
        cubic_init(&window, 10000 * packet, packet, 0);
        cubic_on_loss(&window, 100 * MS, NS_PER_S);
        inflect_ms[index] = window.inflect_ms;
        for (uint64_t ms = 1000; ms < 11000 + window.inflect_ms; ms += 100)
            cubic_on_acked(&window, window.bytes, 100 * MS, ms * MS);
        assert_in_range(window.bytes, 10350 * packet, 10450 * packet);
    }
    assert_int_equal(inflect_ms[0], inflect_ms[1]);
}

#define HOSTILE_TEST(name) cmocka_unit_test_setup_teardown(name, setup_both, teardown_both)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOSTILE_TEST(receiver__one_far_number_moves_nothing),
        HOSTILE_TEST(receiver__far_numbers_between_new_ones_move_nothing),
        HOSTILE_TEST(receiver__follows_a_sender_that_sent_into_the_dark),
        HOSTILE_TEST(receiver__knows_that_it_lost_its_sender),
        HOSTILE_TEST(receiver__what_was_received_is_no_lost_sender),
        HOSTILE_TEST(receiver__late_duplicates_are_no_lost_sender),
        HOSTILE_TEST(sender__knows_that_it_lost_its_receiver),
        HOSTILE_TEST(sender__low_cap_ends_with_its_job),
        HOSTILE_TEST(sender__cap_has_a_floor),
        HOSTILE_TEST(strategies__bear_absurd_delays),
        HOSTILE_TEST(bql__bears_absurd_jitter),
        HOSTILE_TEST(scavenger__counts_packets_by_their_size),
        HOSTILE_TEST(cubic__counts_packets_by_their_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
