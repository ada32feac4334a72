/* The background thread: carries records between the node and its planner, prints what the worker noted, and makes
 * pages that it will want. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app.h"
#include "base/gaps.h"
#include "dpdk/resident.h"
#include "insecure.h"
#include "planner_process.h"
#include "shm/shm_control.h"

#define RECEIVED_MAX 16 /* records of a planner per turn */
/* The control ring has no descriptor: it is looked at so often for so long after a record crossed it, or while a planner is
 * waited for, else more rarely. */
#define BUSY_TURN_NS NS_PER_MS
#define BUSY_FOR_NS  (2 * NS_PER_S)
#define TURN_NS      (100 * NS_PER_MS)
#define RING_LOOK_NS                                                                                         \
    NS_PER_S /* between two tries to make the ring, and two looks whether its files are still there */

struct bad_records {
    uint64_t logged; /* how many by the newest line */
    struct gaps said;
};

static uint64_t monotonic_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static void log_planner(const struct app *app, const struct ctl_msg *msg)
{
    if (msg->type == CTL_PLANNER_HELLO || msg->type == CTL_PLANNER_GONE)
        fprintf(stderr, "%s: planner %s\n", app->config.node.name,
                msg->type == CTL_PLANNER_HELLO ? "attached" : "is gone; jobs go on by the last plan");
}

static void tell_node(struct app *app, struct channel_call *call)
{
    static char text[256];
    log_planner(app, &call->msg);
    call->reply.text = text;
    call->reply.room = sizeof(text);
    if (!channel_call(&app->channel, call) && !app_stopping(app))
        fprintf(stderr, "%s: record from the planner refused: %s\n", app->config.node.name,
                call->reply.err.text);
}

/* True: there was something. */
static bool planner_to_node(struct app *app, struct shm_control *control, uint64_t now_ns)
{
    static struct channel_call call;
    int taken = 0;
    for (; taken < RECEIVED_MAX && shm_control_poll(control, &call.msg, now_ns); taken++) {
        if (call.msg.type == CTL_HISTORY)
            question_answer(&app->question, &call.msg);
        else
            tell_node(app, &call);
    }
    return taken > 0;
}

/* With no planner there the request is dropped: the node repeats open ones when one attaches. True: there was one that will
 * be answered. */
static bool node_to_planner(struct app *app, struct shm_control *control)
{
    bool any = false;
    for (const struct ctl_msg *msg = outbox_front(&app->outbox); msg != NULL;
         msg = outbox_front(&app->outbox)) {
        if (control->present && !shm_control_send(control->ring, msg))
            return true; /* full: next turn */
        any |= msg->type != CTL_ESTIMATE;
        outbox_release(&app->outbox);
    }
    return any;
}

/* What came from the planner's side and is no record. */
static void log_bad(const struct app *app, const struct shm_ring *ring, struct bad_records *bad,
                    uint64_t now_ns)
{
    uint64_t count = shm_ring_counters(ring).bad;
    if (count == bad->logged || !gaps_say(&bad->said, now_ns))
        return;
    fprintf(stderr, "%s: %llu bad records on the control ring thrown away so far\n", app->config.node.name,
            (unsigned long long)count);
    bad->logged = count;
}

/* What a memif link shares is mapped while the worker runs: its pages are made here, when the link comes up. */
static void watch_links(const struct app *app, uint32_t *up)
{
    uint32_t now = 0;
    for (uint16_t index = 0; index < app->config.node.port_count; index++) {
        const struct datagram_port *port = &app->ports[index];
        if (port->device != NULL && port->device->device.kind == DEVICE_MEMIF && datagram_link_up(port))
            now |= 1u << index;
    }
    if ((now & ~*up) != 0)
        resident_memif();
    *up = now;
}

/* The control ring, and what crosses it; the planner that is started here. */
struct planner_side {
    struct planner_process process;
    struct shm_ring *ring; /* NULL: there is none, for now */
    struct shm_control control;
    struct bad_records bad;
    struct err refused;  /* why it could not be made, by the newest line of the log; "": it was */
    uint64_t look_ns;    /* not before */
    uint64_t crossed_ns; /* the last record did */
};

