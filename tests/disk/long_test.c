/* What takes long, and what must not wait for it: order and answers of OPEN, FINISH, ABORT and CLOSE. */
#include "fixture.h"

#include <errno.h>
#include <sched.h>
#include <sys/stat.h>

#include "faults.h"

#define SLOW  0 /* the handle whose FINISH takes long */
#define QUICK 1

static struct fixture fixture;

static int start(void **state)
{
    (void)state;
    faults_reset();
    fixture_start(&fixture, 1, false);
    fixture.open.durable = PART_DURABLE_END;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    faults_reset();
    fixture_stop(&fixture);
    return 0;
}

static void submit(enum disk_op op, uint8_t handle)
{
    assert_true(disk_submit(fixture.disk, &(struct disk_request){.op = (uint8_t)op, .handle = handle}));
}

static struct disk_reply await_reply(void)
{
    struct disk_reply reply;
    while (disk_collect(fixture.disk, &reply, 1) == 0)
        sched_yield();
    return reply;
}

/* FINISH of the slow handle stands at its fsync. */
static void hold_finish(void)
{
    assert_int_equal(ask_target(&fixture, SLOW, "slow", 1).status, DISK_OK);
    assert_int_equal(ask_write(&fixture, SLOW, (uint8_t[]){'s'}, 1, 0).status, DISK_OK);
    faults_close_gate();
    submit(DISK_FINISH, SLOW);
    faults_await_at_gate();
}

/* Without a thread of its own the first of these would never be answered. */
static void finish__long_fsync_holds_up_nobody_else(void **state)
{
    (void)state;
    uint8_t data[4] = "abc", got[4] = "";
    assert_int_equal(ask_target(&fixture, QUICK, "quick", 3).status, DISK_OK);
    hold_finish();
    assert_int_equal(ask_write(&fixture, QUICK, data, 3, 0).status, DISK_OK);
    assert_int_equal(ask_read(&fixture, QUICK, got, 3, 0).status, DISK_OK);
    assert_memory_equal(got, data, 3);
    fixture.open.durable = PART_DURABLE_NONE;
    for (uint8_t handle = 2; handle < DISK_HANDLES_MAX; handle++) {
        char name[16];
        snprintf(name, sizeof(name), "file-%u", handle);
        assert_int_equal(ask_target(&fixture, handle, name, 1).status, DISK_OK);
        assert_int_equal(ask_op(&fixture, DISK_FINISH, handle).status, DISK_OK);
        assert_int_equal(ask_op(&fixture, DISK_CLOSE, handle).status, DISK_OK);
    }
    assert_int_equal(ask_op(&fixture, DISK_ABORT, QUICK).status, DISK_OK);
    assert_false(file_exists(&fixture, "quick.part"));
    faults_open_gate();
    struct disk_reply reply = await_reply();
    assert_int_equal(reply.op, DISK_FINISH);
    assert_int_equal(reply.handle, SLOW);
    assert_int_equal(reply.status, DISK_OK);
    assert_content(&fixture, "slow", "s", 1);
}

/* Order within one handle, and the truth about its end: an ABORT behind a FINISH does not undo it. */
static void abort__behind_finish_tells_that_name_is_there(void **state)
{
    (void)state;
    const struct {
        int error;
        enum disk_status finish, abort;
        bool name;
    } cases[] = {{0, DISK_OK, DISK_ALREADY_THERE, true}, {EIO, DISK_FAILED, DISK_OK, false}};
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        fixture.open.exists = PART_EXISTS_REPLACE;
        if (file_exists(&fixture, "slow"))
            assert_int_equal(remove(path_of(&fixture, "slow")), 0);
        hold_finish();
        submit(DISK_ABORT, SLOW);
        submit(DISK_CLOSE, SLOW);
        submit(DISK_DIGEST, QUICK);
        assert_int_equal(await_reply().op, DISK_DIGEST);
        faults_fail_sync(cases[at].error);
        faults_open_gate();
        const enum disk_op ops[] = {DISK_FINISH, DISK_ABORT, DISK_CLOSE};
        const enum disk_status expected[] = {cases[at].finish, cases[at].abort, DISK_OK};
        for (size_t step = 0; step < 3; step++) {
            struct disk_reply reply = await_reply();
            assert_int_equal(reply.op, ops[step]);
            assert_int_equal(reply.status, expected[step]);
        }
        assert_int_equal(file_exists(&fixture, "slow"), cases[at].name);
        assert_false(file_exists(&fixture, "slow.part"));
    }
}

