#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "open_rings.h"
#include "record.h"
#include "shm/shm_control.h"

static char path[64];
static struct ctl_msg msg;

struct pair {
    struct shm_ring *node, *planner;
    struct shm_control control;
};

static void setup(struct pair *pair)
{
    struct err err;
    pair->node = ring_opened(shm_ring_create(path, &err), &err);
    pair->planner = NULL;
    shm_control_init(&pair->control, pair->node, 0);
}

static void attach(struct pair *pair)
{
    struct err err;
    ring_close(pair->planner);
    pair->planner = ring_opened(shm_ring_attach(path, &err), &err);
}

static void expect(struct pair *pair, uint64_t now_ms, enum ctl_type type, uint64_t correlation)
{
    assert_true(shm_control_poll(&pair->control, &msg, now_ms * NS_PER_MS));
    assert_int_equal(msg.type, type);
    assert_int_equal(msg.correlation, correlation);
}

static void expect_none(struct pair *pair, uint64_t now_ms)
{
    assert_false(shm_control_poll(&pair->control, &msg, now_ms * NS_PER_MS));
}

static void shm_control_poll__life_of_planners(void **state)
{
    (void)state;
    struct pair pair;
    setup(&pair);
    expect_none(&pair, 0);
    expect_none(&pair, 9000); /* nobody was ever there: nobody is gone */
    attach(&pair);
    expect(&pair, 9001, CTL_PLANNER_HELLO, 1);
    expect_none(&pair, 9002);
    expect_none(&pair, 11001);
    expect(&pair, 11002, CTL_PLANNER_GONE, 1);
    expect_none(&pair, 20000);
    shm_ring_beat(pair.planner); /* was only stopped */
    expect(&pair, 20001, CTL_PLANNER_HELLO, 1);
    for (uint64_t now_ms = 20002; now_ms < 30000; now_ms += 1900) {
        shm_ring_beat(pair.planner);
        expect_none(&pair, now_ms);
    }
    attach(&pair);
    expect(&pair, 30000, CTL_PLANNER_HELLO, 2);
}

static void shm_control_poll__quick_attaches_are_spaced(void **state)
{
    (void)state;
    struct pair pair;
    setup(&pair);
    attach(&pair);
    expect(&pair, 1000, CTL_PLANNER_HELLO, 1);
    attach(&pair);
    expect_none(&pair, 1050);
    attach(&pair);
    expect_none(&pair, 1099);
    expect(&pair, 1100, CTL_PLANNER_HELLO, 3);
    expect_none(&pair, 1300);
}

static void shm_control_poll__lets_only_answers_through(void **state)
{
    (void)state;
    struct pair pair;
    setup(&pair);
    attach(&pair);
    expect(&pair, 1, CTL_PLANNER_HELLO, 1);
    static struct ctl_msg sent;
    sent.type = CTL_PLANNER_HELLO;
    assert_true(shm_control_send(pair.planner, &sent));
    sent.type = CTL_PLAN_REQUEST;
    sent.body.plan_request.node_count = 1;
    assert_true(shm_control_send(pair.planner, &sent));
    uint8_t record[64];
    size_t length = record_make(record, 1, 2, 20, shm_ring_sequence(pair.planner)); /* of no type */
    assert_true(shm_ring_push(pair.planner, record, length));
    sent = (struct ctl_msg){.type = CTL_PLAN_FAILED, .correlation = 5};
    strcpy(sent.body.plan_failed.text, "why");
    assert_true(shm_control_send(pair.planner, &sent));
    expect(&pair, 2, CTL_PLAN_FAILED, 5);
    assert_string_equal(msg.body.plan_failed.text, "why");
    assert_int_equal(pair.control.refused, 3);
    sent = (struct ctl_msg){.type = CTL_HISTORY_ASK};
    strcpy(sent.body.history_ask.from, "a");
    strcpy(sent.body.history_ask.to, "b");
    assert_true(shm_control_send(pair.planner, &sent));
    sent = (struct ctl_msg){.type = CTL_HISTORY, .correlation = 6, .body.history = {.known = true}};
    assert_true(shm_control_send(pair.planner, &sent));
    expect(&pair, 3, CTL_HISTORY, 6);
    assert_int_equal(pair.control.refused, 4);
    expect_none(&pair, 3);
}

static void shm_control_poll__refusals_per_call_are_bounded(void **state)
{
    (void)state;
    struct pair pair;
    setup(&pair);
    attach(&pair);
    expect(&pair, 1, CTL_PLANNER_HELLO, 1);
    static struct ctl_msg sent = {.type = CTL_PLANNER_HELLO};
    for (unsigned i = 0; i < 100; i++)
        assert_true(shm_control_send(pair.planner, &sent));
    expect_none(&pair, 2);
    assert_in_range(pair.control.refused, 1, 99);
}

static void shm_control__requests_and_heartbeat_reach_the_planner(void **state)
{
    (void)state;
    struct pair pair;
    struct err err;
    setup(&pair);
    attach(&pair);
    expect(&pair, 1, CTL_PLANNER_HELLO, 1);
    expect_none(&pair, 2);
    assert_int_equal(shm_ring_peer_beats(pair.planner), 2);
    static struct ctl_msg sent = {.type = CTL_PLAN_REQUEST, .correlation = 77};
    sent.body.plan_request.node_count = PLAN_NODES_MAX;
    assert_true(shm_control_send(pair.node, &sent));
    assert_int_equal(shm_control_receive(pair.planner, &msg, &err), SHM_MESSAGE);
    assert_int_equal(msg.correlation, 77);
    assert_int_equal(msg.body.plan_request.node_count, PLAN_NODES_MAX);
    assert_int_equal(shm_control_receive(pair.planner, &msg, &err), SHM_NOTHING);
}

int main(void)
{
    snprintf(path, sizeof(path), "/dev/shm/sluice-control-test-%d", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(shm_control_poll__life_of_planners, rings_teardown),
        cmocka_unit_test_teardown(shm_control_poll__quick_attaches_are_spaced, rings_teardown),
        cmocka_unit_test_teardown(shm_control_poll__lets_only_answers_through, rings_teardown),
        cmocka_unit_test_teardown(shm_control_poll__refusals_per_call_are_bounded, rings_teardown),
        cmocka_unit_test_teardown(shm_control__requests_and_heartbeat_reach_the_planner, rings_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
