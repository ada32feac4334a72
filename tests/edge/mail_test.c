/* Two mail joined by a seeded path that loses, duplicates, delays and reorders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/units.h"
#include "edge/mail.h"

#define FLIGHT_MAX 4096

struct datagram {
    uint64_t at_ns;
    uint32_t stamp;
    struct wire_message fixed;
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    bool to_b;
};

struct pair {
    struct mail a, b;
    void *memory;
    struct rng rng;
    uint64_t loss_ppb, duplicate_ppb, delay_ns, jitter_ns;
    uint64_t now_ns;
    struct datagram *flight;
    uint32_t count;
    uint64_t a_pushed, b_pushed, a_received, b_received;
};

static int setup(void **state)
{
    static struct pair pair;
    pair = (struct pair){.delay_ns = 25 * NS_PER_MS};
    size_t bytes = 2 * mail_bytes();
    pair.memory = aligned_alloc(ARENA_ALIGN, bytes);
    pair.flight = calloc(FLIGHT_MAX, sizeof(*pair.flight));
    struct arena arena;
    arena_init(&arena, pair.memory, bytes);
    mail_init(&pair.a, &arena);
    mail_init(&pair.b, &arena);
    assert_int_equal(arena.used, bytes);
    mail_set_timeout(&pair.a, 80 * NS_PER_MS);
    mail_set_timeout(&pair.b, 80 * NS_PER_MS);
    rng_init(&pair.rng, 1);
    *state = &pair;
    return 0;
}

static int teardown(void **state)
{
    struct pair *pair = *state;
    free(pair->memory);
    free(pair->flight);
    return 0;
}

/* Message n of a direction: kind, length and bytes all follow from n. */
static uint8_t kind_of(uint64_t n)
{
    return (uint8_t)(1 + n % 200);
}

static size_t length_of(uint64_t n)
{
    return n % 11 == 0 ? 0 : n % 13 == 0 ? WIRE_MESSAGE_BODY_MAX : n * 37 % 900;
}

static bool push(struct mail *mail, uint64_t n)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    memset(body, (int)(n * 31 & 0xff), sizeof(body));
    return mail_push(mail, kind_of(n), body, length_of(n));
}

static void take_all(struct mail *mail, uint64_t *received)
{
    uint8_t kind;
    const uint8_t *body;
    size_t length;
    while (mail_receive(mail, &kind, &body, &length)) {
        assert_int_equal(kind, kind_of(*received));
        assert_int_equal(length, length_of(*received));
        for (size_t index = 0; index < length; index++)
            assert_int_equal(body[index], *received * 31 & 0xff);
        (*received)++;
    }
}

static void put(struct pair *pair, const struct wire_message *message, const uint8_t *body, bool to_b)
{
    int copies = 1 + rng_chance_ppb(&pair->rng, pair->duplicate_ppb);
    for (int copy = 0; copy < copies; copy++) {
        if (rng_chance_ppb(&pair->rng, pair->loss_ppb))
            continue;
        assert_true(pair->count < FLIGHT_MAX);
        struct datagram *datagram = &pair->flight[pair->count++];
        datagram->at_ns = pair->now_ns + pair->delay_ns + rng_below(&pair->rng, pair->jitter_ns + 1);
        datagram->stamp = wire_stamp(pair->now_ns);
        datagram->fixed = *message;
        datagram->to_b = to_b;
        if (message->length > 0)
            memcpy(datagram->body, body, message->length);
    }
}

static void send_all(struct pair *pair, struct mail *mail, bool to_b)
{
    struct wire_message message;
    const uint8_t *body;
    for (int sent = 0; mail_next(mail, pair->now_ns, &message, &body); sent++) {
        assert_true(sent < 3 * MAIL_WINDOW);
        put(pair, &message, body, to_b);
    }
    assert_int_not_equal(mail_next_ns(mail), 0);
}

static void deliver(struct pair *pair)
{
    for (uint32_t index = 0; index < pair->count;) {
        struct datagram *datagram = &pair->flight[index];
        if (datagram->at_ns > pair->now_ns) {
            index++;
            continue;
        }
        struct wire_message_view view = {.fixed = datagram->fixed, .body = datagram->body};
        struct mail *mail = datagram->to_b ? &pair->b : &pair->a;
        assert_true(mail_on_datagram(mail, datagram->stamp, &view));
        take_all(mail, datagram->to_b ? &pair->b_received : &pair->a_received);
        pair->flight[index] = pair->flight[--pair->count];
    }
}

static bool quiet(const struct pair *pair)
{
    return pair->count == 0 && mail_next_ns(&pair->a) == TIME_NEVER && mail_next_ns(&pair->b) == TIME_NEVER;
}

