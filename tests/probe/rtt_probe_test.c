/* The RTT measurement against a small seeded path: delay, loss, an MTU black hole, a reflector that takes its
 * time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/units.h"
#include "probe/rtt_probe.h"

#define OVERHEAD    28
#define DURATION_NS (500 * NS_PER_MS)
#define REPLIES_MAX 64

struct reply {
    uint64_t at_ns;
    struct wire_probe message;
};

struct path {
    uint64_t delay_ns, jitter_ns, residence_ns;
    uint64_t loss_ppb;
    uint32_t mtu;
    uint64_t seed;
    uint64_t line_bps; /* of a slow line with a queue; 0: none */
    uint32_t queue_bytes;
};

struct outcome {
    uint64_t end_ns;
    uint32_t sent_probes;
    uint64_t sent_bytes;
};

static uint32_t ip_bytes(const struct wire_probe *message)
{
    return (uint32_t)WIRE_PROBE_BYTES + message->padding + OVERHEAD;
}

static void reflect(const struct path *path, struct rng *rng, struct reply *reply,
                    const struct wire_probe *message)
{
    uint64_t out_ns = path->delay_ns + rng_below(rng, path->jitter_ns + 1);
    uint64_t back_ns = path->delay_ns + rng_below(rng, path->jitter_ns + 1);
    reply->message = *message;
    reply->message.t2_ns = message->t1_ns + out_ns + 77 * NS_PER_S; /* its own clock */
    reply->message.t3_ns = reply->message.t2_ns + path->residence_ns;
    reply->at_ns = message->t1_ns + out_ns + path->residence_ns + back_ns;
}

/* When the line has sent what waits before it; false: the queue has no room for this one. */
static bool enqueue(const struct path *path, uint32_t bytes, uint64_t now_ns, uint64_t *free_ns)
{
    if (path->line_bps == 0)
        return true;
    uint64_t backlog_ns = *free_ns > now_ns ? *free_ns - now_ns : 0;
    if (backlog_ns > 0 && muldiv64(backlog_ns, path->line_bps, 8 * NS_PER_S) + bytes > path->queue_bytes)
        return false;
    *free_ns = now_ns + backlog_ns + transmit_ns(bytes, path->line_bps);
    return true;
}

static void measure(struct rtt_probe *probe, const struct path *path, uint32_t mtu, uint64_t now_ns,
                    struct outcome *outcome)
{
    struct reply replies[REPLIES_MAX];
    uint32_t count = 0;
    struct rng rng;
    uint64_t free_ns = 0;
    rng_init(&rng, path->seed);
    *outcome = (struct outcome){0};
    rtt_probe_start(probe, mtu, OVERHEAD, DURATION_NS, now_ns);
    while (!rtt_probe_finished(probe, now_ns)) {
        struct wire_probe message;
        while (rtt_probe_next(probe, now_ns, &message)) {
            outcome->sent_probes++;
            outcome->sent_bytes += ip_bytes(&message);
            assert_true(ip_bytes(&message) <= mtu);
            if (!enqueue(path, ip_bytes(&message), now_ns, &free_ns) || ip_bytes(&message) > path->mtu ||
                rng_chance_ppb(&rng, path->loss_ppb))
                continue;
            assert_true(count < REPLIES_MAX);
            reflect(path, &rng, &replies[count++], &message);
        }
        uint64_t next_ns = rtt_probe_next_ns(probe);
        assert_true(next_ns != TIME_NEVER);
        uint32_t first = count;
        for (uint32_t index = 0; index < count; index++)
            if (replies[index].at_ns <= next_ns &&
                (first == count || replies[index].at_ns < replies[first].at_ns))
                first = index;
        now_ns = MAX(now_ns, next_ns);
        if (first < count) {
            now_ns = replies[first].at_ns;
            const struct wire_probe *reply = &replies[first].message;
            uint32_t bytes = (uint32_t)WIRE_PROBE_BYTES + reply->padding;
            assert_true(rtt_probe_on_reply(probe, reply, bytes, now_ns));
            assert_false(rtt_probe_on_reply(probe, reply, bytes, now_ns));
            replies[first] = replies[--count];
        }
    }
    outcome->end_ns = now_ns;
}

