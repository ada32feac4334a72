/* Names: what exists already, what is in the way, what leads out of the permitted directory. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "disk/place.h"
#include "faults.h"

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

/* Whatever name a filesystem takes, a target may have, beside others of the same beginning. */
static void open_target__names_of_any_length_and_bytes(void **state)
{
    static const char *const odd[] = {"new\nline", "tab\t", "caf\xe9", "\x1b[31m", " ",
                                      "-rf",       "~",     "...",     ".part"};
    char name[NAME_MAX + 1];
    (void)state;
    for (size_t at = 0; at < sizeof(odd) / sizeof(odd[0]); at++) {
        assert_int_equal(ask_target(&fixture, 0, odd[at], 1).status, DISK_OK);
        assert_int_equal(ask_write(&fixture, 0, (uint8_t[]){0x78}, 1, 0).status, DISK_OK);
        assert_int_equal(ask_op(&fixture, DISK_FINISH, 0).status, DISK_OK);
        assert_int_equal(ask_op(&fixture, DISK_CLOSE, 0).status, DISK_OK);
        assert_true(file_exists(&fixture, odd[at]));
    }
    for (int length = 249; length <= NAME_MAX; length++) {
        for (uint16_t handle = 0; handle < 2; handle++) { /* at once, and different at their ends alone */
            memset(name, 'a', (size_t)length);
            memcpy(name + length - 3, "\xe2\x82", 2);
            name[length - 1] = (char)(0xa0 + handle);
            name[length] = '\0';
            assert_int_equal(ask_target(&fixture, handle, name, 1).status, DISK_OK);
            assert_false(file_exists(&fixture, name));
        }
        for (uint16_t handle = 0; handle < 2; handle++) {
            assert_int_equal(ask_write(&fixture, handle, (uint8_t[]){0x78}, 1, 0).status, DISK_OK);
            assert_int_equal(ask_op(&fixture, DISK_FINISH, handle).status, DISK_OK);
            assert_int_equal(ask_op(&fixture, DISK_CLOSE, handle).status, DISK_OK);
            name[length - 1] = (char)(0xa0 + handle);
            assert_true(file_exists(&fixture, name));
        }
    }
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
    if (!knows_attributes(&fixture))
        skip();
    assert_int_equal(ask_target(&fixture, 0, "file", 2).status, DISK_OK);
    assert_int_equal(ask_write(&fixture, 0, (uint8_t[]){'a', 'b'}, 2, 0).status, DISK_OK);
    /* Closed without FINISH or ABORT, as when the node stops: the part stays, and is a leftover next time. */
    assert_int_equal(ask_op(&fixture, DISK_CLOSE, 0).status, DISK_OK);
    assert_content(&fixture, "file.part", "ab", 2);
    assert_int_equal(ask_target(&fixture, 0, "file", 3).status, DISK_OK);
    assert_content(&fixture, "file.part", "\0\0\0", 3);
    assert_int_equal(ask_op(&fixture, DISK_FINISH, 0).status, DISK_OK);
    assert_int_equal(ask_op(&fixture, DISK_CLOSE, 0).status, DISK_OK);
    /* What was whole once is no leftover, whatever it is called. */
    char from[PATH_ROOM];
    snprintf(from, sizeof(from), "%s", path_of(&fixture, "file"));
    assert_int_equal(rename(from, path_of(&fixture, "file.part")), 0);
    struct disk_reply reply = ask_target(&fixture, 0, "file", 1);
    assert_failed(&reply, "file.part: is in the way and not of a job");
}

