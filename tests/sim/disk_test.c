/* The simulated disk: time of answers, name policy, space, and whose word `verified` is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "disk/hash.h"
#include "sim/disk.h"
#include "sim/tree.h"

#define BLOCK_BYTES 100000u
#define SIZE_BYTES  250000u

static struct sim_hash hashes[SIM_HASHES];
static struct sim_source source;
static struct sim_disk disk;
static uint8_t data[BLOCK_BYTES];

static int set_up(void **state)
{
    (void)state;
    memset(hashes, 0, sizeof(hashes));
    source = (struct sim_source){
        .path = "/j", .content = {.seed = 5, .size_bytes = SIZE_BYTES}, .modified_ns = 77, .hashes = hashes};
    sim_disk_init(&disk, 8000000, UINT64_MAX, &source, 1); /* a byte each us */
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sim_disk_free(&disk);
    return 0;
}

static struct disk_reply ask(struct disk_request request, uint64_t now_ns)
{
    struct disk_reply reply;
    sim_disk_submit(&disk, &request, now_ns);
    sim_disk_answer(&disk, &reply, sim_disk_next_ns(&disk));
    return reply;
}

static struct disk_open target(uint8_t exists)
{
    return (struct disk_open){.directory = "/incoming",
                              .file = "j",
                              .size_bytes = SIZE_BYTES,
                              .modified_ns = 77,
                              .mode = 0640,
                              .exists = exists,
                              .hash = PART_HASH_SHA256};
}

static uint8_t open_target(struct disk_open open)
{
    return ask((struct disk_request){.op = DISK_OPEN_TARGET, .handle = 1, .open = &open}, 0).status;
}

static struct disk_reply write_at(uint64_t offset, uint32_t length, bool right)
{
    content_fill(&source.content, offset, data, length);
    data[length / 2] ^= right ? 0 : 1;
    return ask(
        (struct disk_request){
            .op = DISK_WRITE, .handle = 1, .offset = offset, .length = length, .data = data},
        0);
}

static void write_all(void)
{
    for (uint32_t offset = 0; offset < SIZE_BYTES; offset += BLOCK_BYTES)
        write_at(offset, MIN(BLOCK_BYTES, SIZE_BYTES - offset), true);
}

static uint8_t end_with(enum disk_op op)
{
    uint8_t status = ask((struct disk_request){.op = op, .handle = 1}, 1000).status;
    ask((struct disk_request){.op = DISK_CLOSE, .handle = 1}, 1000);
    return status;
}

static void requests__take_their_time_in_turn(void **state)
{
    (void)state;
    struct disk_open open = {.file = "/j"};
    struct disk_request read = {.op = DISK_READ, .handle = 0, .length = 1000, .data = data};
    struct disk_reply reply;
    assert_int_equal(sim_disk_next_ns(&disk), TIME_NEVER);
    sim_disk_submit(&disk, &(struct disk_request){.op = DISK_OPEN_SOURCE, .open = &open}, 0);
    for (uint64_t cookie = 1; cookie <= 200; cookie++) {
        read.cookie = cookie;
        sim_disk_submit(&disk, &read, 0);
    }
    sim_disk_answer(&disk, &reply, sim_disk_next_ns(&disk));
    assert_int_equal(reply.size_bytes, SIZE_BYTES);
    assert_int_equal(reply.modified_ns, 77);
    for (uint64_t cookie = 1; cookie <= 200; cookie++) {
        assert_int_equal(sim_disk_next_ns(&disk), cookie * NS_PER_MS + SIM_DISK_LATENCY_NS);
        sim_disk_answer(&disk, &reply, sim_disk_next_ns(&disk));
        assert_int_equal(reply.cookie, cookie);
        assert_true(content_equal(&source.content, 0, data, 1000));
    }
}