/* Whatever failed, NAME.part can still be removed, and its handle used anew. */
static void abort__after_a_failed_finish_leaves_nothing(void **state)
{
    (void)state;
    assert_int_equal(ask_target(&fixture, SLOW, "file", 1).status, DISK_OK);
    faults_fail_sync(EIO);
    struct disk_reply reply = ask_op(&fixture, DISK_FINISH, SLOW);
    assert_failed(&reply, "fsync");
    faults_fail_sync(0);
    reply = ask_op(&fixture, DISK_FINISH, SLOW);
    assert_failed(&reply, "an earlier fsync failed");
    assert_true(file_exists(&fixture, "file.part"));
    assert_int_equal(ask_op(&fixture, DISK_ABORT, SLOW).status, DISK_OK);
    assert_int_equal(ask_op(&fixture, DISK_CLOSE, SLOW).status, DISK_OK);
    assert_false(file_exists(&fixture, "file.part"));
    assert_false(file_exists(&fixture, "file"));
    assert_int_equal(ask_target(&fixture, SLOW, "file", 1).status, DISK_OK);
    assert_int_equal(ask_op(&fixture, DISK_FINISH, SLOW).status, DISK_OK);
}

/* The same for a directory, whose syncfs fails: nothing tells any more what is on the disk. */
static void abort__after_a_failed_finish_of_a_directory(void **state)
{
    (void)state;
    static uint8_t index[4 * KB];
    assert_int_equal(mkdir(path_of(&fixture, "from"), 0755), 0);
    struct disk_reply reply = ask_source(&fixture, QUICK, "from");
    assert_int_equal(reply.status, DISK_OK);
    uint32_t length = (uint32_t)reply.size_bytes;
    fixture.open.object = reply.object;
    fixture.open.index_bytes = reply.index_bytes;
    fixture.open.index_hash = reply.index_hash;
    assert_int_equal(ask_read(&fixture, QUICK, index, length, 0).status, DISK_OK);
    assert_int_equal(ask_target(&fixture, SLOW, "to", length).status, DISK_OK);
    assert_int_equal(ask_write(&fixture, SLOW, index, length, 0).status, DISK_OK);
    faults_fail_sync(EIO);
    reply = ask_op(&fixture, DISK_FINISH, SLOW);
    assert_failed(&reply, "syncfs");
    faults_fail_sync(0);
    reply = ask_op(&fixture, DISK_FINISH, SLOW);
    assert_failed(&reply, "an earlier syncfs failed");
    assert_int_equal(ask_op(&fixture, DISK_ABORT, SLOW).status, DISK_OK);
    assert_int_equal(ask_op(&fixture, DISK_CLOSE, SLOW).status, DISK_OK);
    assert_false(file_exists(&fixture, "to.part"));
    assert_false(file_exists(&fixture, "to"));
}

int run_long_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finish__long_fsync_holds_up_nobody_else, start, stop),
        cmocka_unit_test_setup_teardown(abort__behind_finish_tells_that_name_is_there, start, stop),
        cmocka_unit_test_setup_teardown(abort__after_a_failed_finish_leaves_nothing, start, stop),
        cmocka_unit_test_setup_teardown(abort__after_a_failed_finish_of_a_directory, start, stop),
    };
    return cmocka_run_group_tests_name("disk long", tests, NULL, NULL);
}
