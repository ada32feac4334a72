/* What works: hashes, whole transfers, policies of durability, many blocks on many threads. */
#include "fixture.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file_time.h"
#include "base/rng.h"
#include "base/units.h"
#include "disk/hash.h"
#include "disk/ring.h"

static void hash_block__known_answers(void **state)
{
    (void)state;
    const struct {
        enum part_hash kind;
        const char *text;
        uint8_t first[4];
    } cases[] = {
        {PART_HASH_SHA256, "", {0xe3, 0xb0, 0xc4, 0x42}},
        {PART_HASH_SHA256, "abc", {0xba, 0x78, 0x16, 0xbf}},
        {PART_HASH_SHA256, "abc", {0xba, 0x78, 0x16, 0xbf}},
        {PART_HASH_NONE, "abc", {0, 0, 0, 0}},
    };
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        struct wire_hash hash;
        memset(&hash, 0xee, sizeof(hash));
        hash_block(cases[at].kind, (const uint8_t *)cases[at].text, strlen(cases[at].text), &hash);
        assert_memory_equal(hash.bytes, cases[at].first, 4);
    }
    hash_thread_end();
}

static void ring__is_bounded_and_ordered(void **state)
{
    (void)state;
    struct ring ring;
    uint32_t in = 0, out = 0, value;
    assert_true(ring_init(&ring, 4, sizeof(uint32_t)));
    for (int round = 0; round < 10; round++) {
        while (ring_push(&ring, &in))
            in++;
        assert_int_equal(in - out, 4);
        for (int take = 0; take < 1 + round % 4; take++) {
            assert_true(ring_pop(&ring, &value));
            assert_int_equal(value, out++);
        }
    }
    while (ring_pop(&ring, &value))
        assert_int_equal(value, out++);
    assert_int_equal(in, out);
    assert_true(ring_empty(&ring));
    ring_free(&ring);
}

static void fill(uint8_t *data, size_t length, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed);
    for (size_t at = 0; at < length; at++)
        data[at] = (uint8_t)rng_next(&rng);
}

static void disk__reads_a_source(void **state)
{
    (void)state;
    static uint8_t content[BLOCK + 100], got[BLOCK];
    struct fixture fixture;
    struct wire_hash hash;
    fixture_start(&fixture, 1, false);
    fill(content, sizeof(content), 1);
    make_file(&fixture, "source", content, sizeof(content), FIXED_NS);
    struct disk_reply reply = ask_source(&fixture, 63, "source");
    assert_int_equal(reply.status, DISK_OK);
    assert_int_equal(reply.size_bytes, sizeof(content));
    assert_int_equal(reply.modified_ns, FIXED_NS);
    reply = ask_read(&fixture, 63, got, 100, BLOCK);
    assert_int_equal(reply.status, DISK_OK);
    assert_memory_equal(got, content + BLOCK, 100);
    hash_block(PART_HASH_SHA256, content + BLOCK, 100, &hash);
    assert_memory_equal(&reply.hash, &hash, sizeof(hash));
    assert_int_equal(ask_op(&fixture, DISK_CLOSE, 63).status, DISK_OK);
    fixture_stop(&fixture);
}

static void disk__writes_a_target_by_every_durability(void **state)
{
    (void)state;
    const enum part_durable cases[] = {PART_DURABLE_NONE, PART_DURABLE_BLOCK, PART_DURABLE_END};
    static uint8_t content[2 * BLOCK + 1], got[2 * BLOCK + 1];
    struct fixture fixture;
    struct wire_hash hash;
    struct stat stat_of;
    fixture_start(&fixture, 2, false);
    fill(content, sizeof(content), 2);
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        char name[32];
        snprintf(name, sizeof(name), "below/%zu/file", at);
        fixture.open.durable = (uint8_t)cases[at];
        assert_int_equal(ask_target(&fixture, 5, name, sizeof(content)).status, DISK_OK);
        assert_false(file_exists(&fixture, name));
        assert_int_equal(ask_write(&fixture, 5, content + 2 * BLOCK, 1, 2 * BLOCK).status, DISK_OK);
        struct disk_reply reply = ask_write(&fixture, 5, content, 2 * BLOCK, 0);
        assert_int_equal(reply.status, DISK_OK);
        hash_block(PART_HASH_SHA256, content, 2 * BLOCK, &hash);
        assert_memory_equal(&reply.hash, &hash, sizeof(hash));
        assert_int_equal(ask_read(&fixture, 5, got, sizeof(got), 0).status, DISK_OK);
        assert_memory_equal(got, content, sizeof(got));
        reply = ask_op(&fixture, DISK_FINISH, 5);
        assert_int_equal(reply.status, DISK_OK);
        assert_string_equal(reply.text, path_of(&fixture, name));
        assert_content(&fixture, name, content, sizeof(content));
        assert_int_equal(stat(path_of(&fixture, name), &stat_of), 0);
        assert_int_equal((uint64_t)stat_of.st_mtim.tv_sec * NS_PER_S + (uint64_t)stat_of.st_mtim.tv_nsec,
                         FIXED_NS);
        assert_int_equal(ask_read(&fixture, 5, got, BLOCK, BLOCK).status, DISK_OK); /* slow children go on */
        assert_int_equal(ask_op(&fixture, DISK_CLOSE, 5).status, DISK_OK);
    }
    fixture_stop(&fixture);
}

