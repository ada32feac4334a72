/* How far apart the two CPUs are: the time that a cache line takes from one to the other. On a virtual machine
 * it changes within seconds, as the host moves its processors about, and with it all figures that two lcores
 * make together; who compares such figures looks here before and after. No EAL: 0.1 s, most of it waiting. */
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
