#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/units.h"
#include "dpdk/waiter.h"

#define WORDS      20000
#define FOREVER_NS (3600 * NS_PER_S) /* a word that got lost would be waited for */

struct side {
    struct waiter waiter;
    uint64_t words; /* atomic: put there so far */
};

struct talk {
    struct side left, right;
};

static void put(struct side *to)
{
    __atomic_fetch_add(&to->words, 1, __ATOMIC_RELEASE);
    waiter_wake(&to->waiter);
}

static bool has(struct side *side, uint64_t words)
{
    return __atomic_load_n(&side->words, __ATOMIC_ACQUIRE) >= words;
}

static void await(struct side *side, uint64_t words)
{
    while (!has(side, words)) {
        waiter_announce(&side->waiter);
        if (!has(side, words))
            waiter_wait(&side->waiter, FOREVER_NS);
    }
}

static void *answer(void *argument)
{
    struct talk *talk = argument;
    for (uint64_t word = 1; word <= WORDS; word++) {
        await(&talk->right, word);
        put(&talk->left);
    }
    return NULL;
}

static void waiter__loses_no_word(void **state)
{
    (void)state;
    struct talk talk = {0};
    struct err err;
    pthread_t thread;
    assert_true(waiter_open(&talk.left.waiter, &err));
    assert_true(waiter_open(&talk.right.waiter, &err));
    assert_int_equal(pthread_create(&thread, NULL, answer, &talk), 0);
    for (uint64_t word = 1; word <= WORDS; word++) {
        put(&talk.right);
        await(&talk.left, word);
    }
    pthread_join(thread, NULL);
    waiter_close(&talk.left.waiter);
    waiter_close(&talk.right.waiter);
}

static void waiter__waits_for_descriptors_and_times(void **state)
{
    (void)state;
    struct waiter waiter;
    struct err err;
    int ends[2];
    assert_true(waiter_open(&waiter, &err));
    assert_int_equal(pipe(ends), 0);
    waiter_watch(&waiter, ends[0]);
    waiter_wait(&waiter, NS_PER_MS); /* nothing: it returns by the time */
    assert_int_equal(write(ends[1], "x", 1), 1);
    waiter_wait(&waiter, FOREVER_NS);
    waiter_wait(&waiter, FOREVER_NS); /* nothing was taken from it */
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 1);
    /* A word that nobody waits for costs nothing and is not kept; one that was announced is. */
    waiter_wake(&waiter);
    waiter_wait(&waiter, NS_PER_MS);
    waiter_announce(&waiter);
    waiter_wake(&waiter);
    waiter_wait(&waiter, FOREVER_NS);
    close(ends[0]);
    close(ends[1]);
    waiter_close(&waiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiter__loses_no_word),
        cmocka_unit_test(waiter__waits_for_descriptors_and_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