/* Until both sides have said everything and heard so. */
static void run(struct pair *pair, uint64_t a_total, uint64_t b_total, uint64_t limit_ns)
{
    for (;;) {
        while (pair->a_pushed < a_total && mail_room(&pair->a) > 0)
            assert_true(push(&pair->a, pair->a_pushed++));
        while (pair->b_pushed < b_total && mail_room(&pair->b) > 0)
            assert_true(push(&pair->b, pair->b_pushed++));
        send_all(pair, &pair->a, true);
        send_all(pair, &pair->b, false);
        if (quiet(pair))
            break;
        uint64_t next_ns = MIN(mail_next_ns(&pair->a), mail_next_ns(&pair->b));
        for (uint32_t index = 0; index < pair->count; index++)
            next_ns = MIN(next_ns, pair->flight[index].at_ns);
        assert_true(next_ns > pair->now_ns);
        pair->now_ns = next_ns;
        assert_true(pair->now_ns < limit_ns);
        deliver(pair);
    }
    assert_int_equal(pair->b_received, a_total);
    assert_int_equal(pair->a_received, b_total);
}

static void mail__clean_path_repeats_nothing(void **state)
{
    struct pair *pair = *state;
    run(pair, 1000, 300, 3 * NS_PER_S);
    assert_int_equal(pair->a.counters.sent, 1000);
    assert_int_equal(pair->a.counters.resent + pair->b.counters.resent, 0);
    assert_int_equal(pair->b.counters.received, 1000);
    assert_int_equal(pair->b.counters.duplicates, 0);
}

static void mail__hands_out_each_message_once_in_order(void **state)
{
    struct pair *pair = *state;
    static const struct {
        uint64_t loss_ppb, duplicate_ppb, jitter_ns, limit_s;
    } cases[] = {
        {0, 500000000, 0, 10},
        {0, 0, 20000000, 10},
        {50000000, 0, 0, 60},
        {50000000, 50000000, 20000000, 60},
        {300000000, 100000000, 5000000, 600},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        mail_reset(&pair->a);
        mail_reset(&pair->b);
        pair->a_pushed = pair->b_pushed = pair->a_received = pair->b_received = 0;
        pair->loss_ppb = cases[index].loss_ppb;
        pair->duplicate_ppb = cases[index].duplicate_ppb;
        pair->jitter_ns = cases[index].jitter_ns;
        run(pair, 1500, 700, pair->now_ns + cases[index].limit_s * NS_PER_S);
    }
}

static void mail__numbers_wrap_at_32_bits(void **state)
{
    struct pair *pair = *state;
    /* As after 2^32 - 100 messages in one session. */
    uint64_t start = (1ULL << 32) - 100;
    pair->a.out_next = pair->a.out_unsent = pair->a.out_acked = start;
    pair->b.in_next = start;
    pair->loss_ppb = 100000000;
    pair->jitter_ns = 10 * NS_PER_MS;
    run(pair, 600, 0, 300 * NS_PER_S);
    assert_int_equal(pair->a.out_acked, start + 600);
}

static void mail__full_queue_is_told(void **state)
{
    struct pair *pair = *state;
    uint64_t n = 0;
    while (push(&pair->a, n))
        n++;
    assert_int_equal(n, MAIL_QUEUE);
    assert_int_equal(mail_room(&pair->a), 0);
    assert_int_equal(pair->a.counters.queue_full, 1);
    pair->a_pushed = n;
    run(pair, MAIL_QUEUE, 0, 10 * NS_PER_S);
    assert_int_equal(mail_room(&pair->a), MAIL_QUEUE);
}

static void mail__window_bounds_what_is_in_flight(void **state)
{
    struct pair *pair = *state;
    for (uint64_t n = 0; n < 400; n++)
        assert_true(push(&pair->a, n));
    struct wire_message message;
    uint32_t sent = 0;
    const uint8_t *body;
    while (mail_next(&pair->a, 0, &message, &body))
        assert_int_equal(message.sequence, sent++);
    assert_int_equal(sent, MAIL_WINDOW);
    /* The far end refuses what lies beyond its window, and keeps what is inside. */
    struct wire_message_view view = {.fixed = {.kind = 1}};
    view.fixed.sequence = MAIL_WINDOW;
    assert_false(mail_on_datagram(&pair->b, 0, &view));
    view.fixed.sequence = MAIL_WINDOW - 1;
    assert_true(mail_on_datagram(&pair->b, 0, &view));
    assert_int_equal(pair->b.counters.received, 1);
}

