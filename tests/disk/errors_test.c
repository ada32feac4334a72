/* What fails, and that the text says what and why. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY 65534

static struct fixture fixture;

static int start(void **state)
{
    (void)state;
    fixture_start(&fixture, 1, false);
    return 0;
}

static int start_sparse(void **state)
{
    (void)state;
    fixture_start(&fixture, 1, true);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fixture_stop(&fixture);
    return 0;
}

static void open_source__refuses_what_is_no_readable_file(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path_of(&fixture, "pipe"), 0644), 0);
    const struct {
        const char *name, *text;
    } cases[] = {{"missing", "/missing: No such file or directory"},
                 {"pipe", "/pipe: not a regular file or directory"}};
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        struct disk_reply reply = ask_source(&fixture, 0, cases[at].name);
        assert_failed(&reply, cases[at].text);
    }
    uint8_t byte;
    struct disk_reply reply = ask_read(&fixture, 0, &byte, 1, 0);
    assert_failed(&reply, "not open");
}

static void read__tells_a_changed_source(void **state)
{
    (void)state;
    const struct {
        size_t length;
        uint64_t modified_ns;
    } cases[] = {{5, FIXED_NS}, {3, FIXED_NS}, {0, FIXED_NS}, {4, FIXED_NS + 1}};
    uint8_t got[4];
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        make_file(&fixture, "source", "four", 4, FIXED_NS);
        assert_int_equal(ask_source(&fixture, 0, "source").status, DISK_OK);
        assert_int_equal(ask_read(&fixture, 0, got, 4, 0).status, DISK_OK);
        make_file(&fixture, "source", "other", cases[at].length, cases[at].modified_ns);
        struct disk_reply reply = ask_read(&fixture, 0, got, 4, 0);
        assert_int_equal(reply.status, DISK_CHANGED);
        assert_non_null(strstr(reply.text, "/source: changed since the job began"));
        ask_op(&fixture, DISK_CLOSE, 0);
    }
}

/* Rewritten as long as it was, and its time put back: only the ctime tells. */
static void read__tells_a_source_whose_time_was_put_back(void **state)
{
    (void)state;
    struct stat before, after;
    uint8_t got[4];
    make_file(&fixture, "source", "four", 4, FIXED_NS);
    assert_int_equal(ask_source(&fixture, 0, "source").status, DISK_OK);
    assert_int_equal(stat(path_of(&fixture, "source"), &before), 0);
    do { /* until the kernel's clock has moved */
        make_file(&fixture, "source", "five", 4, FIXED_NS);
        assert_int_equal(stat(path_of(&fixture, "source"), &after), 0);
    } while (memcmp(&before.st_ctim, &after.st_ctim, sizeof(before.st_ctim)) == 0);
    assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim));
    assert_int_equal(ask_read(&fixture, 0, got, 4, 0).status, DISK_CHANGED);
    ask_op(&fixture, DISK_CLOSE, 0);
}

static void open_target__missing_directory(void **state)
{
    (void)state;
    snprintf(fixture.open.directory, PATH_BYTES, "%s/nowhere", fixture.directory);
    snprintf(fixture.open.file, PATH_BYTES, "file");
    struct disk_reply reply = ask_op(&fixture, DISK_OPEN_TARGET, 0);
    assert_failed(&reply, "/nowhere/file: its directory: No such file or directory");
}

/* The superuser may write anywhere: the test then works as nobody. */
static void open_target__no_permission(void **state)
{
    (void)state;
    bool root = geteuid() == 0;
    make_file(&fixture, "secret", "x", 1, 0);
    assert_int_equal(chmod(path_of(&fixture, "secret"), 0), 0);
    assert_int_equal(chmod(fixture.directory, 0555), 0);
    assert_true(!root || seteuid(NOBODY) == 0);
    struct disk_reply target = ask_target(&fixture, 0, "file", 1);
    struct disk_reply below = ask_target(&fixture, 1, "a/file", 1);
    struct disk_reply source = ask_source(&fixture, 2, "secret");
    assert_true(!root || seteuid(0) == 0);
    assert_int_equal(chmod(fixture.directory, 0755), 0);
    assert_failed(&target, "create /tmp/disk-test-");
    assert_failed(&target, "/file.part: Permission denied");
    assert_failed(&below, "a directory on the way: Permission denied");
    assert_failed(&source, "/secret: Permission denied");
}

