/* Reads the TSC between two readings of CLOCK_MONOTONIC and keeps the tightest of several such pairs: a
 * preemption in between would otherwise be taken for drift. */
#include "dpdk/tsc.h"

#include <time.h>

#include "base/count.h"
#include "base/units.h"

#define PAIR_TRIES 8

struct clock_pair {
    uint64_t tsc;
    uint64_t ns;
};

static uint64_t monotonic_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static struct clock_pair read_pair(void)
{
    struct clock_pair best = {0, 0};
    uint64_t best_width = UINT64_MAX;
    for (int try = 0; try < PAIR_TRIES; try++) {
        uint64_t before = rte_rdtsc_precise();
        uint64_t ns = monotonic_ns();
        uint64_t after = rte_rdtsc_precise();
        if (after - before < best_width) {
            best_width = after - before;
            best = (struct clock_pair){before + best_width / 2, ns};
        }
    }
    return best;
}

void tsc_clock_init(struct tsc_clock *clock, uint64_t tsc, uint64_t now_ns, uint64_t ticks_per_s)
{
    *clock = (struct tsc_clock){
        .base_tsc = tsc,
        .base_ns = now_ns,
        .ns_per_tick = muldiv64(NS_PER_S, 1ULL << 32, ticks_per_s),
        .first_tsc = tsc,
        .first_ns = now_ns,
    };
}

void tsc_clock_adjust(struct tsc_clock *clock, uint64_t tsc, uint64_t now_ns)
{
    if (tsc <= clock->base_tsc || now_ns <= clock->first_ns)
        return;
    uint64_t own_ns = tsc_to_ns(clock, tsc);
    uint64_t measured = muldiv64(now_ns - clock->first_ns, 1ULL << 32, tsc - clock->first_tsc);
    int64_t error_ns = (int64_t)(now_ns - own_ns);
    int64_t limit_ns = (int64_t)(NS_PER_S * TSC_SLEW_PPM / 1000000);
    error_ns = MAX(-limit_ns, MIN(limit_ns, error_ns));
    clock->base_tsc = tsc;
    clock->base_ns = own_ns;
    count_set(&clock->ns_per_tick, muldiv64(measured, (uint64_t)((int64_t)NS_PER_S + error_ns), NS_PER_S));
}

uint64_t tsc_clock_hz(const struct tsc_clock *clock)
{
    return muldiv64(NS_PER_S, 1ULL << 32, count_get(&clock->ns_per_tick));
}

void tsc_clock_start(struct tsc_clock *clock)
{
    struct clock_pair first = read_pair();
    struct timespec wait = {.tv_nsec = 10 * NS_PER_MS};
    nanosleep(&wait, NULL);
    struct clock_pair second = read_pair();
    uint64_t hz = muldiv64(second.tsc - first.tsc, NS_PER_S, second.ns - first.ns);
    tsc_clock_init(clock, first.tsc, first.ns, hz);
}

void tsc_clock_sync(struct tsc_clock *clock)
{
    struct clock_pair pair = read_pair();
    tsc_clock_adjust(clock, pair.tsc, pair.ns);
}

/* ---- for other workers ---- */

#define CLOCK_WORDS (sizeof(struct tsc_clock) / sizeof(uint64_t))
_Static_assert(sizeof(struct tsc_clock) % sizeof(uint64_t) == 0, "a clock is whole words");

/* Each word is released after the odd version, and acquired before the version is looked at again: a copy
 * made in between shows. */
void tsc_share(struct tsc_shared *shared, const struct tsc_clock *clock)
{
    const uint64_t *from = (const uint64_t *)clock;
    uint64_t *to = (uint64_t *)&shared->clock;
    __atomic_store_n(&shared->version, shared->version + 1, __ATOMIC_RELAXED);
    for (size_t word = 0; word < CLOCK_WORDS; word++)
        __atomic_store_n(&to[word], from[word], __ATOMIC_RELEASE);
    __atomic_store_n(&shared->version, shared->version + 1, __ATOMIC_RELEASE);
}

void tsc_follow_new(struct tsc_follower *follower, const struct tsc_shared *shared)
{
    struct tsc_clock copy;
    const uint64_t *from = (const uint64_t *)&shared->clock;
    uint32_t version = __atomic_load_n(&shared->version, __ATOMIC_ACQUIRE);
    for (size_t word = 0; word < CLOCK_WORDS; word++)
        ((uint64_t *)&copy)[word] = __atomic_load_n(&from[word], __ATOMIC_ACQUIRE);
    if (version % 2 != 0 || __atomic_load_n(&shared->version, __ATOMIC_RELAXED) != version)
        return; /* being written: at the next look */
    *follower = (struct tsc_follower){.clock = copy, .version = version};
}
