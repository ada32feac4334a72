/* The sender alone, fed with acks written by hand. */
#include "sender_hand.h"

static void sender__settles_each_packet_once(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    send(10, 0, 1000);
    assert_int_equal(sender->in_flight_packets, 10);
    assert_int_equal(sender->in_flight_bytes, 10 * PACKET_BYTES);
    struct told told = {.largest = 4, .runs = {5}};
    assert_true(ack(&told, 10 * MS));
    assert_int_equal(fixture.acked_count, 5);
    assert_int_equal(sender_floor(sender), 5);
    assert_true(ack(&told, 11 * MS));
    assert_int_equal(fixture.acked_count, 5);
    told = (struct told){.largest = 9, .runs = {10}};
    assert_true(ack(&told, 12 * MS));
    assert_int_equal(fixture.acked_count, 10);
    uint64_t seen = 0;
    for (uint32_t index = 0; index < 10; index++)
        seen |= 1ULL << (fixture.acked[index] - 1000);
    assert_int_equal(seen, 0x3ff);
    assert_int_equal(sender->in_flight_bytes, 0);
    assert_int_equal(sender_floor(sender), 10);
    assert_int_equal(sender_next_ns(sender), TIME_NEVER);
    assert_int_equal(sender->counters.acked_packets, 10);
}

/* Missing 3: lost only once the newest receipt was sent a reorder allowance after it. */
static void sender__declares_loss_by_send_time(void **state)
{
    (void)state;
    static const struct {
        uint64_t spacing_ns;
        uint32_t late_us;
        bool lost;
    } cases[] = {
        {100000, 0, false},      /* 0.6 ms later: within 1 ms */
        {170000, 0, true},       /* 1.02 ms */
        {166666, 0, false},      /* just below */
        {1000000, 4000, true},   /* 6 ms later, allowance 5 ms */
        {1000000, 5000, false},  /* 6.25 ms */
        {20000000, 90000, true}, /* 120 ms later, allowance 112.5 ms */
        {1000, 0, false},        /* many packets later, but no time */
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        open_sender(WINDOW);
        sender_set_rtt(&fixture.sender, 200 * MS);
        send(10, 0, cases[index].spacing_ns);
        struct told told = {.largest = 9, .late_us = cases[index].late_us, .runs = {3, 1, 6}};
        assert_true(ack(&told, 300 * MS));
        assert_int_equal(fixture.lost_count, cases[index].lost);
        assert_int_equal(fixture.sender.in_flight_packets, !cases[index].lost);
        assert_int_equal(fixture.acked_count, 9);
        if (cases[index].lost)
            assert_int_equal(fixture.lost[0], 1003);
    }
}

static void sender__hostile_lateness_has_a_ceiling(void **state)
{
    (void)state;
    sender_set_rtt(&fixture.sender, 10 * MS);
    send(10, 0, 20 * MS);
    struct told told = {.largest = 9, .late_us = UINT32_MAX, .runs = {3, 1, 6}};
    assert_true(ack(&told, 190 * MS));
    assert_true(fixture.sender.reorder.allowance_ns <=
                MAX(fixture.sender.rtt.smoothed_ns, REORDER_CEILING_NS));
    assert_int_equal(fixture.lost_count, 1);
}

static void sender__old_ack_never_forges_a_loss(void **state)
{
    (void)state;
    send(10, 0, 5 * MS);
    /* The ack that came late: it had seen 0, 2 only, and 1 was young then. */
    struct told newer = {.largest = 9, .delivered_bytes = 9000, .credit = 50, .runs = {1, 0, 9}};
    struct told older = {.largest = 2, .delivered_bytes = 2000, .credit = 900, .runs = {1, 1, 1}};
    newer.runs[1] = 1;
    newer.runs[2] = 8;
    assert_true(ack(&newer, 100 * MS));
    assert_int_equal(fixture.lost_count, 1);
    uint64_t credit_end = fixture.sender.credit_end;
    assert_int_equal(credit_end, 60);
    assert_true(ack(&older, 101 * MS));
    assert_int_equal(fixture.lost_count, 1);
    assert_int_equal(fixture.sender.credit_end, credit_end);
    assert_int_equal(fixture.sender.counters.stale_acks, 1);
    assert_int_equal(fixture.sender.delivered_bytes, 9000);
}