static void rtt_probe__finds_rtt_and_mtu(void **state)
{
    (void)state;
    static const struct {
        struct path path;
        uint32_t port_mtu, mtu_answered;
        uint64_t end_max_ns;
    } cases[] = {
        {{.delay_ns = 20 * NS_PER_MS, .mtu = 9000}, 9000, 9000, 550 * NS_PER_MS},
        {{.delay_ns = 20 * NS_PER_MS, .mtu = 1500}, 1500, 1500, 550 * NS_PER_MS},
        {{.delay_ns = 20 * NS_PER_MS, .mtu = 9000, .residence_ns = 30 * NS_PER_MS},
         1500,
         1500,
         600 * NS_PER_MS},
        /* black holes: one more round trip than a clean path, not the whole wait */
        {{.delay_ns = 20 * NS_PER_MS, .mtu = 1500}, 9000, 1500, 900 * NS_PER_MS},
        {{.delay_ns = 20 * NS_PER_MS, .mtu = 1400}, 1500, 1400, 900 * NS_PER_MS},
        {{.delay_ns = 20 * NS_PER_MS, .mtu = 1399}, 1500, 1280, 900 * NS_PER_MS},
        {{.delay_ns = 20 * NS_PER_MS, .mtu = 2000}, 2000, 2000, 550 * NS_PER_MS},
        {{.delay_ns = 600 * NS_PER_MS, .mtu = 1500}, 1500, 1500, 1750 * NS_PER_MS},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        struct rtt_probe probe = {0};
        struct outcome outcome;
        measure(&probe, &cases[index].path, cases[index].port_mtu, 1000, &outcome);
        assert_int_equal(probe.min_ns, 2 * cases[index].path.delay_ns);
        assert_int_equal(probe.smoothed_ns, 2 * cases[index].path.delay_ns);
        assert_int_equal(probe.mtu_answered, cases[index].mtu_answered);
        assert_int_equal(probe.sent, RTT_PROBE_ROUNDS);
        assert_int_equal(probe.answered, RTT_PROBE_ROUNDS);
        assert_true(outcome.end_ns <= 1000 + cases[index].end_max_ns);
    }
}

/* However long the path is: what is measured may be a narrow line, and many measure it at the same time. */
static void rtt_probe__clean_path_costs_one_padded_probe(void **state)
{
    (void)state;
    static const uint64_t delays_ns[] = {NS_PER_MS / 10, NS_PER_MS, 20 * NS_PER_MS, 100 * NS_PER_MS,
                                         NS_PER_S / 2};
    for (size_t index = 0; index < sizeof(delays_ns) / sizeof(delays_ns[0]); index++) {
        struct rtt_probe probe = {0};
        struct outcome outcome;
        struct path path = {.delay_ns = delays_ns[index], .mtu = 9000};
        measure(&probe, &path, 9000, 0, &outcome);
        assert_int_equal(outcome.sent_probes, RTT_PROBE_ROUNDS + 1);
        assert_int_equal(outcome.sent_bytes, RTT_PROBE_ROUNDS * (WIRE_PROBE_BYTES + OVERHEAD) + 9000);
        assert_int_equal(rtt_probe_path_mtu(&probe), 9000);
        uint64_t last_ns = DURATION_NS / RTT_PROBE_ROUNDS * (RTT_PROBE_ROUNDS - 1);
        assert_int_equal(outcome.end_ns, last_ns + 2 * path.delay_ns);
    }
}

/* A large probe fills the line for as long as several of the others wait: they are refused, until a round begins with them. */
static void rtt_probe__slow_line_with_a_short_queue(void **state)
{
    (void)state;
    static const uint64_t lines_bps[] = {400000, 1000000, 3300000};
    for (size_t index = 0; index < sizeof(lines_bps) / sizeof(lines_bps[0]); index++) {
        struct rtt_probe probe = {0};
        struct outcome outcome;
        struct path path = {
            .delay_ns = 66 * NS_PER_MS, .mtu = 1500, .line_bps = lines_bps[index], .queue_bytes = 2092};
        measure(&probe, &path, 9000, 0, &outcome);
        assert_true(rtt_probe_path_mtu(&probe) >= 1280);
    }
}

/* Once the RTT and the MTU are known, a bare probe that does not come back costs a quarter of an RTT. */
static void rtt_probe__lost_ones_are_not_waited_for(void **state)
{
    (void)state;
    uint32_t whole = 0, lossy = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rtt_probe probe = {0};
        struct outcome outcome;
        struct path path = {.delay_ns = 85 * NS_PER_MS, .loss_ppb = 200000000, .mtu = 1500, .seed = seed};
        measure(&probe, &path, 1500, 0, &outcome);
        whole += rtt_probe_path_mtu(&probe) == 1500;
        if (outcome.sent_probes != RTT_PROBE_ROUNDS + 1 || probe.answered == RTT_PROBE_ROUNDS)
            continue;
        lossy++;
        assert_true(outcome.end_ns <= DURATION_NS + 170 * NS_PER_MS * 5 / 4 + RTT_PROBE_LATE_NS);
    }
    assert_true(lossy > 100);
    assert_int_equal(whole, 200);
}