/* What keeps it from being made may pass: it is tried again, and said when it changes. */
static void ring_make(const struct app *app, struct planner_side *side, uint64_t now_ns)
{
    const char *name = app->config.node.name;
    const struct starter_config *planner = &app->starter_config;
    struct err err;
    side->ring = shm_ring_create(app->config.control_ring, &err);
    if (side->ring != NULL && planner->other_user &&
        !shm_ring_give(side->ring, planner->user, planner->group, &err)) {
        shm_ring_close(side->ring);
        side->ring = NULL;
    }
    if (side->ring == NULL && strcmp(err.text, side->refused.text) != 0)
        fprintf(stderr, "%s: no planner can attach for now: %s\n", name, err.text);
    if (side->ring != NULL && side->refused.text[0] != '\0')
        fprintf(stderr, "%s: the control ring %s is there: a planner can attach\n", name,
                app->config.control_ring);
    if (side->ring == NULL)
        side->refused = err;
    else
        side->refused.text[0] = '\0';
    if (side->ring != NULL)
        shm_control_init(&side->control, side->ring, now_ns);
    side->bad = (struct bad_records){0};
}

static void ring_drop(struct app *app, struct planner_side *side, const char *why)
{
    static struct channel_call gone;
    fprintf(stderr, "%s: somebody %s the control ring %s: it is made anew\n", app->config.node.name, why,
            app->config.control_ring);
    shm_ring_close(side->ring);
    gone.msg = (struct ctl_msg){.type = CTL_PLANNER_GONE, .correlation = side->control.generation};
    if (side->control.present)
        tell_node(app, &gone);
    side->ring = NULL;
    side->control = (struct shm_control){.ring = NULL};
    side->look_ns = 0;
}

/* Makes the ring where there is none, and does away with one that serves nobody any more. */
static void ring_look(struct app *app, struct planner_side *side, uint64_t now_ns)
{
    if (app->config.control_ring[0] == '\0')
        return;
    if (side->ring != NULL && shm_ring_cut(side->ring))
        ring_drop(app, side, "cut short");
    if (now_ns < side->look_ns)
        return;
    if (side->ring != NULL && shm_ring_stale(side->ring))
        ring_drop(app, side, "took away");
    side->look_ns = now_ns + RING_LOOK_NS;
    if (side->ring == NULL)
        ring_make(app, side, now_ns);
}

static enum planner_need planner_need(const struct app *app, const struct planner_side *side)
{
    if (side->ring == NULL || side->control.present)
        return PLANNER_NONE_MISSED;
    return __atomic_load_n(&app->planner_wanted, __ATOMIC_RELAXED) ? PLANNER_NEEDED : PLANNER_ABSENT;
}

/* Asks for a planner where one is needed. */
static void process_turn(struct app *app, struct planner_side *side, uint64_t now_ns)
{
    static struct channel_call call;
    const char *news = planner_process_turn(&side->process, &app->starter, planner_need(app, side),
                                            app->config.node.name, now_ns);
    if (news == NULL)
        return;
    call.msg.type = CTL_PLANNER_NEWS;
    name_copy(call.msg.body.planner_news.text, sizeof(call.msg.body.planner_news.text), news);
    tell_node(app, &call);
}

static void planner_turn(struct app *app, struct planner_side *side, uint64_t now_ns)
{
    ring_look(app, side, now_ns);
    if (app->starter.process > 0)
        process_turn(app, side, now_ns);
    bool crossed = side->ring != NULL && planner_to_node(app, &side->control, now_ns);
    crossed |= node_to_planner(app, &side->control);
    crossed |= question_carry(&app->question, &side->control);
    if (crossed)
        side->crossed_ns = now_ns;
    if (side->ring != NULL)
        log_bad(app, side->ring, &side->bad, now_ns);
}

void *background_main(void *argument)
{
    struct app *app = argument;
    struct planner_side side = {.ring = NULL};
    uint32_t links_up = 0;
    eal_thread_background(&app->eal);
    while (!app_stopping(app)) {
        uint64_t now_ns = monotonic_ns();
        waiter_announce(&app->background);
        if (app->config.insecure)
            insecure_remind(app->config.node.name, &app->remind_ns, now_ns);
        planner_turn(app, &side, now_ns);
        watch_links(app, &links_up);
        events_print(&app->events, app->config.node.name, now_ns);
        disk_rates_look(&app->disk_rates, app->disk, now_ns);
        bool busy =
            elapsed_ns(now_ns, side.crossed_ns) < BUSY_FOR_NS || planner_need(app, &side) == PLANNER_NEEDED;
        waiter_wait(&app->background, busy ? BUSY_TURN_NS : TURN_NS);
    }
    events_print(&app->events, app->config.node.name, monotonic_ns());
    if (side.ring != NULL)
        shm_ring_close(side.ring);
    return NULL;
}
