/* Modes are judged as the pool judges them; rows by what the plan's own edges carry. */
#include "planner/why.h"

#include <string.h>

#include "base/units.h"
#include "planner/auto.h"
#include "planner/exchange.h"
#include "planner/solve.h"
#include "planner/taken.h"

#define RAISE        2    /* each row on its own, to so much of what it is */
#define WORTH_PPM    5000 /* gains below are none */
#define REPLANS_MAX  4    /* rows for which everything is planned again … */
#define HOSTS_FEW    20   /* … where that is a matter of milliseconds; else: */
#define REPLANS_MANY 1

struct explaining {
    const struct plan_request *request;
    struct plan *plan;
    struct arena *arena;
    struct request_net from;
    struct taken taken;
    unsigned replans;
};

size_t why_bytes(const struct plan_request *request)
{
    struct net net = {.count = request->node_count, .shared_count = request->shared_count};
    return auto_bytes(request) + taken_bytes(&net) + arena_need(net_rows(&net) * sizeof(double)) +
           exchange_bytes(&net);
}

/* ---- metrics ---- */

static void add_metric(struct explaining *explaining, enum plan_metric metric,
                       const struct judgement *judgement)
{
    struct plan_why *why = &explaining->plan->why;
    const struct judge_object object = auto_options(&explaining->from).pool.object;
    bool capped = !(judgement->rate_bps < object.rate_cap_bps);
    why->metrics[why->metric_count++] =
        (struct plan_why_metric){.metric = (uint8_t)metric,
                                 .rate_bps = solve_payload_bps((uint64_t)judgement->rate_bps),
                                 .delay_us = judgement->delay_us,
                                 .time_us = object.size_bytes == 0 ? 0 : (uint64_t)(judgement->seconds * 1e6),
                                 .limit = capped ? (struct plan_limit){.row = PLAN_ROW_CAP}
                                                 : taken_limit(&explaining->from, judgement->tight)};
}

static void judge_metrics(struct explaining *explaining)
{
    const struct net *net = &explaining->from.net;
    const struct choose_options options = auto_options(&explaining->from);
    size_t mark = explaining->arena->used;
    struct request_search among;
    request_search_init(&among, net, explaining->arena);
    struct net_forest forest = {
        .tree_count = 1, .period = 1, .weight = {1}, .trees = {net_tree_new(net, explaining->arena)}};
    for (unsigned metric = 0; metric < PLAN_METRIC_COUNT; metric++) {
        struct err ignored;
        if (!mode_tree(&among.search, (enum plan_metric)metric, &options.pool.modes, &forest.trees[0],
                       &ignored))
            continue;
        struct judgement judgement = judge(&among.task, &forest, &options.pool.object, explaining->arena);
        if (judgement.rate_bps > 0)
            add_metric(explaining, (enum plan_metric)metric, &judgement);
    }
    explaining->arena->used = mark;
}

/* ---- rows ---- */

static double load(const struct explaining *explaining, uint32_t row)
{
    return explaining->taken.common[row] + explaining->taken.paced[row];
}

/* How much more the same trees carry when this row is no limit. */
static double growth_without(const struct explaining *explaining, uint32_t row)
{
    double growth = RAISE;
    for (uint32_t other = 0; other < net_rows(&explaining->from.net); other++) {
        double its = other == row ? NET_NO_LIMIT : taken_growth(&explaining->taken, other);
        growth = its < growth ? its : growth;
    }
    return growth > 1 ? growth : 1;
}

/* The field behind a row. */
static double *capacity_of(const struct net *net, uint32_t row)
{
    struct net_row what = net_row_of(net, row);
    switch (what.kind) {
    case NET_UPLINK:
        return &net->hosts[what.host].up_bps;
    case NET_DOWNLINK:
        return &net->hosts[what.host].down_bps;
    case NET_PACKETS:
        return &net->hosts[what.host].packets_ps;
    case NET_WINDOW:
        return &net->hosts[what.host].window_bytes;
    case NET_SHARED:
        return &net->shared[what.host].rate_bps;
    case NET_PATH:
        break;
    }
    return &net->path_bps[net_edge(net, what.host, what.to)];
}