/* What a source says of its time is what its copy gets, and what skip-if-same looks at. */
static void disk__files_keep_their_times(void **state)
{
    (void)state;
    const struct timespec cases[] = {
        {0, 0}, {-1, 500000000}, {-31536000, 0}, {-1, 999999999}, {4102444800, 1}};
    struct fixture fixture;
    struct stat stat_of;
    fixture_start(&fixture, 1, false);
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        char name[32];
        uint64_t time = file_time_of(cases[at].tv_sec, (uint32_t)cases[at].tv_nsec);
        snprintf(name, sizeof(name), "time%zu", at);
        make_file(&fixture, "source", "x", 1, time);
        assert_int_equal(stat(path_of(&fixture, "source"), &stat_of), 0);
        assert_int_equal(stat_of.st_mtim.tv_sec, cases[at].tv_sec);
        fixture.open.modified_ns = ask_source(&fixture, 63, "source").modified_ns;
        assert_true(fixture.open.modified_ns == time);
        assert_int_equal(ask_target(&fixture, 5, name, 1).status, DISK_OK);
        assert_int_equal(ask_write(&fixture, 5, (uint8_t[]){0x78}, 1, 0).status, DISK_OK);
        assert_int_equal(ask_op(&fixture, DISK_FINISH, 5).status, DISK_OK);
        assert_int_equal(ask_op(&fixture, DISK_CLOSE, 5).status, DISK_OK);
        assert_int_equal(ask_op(&fixture, DISK_CLOSE, 63).status, DISK_OK);
        assert_int_equal(stat(path_of(&fixture, name), &stat_of), 0);
        assert_memory_equal(&stat_of.st_mtim, &cases[at], sizeof(cases[at]));
        fixture.open.exists = PART_EXISTS_SKIP_IF_SAME;
        assert_int_equal(ask_target(&fixture, 5, name, 1).status, DISK_ALREADY_THERE);
        assert_int_equal(ask_op(&fixture, DISK_CLOSE, 5).status, DISK_OK);
        fixture.open.exists = PART_EXISTS_FAIL;
    }
    fixture_stop(&fixture);
}

static mode_t mode_of(const struct fixture *fixture, const char *name)
{
    struct stat stat_of;
    assert_int_equal(stat(path_of(fixture, name), &stat_of), 0);
    return stat_of.st_mode & 07777;
}

/* Nobody else reads what arrives before it is whole, and then only who may read the source. */
static void disk__files_keep_their_permissions(void **state)
{
    (void)state;
    const struct {
        mode_t source, told, target;
    } cases[] = {{0644, 0644, 0644}, {0600, 0600, 0600},  {0400, 0400, 0400},
                 {0777, 0777, 0777}, {06755, 0755, 0755}, {0, 0, 0600}};
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        struct fixture fixture;
        fixture_start(&fixture, 1, false);
        make_file(&fixture, "source", "x", 1, FIXED_NS);
        assert_int_equal(chmod(path_of(&fixture, "source"), cases[at].source), 0);
        struct disk_reply reply = ask_source(&fixture, 0, "source");
        assert_int_equal(reply.status, DISK_OK);
        assert_int_equal(reply.mode, cases[at].told);
        fixture.open.mode = reply.mode;
        assert_int_equal(ask_target(&fixture, 1, "target", 1).status, DISK_OK);
        assert_int_equal(mode_of(&fixture, "target.part"), 0600);
        assert_int_equal(ask_write(&fixture, 1, (uint8_t[]){'x'}, 1, 0).status, DISK_OK);
        assert_int_equal(mode_of(&fixture, "target.part"), 0600);
        assert_int_equal(ask_op(&fixture, DISK_FINISH, 1).status, DISK_OK);
        assert_int_equal(mode_of(&fixture, "target"), cases[at].target);
        /* A sender's word for more than permissions is not taken. */
        fixture.open.mode = 07777;
        assert_int_equal(ask_target(&fixture, 2, "other", 1).status, DISK_OK);
        assert_int_equal(ask_op(&fixture, DISK_FINISH, 2).status, DISK_OK);
        assert_int_equal(mode_of(&fixture, "other"), 0777);
        fixture_stop(&fixture);
    }
}

