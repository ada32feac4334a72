/* What of the lost a receiver's ring explains, and what of that is forgiven. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "edge/ring_loss.h"

#define TURN_NS  (100 * NS_PER_US)
#define STALL_NS (20 * NS_PER_MS)
#define LASTS_NS (10 * NS_PER_MS)
#define START_NS NS_PER_S

/* Acks every turn, of a host that takes what comes once a turn; the count stays. Returns the time of the last. */
static uint64_t hear_turns(struct ring_loss *ring, uint32_t turns, uint32_t missed, uint64_t from_ns)
{
    for (uint32_t turn = 1; turn <= turns; turn++) {
        ring_loss_on_ack(ring, missed, TURN_NS, 1000, LASTS_NS, from_ns + turn * TURN_NS);
        ring_loss_judge(ring, 100, 0, LASTS_NS, from_ns + turn * TURN_NS);
    }
    return from_ns + turns * TURN_NS;
}

static uint64_t open_at(struct ring_loss *ring, uint32_t missed)
{
    ring_loss_init(ring);
    return hear_turns(ring, 300, missed, START_NS);
}

/* One ack after so long tells that the port missed so many more, and judges so many lost. */
static void ring_loss__one_ack(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t before, more;
        uint64_t gap_ns, wait_ns, in_flight, lost;
        struct ring_lost found;
    } rows[] = {
        {"all the ring's", 0, 500, STALL_NS, STALL_NS, 2000, 500, {500, 500}},
        {"half of them the path's", 0, 250, STALL_NS, STALL_NS, 2000, 500, {250, 250}},
        {"all the path's", 0, 0, STALL_NS, STALL_NS, 2000, 500, {0, 0}},
        {"others lost as well", 0, 9000, STALL_NS, STALL_NS, 2000, 500, {500, 500}},
        {"the count wraps", UINT32_MAX - 99, 500, STALL_NS, STALL_NS, 2000, 500, {500, 500}},
        {"the count falls", 5000, (uint32_t)-100, STALL_NS, STALL_NS, 2000, 500, {0, 0}},
        {"no more than was under way", 0, 500, STALL_NS, STALL_NS, 200, 500, {200, 200}},
        {"the host told no wait", 0, 500, STALL_NS, TURN_NS, 2000, 500, {500, 500}},
        {"the acks came in time", 0, 500, TURN_NS, STALL_NS, 2000, 500, {500, 500}},
        {"it did not stand still", 0, 500, TURN_NS, TURN_NS, 2000, 500, {500, 0}},
        {"a little late", 0, 500, TURN_NS * 3 / 2, TURN_NS * 3 / 2, 2000, 500, {500, 0}},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct ring_loss ring;
        uint64_t now_ns = open_at(&ring, rows[row].before) + rows[row].gap_ns;
        ring_loss_on_ack(&ring, rows[row].before + rows[row].more, rows[row].wait_ns, rows[row].in_flight,
                         LASTS_NS, now_ns);
        struct ring_lost found = ring_loss_judge(&ring, 1000, rows[row].lost, LASTS_NS, now_ns);
        if (found.all != rows[row].found.all || found.forgiven != rows[row].found.forgiven)
            fail_msg("%s: %lu of them, %lu forgiven", rows[row].name, (unsigned long)found.all,
                     (unsigned long)found.forgiven);
    }
}

/* Losses are declared bit by bit; what is left of the count is void some time later. */
static void ring_loss__credit_is_spent_and_ends(void **state)
{
    (void)state;
    struct ring_loss ring;
    uint64_t now_ns = open_at(&ring, 7) + STALL_NS;
    ring_loss_on_ack(&ring, 7 + 500, STALL_NS, 2000, LASTS_NS, now_ns);
    assert_int_equal(ring_loss_judge(&ring, 100, 200, LASTS_NS, now_ns).forgiven, 200);
    now_ns = hear_turns(&ring, 5, 507, now_ns);
    assert_int_equal(ring_loss_judge(&ring, 100, 200, LASTS_NS, now_ns).forgiven, 200);
    now_ns = hear_turns(&ring, 200, 507, now_ns);
    struct ring_lost found = ring_loss_judge(&ring, 100, 200, LASTS_NS, now_ns);
    assert_int_equal(found.all, 0);
    assert_int_equal(found.forgiven, 0);
}

/* With the first ack of a session the count begins: what was missed before is nobody's. */
static void ring_loss__count_begins_with_the_session(void **state)
{
    (void)state;
    struct ring_loss ring;
    uint64_t now_ns = open_at(&ring, 123456);
    assert_int_equal(ring_loss_judge(&ring, 100, 100, LASTS_NS, now_ns).all, 0);
    ring_loss_forget(&ring);
    ring_loss_on_ack(&ring, 99, STALL_NS, 2000, LASTS_NS, now_ns + STALL_NS);
    assert_int_equal(ring_loss_judge(&ring, 100, 100, LASTS_NS, now_ns + STALL_NS).all, 0);
}

/* A host that takes less than comes, or a peer that makes it up: the count never stops growing, and each ack tells of the
 * same long wait. Soon nothing is forgiven any more. */
static void ring_loss__count_that_never_stops_growing(void **state)
{
    (void)state;
    static const uint64_t gaps_ns[] = {TURN_NS, 5 * TURN_NS, STALL_NS};
    for (size_t row = 0; row < sizeof(gaps_ns) / sizeof(gaps_ns[0]); row++) {
        struct ring_loss ring;
        uint32_t missed = 0;
        uint64_t now_ns = open_at(&ring, 0), late = 0;
        for (uint32_t ack = 0; ack < 10000; ack++) {
            now_ns += gaps_ns[row];
            missed += 1000;
            ring_loss_on_ack(&ring, missed, STALL_NS, 2000, LASTS_NS, now_ns);
            uint64_t forgiven = ring_loss_judge(&ring, 100, 50, LASTS_NS, now_ns).forgiven;
            late += ack >= 1000 ? forgiven : 0;
        }
        assert_int_equal(late, 0);
        assert_true(ring_loss_limits(&ring, now_ns));
    }
}

/* The ring limits an edge of which it loses more than 1 %, and some seconds longer: meanwhile it goes slower. */
static void ring_loss__limits(void **state)
{
    (void)state;
    static const struct {
        uint32_t lost;
        bool limits;
    } rows[] = {{0, false}, {9, false}, {20, true}, {1000, true}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct ring_loss ring;
        uint32_t missed = 0;
        uint64_t now_ns = open_at(&ring, 0);
        for (uint32_t turn = 0; turn < 10000; turn++) {
            now_ns += TURN_NS;
            missed += rows[row].lost;
            ring_loss_on_ack(&ring, missed, TURN_NS, 2000, LASTS_NS, now_ns);
            ring_loss_judge(&ring, 1000, rows[row].lost, LASTS_NS, now_ns);
        }
        assert_int_equal(ring_loss_limits(&ring, now_ns), rows[row].limits);
        now_ns = hear_turns(&ring, 100000, missed, now_ns);
        assert_false(ring_loss_limits(&ring, now_ns));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_loss__one_ack),
        cmocka_unit_test(ring_loss__credit_is_spent_and_ends),
        cmocka_unit_test(ring_loss__count_begins_with_the_session),
        cmocka_unit_test(ring_loss__count_that_never_stops_growing),
        cmocka_unit_test(ring_loss__limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