static void sender__recognises_spurious_repairs_while_of_interest(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    send(10, 0, 5 * MS);
    struct told told = {.largest = 9, .delivered_bytes = 9, .runs = {2, 1, 7}};
    assert_true(ack(&told, 100 * MS)); /* RTT 55 ms */
    assert_int_equal(fixture.lost_count, 1);
    assert_int_equal(sender_floor(sender), 2);
    /* Two round trips after it left, or one after the verdict. */
    uint64_t turn_ns = sender->rtt.smoothed_ns + sender->reorder.allowance_ns;
    assert_int_equal(sender_next_ns(sender), 10 * MS + 2 * turn_ns);
    /* It was only late. */
    told.runs[0] = 10;
    told.runs[1] = told.runs[2] = 0;
    assert_true(ack(&told, 110 * MS));
    assert_int_equal(sender->counters.spurious_repairs, 1);
    assert_int_equal(fixture.acked_count, 10);
    assert_int_equal(fixture.acked[9], 1002);
    assert_int_equal(sender_floor(sender), 10);
    assert_int_equal(sender->in_flight_packets, 0);
}

static void sender__floor_passes_what_is_lost_for_good(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    send(10, 0, 5 * MS);
    struct told told = {.largest = 9, .runs = {2, 1, 7}};
    assert_true(ack(&told, 100 * MS));
    uint64_t end_ns = sender_next_ns(sender);
    sender_on_tick(sender, end_ns - 1, &events);
    assert_int_equal(sender_floor(sender), 2);
    sender_on_tick(sender, end_ns, &events);
    assert_int_equal(sender_floor(sender), 10);
    assert_int_equal(sender_next_ns(sender), TIME_NEVER);
    assert_int_equal(fixture.probed_count, 0);
    /* With packets in flight the next ack moves it. */
    send(2, 1000 * MS, MS);
    told = (struct told){.base = 10, .largest = 11, .runs = {0, 1, 1}};
    assert_true(ack(&told, 1060 * MS));
    send(1, 2000 * MS, MS);
    told = (struct told){.base = 12, .largest = 12, .runs = {1}};
    assert_true(ack(&told, 2060 * MS));
    assert_int_equal(sender_floor(sender), 13);
}

static void sender__lost_packets_never_fill_the_window(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    enum edge_limit limit;
    sender_set_rtt(sender, 10000 * MS);
    uint64_t now_ns = 0;
    /* Every second packet is lost; nothing of it ages, for the RTT is 10 s. */
    for (uint64_t turn = 0; turn < 100; turn++) {
        uint64_t first = sender->next_number;
        assert_int_not_equal(sender_send_ns(sender, PACKET_BYTES, false, &limit), TIME_NEVER);
        send(2, now_ns, 2 * MS);
        send(40, now_ns + 4 * MS, 1000);
        now_ns += 10 * MS;
        struct told told = {
            .base = first, .largest = first + 41, .largest_delay = UINT32_MAX, .runs = {0, 2, 40}};
        assert_true(ack(&told, now_ns));
        assert_true(sender->next_number - sender->floor <= WINDOW - WINDOW / 4);
    }
    assert_int_equal(fixture.lost_count, 200);
    assert_int_equal(sender->in_flight_packets, 0);
}

static void sender__samples_rtt_from_newly_acked_largest_only(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    send(10, 0, MS);
    struct told told = {.largest = 4, .largest_delay = 3000000, .runs = {5}};
    assert_true(ack(&told, 50 * MS));
    assert_int_equal(sender->rtt.latest_ns, (50 - 4 - 3) * MS);
    assert_true(ack(&told, 90 * MS));
    assert_int_equal(sender->rtt.latest_ns, (50 - 4 - 3) * MS);
    told = (struct told){.largest = 7, .largest_delay = UINT32_MAX, .runs = {8}};
    assert_true(ack(&told, 91 * MS));
    assert_int_equal(sender->rtt.latest_ns, (50 - 4 - 3) * MS);
    told = (struct told){.largest = 9, .largest_delay = 500 * MS, .runs = {10}};
    assert_true(ack(&told, 92 * MS)); /* an impossible delay gives no negative RTT */
    assert_int_equal(sender->rtt.latest_ns, 1);
}