static void disk__empty_files(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_start(&fixture, 1, false);
    make_file(&fixture, "source", "", 0, FIXED_NS);
    struct disk_reply reply = ask_source(&fixture, 0, "source");
    assert_int_equal(reply.status, DISK_OK);
    assert_int_equal(reply.size_bytes, 0);
    fixture.open.durable = PART_DURABLE_END;
    assert_int_equal(ask_target(&fixture, 1, "target", 0).status, DISK_OK);
    assert_int_equal(ask_op(&fixture, DISK_FINISH, 1).status, DISK_OK);
    assert_content(&fixture, "target", "", 0);
    fixture_stop(&fixture);
}

static void disk__memory_target_keeps_nothing(void **state)
{
    (void)state;
    struct fixture fixture;
    struct wire_hash hash;
    fixture_start(&fixture, 1, false);
    fixture.open.memory = true;
    assert_int_equal(ask_target(&fixture, 0, "file", 1ULL << 50).status, DISK_OK);
    struct disk_reply reply = ask_write(&fixture, 0, (uint8_t[]){'a', 'b', 'c'}, 3, 0);
    hash_block(PART_HASH_SHA256, (const uint8_t *)"abc", 3, &hash);
    assert_memory_equal(&reply.hash, &hash, sizeof(hash));
    assert_int_equal(ask_op(&fixture, DISK_FINISH, 0).status, DISK_OK);
    assert_false(file_exists(&fixture, "file"));
    uint8_t byte;
    reply = ask_read(&fixture, 0, &byte, 1, 0);
    assert_failed(&reply, "not open for this");
    fixture_stop(&fixture);
}

/* 5 GiB of file, a few blocks of disk. */
static void disk__offsets_beyond_4_gib_and_holes(void **state)
{
    (void)state;
    static uint8_t block[BLOCK], zeros[BLOCK], got[BLOCK];
    const uint64_t offsets[] = {0, (1ULL << 31) - BLOCK, 1ULL << 31, 1ULL << 32, (5ULL << 30) - BLOCK};
    struct fixture fixture;
    struct stat stat_of;
    fixture_start(&fixture, 1, true);
    assert_int_equal(ask_target(&fixture, 0, "big", 5ULL << 30).status, DISK_OK);
    for (size_t at = 0; at < 5; at++) {
        fill(block, BLOCK, offsets[at]);
        assert_int_equal(ask_write(&fixture, 0, block, BLOCK, offsets[at]).status, DISK_OK);
    }
    assert_int_equal(ask_write(&fixture, 0, zeros, BLOCK, 3ULL << 30).status, DISK_OK);
    assert_int_equal(ask_write(&fixture, 0, zeros, BLOCK, 1ULL << 31).status,
                     DISK_OK); /* over other content */
    for (size_t at = 0; at < 5; at++) {
        fill(block, BLOCK, offsets[at]);
        assert_int_equal(ask_read(&fixture, 0, got, BLOCK, offsets[at]).status, DISK_OK);
        assert_memory_equal(got, offsets[at] == 1ULL << 31 ? zeros : block, BLOCK);
    }
    assert_int_equal(ask_op(&fixture, DISK_FINISH, 0).status, DISK_OK);
    assert_int_equal(stat(path_of(&fixture, "big"), &stat_of), 0);
    assert_int_equal(stat_of.st_size, 5ULL << 30);
    assert_true(stat_of.st_blocks * 512 < 8 * (blkcnt_t)BLOCK);
    fixture_stop(&fixture);
}

static void disk__many_blocks_on_four_threads(void **state)
{
    (void)state;
    enum { BLOCKS = 1500, LENGTH = 4096 };
    static uint8_t content[BLOCKS * LENGTH];
    static bool answered[BLOCKS];
    struct fixture fixture;
    struct disk_reply replies[16];
    fixture_start(&fixture, 4, false);
    fill(content, sizeof(content), 4);
    memset(answered, 0, sizeof(answered));
    assert_int_equal(ask_target(&fixture, 9, "file", sizeof(content)).status, DISK_OK);
    uint32_t submitted = 0, collected = 0;
    while (collected < BLOCKS) {
        uint64_t place = (uint64_t)submitted * 7 % BLOCKS; /* 7 and 1500 have no common divisor */
        struct disk_request request = {
            .op = DISK_WRITE, .handle = 9, .length = LENGTH, .offset = place * LENGTH};
        request.cookie = place;
        request.data = content + place * LENGTH;
        if (submitted < BLOCKS && disk_submit(fixture.disk, &request)) {
            submitted++;
            continue;
        }
        uint16_t count = disk_collect(fixture.disk, replies, 16);
        for (uint16_t at = 0; at < count; at++) {
            struct wire_hash hash;
            assert_int_equal(replies[at].status, DISK_OK);
            assert_false(answered[replies[at].cookie]);
            answered[replies[at].cookie] = true;
            hash_block(PART_HASH_SHA256, content + replies[at].cookie * LENGTH, LENGTH, &hash);
            assert_memory_equal(&replies[at].hash, &hash, sizeof(hash));
        }
        collected += count;
        sched_yield();
    }
    assert_int_equal(ask_op(&fixture, DISK_FINISH, 9).status, DISK_OK);
    assert_content(&fixture, "file", content, sizeof(content));
    fixture_stop(&fixture);
}