/* What others have put at NAME.part stays, whatever the policy and the object. */
static void open_target__removes_nothing_foreign(void **state)
{
    (void)state;
    const enum part_object objects[] = {PART_OBJECT_FILE, PART_OBJECT_DIRECTORY, PART_OBJECT_STREAM};
    const enum part_exists policies[] = {PART_EXISTS_FAIL, PART_EXISTS_REPLACE, PART_EXISTS_SKIP_IF_SAME};
    make_file(&fixture, "file.part", "foreign", 7, 0);
    assert_int_equal(mkdir(path_of(&fixture, "tree.part"), 0755), 0);
    make_file(&fixture, "tree.part/file", "foreign", 7, 0);
    fixture.open.index_bytes = 32;
    for (size_t object = 0; object < 3; object++)
        for (size_t policy = 0; policy < 3; policy++)
            for (size_t name = 0; name < 2; name++) {
                fixture.open.object = (uint8_t)objects[object];
                fixture.open.exists = (uint8_t)policies[policy];
                struct disk_reply reply = ask_target(&fixture, 0, name == 0 ? "file" : "tree", 32);
                assert_failed(&reply, ".part: is in the way and not ");
                assert_content(&fixture, "file.part", "foreign", 7);
                assert_content(&fixture, "tree.part/file", "foreign", 7);
            }
}

/* A copy of a part, attributes and all, is not the part. */
static void open_target__a_copied_part_is_foreign(void **state)
{
    (void)state;
    char command[3 * PATH_ROOM];
    assert_int_equal(ask_target(&fixture, 0, "file", 2).status, DISK_OK);
    snprintf(command, sizeof(command), "cp -a %s/file.part %s/copy.part", fixture.directory,
             fixture.directory);
    assert_int_equal(system(command), 0);
    struct disk_reply reply = ask_target(&fixture, 1, "copy", 1);
    assert_failed(&reply, "copy.part: is in the way and not of a job");
    assert_int_equal(ask_op(&fixture, DISK_FINISH, 0).status, DISK_OK);
    assert_true(listxattr(path_of(&fixture, "file"), NULL, 0) <= 0);
}

/* One text, whatever it is that has run out; what else goes wrong keeps its own. */
static void place_write_fail__texts(void **state)
{
    (void)state;
    static const struct {
        int error;
        struct place_need need;
        const char *begins, *has;
    } rows[] = {{ENOSPC, {.bytes = 5000000}, "no space left for x.part: 6 MB needed, ", " MB free"},
                {ENOSPC, {0}, "no space left for x.part: ", " MB free"},
                {EDQUOT, {.bytes = 5000000}, "no space left for x.part: the quota is used up", ""},
                {EIO, {.bytes = 5000000}, "write x.part: Input/output error", ""}};
    struct place place = {.shown = "x", .directory_fd = open(fixture.directory, O_RDONLY | O_DIRECTORY)};
    assert_true(place.directory_fd >= 0);
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        char text[DISK_TEXT_BYTES];
        errno = rows[row].error;
        assert_false(place_write_fail(text, "write", &place, PLACE_PART_SUFFIX, rows[row].need));
        assert_memory_equal(text, rows[row].begins, strlen(rows[row].begins));
        assert_non_null(strstr(text, rows[row].has));
    }
    close(place.directory_fd);
}

static void open_target__refused_leaves_no_directories(void **state)
{
    (void)state;
    const uint64_t too_much = 1ULL << 50;
    struct disk_reply reply = ask_target(&fixture, 0, "a/b/c/file", too_much);
    assert_failed(&reply, "no space left");
    assert_false(file_exists(&fixture, "a"));
    assert_int_equal(mkdir(path_of(&fixture, "a"), 0755), 0);
    assert_int_equal(ask_target(&fixture, 0, "a/b/c/file", too_much).status, DISK_FAILED);
    assert_true(file_exists(&fixture, "a"));
    assert_false(file_exists(&fixture, "a/b"));
    /* A file where a directory ought to be, after some were made. */
    make_file(&fixture, "plain", "", 0, 0);
    assert_int_equal(ask_target(&fixture, 0, "plain/b/file", 1).status, DISK_FAILED);
    memset(fixture.open.file, 0, sizeof(fixture.open.file));
    char deep[300] = "x/y/";
    memset(deep + 4, 'n', 270);
    strcpy(deep + 274, "/file");
    reply = ask_target(&fixture, 0, deep, 1);
    assert_failed(&reply, "File name too long");
    assert_false(file_exists(&fixture, "x"));
    /* Somebody else is on the way, with nothing to show for it yet but his directory. */
    assert_int_equal(ask_target(&fixture, 1, "a/b/other", 1).status, DISK_OK);
    assert_int_equal(ask_target(&fixture, 0, "a/b/c/file", too_much).status, DISK_FAILED);
    assert_false(file_exists(&fixture, "a/b/c"));
    assert_true(file_exists(&fixture, "a/b/other.part"));
    fixture.open.object = PART_OBJECT_DIRECTORY;
    fixture.open.index_bytes = 1;
    assert_int_equal(ask_target(&fixture, 0, "d/tree", 1).status, DISK_FAILED);
    assert_false(file_exists(&fixture, "d"));
}

