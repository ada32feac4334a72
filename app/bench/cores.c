/* How far apart the two CPUs are: the time that a cache line takes from one to the other. On a virtual
 * machine it changes within seconds, as the host moves its processors about, and with it all figures that
 * two lcores make together; who compares such figures looks here before and after. No EAL: 0.1 s, most of
 * it waiting.
 *
 * And what a counter costs that both write (`locks`): the reason why the protocol has one worker. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "app/bench/bench.h"

#include "base/units.h"

#define BATCHES     400
#define ROUND_TRIPS 250 /* of one batch: some 20 us, so that most batches are not interrupted */
#define END         UINT64_MAX

/* Both write the one line in turn: even numbers are the first CPU's to answer, odd ones the second's. */
static struct {
    uint64_t turn __attribute__((aligned(128)));
    uint8_t unused[120];
} line;

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static void pin(uint16_t cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0) {
        fprintf(stderr, "sluice-bench: CPU %u is not permitted to this process\n", cpu);
        exit(1);
    }
}

static void *answer_loop(void *argument)
{
    pin(((const struct bench_options *)argument)->lcores[1]);
    for (;;) {
        uint64_t turn = __atomic_load_n(&line.turn, __ATOMIC_ACQUIRE);
        if (turn == END)
            return NULL;
        if (turn % 2 == 1)
            __atomic_store_n(&line.turn, turn + 1, __ATOMIC_RELEASE);
    }
}

/* One way, in units of 0.1 ns. */
static uint64_t batch(void)
{
    uint64_t begin_ns = now_ns(), turn = __atomic_load_n(&line.turn, __ATOMIC_ACQUIRE);
    for (int trip = 0; trip < ROUND_TRIPS; trip++) {
        __atomic_store_n(&line.turn, ++turn, __ATOMIC_RELEASE);
        turn++;
        while (__atomic_load_n(&line.turn, __ATOMIC_ACQUIRE) != turn)
            continue;
    }
    return (now_ns() - begin_ns) * 10 / (2 * ROUND_TRIPS);
}

static int ascending(const void *left, const void *right)
{
    uint64_t one = *(const uint64_t *)left, other = *(const uint64_t *)right;
    return (one > other) - (one < other);
}

int bench_cores(const struct bench_options *options)
{
    static struct bench_print print;
    static uint64_t tenths[BATCHES];
    pthread_t other;
    CHECK(pthread_create(&other, NULL, answer_loop, (void *)(uintptr_t)options) == 0);
    pin(options->lcores[0]);
    batch(); /* until the other one is there */
    for (int index = 0; index < BATCHES; index++)
        tenths[index] = batch();
    __atomic_store_n(&line.turn, END, __ATOMIC_RELEASE);
    pthread_join(other, NULL);
    qsort(tenths, BATCHES, sizeof(tenths[0]), ascending);
    bench_print_begin(&print, options);
    report_fixed(&print.report, "one_way_ns", tenths[BATCHES / 2], 1);
    report_fixed(&print.report, "one_way_ns_p10", tenths[BATCHES / 10], 1);
    report_fixed(&print.report, "one_way_ns_p90", tenths[BATCHES * 9 / 10], 1);
    bench_print_end(&print);
    return 0;
}

/* ---- counters that both write ---- */

#define COUNTERS      64 /* lines, as of the blocks and slots that packets in flight belong to */
#define LOCK_BATCHES  200
#define LOCK_TRIES    100000
#define BATCH_LOCKS   640
#define COUNTERS_STEP 23 /* from one to the next: no order that a prefetcher knows */

struct counter {
    uint64_t value __attribute__((aligned(128)));
    uint8_t unused[120];
};

static struct {
    struct counter shared[COUNTERS], own[COUNTERS];
    bool ready, stop; /* atomic */
} counters;

static void count_locked(struct counter *lines)
{
    for (uint32_t number = 0; number < BATCH_LOCKS; number++)
        __atomic_fetch_add(&lines[number * COUNTERS_STEP % COUNTERS].value, 1, __ATOMIC_ACQ_REL);
}

static void count_plain(struct counter *lines)
{
    for (uint32_t number = 0; number < BATCH_LOCKS; number++) {
        uint64_t *value = &lines[number * COUNTERS_STEP % COUNTERS].value;
        __atomic_store_n(value, __atomic_load_n(value, __ATOMIC_RELAXED) + 1, __ATOMIC_RELEASE);
    }
}

static void *count_along(void *argument)
{
    pin(((const struct bench_options *)argument)->lcores[1]);
    __atomic_store_n(&counters.ready, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&counters.stop, __ATOMIC_ACQUIRE))
        count_locked(counters.shared);
    return NULL;
}

/* The median of a batch's counts, in units of 0.1 ns; of batches in which the other one counted along, if
 * it is to. */
static uint64_t count_tenths(void (*count)(struct counter *lines), struct counter *lines, bool along)
{
    static uint64_t tenths[LOCK_BATCHES];
    int kept = 0;
    for (int tries = 0; kept < LOCK_BATCHES && tries < LOCK_TRIES; tries++) {
        uint64_t before = __atomic_load_n(&lines[0].value, __ATOMIC_RELAXED), begin_ns = now_ns();
        count(lines);
        uint64_t took_ns = now_ns() - begin_ns;
        uint64_t counted = __atomic_load_n(&lines[0].value, __ATOMIC_RELAXED) - before;
        if (!along || counted > BATCH_LOCKS / COUNTERS * 3 / 2)
            tenths[kept++] = took_ns * 10 / BATCH_LOCKS;
    }
    qsort(tenths, (size_t)kept, sizeof(tenths[0]), ascending);
    return tenths[kept / 2];
}

int bench_locks(const struct bench_options *options)
{
    static struct bench_print print;
    pthread_t other;
    CHECK(pthread_create(&other, NULL, count_along, (void *)(uintptr_t)options) == 0);
    pin(options->lcores[0]);
    while (!__atomic_load_n(&counters.ready, __ATOMIC_ACQUIRE))
        continue;
    uint64_t shared = count_tenths(count_locked, counters.shared, true);
    __atomic_store_n(&counters.stop, true, __ATOMIC_RELEASE);
    pthread_join(other, NULL);
    bench_print_begin(&print, options);
    report_fixed(&print.report, "locked_shared_ns", shared, 1);
    report_fixed(&print.report, "locked_own_ns", count_tenths(count_locked, counters.own, false), 1);
    report_fixed(&print.report, "plain_own_ns", count_tenths(count_plain, counters.own, false), 1);
    bench_print_end(&print);
    return 0;
}