/* A path that loses nearly all, or is too long for as many tries as its loss asks for, does not look like one that is too narrow for everything. */
static void rtt_probe_path_mtu__needs_evidence(void **state)
{
    (void)state;
    enum { BARE = WIRE_PROBE_BYTES + OVERHEAD };
    static const struct {
        uint16_t answered;
        uint8_t tries;
        uint32_t mtu_answered, path_mtu;
    } cases[] = {{0, 1, 0, 0},        {1, 10, BARE, 0},   {5, 8, BARE, 0},
                 {6, 7, BARE, BARE},  {6, 6, BARE, 0},    {10, 2, BARE, 0},
                 {10, 3, BARE, BARE}, {0, 2, 1280, 1280}, {10, 1, 1500, 1500}};
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        struct rtt_probe probe = {.sent = RTT_PROBE_ROUNDS,
                                  .answered = cases[index].answered,
                                  .tries = cases[index].tries,
                                  .mtu_answered = cases[index].mtu_answered,
                                  .ip_overhead = OVERHEAD};
        assert_int_equal(rtt_probe_path_mtu(&probe), cases[index].path_mtu);
    }
}

/* Long, lossy and with a black hole: the search for the MTU has an end. */
static void rtt_probe__search_for_the_mtu_ends(void **state)
{
    (void)state;
    uint32_t found = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rtt_probe probe = {0};
        struct outcome outcome;
        struct path path = {.delay_ns = NS_PER_S / 2, .loss_ppb = 200000000, .mtu = 1500, .seed = seed};
        measure(&probe, &path, 9000, 0, &outcome);
        found += rtt_probe_path_mtu(&probe) == 1500;
        assert_true(rtt_probe_path_mtu(&probe) == 0 || rtt_probe_path_mtu(&probe) >= 1280);
        assert_true(outcome.end_ns <= DURATION_NS + RTT_PROBE_WAIT_NS + NS_PER_S * 5 / 4 + DURATION_NS);
    }
    assert_true(found >= 150);
}

static void rtt_probe__survives_loss_and_jitter(void **state)
{
    (void)state;
    uint32_t whole = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rtt_probe probe = {0};
        struct outcome outcome;
        struct path path = {.delay_ns = 40 * NS_PER_MS,
                            .jitter_ns = 5 * NS_PER_MS,
                            .loss_ppb = 300000000,
                            .mtu = 1500,
                            .seed = seed};
        measure(&probe, &path, 1500, seed * NS_PER_S, &outcome);
        if (probe.answered_bits == 0)
            continue;
        assert_true(probe.min_ns >= 80 * NS_PER_MS);
        assert_true(probe.smoothed_ns >= probe.min_ns && probe.smoothed_ns <= 90 * NS_PER_MS);
        assert_true(outcome.end_ns <= seed * NS_PER_S + DURATION_NS + RTT_PROBE_SILENCE_NS);
        whole += probe.mtu_answered == 1500;
    }
    assert_true(whole >= 195); /* each tries the full size three to ten times at 70 % */
}

static void rtt_probe__silent_peer_ends_after_the_wait(void **state)
{
    (void)state;
    struct rtt_probe probe = {0};
    struct outcome outcome;
    struct path path = {.mtu = 0};
    measure(&probe, &path, 1500, 5, &outcome);
    assert_int_equal(probe.answered_bits, 0);
    assert_int_equal(probe.mtu_answered, 0);
    assert_true(outcome.end_ns > RTT_PROBE_SILENCE_NS);
    assert_true(outcome.end_ns <= 5 + DURATION_NS + RTT_PROBE_SILENCE_NS);
}

/* Two satellites and a deep queue: an RTT of 1.2 s, and jitter beyond the wait of padded probes. */
static void rtt_probe__measures_round_trips_of_seconds(void **state)
{
    (void)state;
    struct rtt_probe probe = {0};
    struct outcome outcome;
    struct path path = {.delay_ns = 1700 * NS_PER_MS, .jitter_ns = 200 * NS_PER_MS, .mtu = 1500, .seed = 1};
    measure(&probe, &path, 1500, 5, &outcome);
    assert_int_equal(probe.answered, RTT_PROBE_ROUNDS);
    assert_true(probe.min_ns >= 3400 * NS_PER_MS);
    assert_int_equal(rtt_probe_path_mtu(&probe), 1500);
}

