/* Directories as one object, with real trees: what is kept, what is refused, blocks in any order. */
#include "tree_fixture.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/units.h"
#include "faults.h"

static void assert_tree_kept(const struct fixture *fixture, const char *name, bool linked)
{
    static const char *const paths[] = {"",     "/empty", "/nothing", "/script",
                                        "/big", "/link",  "/d/050",   "/d/d/d"};
    char from[64], to[64];
    assert_int_equal(compare_trees(fixture, "from", name), 0);
    for (size_t at = 0; at < sizeof(paths) / sizeof(paths[0]); at++) {
        snprintf(from, sizeof(from), "from%s", paths[at]);
        snprintf(to, sizeof(to), "%s%s", name, paths[at]);
        struct stat a = entry_stat(fixture, from), b = entry_stat(fixture, to);
        assert_int_equal(a.st_mode, b.st_mode);
        assert_int_equal(a.st_mtim.tv_sec, b.st_mtim.tv_sec);
        assert_int_equal(a.st_mtim.tv_nsec, b.st_mtim.tv_nsec);
    }
    snprintf(to, sizeof(to), "%s/big", name);
    assert_int_equal(entry_stat(fixture, to).st_nlink, linked ? 2 : 1);
    snprintf(to, sizeof(to), "%s.part", name);
    assert_false(file_exists(fixture, to));
}

static void tree__is_kept_whatever_the_order(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_start(&fixture, 2, false);
    make_tree(&fixture);
    fixture.open.tree = PART_TREE_HARDLINKS;
    fixture.open.durable = PART_DURABLE_END;
    copy_tree(&fixture, "in-order", false);
    assert_tree_kept(&fixture, "in-order", true);
    fixture.open.durable = PART_DURABLE_NONE;
    copy_tree(&fixture, "sub/backwards", true);
    assert_tree_kept(&fixture, "sub/backwards", true);
    fixture.open.tree = 0;
    fixture.open.durable = PART_DURABLE_BLOCK;
    copy_tree(&fixture, "copies", false);
    assert_tree_kept(&fixture, "copies", false);
    fixture_stop(&fixture);
}

static void tree__is_closed_to_writes_once_it_has_its_name(void **state)
{
    (void)state;
    static uint8_t bad[PART];
    struct fixture fixture;
    fixture_start(&fixture, 1, false);
    make_tree(&fixture);
    fixture.open.tree = PART_TREE_HARDLINKS;
    assert_int_equal(open_tree_source(&fixture).status, DISK_OK);
    assert_int_equal(ask_target(&fixture, TARGET, "to", fixture.open.size_bytes).status, DISK_OK);
    copy_all(&fixture, false);
    assert_int_equal(ask_op(&fixture, DISK_FINISH, TARGET).status, DISK_OK);
    uint64_t last = parts_of(&fixture) - 1;
    struct disk_reply reply = ask_write(&fixture, TARGET, bad, part_length(&fixture, last), last * PART);
    assert_failed(&reply, "not open for this");
    assert_tree_kept(&fixture, "to", true);
    ask_op(&fixture, DISK_CLOSE, TARGET);
    ask_op(&fixture, DISK_CLOSE, SOURCE);
    fixture_stop(&fixture);
}

static void tree__blocks_come_again_after_bad_ones(void **state)
{
    (void)state;
    static uint8_t bad[PART];
    struct fixture fixture;
    fixture_start(&fixture, 1, false);
    make_tree(&fixture);
    fixture.open.tree = PART_TREE_HARDLINKS;
    assert_int_equal(open_tree_source(&fixture).status, DISK_OK);
    assert_int_equal(ask_target(&fixture, TARGET, "to", fixture.open.size_bytes).status, DISK_OK);
    memset(bad, 0xee, sizeof(bad));
    /* The index does not agree with its hash, so nothing of it is believed. */
    for (uint64_t part = 0; part < parts_of(&fixture); part++)
        assert_int_equal(ask_write(&fixture, TARGET, bad, part_length(&fixture, part), part * PART).status,
                         DISK_OK);
    assert_failed(&(struct disk_reply){.status = ask_op(&fixture, DISK_FINISH, TARGET).status}, "");
    for (uint64_t part = 0; part * PART < fixture.open.index_bytes; part++)
        copy_part(&fixture, part);
    for (uint64_t part = 0; part < parts_of(&fixture); part++)
        if (part * PART >= fixture.open.index_bytes)
            assert_int_equal(
                ask_write(&fixture, TARGET, bad, part_length(&fixture, part), part * PART).status, DISK_OK);
    copy_all(&fixture, true);
    finish_tree(&fixture, "to");
    assert_tree_kept(&fixture, "to", true);
    fixture_stop(&fixture);
}

