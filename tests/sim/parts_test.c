/* The simulator's small parts: heap, pool, clock, extents, content, waiting times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bitmap.h"
#include "base/rng.h"
#include "sim/clock.h"
#include "sim/content.h"
#include "sim/event.h"
#include "sim/extent.h"
#include "sim/net.h"
#include "sim/pool.h"
#include "sim/queue.h"

static void event_pop__by_time_then_ticket(void **state)
{
    (void)state;
    struct event_heap heap;
    struct rng rng;
    event_heap_init(&heap);
    rng_init(&rng, 1);
    for (uint32_t index = 0; index < 5000; index++)
        event_add(&heap, rng_below(&rng, 100), EVENT_WAKE, index, NULL);
    struct event before = {0}, event;
    for (uint32_t count = 0; count < 5000; count++) {
        assert_true(event_pop(&heap, &event));
        if (count > 0)
            assert_true(event.time_ns > before.time_ns ||
                        (event.time_ns == before.time_ns && event.sequence > before.sequence));
        before = event;
    }
    assert_false(event_pop(&heap, &event));
    event_heap_free(&heap);
}

/* A ticket taken early wins among equals, however late it is pushed. */
static void event_ticket__keeps_its_turn(void **state)
{
    (void)state;
    struct event_heap heap;
    struct event event;
    event_heap_init(&heap);
    uint64_t ticket = event_ticket(&heap);
    event_add(&heap, 7, EVENT_WAKE, 1, NULL);
    event_push(&heap, &(struct event){7, ticket, EVENT_WAKE, 2, NULL});
    assert_true(event_pop(&heap, &event));
    assert_int_equal(event.index, 2);
    event_heap_free(&heap);
}

static void pool_take__reuses_and_holds_what_fits(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {0, 1, 48, 200, 1472, 9000, POOL_DATA_MAX};
    struct packet_pool pool;
    struct sim_packet *taken[sizeof(sizes) / sizeof(sizes[0])];
    pool_init(&pool);
    for (size_t index = 0; index < sizeof(sizes) / sizeof(sizes[0]); index++) {
        taken[index] = pool_take(&pool, sizes[index]);
        memset(taken[index]->data, (int)index, sizes[index]);
    }
    for (size_t index = 0; index < sizeof(sizes) / sizeof(sizes[0]); index++)
        for (uint32_t at = 0; at < sizes[index]; at++)
            assert_int_equal(taken[index]->data[at], index);
    struct sim_packet *first = taken[0];
    pool_give(&pool, first);
    assert_ptr_equal(pool_take(&pool, 1), first);
    uint64_t allocated = pool.allocated_bytes;
    for (int round = 0; round < 100000; round++)
        pool_give(&pool, pool_take(&pool, 1472));
    assert_int_equal(pool.allocated_bytes, allocated);
    pool_free_all(&pool);
}

/* Grows while its places have wrapped around, and keeps order. */
static void queue__is_first_in_first_out(void **state)
{
    (void)state;
    static struct sim_packet packets[1000];
    struct packet_queue queue = {0};
    assert_null(queue_first(&queue));
    assert_null(queue_last(&queue));
    assert_null(queue_ahead(&queue, 0));
    uint32_t joined = 0, left = 0;
    for (uint32_t step = 0; step < 1000; step++) {
        bool first = queue_join(&queue, &packets[joined]);
        assert_int_equal(first, joined == left);
        joined++;
        assert_ptr_equal(queue_last(&queue), &packets[joined - 1]);
        if (step % 3 == 0)
            assert_ptr_equal(queue_leave(&queue), &packets[left++]);
        if (joined > left)
            assert_ptr_equal(queue_first(&queue), &packets[left]);
    }
    assert_ptr_equal(queue_ahead(&queue, joined - left - 1), &packets[joined - 1]);
    assert_null(queue_ahead(&queue, joined - left));
    while (left < joined)
        assert_ptr_equal(queue_leave(&queue), &packets[left++]);
    assert_null(queue_first(&queue));
    queue_free(&queue);
}

static void clock_virtual__is_the_first_moment(void **state)
{
    (void)state;
    static const struct sim_clock clocks[] = {
        {0, 0, 0},         {-3600000000000, 0, 0},   {17, 100000, 0},
        {-17, -100000, 0}, {123456789, 1, 0},        {0, -1, 0},
        {5, 99999999, 0},  {5, -200000, 1000000000}, {0, 500000, 600000000001}};
    static const uint64_t times[] = {0, 1, 2, 999, 1000000007, 600000000000, 86400000000001};
    for (size_t index = 0; index < sizeof(clocks) / sizeof(clocks[0]); index++)
        for (size_t time = 0; time < sizeof(times) / sizeof(times[0]); time++) {
            uint64_t local_ns = clock_local(&clocks[index], times[time]);
            uint64_t virtual_ns = clock_virtual(&clocks[index], local_ns);
            assert_true(virtual_ns <= times[time]);
            assert_int_equal(clock_local(&clocks[index], virtual_ns), local_ns);
            assert_true(virtual_ns == 0 || clock_local(&clocks[index], virtual_ns - 1) < local_ns);
            assert_true(clock_local(&clocks[index], times[time] + 1) >= local_ns);
        }
    assert_int_equal(clock_virtual(&clocks[2], TIME_NEVER), TIME_NEVER);
}