static void sender__refuses_acks_of_what_was_never_sent(void **state)
{
    (void)state;
    static const struct told bad[] = {
        {.largest = 10, .runs = {5}},           {.largest = UINT32_MAX, .runs = {5}},
        {.largest = 9, .runs = {11}},           {.largest = 5, .runs = {2, 1, 4}},
        {.base = 9, .largest = 8, .runs = {1}},
    };
    for (size_t index = 0; index < sizeof(bad) / sizeof(bad[0]); index++) {
        open_sender(WINDOW);
        struct told told = {.largest = 0, .runs = {1}};
        assert_false(ack(&told, 1)); /* nothing was sent at all */
        send(10, 0, 5 * MS);
        assert_false(ack(&bad[index], 100 * MS));
        assert_int_equal(fixture.acked_count + fixture.lost_count, 0);
        assert_int_equal(fixture.sender.in_flight_packets, 10);
        assert_int_equal(fixture.sender.counters.acks, 0);
    }
}

static void sender__tail_probe_repeats_the_newest_in_flight(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    enum edge_limit limit;
    sender_set_rtt(sender, 100 * MS);
    send(5, 1000 * MS, MS);
    struct told told = {.largest = 2, .runs = {3}};
    assert_true(ack(&told, 1102 * MS)); /* RTT 100 ms */
    uint64_t wait_ns = 100 * MS + 4 * 50 * MS + SENDER_ACK_SLACK_NS;
    uint64_t due_ns = sender_next_ns(sender);
    assert_int_equal(due_ns, 1004 * MS + wait_ns);
    sender_on_tick(sender, due_ns - 1, &events);
    assert_int_equal(fixture.probed_count, 0);
    for (uint32_t index = 0; index < 2; index++) {
        assert_int_equal(sender_next_ns(sender), due_ns);
        sender_on_tick(sender, due_ns, &events);
        assert_int_equal(fixture.probed_count, index + 1);
        assert_int_equal(fixture.probed[index], 1004);
        sender_on_sent(sender, 1004, 4, PACKET_BYTES, true, due_ns);
        due_ns += wait_ns;
    }
    sender_on_tick(sender, due_ns, &events);
    assert_int_equal(sender->counters.tail_probes, 3);
    assert_int_equal(sender->next_number, 7);
    /* The probe passes the in-flight limit, once. */
    sender->congestion.in_flight_max_bytes = 0;
    assert_int_equal(sender_send_ns(sender, PACKET_BYTES, false, &limit), TIME_NEVER);
    assert_int_not_equal(sender_send_ns(sender, PACKET_BYTES, true, &limit), TIME_NEVER);
    sender_on_sent(sender, 1004, 4, PACKET_BYTES, true, due_ns);
    assert_int_equal(sender_send_ns(sender, PACKET_BYTES, true, &limit), TIME_NEVER);
    assert_int_equal(limit, EDGE_LIMIT_congestion);
    /* Its ack shows the gap before it. */
    told = (struct told){.largest = 7, .runs = {3, 4, 1}};
    assert_true(ack(&told, due_ns + 100 * MS));
    /* Of what was probed a newer copy was under way. */
    assert_int_equal(sender->counters.lost_packets, 4);
    assert_int_equal(fixture.lost_count, 1);
    assert_int_equal(fixture.lost[0], 1003);
    assert_int_equal(sender->probe_backoff, 0);
}

static void sender__probe_of_no_use_hands_back_what_is_in_flight(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    sender_set_rtt(sender, 10 * MS);
    send(5, 1000 * MS, MS);
    sender_on_tick(sender, sender_next_ns(sender), &events);
    assert_int_equal(fixture.probed_count, 1);
    sender_on_tick(sender, sender_next_ns(sender), &events);
    assert_int_equal(fixture.probed_count, 1);
    assert_int_equal(fixture.lost_count, 5);
    assert_int_equal(sender->in_flight_packets, 0);
    sender_on_tick(sender, sender_next_ns(sender), &events);
    assert_int_equal(sender_floor(sender), 5);
    assert_int_equal(sender_next_ns(sender), TIME_NEVER);
}