/* The kernel may do less than it is asked for, which is no error: blocks before the index, and after it. */
static void tree__short_reads_and_writes_go_on(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_start(&fixture, 1, false);
    make_tree(&fixture);
    fixture.open.tree = PART_TREE_HARDLINKS;
    faults_cut(1000);
    copy_tree(&fixture, "to", true);
    faults_reset();
    assert_tree_kept(&fixture, "to", true);
    fixture_stop(&fixture);
}

static void tree__empty_ones(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_start(&fixture, 1, false);
    make_directory(&fixture, "from");
    copy_tree(&fixture, "to", false);
    assert_int_equal(compare_trees(&fixture, "from", "to"), 0);
    for (int number = 0; number < 200; number++) {
        char name[32];
        snprintf(name, sizeof(name), "from/%d", number);
        make_file(&fixture, name, "", 0, FIXED_NS);
    }
    copy_tree(&fixture, "backwards", true);
    assert_int_equal(compare_trees(&fixture, "from", "backwards"), 0);
    fixture_stop(&fixture);
}

static void tree__holes_stay_holes(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_start(&fixture, 1, false);
    make_directory(&fixture, "from");
    make_file(&fixture, "from/small", "", 0, FIXED_NS);
    assert_int_equal(truncate(path_of(&fixture, "from/small"), 8192), 0);
    make_file(&fixture, "from/sparse", "x", 1, FIXED_NS);
    assert_int_equal(truncate(path_of(&fixture, "from/sparse"), 1 << 20), 0);
    copy_tree(&fixture, "to", true);
    assert_int_equal(compare_trees(&fixture, "from", "to"), 0);
    assert_int_equal(entry_stat(&fixture, "to/small").st_blocks, 0);
    assert_true(entry_stat(&fixture, "to/sparse").st_blocks <= 16);
    fixture_stop(&fixture);
}

static void tree__exists(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_start(&fixture, 1, false);
    make_tree(&fixture);
    copy_tree(&fixture, "to", false);
    assert_int_equal(open_tree_source(&fixture).status, DISK_OK);
    uint64_t size_bytes = fixture.open.size_bytes;
    struct disk_reply reply = ask_target(&fixture, TARGET, "to", size_bytes);
    assert_failed(&reply, "is there already");
    reply = ask_target(&fixture, TARGET, "from/script", size_bytes);
    assert_failed(&reply, "not a directory");
    fixture.open.exists = PART_EXISTS_SKIP_IF_SAME;
    assert_int_equal(ask_target(&fixture, TARGET, "to", size_bytes).status, DISK_ALREADY_THERE);
    static uint8_t data[PART], back[PART];
    for (uint64_t part = 0; part < parts_of(&fixture); part++) {
        uint32_t length = part_length(&fixture, part);
        assert_int_equal(ask_read(&fixture, SOURCE, data, length, part * PART).status, DISK_OK);
        assert_int_equal(ask_read(&fixture, TARGET, back, length, part * PART).status, DISK_OK);
        assert_memory_equal(data, back, length);
    }
    ask_op(&fixture, DISK_ABORT, TARGET);
    ask_op(&fixture, DISK_CLOSE, TARGET);
    assert_int_equal(compare_trees(&fixture, "from", "to"), 0);
    /* One byte less, one name more: another tree, and it takes the old one's place. */
    ask_op(&fixture, DISK_CLOSE, SOURCE);
    make_file(&fixture, "to/old", "gone", 4, FIXED_NS);
    copy_tree(&fixture, "to", false);
    assert_false(file_exists(&fixture, "to/old"));
    assert_int_equal(compare_trees(&fixture, "from", "to"), 0);
    fixture.open.exists = PART_EXISTS_REPLACE;
    make_file(&fixture, "to/old", "gone", 4, FIXED_NS);
    copy_tree(&fixture, "to", true);
    assert_false(file_exists(&fixture, "to/old"));
    assert_false(file_exists(&fixture, "to.part"));
    fixture_stop(&fixture);
}

