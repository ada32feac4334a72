/* Streams at the disk: what FEED makes of bytes as they come, what DRAIN makes of records. Waiting is for the
 * other end of a pipe, never for a time: with a flush of an hour nothing leaves before its symbol is full. */
#include "fixture.h"

#include "faults.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/units.h"
#include "disk/hash.h"
#include "store/stream.h"

#define SYMBOL        102 /* 100 bytes of payload */
#define BLOCK_SYMBOLS 8
#define HOUR_NS       (3600 * NS_PER_S)

static uint8_t block[SYMBOL * BLOCK_SYMBOLS];

static struct disk_request feed_of(uint16_t first)
{
    return (struct disk_request){.op = DISK_FEED,
                                 .data = block,
                                 .symbol_bytes = SYMBOL,
                                 .first = first,
                                 .count = (uint16_t)(BLOCK_SYMBOLS - first),
                                 .block_symbols = BLOCK_SYMBOLS};
}

static struct disk_request drain_of(uint16_t first, uint16_t count, bool whole)
{
    return (struct disk_request){.op = DISK_DRAIN,
                                 .data = block,
                                 .symbol_bytes = SYMBOL,
                                 .first = first,
                                 .count = count,
                                 .block_symbols = (uint16_t)(whole ? first + count : 0)};
}

static struct disk_reply collect(struct fixture *fixture)
{
    struct disk_reply reply;
    while (disk_collect(fixture->disk, &reply, 1) == 0)
        sched_yield();
    return reply;
}

static void start(struct fixture *fixture, uint64_t flush_ns)
{
    fixture_start(fixture, 1, false);
    fixture->open.object = PART_OBJECT_STREAM;
    fixture->open.flush_ns = flush_ns;
    memset(block, 0xee, sizeof(block));
}

/* A FIFO with its reader open as the job's input; returns the writer's end. */
static int open_fifo(struct fixture *fixture)
{
    assert_int_equal(mkfifo(path_of(fixture, "in"), 0600), 0);
    assert_int_equal(ask_source(fixture, 0, "in").status, DISK_OK);
    int fd = open(path_of(fixture, "in"), O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void put(int fd, const char *bytes, size_t length)
{
    assert_int_equal(write(fd, bytes, length), length);
}

static const char *digits(void)
{
    static char text[BLOCK_SYMBOLS * 100 + 1];
    for (size_t at = 0; at < sizeof(text) - 1; at++)
        text[at] = (char)('0' + at % 7);
    return text;
}

static void assert_record(uint32_t at, const char *bytes, uint32_t length)
{
    const uint8_t *symbol = block + (size_t)at * SYMBOL;
    assert_int_equal(stream_record_bytes(symbol), length);
    assert_memory_equal(symbol + STREAM_HEAD_BYTES, bytes, length);
    for (uint32_t rest = STREAM_HEAD_BYTES + length; rest < SYMBOL; rest++)
        assert_int_equal(symbol[rest], 0);
}

static void feed__carries_what_is_behind_a_full_symbol(void **state)
{
    struct fixture fixture;
    (void)state;
    start(&fixture, HOUR_NS);
    int fd = open_fifo(&fixture);
    put(fd, digits(), 230);
    struct disk_request request = feed_of(0);
    struct disk_reply reply = ask(&fixture, &request);
    assert_int_equal(reply.status, DISK_OK);
    assert_int_equal(reply.symbols, 2);
    assert_int_equal(reply.size_bytes, 200);
    assert_record(1, digits() + 100, 100);
    request = feed_of(2);
    assert_true(disk_submit(fixture.disk, &request)); /* 30 bytes are there, and wait */
    put(fd, digits() + 230, 70);
    reply = collect(&fixture);
    assert_int_equal(reply.symbols, 1);
    assert_record(2, digits() + 200, 100);
    close(fd);
    ask_op(&fixture, DISK_CLOSE, 0);
    fixture_stop(&fixture);
}

static void feed__ends_within_a_symbol(void **state)
{
    struct fixture fixture;
    struct wire_hash hash, chain = {0};
    (void)state;
    start(&fixture, HOUR_NS);
    int fd = open_fifo(&fixture);
    struct disk_request request = feed_of(0);
    assert_true(disk_submit(fixture.disk, &request));
    put(fd, "abc", 3);
    close(fd);
    struct disk_reply reply = collect(&fixture);
    assert_int_equal(reply.status, DISK_ENDED);
    assert_int_equal(reply.symbols, 1);
    assert_int_equal(reply.size_bytes, 3);
    assert_record(0, "abc", 3);
    hash_block(PART_HASH_SHA256, block, SYMBOL, &hash);
    assert_memory_equal(&reply.hash, &hash, sizeof(hash));
    hash_chain(PART_HASH_SHA256, &chain, &hash);
    reply = ask_op(&fixture, DISK_FINISH, 0);
    assert_memory_equal(&reply.hash, &chain, sizeof(chain));
    ask_op(&fixture, DISK_CLOSE, 0);
    fixture_stop(&fixture);
}

/* A socket as the job's input, "abc" and its end in it. */
static struct disk_reply feed_by_socket(struct fixture *fixture, bool fed, bool told)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(name_copy(address.sun_path, sizeof(address.sun_path), path_of(fixture, "socket")));
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 1), 0);
    fixture->open.fed = fed;
    assert_int_equal(ask_source(fixture, 0, "socket").status, DISK_OK);
    int fd = accept(listener, NULL, NULL);
    assert_true(fd >= 0);
    put(fd, "abc", 3);
    assert_int_equal(told ? shutdown(fd, SHUT_WR) : close(fd), 0);
    struct disk_request request = feed_of(0);
    struct disk_reply reply = ask(fixture, &request);
    if (told)
        close(fd);
    close(listener);
    assert_int_equal(unlink(path_of(fixture, "socket")), 0);
    ask_op(fixture, DISK_CLOSE, 0);
    return reply;
}

