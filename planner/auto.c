/* Request → net → choice → plan. */
#include "planner/auto.h"

#include "planner/solve.h"

size_t auto_bytes(const struct plan_request *request)
{
    struct net net = {.count = request->node_count, .shared_count = request->shared_count};
    return request_net_bytes(request) + choose_bytes(&net);
}

/* What is wanted, and so much more that what is within eps of it is enough. */
static double useful_bps(const struct plan_request *request, double payload_per_wire)
{
    double cap_bps = NET_NO_LIMIT;
    if (request->rate_cap_bps != 0)
        cap_bps = (double)request->rate_cap_bps;
    if (request->wanted_bps != 0 && (double)request->wanted_bps * (1 + 2 * AUTO_EPS) < cap_bps)
        cap_bps = (double)request->wanted_bps * (1 + 2 * AUTO_EPS);
    return cap_bps < NET_NO_LIMIT ? cap_bps / payload_per_wire : cap_bps;
}

struct choose_options auto_options(const struct request_net *from)
{
    const struct plan_request *request = from->request;
    struct judge_object object = {.size_bytes = request->size_bytes,
                                  .payload_per_wire = SOLVE_PAYLOAD,
                                  .rate_cap_bps = useful_bps(request, SOLVE_PAYLOAD)};
    uint16_t trees_max = request->trees_max == 0 ? AUTO_TREES_MAX : request->trees_max;
    return (struct choose_options){.pool = {.object = object,
                                            .eps = AUTO_EPS,
                                            .edge_min_bps = SEND_RATE_MIN_BPS,
                                            .trees_max = trees_max,
                                            .modes = from->modes},
                                   .pack = true};
}

/* The trees as they are, at all that the net carries of them. */
static struct judgement judge_whole(const struct request_net *from, struct arena *arena,
                                    const struct choice *choice)
{
    struct judge_object object = auto_options(from).pool.object;
    const struct plan_request *request = from->request;
    struct task task = {&from->net, choice->member, choice->pace_bps};
    object.rate_cap_bps =
        request->rate_cap_bps == 0 ? NET_NO_LIMIT : (double)request->rate_cap_bps / object.payload_per_wire;
    return judge(&task, &choice->forest, &object, arena);
}

/* A plan counts on the low quantile of what was measured; its edges may be sent the measured value, since congestion control finds out
 * if that is too much. `from` and the choice's judgement are by measured values then. */
static void lift_edges(struct request_net *from, struct arena *arena, struct choice *choice,
                       struct plan *plan)
{
    double planned_bps = choice->judgement.rate_bps;
    request_as_measured(from);
    choice->judgement = judge_whole(from, arena, choice);
    if (choice->judgement.rate_bps > planned_bps)
        request_edge_rates(from, choice, plan);
}

bool auto_plan(const struct plan_request *request, struct arena *arena, struct plan *plan, struct err *err)
{
    struct request_net from;
    struct choice choice;
    size_t mark = arena->used;
    request_net(request, arena, &from);
    struct choose_options options = auto_options(&from);
    bool found = choose(&from.net, &options, arena, &choice, err);
    /* They were chosen for what is wanted, and may carry all they can: repairs, and what is wanted later. */
    if (found && request->wanted_bps != 0)
        choice.judgement = judge_whole(&from, arena, &choice);
    if (found) {
        request_plan(&from, &choice, plan);
        lift_edges(&from, arena, &choice, plan);
    }
    arena->used = mark;
    return found && plan_validate(plan, request, err);
}