static void tree__abort_and_leftovers(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_start(&fixture, 1, false);
    make_tree(&fixture);
    assert_int_equal(open_tree_source(&fixture).status, DISK_OK);
    uint64_t size_bytes = fixture.open.size_bytes;
    assert_int_equal(ask_target(&fixture, TARGET, "to", size_bytes).status, DISK_OK);
    copy_all(&fixture, false);
    struct disk_reply reply = ask_target(&fixture, TARGET + 1, "to", size_bytes);
    assert_failed(&reply, "another job is writing it");
    assert_int_equal(ask_op(&fixture, DISK_ABORT, TARGET).status, DISK_OK);
    assert_false(file_exists(&fixture, "to.part"));
    ask_op(&fixture, DISK_CLOSE, TARGET);
    assert_int_equal(ask_target(&fixture, TARGET, "to", size_bytes).status, DISK_OK);
    copy_all(&fixture, false);
    ask_op(&fixture, DISK_CLOSE, TARGET); /* as after a crash */
    assert_true(file_exists(&fixture, "to.part/script"));
    ask_op(&fixture, DISK_CLOSE, SOURCE);
    if (knows_attributes(&fixture)) {
        copy_tree(&fixture, "to", false);
        assert_int_equal(compare_trees(&fixture, "from", "to"), 0);
        assert_true(listxattr(path_of(&fixture, "to"), NULL, 0) <= 0);
    }
    fixture_stop(&fixture);
}

static void tree__changed_source(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        enum disk_status status;
    } cases[] = {{"echo x >> script", DISK_CHANGED},
                 {"touch script", DISK_CHANGED},
                 {"touch -r script ref; sleep .05; printf X | dd of=script conv=notrunc status=none; touch "
                  "-r ref script",
                  DISK_CHANGED},
                 {"rm script", DISK_CHANGED},
                 {"cp -p script a && mv a script", DISK_CHANGED},
                 {"rm script; ln -s big script", DISK_CHANGED},
                 {"mv d e && ln -s e d", DISK_CHANGED},
                 {"echo x > new", DISK_OK}};
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        static uint8_t data[PART];
        struct fixture fixture;
        char command[2 * PATH_ROOM];
        struct disk_reply reply = {.status = DISK_OK};
        fixture_start(&fixture, 1, false);
        make_tree(&fixture);
        assert_int_equal(open_tree_source(&fixture).status, DISK_OK);
        snprintf(command, sizeof(command), "cd %s && %s", path_of(&fixture, "from"), cases[at].command);
        assert_int_equal(system(command), 0);
        for (uint64_t part = 0; reply.status == DISK_OK && part < parts_of(&fixture); part++)
            reply = ask_read(&fixture, SOURCE, data, part_length(&fixture, part), part * PART);
        assert_int_equal(reply.status, cases[at].status);
        if (reply.status != DISK_OK)
            assert_non_null(strstr(reply.text, "changed since the job began"));
        fixture_stop(&fixture);
    }
}

static void tree__what_is_no_file_is_refused(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_start(&fixture, 1, false);
    make_directory(&fixture, "from");
    assert_int_equal(mkfifo(path_of(&fixture, "from/pipe"), 0600), 0);
    struct disk_reply reply = open_tree_source(&fixture);
    assert_failed(&reply, "pipe");
    assert_failed(&reply, "neither file, directory nor symbolic link");
    fixture_stop(&fixture);
}

/* Into tmpfs of several sizes, in a mount namespace of this test. */
static void tree__disk_full(void **state)
{
    (void)state;
    static const struct {
        const char *options, *text;
        bool sparse;
    } cases[] = {{"size=100k", " MB needed, 0 MB free", false},
                 {"size=320k", " MB needed, 0 MB free", false}, /* its bytes would fit, not its blocks */
                 {"size=2m,nr_inodes=40", "inodes free", false},
                 {"size=100k", ": 0 MB free", true},
                 {"size=2m,nr_inodes=40", ": 1 files needed, 0 inodes free", true}};
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        skip();
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        static uint8_t data[PART];
        struct fixture fixture;
        fixture_start(&fixture, 1, cases[at].sparse);
        make_tree(&fixture);
        make_directory(&fixture, "small");
        assert_int_equal(mount("none", path_of(&fixture, "small"), "tmpfs", 0, cases[at].options), 0);
        fixture.open.tree = PART_TREE_HARDLINKS;
        assert_int_equal(open_tree_source(&fixture).status, DISK_OK);
        struct disk_reply reply = ask_target(&fixture, TARGET, "small/to", fixture.open.size_bytes);
        for (uint64_t part = 0; reply.status == DISK_OK && part < parts_of(&fixture); part++) {
            uint32_t length = part_length(&fixture, part);
            assert_int_equal(ask_read(&fixture, SOURCE, data, length, part * PART).status, DISK_OK);
            reply = ask_write(&fixture, TARGET, data, length, part * PART);
        }
        assert_failed(&reply, "no space left for ");
        assert_failed(&reply, cases[at].text);
        assert_int_equal(ask_op(&fixture, DISK_ABORT, TARGET).status, DISK_OK);
        assert_false(file_exists(&fixture, "small/to.part"));
        assert_false(file_exists(&fixture, "small/to"));
        ask_op(&fixture, DISK_CLOSE, TARGET);
        assert_int_equal(umount(path_of(&fixture, "small")), 0);
        fixture_stop(&fixture);
    }
}