/* Whoever feeds a job and dies has not told its end; a socket that nobody promised this of ends as a pipe does. */
static void feed__of_a_client_has_an_end_that_is_told(void **state)
{
    struct fixture fixture;
    (void)state;
    start(&fixture, HOUR_NS);
    struct disk_reply reply = feed_by_socket(&fixture, true, true);
    assert_int_equal(reply.status, DISK_ENDED);
    assert_int_equal(reply.size_bytes, 3);
    reply = feed_by_socket(&fixture, true, false);
    assert_failed(&reply, "went away without telling its end");
    assert_int_equal(feed_by_socket(&fixture, false, true).status, DISK_ENDED);
    assert_int_equal(feed_by_socket(&fixture, false, false).status, DISK_ENDED);
    fixture.open.fed = true;
    make_file(&fixture, "file", "abc", 3, FIXED_NS);
    reply = ask_source(&fixture, 0, "file");
    assert_failed(&reply, "no socket, which a client's input must be");
    fixture_stop(&fixture);
}

static void feed__flushes_what_is_old(void **state)
{
    struct fixture fixture;
    (void)state;
    start(&fixture, 0);
    int fd = open_fifo(&fixture);
    put(fd, "x", 1);
    struct disk_request request = feed_of(3);
    struct disk_reply reply = ask(&fixture, &request);
    assert_int_equal(reply.status, DISK_OK);
    assert_int_equal(reply.symbols, 1);
    assert_record(3, "x", 1);
    close(fd);
    ask_op(&fixture, DISK_CLOSE, 0);
    fixture_stop(&fixture);
}

static void feed__empty_input(void **state)
{
    struct fixture fixture;
    const struct wire_hash zeros = {0};
    (void)state;
    start(&fixture, HOUR_NS);
    close(open_fifo(&fixture));
    struct disk_request request = feed_of(0);
    struct disk_reply reply = ask(&fixture, &request);
    assert_int_equal(reply.status, DISK_ENDED);
    assert_int_equal(reply.symbols, 0);
    reply = ask_op(&fixture, DISK_FINISH, 0);
    assert_memory_equal(&reply.hash, &zeros, sizeof(zeros));
    ask_op(&fixture, DISK_CLOSE, 0);
    fixture_stop(&fixture);
}