/* An ack with gaps, as the peer would write it. */
static void tell_gaps(struct mail *mail, uint32_t acked, uint64_t early, uint64_t echo_ns)
{
    uint8_t body[WIRE_GAPS_BYTES];
    struct wire_gaps gaps = {.echo = wire_stamp(echo_ns), .early_low = early};
    wire_gaps_put(body, &gaps);
    struct wire_message_view ack = {
        .fixed = {.kind = WIRE_MESSAGE_ACK, .ack = acked, .length = WIRE_GAPS_BYTES}, .body = body};
    assert_true(mail_on_datagram(mail, 0, &ack));
}

/* What left an allowance before the newest that came is resent at once, each hole once per departure. */
static void mail__holes_are_resent_at_once(void **state)
{
    struct pair *pair = *state;
    struct wire_message message;
    const uint8_t *body;
    const uint64_t step_ns = NS_PER_MS;
    for (uint64_t n = 0; n < 20; n++) {
        push(&pair->a, n);
        assert_true(mail_next(&pair->a, n * step_ns, &message, &body));
    }
    /* 4, 7 and 15 are missing; the newest that came left at 16 ms, the allowance is 80 ms / 16. */
    uint64_t early = 0xffff & ~(1ULL << 2 | 1ULL << 10 | 0xfULL << 12);
    tell_gaps(&pair->a, 4, early, 16 * step_ns);
    uint64_t now_ns = 30 * NS_PER_MS;
    const uint32_t lost[] = {4, 7};
    for (size_t index = 0; index < 2; index++) {
        assert_int_equal(mail_next_ns(&pair->a), 0);
        assert_true(mail_next(&pair->a, now_ns, &message, &body));
        assert_int_equal(message.sequence, lost[index]);
    }
    /* The same news changes nothing, nor does a stamp of nothing that ever left. */
    tell_gaps(&pair->a, 4, early, 19 * step_ns);
    tell_gaps(&pair->a, 4, early, 60 * step_ns);
    assert_false(mail_next(&pair->a, now_ns, &message, &body));
    /* The copy of 4 came, that of 7 left at the same time; 15 … 19 by now are overdue. */
    tell_gaps(&pair->a, 7, early >> 3, now_ns);
    for (uint32_t expected = 15; expected < 20; expected += expected == 15 ? 2 : 1) {
        assert_true(mail_next(&pair->a, now_ns, &message, &body));
        assert_int_equal(message.sequence, expected);
    }
    assert_false(mail_next(&pair->a, now_ns, &message, &body));
    assert_int_equal(pair->a.counters.resent, 6);
}

/* At 30 % loss both ways 128 messages take a few round trips, however many are lost at once. */
static void mail__many_holes_take_few_round_trips(void **state)
{
    struct pair *pair = *state;
    pair->loss_ppb = 300000000;
    pair->delay_ns = NS_PER_S / 2;
    mail_set_timeout(&pair->a, 1500 * NS_PER_MS);
    mail_set_timeout(&pair->b, 1500 * NS_PER_MS);
    uint64_t received = 0;
    uint64_t round_ns = 20 * NS_PER_MS;
    for (; received < 600 && pair->now_ns < 60 * NS_PER_S; received = pair->b_received) {
        if (pair->a_pushed < 600 && mail_room(&pair->a) > 0) {
            assert_true(push(&pair->a, pair->a_pushed++));
            mail_repeat_newest(&pair->a);
        }
        send_all(pair, &pair->a, true);
        send_all(pair, &pair->b, false);
        pair->now_ns += round_ns;
        deliver(pair);
    }
    /* 600 messages are pushed in 12 s. */
    assert_true(pair->now_ns <= 18 * NS_PER_S);
}

static void mail__silence_doubles_the_wait(void **state)
{
    struct pair *pair = *state;
    push(&pair->a, 0);
    struct wire_message message;
    const uint8_t *body;
    assert_true(mail_next(&pair->a, 1000, &message, &body));
    uint64_t now_ns = 1000;
    const uint64_t waits_ms[] = {80, 80, 80, 160, 320, 640, 1280, 2000, 2000};
    for (size_t index = 0; index < sizeof(waits_ms) / sizeof(waits_ms[0]); index++) {
        assert_int_equal(mail_next_ns(&pair->a), now_ns + waits_ms[index] * NS_PER_MS);
        now_ns = mail_next_ns(&pair->a);
        assert_true(mail_next(&pair->a, now_ns, &message, &body));
        assert_int_equal(message.sequence, 0);
    }
    /* News ends the doubling. */
    push(&pair->a, 1);
    push(&pair->a, 2);
    while (mail_next(&pair->a, now_ns, &message, &body))
        continue;
    struct wire_message_view news = {.fixed = {.kind = WIRE_MESSAGE_ACK, .ack = 1}};
    mail_on_datagram(&pair->a, 0, &news);
    assert_int_equal(mail_next_ns(&pair->a), now_ns + 80 * NS_PER_MS);
    /* An ack of what was never sent changes nothing. */
    struct wire_message_view ack = {.fixed = {.kind = WIRE_MESSAGE_ACK, .ack = 4}};
    mail_on_datagram(&pair->a, 0, &ack);
    assert_int_equal(pair->a.out_acked, 1);
}

