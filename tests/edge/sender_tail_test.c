/* The sender when acks stay away: repeats at the tail, and silence. */
#include "sender_hand.h"

#include <string.h>

static struct {
    uint32_t samples, began, ended;
    uint64_t lost_packets;
    bool silent;
} heard;

static void keep_init(struct congestion *congestion, uint64_t initial_bps, bool known, uint64_t rtt_ns,
                      uint64_t now_ns)
{
    (void)known;
    (void)rtt_ns;
    (void)now_ns;
    congestion->rate_bps = initial_bps;
    congestion->in_flight_max_bytes = UINT64_MAX;
}

static void keep_sample(struct congestion *congestion, const struct congestion_sample *sample)
{
    (void)congestion;
    heard.samples++;
    heard.lost_packets += sample->lost_packets;
}

static void keep_timeout(struct congestion *congestion, uint64_t now_ns)
{
    (void)congestion;
    (void)now_ns;
}

static void keep_silence(struct congestion *congestion, bool silent, uint64_t now_ns)
{
    (void)congestion;
    (void)now_ns;
    assert_int_not_equal(silent, heard.silent);
    heard.silent = silent;
    heard.began += silent;
    heard.ended += !silent;
}

static const struct congestion_type keep = {.name = "keep",
                                            .init = keep_init,
                                            .on_ack = keep_sample,
                                            .on_timeout = keep_timeout,
                                            .on_silence = keep_silence};

static void open_kept(uint64_t rate_bps, uint64_t rtt_ns, uint32_t window)
{
    open_sender(window);
    sender_set_rtt(&fixture.sender, rtt_ns);
    sender_set_congestion(&fixture.sender, &keep, rate_bps, true, 0);
    memset(&heard, 0, sizeof(heard));
}

/* Sends whatever may go until then, as an owner with endless content does; returns how many packets that
 * were. */
static uint32_t send_until(uint64_t *now_ns, uint64_t end_ns)
{
    struct sender *sender = &fixture.sender;
    uint32_t count = 0;
    while (*now_ns < end_ns) {
        enum edge_limit limit;
        uint32_t lost = fixture.lost_count + fixture.probed_count;
        sender_on_tick(sender, *now_ns, &events);
        bool repair = fixture.lost_count + fixture.probed_count > lost;
        uint64_t at_ns = sender_send_ns(sender, PACKET_BYTES, repair, &limit);
        if (at_ns <= *now_ns) {
            uint64_t content = 1000 + sender->next_number;
            sender_on_sent(sender, content, (uint16_t)(content % 1000), PACKET_BYTES, repair, *now_ns);
            count++;
            continue;
        }
        *now_ns = MIN(at_ns, MAX(sender_next_ns(sender), *now_ns + 1));
    }
    return count;
}

static void sender__silence_begins_in_time_and_sends_little(void **state)
{
    (void)state;
    static const struct {
        uint64_t rtt_ms, rate_bps, begins_ms, dark_ms;
        uint32_t window;
    } cases[] = {
        {100, 80000000, 1000, 5000, 1 << 16}, /* 10 packets a ms */
        {400, 80000000, 1600, 5000, 1 << 16},
        {100, 80000000, 1000, 5000, 1024}, /* the window is full before */
        {20, 800000, 1000, 20000, 4096},   /* 100 packets a second: half a packet of them a second */
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        uint64_t rtt_ns = cases[index].rtt_ms * MS, now_ns = 0;
        open_kept(cases[index].rate_bps, rtt_ns, cases[index].window);
        send_until(&now_ns, cases[index].begins_ms * MS - 1);
        assert_int_equal(heard.began, 0);
        send_until(&now_ns, cases[index].begins_ms * MS + 2 * MS);
        assert_int_equal(heard.began, 1);
        uint32_t count = send_until(&now_ns, now_ns + cases[index].dark_ms * MS);
        uint64_t full = bytes_within(cases[index].rate_bps, cases[index].dark_ms * MS) / PACKET_BYTES;
        /* At 0.5 %, or one in 10 ms or an RTT where that is less. */
        uint64_t alive = cases[index].dark_ms / MAX(cases[index].rtt_ms, (uint64_t)10);
        assert_in_range(count, alive / 2, MAX(full / 200, alive) + 1);
        assert_true(fixture.sender.next_number - fixture.sender.floor <= cases[index].window);
        assert_int_equal(heard.ended, 0);
    }
}