/* Nobody writes, nobody has opened it: FEED waits, ABORT ends it; both are answered, in this order. */
static void abort__ends_what_waits(void **state)
{
    struct fixture fixture;
    (void)state;
    start(&fixture, HOUR_NS);
    assert_int_equal(mkfifo(path_of(&fixture, "in"), 0600), 0);
    assert_int_equal(ask_source(&fixture, 0, "in").status, DISK_OK);
    struct disk_request request = feed_of(0);
    assert_true(disk_submit(fixture.disk, &request));
    const struct disk_request abort = {.op = DISK_ABORT};
    assert_true(disk_submit(fixture.disk, &abort));
    struct disk_reply reply = collect(&fixture);
    assert_int_equal(reply.op, DISK_FEED);
    assert_failed(&reply, "interrupted");
    assert_int_equal(collect(&fixture).op, DISK_ABORT);
    ask_op(&fixture, DISK_CLOSE, 0);
    fixture_stop(&fixture);
}

static void make_records(const uint32_t lengths[BLOCK_SYMBOLS])
{
    const char *text = digits();
    for (uint32_t at = 0; at < BLOCK_SYMBOLS; at++) {
        uint8_t *symbol = block + (size_t)at * SYMBOL;
        memcpy(symbol + STREAM_HEAD_BYTES, text, lengths[at]);
        stream_record_close(symbol, SYMBOL, lengths[at]);
        text += lengths[at];
    }
}

static void drain__records_of_any_length_to_a_file(void **state)
{
    struct fixture fixture;
    const uint32_t lengths[BLOCK_SYMBOLS] = {100, 0, 1, 100, 0, 0, 99, 0};
    (void)state;
    start(&fixture, 0);
    make_records(lengths);
    assert_int_equal(ask_target(&fixture, 0, "out", 0).status, DISK_OK);
    struct disk_request request = drain_of(0, 3, false);
    assert_int_equal(ask(&fixture, &request).size_bytes, 101);
    request = drain_of(3, 5, true);
    assert_int_equal(ask(&fixture, &request).size_bytes, 199);
    request = drain_of(8, 0, true); /* the end of the stream may end a block that is out already */
    assert_int_equal(ask(&fixture, &request).size_bytes, 0);
    assert_false(file_exists(&fixture, "out"));
    assert_int_equal(ask_op(&fixture, DISK_FINISH, 0).status, DISK_OK);
    assert_content(&fixture, "out", digits(), 300);
    ask_op(&fixture, DISK_CLOSE, 0);
    struct disk_reply reply = ask_target(&fixture, 0, "out", 0);
    assert_failed(&reply, "is there already");
    fixture_stop(&fixture);
}

static void drain__aborted_recording_goes(void **state)
{
    struct fixture fixture;
    (void)state;
    start(&fixture, 0);
    assert_int_equal(ask_target(&fixture, 0, "out", 0).status, DISK_OK);
    assert_true(file_exists(&fixture, "out.part"));
    assert_int_equal(ask_op(&fixture, DISK_ABORT, 0).status, DISK_OK);
    assert_false(file_exists(&fixture, "out.part"));
    ask_op(&fixture, DISK_CLOSE, 0);
    fixture_stop(&fixture);
}

static void drain__lying_record(void **state)
{
    struct fixture fixture;
    const uint32_t lengths[BLOCK_SYMBOLS] = {100, 100, 100, 100, 100, 100, 100, 100};
    (void)state;
    start(&fixture, 0);
    make_records(lengths);
    store_be16(block + SYMBOL, 101);
    assert_int_equal(ask_target(&fixture, 0, "out", 0).status, DISK_OK);
    struct disk_request request = drain_of(0, BLOCK_SYMBOLS, true);
    struct disk_reply reply = ask(&fixture, &request);
    assert_failed(&reply, "claims more than it holds");
    ask_op(&fixture, DISK_CLOSE, 0);
    fixture_stop(&fixture);
}

