#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "open_rings.h"
#include "record.h"
#include "shm/layout.h"
#include "shm/ring.h"

static char path[64];
static uint8_t record[CTL_RECORD_BYTES_MAX];

static struct shm_ring *node(void)
{
    struct err err;
    return ring_opened(shm_ring_create(path, &err), &err);
}

static struct shm_ring *planner(void)
{
    struct err err;
    return ring_opened(shm_ring_attach(path, &err), &err);
}

static void expect_no_attach(const char *expected)
{
    struct err err = {""};
    assert_null(shm_ring_attach(path, &err));
    if (strstr(err.text, expected) == NULL)
        fail_msg("expected \"%s\", got \"%s\"", expected, err.text);
}

static bool push(struct shm_ring *ring, uint32_t run, uint32_t index)
{
    size_t length = record_make(record, run, index, record_body_bytes(index), shm_ring_sequence(ring));
    return shm_ring_push(ring, record, length);
}

static void expect_pop(struct shm_ring *ring, uint32_t run, uint32_t index)
{
    uint32_t got_run = 0, got_index = 0;
    size_t length = shm_ring_pop(ring, record, sizeof(record));
    assert_true(length > 0 && record_whole(record, length, &got_run, &got_index));
    assert_int_equal(got_run, run);
    assert_int_equal(got_index, index);
}

static void expect_empty(struct shm_ring *ring)
{
    assert_int_equal(shm_ring_pop(ring, record, sizeof(record)), 0);
}