/* Marked messages go three times, 5 ms apart, in order; those acked by then and unmarked ones do not. */
static void mail__repeats_marked_messages_early(void **state)
{
    struct pair *pair = *state;
    for (uint64_t n = 0; n < 4; n++) {
        push(&pair->a, n);
        if (n != 1)
            mail_repeat_newest(&pair->a);
    }
    struct wire_message message;
    const uint8_t *body;
    while (mail_next(&pair->a, 1000, &message, &body))
        continue;
    assert_int_equal(mail_next_ns(&pair->a), 1000 + MAIL_REPEAT_NS);
    assert_false(mail_next(&pair->a, 999 + MAIL_REPEAT_NS, &message, &body));
    struct wire_message_view ack = {.fixed = {.kind = WIRE_MESSAGE_ACK, .ack = 1}};
    mail_on_datagram(&pair->a, 0, &ack);
    for (uint64_t turn = 1; turn <= MAIL_REPEATS; turn++) {
        assert_int_equal(mail_next_ns(&pair->a), 1000 + turn * MAIL_REPEAT_NS);
        for (uint32_t expected = 2; expected < 4; expected++) {
            assert_true(mail_next(&pair->a, 1000 + turn * MAIL_REPEAT_NS, &message, &body));
            assert_int_equal(message.sequence, expected);
        }
        assert_false(mail_next(&pair->a, 1000 + turn * MAIL_REPEAT_NS, &message, &body));
    }
    assert_int_equal(pair->a.counters.repeated, 4);
    /* Then the timeout of the oldest. */
    assert_int_equal(mail_next_ns(&pair->a), 1000 + 80 * NS_PER_MS);
}

/* One lost message does not hold the resending of the next; a marked one is repeated each time. */
static void mail__several_losses_are_resent_together(void **state)
{
    struct pair *pair = *state;
    for (uint64_t n = 0; n < MAIL_RESEND_AHEAD + 4; n++)
        push(&pair->a, n);
    mail_repeat_newest(&pair->a);
    struct wire_message message;
    const uint8_t *body;
    while (mail_next(&pair->a, 1000, &message, &body))
        continue;
    struct wire_message_view ack = {.fixed = {.kind = WIRE_MESSAGE_ACK, .ack = 5}};
    mail_on_datagram(&pair->a, 0, &ack);
    uint64_t now_ns = 1000;
    for (int turn = 0; turn < MAIL_REPEATS; turn++) {
        now_ns += MAIL_REPEAT_NS;
        assert_true(mail_next(&pair->a, now_ns, &message, &body));
        assert_int_equal(message.sequence, MAIL_RESEND_AHEAD + 3);
    }
    now_ns = mail_next_ns(&pair->a);
    assert_int_equal(now_ns, 1000 + 80 * NS_PER_MS);
    for (uint32_t expected = 5; expected < MAIL_RESEND_AHEAD + 3; expected++) {
        assert_true(mail_next(&pair->a, now_ns, &message, &body));
        assert_int_equal(message.sequence, expected);
    }
    assert_false(mail_next(&pair->a, now_ns, &message, &body));
    now_ns += MAIL_REPEATS * MAIL_REPEAT_NS; /* its own time came with its last copy */
    assert_int_equal(mail_next_ns(&pair->a), now_ns);
    assert_true(mail_next(&pair->a, now_ns, &message, &body));
    assert_int_equal(message.sequence, MAIL_RESEND_AHEAD + 3);
    assert_int_equal(mail_next_ns(&pair->a), now_ns + MAIL_REPEAT_NS);
    assert_true(mail_next(&pair->a, now_ns + MAIL_REPEAT_NS, &message, &body));
    assert_int_equal(message.sequence, MAIL_RESEND_AHEAD + 3);
    assert_int_equal(pair->a.counters.resent, MAIL_RESEND_AHEAD - 1);
}

#define MAIL_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MAIL_TEST(mail__clean_path_repeats_nothing),
        MAIL_TEST(mail__hands_out_each_message_once_in_order),
        MAIL_TEST(mail__numbers_wrap_at_32_bits),
        MAIL_TEST(mail__full_queue_is_told),
        MAIL_TEST(mail__window_bounds_what_is_in_flight),
        MAIL_TEST(mail__holes_are_resent_at_once),
        MAIL_TEST(mail__many_holes_take_few_round_trips),
        MAIL_TEST(mail__silence_doubles_the_wait),
        MAIL_TEST(mail__repeats_marked_messages_early),
        MAIL_TEST(mail__several_losses_are_resent_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