static void clock_change__goes_on_from_there(void **state)
{
    (void)state;
    static const struct {
        int64_t step_ns, skew_ppb;
        uint64_t at_ns, later_ns, gained_ns; /* since the beginning, modulo 2^64 */
    } rows[] = {
        {0, 0, NS_PER_S, NS_PER_S, 100000},
        {10000000, 100000, 2 * NS_PER_S, 3 * NS_PER_S, 10300000},
        {-10 * (int64_t)NS_PER_S, 0, 4 * NS_PER_S, 9 * NS_PER_S, (uint64_t)-10 * NS_PER_S + 400000},
        {0, -200000, 5 * NS_PER_S, 10 * NS_PER_S, (uint64_t)-500000},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct sim_clock clock = {7, 100000, 0};
        uint64_t start_ns = clock_local(&clock, 0);
        clock_change(&clock, rows[row].step_ns, rows[row].skew_ppb, rows[row].at_ns);
        uint64_t local_ns = clock_local(&clock, rows[row].later_ns);
        assert_true(local_ns - start_ns - rows[row].later_ns == rows[row].gained_ns);
        assert_int_equal(clock_local(&clock, clock_virtual(&clock, local_ns)), local_ns);
    }
}

/* Against a bitmap of the same bytes. */
static void extent__agrees_with_a_bitmap(void **state)
{
    (void)state;
    enum { BYTES = 300 };
    uint64_t words[BITMAP_WORDS(BYTES)] = {0};
    struct extent_set set = {0};
    struct rng rng;
    rng_init(&rng, 3);
    for (int round = 0; round < 20000; round++) {
        uint64_t start = rng_below(&rng, BYTES), end = start + rng_below(&rng, BYTES - start + 1);
        bool add = rng_below(&rng, 2) == 0;
        (add ? extent_add : extent_remove)(&set, start, end);
        for (uint64_t at = start; at < end; at++)
            (add ? bitmap_set : bitmap_clear)(words, at);
        assert_int_equal(extent_bytes(&set), bitmap_count(words, BYTES));
        start = rng_below(&rng, BYTES), end = start + rng_below(&rng, BYTES - start + 1);
        bool covered = start == end || bitmap_next_clear(words, end, start) == end;
        assert_int_equal(extent_covers(&set, start, end), covered);
    }
    extent_clear(&set);
    assert_true(extent_covers(&set, 5, 5));
}

static void content__any_piece_is_the_same(void **state)
{
    (void)state;
    struct content content = {.seed = 9, .size_bytes = 1000};
    uint8_t whole[1000], piece[1000];
    content_fill(&content, 0, whole, sizeof(whole));
    struct rng rng;
    rng_init(&rng, 4);
    for (int round = 0; round < 2000; round++) {
        uint32_t offset = (uint32_t)rng_below(&rng, 1000);
        uint32_t length = (uint32_t)rng_below(&rng, 1000 - offset + 1);
        content_fill(&content, offset, piece, length);
        assert_memory_equal(piece, whole + offset, length);
        assert_true(content_equal(&content, offset, piece, length));
        if (length == 0)
            continue;
        piece[rng_below(&rng, length)] ^= 1;
        assert_false(content_equal(&content, offset, piece, length));
    }
    struct content other = {.seed = 10, .size_bytes = 1000}, hole = {.sparse = true};
    assert_false(content_equal(&other, 0, whole, sizeof(whole)));
    memset(piece, 0, sizeof(piece));
    assert_true(content_equal(&hole, 12345, piece, sizeof(piece)));
    piece[999] = 1;
    assert_false(content_equal(&hole, 12345, piece, sizeof(piece)));
}

/* At most 1/32 too high, never too low. */
static void wait_percentile__close_above(void **state)
{
    (void)state;
    static struct wait_histogram histogram;
    assert_int_equal(wait_percentile(&histogram, 99), 0);
    for (uint64_t wait_ns = 1; wait_ns <= 100000; wait_ns++)
        wait_add(&histogram, wait_ns * 1000);
    assert_in_range(wait_percentile(&histogram, 50), 50000000, 51562500);
    assert_in_range(wait_percentile(&histogram, 99), 99000000, 102093750);
    wait_add(&histogram, UINT64_MAX); /* falls into the last bucket */
    assert_int_equal(histogram.buckets[WAIT_BUCKETS - 1], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(event_pop__by_time_then_ticket),
        cmocka_unit_test(event_ticket__keeps_its_turn),
        cmocka_unit_test(pool_take__reuses_and_holds_what_fits),
        cmocka_unit_test(queue__is_first_in_first_out),
        cmocka_unit_test(clock_virtual__is_the_first_moment),
        cmocka_unit_test(clock_change__goes_on_from_there),
        cmocka_unit_test(extent__agrees_with_a_bitmap),
        cmocka_unit_test(content__any_piece_is_the_same),
        cmocka_unit_test(wait_percentile__close_above),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
