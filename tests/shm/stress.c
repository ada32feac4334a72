/* kill -9 and hostile writes against the control ring.
 *
 * Planners are forked, attach, work as fast as they can, and are killed at random moments; the test is the
 * node. What they did is known from a page shared with them, written after each push or pop: it can lag
 * behind the ring by the one operation that the kill interrupted, and by nothing else.
 *
 *   stress [seconds]    shared out evenly over the parts; the default is for the normal test run */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/units.h"
#include "record.h"
#include "shm/layout.h"
#include "shm/shm_control.h"

#define SECONDS_DEFAULT 8
#define PARTS           4
#define LONG_LIFE       100 /* records that a planner with time to work pushes before it is killed */

struct progress {
    uint32_t attached;
    uint32_t pushed; /* records of this planner that are surely in the ring */
    uint32_t popped; /* index after the last record that was surely taken out, over all planners */
    uint32_t unsure; /* kills since `popped` was written: each may have hit between taking and writing */
};

static char path[64];
static struct progress *progress;
static struct rng rng;
static uint8_t record[CTL_RECORD_BYTES_MAX];

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void require(bool condition, const char *what, uint64_t got, uint64_t expected)
{
    if (condition)
        return;
    fprintf(stderr, "%s: got %llu, expected %llu\n", what, (unsigned long long)got,
            (unsigned long long)expected);
    exit(1);
}

static struct shm_ring *must(struct shm_ring *ring, const struct err *err)
{
    if (ring == NULL) {
        fprintf(stderr, "%s\n", err->text);
        exit(1);
    }
    return ring;
}

static struct shm_ring *make_node(void)
{
    struct err err;
    return must(shm_ring_create(path, &err), &err);
}

static void planner_pushes(struct shm_ring *ring, uint32_t run)
{
    for (uint32_t index = 0;; index++) {
        size_t length = record_make(record, run, index, record_body_bytes(index), shm_ring_sequence(ring));
        while (!shm_ring_push(ring, record, length))
            usleep(50);
        __atomic_store_n(&progress->pushed, index + 1, __ATOMIC_RELEASE);
    }
}

static void planner_pops(struct shm_ring *ring, uint32_t unused)
{
    (void)unused;
    uint32_t run, index, before = __atomic_load_n(&progress->popped, __ATOMIC_ACQUIRE);
    for (bool first = true;;) {
        size_t length = shm_ring_pop(ring, record, sizeof(record));
        if (shm_ring_counters(ring).bad != 0)
            abort();
        if (length == 0) {
            usleep(20);
            continue;
        }
        /* Planners before may have been killed between taking a record out and saying so. */
        uint32_t unsure = first ? __atomic_load_n(&progress->unsure, __ATOMIC_ACQUIRE) : 0;
        if (!record_whole(record, length, &run, &index) || index - before > unsure)
            abort();
        before = index + 1;
        first = false;
        __atomic_store_n(&progress->popped, before, __ATOMIC_RELEASE);
        __atomic_store_n(&progress->unsure, 0, __ATOMIC_RELEASE);
    }
}

/* The kernel drops the lock of a killed planner with the last reference to its memory, and whoever looks at
 * that process just then (a monitor reading /proc) holds one: as the planner does, attach again. */
static struct shm_ring *attach(void)
{
    struct err err;
    struct shm_ring *ring = shm_ring_attach(path, &err);
    for (uint64_t until_ns = clock_ns() + 5 * NS_PER_S; ring == NULL && clock_ns() < until_ns;) {
        usleep(1000);
        ring = shm_ring_attach(path, &err);
    }
    return must(ring, &err);
}

static pid_t start_planner(void (*work)(struct shm_ring *, uint32_t), uint32_t run)
{
    __atomic_store_n(&progress->attached, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&progress->pushed, 0, __ATOMIC_RELEASE);
    pid_t child = fork();
    require(child >= 0, "fork", 0, 1);
    if (child > 0)
        return child;
    struct shm_ring *ring = attach();
    __atomic_store_n(&progress->attached, 1, __ATOMIC_RELEASE);
    work(ring, run);
    _exit(0);
}

/* Must have died of the signal: any other end is a finding of the planner's own. */
static void kill_planner(pid_t child)
{
    int status = 0;
    kill(child, SIGKILL);
    bool ended = waitpid(child, &status, 0) == child;
    require(ended && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "end of a planner", (uint64_t)status,
            SIGKILL);
}

static uint64_t random_life_ns(void)
{
    return rng_below(&rng, 8) == 0 ? rng_below(&rng, 3 * NS_PER_MS) : rng_below(&rng, 300 * NS_PER_US);
}

