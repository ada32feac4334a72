/* Names: what exists already, what is in the way, what leads out of the permitted directory. */
#include "fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct fixture fixture;

static int start(void **state)
{
    (void)state;
    fixture_start(&fixture, 2, false);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fixture_stop(&fixture);
    return 0;
}

static void open_target__existing_name_by_policy(void **state)
{
    (void)state;
    const struct {
        enum part_exists policy;
        uint64_t size_bytes, modified_ns;
        enum disk_status status;
    } cases[] = {
        {PART_EXISTS_FAIL, 3, FIXED_NS, DISK_FAILED},
        {PART_EXISTS_REPLACE, 3, FIXED_NS, DISK_OK},
        {PART_EXISTS_SKIP_IF_SAME, 3, FIXED_NS, DISK_ALREADY_THERE},
        {PART_EXISTS_SKIP_IF_SAME, 3, FIXED_NS + 1, DISK_OK},
        {PART_EXISTS_SKIP_IF_SAME, 4, FIXED_NS, DISK_OK},
    };
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        make_file(&fixture, "file", "old", 3, FIXED_NS);
        fixture.open.exists = (uint8_t)cases[at].policy;
        fixture.open.modified_ns = cases[at].modified_ns;
        struct disk_reply reply = ask_target(&fixture, 0, "file", cases[at].size_bytes);
        assert_int_equal(reply.status, cases[at].status);
        uint8_t data[4] = "new", got[4] = "";
        switch (cases[at].status) {
        case DISK_FAILED:
            assert_failed(&reply, "/file: is there already");
            assert_false(file_exists(&fixture, "file.part"));
            break;
        case DISK_ALREADY_THERE:
            assert_int_equal(ask_read(&fixture, 0, got, 3, 0).status, DISK_OK);
            assert_memory_equal(got, "old", 3);
            assert_int_equal(ask_op(&fixture, DISK_ABORT, 0).status, DISK_ALREADY_THERE);
            assert_content(&fixture, "file", "old", 3);
            break;
        case DISK_OK:
            assert_int_equal(ask_write(&fixture, 0, data, (uint32_t)cases[at].size_bytes, 0).status, DISK_OK);
            assert_content(&fixture, "file", "old", 3);
            assert_int_equal(ask_op(&fixture, DISK_FINISH, 0).status, DISK_OK);
            assert_content(&fixture, "file", data, cases[at].size_bytes);
            break;
        case DISK_CHANGED:
        case DISK_ENDED:
            fail();
        }
        ask_op(&fixture, DISK_CLOSE, 0);
    }
}

static void open_target__never_leaves_the_directory(void **state)
{
    (void)state;
    const char *const names[] = {"../out", "/tmp/out", "a/../../out", "a//out",
                                 "./out",  "",         "link/out",    "a/link/out"};
    char outside[] = "/tmp/disk-outside-XXXXXX";
    assert_non_null(mkdtemp(outside));
    assert_int_equal(mkdir(path_of(&fixture, "a"), 0755), 0);
    assert_int_equal(symlink(outside, path_of(&fixture, "link")), 0);
    assert_int_equal(symlink(outside, path_of(&fixture, "a/link")), 0);
    for (size_t at = 0; at < sizeof(names) / sizeof(names[0]); at++) {
        struct disk_reply reply = ask_target(&fixture, 0, names[at], 1);
        assert_failed(&reply, strstr(names[at], "link") != NULL ? "symbolic link" : "not a path below");
    }
    assert_int_equal(rmdir(outside), 0); /* empty as it was */
}

/* Links at the two last names lead out as well: NAME.part is refused, NAME too, whatever the policy. */
static void open_target__follows_no_link_at_the_end(void **state)
{
    (void)state;
    char outside[] = "/tmp/disk-outside-XXXXXX";
    int fd = mkstemp(outside);
    assert_int_equal(write(fd, "mine", 4), 4);
    fixture.open.exists = PART_EXISTS_REPLACE;
    assert_int_equal(symlink(outside, path_of(&fixture, "one.part")), 0);
    struct disk_reply reply = ask_target(&fixture, 0, "one", 1);
    assert_failed(&reply, "one.part: is in the way");
    assert_int_equal(symlink(outside, path_of(&fixture, "two")), 0);
    reply = ask_target(&fixture, 0, "two", 1);
    assert_failed(&reply, "two: is there already and not a regular file");
    char content[8];
    assert_int_equal(pread(fd, content, sizeof(content), 0), 4);
    close(fd);
    unlink(outside);
}