static void sender__newest_acked_probes_soon(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    sender_set_rtt(sender, 100 * MS);
    send(5, 1000 * MS, 1000); /* within 4 us: no verdict about 3 is possible */
    struct told told = {.largest = 4, .runs = {3, 1, 1}};
    assert_true(ack(&told, 1100 * MS));
    assert_int_equal(fixture.lost_count, 0);
    assert_int_equal(sender_next_ns(sender), 1100 * MS + sender->reorder.allowance_ns + 2 * MS);
    sender_on_tick(sender, sender_next_ns(sender), &events);
    assert_int_equal(fixture.probed_count, 1);
    assert_int_equal(fixture.probed[0], 1003);
}

static void sender__waits_for_window_credit_and_in_flight(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    enum edge_limit limit;
    uint64_t now_ns = 0;
    while (sender_send_ns(sender, PACKET_BYTES, false, &limit) != TIME_NEVER) {
        now_ns += 1000;
        send(1, now_ns, 0);
    }
    assert_int_equal(limit, EDGE_LIMIT_window);
    assert_int_equal(sender->next_number, WINDOW - SENDER_PROBE_RESERVE);
    assert_int_equal(sender_send_ns(sender, PACKET_BYTES, true, &limit), TIME_NEVER);
    /* A probe gets through even then. */
    sender_on_tick(sender, sender_next_ns(sender), &events);
    assert_int_not_equal(sender_send_ns(sender, PACKET_BYTES, true, &limit), TIME_NEVER);
    open_sender(WINDOW);
    send(10, 0, MS);
    struct told told = {.largest = 4, .credit = 7, .runs = {5}};
    assert_true(ack(&told, 100 * MS));
    assert_int_equal(sender->credit_end, 12);
    send(2, 100 * MS, MS);
    assert_int_equal(sender_send_ns(sender, PACKET_BYTES, false, &limit), TIME_NEVER);
    assert_int_equal(limit, EDGE_LIMIT_credit);
    assert_int_not_equal(sender_send_ns(sender, PACKET_BYTES, true, &limit), TIME_NEVER);
    /* fixed: twice the rate times (RTT + 50 ms), then silence. */
    open_sender(4096);
    sender_set_congestion(sender, &congestion_fixed_type, 8000000, true, 0); /* 1 MB/s */
    sender_set_rtt(sender, 50 * MS);
    sender_set_congestion(sender, &congestion_fixed_type, 8000000, true, 0);
    for (now_ns = 0; sender_send_ns(sender, PACKET_BYTES, false, &limit) != TIME_NEVER;) {
        now_ns = MAX(now_ns, sender_send_ns(sender, PACKET_BYTES, false, &limit));
        send(1, now_ns, 0);
    }
    assert_int_equal(limit, EDGE_LIMIT_congestion);
    assert_int_equal(sender->in_flight_bytes, 200000);
}

static void sender__cap_holds_whatever_the_strategy_says(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    enum edge_limit limit;
    assert_int_equal(sender_rate_bps(sender), RATE_BPS);
    sender_set_cap(sender, RATE_BPS / 4);
    assert_int_equal(sender_rate_bps(sender), RATE_BPS / 4);
    sender_send_ns(sender, PACKET_BYTES, false, &limit);
    assert_int_equal(limit, EDGE_LIMIT_cap);
    sender_set_congestion(sender, &congestion_fixed_type, RATE_BPS, false, 0);
    assert_int_equal(sender_rate_bps(sender), RATE_BPS / 4);
    sender_set_cap(sender, 2 * RATE_BPS);
    assert_int_equal(sender_rate_bps(sender), RATE_BPS);
}

static struct congestion_sample last_sample;

static void keep_init(struct congestion *congestion, uint64_t initial_bps, bool known, uint64_t rtt_ns,
                      uint64_t now_ns)
{
    assert_true(known && rtt_ns > 0 && now_ns == 0);
    congestion->rate_bps = initial_bps;
    congestion->in_flight_max_bytes = UINT64_MAX;
}