static void directory__is_refused_unless_it_is_the_sources(void **state)
{
    (void)state;
    static const struct {
        uint8_t object;
        uint8_t more_index, other_hash;
        enum disk_status status;
    } cases[] = {{PART_OBJECT_DIRECTORY, 0, 0, DISK_OK},
                 {PART_OBJECT_FILE, 0, 0, DISK_FAILED},
                 {PART_OBJECT_DIRECTORY, 1, 0, DISK_FAILED},
                 {PART_OBJECT_DIRECTORY, 0, 1, DISK_FAILED}};
    struct pack pack;
    struct disk_open open = {.file = "/j"};
    sim_tree_make(&pack, 250, 1000, 6);
    source.content.size_bytes = pack.object_bytes;
    source.content.index = pack.bytes;
    source.content.index_bytes = pack.index_bytes;
    source.index_hash.bytes[0] = 1;
    struct disk_reply reply =
        ask((struct disk_request){.op = DISK_OPEN_SOURCE, .handle = 0, .open = &open}, 0);
    assert_int_equal(reply.object, PART_OBJECT_DIRECTORY);
    assert_int_equal(reply.index_bytes, pack.index_bytes);
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        open = target(PART_EXISTS_FAIL);
        open.object = cases[at].object;
        open.mode = 0;
        open.size_bytes = reply.size_bytes;
        open.index_bytes = reply.index_bytes + cases[at].more_index;
        open.index_hash = reply.index_hash;
        open.index_hash.bytes[31] ^= cases[at].other_hash;
        assert_int_equal(open_target(open), cases[at].status);
        ask((struct disk_request){.op = DISK_CLOSE, .handle = 1}, 0);
    }
    content_fill(&source.content, pack.index_bytes - 5, data, 100);
    assert_memory_equal(data, pack.bytes + pack.index_bytes - 5, 5);
    assert_true(content_equal(&source.content, pack.index_bytes, data + 5, 95));
    free((void *)(uintptr_t)pack.bytes);
}

static void copy__is_verified_by_comparison(void **state)
{
    (void)state;
    static const struct {
        bool gap, wrong, repaired, verified;
    } cases[] = {{false, false, false, true},
                 {true, false, false, false},
                 {false, true, false, false},
                 {false, true, true, true}};
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        assert_int_equal(open_target(target(PART_EXISTS_REPLACE)), DISK_OK);
        write_at(0, BLOCK_BYTES, !cases[index].wrong);
        if (!cases[index].gap)
            write_at(BLOCK_BYTES, BLOCK_BYTES, true);
        write_at(2 * BLOCK_BYTES, SIZE_BYTES - 2 * BLOCK_BYTES, true);
        if (cases[index].repaired)
            write_at(0, BLOCK_BYTES, true);
        assert_int_equal(end_with(DISK_FINISH), DISK_OK);
        assert_int_equal(disk.copies[0].verified, cases[index].verified);
        assert_int_equal(disk.copies[0].right_bytes == SIZE_BYTES, cases[index].verified);
    }
    assert_int_equal(disk.wrong_writes, 2);
}

static void write__hashes_what_it_was_given(void **state)
{
    (void)state;
    struct wire_hash expected;
    open_target(target(PART_EXISTS_FAIL));
    for (int round = 0; round < 2; round++) /* the second time from the cache */
        for (int right = 0; right < 2; right++) {
            struct disk_reply reply = write_at(BLOCK_BYTES, BLOCK_BYTES, right == 1);
            hash_block(PART_HASH_SHA256, data, BLOCK_BYTES, &expected);
            assert_memory_equal(&reply.hash, &expected, sizeof(expected));
        }
}

static void name_policy__of_a_file_that_is_there(void **state)
{
    (void)state;
    static const struct {
        uint8_t exists, status;
    } cases[] = {{PART_EXISTS_FAIL, DISK_FAILED},
                 {PART_EXISTS_SKIP_IF_SAME, DISK_ALREADY_THERE},
                 {PART_EXISTS_REPLACE, DISK_OK}};
    open_target(target(PART_EXISTS_FAIL));
    write_all();
    assert_int_equal(end_with(DISK_FINISH), DISK_OK);
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        assert_int_equal(open_target(target(cases[index].exists)), cases[index].status);
        end_with(DISK_ABORT);
    }
}