static void sender__first_ack_ends_silence_at_full_rate(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    uint64_t now_ns = 0;
    open_kept(80000000, 100 * MS, 1 << 16);
    send_until(&now_ns, 6000 * MS);
    assert_true(heard.silent);
    uint64_t newest = sender->next_number - 1;
    struct told told = {.base = newest, .largest = newest, .delivered_bytes = 1000, .runs = {1}};
    assert_true(ack(&told, now_ns));
    assert_int_equal(heard.ended, 1);
    assert_int_equal(sender_rate_bps(sender), 80000000);
    uint32_t count = send_until(&now_ns, now_ns + 100 * MS);
    assert_in_range(count, 999, 1001 + SENDER_BURST_PACKETS);
    /* The strategy hears nothing of what left before, neither that it is lost nor that it is late. */
    assert_int_equal(heard.samples, 0);
    told = (struct told){.base = newest - 10, .largest = newest, .delivered_bytes = 9000, .runs = {11}};
    assert_true(ack(&told, now_ns));
    assert_int_equal(heard.samples, 0);
    told = (struct told){.base = sender->floor,
                         .largest = newest + 200,
                         .delivered_bytes = 200000,
                         .runs = {0, (uint32_t)(newest - sender->floor), 201}};
    assert_true(ack(&told, now_ns));
    assert_true(fixture.lost_count > 5000);
    assert_int_equal(heard.samples, 1);
    assert_int_equal(heard.lost_packets, 0);
}

static void sender__nothing_in_flight_is_no_silence(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    open_kept(80000000, 100 * MS, 1024);
    send(3, 0, MS);
    struct told told = {.largest = 2, .runs = {3}};
    assert_true(ack(&told, 110 * MS));
    assert_int_equal(sender_next_ns(sender), TIME_NEVER);
    /* Idleness before does not count. */
    send(1, 10000 * MS, 0);
    sender_on_tick(sender, 10900 * MS, &events);
    assert_int_equal(heard.began, 0);
}

/* What has been open for RTT/16 goes out again once the owner has nothing else, on a path that loses; what is
 * too much for the budget waits for acks, and one packet is sent to get verdicts. */
static void sender__tail_repeats_what_the_budget_allows(void **state)
{
    (void)state;
    static const struct {
        uint32_t open, lost, repeats; /* of 1000 new packets: not acked, lost so far */
    } cases[] = {
        {5, 1, 5},                /* a budget of 32 packets: two of each but the last */
        {32, 0, 0},               /* nothing was ever lost, and no newer packet has come */
        {31, 1, 31},  {33, 1, 1}, /* too many yet */
        {8, 500, 8},              /* each eight times, half of which will be lost */
        {10, 500, 1},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        struct sender *sender = &fixture.sender;
        open_kept(RATE_BPS, 80 * MS, 2048);
        uint32_t acked = 1000 - cases[index].open;
        send(1000, 0, 10000);
        sender->counters.lost_packets = cases[index].lost;
        struct told told = {.largest = acked - 1, .runs = {acked}};
        assert_true(ack(&told, 12 * MS));
        sender_on_tick(sender, 60 * MS, &events);
        assert_int_equal(fixture.probed_count, 0); /* the owner may have more */
        sender_on_limited(sender, EDGE_LIMIT_application);
        sender_on_tick(sender, 60 * MS, &events);
        assert_int_equal(fixture.probed_count, cases[index].repeats);
        assert_int_equal(sender->counters.early_repeats, cases[index].repeats);
        /* Once each: their copies are next. */
        sender_on_limited(sender, EDGE_LIMIT_application);
        sender_on_tick(sender, 75 * MS, &events);
        assert_int_equal(fixture.probed_count, cases[index].repeats);
    }
}

/* What a job has spent on repeats comes back with another job, or when live input pauses; not each time that it waits
 * for memory or its own parent. */
static void sender__pauses_of_a_job_earn_no_repeats(void **state)
{
    (void)state;
    static const struct {
        uint64_t pause_ms;
        uint16_t tag; /* the first job's is 0 */
        bool anew;
    } cases[] = {{79, 0, false}, {81, 0, false}, {499, 0, false}, {501, 0, true},
                 {79, 1, false}, {81, 1, true},  {0, 1, false}};
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        struct sender *sender = &fixture.sender;
        open_kept(RATE_BPS, 80 * MS, 2048);
        uint64_t sent_ns = 0;
        for (uint64_t number = 0; number < 1000; number++) {
            sent_ns = pacer_next_ns(&sender->pacer);
            sender_on_sent(sender, 1000 * number, 0, PACKET_BYTES, false, sent_ns);
        }
        assert_int_equal(sender->repeat_budget.left, SENDER_REPEATS_SMALL * REPEAT_PACKET);
        sender->repeat_budget.left = 0; /* spent */
        struct told told = {.largest = 999, .runs = {1000}};
        uint64_t again_ns = MAX(sent_ns + cases[index].pause_ms * MS, pacer_next_ns(&sender->pacer));
        assert_true(ack(&told, again_ns));
        sender->rtt.smoothed_ns = 80 * MS; /* whatever the pause was taken for */
        sender_set_cap(sender, RATE_BPS);
        sender_on_sent(sender, 1000000 + cases[index].tag, cases[index].tag, PACKET_BYTES, false, again_ns);
        assert_int_equal(sender->repeat_budget.left, cases[index].anew ? REPEAT_SHARE_FAST : 0);
    }
}