/* One thread, nothing collected: the queue takes DISK_QUEUE_MAX requests, and disk_stop serves them all. */
static void disk_submit__is_bounded(void **state)
{
    (void)state;
    struct fixture fixture;
    uint8_t byte = 1;
    fixture_start(&fixture, 1, false);
    assert_int_equal(ask_target(&fixture, 0, "file", DISK_QUEUE_MAX).status, DISK_OK);
    uint32_t submitted = 0;
    struct disk_request request = {.op = DISK_WRITE, .handle = 0, .length = 1, .data = &byte};
    while (disk_submit(fixture.disk, &request))
        request.offset = ++submitted;
    assert_int_equal(submitted, DISK_QUEUE_MAX);
    fixture_stop(&fixture);
}

/* Needs no open handle; a second one replaces the first, and nothing but the file is left. */
static void disk__manifest_and_digest(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_start(&fixture, 2, false);
    uint8_t one[] = "{\"one\": 1}", two[] = "{\"two\": 22}", abc[] = "abc";
    struct disk_open open = {.file = "j.manifest.json"};
    snprintf(open.directory, sizeof(open.directory), "%s", fixture.directory);
    struct disk_request request = {
        .op = DISK_MANIFEST, .handle = 3, .data = one, .length = 10, .open = &open};
    struct disk_reply reply = ask(&fixture, &request);
    assert_int_equal(reply.status, DISK_OK);
    assert_string_equal(reply.text, path_of(&fixture, "j.manifest.json"));
    assert_content(&fixture, "j.manifest.json", one, 10);
    request.data = two;
    request.length = 11;
    assert_int_equal(ask(&fixture, &request).status, DISK_OK);
    assert_content(&fixture, "j.manifest.json", two, 11);
    assert_false(file_exists(&fixture, "j.manifest.json.part"));
    snprintf(open.directory, sizeof(open.directory), "%s/nowhere", fixture.directory);
    reply = ask(&fixture, &request);
    assert_failed(&reply, "No such file");
    request = (struct disk_request){.op = DISK_DIGEST, .handle = 3, .data = abc, .length = 3};
    reply = ask(&fixture, &request);
    const uint8_t known[] = {0xba, 0x78, 0x16, 0xbf}; /* FIPS 180-4, example of "abc" */
    assert_memory_equal(reply.hash.bytes, known, 4);
    fixture_stop(&fixture);
}

static void disk_start__refuses_bad_thread_counts(void **state)
{
    (void)state;
    struct err err;
    assert_null(disk_start(&(struct disk_config){.threads = 0}, &err));
    assert_null(disk_start(&(struct disk_config){.threads = DISK_THREADS_MAX + 1}, &err));
    assert_non_null(strstr(err.text, "17 disk threads: expected 1 to 16"));
}

int run_disk_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_block__known_answers),
        cmocka_unit_test(ring__is_bounded_and_ordered),
        cmocka_unit_test(disk__reads_a_source),
        cmocka_unit_test(disk__writes_a_target_by_every_durability),
        cmocka_unit_test(disk__files_keep_their_times),
        cmocka_unit_test(disk__files_keep_their_permissions),
        cmocka_unit_test(disk__empty_files),
        cmocka_unit_test(disk__memory_target_keeps_nothing),
        cmocka_unit_test(disk__offsets_beyond_4_gib_and_holes),
        cmocka_unit_test(disk__many_blocks_on_four_threads),
        cmocka_unit_test(disk_submit__is_bounded),
        cmocka_unit_test(disk__manifest_and_digest),
        cmocka_unit_test(disk_start__refuses_bad_thread_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_disk_tests() + run_place_tests() + run_error_tests() + run_rights_tests() + run_tree_tests() +
           run_tree_receiver_tests() + run_tree_random_tests() + run_replace_tests() + run_lacks_tests() +
           run_stream_tests() + run_sealed_tests() + run_long_tests() + run_hung_tests() + run_rates_tests();
}
