/* What a receiver makes of a sender's word: owners, set-id bits, attributes, lengths, names. */
#include "tree_fixture.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/units.h"
#include "disk/hash.h"
#include "pack/pack.h"

#define NOBODY 65534

static void tree__xattrs_only_on_request(void **state)
{
    (void)state;
    struct fixture fixture;
    char value[8];
    fixture_start(&fixture, 1, false);
    make_directory(&fixture, "from");
    make_file(&fixture, "from/f", "x", 1, FIXED_NS);
    bool known = setxattr(path_of(&fixture, "from/f"), "user.sluice", "value", 5, 0) == 0;
    copy_tree(&fixture, "without", false);
    assert_int_equal(getxattr(path_of(&fixture, "without/f"), "user.sluice", value, sizeof(value)), -1);
    fixture.open.tree = PART_TREE_XATTR;
    copy_tree(&fixture, "refused", false);
    assert_int_equal(getxattr(path_of(&fixture, "refused/f"), "user.sluice", value, sizeof(value)), -1);
    fixture.open.accept.xattrs = true;
    copy_tree(&fixture, "with", false);
    if (known)
        assert_int_equal(getxattr(path_of(&fixture, "with/f"), "user.sluice", value, sizeof(value)), 5);
    fixture_stop(&fixture);
    if (!known)
        skip();
}

static void tree__owner_only_on_request(void **state)
{
    (void)state;
    struct fixture fixture;
    if (geteuid() != 0)
        skip();
    fixture_start(&fixture, 1, false);
    make_directory(&fixture, "from");
    make_file(&fixture, "from/f", "x", 1, FIXED_NS);
    assert_int_equal(chown(path_of(&fixture, "from/f"), 12345, 54321), 0);
    assert_int_equal(chmod(path_of(&fixture, "from/f"), 04755), 0);
    copy_tree(&fixture, "without", false);
    assert_int_equal(entry_stat(&fixture, "without/f").st_uid, 0);
    assert_int_equal(entry_stat(&fixture, "without/f").st_mode & 07777, 0755);
    fixture.open.tree = PART_TREE_OWNER;
    copy_tree(&fixture, "refused", false);
    assert_int_equal(entry_stat(&fixture, "refused/f").st_uid, 0);
    assert_int_equal(entry_stat(&fixture, "refused/f").st_mode & 07777, 0755);
    fixture.open.accept = (struct disk_accept){.owner = true};
    copy_tree(&fixture, "owned", false);
    assert_int_equal(entry_stat(&fixture, "owned/f").st_uid, 12345);
    assert_int_equal(entry_stat(&fixture, "owned/f").st_mode & 07777, 0755);
    fixture.open.accept = (struct disk_accept){.set_id = true}; /* means nothing without the owner */
    copy_tree(&fixture, "bits", false);
    assert_int_equal(entry_stat(&fixture, "bits/f").st_mode & 07777, 0755);
    fixture.open.accept = (struct disk_accept){.owner = true, .set_id = true};
    copy_tree(&fixture, "with", false);
    assert_int_equal(entry_stat(&fixture, "with/f").st_uid, 12345);
    assert_int_equal(entry_stat(&fixture, "with/f").st_gid, 54321);
    assert_int_equal(entry_stat(&fixture, "with/f").st_mode & 07777, 04755);
    fixture_stop(&fixture);
}

/* Names are bytes; a terminal gets neither an escape sequence nor a line that a name has made up. */
static void tree__names_in_texts_are_printable(void **state)
{
    (void)state;
    const char *const names[] = {"\x1b[2Jred", "two\nlines", "c1\xc2\x9b", "caf\xe9", "caf\xc3\xa9"};
    const char *const shown[] = {"?[2Jred", "two?lines", "c1?", "caf?", "caf\xc3\xa9"};
    for (size_t at = 0; at < sizeof(names) / sizeof(names[0]); at++) {
        struct fixture fixture;
        char path[64];
        fixture_start(&fixture, 1, false);
        make_directory(&fixture, "from");
        snprintf(path, sizeof(path), "from/%s", names[at]);
        assert_int_equal(mkfifo(path_of(&fixture, path), 0600), 0);
        struct disk_reply reply = open_tree_source(&fixture);
        assert_failed(&reply, shown[at]);
        reply = ask_source(&fixture, SOURCE, names[at]);
        assert_failed(&reply, shown[at]);
        fixture_stop(&fixture);
    }
}