/* In the unit that the request has: bit/s with what is kept back for acks, packets/s, bytes. */
static uint64_t in_units(double field, enum net_row_kind kind)
{
    double whole = kind == NET_PACKETS || kind == NET_WINDOW
                       ? field
                       : field * PLAN_WHOLE_PPM / (PLAN_WHOLE_PPM - SOLVE_HEADROOM_PPM);
    return (uint64_t)whole + 1;
}

/* Rate over the plan's, with everything planned anew for the raised row; *share: of it that is used then. */
static double replanned(struct explaining *explaining, uint32_t row, double *share)
{
    const struct net *net = &explaining->from.net;
    struct choose_options options = auto_options(&explaining->from);
    double *capacity = capacity_of(net, row), before = *capacity, growth = 0;
    size_t mark = explaining->arena->used;
    struct choice choice;
    struct err ignored;
    options.pack = false;
    *capacity = before * RAISE;
    if (choose(net, &options, explaining->arena, &choice, &ignored)) {
        double *use = arena_alloc(explaining->arena, net_rows(net) * sizeof(double)), common_bps = 0;
        memset(use, 0, net_rows(net) * sizeof(double));
        for (uint16_t tree = 0; tree < choice.forest.tree_count; tree++)
            net_add_use(net, &choice.forest.trees[tree], choice.forest.weight[tree], use);
        for (uint16_t tree = 0; tree < explaining->plan->tree_count; tree++)
            common_bps += (double)explaining->plan->edge_rate_bps[tree];
        growth = choice.judgement.rate_bps / common_bps;
        *share = use[row] / choice.forest.period * choice.judgement.rate_bps / net_capacity(net, row);
        *share = *share < 1 ? *share : 1;
    }
    *capacity = before;
    explaining->arena->used = mark;
    return growth;
}

static void raise(struct explaining *explaining, uint32_t row, struct plan_why_limit *limit)
{
    const struct net *net = &explaining->from.net;
    double growth = growth_without(explaining, row), share = 1;
    double raised = *capacity_of(net, row) *
                    (explaining->taken.common[row] * growth + explaining->taken.paced[row]) /
                    net_capacity(net, row);
    if (explaining->replans > 0 && explaining->request->metric == PLAN_METRIC_AUTO) {
        explaining->replans--;
        double again = replanned(explaining, row, &share);
        if (again > growth * (1 + WORTH_PPM / 1e6)) {
            growth = again;
            raised = *capacity_of(net, row) * RAISE * share;
        }
    }
    double gain_ppm = (growth - 1) * 1e6;
    if (gain_ppm < WORTH_PPM)
        return;
    limit->gain_ppm = (uint32_t)gain_ppm;
    limit->raised = in_units(raised, net_row_of(net, row).kind);
}

/* By the operator. */
static bool is_capped(const struct explaining *explaining)
{
    uint64_t cap_bps = explaining->request->rate_cap_bps;
    return cap_bps != 0 && explaining->plan->rate_bps + 1 >= cap_bps;
}

static void find_limits(struct explaining *explaining)
{
    const struct net *net = &explaining->from.net;
    struct plan_why *why = &explaining->plan->why;
    if (is_capped(explaining)) {
        why->limits[why->limit_count++].limit.row = PLAN_ROW_CAP;
        return;
    }
    explaining->replans = net->count <= HOSTS_FEW ? REPLANS_MAX : REPLANS_MANY;
    for (uint32_t row = 0; row < net_rows(net) && why->limit_count < PLAN_WHY_LIMITS_MAX; row++) {
        double capacity = net_capacity(net, row);
        if (capacity >= NET_NO_LIMIT || !(load(explaining, row) > 0) ||
            load(explaining, row) < capacity * TAKEN_TIGHT)
            continue;
        struct plan_why_limit *limit = &why->limits[why->limit_count++];
        limit->limit = taken_limit(&explaining->from, row);
        raise(explaining, row, limit);
    }
}

void why_fill(const struct plan_request *request, struct arena *arena, struct plan *plan)
{
    struct explaining explaining = {.request = request, .plan = plan, .arena = arena};
    size_t mark = arena->used;
    plan->why = (struct plan_why){0};
    request_net(request, arena, &explaining.from);
    taken_init(&explaining.taken, &explaining.from, plan, arena);
    judge_metrics(&explaining);
    find_limits(&explaining);
    exchange_fill(&explaining.taken, is_capped(&explaining), arena, plan);
    arena->used = mark;
}