/* Repairs leave in groups. Where none follows, packets are sent that get the last ones their verdict. */
static void sender__a_group_of_repairs_is_covered(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    open_kept(RATE_BPS, 80 * MS, 2048);
    send(1000, 0, 10000);
    sender->counters.lost_packets = 20;
    struct told told = {.largest = 899, .runs = {900}};
    assert_true(ack(&told, 92 * MS));
    sender_on_limited(sender, EDGE_LIMIT_application);
    uint32_t covers = 0;
    for (uint64_t now_ns = 92 * MS; now_ns < 110 * MS; now_ns += MS / 4) {
        sender_on_tick(sender, now_ns, &events);
        assert_true(fixture.probed_count - covers <= 1);
        if (fixture.probed_count == covers)
            continue;
        covers++;
        assert_true(sender_at_tail(sender, now_ns));
        sender_on_sent(sender, fixture.probed[covers - 1], (uint16_t)(fixture.probed[covers - 1] % 1000),
                       PACKET_BYTES, true, now_ns);
        sender_on_limited(sender, EDGE_LIMIT_application);
    }
    assert_int_equal(covers, 2);
    assert_int_equal(sender->counters.early_repeats, 2);
}

static void sender__repeated_content_has_one_verdict(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    open_kept(RATE_BPS, 80 * MS, 2048);
    send(100, 0, 10000);
    sender->counters.lost_packets = 1;
    struct told told = {.largest = 97, .runs = {98}};
    assert_true(ack(&told, 12 * MS));
    sender_on_limited(sender, EDGE_LIMIT_application);
    sender_on_tick(sender, 60 * MS, &events);
    assert_int_equal(fixture.probed_count, 2);
    for (uint32_t index = 0; index < 2; index++)
        sender_on_sent(sender, fixture.probed[index], (uint16_t)(fixture.probed[index] % 1000), PACKET_BYTES,
                       true, 60 * MS);
    /* 98 is lost: its copy decides. 99's copy is lost: nothing to hand back, for 99 has come. */
    told = (struct told){.largest = 100, .runs = {98, 1, 2}};
    assert_true(ack(&told, 140 * MS));
    assert_int_equal(fixture.lost_count, 0);
    assert_int_equal(sender->counters.lost_packets, 2);
    assert_int_equal(sender->in_flight_packets, 1);
}

static void sender__window_follows_the_receivers_room(void **state)
{
    (void)state;
    static const struct {
        uint32_t told, sent;
    } cases[] = {{512, 512 - SENDER_PROBE_RESERVE},
                 {1 << 20, WINDOW - SENDER_PROBE_RESERVE},
                 {1, SENDER_PROBE_RESERVE}};
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        uint64_t now_ns = 0;
        enum edge_limit limit;
        open_kept(RATE_BPS, 80 * MS, WINDOW);
        sender_set_window_limit(&fixture.sender, cases[index].told);
        assert_int_equal(send_until(&now_ns, 5 * MS), cases[index].sent);
        assert_int_equal(sender_send_ns(&fixture.sender, PACKET_BYTES, false, &limit), TIME_NEVER);
        assert_int_equal(limit, EDGE_LIMIT_window);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sender__silence_begins_in_time_and_sends_little, setup, teardown),
        cmocka_unit_test_setup_teardown(sender__first_ack_ends_silence_at_full_rate, setup, teardown),
        cmocka_unit_test_setup_teardown(sender__nothing_in_flight_is_no_silence, setup, teardown),
        cmocka_unit_test_setup_teardown(sender__tail_repeats_what_the_budget_allows, setup, teardown),
        cmocka_unit_test_setup_teardown(sender__pauses_of_a_job_earn_no_repeats, setup, teardown),
        cmocka_unit_test_setup_teardown(sender__a_group_of_repairs_is_covered, setup, teardown),
        cmocka_unit_test_setup_teardown(sender__repeated_content_has_one_verdict, setup, teardown),
        cmocka_unit_test_setup_teardown(sender__window_follows_the_receivers_room, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
