/* The real planner program on a ring whose node is the test. Waits, for room as for answers, with a deadline
 * that only a fault meets; silence is passed with made-up time, not by waiting. What a case that failed left
 * behind, planners and rings, its teardown ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../plan/example.h"
#include "../shm/open_rings.h"
#include "shm/shm_control.h"

#define DEADLINE_TURNS 60000 /* of 1 ms */
#define BURST          60
#define FLOOD          200 /* requests of the largest size; the ring holds some 60 */
#define PLANNERS_MAX   4

static const char *program;
static char path[64];
static struct ctl_msg msg;
static pid_t planners[PLANNERS_MAX]; /* that run; 0: a free place */

struct site {
    struct shm_ring *ring;
    struct shm_control control;
    uint64_t now_ns;
};

static pid_t *place_of(pid_t planner)
{
    for (unsigned i = 0; i < PLANNERS_MAX; i++)
        if (planners[i] == planner)
            return &planners[i];
    fail_msg("%s", planner == 0 ? "too many planners" : "no such planner");
    return NULL;
}

/* history NULL: in memory */
static pid_t start_planner_with(const char *history)
{
    pid_t *place = place_of(0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* no planner outlives the test program */
        execl(program, program, "--ring", path, history == NULL ? NULL : "--history", history, NULL);
        _exit(127);
    }
    *place = child;
    return child;
}

static pid_t start_planner(void)
{
    return start_planner_with(NULL);
}

