/* Directories as one object, with real trees: what is kept, what is refused, blocks in any order. */
#include "fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/units.h"
#include "disk/hash.h"
#include "faults.h"
#include "pack/pack.h"

#define SOURCE 1
#define TARGET 2
#define PART   (4 * KB)
#define NOBODY 65534

static const char *in(const struct fixture *fixture, const char *file)
{
    static char paths[4][PATH_ROOM];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, PATH_ROOM, "%s", path_of(fixture, file));
    return path;
}

static void make_directory(const struct fixture *fixture, const char *name)
{
    assert_int_equal(mkdir(path_of(fixture, name), 0755), 0);
}

static void set_time(const struct fixture *fixture, const char *name, int64_t s)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = s, .tv_nsec = 987654321}};
    assert_int_equal(utimensat(AT_FDCWD, path_of(fixture, name), times, AT_SYMLINK_NOFOLLOW), 0);
}

static struct stat look(const struct fixture *fixture, const char *name)
{
    struct stat stat;
    if (lstat(path_of(fixture, name), &stat) != 0)
        fail_msg("%s is not there", name);
    return stat;
}

/* A tree with some of everything. */
static void make_tree(const struct fixture *fixture)
{
    static uint8_t content[150 * KB];
    char deep[200] = "from";
    struct rng rng;
    rng_init(&rng, 3);
    for (size_t at = 0; at < sizeof(content); at++)
        content[at] = (uint8_t)rng_next(&rng);
    make_directory(fixture, "from");
    make_directory(fixture, "from/empty");
    make_file(fixture, "from/nothing", "", 0, FIXED_NS);
    make_file(fixture, "from/script", "#!/bin/sh\n", 10, FIXED_NS);
    assert_int_equal(chmod(path_of(fixture, "from/script"), 0751), 0);
    make_file(fixture, "from/big", content, sizeof(content), FIXED_NS + 1);
    assert_int_equal(chmod(path_of(fixture, "from/big"), 0400), 0);
    make_file(fixture, "from/\xff\xfe not utf-8\n", "x", 1, FIXED_NS);
    assert_int_equal(symlink("../../outside", path_of(fixture, "from/link")), 0);
    set_time(fixture, "from/link", -7);
    for (int level = 0; level < 20; level++) {
        strcat(deep, "/d");
        make_directory(fixture, deep);
    }
    strcat(deep, "/file");
    make_file(fixture, deep, "deep", 4, FIXED_NS);
    for (int number = 0; number < 60; number++) {
        char name[32];
        snprintf(name, sizeof(name), "from/d/%03d", number);
        make_file(fixture, name, content + number, (size_t)number * 37, FIXED_NS + (uint64_t)number);
    }
    assert_int_equal(link(in(fixture, "from/big"), in(fixture, "from/d/again")), 0);
    set_time(fixture, "from/empty", 1234567890);
    set_time(fixture, "from", 1111111111);
    assert_int_equal(chmod(path_of(fixture, "from/empty"), 0500), 0);
}

/* ---- a transfer without a network ---- */

static struct disk_reply open_source(struct fixture *fixture)
{
    struct disk_reply reply = ask_source(fixture, SOURCE, "from");
    if (reply.status != DISK_OK)
        return reply;
    fixture->open.object = reply.object;
    fixture->open.size_bytes = reply.size_bytes;
    fixture->open.index_bytes = reply.index_bytes;
    fixture->open.index_hash = reply.index_hash;
    return reply;
}

static uint32_t part_length(const struct fixture *fixture, uint64_t part)
{
    return (uint32_t)MIN((uint64_t)PART, fixture->open.size_bytes - part * PART);
}

static uint64_t parts_of(const struct fixture *fixture)
{
    return (fixture->open.size_bytes + PART - 1) / PART;
}

static void copy_part(struct fixture *fixture, uint64_t part)
{
    static uint8_t data[PART], back[PART];
    uint32_t length = part_length(fixture, part);
    struct disk_reply read = ask_read(fixture, SOURCE, data, length, part * PART);
    assert_int_equal(read.status, DISK_OK);
    struct disk_reply reply = ask_write(fixture, TARGET, data, length, part * PART);
    if (reply.status != DISK_OK)
        fail_msg("%s", reply.text);
    assert_memory_equal(&reply.hash, &read.hash, sizeof(read.hash));
    reply = ask_read(fixture, TARGET, back, length, part * PART);
    assert_int_equal(reply.status, DISK_OK);
    assert_memory_equal(back, data, length);
}

static void copy_all(struct fixture *fixture, bool backwards)
{
    for (uint64_t step = 0; step < parts_of(fixture); step++)
        copy_part(fixture, backwards ? parts_of(fixture) - 1 - step : step);
}

static void finish(struct fixture *fixture, const char *name)
{
    struct disk_reply reply = ask_op(fixture, DISK_FINISH, TARGET);
    if (reply.status != DISK_OK)
        fail_msg("%s", reply.text);
    assert_string_equal(reply.text, path_of(fixture, name));
    assert_int_equal(ask_op(fixture, DISK_CLOSE, TARGET).status, DISK_OK);
    assert_int_equal(ask_op(fixture, DISK_CLOSE, SOURCE).status, DISK_OK);
}

