/* Whose writes wait while the disk has many, and in which order what is queued leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "node/core/disk_queue.h"

#define SLOTS 16
#define ROOM  32

static struct disk_queue queue;
static struct disk_request popped[ROOM];

static int start(void **state)
{
    (void)state;
    memset(&queue, 0, sizeof(queue));
    queue.slots = SLOTS;
    return 0;
}

static void push(uint8_t op, uint8_t handle, uint64_t first, uint64_t count)
{
    for (uint64_t cookie = first; cookie < first + count; cookie++)
        disk_queue_push(&queue, &(struct disk_request){.op = op, .handle = handle, .cookie = cookie});
}

static void expect_pop(uint16_t room, uint16_t count)
{
    assert_int_equal(disk_queue_pop(&queue, popped, room), count);
}

static void expect(uint16_t at, uint8_t op, uint8_t handle, uint64_t cookie)
{
    assert_int_equal(popped[at].op, op);
    assert_int_equal(popped[at].handle, handle);
    assert_int_equal(popped[at].cookie, cookie);
}

static uint16_t done(uint8_t op, uint8_t handle)
{
    return disk_queue_done(&queue, &(struct disk_reply){.op = op, .handle = handle});
}

/* Half of the slots: what waits is passed by others and keeps its order. */
static void disk_queue_pop__writes_of_one_job_leave_slots(void **state)
{
    (void)state;
    push(DISK_WRITE, 0, 0, 12);
    push(DISK_FINISH, 1, 100, 1);
    push(DISK_WRITE, 2, 200, 3);
    expect_pop(4, 4); /* a small room changes nothing */
    expect_pop(ROOM, 8);
    expect(0, DISK_WRITE, 0, 4);
    expect(3, DISK_WRITE, 0, 7);
    expect(4, DISK_FINISH, 1, 100);
    expect(5, DISK_WRITE, 2, 200);
    expect(7, DISK_WRITE, 2, 202);
    assert_false(disk_queue_ready(&queue));
    assert_false(disk_queue_empty(&queue));
    expect_pop(ROOM, 0);
    done(DISK_FINISH, 1);
    assert_false(disk_queue_ready(&queue));
    done(DISK_WRITE, 0);
    expect_pop(ROOM, 1);
    expect(0, DISK_WRITE, 0, 8);
    push(DISK_READ, 0, 300, 1); /* reads never wait */
    expect_pop(ROOM, 1);
    expect(0, DISK_READ, 0, 300);
}

/* A handle waits for its turn while what the disk had before is answered; while only what came later is, it hangs. */
static void disk_queue_done__tells_who_waits_his_turn(void **state)
{
    (void)state;
    push(DISK_READ, 0, 0, 2);
    push(DISK_WRITE, 1, 100, 1);
    push(DISK_WRITE, 2, 200, 2);
    push(DISK_FINISH, 3, 300, 1);
    expect_pop(ROOM, 6);
    assert_int_equal(done(DISK_FINISH, 3), 0);
    assert_int_equal(done(DISK_READ, 0), 1u << 1 | 1u << 2);
    push(DISK_READ, 0, 2, 1);
    expect_pop(ROOM, 1);
    assert_int_equal(done(DISK_READ, 0), 1u << 1 | 1u << 2);
    assert_int_equal(done(DISK_WRITE, 2), 1u << 0); /* handle 1 has had its turn, and hangs */
    assert_int_equal(done(DISK_READ, 0), 1u << 2);
    assert_int_equal(done(DISK_WRITE, 1), 1u << 2);
    assert_int_equal(done(DISK_WRITE, 2), 0);
}

/* Three quarters in all, and two of each job whatever others have there. */
static void disk_queue_pop__writes_of_all_jobs_leave_slots(void **state)
{
    (void)state;
    push(DISK_WRITE, 0, 0, 8);
    push(DISK_WRITE, 1, 100, 5);
    push(DISK_WRITE, 2, 200, 3);
    expect_pop(ROOM, 8 + 4 + 2);
    expect(11, DISK_WRITE, 1, 103);
    expect(12, DISK_WRITE, 2, 200);
    expect(13, DISK_WRITE, 2, 201);
    done(DISK_WRITE, 2);
    expect_pop(ROOM, 1);
    expect(0, DISK_WRITE, 2, 202);
}

static void disk_queue_withdraw__takes_the_oldest_of_the_job(void **state)
{
    (void)state;
    struct disk_request request;
    push(DISK_READ, 1, 1, 1);
    push(DISK_WRITE, 0, 2, 1);
    push(DISK_WRITE, 1, 3, 2);
    push(DISK_FINISH, 0, 5, 1);
    assert_true(disk_queue_withdraw(&queue, 1, &request));
    assert_int_equal(request.cookie, 3);
    assert_true(disk_queue_withdraw(&queue, 1, &request));
    assert_int_equal(request.cookie, 4);
    assert_false(disk_queue_withdraw(&queue, 1, &request));
    expect_pop(ROOM, 3);
    expect(0, DISK_READ, 1, 1);
    expect(1, DISK_WRITE, 0, 2);
    expect(2, DISK_FINISH, 0, 5);
    assert_true(disk_queue_empty(&queue));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(disk_queue_pop__writes_of_one_job_leave_slots, start),
        cmocka_unit_test_setup(disk_queue_pop__writes_of_all_jobs_leave_slots, start),
        cmocka_unit_test_setup(disk_queue_done__tells_who_waits_his_turn, start),
        cmocka_unit_test_setup(disk_queue_withdraw__takes_the_oldest_of_the_job, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