static void keep_sample(struct congestion *congestion, const struct congestion_sample *sample)
{
    congestion->rate_bps = RATE_BPS;
    last_sample = *sample;
}

static void sender__samples_tell_the_strategy_what_happened(void **state)
{
    (void)state;
    static const struct congestion_type keep = {.name = "keep", .init = keep_init, .on_ack = keep_sample};
    struct sender *sender = &fixture.sender;
    sender_set_congestion(sender, &keep, RATE_BPS, true, 0);
    send(10, 0, 5 * MS);
    sender_on_limited(sender, EDGE_LIMIT_application);
    struct told told = {.largest = 3, .delivered_bytes = 3000, .runs = {1, 1, 2}};
    assert_true(ack(&told, 100 * MS));
    assert_int_equal(last_sample.limited, EDGE_LIMIT_application);
    assert_int_equal(last_sample.rtt_ns, 85 * MS);
    assert_int_equal(last_sample.acked_bytes, 3 * PACKET_BYTES);
    assert_int_equal(last_sample.lost_packets, 1);
    assert_int_equal(sender->in_flight_bytes, 6 * PACKET_BYTES);
    assert_int_equal(last_sample.delivered_bytes, 3000);
    /* The cause holds for one sample; the next is the strategy's own, or the cap's. */
    assert_true(ack(&told, 101 * MS));
    assert_int_equal(last_sample.limited, EDGE_LIMIT_congestion);
    assert_int_equal(last_sample.rtt_ns, 0);
    assert_int_equal(last_sample.acked_bytes, 0);
    assert_int_equal(last_sample.lost_packets, 0);
    sender_set_cap(sender, RATE_BPS / 2);
    assert_true(ack(&told, 102 * MS));
    assert_int_equal(last_sample.limited, EDGE_LIMIT_cap);
}

/* Delays and receive times stay on one origin however the 32 bits wrap and however long it was quiet. */
static void sender__samples_unwrap_the_receivers_clock(void **state)
{
    (void)state;
    static const struct congestion_type keep = {.name = "keep", .init = keep_init, .on_ack = keep_sample};
    static const struct {
        uint64_t at_ns, owd_ns;
        bool newer; /* tells of more bytes */
    } turns[] = {
        {10 * MS, 4 * MS, true},        {11 * MS, 9 * MS, true},         {12 * MS, 99 * MS, false},
        {20 * MS, 4 * MS, true},        {50 * NS_PER_S, 5 * MS, true},   {51 * NS_PER_S, 5 * MS, true},
        {290 * NS_PER_S, 4 * MS, true}, {290 * NS_PER_S, 4 * MS, false}, {291 * NS_PER_S, 6 * MS, true}};
    for (uint64_t offset_ns = 0; offset_ns < 70 * NS_PER_S; offset_ns += 8589934592ULL) {
        open_sender(WINDOW);
        sender_set_congestion(&fixture.sender, &keep, RATE_BPS, true, 0);
        send(1, 0, 1);
        uint64_t bytes = 0;
        int64_t owd_origin_ns = 0;
        uint64_t clock_origin_ns = 0;
        for (size_t index = 0; index < sizeof(turns) / sizeof(turns[0]); index++) {
            bytes += turns[index].newer;
            struct told told = {.delivered_bytes = bytes,
                                .owd_ns = turns[index].owd_ns,
                                .jump_ns = 3 * MS,
                                .clock_offset_ns = offset_ns,
                                .runs = {1}};
            assert_true(ack(&told, turns[index].at_ns));
            assert_int_equal(last_sample.owd_known, turns[index].newer);
            assert_int_equal(last_sample.jump_ns, index == 0 ? 3 * MS : 0); /* later nothing is under way */
            if (!turns[index].newer)
                continue;
            if (index == 0) {
                owd_origin_ns = last_sample.owd_ns - (int64_t)turns[0].owd_ns;
                clock_origin_ns = last_sample.delivered_ns - turns[0].at_ns;
            }
            assert_int_equal(last_sample.owd_ns, owd_origin_ns + (int64_t)turns[index].owd_ns);
            assert_int_equal(last_sample.delivered_ns, clock_origin_ns + turns[index].at_ns);
        }
    }
}