/* NAME is as durable as the least durable directory above it, whoever made that. */
static void finish__syncs_the_directories_above(void **state)
{
    (void)state;
    const struct {
        enum part_durable durable;
        bool synced;
    } cases[] = {{PART_DURABLE_NONE, false}, {PART_DURABLE_END, true}, {PART_DURABLE_BLOCK, true}};
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        char name[32];
        snprintf(name, sizeof(name), "%zu/b/c/file", at);
        fixture.open.durable = (uint8_t)cases[at].durable;
        faults_reset();
        assert_int_equal(ask_target(&fixture, 0, name, 1).status, DISK_OK);
        assert_int_equal(ask_op(&fixture, DISK_FINISH, 0).status, DISK_OK);
        assert_int_equal(ask_op(&fixture, DISK_CLOSE, 0).status, DISK_OK);
        for (char *slash = strrchr(name, '/'); slash != NULL; slash = strrchr(name, '/')) {
            *slash = '\0';
            assert_int_equal(faults_synced(path_of(&fixture, name)), cases[at].synced);
        }
        assert_int_equal(faults_synced(fixture.directory), cases[at].synced);
    }
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

/* Anybody who may read a directory can lock it, for as long as he likes. */
static void open_target__a_lock_of_others_keeps_nobody_out(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path_of(&fixture, "day"), 0755), 0);
    int fd = open(path_of(&fixture, "day"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    struct disk_reply reply = ask_target(&fixture, 0, "day/file", 1);
    if (reply.status != DISK_OK)
        fail_msg("%s", reply.text);
    assert_int_equal(ask_op(&fixture, DISK_ABORT, 0).status, DISK_OK);
    close(fd);
}

int run_place_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(place_write_fail__texts, start, stop),
        cmocka_unit_test_setup_teardown(open_target__names_of_any_length_and_bytes, start, stop),
        cmocka_unit_test_setup_teardown(open_target__existing_name_by_policy, start, stop),
        cmocka_unit_test_setup_teardown(open_target__never_leaves_the_directory, start, stop),
        cmocka_unit_test_setup_teardown(open_target__follows_no_link_at_the_end, start, stop),
        cmocka_unit_test_setup_teardown(open_target__makes_directories_but_not_over_files, start, stop),
        cmocka_unit_test_setup_teardown(open_target__one_writer_per_part, start, stop),
        cmocka_unit_test_setup_teardown(open_target__replaces_a_leftover, start, stop),
        cmocka_unit_test_setup_teardown(open_target__removes_nothing_foreign, start, stop),
        cmocka_unit_test_setup_teardown(open_target__a_copied_part_is_foreign, start, stop),
        cmocka_unit_test_setup_teardown(open_target__refused_leaves_no_directories, start, stop),
        cmocka_unit_test_setup_teardown(open_target__a_lock_of_others_keeps_nobody_out, start, stop),
        cmocka_unit_test_setup_teardown(finish__syncs_the_directories_above, start, stop),
        cmocka_unit_test_setup_teardown(finish__refuses_what_came_in_between, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
