/* The planner beside a node. But for the history it keeps no state between requests: where nothing new is known of edges,
 * equal requests give equal plans, and a request that the node repeats (after CTL_PLANNER_HELLO) is answered again under its
 * correlation id, by whichever planner lives then. */
#include "planner/program.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "app/log.h"
#include "base/units.h"
#include "planner/solve.h"
#include "planner/why.h"
#include "shm/shm_control.h"

/* 100 wake-ups a second cost 0.1 % of a core (measured); a plan waits 10 ms at most. */
#define IDLE_NS         (10 * NS_PER_MS)
#define ATTACH_RETRY_NS (200 * NS_PER_MS)
#define STALE_TURNS     50 /* looks at the files twice a second */

struct service {
    struct shm_ring *ring;
    struct arena *arena;
    struct history history;
    struct ctl_msg request;
    struct ctl_msg answer;
    bool answer_waits; /* the ring was full; nothing new is taken before it is out */
};

static void sleep_ns(uint64_t duration_ns)
{
    struct timespec duration = {.tv_nsec = (long)duration_ns};
    nanosleep(&duration, NULL);
}

static uint64_t clock_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / NS_PER_MS;
}

static struct history_time history_now(void)
{
    return (struct history_time){.steady_ms = clock_ms(CLOCK_BOOTTIME),
                                 .calendar_ms = clock_ms(CLOCK_REALTIME)};
}

static void say(const char *text)
{
    fprintf(stderr, "sluice-planner: %s\n", text);
}

static void answer_request(struct service *service)
{
    struct err err;
    struct plan_request *request = &service->request.body.plan_request;
    struct ctl_msg *answer = &service->answer;
    answer->correlation = service->request.correlation;
    answer->type = CTL_PLAN;
    history_complete(&service->history, request, history_now());
    if (solve(request, service->arena, &answer->body.plan, &err)) {
        why_fill(request, service->arena, &answer->body.plan);
        return;
    }
    answer->type = CTL_PLAN_FAILED;
    answer->body.plan_failed.job = request->job;
    answer->body.plan_failed.epoch = request->epoch;
    memcpy(answer->body.plan_failed.text, err.text, sizeof(answer->body.plan_failed.text));
}

static void answer_history(struct service *service)
{
    const struct ctl_msg *request = &service->request;
    struct ctl_msg *answer = &service->answer;
    answer->correlation = request->correlation;
    answer->type = CTL_HISTORY;
    answer->body.history.known =
        history_show(&service->history, request->body.history_ask.from, request->body.history_ask.to,
                     request->body.history_ask.form, history_now(), answer->body.history.text,
                     sizeof(answer->body.history.text));
}

/* False: it is nothing for a planner. */
static bool take(struct service *service)
{
    const struct ctl_msg *request = &service->request;
    if (request->type == CTL_PLAN_REQUEST)
        answer_request(service);
    else if (request->type == CTL_HISTORY_ASK)
        answer_history(service);
    else if (request->type == CTL_ESTIMATE)
        history_take(&service->history, &request->body.estimate, history_now());
    else
        return false;
    return true;
}

/* One step; false: nothing to do now. */
static bool serve_one(struct service *service)
{
    struct err err;
    if (!service->answer_waits) {
        enum shm_received received = shm_control_receive(service->ring, &service->request, &err);
        if (received == SHM_NOTHING)
            return false;
        if (received == SHM_REFUSED || !take(service)) {
            fprintf(stderr, "sluice-planner: ignored a record: %s\n",
                    received == SHM_REFUSED ? err.text : "not a request");
            return true;
        }
        if (service->request.type == CTL_ESTIMATE)
            return true;
    }
    service->answer_waits = !shm_control_send(service->ring, &service->answer);
    return !service->answer_waits;
}

static void serve_node(struct service *service, const volatile sig_atomic_t *stop)
{
    for (unsigned turn = 1; !*stop; turn++) {
        shm_ring_beat(service->ring);
        if (!serve_one(service))
            sleep_ns(IDLE_NS);
        if (turn % STALE_TURNS == 0 && shm_ring_stale(service->ring))
            return;
    }
}

enum program_end serve_ring(const char *path, const struct history_options *kept, struct arena *arena,
                            const volatile sig_atomic_t *stop)
{
    static struct service service;
    struct history_options options = *kept;
    log_begin();
    options.say = say;
    service.arena = arena;
    history_open(&service.history, &options, history_now());
    struct err err, last = {""};
    while (!*stop) {
        service.ring = shm_ring_attach(path, &err);
        if (service.ring == NULL) {
            if (strcmp(err.text, last.text) != 0)
                fprintf(stderr, "sluice-planner: waiting: %s\n", err.text);
            last = err;
            sleep_ns(ATTACH_RETRY_NS);
            continue;
        }
        fprintf(stderr, "sluice-planner: attached to %s, generation %u\n", path,
                shm_ring_generation(service.ring));
        last.text[0] = '\0';
        service.answer_waits = false;
        serve_node(&service, stop);
        shm_ring_close(service.ring);
    }
    history_close(&service.history);
    return PROGRAM_DONE;
}
