/* Positions by tables; and one thread against another, every place in order and whole. The same program is
 * also built with ThreadSanitizer, where the compiler has it: then it says whether the places themselves
 * are ever shared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "base/spsc.h"

#define PLACES 8
#define ITEMS  200000u
#define WORDS  5 /* of an item: it does not fit a line's grid */

static void spsc__hands_over_in_runs(void **state)
{
    static const struct {
        uint32_t push, pop;  /* first, then */
        uint32_t room, back; /* of what is wanted next: all places */
        uint32_t count, front;
        uint32_t waiting, returned;
    } steps[] = {
        {0, 0, 8, 0, 0, 0, 0, 0}, {3, 0, 5, 3, 3, 0, 3, 0}, {5, 0, 0, 0, 8, 0, 8, 0}, /* full */
        {0, 6, 6, 0, 2, 6, 2, 6}, {1, 0, 5, 1, 2, 6, 3, 6}, /* a run ends where the array does */
        {0, 2, 7, 1, 1, 0, 1, 8}, {7, 0, 0, 0, 8, 0, 8, 8}, {0, 8, 8, 0, 0, 0, 0, 16},
    };
    /* Positions that wrap on the way, too. */
    static const uint32_t starts[] = {0, UINT32_MAX - 7, UINT32_MAX - 15};
    (void)state;
    for (size_t start = 0; start < sizeof(starts) / sizeof(starts[0]); start++) {
        struct spsc ring;
        spsc_init(&ring, PLACES);
        ring.tail = ring.head = ring.tail_seen = ring.head_seen = starts[start];
        for (size_t index = 0; index < sizeof(steps) / sizeof(steps[0]); index++) {
            assert_true(spsc_room(&ring, steps[index].push) == steps[index].push);
            spsc_push(&ring, steps[index].push);
            assert_true(spsc_count(&ring, steps[index].pop) == steps[index].pop);
            spsc_pop(&ring, steps[index].pop);
            assert_int_equal(spsc_room(&ring, PLACES), steps[index].room);
            assert_int_equal(spsc_back(&ring), steps[index].back);
            assert_int_equal(spsc_count(&ring, PLACES), steps[index].count);
            assert_int_equal(spsc_front(&ring), steps[index].front);
            assert_int_equal(spsc_waiting(&ring), steps[index].waiting);
            assert_int_equal(spsc_returned(&ring) - starts[start], steps[index].returned);
        }
    }
}

/* A look at the other's line costs its transfer: none while what was seen last suffices. */
static void spsc__looks_only_when_it_must(void **state)
{
    struct spsc ring;
    (void)state;
    spsc_init(&ring, PLACES);
    assert_int_equal(spsc_room(&ring, 4), 4);
    spsc_push(&ring, 4);
    assert_int_equal(spsc_count(&ring, 2), 2);
    spsc_pop(&ring, 2);
    assert_int_equal(ring.tail_seen, 4);
    assert_int_equal(spsc_room(&ring, 4), 4);
    assert_int_equal(ring.head_seen, 0); /* four of the eight were known to be free */
    spsc_push(&ring, 4);
    assert_int_equal(spsc_count(&ring, 2), 2);
    assert_int_equal(ring.tail_seen, 4); /* two were known to be filled */
    assert_int_equal(spsc_room(&ring, 1), 1);
    assert_int_equal(ring.head_seen, 2);
}

static void spsc__keeps_both_sides_apart(void **state)
{
    (void)state;
    assert_true(offsetof(struct spsc, head) - offsetof(struct spsc, tail) >= SPSC_LINE);
    assert_true(offsetof(struct spsc, mask) - offsetof(struct spsc, head) >= SPSC_LINE);
    assert_int_equal(sizeof(struct spsc) % SPSC_LINE, 0);
}

static struct {
    struct spsc ring;
    uint32_t items[64][WORDS];
} shared;

static void *produce(void *unused)
{
    (void)unused;
    for (uint32_t number = 0; number < ITEMS;) {
        uint32_t left = ITEMS - number, wanted = 1 + number % 13;
        uint32_t room = spsc_room(&shared.ring, wanted < left ? wanted : left);
        for (uint32_t index = 0; index < room; index++)
            for (uint32_t word = 0; word < WORDS; word++)
                shared.items[spsc_back(&shared.ring) + index][word] = number + index + word;
        spsc_push(&shared.ring, room);
        number += room;
        if (room == 0)
            sched_yield();
    }
    return NULL;
}

static void spsc__gives_all_in_order_to_another_thread(void **state)
{
    pthread_t producer;
    uint32_t wrong = 0;
    (void)state;
    spsc_init(&shared.ring, 64);
    assert_int_equal(pthread_create(&producer, NULL, produce, NULL), 0);
    for (uint32_t number = 0; number < ITEMS;) {
        uint32_t count = spsc_count(&shared.ring, 1 + number % 29);
        for (uint32_t index = 0; index < count; index++)
            for (uint32_t word = 0; word < WORDS; word++) {
                uint32_t *at = &shared.items[spsc_front(&shared.ring) + index][word];
                wrong += *at != number + index + word;
                *at = 0; /* the consumer may write to what it holds */
            }
        spsc_pop(&shared.ring, count);
        number += count;
        if (count == 0)
            sched_yield();
    }
    pthread_join(producer, NULL);
    assert_int_equal(wrong, 0);
    assert_int_equal(spsc_waiting(&shared.ring), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spsc__hands_over_in_runs),
        cmocka_unit_test(spsc__looks_only_when_it_must),
        cmocka_unit_test(spsc__keeps_both_sides_apart),
        cmocka_unit_test(spsc__gives_all_in_order_to_another_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