/* Acks that newer ones overtook still tell the least delay of what they spoke of first, while that is of now. */
static void sender__overtaken_acks_tell_delays(void **state)
{
    (void)state;
    static const struct congestion_type keep = {.name = "keep", .init = keep_init, .on_ack = keep_sample};
    static const struct {
        uint64_t ago_ns;
        bool tells;
    } cases[] = {{1 * MS, true}, {8 * MS, true}, {30 * MS, false}};
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        open_sender(WINDOW);
        sender_set_congestion(&fixture.sender, &keep, RATE_BPS, true, 0);
        send(10, 0, MS);
        struct told newer = {.largest = 9, .delivered_bytes = 9000, .owd_ns = 70 * MS, .runs = {10}};
        assert_true(ack(&newer, 80 * MS));
        int64_t newer_ns = last_sample.owd_ns;
        struct told older = {.largest = 4,
                             .delivered_bytes = 5000,
                             .owd_ns = 40 * MS,
                             .delivered_ago_ns = cases[index].ago_ns,
                             .runs = {5}};
        assert_true(ack(&older, 80 * MS));
        assert_int_equal(last_sample.owd_known, cases[index].tells);
        assert_int_equal(last_sample.delivered_bytes, 9000);
        if (cases[index].tells)
            assert_int_equal(last_sample.owd_ns, newer_ns - 30 * (int64_t)MS);
    }
}

static void sender__samples_count_packets_and_what_left_since(void **state)
{
    (void)state;
    static const struct congestion_type keep = {.name = "keep", .init = keep_init, .on_ack = keep_sample};
    struct sender *sender = &fixture.sender;
    sender_set_congestion(sender, &keep, RATE_BPS, true, 0);
    sender_set_rtt(sender, 100 * MS);
    send(10, 0, 5 * MS);
    struct told told = {.largest = 5, .delivered_bytes = 3000, .runs = {1, 2, 3}};
    assert_true(ack(&told, 100 * MS));
    assert_int_equal(last_sample.acked_packets, 4);
    assert_int_equal(last_sample.lost_packets, 2);
    assert_int_equal(sender->counters.sent_bytes, 10 * PACKET_BYTES);
    assert_int_equal(last_sample.newest_sent_ns, 25 * MS);
    assert_int_equal(last_sample.after_bytes, 4 * PACKET_BYTES);
    assert_int_equal(sender->counters.spurious_repairs, 0);
    told = (struct told){.largest = 5, .delivered_bytes = 4000, .runs = {2, 1, 3}};
    assert_true(ack(&told, 101 * MS));
    assert_int_equal(last_sample.acked_packets, 0);
    assert_int_equal(sender->counters.spurious_repairs, 1);
    /* An older ack that comes late changes nothing of it. */
    told = (struct told){.largest = 3, .delivered_bytes = 2000, .runs = {4}};
    assert_true(ack(&told, 102 * MS));
    assert_int_equal(last_sample.newest_sent_ns, 25 * MS);
    assert_int_equal(last_sample.after_bytes, 4 * PACKET_BYTES);
    assert_false(last_sample.owd_known);
}

static void sender__refused_packets_teach_nothing_of_the_path(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    send(4, 0, 5 * MS);
    sender_on_refused(sender, 1, &events);
    sender_on_refused(sender, 1, &events);
    sender_on_refused(sender, 99, &events);
    assert_int_equal(fixture.lost_count, 1);
    assert_int_equal(fixture.lost[0], 1001);
    assert_int_equal(sender->counters.refused_packets, 1);
    assert_int_equal(sender->counters.lost_packets, 0);
    assert_int_equal(sender->in_flight_bytes, 3 * PACKET_BYTES);
    struct told told = {.largest = 3, .runs = {1, 1, 2}};
    assert_true(ack(&told, 100 * MS));
    assert_int_equal(fixture.lost_count, 1);
    assert_int_equal(sender_floor(sender), 4);
}