/* An index made by an enemy: its hash is right, its content is not. */
static void tree__hostile_index_makes_nothing(void **state)
{
    (void)state;
    uint8_t bytes[1024];
    struct fixture fixture;
    struct pack_writer writer;
    struct pack_entry root = {.kind = PACK_DIRECTORY, .name = ""};
    struct pack_entry link = {
        .kind = PACK_SYMLINK, .name = "l", .name_bytes = 1, .target = "/tmp", .target_bytes = 4};
    struct pack_entry behind = {.kind = PACK_FILE, .name = "sluice-evil", .name_bytes = 11, .parent = 1};
    uint64_t text_bytes = pack_text_bytes(&root) + pack_text_bytes(&link) + pack_text_bytes(&behind);
    fixture_start(&fixture, 1, false);
    pack_write_begin(&writer, bytes, 3, text_bytes);
    pack_write(&writer, &root);
    pack_write(&writer, &link);
    pack_write(&writer, &behind);
    uint64_t size_bytes = pack_write_end(&writer);
    fixture.open.object = PART_OBJECT_DIRECTORY;
    fixture.open.index_bytes = size_bytes;
    hash_block(PART_HASH_SHA256, bytes, size_bytes, &fixture.open.index_hash);
    assert_int_equal(ask_target(&fixture, TARGET, "to", size_bytes).status, DISK_OK);
    struct disk_reply reply = ask_write(&fixture, TARGET, bytes, (uint32_t)size_bytes, 0);
    assert_failed(&reply, "lies in what is no directory");
    assert_false(file_exists(&fixture, "to.part/l"));
    reply = ask_op(&fixture, DISK_FINISH, TARGET);
    assert_failed(&reply, "index");
    assert_int_equal(ask_op(&fixture, DISK_ABORT, TARGET).status, DISK_OK);
    assert_false(file_exists(&fixture, "to.part"));
    fixture_stop(&fixture);
}

/* A directory and a file with all that a sender could wish for, made by hand: set-id bits, owner, attribute. */
static void send_wishes(struct fixture *fixture, struct disk_reply *opened, struct disk_reply *finished)
{
    const uint8_t value = 'x';
    uint8_t bytes[1024], blob[64];
    struct pack_writer writer;
    struct pack_entry root = {.kind = PACK_DIRECTORY, .name = "", .mode = 07777, .uid = 12345};
    struct pack_entry file = {
        .kind = PACK_FILE, .name = "f", .name_bytes = 1, .mode = 07755, .uid = 12345, .size_bytes = 1};
    assert_true(pack_xattr_put(blob, sizeof(blob), &file.xattr_bytes, "user.evil", &value, 1));
    file.xattrs = blob;
    pack_write_begin(&writer, bytes, 2, pack_text_bytes(&root) + pack_text_bytes(&file));
    pack_write(&writer, &root);
    pack_write(&writer, &file);
    uint32_t size_bytes = (uint32_t)pack_write_end(&writer);
    bytes[size_bytes - 1] = 'x';
    fixture->open.object = PART_OBJECT_DIRECTORY;
    fixture->open.index_bytes = size_bytes - 1;
    hash_block(PART_HASH_SHA256, bytes, size_bytes - 1, &fixture->open.index_hash);
    *opened = ask_target(fixture, TARGET, "to", size_bytes);
    assert_int_equal(opened->status, DISK_OK);
    assert_int_equal(ask_write(fixture, TARGET, bytes, size_bytes, 0).status, DISK_OK);
    *finished = ask_op(fixture, DISK_FINISH, TARGET);
    assert_int_equal(finished->status, DISK_OK);
}

