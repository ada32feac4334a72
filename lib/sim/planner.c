/* The planner beside a host, as the host's end of the control ring shows it: requests go out, answers come
 * back after a while, a silent one is reported as gone. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "sim/run.h"

enum planner_act { PLANNER_ANSWERS, PLANNER_GONE, PLANNER_BACK };

struct planner_event {
    enum planner_act act;
    uint32_t life;
    uint64_t correlation;
    struct plan_request request;
};

static void schedule(struct sim *sim, uint16_t index, enum planner_act act, uint64_t after_ns,
                     const struct ctl_msg *request)
{
    struct planner_event *event = calloc(1, sizeof(*event));
    CHECK(event != NULL);
    event->act = act;
    event->life = sim->hosts[index].planner_life;
    if (request != NULL) {
        event->correlation = request->correlation;
        event->request = request->body.plan_request;
    }
    event_add(&sim->heap, sim->now_ns + after_ns, EVENT_PLANNER, index, event);
}

void planner_attach(struct sim *sim, uint16_t index)
{
    struct ctl_msg *msg = &sim->message;
    sim->hosts[index].planner_alive = true;
    *msg = (struct ctl_msg){.type = CTL_PLANNER_HELLO};
    if (sim->hosts[index].node != NULL)
        host_ctl(sim, index, msg, NULL);
}

void planner_kill(struct sim *sim, uint16_t index, uint64_t back_after_ns)
{
    struct sim_host *host = &sim->hosts[index];
    if (!host->planner || !host->planner_alive)
        return;
    host->planner_alive = false;
    host->planner_life++;
    schedule(sim, index, PLANNER_GONE, SIM_PLANNER_GONE_NS, NULL);
    if (back_after_ns != 0 && back_after_ns < SIM_LIMIT_NS * 1000)
        schedule(sim, index, PLANNER_BACK, back_after_ns, NULL);
}

void planner_ask(struct sim *sim, uint16_t index, const struct ctl_msg *request)
{
    const struct sim_host *host = &sim->hosts[index];
    if (request->type == CTL_PLAN_REQUEST && host->planner && host->planner_alive)
        schedule(sim, index, PLANNER_ANSWERS, SIM_PLANNER_NS, request);
}

static void answer(struct sim *sim, uint16_t index, const struct planner_event *event)
{
    struct ctl_msg *msg = &sim->message;
    struct err err = {.text = "no planner in this program"};
    *msg = (struct ctl_msg){.type = CTL_PLAN, .correlation = event->correlation};
    if (sim->options.solve == NULL || !sim->options.solve(&event->request, &msg->body.plan, &err)) {
        msg->type = CTL_PLAN_FAILED;
        msg->body.plan_failed.job = event->request.job;
        msg->body.plan_failed.epoch = event->request.epoch;
        name_copy(msg->body.plan_failed.text, sizeof(msg->body.plan_failed.text), err.text);
    }
    host_ctl(sim, index, msg, NULL);
}

void planner_on_event(struct sim *sim, uint16_t index, void *object)
{
    struct planner_event *event = object;
    struct sim_host *host = &sim->hosts[index];
    if (event->life == host->planner_life) {
        switch (event->act) {
        case PLANNER_ANSWERS:
            if (host->node != NULL)
                answer(sim, index, event);
            break;
        case PLANNER_GONE:
            sim->message = (struct ctl_msg){.type = CTL_PLANNER_GONE};
            if (host->node != NULL && !host->planner_alive)
                host_ctl(sim, index, &sim->message, NULL);
            break;
        case PLANNER_BACK:
            planner_attach(sim, index);
            break;
        }
    }
    free(event);
}