static void copy_tree(struct fixture *fixture, const char *name, bool backwards)
{
    assert_int_equal(open_source(fixture).status, DISK_OK);
    struct disk_reply reply = ask_target(fixture, TARGET, name, fixture->open.size_bytes);
    if (reply.status != DISK_OK)
        fail_msg("%s", reply.text);
    copy_all(fixture, backwards);
    finish(fixture, name);
}

static int compare(const struct fixture *fixture, const char *left, const char *right)
{
    char command[3 * PATH_ROOM];
    snprintf(command, sizeof(command), "diff -r --no-dereference %s %s", in(fixture, left),
             in(fixture, right));
    return system(command);
}

/* ---- tests ---- */

static void assert_tree_kept(const struct fixture *fixture, const char *name, bool linked)
{
    static const char *const paths[] = {"",     "/empty", "/nothing", "/script",
                                        "/big", "/link",  "/d/050",   "/d/d/d"};
    char from[64], to[64];
    assert_int_equal(compare(fixture, "from", name), 0);
    for (size_t at = 0; at < sizeof(paths) / sizeof(paths[0]); at++) {
        snprintf(from, sizeof(from), "from%s", paths[at]);
        snprintf(to, sizeof(to), "%s%s", name, paths[at]);
        struct stat a = look(fixture, from), b = look(fixture, to);
        assert_int_equal(a.st_mode, b.st_mode);
        assert_int_equal(a.st_mtim.tv_sec, b.st_mtim.tv_sec);
        assert_int_equal(a.st_mtim.tv_nsec, b.st_mtim.tv_nsec);
    }
    snprintf(to, sizeof(to), "%s/big", name);
    assert_int_equal(look(fixture, to).st_nlink, linked ? 2 : 1);
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

static void tree__blocks_come_again_after_bad_ones(void **state)
{
    (void)state;
    static uint8_t bad[PART];
    struct fixture fixture;
    fixture_start(&fixture, 1, false);
    make_tree(&fixture);
    fixture.open.tree = PART_TREE_HARDLINKS;
    assert_int_equal(open_source(&fixture).status, DISK_OK);
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
    finish(&fixture, "to");
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
        struct disk_reply reply = open_source(&fixture);
        assert_failed(&reply, shown[at]);
        reply = ask_source(&fixture, SOURCE, names[at]);
        assert_failed(&reply, shown[at]);
        fixture_stop(&fixture);
    }
}

static void tree__empty_ones(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_start(&fixture, 1, false);
    make_directory(&fixture, "from");
    copy_tree(&fixture, "to", false);
    assert_int_equal(compare(&fixture, "from", "to"), 0);
    for (int number = 0; number < 200; number++) {
        char name[32];
        snprintf(name, sizeof(name), "from/%d", number);
        make_file(&fixture, name, "", 0, FIXED_NS);
    }
    copy_tree(&fixture, "backwards", true);
    assert_int_equal(compare(&fixture, "from", "backwards"), 0);
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
    assert_int_equal(compare(&fixture, "from", "to"), 0);
    assert_int_equal(look(&fixture, "to/small").st_blocks, 0);
    assert_true(look(&fixture, "to/sparse").st_blocks <= 16);
    fixture_stop(&fixture);
}

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
    assert_int_equal(look(&fixture, "without/f").st_uid, 0);
    assert_int_equal(look(&fixture, "without/f").st_mode & 07777, 0755);
    fixture.open.tree = PART_TREE_OWNER;
    copy_tree(&fixture, "refused", false);
    assert_int_equal(look(&fixture, "refused/f").st_uid, 0);
    assert_int_equal(look(&fixture, "refused/f").st_mode & 07777, 0755);
    fixture.open.accept = (struct disk_accept){.owner = true};
    copy_tree(&fixture, "owned", false);
    assert_int_equal(look(&fixture, "owned/f").st_uid, 12345);
    assert_int_equal(look(&fixture, "owned/f").st_mode & 07777, 0755);
    fixture.open.accept = (struct disk_accept){.set_id = true}; /* means nothing without the owner */
    copy_tree(&fixture, "bits", false);
    assert_int_equal(look(&fixture, "bits/f").st_mode & 07777, 0755);
    fixture.open.accept = (struct disk_accept){.owner = true, .set_id = true};
    copy_tree(&fixture, "with", false);
    assert_int_equal(look(&fixture, "with/f").st_uid, 12345);
    assert_int_equal(look(&fixture, "with/f").st_gid, 54321);
    assert_int_equal(look(&fixture, "with/f").st_mode & 07777, 04755);
    fixture_stop(&fixture);
}