/* The file as its owner may write it, past all the ring's own care. */
static struct shm_file *raw_file(const char *suffix)
{
    char file_path[80];
    snprintf(file_path, sizeof(file_path), "%s%s", path, suffix);
    int file = open(file_path, O_RDWR);
    assert_true(file >= 0);
    struct shm_file *raw = mmap(NULL, SHM_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    assert_true(raw != MAP_FAILED);
    close(file);
    return raw;
}

static void shm_ring__both_directions(void **state)
{
    (void)state;
    struct shm_ring *a = node(), *b = planner();
    for (uint32_t index = 0; index < 2000; index++) {
        assert_true(push(a, 1, index));
        assert_true(push(b, 2, index));
        expect_pop(b, 1, index);
        expect_pop(a, 2, index);
        expect_empty(a);
        expect_empty(b);
    }
    assert_int_equal(shm_ring_counters(a).pushed, 2000);
    assert_int_equal(shm_ring_counters(a).popped, 2000);
    assert_int_equal(shm_ring_counters(a).bad, 0);
    ring_close(b);
    ring_close(a);
}

static void shm_ring_push__full_is_refused_and_counted(void **state)
{
    (void)state;
    struct shm_ring *a = node(), *b = planner();
    uint32_t filled = 0;
    for (unsigned round = 0; round < 3; round++) {
        uint32_t first = filled;
        while (push(a, 1, filled))
            filled++;
        assert_true(filled > first + 100);
        assert_int_equal(shm_ring_counters(a).full, round + 1);
        for (uint32_t index = first; index < filled; index++)
            expect_pop(b, 1, index);
        expect_empty(b);
    }
    static uint8_t large[CTL_RECORD_BYTES_MAX + 8];
    assert_false(shm_ring_push(a, large, sizeof(large)));
    ring_close(b);
    ring_close(a);
}

static void shm_ring_attach__conditions(void **state)
{
    (void)state;
    expect_no_attach("No such file");
    struct shm_ring *a = node(), *b = planner();
    expect_no_attach("another planner is attached");
    struct err err;
    assert_null(shm_ring_create(path, &err));
    assert_non_null(strstr(err.text, "another node"));
    assert_int_equal(shm_ring_generation(a), 1);
    ring_close(b);
    b = planner();
    assert_int_equal(shm_ring_generation(a), 2);
    assert_int_equal(shm_ring_generation(b), 2);
    shm_ring_beat(b);
    shm_ring_beat(b);
    assert_int_equal(shm_ring_peer_beats(a), 2);
    assert_int_equal(shm_ring_peer_beats(b), 0);
    assert_false(shm_ring_stale(b));
    ring_close(a);
    assert_true(shm_ring_stale(b));
    expect_no_attach("No such file");
    ring_close(b);
}

static void shm_ring_attach__refuses_other_files(void **state)
{
    (void)state;
    struct shm_ring *a = node();
    struct shm_file *up = raw_file(".up"), *down = raw_file(".down");
#define SPOILT(field, value, expected)                                                                       \
    do {                                                                                                     \
        __typeof__(field) good = (field);                                                                    \
        (field) = (value);                                                                                   \
        expect_no_attach(expected);                                                                          \
        (field) = good;                                                                                      \
    } while (0)
    SPOILT(up->magic, 0, "no control ring");
    SPOILT(down->magic, 0, "no control ring");
    SPOILT(up->version, SHM_VERSION + 1, "ring version 3");
    SPOILT(down->ring_bytes, 4096, "ring version");
    SPOILT(up->instance, 1, "just starting");
#undef SPOILT
    struct shm_ring *b = planner();
    ring_close(b);
    char file_path[80];
    snprintf(file_path, sizeof(file_path), "%s.up", path);
    munmap(up, SHM_FILE_BYTES);
    munmap(down, SHM_FILE_BYTES);
    assert_int_equal(truncate(file_path, 100), 0); /* the node does not touch it any more */
    expect_no_attach("no control ring");
    ring_close(a);
}

/* Somebody cuts a file short under both sides: nobody faults, both notice, and the node's next ring works. */
static void shm_ring__survives_files_cut_short(void **state)
{
    (void)state;
    for (unsigned row = 0; row < 4; row++) {
        char file_path[80];
        struct shm_ring *a = node(), *b = planner();
        assert_true(push(a, 1, 0) && push(b, 1, 0));
        assert_false(shm_ring_cut(a) || shm_ring_cut(b));
        snprintf(file_path, sizeof(file_path), "%s%s", path, row % 2 == 0 ? ".up" : ".down");
        assert_int_equal(truncate(file_path, row < 2 ? 0 : SHM_HEADER_BYTES), 0);
        struct shm_ring *const sides[] = {a, b};
        for (unsigned side = 0; side < 2; side++) {
            assert_true(shm_ring_cut(sides[side]));
            assert_true(shm_ring_stale(sides[side]));
            expect_empty(sides[side]);
            assert_false(push(sides[side], 1, 1));
            shm_ring_beat(sides[side]);
            assert_int_equal(shm_ring_peer_beats(sides[side]), 0);
            assert_int_equal(shm_ring_generation(sides[side]), 0);
        }
        ring_close(a);
        a = node();
        assert_true(shm_ring_stale(b));
        ring_close(b);
        b = planner();
        assert_true(push(b, 2, 0));
        expect_pop(a, 2, 0);
        ring_close(b);
        ring_close(a);
    }
}

static void shm_ring_create__mode_and_no_leftovers(void **state)
{
    (void)state;
    char file_path[80];
    struct stat status;
    struct shm_ring *a = node();
    static const char *const suffixes[] = {".up", ".down", ".lock"};
    for (unsigned suffix = 0; suffix < 3; suffix++) {
        snprintf(file_path, sizeof(file_path), "%s%s", path, suffixes[suffix]);
        assert_int_equal(stat(file_path, &status), 0);
        assert_int_equal(status.st_mode & 07777, 0600);
        strcat(file_path, ".new");
        assert_int_not_equal(stat(file_path, &status), 0);
    }
    ring_close(a);
    struct err err;
    char missing[96];
    snprintf(missing, sizeof(missing), "%s.d/ring", path);
    assert_null(shm_ring_create(missing, &err));
    assert_non_null(strstr(err.text, "No such file"));
}

/* Planners of another user may write their own file, and only read the other one. */
static void shm_ring_give__to_another_user(void **state)
{
    (void)state;
    struct err err;
    struct stat up, down;
    char file_path[80];
    if (geteuid() != 0)
        skip();
    struct shm_ring *a = node();
    assert_true(shm_ring_give(a, 65534, 65533, &err));
    snprintf(file_path, sizeof(file_path), "%s.up", path);
    assert_int_equal(stat(file_path, &up), 0);
    snprintf(file_path, sizeof(file_path), "%s.down", path);
    assert_int_equal(stat(file_path, &down), 0);
    assert_int_equal(up.st_uid, 65534);
    assert_int_equal(up.st_gid, 65533);
    assert_int_equal(up.st_mode & 07777, 0600);
    assert_int_equal(down.st_uid, 0);
    assert_int_equal(down.st_gid, 65533);
    assert_int_equal(down.st_mode & 07777, 0640);
    ring_close(a);
}

/* Whoever may read the node's file can lock it, and keeps no later node out; who holds the node's own lock does. */
static void shm_ring_create__whose_lock_counts(void **state)
{
    (void)state;
    static const struct {
        const char *suffix;
        bool out;
    } rows[] = {{".down", false}, {".up", false}, {".lock", true}};
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        char file_path[80];
        struct err err;
        snprintf(file_path, sizeof(file_path), "%s%s", path, rows[row].suffix);
        int file = open(file_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(flock(file, LOCK_EX | LOCK_NB), 0);
        struct shm_ring *later = shm_ring_create(path, &err);
        assert_int_equal(later == NULL, rows[row].out);
        shm_ring_close(later);
        close(file);
        unlink(file_path);
    }
}

/* A node that was killed leaves its files; the next one replaces them and the planner notices. */
static void shm_ring_create__replaces_a_dead_nodes_files(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct err err;
        struct shm_ring *dead = shm_ring_create(path, &err);
        _exit(dead != NULL && push(dead, 9, 0) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct shm_ring *b = planner();
    struct shm_ring *a = node();
    assert_true(shm_ring_stale(b));
    ring_close(b);
    b = planner();
    expect_empty(b);
    assert_true(push(a, 1, 0));
    expect_pop(b, 1, 0);
    ring_close(b);
    ring_close(a);
}

static void shm_ring_attach__goes_on_where_the_last_one_stopped(void **state)
{
    (void)state;
    struct shm_ring *a = node(), *b = planner();
    for (uint32_t index = 0; index < 10; index++)
        assert_true(push(a, 1, index) && push(b, 2, index));
    for (uint32_t index = 0; index < 4; index++)
        expect_pop(b, 1, index);
    ring_close(b);
    b = planner();
    for (uint32_t index = 4; index < 10; index++)
        expect_pop(b, 1, index);
    assert_true(push(b, 3, 0));
    for (uint32_t index = 0; index < 10; index++)
        expect_pop(a, 2, index);
    expect_pop(a, 3, 0);
    expect_empty(a);
    ring_close(b);
    ring_close(a);
}

/* An old record that is still in the ring, checksum and all, is not taken for a new one. */
static void shm_ring_pop__no_replay(void **state)
{
    (void)state;
    struct shm_ring *a = node(), *b = planner();
    struct shm_file *up = raw_file(".up");
    for (uint32_t lap = 0; shm_ring_counters(b).pushed * 32 < SHM_RING_BYTES; lap++) {
        size_t length = record_make(record, 1, lap, RECORD_BODY_MIN, shm_ring_sequence(b));
        assert_true(shm_ring_push(b, record, length));
        assert_int_equal(shm_ring_pop(a, record, sizeof(record)), length);
    }
    up->produced += 32; /* the next place holds the first record of the lap before */
    expect_empty(a);
    assert_int_equal(shm_ring_counters(a).bad, 1);
    munmap(up, SHM_FILE_BYTES);
    ring_close(b);
    ring_close(a);
}

/* Each way to spoil the own file costs at most what was under way; the next planner works again. */
static void shm_ring_pop__table_of_lies(void **state)
{
    (void)state;
    static const struct {
        int64_t produced_by;
        uint64_t consumed_xor;
        uint32_t length; /* 0: left alone */
        uint64_t bad;
    } cases[] = {
        {1, 0, 0, 1},
        {-8, 0, 0, 1},
        {8, 0, 0, 1},
        {SHM_RING_BYTES, 0, 0, 1},
        {INT64_MIN, 0, 0, 1},
        {4096, 0, 0, 1},
        {0, 0, 23, 1},
        {0, 0, UINT32_MAX, 1},
        {0, 0, 1 << 20, 1},
        {0, 0, 25, 1},
        {0, UINT64_C(1) << 63, 0, 0},
        {0, 1, 0, 0},
        {0, UINT64_C(1) << 40, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct shm_ring *a = node(), *b = planner();
        struct shm_file *up = raw_file(".up");
        size_t length = record_make(record, 1, 0, RECORD_BODY_MIN, shm_ring_sequence(b));
        bool any = cases[i].produced_by == 0;
        assert_true(!any || shm_ring_push(b, record, length));
        up->produced += (uint64_t)cases[i].produced_by;
        up->consumed ^= cases[i].consumed_xor;
        if (cases[i].length != 0)
            memcpy(up->data, &cases[i].length, 4);
        size_t popped = shm_ring_pop(a, record, sizeof(record));
        assert_int_equal(popped, cases[i].bad == 0 ? length : 0);
        assert_int_equal(shm_ring_counters(a).bad, cases[i].bad);
        bool room = push(a, 5, 0);
        assert_int_equal(room, cases[i].consumed_xor == 0);
        ring_close(b);
        b = planner();
        shm_ring_pop(a, record, sizeof(record));
        assert_true(push(b, 1, 7) && push(a, 1, 7));
        expect_pop(a, 1, 7);
        if (room)
            expect_pop(b, 5, 0);
        expect_pop(b, 1, 7);
        munmap(up, SHM_FILE_BYTES);
        ring_close(b);
        ring_close(a);
    }
}

int main(void)
{
    snprintf(path, sizeof(path), "/dev/shm/sluice-ring-test-%d", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(shm_ring__both_directions, rings_teardown),
        cmocka_unit_test_teardown(shm_ring_push__full_is_refused_and_counted, rings_teardown),
        cmocka_unit_test_teardown(shm_ring_attach__conditions, rings_teardown),
        cmocka_unit_test_teardown(shm_ring_attach__refuses_other_files, rings_teardown),
        cmocka_unit_test_teardown(shm_ring__survives_files_cut_short, rings_teardown),
        cmocka_unit_test_teardown(shm_ring_create__mode_and_no_leftovers, rings_teardown),
        cmocka_unit_test_teardown(shm_ring_give__to_another_user, rings_teardown),
        cmocka_unit_test_teardown(shm_ring_create__whose_lock_counts, rings_teardown),
        cmocka_unit_test_teardown(shm_ring_create__replaces_a_dead_nodes_files, rings_teardown),
        cmocka_unit_test_teardown(shm_ring_attach__goes_on_where_the_last_one_stopped, rings_teardown),
        cmocka_unit_test_teardown(shm_ring_pop__no_replay, rings_teardown),
        cmocka_unit_test_teardown(shm_ring_pop__table_of_lies, rings_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
