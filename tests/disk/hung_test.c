/* One filesystem hangs: whose requests wait then, and what is told of it. The hung one is /dev/shm, the
 * other that of /tmp; where they are the same the tests are skipped. */
#include "fixture.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "disk/lanes.h"
#include "faults.h"

#define HUNG        0 /* the handles from here on lie on what hangs */
#define OTHER       40
#define THREADS     2
#define WRITES      6
#define PATIENCE_NS (10 * NS_PER_S) /* a test that fails ends */

static struct fixture fixture;
static char hung_directory[64];
static dev_t hung_device;
static uint32_t cpu; /* where all threads run: the last one, of number 0 only where there is no other */
static cpu_set_t permitted;

static void pin(void)
{
    cpu_set_t one;
    assert_int_equal(sched_getaffinity(0, sizeof(permitted), &permitted), 0);
    for (uint32_t number = 0; number < CPU_SETSIZE; number++)
        cpu = CPU_ISSET(number, &permitted) ? number : cpu;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

static int start(void **state)
{
    (void)state;
    struct stat hung, other;
    pin();
    fixture_start(&fixture, THREADS, false);
    snprintf(hung_directory, sizeof(hung_directory), "/dev/shm/disk-test-XXXXXX");
    hung_device = 0;
    if (mkdtemp(hung_directory) == NULL)
        return 0;
    assert_int_equal(stat(hung_directory, &hung), 0);
    assert_int_equal(stat(fixture.directory, &other), 0);
    hung_device = hung.st_dev == other.st_dev ? 0 : hung.st_dev;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    faults_reset();
    fixture_stop(&fixture);
    (void)sched_setaffinity(0, sizeof(permitted), &permitted);
    (void)rmdir(hung_directory);
    return 0;
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

/* Fails instead of waiting for ever. */
static struct disk_reply await(void)
{
    struct disk_reply reply;
    uint64_t end_ns = now_ns() + PATIENCE_NS;
    while (disk_collect(fixture.disk, &reply, 1) == 0) {
        if (now_ns() > end_ns)
            fail_msg("it waits for what hangs");
        sched_yield();
    }
    return reply;
}

static struct disk_reply ask_in_time(struct disk_request *request, uint8_t handle)
{
    request->handle = handle;
    request->open = &fixture.open;
    assert_true(disk_submit(fixture.disk, request));
    struct disk_reply reply = await();
    assert_int_equal(reply.handle, handle);
    assert_int_equal(reply.op, request->op);
    return reply;
}

static struct disk_reply op_in_time(enum disk_op op, uint8_t handle)
{
    struct disk_request request = {.op = (uint8_t)op};
    return ask_in_time(&request, handle);
}

static void open_on_hung(uint8_t handle)
{
    snprintf(fixture.open.directory, PATH_BYTES, "%s", hung_directory);
    snprintf(fixture.open.file, PATH_BYTES, "file%u", handle);
    fixture.open.size_bytes = WRITES;
    assert_int_equal(ask_op(&fixture, DISK_OPEN_TARGET, handle).status, DISK_OK);
}

static void abandon(uint8_t handle)
{
    assert_int_equal(op_in_time(DISK_ABORT, handle).status, DISK_OK);
    assert_int_equal(op_in_time(DISK_CLOSE, handle).status, DISK_OK);
}

/* A whole transfer on the filesystem that works. */
static void other_transfer(void)
{
    uint8_t byte[1] = {'o'};
    snprintf(fixture.open.directory, PATH_BYTES, "%s", fixture.directory);
    snprintf(fixture.open.file, PATH_BYTES, "other");
    fixture.open.size_bytes = 1;
    fixture.open.durable = PART_DURABLE_NONE;
    assert_int_equal(op_in_time(DISK_OPEN_TARGET, OTHER).status, DISK_OK);
    struct disk_request request = {.op = DISK_WRITE, .length = 1, .data = byte};
    assert_int_equal(ask_in_time(&request, OTHER).status, DISK_OK);
    request.op = DISK_READ;
    assert_int_equal(ask_in_time(&request, OTHER).status, DISK_OK);
    request.op = DISK_DIGEST;
    assert_int_equal(ask_in_time(&request, OTHER).status, DISK_OK);
    assert_int_equal(op_in_time(DISK_FINISH, OTHER).status, DISK_OK);
    assert_int_equal(op_in_time(DISK_CLOSE, OTHER).status, DISK_OK);
}

/* What is seen of the hung filesystem: requests that wait, threads that are at one, and where. */
static void assert_seen(uint32_t waiting, uint32_t at_one)
{
    struct disk_thread_view view;
    uint32_t queue = 0, busy = 0;
    for (uint32_t index = 0; disk_thread_view(fixture.disk, index, &view); index++) {
        if (!view.blocks || view.device != hung_device)
            continue;
        queue += view.queue;
        busy += view.under_way_ns > 0;
        if (view.under_way_ns > 0)
            assert_int_equal(view.cpu, cpu);
    }
    assert_int_equal(queue, waiting);
    assert_int_equal(busy, at_one);
}

/* More blocks than there are threads: none of them holds a thread of another filesystem. */
static void hung__blocks_of_others_go_on(void **state)
{
    (void)state;
    static uint8_t data[WRITES] = "hung..";
    if (hung_device == 0)
        skip();
    open_on_hung(HUNG);
    faults_hang(hung_device);
    for (uint32_t at = 0; at < WRITES; at++)
        assert_true(
            disk_submit(fixture.disk,
                        &(struct disk_request){
                            .op = DISK_WRITE, .handle = HUNG, .length = 1, .offset = at, .data = data + at}));
    faults_await_hanging(THREADS);
    other_transfer();
    assert_seen(WRITES, THREADS);
    faults_hang(0);
    for (uint32_t at = 0; at < WRITES; at++)
        assert_int_equal(await().status, DISK_OK);
    assert_seen(0, 0);
    abandon(HUNG);
}

/* The same of what may take long: more FINISHes than there are threads for it. */
static void hung__ends_of_others_go_on(void **state)
{
    (void)state;
    enum { JOBS = DISK_SLOW_THREADS + 1 };
    uint8_t byte[1] = {'h'};
    if (hung_device == 0)
        skip();
    fixture.open.durable = PART_DURABLE_END;
    for (uint8_t handle = HUNG; handle < HUNG + JOBS; handle++) {
        open_on_hung(handle);
        assert_int_equal(ask_write(&fixture, handle, byte, 1, 0).status, DISK_OK);
    }
    faults_close_gate();
    for (uint8_t handle = HUNG; handle < HUNG + JOBS; handle++)
        assert_true(disk_submit(fixture.disk, &(struct disk_request){.op = DISK_FINISH, .handle = handle}));
    faults_await_at_gate();
    other_transfer();
    faults_open_gate();
    for (int jobs = 0; jobs < JOBS; jobs++)
        assert_int_equal(await().status, DISK_OK);
    for (uint8_t handle = HUNG; handle < HUNG + JOBS; handle++) {
        char path[PATH_ROOM];
        assert_int_equal(op_in_time(DISK_CLOSE, handle).status, DISK_OK);
        snprintf(path, sizeof(path), "%s/file%u", hung_directory, handle);
        assert_int_equal(unlink(path), 0);
    }
}

static void lanes__each_filesystem_has_its_own(void **state)
{
    (void)state;
    /* Handles are opened in this order. */
    static const struct {
        uint64_t join;
        uint32_t lane;
        uint64_t shared;
    } cases[] = {
        {11, 0, 0}, {12, 1, 0}, {11, 0, 0}, {0, LANE_OF_NONE, 0},
        {13, 2, 0}, {14, 3, 0}, {15, 1, 1}, /* none left: with one of those that have the fewest handles */
    };
    struct lanes lanes = {0};
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        uint32_t lane = lanes_join(&lanes, cases[at].join);
        assert_int_equal(lane, cases[at].lane);
        assert_int_equal(lanes.shared, cases[at].shared);
    }
    lanes_leave(&lanes, 3);
    lanes_leave(&lanes, LANE_OF_NONE);
    assert_int_equal(lanes_join(&lanes, 14), 3); /* comes back to where it was */
    lanes_leave(&lanes, 3);
    assert_int_equal(lanes_join(&lanes, 16), 3); /* free: another may have it */
    assert_int_equal(lanes.shared, 1);
}

int run_hung_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes__each_filesystem_has_its_own),
        cmocka_unit_test_setup_teardown(hung__blocks_of_others_go_on, start, stop),
        cmocka_unit_test_setup_teardown(hung__ends_of_others_go_on, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
