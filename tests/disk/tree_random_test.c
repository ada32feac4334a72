/* Random trees, from seeds: what is unpacked in a random order, with some blocks coming twice or bad at
 * first, gives the same index as the source, and the same bytes. */
#include "fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/units.h"

#define SOURCE        1
#define TARGET        2
#define TREES         12
#define ENTRIES_MAX   120
#define DIRECTORY_MAX 24
#define PART_MAX      (16 * KB)

struct tree {
    struct rng rng;
    char directories[DIRECTORY_MAX][PATH_ROOM];
    uint32_t directory_count;
    char files[ENTRIES_MAX][PATH_ROOM];
    uint32_t file_count;
};

static uint32_t below(struct tree *tree, uint32_t limit)
{
    return (uint32_t)rng_below(&tree->rng, limit);
}

/* Any byte but a slash and zero; now and then as long as names may be. */
static void random_name(struct tree *tree, char *name)
{
    uint32_t length = below(tree, 20) == 0 ? 255 : 1 + below(tree, 12);
    for (uint32_t at = 0; at < length; at++) {
        uint8_t byte = (uint8_t)(1 + below(tree, 255));
        name[at] = byte == '/' || (at == 0 && byte == '.') ? 'x' : (char)byte;
    }
    name[length] = '\0';
}

/* Multiples of the hole's step, blocks' ends and everything between; zeros now and then. */
static void make_content(struct tree *tree, const char *path)
{
    static const uint32_t sizes[] = {0, 1, 4095, 4096, 4097, 8192, 12288, 16384, 40000};
    static uint8_t content[64 * KB];
    uint32_t size = below(tree, 2) == 0 ? sizes[below(tree, 9)] : below(tree, 6000);
    bool zeros = below(tree, 8) == 0;
    for (uint32_t at = 0; at < size; at++)
        content[at] = zeros ? 0 : (uint8_t)rng_next(&tree->rng);
    if (size > 4096 && below(tree, 3) == 0)
        memset(content + below(tree, size - 4096), 0, 4096);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, size), size);
    assert_int_equal(fchmod(fd, 0400 | below(tree, 01000)), 0);
    close(fd);
}

static void set_random_time(struct tree *tree, const char *path)
{
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = (time_t)below(tree, 2000000000) - 1000000, .tv_nsec = below(tree, 1000000000)}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void add_entry(struct tree *tree)
{
    char name[256], path[2 * PATH_ROOM];
    const char *parent = tree->directories[below(tree, tree->directory_count)];
    struct stat stat;
    random_name(tree, name);
    int length = snprintf(path, sizeof(path), "%s/%s", parent, name);
    if (length >= PATH_ROOM || lstat(path, &stat) == 0)
        return;
    uint32_t kind = below(tree, 10);
    if (kind == 0 && tree->directory_count < DIRECTORY_MAX) {
        assert_int_equal(mkdir(path, 0755), 0);
        memcpy(tree->directories[tree->directory_count++], path, (size_t)length + 1);
        return; /* its mode and time are set when all is in it */
    }
    if (kind == 1) {
        assert_int_equal(symlink(name, path), 0);
    } else if (kind == 2 && tree->file_count > 0) {
        assert_int_equal(link(tree->files[below(tree, tree->file_count)], path), 0);
        return;
    } else {
        make_content(tree, path);
        memcpy(tree->files[tree->file_count++], path, (size_t)length + 1);
    }
    set_random_time(tree, path);
}

static void make_tree(struct fixture *fixture, struct tree *tree)
{
    snprintf(tree->directories[0], PATH_ROOM, "%s", path_of(fixture, "from"));
    tree->directory_count = 1;
    tree->file_count = 0;
    assert_int_equal(mkdir(tree->directories[0], 0755), 0);
    for (uint32_t entries = below(tree, ENTRIES_MAX); entries > 0; entries--)
        add_entry(tree);
    for (uint32_t at = tree->directory_count; at > 0; at--) {
        assert_int_equal(chmod(tree->directories[at - 1], 0700 | below(tree, 01000)), 0);
        set_random_time(tree, tree->directories[at - 1]);
    }
}

