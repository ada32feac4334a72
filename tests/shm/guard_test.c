#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/guard.h"
#include "ctl/ctl.h"
#include "shm/layout.h"

static char path[64];

static volatile uint8_t *mapped(int *file)
{
    *file = memfd_create("guard", MFD_CLOEXEC);
    assert_true(*file >= 0);
    assert_int_equal(ftruncate(*file, SHM_FILE_BYTES), 0);
    assert_int_equal(pwrite(*file, "a", 1, 0), 1);
    void *mapping = mmap(NULL, SHM_FILE_BYTES, PROT_READ, MAP_SHARED, *file, 0);
    assert_true(mapping != MAP_FAILED);
    return mapping;
}

static void unmap(volatile uint8_t *mapping, int file)
{
    munmap((void *)(uintptr_t)mapping, SHM_FILE_BYTES);
    close(file);
}

/* Also when the file has its size again, which is not what was mapped once. */
static void guard_cut__zeros_for_good(void **state)
{
    (void)state;
    int file;
    volatile uint8_t *mapping = mapped(&file);
    const void *watched = (const void *)(uintptr_t)mapping;
    assert_true(guard_watch(watched, SHM_FILE_BYTES));
    assert_int_equal(mapping[0], 'a');
    assert_int_equal(ftruncate(file, SHM_HEADER_BYTES), 0);
    assert_int_equal(mapping[0], 'a');
    assert_false(guard_cut(watched));
    assert_int_equal(mapping[SHM_FILE_BYTES - 1], 0);
    assert_true(guard_cut(watched));
    assert_int_equal(ftruncate(file, SHM_FILE_BYTES), 0);
    assert_true(guard_cut(watched));
    assert_int_equal(mapping[0], 0);
    guard_forget(watched);
    assert_false(guard_cut(watched));
    unmap(mapping, file);
}

static void guard_watch__so_many(void **state)
{
    (void)state;
    static uint8_t bytes[GUARD_MAPPINGS_MAX + 1];
    for (unsigned place = 0; place <= GUARD_MAPPINGS_MAX; place++)
        assert_int_equal(guard_watch(&bytes[place], 1), place < GUARD_MAPPINGS_MAX);
    for (unsigned place = 0; place < GUARD_MAPPINGS_MAX; place++)
        guard_forget(&bytes[place]);
}

/* What is not watched, and what somebody sends, ends the process as ever. */
static void guard__other_faults_are_deadly(void **state)
{
    (void)state;
    for (unsigned sent = 0; sent < 2; sent++) {
        pid_t child = fork();
        if (child == 0) {
            int file, other_file;
            volatile uint8_t *mapping = mapped(&file), *other = mapped(&other_file);
            const struct rlimit none = {0, 0};
            setrlimit(RLIMIT_CORE, &none);
            signal(SIGBUS, SIG_DFL); /* of a sanitizer */
            guard_watch((const void *)(uintptr_t)mapping, SHM_FILE_BYTES);
            if (sent)
                raise(SIGBUS);
            else if (ftruncate(other_file, 0) == 0)
                (void)other[0];
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGBUS);
    }
}

static void cut_for_ever(const char *file_path)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        if (truncate(file_path, 0) == 0)
            (void)!truncate(file_path, SHM_FILE_BYTES);
    }
}

/* The owner of the planner's file does so without a pause, and the node goes on to make rings. */
static void shm_ring__file_cut_short_in_a_loop(void **state)
{
    (void)state;
    static uint8_t record[CTL_RECORD_BYTES_MAX];
    char file_path[80];
    struct err err;
    snprintf(file_path, sizeof(file_path), "%s.up", path);
    pid_t child = fork();
    if (child == 0)
        cut_for_ever(file_path);
    for (unsigned round = 0; round < 100; round++) {
        struct shm_ring *ring = shm_ring_create(path, &err);
        if (ring == NULL)
            kill(child, SIGKILL);
        assert_non_null(ring);
        for (unsigned turn = 0; turn < 1000; turn++) {
            shm_ring_pop(ring, record, sizeof(record));
            shm_ring_peer_beats(ring);
            shm_ring_generation(ring);
        }
        shm_ring_close(ring);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

int main(void)
{
    snprintf(path, sizeof(path), "/dev/shm/sluice-guard-test-%d", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guard__other_faults_are_deadly),
        cmocka_unit_test(guard_cut__zeros_for_good),
        cmocka_unit_test(guard_watch__so_many),
        cmocka_unit_test(shm_ring__file_cut_short_in_a_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