/* What comes of them is the receiver's decision. */
static void tree__receiver_decides_what_is_kept(void **state)
{
    (void)state;
    const uint8_t both = PART_TREE_OWNER | PART_TREE_XATTR;
    const struct {
        uint8_t tree;
        struct disk_accept accept;
        const char *opened, *finished; /* behind "not kept: " */
        mode_t file, directory;
        uid_t owner;
        bool xattr;
    } cases[] = {
        {0,
         {0},
         "",
         "set-id bits of 2 entries (owner), attributes of 1 entries (xattrs)",
         0755,
         01777,
         0,
         false},
        {0,
         {true, true, true},
         "",
         "set-id bits of 2 entries (owner), attributes of 1 entries (xattrs)",
         0755,
         01777,
         0,
         false},
        {both,
         {0},
         "other owners (accept.owner), set-id bits (accept.owner), attributes (accept.xattrs)",
         "other owners of 2 entries (accept.owner), set-id bits of 2 entries (accept.owner), "
         "attributes of 1 entries (accept.xattrs)",
         0755,
         01777,
         0,
         false},
        {both,
         {.owner = true, .xattrs = true},
         "set-id bits (accept.setid)",
         "set-id bits of 2 entries (accept.setid)",
         0755,
         01777,
         12345,
         true},
        {both, {true, true, true}, "", "", 07755, 07777, 12345, true},
    };
    if (geteuid() != 0)
        skip();
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        struct disk_reply opened, finished;
        struct fixture fixture;
        char value[4];
        fixture_start(&fixture, 1, false);
        bool known = knows_attributes(&fixture);
        fixture.open.tree = cases[at].tree;
        fixture.open.accept = cases[at].accept;
        if (!known)
            fixture.open.accept.xattrs = false;
        send_wishes(&fixture, &opened, &finished);
        assert_string_equal(opened.text + (opened.text[0] == '\0' ? 0 : 10), cases[at].opened);
        assert_string_equal(finished.note + (finished.note[0] == '\0' ? 0 : 10), cases[at].finished);
        assert_int_equal(entry_stat(&fixture, "to/f").st_mode & 07777, cases[at].file);
        assert_int_equal(entry_stat(&fixture, "to").st_mode & 07777, cases[at].directory);
        assert_int_equal(entry_stat(&fixture, "to/f").st_uid, cases[at].owner);
        ssize_t found = getxattr(path_of(&fixture, "to/f"), "user.evil", value, sizeof(value));
        assert_int_equal(found == 1, cases[at].xattr && known);
        fixture_stop(&fixture);
    }
}

static void tree__what_is_not_kept_is_counted(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_start(&fixture, 1, false);
    make_directory(&fixture, "from");
    make_file(&fixture, "from/f", "x", 1, FIXED_NS);
    assert_string_equal(open_tree_source(&fixture).text, "");
    ask_op(&fixture, DISK_CLOSE, SOURCE);
    assert_int_equal(link(path_in(&fixture, "from/f"), path_in(&fixture, "from/g")), 0);
    assert_int_equal(chmod(path_of(&fixture, "from/f"), 04755), 0);
    assert_string_equal(open_tree_source(&fixture).text,
                        "not kept: set-id bits of 2 entries (owner), hard links of 2 entries (hardlinks)");
    ask_op(&fixture, DISK_CLOSE, SOURCE);
    fixture.open.tree = PART_TREE_OWNER | PART_TREE_HARDLINKS;
    assert_string_equal(open_tree_source(&fixture).text, "");
    ask_op(&fixture, DISK_CLOSE, SOURCE);
    if (setxattr(path_of(&fixture, "from/f"), "user.sluice", "value", 5, 0) == 0) {
        assert_string_equal(open_tree_source(&fixture).text, "not kept: attributes of 2 entries (xattrs)");
        ask_op(&fixture, DISK_CLOSE, SOURCE);
        fixture.open.tree |= PART_TREE_XATTR;
        assert_string_equal(open_tree_source(&fixture).text, "");
    }
    fixture_stop(&fixture);
}

