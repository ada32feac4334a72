#include "app/probe/run.h"

#include <stdlib.h>

#include "base/units.h"

/* Cross traffic has been there for a while when a measurement begins, and none begins at the same place in it. */
#define WARM_NS   (50 * NS_PER_MS)
#define PHASE_NS  (10 * NS_PER_MS)
#define WINDOW_NS (10 * NS_PER_S)
/* By then a path is known. */
#define CONTACT_NS NS_PER_S

bool run_create(struct run *run, const struct run_config *config)
{
    *run = (struct run){.config = config, .state = malloc(estimator_bytes())};
    return run->state != NULL;
}

void run_destroy(struct run *run)
{
    world_end(&run->world);
    free(run->state);
    free(run->sent);
}

static void remember(struct run *run, uint64_t at_ns, uint64_t bytes)
{
    if (run->sent_count == run->sent_room) {
        run->sent_room = MAX(2 * run->sent_room, 256U);
        run->sent = realloc(run->sent, run->sent_room * sizeof(*run->sent));
        CHECK(run->sent != NULL);
    }
    run->sent[run->sent_count++] = (struct run_sent){at_ns, bytes};
}

/* The report that comes next; NULL: none is under way. */
static struct run_report *next_report(struct run *run)
{
    struct run_report *next = NULL;
    for (unsigned i = 0; i < RUN_UNDER_WAY_MAX; i++) {
        struct run_report *report = &run->reports[i];
        if (report->waiting && (next == NULL || report->due_ns < next->due_ns))
            next = report;
    }
    return next;
}

/* Time goes on to until_ns; reports that come by then are handed over. With `first` it stops after one. */
static void advance(struct run *run, uint64_t until_ns, bool first)
{
    const struct estimator_kind *kind = run->config->kind;
    for (struct run_report *report; (report = next_report(run)) != NULL && report->due_ns <= until_ns;) {
        run->now_ns = MAX(run->now_ns, report->due_ns);
        report->waiting = false;
        kind->take(run->state, report->record.count > 0 ? &report->record : NULL, run->now_ns);
        if (first)
            return;
    }
    run->now_ns = MAX(run->now_ns, until_ns);
}

/* A place for the train's record; where there is none the oldest report is waited for. */
static struct run_report *place_for(struct run *run)
{
    for (;;) {
        for (unsigned i = 0; i < RUN_UNDER_WAY_MAX; i++)
            if (!run->reports[i].waiting)
                return &run->reports[i];
        advance(run, next_report(run)->due_ns, true);
    }
}

static void send_train(struct run *run, const struct train_shape *shape, uint64_t at_ns)
{
    const struct estimator_goal *goal = &run->config->goal;
    for (unsigned i = 0; i < shape->piece_count; i++)
        CHECK(shape->pieces[i].packets == 0 || shape->pieces[i].rate_bps <= goal->port_bps);
    CHECK(shape->wire_bytes <= goal->wire_bytes);
    struct run_report *report = place_for(run);
    uint64_t ready_ns = MAX(run->now_ns, run->free_ns);
    at_ns = MAX(at_ns, ready_ns);
    advance(run, at_ns, false);
    if (!run->contacted && at_ns >= run->begin_ns + CONTACT_NS) {
        run->contacted = true;
        run->added_first_max = hop_added_bytes(&run->world.hops[world_tight(run->world.config)]);
    }
    report->record.id = run->sent_count;
    report->due_ns = world_send(&run->world, shape, at_ns, &report->record);
    report->waiting = true;
    remember(run, at_ns, train_bytes(shape));
    run->free_ns = at_ns + train_duration_ns(shape);
    advance(run, run->free_ns, false);
}

static struct run_look look_at(const struct run *run)
{
    const struct world *world = &run->world;
    struct run_look look = {.at_ns = run->now_ns - run->begin_ns};
    run->config->kind->result(run->state, run->now_ns, &look.estimate);
    look.period_bps = world_available_bps(world, look.estimate.from_ns, look.estimate.until_ns);
    look.capacity_bps = hop_capacity_bps(&world->hops[world_tight(world->config)], run->now_ns);
    return look;
}