/* Everything that this planner surely pushed arrives once, whole and in order; at most one record more. */
static uint32_t drain(struct shm_ring *node, uint32_t run, uint32_t next, unsigned count_max)
{
    uint32_t got_run, index;
    size_t length;
    for (unsigned count = 0; count < count_max; count++) {
        length = shm_ring_pop(node, record, sizeof(record));
        if (length == 0)
            break;
        require(record_whole(record, length, &got_run, &index), "torn record, length", length, 0);
        require(got_run == run, "run", got_run, run);
        require(index == next, "index", index, next);
        next++;
    }
    return next;
}

static void killed_producers(uint64_t until_ns)
{
    struct shm_ring *node = make_node();
    uint64_t kills = 0, attached = 0, records = 0, long_lives = 0;
    for (uint32_t run = 1; clock_ns() < until_ns; run++, kills++) {
        pid_t child = start_planner(planner_pushes, run);
        uint32_t next = 0;
        while (rng_below(&rng, 16) != 0 && __atomic_load_n(&progress->attached, __ATOMIC_ACQUIRE) == 0)
            usleep(20);
        for (uint64_t end_ns = clock_ns() + random_life_ns(); clock_ns() < end_ns;)
            next = drain(node, run, next, 16);
        bool long_life = run % 16 == 1;
        while (long_life && next < LONG_LIFE)
            next = drain(node, run, next, 16);
        long_lives += long_life;
        kill_planner(child);
        next = drain(node, run, next, UINT_MAX);
        uint32_t sure = __atomic_load_n(&progress->pushed, __ATOMIC_ACQUIRE);
        require(next == sure || next == sure + 1, "records of a killed planner", next, sure);
        attached += progress->attached;
        records += next;
    }
    require(shm_ring_counters(node).bad == 0, "bad records", shm_ring_counters(node).bad, 0);
    require(records >= LONG_LIFE * long_lives, "records", records, LONG_LIFE * long_lives);
    require(shm_ring_generation(node) >= attached, "generation", shm_ring_generation(node), attached);
    printf("killed producers: %llu kills, %llu records\n", (unsigned long long)kills,
           (unsigned long long)records);
    shm_ring_close(node);
}

static void killed_consumers(uint64_t until_ns)
{
    struct shm_ring *node = make_node();
    uint64_t kills = 0;
    uint32_t index = 0;
    progress->popped = 0;
    progress->unsure = 0;
    for (; clock_ns() < until_ns; kills++) {
        pid_t child = start_planner(planner_pops, 0);
        while (rng_below(&rng, 16) != 0 && __atomic_load_n(&progress->attached, __ATOMIC_ACQUIRE) == 0)
            usleep(20);
        for (uint64_t end_ns = clock_ns() + random_life_ns(); clock_ns() < end_ns;) {
            size_t length = record_make(record, 1, index, record_body_bytes(index), shm_ring_sequence(node));
            index += shm_ring_push(node, record, length);
        }
        kill_planner(child);
        progress->unsure++;
    }
    pid_t child = start_planner(planner_pops, 0);
    uint64_t deadline_ns = clock_ns() + 20 * NS_PER_S;
    while (__atomic_load_n(&progress->popped, __ATOMIC_ACQUIRE) < index && clock_ns() < deadline_ns)
        usleep(100);
    /* Only records taken by planners killed just then can be missing, and only at the very end. */
    require(progress->popped + progress->unsure >= index, "records taken out", progress->popped, index);
    kill_planner(child);
    printf("killed consumers: %llu kills, %u records\n", (unsigned long long)kills, index);
    shm_ring_close(node);
}

