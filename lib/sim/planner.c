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
    sim->hosts[index].planner_alive = true;
    sim->message = (struct ctl_msg){.type = CTL_PLANNER_HELLO};
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
    if (!host->planner || !host->planner_alive)
        return;
    if (request->type == CTL_PLAN_REQUEST)
        schedule(sim, index, PLANNER_ANSWERS, SIM_PLANNER_NS, request);
    else if (request->type == CTL_ESTIMATE && sim->options.learn != NULL)
        sim->options.learn(index, &request->body.estimate, sim->now_ns);
}

static void answer(struct sim *sim, uint16_t index, struct planner_event *event)
{
    struct ctl_msg *msg = &sim->message;
    struct err err = {.text = "no planner in this program"};
    if (sim->options.recall != NULL)
        sim->options.recall(index, &event->request, sim->now_ns);
    *msg = (struct ctl_msg){.type = CTL_PLAN, .correlation = event->correlation};
    if (sim->options.solve == NULL || !sim->options.solve(&event->request, &msg->body.plan, &err)) {
        msg->type = CTL_PLAN_FAILED;
        msg->body.plan_failed.job = event->request.job;
        msg->body.plan_failed.epoch = event->request.epoch;
        name_copy(msg->body.plan_failed.text, sizeof(msg->body.plan_failed.text), err.text);
    }
}

/* False: the event belongs to a planner that is gone. */
static bool speak(struct sim *sim, uint16_t index, struct planner_event *event)
{
    if (event->life != sim->hosts[index].planner_life)
        return false;
    switch (event->act) {
    case PLANNER_ANSWERS:
        answer(sim, index, event);
        return true;
    case PLANNER_GONE:
        sim->message = (struct ctl_msg){.type = CTL_PLANNER_GONE};
        return !sim->hosts[index].planner_alive;
    case PLANNER_BACK:
        planner_attach(sim, index);
        return true;
    }
    return false;
}

bool planner_on_event(struct sim *sim, uint16_t index, void *object)
{
    struct planner_event *event = object;
    bool dead = sim->hosts[index].node == NULL;
    bool said = (!dead || event->act == PLANNER_BACK) && speak(sim, index, event) && !dead;
    free(event);
    return said;
}
