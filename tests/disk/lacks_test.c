/* Filesystems that lack what others have: locks, hard links, flags of renames, knowledge of free space. */
#include "tree_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults.h"

#define NO_LOCKS   "no locks"
#define NO_REPLACE "can't rename without replacing"

static struct fixture fixture;

static int start(void **state)
{
    (void)state;
    fixture_start(&fixture, 1, false);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    faults_reset();
    fixture_stop(&fixture);
    return 0;
}

static const struct row {
    unsigned lacks;
    int error;
    const char *note; /* of a file that never replaces; "": none */
} rows[] = {
    {FAULTS_NO_LOCKS, ENOLCK, NO_LOCKS},
    {FAULTS_NO_LOCKS, ENOSYS, NO_LOCKS},
    {FAULTS_NO_LOCKS, EOPNOTSUPP, NO_LOCKS},
    {FAULTS_NO_LINKS, EPERM, NO_REPLACE},
    {FAULTS_NO_LINKS, EOPNOTSUPP, NO_REPLACE},
    {FAULTS_NO_LINKS, ENOSYS, NO_REPLACE},
    {FAULTS_SPACE_UNKNOWN, 0, ""},
    {FAULTS_NO_STATVFS, ENOSYS, ""},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static const uint8_t policies[] = {PART_EXISTS_FAIL, PART_EXISTS_REPLACE, PART_EXISTS_SKIP_IF_SAME};

/* Told once: the words stand in the note a single time. */
static void assert_note(const struct disk_reply *reply, const char *words)
{
    const char *found = words[0] == '\0' ? NULL : strstr(reply->note, words);
    if (words[0] == '\0')
        assert_string_equal(reply->note, "");
    else if (found == NULL || strstr(found + 1, words) != NULL)
        fail_msg("'%s' is not once in '%s'", words, reply->note);
}

/* Under each policy the file comes; where NAME is there already, as on any other filesystem. */
static void file__comes_by_each_policy(void **state)
{
    (void)state;
    uint8_t data[] = "new";
    for (size_t row = 0; row < ROWS; row++)
        for (size_t policy = 0; policy < sizeof(policies); policy++) {
            bool fails = policies[policy] == PART_EXISTS_FAIL;
            bool noted = fails || rows[row].lacks == FAULTS_NO_LOCKS;
            faults_lack(rows[row].lacks, rows[row].error);
            fixture.open.exists = policies[policy];
            if (!fails)
                make_file(&fixture, "file", "old content", 11, FIXED_NS);
            assert_int_equal(ask_target(&fixture, 0, "file", 3).status, DISK_OK);
            assert_int_equal(ask_write(&fixture, 0, data, 3, 0).status, DISK_OK);
            struct disk_reply reply = ask_op(&fixture, DISK_FINISH, 0);
            assert_int_equal(reply.status, DISK_OK);
            assert_note(&reply, noted ? rows[row].note : "");
            assert_int_equal(ask_op(&fixture, DISK_CLOSE, 0).status, DISK_OK);
            assert_content(&fixture, "file", "new", 3);
            assert_false(file_exists(&fixture, "file.part"));
            assert_int_equal(unlink(path_of(&fixture, "file")), 0);
        }
}

/* "Never replaces" is a look: what came before it is seen. */
static void file__never_replaces_what_is_seen(void **state)
{
    (void)state;
    uint8_t data[] = "new";
    faults_lack(FAULTS_NO_LINKS, EPERM);
    fixture.open.exists = PART_EXISTS_FAIL;
    assert_int_equal(ask_target(&fixture, 0, "file", 3).status, DISK_OK);
    assert_int_equal(ask_write(&fixture, 0, data, 3, 0).status, DISK_OK);
    make_file(&fixture, "file", "other", 5, FIXED_NS);
    struct disk_reply reply = ask_op(&fixture, DISK_FINISH, 0);
    assert_failed(&reply, "/file: File exists");
    assert_int_equal(ask_op(&fixture, DISK_ABORT, 0).status, DISK_OK);
    ask_op(&fixture, DISK_CLOSE, 0);
    assert_content(&fixture, "file", "other", 5);
    assert_false(file_exists(&fixture, "file.part"));
}

/* Nobody can tell a leftover from what is being written: it stays, and the text says what to do. */
static void part__is_not_removed_without_locks(void **state)
{
    (void)state;
    if (!knows_attributes(&fixture))
        skip();
    faults_lack(FAULTS_NO_LOCKS, ENOLCK);
    assert_int_equal(ask_target(&fixture, 0, "file", 3).status, DISK_OK);
    struct disk_reply reply = ask_target(&fixture, 1, "file", 3);
    assert_failed(&reply, "/file.part: is in the way, and its filesystem has no locks");
    assert_true(file_exists(&fixture, "file.part"));
    assert_int_equal(ask_op(&fixture, DISK_ABORT, 0).status, DISK_OK);
    ask_op(&fixture, DISK_CLOSE, 0);
    assert_false(file_exists(&fixture, "file.part"));
}

static void tree__comes_in_the_place_of_nothing_and_of_another(void **state)
{
    (void)state;
    make_tree(&fixture);
    for (size_t row = 0; row < ROWS; row++) {
        faults_lack(rows[row].lacks, rows[row].error);
        fixture.open.exists = PART_EXISTS_FAIL;
        copy_tree(&fixture, "to", false);
        assert_int_equal(compare_trees(&fixture, "from", "to"), 0);
        fixture.open.exists = PART_EXISTS_REPLACE;
        copy_tree(&fixture, "to", false);
        assert_int_equal(compare_trees(&fixture, "from", "to"), 0);
        assert_false(file_exists(&fixture, "to.part"));
        assert_false(file_exists(&fixture, "to.old"));
        char command[PATH_ROOM + 16];
        snprintf(command, sizeof(command), "rm -r '%s'", path_of(&fixture, "to"));
        assert_int_equal(system(command), 0);
    }
}

/* Further names of a file become files of their own, and the note says of how many. */
static void tree__links_become_copies(void **state)
{
    (void)state;
    static uint8_t content[200 * KB];
    memset(content, 7, sizeof(content));
    make_directory(&fixture, "from");
    make_file(&fixture, "from/a", content, sizeof(content), FIXED_NS);
    assert_int_equal(link(path_in(&fixture, "from/a"), path_in(&fixture, "from/b")), 0);
    fixture.open.tree |= PART_TREE_HARDLINKS;
    assert_int_equal(open_tree_source(&fixture).status, DISK_OK);
    faults_lack(FAULTS_NO_LINKS, EPERM);
    assert_int_equal(ask_target(&fixture, TARGET, "to", fixture.open.size_bytes).status, DISK_OK);
    copy_all(&fixture, false);
    struct disk_reply reply = ask_op(&fixture, DISK_FINISH, TARGET);
    assert_int_equal(reply.status, DISK_OK);
    assert_note(&reply, "not kept: hard links of 1 entries (its filesystem has none)");
    assert_content(&fixture, "to/a", content, sizeof(content));
    assert_content(&fixture, "to/b", content, sizeof(content));
    assert_int_equal(entry_stat(&fixture, "to/b").st_nlink, 1);
    assert_int_equal(entry_stat(&fixture, "to/b").st_mtim.tv_nsec,
                     entry_stat(&fixture, "from/a").st_mtim.tv_nsec);
    ask_op(&fixture, DISK_CLOSE, TARGET);
    ask_op(&fixture, DISK_CLOSE, SOURCE);
}

int run_lacks_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(file__comes_by_each_policy, start, stop),
        cmocka_unit_test_setup_teardown(file__never_replaces_what_is_seen, start, stop),
        cmocka_unit_test_setup_teardown(part__is_not_removed_without_locks, start, stop),
        cmocka_unit_test_setup_teardown(tree__comes_in_the_place_of_nothing_and_of_another, start, stop),
        cmocka_unit_test_setup_teardown(tree__links_become_copies, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