static void open_source(struct fixture *fixture, uint8_t handle, const char *name, struct disk_reply *reply)
{
    *reply = ask_source(fixture, handle, name);
    if (reply->status != DISK_OK)
        fail_msg("%s", reply->text);
}

static uint32_t length_of(const struct fixture *fixture, uint64_t part, uint32_t part_bytes)
{
    return (uint32_t)MIN((uint64_t)part_bytes, fixture->open.size_bytes - part * part_bytes);
}

/* Every part at least once and good the last time, in an order that the seed gives. */
static void transfer(struct fixture *fixture, struct tree *tree, uint32_t part_bytes)
{
    static uint8_t data[PART_MAX];
    uint64_t parts = (fixture->open.size_bytes + part_bytes - 1) / part_bytes;
    uint64_t *order = malloc(parts * sizeof(*order));
    assert_non_null(order);
    for (uint64_t part = 0; part < parts; part++) {
        uint64_t other = below(tree, (uint32_t)part + 1);
        order[part] = order[other];
        order[other] = part;
    }
    for (uint64_t step = 0; step < parts; step++) {
        uint64_t offset = order[step] * part_bytes;
        uint32_t length = length_of(fixture, order[step], part_bytes);
        uint32_t before = below(tree, 6);
        if (before == 0) {
            memset(data, 0xee, length);
            assert_int_equal(ask_write(fixture, TARGET, data, length, offset).status, DISK_OK);
        }
        assert_int_equal(ask_read(fixture, SOURCE, data, length, offset).status, DISK_OK);
        for (uint32_t times = before == 1 ? 2 : 1; times > 0; times--) {
            struct disk_reply reply = ask_write(fixture, TARGET, data, length, offset);
            if (reply.status != DISK_OK)
                fail_msg("%s", reply.text);
        }
    }
    free(order);
}

static void round_trip(uint64_t seed)
{
    static const uint32_t part_bytes[] = {512, 4096, 5000, PART_MAX};
    static uint8_t left[PART_MAX], right[PART_MAX];
    static struct tree tree;
    struct fixture fixture;
    struct disk_reply from, to;
    rng_init(&tree.rng, seed);
    fixture_start(&fixture, 1, false);
    make_tree(&fixture, &tree);
    fixture.open.tree = PART_TREE_HARDLINKS;
    open_source(&fixture, SOURCE, "from", &from);
    fixture.open.object = from.object;
    fixture.open.index_bytes = from.index_bytes;
    fixture.open.index_hash = from.index_hash;
    assert_int_equal(ask_target(&fixture, TARGET, "to", from.size_bytes).status, DISK_OK);
    transfer(&fixture, &tree, part_bytes[seed % 4]);
    struct disk_reply reply = ask_op(&fixture, DISK_FINISH, TARGET);
    if (reply.status != DISK_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, reply.text);
    ask_op(&fixture, DISK_CLOSE, TARGET);
    open_source(&fixture, TARGET, "to", &to);
    assert_int_equal(from.size_bytes, to.size_bytes);
    assert_memory_equal(&from.index_hash, &to.index_hash, sizeof(from.index_hash));
    for (uint64_t offset = 0; offset < from.size_bytes; offset += PART_MAX) {
        uint32_t length = (uint32_t)MIN((uint64_t)PART_MAX, from.size_bytes - offset);
        assert_int_equal(ask_read(&fixture, SOURCE, left, length, offset).status, DISK_OK);
        assert_int_equal(ask_read(&fixture, TARGET, right, length, offset).status, DISK_OK);
        assert_memory_equal(left, right, length);
    }
    assert_false(file_exists(&fixture, "to.part"));
    fixture_stop(&fixture);
}

static void tree__random_ones_come_whole(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= TREES; seed++)
        round_trip(seed);
}

int run_tree_random_tests(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tree__random_ones_come_whole)};
    return cmocka_run_group_tests_name("disk random trees", tests, NULL, NULL);
}