static uint64_t most_load_ppb(const struct run *run)
{
    const struct hop *tight = &run->world.hops[world_tight(run->world.config)];
    uint64_t most_ppb = 0, bytes = 0;
    for (uint32_t last = 0, first = 0; last < run->sent_count; last++) {
        bytes += run->sent[last].bytes;
        while (run->sent[last].at_ns - run->sent[first].at_ns >= WINDOW_NS)
            bytes -= run->sent[first++].bytes;
        /* Before the begin it was as it was then. */
        uint64_t at_ns = run->sent[last].at_ns, within_ns = MIN(at_ns - run->begin_ns, WINDOW_NS);
        uint64_t bits = hop_capacity_bits(tight, at_ns - within_ns, at_ns) +
                        muldiv64(hop_capacity_bps(tight, run->begin_ns), WINDOW_NS - within_ns, NS_PER_S);
        most_ppb = MAX(most_ppb, muldiv64(bytes * 8, NS_PER_S, bits));
    }
    return most_ppb;
}

static void fill(struct run *run, struct run_result *result)
{
    struct world *world = &run->world;
    struct hop *tight = &world->hops[world_tight(world->config)];
    *result = (struct run_result){.look = look_at(run),
                                  .window_bps = hop_busy_available_bps(tight),
                                  .took_ns = run->now_ns - run->begin_ns,
                                  .load_ppb = most_load_ppb(run),
                                  .queue_max = tight->queue_bytes_max,
                                  .added_first_max = run->added_first_max,
                                  .trains = run->sent_count,
                                  .ended = result->ended};
    if (run->contacted)
        result->added_max = hop_added_bytes(tight);
    else
        result->added_first_max = hop_added_bytes(tight);
    for (uint32_t i = 0; i < run->sent_count; i++)
        result->bytes += run->sent[i].bytes;
    for (unsigned i = 0; i < world->config->hop_count; i++) {
        result->cross_packets += hop_cross_packets(&world->hops[i]);
        result->added_drops += hop_added_drops(&world->hops[i]);
    }
}

/* Looks that are due by until_ns. */
static void look_until(struct run *run, uint64_t until_ns, uint64_t *next_ns, run_looked *looked, void *user)
{
    for (; *next_ns <= until_ns; *next_ns += run->config->every_ns) {
        advance(run, *next_ns, false);
        if (looked != NULL) {
            struct run_look look = look_at(run);
            looked(user, &look);
        }
    }
}

void run_measure(struct run *run, uint64_t seed, run_looked *looked, void *user, struct run_result *result)
{
    const struct run_config *config = run->config;
    struct rng rng;
    rng_init(&rng, seed);
    run->begin_ns = run->now_ns = run->free_ns = WARM_NS + rng_below(&rng, PHASE_NS);
    run->sent_count = 0;
    run->contacted = false;
    run->added_first_max = 0;
    for (unsigned i = 0; i < RUN_UNDER_WAY_MAX; i++)
        run->reports[i].waiting = false;
    world_begin(&run->world, &config->world, rng_next(&rng), run->begin_ns, 0);
    config->kind->start(run->state, &config->goal, run->begin_ns);

    uint64_t end_ns = run->begin_ns + config->limit_ns;
    uint64_t look_ns = config->every_ns != 0 ? run->begin_ns + config->every_ns : TIME_NEVER;
    bool done = false;
    while (!done && run->now_ns < end_ns) {
        struct train_shape shape = {0};
        uint64_t at_ns = TIME_NEVER;
        enum estimator_step step = config->kind->next(run->state, run->now_ns, &shape, &at_ns);
        const struct run_report *report = next_report(run);
        done = step == ESTIMATOR_DONE;
        if (done)
            break;
        uint64_t until_ns =
            step == ESTIMATOR_TRAIN ? at_ns : MIN(at_ns, report != NULL ? report->due_ns : TIME_NEVER);
        CHECK(until_ns != TIME_NEVER); /* it waits for what will never come */
        CHECK(step == ESTIMATOR_TRAIN || until_ns > run->now_ns || report != NULL);
        until_ns = MIN(until_ns, end_ns);
        look_until(run, until_ns, &look_ns, looked, user);
        if (step == ESTIMATOR_TRAIN && until_ns < end_ns)
            send_train(run, &shape, at_ns);
        else
            advance(run, until_ns, true);
    }
    *result = (struct run_result){.ended = done};
    fill(run, result);
}