/* The sender's word for the length of an index costs memory: all jobs together get so much, and no more. */
static void tree__indexes_share_a_budget(void **state)
{
    (void)state;
    struct fixture fixture;
    struct err err;
    fixture_start(&fixture, 1, false);
    disk_stop(fixture.disk);
    fixture.disk = disk_start(&(struct disk_config){.threads = 1, .index_bytes_max = 1000}, &err);
    fixture.open.object = PART_OBJECT_DIRECTORY;
    const struct {
        uint8_t handle;
        uint64_t index_bytes;
        enum disk_status status;
    } cases[] = {{0, 1001, DISK_FAILED},
                 {0, 600, DISK_OK},
                 {1, 401, DISK_FAILED},
                 {1, 400, DISK_OK},
                 {2, 32, DISK_FAILED}};
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        char name[16];
        snprintf(name, sizeof(name), "to-%u", cases[at].handle);
        fixture.open.index_bytes = cases[at].index_bytes;
        struct disk_reply reply = ask_target(&fixture, cases[at].handle, name, 2000);
        assert_int_equal(reply.status, cases[at].status);
        if (reply.status == DISK_FAILED)
            assert_failed(&reply, "for all indexes there are 1000, ");
    }
    assert_int_equal(ask_op(&fixture, DISK_ABORT, 0).status, DISK_OK);
    assert_int_equal(ask_op(&fixture, DISK_CLOSE, 0).status, DISK_OK);
    assert_int_equal(ask_target(&fixture, 2, "to-2", 2000).status, DISK_OK);
    fixture_stop(&fixture);
}

/* A relay that is not root reads back what it has unpacked, for slow children: before the end and after. */
static void tree__unreadable_files_are_read_back(void **state)
{
    (void)state;
    static uint8_t object[8 * KB], back[8 * KB];
    struct fixture fixture;
    if (geteuid() != 0)
        skip();
    fixture_start(&fixture, 2, false);
    make_directory(&fixture, "from");
    make_file(&fixture, "from/nobody", "secret", 6, FIXED_NS);
    assert_int_equal(chmod(path_of(&fixture, "from/nobody"), 0), 0);
    make_directory(&fixture, "in");
    assert_int_equal(chmod(fixture.directory, 0755), 0);
    assert_int_equal(chown(path_of(&fixture, "in"), NOBODY, NOBODY), 0);
    assert_int_equal(open_tree_source(&fixture).status, DISK_OK);
    uint32_t length = (uint32_t)fixture.open.size_bytes;
    assert_int_equal(ask_read(&fixture, SOURCE, object, length, 0).status, DISK_OK);
    assert_int_equal(seteuid(NOBODY), 0);
    struct disk_reply opened = ask_target(&fixture, TARGET, "in/to", length);
    struct disk_reply written = ask_write(&fixture, TARGET, object, length, 0);
    struct disk_reply before = ask_read(&fixture, TARGET, back, length, 0);
    struct disk_reply finished = ask_op(&fixture, DISK_FINISH, TARGET);
    struct disk_reply after = ask_read(&fixture, TARGET, back, length, 0);
    assert_int_equal(seteuid(0), 0);
    if (opened.status != DISK_OK || finished.status != DISK_OK)
        fail_msg("%s, %s", opened.text, finished.text);
    assert_int_equal(written.status, DISK_OK);
    assert_int_equal(before.status, DISK_OK);
    assert_int_equal(finished.status, DISK_OK);
    assert_int_equal(after.status, DISK_OK);
    assert_memory_equal(back, object, length);
    assert_int_equal(entry_stat(&fixture, "in/to/nobody").st_mode & 07777, 0);
    fixture_stop(&fixture);
}

int run_tree_receiver_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tree__xattrs_only_on_request),
        cmocka_unit_test(tree__owner_only_on_request),
        cmocka_unit_test(tree__names_in_texts_are_printable),
        cmocka_unit_test(tree__hostile_index_makes_nothing),
        cmocka_unit_test(tree__receiver_decides_what_is_kept),
        cmocka_unit_test(tree__what_is_not_kept_is_counted),
        cmocka_unit_test(tree__indexes_share_a_budget),
        cmocka_unit_test(tree__unreadable_files_are_read_back),
    };
    return cmocka_run_group_tests_name("disk tree receiver", tests, NULL, NULL);
}
