/* A clock that is set while a train comes: what of it shows, and what else looks a little like it. Packets leave every
 * 1000 ns and take 100000 ns beside what a row adds to their delay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"
#include "probe/clock_step.h"

#define PACKETS 1000u
#define STEP_AT 500u

static struct train_record record;
static struct probe_points points;

/* In order of sending; samples arrive in the order of `delay_ns` and departure, as the receiver's clock or not. */
static void make(int64_t (*delay_ns)(uint32_t index, int64_t by_ns), int64_t by_ns)
{
    record = (struct train_record){.shape = {.wire_bytes = 1000}, .sent = PACKETS, .count = PACKETS};
    for (uint32_t i = 0; i < PACKETS; i++) {
        uint64_t sent_ns = 50 * NS_PER_S + i * 1000;
        record.samples[i] =
            (struct train_sample){.sent_ns = sent_ns,
                                  .received_ns = sent_ns + 100000 + (uint64_t)delay_ns(i, by_ns),
                                  .index = i,
                                  .arrival = i};
    }
}

static int64_t steps_in_middle(uint32_t index, int64_t by_ns)
{
    return index < STEP_AT ? 0 : by_ns;
}

static int64_t steps_at_end(uint32_t index, int64_t by_ns)
{
    return index < PACKETS - 3 ? 0 : by_ns;
}

static int64_t steps_in_a_queue(uint32_t index, int64_t by_ns)
{
    return (int64_t)index * 300 + (index < STEP_AT ? 0 : by_ns);
}

/* All that stood catches up, at ten times the rate. */
static int64_t stands_still(uint32_t index, int64_t by_ns)
{
    int64_t left_ns = by_ns - ((int64_t)index - STEP_AT) * 900;
    return index < STEP_AT || left_ns < 0 ? 0 : left_ns;
}

static int64_t queues(uint32_t index, int64_t by_ns)
{
    return (int64_t)index * by_ns;
}

/* Cross traffic that comes in at so many times the packets' rate for a twentieth of the train, into a hop that does not drain. */
static int64_t bursts(uint32_t index, int64_t by_ns)
{
    uint32_t in = index < STEP_AT ? 0 : MIN(index - STEP_AT, PACKETS / 20);
    return in * by_ns;
}

static int64_t is_noisy(uint32_t index, int64_t by_ns)
{
    return (int64_t)(index * 7919 % 13) * by_ns / 13;
}

static void clock_step_shows__rows(void **state)
{
    (void)state;
    static const struct {
        int64_t (*delay_ns)(uint32_t index, int64_t by_ns);
        int64_t by_ns;
        uint64_t noise_ns;
        bool shows;
    } rows[] = {
        {steps_in_middle, 0, 0, false},
        {steps_in_middle, 100000, 0, true},
        {steps_in_middle, 1000000000, 0, true},
        {steps_in_middle, 50000, 0, false}, /* some 50 packets of cross traffic at once */
        {steps_in_middle, -5000, 0, true},
        {steps_in_middle, -1000000000, 0, true},
        {steps_in_middle, -1500, 0,
         false}, /* the next packet stands 500 ns before the last: that may be noise */
        {steps_in_middle, -20000, 2000, true},
        {steps_in_middle, -10000, 2000, false},
        {steps_in_middle, 80000, 4000, false},
        {steps_in_a_queue, 200000, 0, true},
        {steps_in_a_queue, -200000, 0, true},
        {steps_at_end, 500000, 0, false}, /* the last packets may have been late */
        {steps_at_end, 5000000, 0, true},
        {steps_at_end, -5000000, 0, true},
        {stands_still, 200000, 0, false},
        {queues, 900, 0, false},
        {queues, 10000, 0, false},
        {bursts, 15000, 0, false},
        {is_noisy, 5000, 1500, false},
    };
    for (unsigned index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        make(rows[index].delay_ns, rows[index].by_ns);
        record.receiver.noise_ns = rows[index].noise_ns;
        points_take(&points, &record);
        assert_int_equal(clock_step_shows(&points, &record), rows[index].shows);
    }
}

/* The sender's: packets that left later were stamped earlier. */
static void clock_step_shows__departures(void **state)
{
    (void)state;
    make(steps_in_middle, 0);
    for (uint32_t i = STEP_AT; i < PACKETS; i++)
        record.samples[i].sent_ns -= 10000000;
    points_take(&points, &record);
    assert_true(clock_step_shows(&points, &record));
}

/* What a peer makes up does no harm. */
static void clock_step_shows__few_and_made_up(void **state)
{
    (void)state;
    make(steps_in_middle, 1000000);
    for (uint32_t count = 0; count < 20; count++) {
        record.count = count;
        points_take(&points, &record);
        assert_false(clock_step_shows(&points, &record));
    }
    record.count = PACKETS;
    for (uint32_t i = 0; i < PACKETS; i++)
        record.samples[i].received_ns = i * 0x9e3779b97f4a7c15ULL;
    points_take(&points, &record);
    (void)clock_step_shows(&points, &record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_step_shows__rows),
        cmocka_unit_test(clock_step_shows__departures),
        cmocka_unit_test(clock_step_shows__few_and_made_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
