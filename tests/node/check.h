/* What the test programs over the small world have in common: one world each, and failures with their texts.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "world.h"

static struct world world;

static inline void start_all(void)
{
    for (uint16_t node = 0; node < world.count; node++)
        world_start(&world, node);
}

/* From now on it answers requests, that which waits too. */
static inline void planner_attaches(uint16_t node)
{
    static struct ctl_msg hello = {.type = CTL_PLANNER_HELLO};
    char text[16];
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    world.planner_absent = false;
    node_ctl(world.nodes[node].node, &hello, &reply, world.now_ns);
}

static inline void run_job_at(uint16_t node, const struct job_spec *spec)
{
    struct err err;
    if (!world_run_job_at(&world, node, spec, &err))
        fail_msg("%s", err.text);
}

/* The job's state at a node, JOB_STATE_COUNT where it is not known. */
static inline uint8_t state_at(uint16_t node, const char *name)
{
    const struct node_job_view *view = world_view(&world, node, name);
    return view == NULL ? JOB_STATE_COUNT : view->state;
}

static inline bool run_until_state(uint16_t node, const char *name, uint8_t state, uint64_t limit_ns)
{
    uint64_t end_ns = world.now_ns + limit_ns;
    while (world.now_ns < end_ns && (state_at(node, name) < state || state_at(node, name) == JOB_STATE_COUNT))
        world_run_until(&world, world.now_ns + NS_PER_MS);
    return state_at(node, name) == state;
}

static inline void run_until_over(uint16_t node, const char *name, uint64_t limit_ns)
{
    uint64_t end_ns = world.now_ns + limit_ns;
    while (world.now_ns < end_ns && state_at(node, name) < JOB_DONE)
        world_run_until(&world, world.now_ns + 10 * NS_PER_MS);
    if (state_at(node, name) < JOB_DONE)
        fail_msg("%s is still %s", name, job_state_name(state_at(node, name)));
}

static inline void assert_state(uint16_t node, const char *name, uint8_t state)
{
    const struct node_job_view *view = world_view(&world, node, name);
    if (view == NULL)
        fail_msg("n%u does not know %s", node, name);
    else if (view->state != state)
        fail_msg("%s is %s at n%u: %s", name, job_state_name(view->state), node, view->text);
}

static inline void assert_text(uint16_t node, const char *name, const char *expected)
{
    const struct node_job_view *view = world_view(&world, node, name);
    assert_non_null(view);
    if (strstr(view->text, expected) == NULL)
        fail_msg("'%s' expected, got '%s'", expected, view->text);
}

static inline void assert_clean(void)
{
    for (uint16_t node = 0; node < world.count; node++)
        if (world.nodes[node].alive && !world_is_clean(&world, node))
            fail_msg("something is left in n%u", node);
}

/* A tree given by pairs of node numbers. */
static inline void give_tree(struct job_spec *spec, const uint16_t (*edges)[2], uint16_t count)
{
    spec->metric = PLAN_METRIC_GIVEN;
    spec->given_count = count;
    for (uint16_t edge = 0; edge < count; edge++)
        for (int end = 0; end < 2; end++)
            snprintf(spec->given[edge][end], NAME_BYTES, "n%u", edges[edge][end]);
}