static int end_of(pid_t child)
{
    int status = -1;
    *place_of(child) = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void kill_hard(pid_t child)
{
    kill(child, SIGKILL);
    int status = end_of(child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static int teardown(void **state)
{
    for (unsigned i = 0; i < PLANNERS_MAX; i++)
        if (planners[i] != 0)
            kill_hard(planners[i]);
    return rings_teardown(state);
}

static void open_site(struct site *site)
{
    struct err err;
    site->ring = ring_opened(shm_ring_create(path, &err), &err);
    site->now_ns = NS_PER_S;
    shm_control_init(&site->control, site->ring, site->now_ns);
}

static bool wait_message(struct site *site)
{
    for (unsigned turn = 0; turn < DEADLINE_TURNS; turn++) {
        if (shm_control_poll(&site->control, &msg, site->now_ns))
            return true;
        usleep(1000);
        site->now_ns += NS_PER_MS / 20; /* slower than real time: nobody is gone by accident */
    }
    return false;
}

/* Time that was let pass may have made the planner before this one known as gone. */
static void expect_hello(struct site *site, uint64_t generation)
{
    assert_true(wait_message(site));
    if (msg.type == CTL_PLANNER_GONE)
        assert_true(wait_message(site));
    assert_int_equal(msg.type, CTL_PLANNER_HELLO);
    assert_int_equal(msg.correlation, generation);
}

static bool room_for(struct site *site, const struct plan_request *request, uint64_t correlation)
{
    static struct ctl_msg question;
    question.type = CTL_PLAN_REQUEST;
    question.correlation = correlation;
    question.body.plan_request = *request;
    return shm_control_send(site->ring, &question);
}

/* A slow planner leaves the ring full for a while. Its answers have room whatever is asked here. */
static void ask(struct site *site, const struct plan_request *request, uint64_t correlation)
{
    for (unsigned turn = 0; turn < DEADLINE_TURNS; turn++) {
        if (room_for(site, request, correlation))
            return;
        usleep(1000);
    }
    fail_msg("the planner takes no requests");
}

static struct plan expect_plan(struct site *site, const struct plan_request *request, uint64_t correlation)
{
    struct err err;
    assert_true(wait_message(site));
    assert_int_equal(msg.type, CTL_PLAN);
    assert_int_equal(msg.correlation, correlation);
    if (!plan_validate(&msg.body.plan, request, &err))
        fail_msg("%s", err.text);
    return msg.body.plan;
}

static void planner__answers(void **state)
{
    (void)state;
    struct site site;
    pid_t planner = start_planner(); /* before there is a ring: it waits */
    open_site(&site);
    expect_hello(&site, 1);
    struct plan_request request = example_request(20);
    ask(&site, &request, 100);
    struct plan plan = expect_plan(&site, &request, 100);
    ask(&site, &request, 100); /* repeated: the same answer */
    struct plan again = expect_plan(&site, &request, 100);
    assert_memory_equal(&again, &plan, sizeof(plan));
    request.job = 8;
    request.metric = PLAN_METRIC_STAR;
    ask(&site, &request, 101);
    assert_true(wait_message(&site));
    assert_int_equal(msg.type, CTL_PLAN_FAILED);
    assert_int_equal(msg.correlation, 101);
    assert_int_equal(msg.body.plan_failed.job, 8);
    assert_int_equal(msg.body.plan_failed.epoch, request.epoch);
    assert_non_null(strstr(msg.body.plan_failed.text, "a star gives n0 19 children"));
    kill(planner, SIGTERM);
    assert_int_equal(end_of(planner), 0);
    ring_close(site.ring);
}

/* More than the ring holds: what finds no room comes later, and every answer arrives, in order. */
static void planner__asked_faster_than_it_answers(void **state)
{
    (void)state;
    struct site site;
    open_site(&site);
    struct plan_request request = example_request(PLAN_NODES_MAX);
    pid_t planner = start_planner();
    expect_hello(&site, 1);
    kill(planner, SIGSTOP);
    assert_int_equal(waitpid(planner, NULL, WUNTRACED), planner);
    unsigned asked = 0;
    while (room_for(&site, &request, asked))
        asked++;
    assert_in_range(asked, 10, FLOOD - 1);
    kill(planner, SIGCONT);
    unsigned answered = 0;
    for (; asked < FLOOD; asked++) { /* the answers would not fit their ring either */
        expect_plan(&site, &request, answered++);
        ask(&site, &request, asked);
    }
    for (; answered < FLOOD; answered++)
        expect_plan(&site, &request, answered);
    assert_int_equal(shm_ring_counters(site.ring).bad, 0);
}

/* kill -9 with requests open; the next planner is greeted, what is open is asked again, all get answers. */
static void planner__killed_with_open_requests(void **state)
{
    (void)state;
    struct site site;
    open_site(&site);
    struct plan_request request = example_request(PLAN_NODES_MAX / 2);
    for (unsigned kills = 0; kills < 10; kills++) {
        bool answered[BURST] = {false};
        unsigned open = BURST;
        pid_t planner = start_planner();
        expect_hello(&site, 2 * kills + 1);
        for (unsigned i = 0; i < BURST; i++)
            ask(&site, &request, i);
        for (unsigned answers = 0; answers < 2 + 5 * kills; answers++) {
            assert_true(wait_message(&site));
            assert_int_equal(msg.type, CTL_PLAN);
            assert_in_range(msg.correlation, 0, BURST - 1);
            answered[msg.correlation] = true;
        }
        kill_hard(planner);
        planner = start_planner();
        site.now_ns += NS_PER_S;
        for (bool greeted = false; open > 0 || !greeted;) {
            assert_true(wait_message(&site));
            if (msg.type == CTL_PLANNER_HELLO) {
                assert_int_equal(msg.correlation, 2 * kills + 2);
                greeted = true;
                for (unsigned i = 0; i < BURST / 2; i++)
                    if (!answered[i])
                        ask(&site, &request, i);
            } else if (msg.type == CTL_PLAN) {
                assert_in_range(msg.correlation, 0, BURST - 1);
                answered[msg.correlation] = true;
            }
            open = 0;
            for (unsigned i = 0; i < BURST / 2; i++)
                open += !answered[i];
        }
        kill_hard(planner);
        while (shm_control_poll(&site.control, &msg, site.now_ns))
            ;
        site.now_ns += NS_PER_S;
    }
    assert_int_equal(shm_ring_counters(site.ring).bad, 0);
    ring_close(site.ring);
}

static void planner__gone_and_back(void **state)
{
    (void)state;
    struct site site;
    open_site(&site);
    pid_t planner = start_planner();
    expect_hello(&site, 1);
    kill_hard(planner);
    shm_control_poll(&site.control, &msg, site.now_ns); /* takes note of its last beats */
    site.now_ns += SHM_SILENCE_NS + 1;
    assert_true(shm_control_poll(&site.control, &msg, site.now_ns));
    assert_int_equal(msg.type, CTL_PLANNER_GONE);
    planner = start_planner();
    expect_hello(&site, 2);
    kill_hard(planner);
    ring_close(site.ring);
}

static void planner__follows_a_restarted_node(void **state)
{
    (void)state;
    struct site site;
    struct plan_request request = example_request(3);
    open_site(&site);
    pid_t planner = start_planner();
    expect_hello(&site, 1);
    for (unsigned restarts = 0; restarts < 3; restarts++) {
        ring_close(site.ring);
        open_site(&site);
        expect_hello(&site, 1);
        ask(&site, &request, restarts);
        expect_plan(&site, &request, restarts);
    }
    kill_hard(planner);
    ring_close(site.ring);
}

/* What the node tells of an edge is kept beyond the planner, shown, and planned on. */
static void planner__remembers_edges(void **state)
{
    (void)state;
    static struct ctl_msg told;
    struct site site;
    char file[80];
    snprintf(file, sizeof(file), "%s.history", path);
    open_site(&site);
    for (unsigned life = 0; life < 2; life++) {
        pid_t planner = start_planner_with(file);
        expect_hello(&site, life + 1);
        told = (struct ctl_msg){.type = CTL_ESTIMATE};
        strcpy(told.body.estimate.from, life == 0 ? "n0" : "n1");
        strcpy(told.body.estimate.to, life == 0 ? "n1" : "n2");
        told.body.estimate.estimate = (struct estimate){
            .kind = ESTIMATE_VALUE, .avail_bps = 400000000, .low_bps = 390000000, .high_bps = 410000000};
        assert_true(shm_control_send(site.ring, &told));
        told = (struct ctl_msg){.type = CTL_HISTORY_ASK, .correlation = 50 + life};
        strcpy(told.body.history_ask.from, "n0");
        strcpy(told.body.history_ask.to, "n1");
        assert_true(shm_control_send(site.ring, &told));
        assert_true(wait_message(&site));
        assert_int_equal(msg.type, CTL_HISTORY);
        assert_int_equal(msg.correlation, 50 + life);
        assert_true(msg.body.history.known);
        assert_non_null(strstr(msg.body.history.text, "400.0 Mbit/s"));
        kill_hard(planner);
        site.now_ns += NS_PER_S;
    }
    /* n0 to n1 and n1 to n2 are narrow, so they are not taken where n2 feeds n1. */
    struct plan_request request = example_request(3);
    pid_t planner = start_planner_with(file);
    expect_hello(&site, 3);
    request.metric = PLAN_METRIC_WIDEST;
    ask(&site, &request, 60);
    struct plan plan = expect_plan(&site, &request, 60);
    assert_int_equal(plan_parent(&plan.trees[0], 2), 0);
    assert_int_equal(plan_parent(&plan.trees[0], 1), 2);
    kill(planner, SIGTERM);
    assert_int_equal(end_of(planner), 0);
    unlink(file); /* closed in order, it has left nothing beside it */
    ring_close(site.ring);
}

static void planner__second_one_stands_by(void **state)
{
    (void)state;
    struct site site;
    struct plan_request request = example_request(3);
    open_site(&site);
    pid_t first = start_planner();
    expect_hello(&site, 1);
    pid_t second = start_planner();
    ask(&site, &request, 1);
    expect_plan(&site, &request, 1);
    kill_hard(first);
    site.now_ns += NS_PER_S;
    expect_hello(&site, 2);
    ask(&site, &request, 2);
    expect_plan(&site, &request, 2);
    kill_hard(second);
    ring_close(site.ring);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: planner_test PLANNER\n");
        return 2;
    }
    program = argv[1];
    snprintf(path, sizeof(path), "/dev/shm/sluice-planner-test-%d", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(planner__answers, teardown),
        cmocka_unit_test_teardown(planner__asked_faster_than_it_answers, teardown),
        cmocka_unit_test_teardown(planner__killed_with_open_requests, teardown),
        cmocka_unit_test_teardown(planner__gone_and_back, teardown),
        cmocka_unit_test_teardown(planner__follows_a_restarted_node, teardown),
        cmocka_unit_test_teardown(planner__remembers_edges, teardown),
        cmocka_unit_test_teardown(planner__second_one_stands_by, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