static void space__is_taken_and_given_back(void **state)
{
    (void)state;
    disk.free_bytes = SIZE_BYTES + 1;
    assert_int_equal(open_target(target(PART_EXISTS_FAIL)), DISK_OK);
    assert_int_equal(disk.free_bytes, 1);
    end_with(DISK_ABORT);
    assert_int_equal(disk.free_bytes, SIZE_BYTES + 1);
    open_target(target(PART_EXISTS_FAIL));
    sim_disk_crash(&disk);
    assert_int_equal(disk.free_bytes, SIZE_BYTES + 1);
    disk.free_bytes = SIZE_BYTES - 1;
    assert_int_equal(open_target(target(PART_EXISTS_FAIL)), DISK_FAILED);
}

/* As lib/disk: FINISH tells the truth, an ABORT behind it undoes nothing, one behind a failed FINISH does. */
static void abort__behind_finish(void **state)
{
    (void)state;
    const struct disk_request finish = {.op = DISK_FINISH, .handle = 1};
    disk.free_bytes = 3 * SIZE_BYTES;
    open_target(target(PART_EXISTS_FAIL));
    write_all();
    assert_int_equal(ask(finish, 0).status, DISK_OK);
    assert_int_equal(end_with(DISK_ABORT), DISK_ALREADY_THERE);
    assert_int_equal(disk.free_bytes, 2 * SIZE_BYTES);
    assert_int_equal(open_target(target(PART_EXISTS_SKIP_IF_SAME)), DISK_ALREADY_THERE);
    assert_int_equal(end_with(DISK_ABORT), DISK_ALREADY_THERE);
    disk.file_count = 0;
    open_target(target(PART_EXISTS_FAIL));
    disk.file_count = 1; /* NAME has come in between */
    assert_int_equal(ask(finish, 0).status, DISK_FAILED);
    assert_int_equal(end_with(DISK_ABORT), DISK_OK);
    assert_int_equal(disk.free_bytes, 2 * SIZE_BYTES);
}

/* The part has to carry what OPEN_SOURCE said. */
static void open_target__other_permissions_than_the_sources(void **state)
{
    (void)state;
    struct disk_open open = {.file = "/j"};
    struct disk_reply reply = ask((struct disk_request){.op = DISK_OPEN_SOURCE, .open = &open}, 0);
    struct disk_open other = target(PART_EXISTS_FAIL);
    assert_int_equal(reply.mode, other.mode);
    other.mode = 0644;
    assert_int_equal(open_target(other), DISK_FAILED);
}

static void faults__full_and_changed(void **state)
{
    (void)state;
    struct disk_open open = {.file = "/j"};
    open_target(target(PART_EXISTS_FAIL));
    assert_int_equal(write_at(0, 1000, true).status, DISK_OK);
    disk.full = true;
    assert_int_equal(write_at(1000, 1000, true).status, DISK_FAILED);
    ask((struct disk_request){.op = DISK_OPEN_SOURCE, .open = &open}, 0);
    struct disk_request read = {.op = DISK_READ, .length = 1000, .data = data};
    assert_int_equal(ask(read, 0).status, DISK_OK);
    source.changed = true;
    assert_int_equal(ask(read, 0).status, DISK_CHANGED);
}

static void read__only_what_was_written(void **state)
{
    (void)state;
    struct disk_request read = {.op = DISK_READ, .handle = 1, .offset = 1000, .length = 1000, .data = data};
    open_target(target(PART_EXISTS_FAIL));
    write_at(0, 1500, true);
    assert_int_equal(ask(read, 0).status, DISK_FAILED);
    write_at(1500, 500, true);
    memset(data, 0, sizeof(data));
    assert_int_equal(ask(read, 0).status, DISK_OK);
    assert_true(content_equal(&source.content, 1000, data, 1000));
}

#define DISK_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DISK_TEST(requests__take_their_time_in_turn),
        DISK_TEST(copy__is_verified_by_comparison),
        DISK_TEST(write__hashes_what_it_was_given),
        DISK_TEST(name_policy__of_a_file_that_is_there),
        DISK_TEST(space__is_taken_and_given_back),
        DISK_TEST(abort__behind_finish),
        DISK_TEST(open_target__other_permissions_than_the_sources),
        DISK_TEST(faults__full_and_changed),
        DISK_TEST(read__only_what_was_written),
        DISK_TEST(directory__is_refused_unless_it_is_the_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