static void open_target__makes_directories_but_not_over_files(void **state)
{
    (void)state;
    assert_int_equal(ask_target(&fixture, 0, "x/y/z", 1).status, DISK_OK);
    assert_true(file_exists(&fixture, "x/y/z.part"));
    make_file(&fixture, "plain", "", 0, 0);
    struct disk_reply reply = ask_target(&fixture, 1, "plain/file", 1);
    assert_failed(&reply, "Not a directory");
    assert_int_equal(mkdir(path_of(&fixture, "full"), 0755), 0);
    fixture.open.exists = PART_EXISTS_REPLACE;
    reply = ask_target(&fixture, 1, "full", 1);
    assert_failed(&reply, "not a regular file");
}

static void open_target__one_writer_per_part(void **state)
{
    (void)state;
    assert_int_equal(ask_target(&fixture, 0, "file", 1).status, DISK_OK);
    struct disk_reply reply = ask_target(&fixture, 1, "file", 1);
    assert_failed(&reply, "file.part: another job is writing it");
    assert_int_equal(ask_op(&fixture, DISK_ABORT, 0).status, DISK_OK);
    assert_false(file_exists(&fixture, "file.part"));
    assert_int_equal(ask_op(&fixture, DISK_CLOSE, 0).status, DISK_OK);
    assert_int_equal(ask_target(&fixture, 1, "file", 1).status, DISK_OK);
    assert_true(file_exists(&fixture, "file.part"));
}

static void open_target__replaces_a_leftover(void **state)
{
    (void)state;
    make_file(&fixture, "file.part", "left from before", 16, 0);
    assert_int_equal(ask_target(&fixture, 0, "file", 2).status, DISK_OK);
    assert_content(&fixture, "file.part", "\0\0", 2);
    /* Closed without FINISH or ABORT, as when the node stops: the part stays, and is a leftover next time. */
    assert_int_equal(ask_op(&fixture, DISK_CLOSE, 0).status, DISK_OK);
    assert_true(file_exists(&fixture, "file.part"));
    assert_int_equal(ask_target(&fixture, 0, "file", 3).status, DISK_OK);
    assert_content(&fixture, "file.part", "\0\0\0", 3);
}

static void finish__refuses_what_came_in_between(void **state)
{
    (void)state;
    assert_int_equal(ask_target(&fixture, 0, "file", 1).status, DISK_OK);
    make_file(&fixture, "file", "other", 5, 0);
    struct disk_reply reply = ask_op(&fixture, DISK_FINISH, 0);
    assert_failed(&reply, "file: File exists");
    assert_content(&fixture, "file", "other", 5);
    assert_int_equal(ask_target(&fixture, 1, "gone", 1).status, DISK_OK);
    assert_int_equal(unlink(path_of(&fixture, "gone.part")), 0);
    make_file(&fixture, "gone.part", "foreign", 7, 0);
    reply = ask_op(&fixture, DISK_FINISH, 1);
    assert_failed(&reply, "gone.part: was removed or replaced");
    assert_int_equal(ask_op(&fixture, DISK_ABORT, 1).status, DISK_OK);
    assert_content(&fixture, "gone.part", "foreign", 7);
}

int run_place_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(open_target__existing_name_by_policy, start, stop),
        cmocka_unit_test_setup_teardown(open_target__never_leaves_the_directory, start, stop),
        cmocka_unit_test_setup_teardown(open_target__follows_no_link_at_the_end, start, stop),
        cmocka_unit_test_setup_teardown(open_target__makes_directories_but_not_over_files, start, stop),
        cmocka_unit_test_setup_teardown(open_target__one_writer_per_part, start, stop),
        cmocka_unit_test_setup_teardown(open_target__replaces_a_leftover, start, stop),
        cmocka_unit_test_setup_teardown(finish__refuses_what_came_in_between, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