static void tree__exists(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_start(&fixture, 1, false);
    make_tree(&fixture);
    copy_tree(&fixture, "to", false);
    assert_int_equal(open_source(&fixture).status, DISK_OK);
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
    assert_int_equal(compare(&fixture, "from", "to"), 0);
    /* One byte less, one name more: another tree, and it takes the old one's place. */
    ask_op(&fixture, DISK_CLOSE, SOURCE);
    make_file(&fixture, "to/old", "gone", 4, FIXED_NS);
    copy_tree(&fixture, "to", false);
    assert_false(file_exists(&fixture, "to/old"));
    assert_int_equal(compare(&fixture, "from", "to"), 0);
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
    assert_int_equal(open_source(&fixture).status, DISK_OK);
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
        assert_int_equal(compare(&fixture, "from", "to"), 0);
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
        assert_int_equal(open_source(&fixture).status, DISK_OK);
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
    struct disk_reply reply = open_source(&fixture);
    assert_failed(&reply, "pipe");
    assert_failed(&reply, "neither file, directory nor symbolic link");
    fixture_stop(&fixture);
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
        assert_int_equal(look(&fixture, "to/f").st_mode & 07777, cases[at].file);
        assert_int_equal(look(&fixture, "to").st_mode & 07777, cases[at].directory);
        assert_int_equal(look(&fixture, "to/f").st_uid, cases[at].owner);
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
    assert_string_equal(open_source(&fixture).text, "");
    ask_op(&fixture, DISK_CLOSE, SOURCE);
    assert_int_equal(link(in(&fixture, "from/f"), in(&fixture, "from/g")), 0);
    assert_int_equal(chmod(path_of(&fixture, "from/f"), 04755), 0);
    assert_string_equal(open_source(&fixture).text,
                        "not kept: set-id bits of 2 entries (owner), hard links of 2 entries (hardlinks)");
    ask_op(&fixture, DISK_CLOSE, SOURCE);
    fixture.open.tree = PART_TREE_OWNER | PART_TREE_HARDLINKS;
    assert_string_equal(open_source(&fixture).text, "");
    ask_op(&fixture, DISK_CLOSE, SOURCE);
    if (setxattr(path_of(&fixture, "from/f"), "user.sluice", "value", 5, 0) == 0) {
        assert_string_equal(open_source(&fixture).text, "not kept: attributes of 2 entries (xattrs)");
        ask_op(&fixture, DISK_CLOSE, SOURCE);
        fixture.open.tree |= PART_TREE_XATTR;
        assert_string_equal(open_source(&fixture).text, "");
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
    assert_int_equal(open_source(&fixture).status, DISK_OK);
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
    assert_int_equal(look(&fixture, "in/to/nobody").st_mode & 07777, 0);
    fixture_stop(&fixture);
}

/* Into tmpfs of several sizes, in a mount namespace of this test. */
static void tree__disk_full(void **state)
{
    (void)state;
    static const struct {
        const char *options, *text;
        bool sparse;
    } cases[] = {{"size=100k", "no space left", false},
                 {"size=320k", "no space left", false}, /* its bytes would fit, not its blocks */
                 {"size=2m,nr_inodes=40", "inodes free", false},
                 {"size=100k", "No space left on device", true},
                 {"size=2m,nr_inodes=40", "No space left on device", true}};
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
        assert_int_equal(open_source(&fixture).status, DISK_OK);
        struct disk_reply reply = ask_target(&fixture, TARGET, "small/to", fixture.open.size_bytes);
        for (uint64_t part = 0; reply.status == DISK_OK && part < parts_of(&fixture); part++) {
            uint32_t length = part_length(&fixture, part);
            assert_int_equal(ask_read(&fixture, SOURCE, data, length, part * PART).status, DISK_OK);
            reply = ask_write(&fixture, TARGET, data, length, part * PART);
        }
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
        assert_int_equal(open_source(&fixture).status, DISK_OK);
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
    assert_int_equal(open_source(&fixture).status, DISK_OK);
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
    finish(&fixture, "to");
    assert_int_equal(compare(&fixture, "from", "to"), 0);
    fixture_stop(&fixture);
}

int run_tree_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tree__is_kept_whatever_the_order),
        cmocka_unit_test(tree__blocks_come_again_after_bad_ones),
        cmocka_unit_test(tree__short_reads_and_writes_go_on),
        cmocka_unit_test(tree__names_in_texts_are_printable),
        cmocka_unit_test(tree__empty_ones),
        cmocka_unit_test(tree__holes_stay_holes),
        cmocka_unit_test(tree__xattrs_only_on_request),
        cmocka_unit_test(tree__owner_only_on_request),
        cmocka_unit_test(tree__exists),
        cmocka_unit_test(tree__abort_and_leftovers),
        cmocka_unit_test(tree__changed_source),
        cmocka_unit_test(tree__what_is_no_file_is_refused),
        cmocka_unit_test(tree__hostile_index_makes_nothing),
        cmocka_unit_test(tree__receiver_decides_what_is_kept),
        cmocka_unit_test(tree__what_is_not_kept_is_counted),
        cmocka_unit_test(tree__indexes_share_a_budget),
        cmocka_unit_test(tree__unreadable_files_are_read_back),
        cmocka_unit_test(tree__disk_full),
        cmocka_unit_test(tree__names_taken_for_one_are_told),
        cmocka_unit_test(tree__many_files_on_many_threads),
    };
    return cmocka_run_group_tests_name("disk tree", tests, NULL, NULL);
}