/* As on a filesystem that takes two names of the tree for one: neither replaces the other silently. */
static void tree__names_taken_for_one_are_told(void **state)
{
    (void)state;
    static const char *const names[] = {"script", "nothing", "big", "link"};
    for (size_t at = 0; at < sizeof(names) / sizeof(names[0]); at++) {
        static uint8_t data[PART];
        struct fixture fixture;
        struct disk_reply reply = {.status = DISK_OK};
        char path[64];
        fixture_start(&fixture, 1, false);
        make_tree(&fixture);
        assert_int_equal(open_tree_source(&fixture).status, DISK_OK);
        assert_int_equal(ask_target(&fixture, TARGET, "to", fixture.open.size_bytes).status, DISK_OK);
        snprintf(path, sizeof(path), "to.part/%s", names[at]);
        make_file(&fixture, path, "other", 5, FIXED_NS);
        for (uint64_t part = 0; reply.status == DISK_OK && part < parts_of(&fixture); part++) {
            uint32_t length = part_length(&fixture, part);
            assert_int_equal(ask_read(&fixture, SOURCE, data, length, part * PART).status, DISK_OK);
            reply = ask_write(&fixture, TARGET, data, length, part * PART);
        }
        assert_failed(&reply, names[at]);
        assert_failed(&reply, "File exists");
        assert_content(&fixture, path, "other", 5);
        assert_int_equal(ask_op(&fixture, DISK_ABORT, TARGET).status, DISK_OK);
        assert_false(file_exists(&fixture, "to.part"));
        fixture_stop(&fixture);
    }
}

/* Many small files, many requests under way, several threads on each end. */
static void tree__many_files_on_many_threads(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_start(&fixture, 4, false);
    make_directory(&fixture, "from");
    for (int number = 0; number < 1000; number++) {
        char name[32];
        snprintf(name, sizeof(name), "from/%04d", number);
        make_file(&fixture, name, name, (size_t)number % 31, FIXED_NS);
    }
    assert_int_equal(open_tree_source(&fixture).status, DISK_OK);
    assert_int_equal(ask_target(&fixture, TARGET, "to", fixture.open.size_bytes).status, DISK_OK);
    uint8_t *object = malloc(fixture.open.size_bytes);
    for (enum disk_op op = DISK_READ; op <= DISK_WRITE; op++) {
        uint64_t asked = 0, answered = 0;
        while (answered < parts_of(&fixture)) {
            struct disk_reply reply;
            uint64_t part = op == DISK_READ ? asked : parts_of(&fixture) - 1 - asked;
            const struct disk_request request = {
                .op = (uint8_t)op,
                .handle = op == DISK_READ ? SOURCE : TARGET,
                .data = object + part * PART,
                .length = asked < parts_of(&fixture) ? part_length(&fixture, part) : 0,
                .offset = part * PART};
            if (asked < parts_of(&fixture) && disk_submit(fixture.disk, &request))
                asked++;
            if (disk_collect(fixture.disk, &reply, 1) == 1) {
                assert_int_equal(reply.status, DISK_OK);
                answered++;
            } else {
                sched_yield();
            }
        }
    }
    free(object);
    finish_tree(&fixture, "to");
    assert_int_equal(compare_trees(&fixture, "from", "to"), 0);
    fixture_stop(&fixture);
}

int run_tree_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tree__is_kept_whatever_the_order),
        cmocka_unit_test(tree__is_closed_to_writes_once_it_has_its_name),
        cmocka_unit_test(tree__blocks_come_again_after_bad_ones),
        cmocka_unit_test(tree__short_reads_and_writes_go_on),
        cmocka_unit_test(tree__empty_ones),
        cmocka_unit_test(tree__holes_stay_holes),
        cmocka_unit_test(tree__exists),
        cmocka_unit_test(tree__abort_and_leftovers),
        cmocka_unit_test(tree__changed_source),
        cmocka_unit_test(tree__what_is_no_file_is_refused),
        cmocka_unit_test(tree__disk_full),
        cmocka_unit_test(tree__names_taken_for_one_are_told),
        cmocka_unit_test(tree__many_files_on_many_threads),
    };
    return cmocka_run_group_tests_name("disk tree", tests, NULL, NULL);
}