static void open_target__long_path_leaves_the_cause_readable(void **state)
{
    (void)state;
    char name[400];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    struct disk_reply reply = ask_target(&fixture, 0, name, 1);
    assert_failed(&reply, "File name too long");
    name[200] = '/';
    name[399 - 5] = '\0';
    assert_int_equal(ask_target(&fixture, 0, name, 1).status, DISK_OK);
    uint8_t byte;
    reply = ask_read(&fixture, 0, &byte, 1, 1);
    assert_failed(&reply, "nnn.part: ends at byte 1");
}

static void open_target__more_than_there_is(void **state)
{
    (void)state;
    struct disk_reply reply = ask_target(&fixture, 0, "file", 1ULL << 50);
    assert_failed(&reply, "no space left for ");
    assert_failed(&reply, " MB needed, ");
    assert_false(file_exists(&fixture, "file.part"));
}

/* A limit on file sizes stands for every write error: SIGXFSZ does not end the process, the text says it. */
static void write__error_is_told(void **state)
{
    (void)state;
    struct rlimit before, small = {.rlim_cur = BLOCK};
    static uint8_t data[BLOCK] = {1};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    assert_int_equal(ask_target(&fixture, 0, "file", 2 * BLOCK).status, DISK_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct disk_reply first = ask_write(&fixture, 0, data, BLOCK, 0);
    struct disk_reply second = ask_write(&fixture, 0, data, BLOCK, BLOCK);
    struct disk_reply other = ask_target(&fixture, 1, "other", 2 * BLOCK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(first.status, DISK_OK);
    assert_failed(&second, "file.part: File too large");
    assert_failed(&other, "other.part: File too large");
    assert_false(file_exists(&fixture, "other.part"));
}

/* A tmpfs of 1 MiB, in a mount namespace of this test. */
static void write__disk_full(void **state)
{
    (void)state;
    static uint8_t data[512 * KB];
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        skip();
    disk_stop(fixture.disk); /* new threads, which live in the namespace */
    struct err err;
    fixture.disk = disk_start(&(struct disk_config){.threads = 1, .sparse = true}, &err);
    assert_int_equal(mount("none", fixture.directory, "tmpfs", 0, "size=1m"), 0);
    memset(data, 7, sizeof(data));
    assert_int_equal(ask_target(&fixture, 0, "file", 4 * sizeof(data)).status, DISK_OK);
    struct disk_reply reply = {.status = DISK_OK};
    for (uint64_t at = 0; at < 4 && reply.status == DISK_OK; at++)
        reply = ask_write(&fixture, 0, data, sizeof(data), at * sizeof(data));
    assert_failed(&reply, "no space left for ");
    assert_failed(&reply, "/file.part: 0 MB free");
    assert_int_equal(ask_op(&fixture, DISK_ABORT, 0).status, DISK_OK);
    assert_int_equal(ask_op(&fixture, DISK_CLOSE, 0).status, DISK_OK);
    assert_int_equal(ask_target(&fixture, 0, "file", sizeof(data)).status, DISK_OK);
    assert_int_equal(ask_write(&fixture, 0, data, sizeof(data), 0).status, DISK_OK);
    ask_op(&fixture, DISK_CLOSE, 0);
    assert_int_equal(umount(fixture.directory), 0);
}

int run_error_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(open_source__refuses_what_is_no_readable_file, start, stop),
        cmocka_unit_test_setup_teardown(read__tells_a_changed_source, start, stop),
        cmocka_unit_test_setup_teardown(read__tells_a_source_whose_time_was_put_back, start, stop),
        cmocka_unit_test_setup_teardown(open_target__missing_directory, start, stop),
        cmocka_unit_test_setup_teardown(open_target__no_permission, start, stop),
        cmocka_unit_test_setup_teardown(open_target__long_path_leaves_the_cause_readable, start, stop),
        cmocka_unit_test_setup_teardown(open_target__more_than_there_is, start, stop),
        cmocka_unit_test_setup_teardown(write__error_is_told, start, stop),
        cmocka_unit_test_setup_teardown(write__disk_full, start_sparse, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
