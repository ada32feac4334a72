#include "tree_fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/units.h"

const char *path_in(const struct fixture *fixture, const char *file)
{
    static char paths[4][PATH_ROOM];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, PATH_ROOM, "%s", path_of(fixture, file));
    return path;
}

void make_directory(const struct fixture *fixture, const char *name)
{
    assert_int_equal(mkdir(path_of(fixture, name), 0755), 0);
}

static void set_time(const struct fixture *fixture, const char *name, int64_t s)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = s, .tv_nsec = 987654321}};
    assert_int_equal(utimensat(AT_FDCWD, path_of(fixture, name), times, AT_SYMLINK_NOFOLLOW), 0);
}

struct stat entry_stat(const struct fixture *fixture, const char *name)
{
    struct stat stat;
    if (lstat(path_of(fixture, name), &stat) != 0)
        fail_msg("%s is not there", name);
    return stat;
}

/* A tree with some of everything. */
void make_tree(const struct fixture *fixture)
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
    assert_int_equal(link(path_in(fixture, "from/big"), path_in(fixture, "from/d/again")), 0);
    set_time(fixture, "from/empty", 1234567890);
    set_time(fixture, "from", 1111111111);
    assert_int_equal(chmod(path_of(fixture, "from/empty"), 0500), 0);
}

/* ---- a transfer without a network ---- */

struct disk_reply open_tree_source(struct fixture *fixture)
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

uint32_t part_length(const struct fixture *fixture, uint64_t part)
{
    return (uint32_t)MIN((uint64_t)PART, fixture->open.size_bytes - part * PART);
}

uint64_t parts_of(const struct fixture *fixture)
{
    return (fixture->open.size_bytes + PART - 1) / PART;
}

void copy_part(struct fixture *fixture, uint64_t part)
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

void copy_all(struct fixture *fixture, bool backwards)
{
    for (uint64_t step = 0; step < parts_of(fixture); step++)
        copy_part(fixture, backwards ? parts_of(fixture) - 1 - step : step);
}

void finish_tree(struct fixture *fixture, const char *name)
{
    struct disk_reply reply = ask_op(fixture, DISK_FINISH, TARGET);
    if (reply.status != DISK_OK)
        fail_msg("%s", reply.text);
    assert_string_equal(reply.text, path_of(fixture, name));
    assert_int_equal(ask_op(fixture, DISK_CLOSE, TARGET).status, DISK_OK);
    assert_int_equal(ask_op(fixture, DISK_CLOSE, SOURCE).status, DISK_OK);
}

void copy_tree(struct fixture *fixture, const char *name, bool backwards)
{
    assert_int_equal(open_tree_source(fixture).status, DISK_OK);
    struct disk_reply reply = ask_target(fixture, TARGET, name, fixture->open.size_bytes);
    if (reply.status != DISK_OK)
        fail_msg("%s", reply.text);
    copy_all(fixture, backwards);
    finish_tree(fixture, name);
}

int compare_trees(const struct fixture *fixture, const char *left, const char *right)
{
    char command[3 * PATH_ROOM];
    snprintf(command, sizeof(command), "diff -r --no-dereference %s %s", path_in(fixture, left),
             path_in(fixture, right));
    return system(command);
}