static void rtt_probe__on_reply_refuses_what_cannot_be(void **state)
{
    (void)state;
    struct rtt_probe probe = {0};
    struct wire_probe sent;
    assert_int_equal(rtt_probe_next_ns(&probe), TIME_NEVER);
    rtt_probe_start(&probe, 1500, OVERHEAD, DURATION_NS, 1000);
    assert_true(rtt_probe_next(&probe, 1000, &sent));
    assert_false(rtt_probe_next(&probe, 1000, &sent));
    sent.t2_ns = 50;
    sent.t3_ns = 60;
    struct wire_probe bad = sent;
    bad.id++;
    assert_false(rtt_probe_on_reply(&probe, &bad, WIRE_PROBE_BYTES, 2000)); /* never sent */
    bad = sent;
    bad.t3_ns = 49;
    assert_false(rtt_probe_on_reply(&probe, &bad, WIRE_PROBE_BYTES, 2000)); /* replied before received */
    bad = sent;
    bad.t1_ns = 2001;
    assert_false(rtt_probe_on_reply(&probe, &bad, WIRE_PROBE_BYTES, 2000)); /* sent in the future */
    bad = sent;
    bad.t3_ns = 1051;
    assert_false(rtt_probe_on_reply(&probe, &bad, WIRE_PROBE_BYTES, 2000)); /* longer there than away */
    bad = sent;
    bad.padding = 100;
    assert_false(rtt_probe_on_reply(&probe, &bad, WIRE_PROBE_BYTES + 100, 2000)); /* other size than sent */
    assert_false(rtt_probe_on_reply(&probe, &sent, WIRE_PROBE_BYTES + 1, 2000));
    assert_int_equal(probe.answered_bits, 0);
    assert_true(rtt_probe_on_reply(&probe, &sent, WIRE_PROBE_BYTES, 2000));
    assert_int_equal(probe.min_ns, 1000 - 10);
}

static void rtt_probe__start_forgets_the_measurement_before(void **state)
{
    (void)state;
    struct rtt_probe probe = {0};
    struct wire_probe early, late;
    rtt_probe_start(&probe, 1500, OVERHEAD, DURATION_NS, 0);
    assert_true(rtt_probe_next(&probe, 0, &early));
    rtt_probe_start(&probe, 1500, OVERHEAD, DURATION_NS, 1000);
    assert_true(rtt_probe_next(&probe, 1000, &late));
    assert_int_not_equal(early.id, late.id);
    assert_false(rtt_probe_on_reply(&probe, &early, WIRE_PROBE_BYTES, 2000));
    assert_true(rtt_probe_on_reply(&probe, &late, WIRE_PROBE_BYTES, 2000));
    assert_int_equal(probe.min_ns, 1000);
}

/* All are sent and some answers are still to come when the process stands still: nothing is sent once more. */
static void rtt_probe__standstill_after_the_last(void **state)
{
    (void)state;
    struct rtt_probe probe = {0};
    struct wire_probe message;
    uint64_t now_ns = NS_PER_S;
    rtt_probe_start(&probe, 1500, OVERHEAD, DURATION_NS, now_ns);
    uint32_t sent = 0;
    for (; !rtt_probe_finished(&probe, now_ns) && sent < 64; now_ns += NS_PER_MS / 4) {
        if (!rtt_probe_next(&probe, now_ns, &message))
            continue;
        sent++;
        if (probe.bare_ns == TIME_NEVER)
            break;
    }
    uint64_t end_ns = probe.end_ns;
    rtt_probe_on_standstill(&probe, 3 * NS_PER_S);
    assert_true(probe.end_ns == end_ns + 3 * NS_PER_S);
    for (now_ns += 3 * NS_PER_S; !rtt_probe_finished(&probe, now_ns); now_ns += NS_PER_MS)
        assert_false(rtt_probe_next(&probe, now_ns, &message));
    probe.active = false;
    rtt_probe_on_standstill(&probe, NS_PER_S);
    assert_true(rtt_probe_next_ns(&probe) == TIME_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rtt_probe__finds_rtt_and_mtu),
        cmocka_unit_test(rtt_probe__clean_path_costs_one_padded_probe),
        cmocka_unit_test(rtt_probe__slow_line_with_a_short_queue),
        cmocka_unit_test(rtt_probe__lost_ones_are_not_waited_for),
        cmocka_unit_test(rtt_probe_path_mtu__needs_evidence),
        cmocka_unit_test(rtt_probe__search_for_the_mtu_ends),
        cmocka_unit_test(rtt_probe__survives_loss_and_jitter),
        cmocka_unit_test(rtt_probe__measures_round_trips_of_seconds),
        cmocka_unit_test(rtt_probe__silent_peer_ends_after_the_wait),
        cmocka_unit_test(rtt_probe__on_reply_refuses_what_cannot_be),
        cmocka_unit_test(rtt_probe__start_forgets_the_measurement_before),
        cmocka_unit_test(rtt_probe__standstill_after_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