static void drain__waits_for_a_reader_and_notices_when_it_goes(void **state)
{
    struct fixture fixture;
    char got[300];
    const uint32_t lengths[BLOCK_SYMBOLS] = {100, 100, 100};
    (void)state;
    start(&fixture, 0);
    make_records(lengths);
    assert_int_equal(mkfifo(path_of(&fixture, "out"), 0600), 0);
    assert_int_equal(ask_target(&fixture, 0, "out", 0).status, DISK_OK);
    struct disk_request request = drain_of(0, 3, false);
    assert_true(disk_submit(fixture.disk, &request));
    int fd = open(path_of(&fixture, "out"), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(collect(&fixture).size_bytes, 300);
    assert_int_equal(read(fd, got, sizeof(got)), 300);
    assert_memory_equal(got, digits(), 300);
    close(fd);
    struct disk_reply reply = ask(&fixture, &request);
    assert_failed(&reply, "the reader went away");
    ask_op(&fixture, DISK_CLOSE, 0);
    fixture_stop(&fixture);
}

static void open__what_is_no_end_of_a_stream(void **state)
{
    struct fixture fixture;
    (void)state;
    start(&fixture, 0);
    assert_int_equal(mkdir(path_of(&fixture, "folder"), 0700), 0);
    assert_int_equal(symlink("/dev/null", path_of(&fixture, "link")), 0);
    struct disk_reply reply = ask_source(&fixture, 0, "folder");
    assert_failed(&reply, "a directory is no stream");
    reply = ask_source(&fixture, 0, "none");
    assert_failed(&reply, "No such file");
    reply = ask_target(&fixture, 0, "folder", 0);
    assert_failed(&reply, "no FIFO, socket or device");
    reply = ask_target(&fixture, 0, "link", 0);
    assert_failed(&reply, "no FIFO, socket or device");
    reply = ask_target(&fixture, 0, "../out", 0);
    assert_failed(&reply, "not a path below");
    fixture_stop(&fixture);
}

/* While the end of one recording waits for its filesystem, others are opened, written and ended. */
static void finish__of_one_holds_no_other(void **state)
{
    struct fixture fixture;
    const uint32_t lengths[BLOCK_SYMBOLS] = {100, 0, 1, 100, 0, 0, 99, 0};
    (void)state;
    start(&fixture, 0);
    make_records(lengths);
    fixture.open.durable = PART_DURABLE_END;
    assert_int_equal(ask_target(&fixture, 0, "stuck", 0).status, DISK_OK);
    faults_close_gate();
    assert_true(disk_submit(fixture.disk, &(struct disk_request){.op = DISK_FINISH, .handle = 0}));
    faults_await_at_gate();
    fixture.open.durable = PART_DURABLE_NONE;
    for (uint8_t handle = 1; handle < DISK_STREAMS_MAX; handle++) {
        char name[8];
        snprintf(name, sizeof(name), "out%u", handle);
        assert_int_equal(ask_target(&fixture, handle, name, 0).status, DISK_OK);
        struct disk_request request = drain_of(0, BLOCK_SYMBOLS, true);
        request.handle = handle;
        assert_int_equal(ask(&fixture, &request).size_bytes, 300);
        assert_int_equal(ask_op(&fixture, DISK_FINISH, handle).status, DISK_OK);
        assert_content(&fixture, name, digits(), 300);
        ask_op(&fixture, DISK_CLOSE, handle);
    }
    faults_open_gate();
    assert_int_equal(collect(&fixture).handle, 0);
    ask_op(&fixture, DISK_CLOSE, 0);
    faults_reset();
    fixture_stop(&fixture);
}

/* A disk that is stopped in the middle answers for everything and forgets nothing. */
static void stop__with_requests_that_wait(void **state)
{
    struct fixture fixture;
    (void)state;
    start(&fixture, HOUR_NS);
    assert_int_equal(mkfifo(path_of(&fixture, "in"), 0600), 0);
    assert_int_equal(ask_source(&fixture, 0, "in").status, DISK_OK);
    struct disk_request request = feed_of(0);
    assert_true(disk_submit(fixture.disk, &request));
    fixture_stop(&fixture);
}

int run_stream_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(feed__carries_what_is_behind_a_full_symbol),
        cmocka_unit_test(feed__ends_within_a_symbol),
        cmocka_unit_test(feed__of_a_client_has_an_end_that_is_told),
        cmocka_unit_test(feed__flushes_what_is_old),
        cmocka_unit_test(feed__empty_input),
        cmocka_unit_test(abort__ends_what_waits),
        cmocka_unit_test(drain__records_of_any_length_to_a_file),
        cmocka_unit_test(drain__aborted_recording_goes),
        cmocka_unit_test(drain__lying_record),
        cmocka_unit_test(drain__waits_for_a_reader_and_notices_when_it_goes),
        cmocka_unit_test(open__what_is_no_end_of_a_stream),
        cmocka_unit_test(finish__of_one_holds_no_other),
        cmocka_unit_test(stop__with_requests_that_wait),
    };
    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
