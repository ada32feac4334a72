/* An estimator that sends what a test asks for and keeps what it is told, and a world whose nodes measure with it. */
#pragma once

#include "check.h"
#include "node/train/prober.h"

#define TRAINS_MAX 8

static struct script {
    struct train_shape shape;
    uint32_t trains; /* to be sent */
    uint64_t distance_ns;
    bool again; /* each measurement sends them */
    struct estimate estimate;
    /* what came of it */
    uint32_t asked, records, lost;
    struct estimator_goal goal;
    struct train_record last;
    uint64_t at_ns[TRAINS_MAX];
    void (*on_record)(const struct train_record *record);
} script;

static inline void script_start(void *state, const struct estimator_goal *goal, uint64_t now_ns)
{
    *(uint64_t *)state = now_ns;
    if (script.again)
        script.asked = script.records = script.lost = 0;
    script.goal = *goal;
}

static inline enum estimator_step script_next(void *state, uint64_t now_ns, struct train_shape *shape,
                                              uint64_t *at_ns)
{
    if (script.asked == script.trains) {
        *at_ns = TIME_NEVER;
        return script.records + script.lost == script.asked ? ESTIMATOR_DONE : ESTIMATOR_WAIT;
    }
    *shape = script.shape;
    *at_ns = MAX(now_ns, *(uint64_t *)state + script.asked * script.distance_ns);
    script.at_ns[script.asked++ % TRAINS_MAX] = *at_ns;
    return ESTIMATOR_TRAIN;
}

static inline void script_take(void *state, const struct train_record *record, uint64_t now_ns)
{
    (void)state;
    (void)now_ns;
    if (record == NULL) {
        script.lost++;
        return;
    }
    script.records++;
    script.last = *record;
    if (script.on_record != NULL)
        script.on_record(record);
}

static inline void script_result(const void *state, uint64_t now_ns, struct estimate *estimate)
{
    (void)state;
    (void)now_ns;
    *estimate = script.estimate;
}

static const struct estimator_kind scripted = {.name = "scripted",
                                               .bytes = sizeof(uint64_t),
                                               .start = script_start,
                                               .next = script_next,
                                               .take = script_take,
                                               .result = script_result};

static inline void begin(uint16_t count, uint32_t packets, uint64_t rate_bps)
{
    script = (struct script){.trains = 1, .shape = {.wire_bytes = 1538}};
    assert_true(train_add(&script.shape, packets, rate_bps));
    world_init(&world, count, 1);
    for (uint16_t node = 0; node < count; node++)
        world.nodes[node].config.probe.estimator = &scripted;
    for (uint16_t node = 0; node < count; node++)
        world.nodes[node].config.ports[0].rate_bps = 10000000000;
}

static inline void start(void)
{
    start_all();
    world_run_until(&world, 3 * NS_PER_S);
}

static inline struct node *node_of(uint16_t node)
{
    return world.nodes[node].node;
}

static inline void ask(uint16_t node, const char *peer)
{
    struct err err;
    if (!prober_ask(node_of(node), peer, world.now_ns, &err))
        fail_msg("%s", err.text);
}

static inline void run(uint64_t for_ns)
{
    world_run_until(&world, world.now_ns + for_ns);
}