static void sender__one_ack_declares_a_bounded_number(void **state)
{
    (void)state;
    open_sender(1 << 17);
    struct sender *sender = &fixture.sender;
    sender->congestion.in_flight_max_bytes = UINT64_MAX;
    send(SENDER_LOST_PER_ACK_MAX + 1000, 0, 1000);
    send(1, 1000 * MS, 0);
    struct told told = {.largest = sender->next_number - 1, .runs = {0, SENDER_LOST_PER_ACK_MAX + 1000, 1}};
    assert_true(ack(&told, 1100 * MS));
    assert_int_equal(fixture.lost_count, SENDER_LOST_PER_ACK_MAX);
    assert_true(ack(&told, 1101 * MS));
    assert_int_equal(fixture.lost_count, SENDER_LOST_PER_ACK_MAX + 1000);
}

static void sender__measures_delivery_on_the_receivers_clock(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    sender_set_rtt(sender, 10 * MS);
    /* 1000 bytes a ms: 8 Mbit/s, acks bunched by the way back. */
    for (uint64_t number = 0; number < 100; number++) {
        send(1, number * MS, 0);
        uint8_t runs[8];
        struct wire_ack_view view = {.fixed = {.base = (uint32_t)sender_floor(sender),
                                               .largest = (uint32_t)number,
                                               .credit = 1000,
                                               .delivered_bytes = (number + 1) * 1000,
                                               .delivered_stamp = wire_stamp(number * MS + 123456)},
                                     .runs = runs};
        view.fixed.run_bytes = (uint16_t)wire_run_put(runs, (uint32_t)(number + 1 - sender_floor(sender)));
        assert_true(sender_on_ack(sender, &view, number * MS + 10 * MS + (number % 7) * 100000, &events));
    }
    assert_in_range(sender->delivery_rate_bps, 7999000, 8001000);
}

static void sender__reset_forgets_packets_without_events(void **state)
{
    (void)state;
    struct sender *sender = &fixture.sender;
    send(20, 0, 5 * MS);
    struct told told = {.largest = 12, .credit = 1, .runs = {2, 1, 10}};
    assert_true(ack(&told, 100 * MS));
    uint32_t seen = fixture.acked_count + fixture.lost_count;
    sender_reset(sender, 200 * MS);
    assert_int_equal(fixture.acked_count + fixture.lost_count, seen);
    assert_int_equal(sender_next_ns(sender), TIME_NEVER);
    send(10, 300 * MS, 5 * MS);
    told = (struct told){.largest = 9, .runs = {10}};
    assert_true(ack(&told, 400 * MS));
    assert_int_equal(sender->in_flight_packets, 0);
    assert_int_equal(sender_floor(sender), 10);
    assert_int_equal(sender->counters.spurious_repairs, 0);
}

#define SENDER_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SENDER_TEST(sender__settles_each_packet_once),
        SENDER_TEST(sender__declares_loss_by_send_time),
        SENDER_TEST(sender__hostile_lateness_has_a_ceiling),
        SENDER_TEST(sender__old_ack_never_forges_a_loss),
        SENDER_TEST(sender__recognises_spurious_repairs_while_of_interest),
        SENDER_TEST(sender__floor_passes_what_is_lost_for_good),
        SENDER_TEST(sender__lost_packets_never_fill_the_window),
        SENDER_TEST(sender__samples_rtt_from_newly_acked_largest_only),
        SENDER_TEST(sender__refuses_acks_of_what_was_never_sent),
        SENDER_TEST(sender__tail_probe_repeats_the_newest_in_flight),
        SENDER_TEST(sender__probe_of_no_use_hands_back_what_is_in_flight),
        SENDER_TEST(sender__newest_acked_probes_soon),
        SENDER_TEST(sender__waits_for_window_credit_and_in_flight),
        SENDER_TEST(sender__cap_holds_whatever_the_strategy_says),
        SENDER_TEST(sender__samples_tell_the_strategy_what_happened),
        SENDER_TEST(sender__samples_unwrap_the_receivers_clock),
        SENDER_TEST(sender__overtaken_acks_tell_delays),
        SENDER_TEST(sender__samples_count_packets_and_what_left_since),
        SENDER_TEST(sender__refused_packets_teach_nothing_of_the_path),
        SENDER_TEST(sender__one_ack_declares_a_bounded_number),
        SENDER_TEST(sender__measures_delivery_on_the_receivers_clock),
        SENDER_TEST(sender__reset_forgets_packets_without_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
