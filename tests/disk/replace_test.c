/* A tree in the place of another one: what of the old one may be removed, and what not. */
#include "tree_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pack/pack.h"

#define SECOND 3 /* another target */

static void start(struct fixture *fixture)
{
    fixture_start(fixture, 1, false);
    make_directory(fixture, "from");
    make_file(fixture, "from/new", "new", 3, FIXED_NS);
    make_directory(fixture, "to");
    make_file(fixture, "to/old", "old", 3, FIXED_NS);
    make_directory(fixture, "to/data");
    fixture->open.exists = PART_EXISTS_REPLACE;
}

/* A mount namespace of this thread and those that it starts. */
static bool own_mounts(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static struct disk_reply open_both(struct fixture *fixture)
{
    assert_int_equal(open_tree_source(fixture).status, DISK_OK);
    return ask_target(fixture, TARGET, "to", fixture->open.size_bytes);
}

static void close_both(struct fixture *fixture)
{
    assert_int_equal(ask_op(fixture, DISK_CLOSE, TARGET).status, DISK_OK);
    assert_int_equal(ask_op(fixture, DISK_CLOSE, SOURCE).status, DISK_OK);
}

static void replace__keeps_what_is_mounted_in_the_old_tree(void **state)
{
    struct fixture fixture;
    const char *cause = "to: another filesystem is mounted in it";
    (void)state;
    if (geteuid() != 0 || !own_mounts())
        skip();
    start(&fixture);
    make_directory(&fixture, "other");
    make_file(&fixture, "other/precious", "x", 1, FIXED_NS);
    /* The same device: only its being a mount tells. */
    assert_int_equal(mount(path_in(&fixture, "other"), path_in(&fixture, "to/data"), NULL, MS_BIND, NULL), 0);
    struct disk_reply reply = open_both(&fixture);
    assert_failed(&reply, cause);
    close_both(&fixture);
    assert_int_equal(umount(path_of(&fixture, "to/data")), 0);
    /* It is mounted only when the new tree is nearly there. */
    assert_int_equal(open_both(&fixture).status, DISK_OK);
    copy_all(&fixture, false);
    assert_int_equal(mount("none", path_of(&fixture, "to/data"), "tmpfs", 0, NULL), 0);
    make_file(&fixture, "to/data/precious", "x", 1, FIXED_NS);
    reply = ask_op(&fixture, DISK_FINISH, TARGET);
    assert_failed(&reply, cause);
    assert_int_equal(ask_op(&fixture, DISK_ABORT, TARGET).status, DISK_OK);
    close_both(&fixture);
    assert_content(&fixture, "to/data/precious", "x", 1);
    assert_content(&fixture, "other/precious", "x", 1);
    assert_content(&fixture, "to/old", "old", 3);
    assert_false(file_exists(&fixture, "to.part"));
    assert_int_equal(umount(path_of(&fixture, "to/data")), 0);
    copy_tree(&fixture, "to", false);
    assert_int_equal(compare_trees(&fixture, "from", "to"), 0);
    fixture_stop(&fixture);
}

/* Deeper than any index, by others' hands. */
static void replace__old_tree_of_any_depth(void **state)
{
    struct fixture fixture;
    (void)state;
    start(&fixture);
    int fd = open(path_of(&fixture, "to/data"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int depth = 0; depth < 3 * PACK_DEPTH_MAX + 10; depth++) {
        assert_int_equal(mkdirat(fd, "d", 0700), 0);
        assert_int_equal(mkdirat(fd, "e", 0500), 0);
        int below = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(below >= 0);
        close(fd);
        fd = below;
    }
    close(fd);
    copy_tree(&fixture, "to", false);
    assert_int_equal(compare_trees(&fixture, "from", "to"), 0);
    assert_false(file_exists(&fixture, "to.part"));
    fixture_stop(&fixture);
}

static void submit(struct fixture *fixture, enum disk_op op, uint8_t handle)
{
    assert_true(disk_submit(fixture->disk, &(struct disk_request){.op = op, .handle = handle}));
}

static void collect_good(struct fixture *fixture, int count)
{
    struct disk_reply reply;
    while (count > 0) {
        if (disk_collect(fixture->disk, &reply, 1) == 0) {
            sched_yield();
            continue;
        }
        if (reply.status != DISK_OK)
            fail_msg("handle %u: %s", reply.handle, reply.text);
        count--;
    }
}

/* A second job begins while the first one still removes the tree that stood there before. */
static void replace__again_while_the_old_tree_goes(void **state)
{
    struct fixture fixture;
    uint8_t data[PART];
    (void)state;
    start(&fixture);
    if (!knows_attributes(&fixture)) {
        fixture_stop(&fixture);
        skip();
    }
    /* Links of one file: ext4 is slow to make files beside many that were just removed. */
    make_file(&fixture, "spare", "", 0, FIXED_NS);
    for (int turn = 0; turn < 10; turn++) {
        for (int number = 0; number < 2000; number++) {
            char name[32];
            snprintf(name, sizeof(name), "to/old%d", number);
            assert_int_equal(link(path_in(&fixture, "spare"), path_in(&fixture, name)), 0);
        }
        assert_int_equal(open_both(&fixture).status, DISK_OK);
        uint32_t length = part_length(&fixture, 0);
        assert_int_equal(parts_of(&fixture), 1);
        assert_int_equal(ask_read(&fixture, SOURCE, data, length, 0).status, DISK_OK);
        assert_int_equal(ask_write(&fixture, TARGET, data, length, 0).status, DISK_OK);
        submit(&fixture, DISK_FINISH, TARGET);
        while (!file_exists(&fixture, "to/new"))
            sched_yield();
        struct disk_open second = fixture.open;
        assert_true(name_copy(second.file, sizeof(second.file), "to"));
        assert_true(disk_submit(
            fixture.disk, &(struct disk_request){.op = DISK_OPEN_TARGET, .handle = SECOND, .open = &second}));
        collect_good(&fixture, 2);
        assert_int_equal(ask_write(&fixture, SECOND, data, length, 0).status, DISK_OK);
        submit(&fixture, DISK_FINISH, SECOND);
        collect_good(&fixture, 1);
        submit(&fixture, DISK_CLOSE, SECOND);
        collect_good(&fixture, 1);
        close_both(&fixture);
        assert_int_equal(compare_trees(&fixture, "from", "to"), 0);
        assert_false(file_exists(&fixture, "to.part"));
        unlink(path_of(&fixture, "to/new"));
    }
    fixture_stop(&fixture);
}

int run_replace_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replace__keeps_what_is_mounted_in_the_old_tree),
        cmocka_unit_test(replace__old_tree_of_any_depth),
        cmocka_unit_test(replace__again_while_the_old_tree_goes),
    };
    return cmocka_run_group_tests_name("replace", tests, NULL, NULL);
}