static struct shm_file *raw_file(const char *suffix)
{
    char file_path[80];
    snprintf(file_path, sizeof(file_path), "%s%s", path, suffix);
    int file = open(file_path, O_RDWR | O_CLOEXEC);
    struct shm_file *raw = mmap(NULL, SHM_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    require(file >= 0 && raw != MAP_FAILED, "own file", 0, 1);
    close(file);
    return raw;
}

/* One random write: mostly where it hurts (positions, lengths at the reader's place), else anywhere. */
static void scribble(struct shm_file *own, const struct shm_file *reader)
{
    uint64_t value = rng_below(&rng, 2) == 0 ? rng_next(&rng) : rng_below(&rng, 2 * SHM_RING_BYTES);
    uint64_t place = reader->consumed & (SHM_RING_BYTES - 8);
    switch (rng_below(&rng, 8)) {
    case 0:
        __atomic_store_n(&own->produced, value, __ATOMIC_RELEASE);
        break;
    case 1:
        __atomic_store_n(&own->produced, reader->consumed + (value & 0xffff8), __ATOMIC_RELEASE);
        break;
    case 2:
        __atomic_store_n(&own->consumed, value, __ATOMIC_RELEASE);
        break;
    case 3:
        __atomic_store_n(&own->generation, (uint32_t)value, __ATOMIC_RELEASE);
        break;
    case 4:
        __atomic_store_n(&own->beats, value, __ATOMIC_RELEASE);
        break;
    case 5:
        own->data[value & (SHM_RING_BYTES - 1)] ^= 1;
        break;
    default:
        *(volatile uint32_t *)(void *)(own->data + place) = (uint32_t)(value % 32768);
        break;
    }
}

/* What the reader is to survive: bounded work per call, only whole records accepted. */
static void use_node(struct shm_control *control, uint64_t now_ns)
{
    static struct ctl_msg msg;
    shm_control_poll(control, &msg, now_ns);
    msg = (struct ctl_msg){.type = CTL_PLAN_FAILED};
    shm_control_send(control->ring, &msg);
}

/* After the storm: a new, honest planner and the node understand each other again. */
static void recovers(struct shm_ring *node)
{
    struct err err;
    uint32_t run, index;
    struct shm_ring *planner = must(shm_ring_attach(path, &err), &err);
    for (unsigned turn = 0; turn < 2; turn++) /* of what the storm left behind */
        while (shm_ring_pop(node, record, sizeof(record)) > 0 ||
               shm_ring_pop(planner, record, sizeof(record)) > 0)
            ;
    for (uint32_t i = 0; i < 100; i++) {
        struct shm_ring *from = i % 2 == 0 ? node : planner, *to = i % 2 == 0 ? planner : node;
        size_t length = record_make(record, 5, i, record_body_bytes(i), shm_ring_sequence(from));
        require(shm_ring_push(from, record, length), "push after the storm", i, 0);
        length = shm_ring_pop(to, record, sizeof(record));
        require(length > 0 && record_whole(record, length, &run, &index) && index == i, "pop after the storm",
                i, 0);
    }
    shm_ring_close(planner);
}

/* Turn by turn in one process: every state between two writes is looked at. */
static void hostile_turns(uint64_t until_ns)
{
    uint64_t rounds = 0;
    for (; clock_ns() < until_ns; rounds++) {
        struct shm_ring *node = make_node();
        struct shm_control control;
        struct err err;
        shm_control_init(&control, node, 0);
        struct shm_ring *planner = must(shm_ring_attach(path, &err), &err);
        struct shm_file *up = raw_file(".up"), *down = raw_file(".down");
        for (unsigned turn = 0; turn < 3000; turn++) {
            scribble(up, down);
            static struct ctl_msg msg = {.type = CTL_PLAN_FAILED};
            if (turn % 5 == 0)
                shm_control_send(planner, &msg);
            use_node(&control, turn * NS_PER_MS);
        }
        shm_ring_close(planner);
        recovers(node);
        /* The other way round: the node's file spoilt under a planner. */
        planner = must(shm_ring_attach(path, &err), &err);
        for (unsigned turn = 0; turn < 3000; turn++) {
            static struct ctl_msg msg = {.type = CTL_PLAN_FAILED};
            scribble(down, up);
            shm_control_receive(planner, &msg, &err);
            msg = (struct ctl_msg){.type = CTL_PLAN_FAILED};
            shm_control_send(planner, &msg);
        }
        shm_ring_close(planner);
        munmap(up, SHM_FILE_BYTES);
        munmap(down, SHM_FILE_BYTES);
        shm_ring_close(node);
    }
    printf("hostile turns: %llu rounds\n", (unsigned long long)rounds);
}

/* At the same time from another process: writes fall between check and use as well. */
static void hostile_race(uint64_t until_ns)
{
    struct shm_ring *node = make_node();
    struct shm_control control;
    shm_control_init(&control, node, clock_ns());
    struct shm_file *up = raw_file(".up"), *down = raw_file(".down");
    pid_t child = fork();
    if (child == 0)
        for (;;)
            scribble(up, down);
    uint64_t turns = 0;
    for (uint64_t now_ns = clock_ns(); now_ns < until_ns; now_ns = clock_ns(), turns++)
        use_node(&control, now_ns);
    kill_planner(child);
    require(shm_ring_counters(node).bad > 0, "bad records of a hostile planner", 0, 1);
    recovers(node);
    printf("hostile race: %llu turns, %llu bad\n", (unsigned long long)turns,
           (unsigned long long)shm_ring_counters(node).bad);
    munmap(up, SHM_FILE_BYTES);
    munmap(down, SHM_FILE_BYTES);
    shm_ring_close(node);
}

int main(int argc, char **argv)
{
    uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : SECONDS_DEFAULT;
    static void (*const parts[PARTS])(uint64_t) = {killed_producers, killed_consumers, hostile_turns,
                                                   hostile_race};
    snprintf(path, sizeof(path), "/dev/shm/sluice-stress-%d", (int)getpid());
    progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    require(progress != MAP_FAILED, "mmap", 0, 1);
    rng_init(&rng, 1);
    setvbuf(stdout, NULL, _IOLBF, 0);    /* a forked planner must not inherit unwritten lines */
    alarm((unsigned)(seconds * 4 + 60)); /* a hang is a failure, not a wait */
    for (unsigned part = 0; part < PARTS; part++)
        parts[part](clock_ns() + seconds * NS_PER_S / PARTS);
    return 0;
}
