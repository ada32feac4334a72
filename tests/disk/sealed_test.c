/* Blocks that lie sealed in memory: what the disk seals and opens, and what it hashes. */
#include <stdlib.h>
#include <unistd.h>

#include "base/rng.h"
#include "disk/hash.h"
#include "base/units.h"
#include "fixture.h"
#include "sizes/nonces.h"
#include "sizes/sizes.h"
#include "store/stream.h"
#include "wire/ethernet.h"

#define SYMBOL  1024u
#define SYMBOLS 40u
#define LENGTH  (39 * SYMBOL + 5)
#define FIRST   77000ULL /* the number of the block's first symbol */

static uint8_t text[SYMBOLS * SYMBOL], data[SYMBOLS * SYMBOL], tags[SYMBOLS * SEAL_TAG_BYTES];
static uint16_t sums[SYMBOLS];
static const struct body_secret secret = {
    .bytes = "known to those who have the job", .job = 7, .symbol_bytes = SYMBOL, .block_symbols = SYMBOLS};

static struct disk_request request_of(enum disk_op op, uint8_t handle)
{
    return (struct disk_request){.op = (uint8_t)op,
                                 .handle = handle,
                                 .length = LENGTH,
                                 .data = data,
                                 .symbol_bytes = SYMBOL,
                                 .sealed = {&secret, FIRST, tags, sums}};
}

static void begin(struct fixture *fixture)
{
    struct rng rng;
    rng_init(&rng, 3);
    nonces_forget(); /* each test has the same secret */
    for (size_t at = 0; at < sizeof(text); at++)
        text[at] = (uint8_t)rng_next(&rng);
    fixture_start(fixture, 1, false);
}

/* What lies in memory opens to the text, with the sums of its symbols. */
static void assert_sealed(size_t length)
{
    static uint8_t opened[sizeof(data)];
    struct body_cipher cipher = {0};
    body_cipher_init(&cipher, &sizes_primitives);
    assert_memory_not_equal(data, text, 16);
    assert_true(body_open(&cipher, &secret, FIRST, data, length, opened, tags));
    assert_memory_equal(opened, text, length);
    for (size_t at = 0; at < length; at += SYMBOL)
        assert_int_equal(sums[at / SYMBOL], checksum_of(data + at, MIN(length - at, (size_t)SYMBOL)));
}

static void sealed__is_read_and_written(void **state)
{
    (void)state;
    struct fixture fixture;
    struct wire_hash hash;
    begin(&fixture);
    make_file(&fixture, "source", text, LENGTH, FIXED_NS);
    assert_int_equal(ask_source(&fixture, 1, "source").status, DISK_OK);
    struct disk_request request = request_of(DISK_READ, 1);
    struct disk_reply reply = ask(&fixture, &request);
    assert_int_equal(reply.status, DISK_OK);
    hash_block(PART_HASH_SHA256, text, LENGTH, &hash);
    assert_memory_equal(&reply.hash, &hash, sizeof(hash));
    assert_sealed(LENGTH);
    assert_int_equal(ask_target(&fixture, 2, "copy", LENGTH).status, DISK_OK);
    request = request_of(DISK_WRITE, 2);
    reply = ask(&fixture, &request);
    assert_int_equal(reply.status, DISK_OK);
    assert_memory_equal(&reply.hash, &hash, sizeof(hash));
    assert_sealed(LENGTH); /* it is sent to children from there meanwhile */
    assert_int_equal(ask_op(&fixture, DISK_FINISH, 2).status, DISK_OK);
    assert_content(&fixture, "copy", text, LENGTH);
    fixture_stop(&fixture);
}

static void sealed__what_does_not_open_is_another_block(void **state)
{
    (void)state;
    struct fixture fixture;
    struct wire_hash hash;
    begin(&fixture);
    make_file(&fixture, "source", text, LENGTH, FIXED_NS);
    assert_int_equal(ask_source(&fixture, 1, "source").status, DISK_OK);
    struct disk_request request = request_of(DISK_READ, 1);
    assert_int_equal(ask(&fixture, &request).status, DISK_OK);
    data[3 * SYMBOL] ^= 1;
    assert_int_equal(ask_target(&fixture, 2, "copy", LENGTH).status, DISK_OK);
    request = request_of(DISK_WRITE, 2);
    struct disk_reply reply = ask(&fixture, &request);
    assert_int_equal(reply.status, DISK_OK);
    memset(&hash, 0, sizeof(hash));
    assert_memory_equal(&reply.hash, &hash, sizeof(hash));
    fixture_stop(&fixture);
}

/* A stream's block comes and goes by several requests; its hash is that of the records in the clear. */
static void sealed__streams(void **state)
{
    (void)state;
    struct fixture fixture;
    struct disk_reply fed = {0}, drained = {0};
    uint32_t payload = stream_payload_bytes(SYMBOL);
    begin(&fixture);
    fixture.open.object = PART_OBJECT_STREAM;
    make_file(&fixture, "input", text, 30 * payload, FIXED_NS);
    assert_int_equal(ask_source(&fixture, 1, "input").status, DISK_OK);
    struct disk_request request = request_of(DISK_FEED, 1);
    request.block_symbols = 30;
    for (request.first = 0; request.first < 30; request.first = (uint16_t)(request.first + fed.symbols)) {
        request.count = request.first < 10 ? 10 : (uint16_t)(30 - request.first);
        fed = ask(&fixture, &request);
        assert_in_range(fed.status, DISK_OK, DISK_ENDED);
    }
    assert_int_equal(ask_target(&fixture, 2, "output", 0).status, DISK_OK);
    request = request_of(DISK_DRAIN, 2);
    for (request.first = 0; request.first < 30; request.first = (uint16_t)(request.first + 15)) {
        request.count = 15;
        request.block_symbols = request.first == 15 ? 30 : 0;
        drained = ask(&fixture, &request);
        assert_int_equal(drained.status, DISK_OK);
    }
    assert_memory_equal(&drained.hash, &fed.hash, sizeof(fed.hash));
    assert_int_equal(ask_op(&fixture, DISK_FINISH, 2).status, DISK_OK);
    assert_content(&fixture, "output", text, 30 * payload);
    assert_memory_not_equal(data + STREAM_HEAD_BYTES, text, 14);
    fixture_stop(&fixture);
}

int run_sealed_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sealed__is_read_and_written),
        cmocka_unit_test(sealed__what_does_not_open_is_another_block),
        cmocka_unit_test(sealed__streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
