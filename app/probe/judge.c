#include "app/probe/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"

#define PACKET_BITS (FULL_PACKET_WIRE_BYTES * 8.0)
#define SETTLE_NS   NS_PER_S /* a look so long after a change is one at a steady path */
#define SEEN_SHARE  0.01

void judge_begin(struct judge *judge, const struct run_config *config)
{
    *judge = (struct judge){.config = config};
}

void judge_end(struct judge *judge)
{
    for (unsigned i = 0; i < JUDGE_SERIES; i++)
        free(judge->series[i].values);
}

static void add(struct judge *judge, enum judge_series series, double value)
{
    struct judge_values *values = &judge->series[series];
    if (values->count == values->room) {
        values->room = MAX(2 * values->room, 256U);
        values->values = realloc(values->values, values->room * sizeof(*values->values));
        CHECK(values->values != NULL);
    }
    values->values[values->count++] = value;
}

static const struct hop_config *tight_hop(const struct judge *judge)
{
    const struct world_config *world = &judge->config->world;
    return &world->hops[world_tight(world)];
}

static double outside(const struct estimate *estimate, double truth, double capacity)
{
    double below = (double)estimate->low_bps - truth, above = truth - (double)estimate->high_bps;
    return fmax(0, fmax(below, above)) / capacity;
}

/* Said to be sure, and so far off that the interval is no excuse. */
static double wrong(const struct estimate *estimate, double truth, double capacity)
{
    double width = (double)estimate->high_bps - (double)estimate->low_bps;
    double error = fabs((double)estimate->avail_bps - truth);
    return error > fmax(width, JUDGE_SLACK * capacity);
}

static double half_width(const struct estimate *estimate, double capacity)
{
    return ((double)estimate->high_bps - (double)estimate->low_bps) / 2 / capacity;
}

static void take_value(struct judge *judge, const struct run_look *look, uint64_t window_bps)
{
    const struct estimate *estimate = &look->estimate;
    double capacity = (double)look->capacity_bps, value = (double)estimate->avail_bps;
    double cross = (double)tight_hop(judge)->cross_bps;
    if (window_bps != 0) {
        add(judge, JUDGE_ERROR_W, (value - (double)window_bps) / capacity);
        add(judge, JUDGE_OUTSIDE_W, outside(estimate, (double)window_bps, capacity));
        add(judge, JUDGE_WRONG_W, wrong(estimate, (double)window_bps, capacity));
    }
    if (look->period_bps != 0) {
        add(judge, JUDGE_ERROR_P, (value - (double)look->period_bps) / capacity);
        add(judge, JUDGE_OUTSIDE_P, outside(estimate, (double)look->period_bps, capacity));
        add(judge, JUDGE_WRONG_P, wrong(estimate, (double)look->period_bps, capacity));
    }
    add(judge, JUDGE_ERROR_A, (value - (capacity - cross)) / capacity);
    add(judge, JUDGE_HALF, half_width(estimate, capacity));
    if (estimate->busy_ns > 0)
        add(judge, JUDGE_LAW, cross / capacity * PACKET_BITS / (capacity * (double)estimate->busy_ns / 1e9));
}

static void take_path(struct judge *judge, const struct run_look *look)
{
    const struct estimate *estimate = &look->estimate;
    const struct netem_config *link = &tight_hop(judge)->link;
    uint64_t depth_bytes = link->policer_bps != 0 ? link->policer_depth_bytes : link->shaper_depth_bytes;
    if (estimate->capacity_bps != 0)
        add(judge, JUDGE_CAPACITY, (double)estimate->capacity_bps / (double)look->capacity_bps - 1);
    if (estimate->depth_bytes != 0 && depth_bytes != 0)
        add(judge, JUDGE_DEPTH, (double)estimate->depth_bytes / (double)depth_bytes - 1);
}

/* Where more than one hop may queue. */
static double bound_holds(const struct run_look *look)
{
    const struct estimate *estimate = &look->estimate;
    double value = (double)estimate->avail_bps, truth = (double)look->period_bps;
    if (estimate->kind == ESTIMATE_VALUE && fabs(value - truth) <= 0.03 * (double)look->capacity_bps)
        return 1;
    bool said = estimate_says(estimate);
    return said && (estimate->flags & ESTIMATE_MULTI_HOP) && value >= 0.8 * truth && value <= 1.03 * truth;
}

/* What is over of changes whose time has come: the path now is that of the last one. */
static void pass_steps(struct judge *judge, uint64_t at_ns)
{
    const struct hop_config *hop = tight_hop(judge);
    while (judge->steps_passed < hop->step_count && hop->steps[judge->steps_passed].at_ns <= at_ns) {
        judge->steps_missed += judge->step_seen < judge->steps_passed;
        judge->steps_passed++;
        judge->steps++;
    }
}

void judge_look(void *user, const struct run_look *look)
{
    struct judge *judge = user;
    const struct hop_config *hop = tight_hop(judge);
    const struct estimate *estimate = &look->estimate;
    pass_steps(judge, look->at_ns);
    uint64_t since_ns =
        look->at_ns - (judge->steps_passed > 0 ? hop->steps[judge->steps_passed - 1].at_ns : 0);
    double capacity = (double)look->capacity_bps, truth = capacity - (double)hop->cross_bps;
    double error = ((double)estimate->avail_bps - truth) / capacity;
    bool value = estimate->kind == ESTIMATE_VALUE;
    judge->looks++;
    if (value && judge->step_seen < judge->steps_passed && fabs(error) <= SEEN_SHARE) {
        judge->step_seen = judge->steps_passed;
        add(judge, JUDGE_SEEN_S, (double)since_ns / 1e9);
    }
    if (since_ns < SETTLE_NS)
        return;
    judge->steady_looks++;
    judge->steady_values += value;
    if (!value)
        return;
    add(judge, JUDGE_STEADY, error);
    add(judge, JUDGE_STEADY_HALF, half_width(estimate, capacity));
    add(judge, JUDGE_STEADY_OUTSIDE, outside(estimate, truth, capacity));
    add(judge, JUDGE_STEADY_WRONG, wrong(estimate, truth, capacity));
}

void judge_take(struct judge *judge, const struct run_result *result)
{
    const struct run_look *look = &result->look;
    const struct estimate *estimate = &look->estimate;
    double capacity = (double)look->capacity_bps;
    judge->runs++;
    judge->unended += !result->ended;
    judge->kinds[estimate->kind]++;
    if (estimate->kind != ESTIMATE_VALUE)
        judge->reasons[estimate->reason]++;
    for (unsigned i = 0; i < 32; i++)
        judge->flags[i] += estimate->flags >> i & 1;
    if (estimate->kind == ESTIMATE_VALUE)
        take_value(judge, look, result->window_bps);
    if (estimate->kind == ESTIMATE_AT_LEAST) {
        add(judge, JUDGE_LEAST, (double)estimate->low_bps / capacity);
        if (look->period_bps != 0)
            add(judge, JUDGE_LEAST_P, (double)estimate->low_bps / (double)look->period_bps);
    }
    take_path(judge, look);
    if (look->period_bps != 0)
        add(judge, JUDGE_BOUND_P, bound_holds(look));
    add(judge, JUDGE_TOOK_S, (double)result->took_ns / 1e9);
    add(judge, JUDGE_BYTES, (double)result->bytes);
    add(judge, JUDGE_LOAD, (double)result->load_ppb / 1e9);
    add(judge, JUDGE_QUEUE, (double)result->queue_max);
    add(judge, JUDGE_ADDED_FIRST, (double)result->added_first_max);
    add(judge, JUDGE_ADDED, (double)result->added_max);
    add(judge, JUDGE_TRAINS, result->trains);
    judge->cross_packets += result->cross_packets;
    judge->added_drops += result->added_drops;
    judge->steps_missed += judge->step_seen < judge->steps_passed;
    judge->steps_passed = judge->step_seen = 0;
}

/* ---- figures ---- */

static double mean_of(const struct judge_values *values, double unused)
{
    double sum = 0;
    (void)unused;
    for (uint32_t i = 0; i < values->count; i++)
        sum += values->values[i];
    return sum / values->count;
}

static double deviation_of(const struct judge_values *values, double unused)
{
    double mean = mean_of(values, unused), sum = 0;
    for (uint32_t i = 0; i < values->count; i++)
        sum += (values->values[i] - mean) * (values->values[i] - mean);
    return sqrt(sum / (values->count - 1));
}

static double root_of_mean(const struct judge_values *values, double unused)
{
    return sqrt(mean_of(values, unused));
}

/* Share of those that are no further from 0. */
static double share_within(const struct judge_values *values, double bound)
{
    uint32_t within = 0;
    for (uint32_t i = 0; i < values->count; i++)
        within += fabs(values->values[i]) <= bound;
    return (double)within / values->count;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Of the amounts: the one that so many do not exceed. */
static double quantile_of(const struct judge_values *values, double share)
{
    double *sorted = malloc(values->count * sizeof(double));
    CHECK(sorted != NULL);
    for (uint32_t i = 0; i < values->count; i++)
        sorted[i] = fabs(values->values[i]);
    qsort(sorted, values->count, sizeof(double), compare);
    uint32_t place = (uint32_t)ceil(share * values->count);
    double value = sorted[place > 0 ? place - 1 : 0];
    free(sorted);
    return value;
}

#define MEAN(name, series)                                                                                   \
    {                                                                                                        \
        name, series, 1, mean_of, 0                                                                          \
    }
#define DEVIATION(name, series)                                                                              \
    {                                                                                                        \
        name, series, 2, deviation_of, 0                                                                     \
    }
#define WITHIN(name, series, bound)                                                                          \
    {                                                                                                        \
        name, series, 1, share_within, bound                                                                 \
    }
#define QUANTILE(name, series, share)                                                                        \
    {                                                                                                        \
        name, series, 1, quantile_of, share                                                                  \
    }

static const struct row {
    const char *name;
    enum judge_series series;
    uint32_t least; /* values that it takes */
    double (*of)(const struct judge_values *values, double argument);
    double argument;
} rows[] = {
    MEAN("error_w_bias", JUDGE_ERROR_W),
    DEVIATION("error_w_sd", JUDGE_ERROR_W),
    QUANTILE("error_w_p95", JUDGE_ERROR_W, 0.95),
    WITHIN("error_w_within_003", JUDGE_ERROR_W, 0.003),
    WITHIN("error_w_within_005", JUDGE_ERROR_W, 0.005),
    WITHIN("error_w_within_010", JUDGE_ERROR_W, 0.01),
    WITHIN("error_w_within_030", JUDGE_ERROR_W, 0.03),
    MEAN("error_p_bias", JUDGE_ERROR_P),
    DEVIATION("error_p_sd", JUDGE_ERROR_P),
    QUANTILE("error_p_p50", JUDGE_ERROR_P, 0.5),
    QUANTILE("error_p_p95", JUDGE_ERROR_P, 0.95),
    WITHIN("error_p_within_003", JUDGE_ERROR_P, 0.003),
    WITHIN("error_p_within_005", JUDGE_ERROR_P, 0.005),
    WITHIN("error_p_within_010", JUDGE_ERROR_P, 0.01),
    WITHIN("error_p_within_030", JUDGE_ERROR_P, 0.03),
    MEAN("error_a_bias", JUDGE_ERROR_A),
    DEVIATION("error_a_sd", JUDGE_ERROR_A),
    {"law_sd", JUDGE_LAW, 1, root_of_mean, 0},
    WITHIN("covers_w", JUDGE_OUTSIDE_W, 0),
    WITHIN("covers_p", JUDGE_OUTSIDE_P, 0),
    QUANTILE("outside_p_max", JUDGE_OUTSIDE_P, 1),
    MEAN("wrong_w", JUDGE_WRONG_W),
    MEAN("wrong_p", JUDGE_WRONG_P),
    MEAN("bound_p", JUDGE_BOUND_P),
    MEAN("half_width", JUDGE_HALF),
    QUANTILE("half_width_max", JUDGE_HALF, 1),
    QUANTILE("capacity_error_p95", JUDGE_CAPACITY, 0.95),
    QUANTILE("depth_error_p95", JUDGE_DEPTH, 0.95),
    MEAN("at_least_of_c", JUDGE_LEAST),
    QUANTILE("at_least_of_c_min", JUDGE_LEAST, 0),
    QUANTILE("at_least_of_p_min", JUDGE_LEAST_P, 0),
    QUANTILE("at_least_of_p_max", JUDGE_LEAST_P, 1),
    MEAN("took_s", JUDGE_TOOK_S),
    QUANTILE("took_s_p95", JUDGE_TOOK_S, 0.95),
    QUANTILE("took_s_max", JUDGE_TOOK_S, 1),
    MEAN("bytes", JUDGE_BYTES),
    QUANTILE("bytes_max", JUDGE_BYTES, 1),
    MEAN("load", JUDGE_LOAD),
    QUANTILE("load_max", JUDGE_LOAD, 1),
    QUANTILE("queue_max", JUDGE_QUEUE, 1),
    QUANTILE("added_first_max", JUDGE_ADDED_FIRST, 1),
    QUANTILE("added_max", JUDGE_ADDED, 1),
    MEAN("trains", JUDGE_TRAINS),
    QUANTILE("steady_error_p95", JUDGE_STEADY, 0.95),
    QUANTILE("steady_error_max", JUDGE_STEADY, 1),
    MEAN("steady_half_width", JUDGE_STEADY_HALF),
    WITHIN("steady_covers", JUDGE_STEADY_OUTSIDE, 0),
    QUANTILE("steady_outside_max", JUDGE_STEADY_OUTSIDE, 1),
    MEAN("steady_wrong", JUDGE_STEADY_WRONG),
    QUANTILE("seen_s_max", JUDGE_SEEN_S, 1),
};

/* Shares of runs that gave each kind, each reason and each flag that occurred. */
static void words(const struct judge *judge, judge_figure *figure, void *user)
{
    char name[64];
    for (unsigned i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "share_%s", estimate_kind_word(i));
        figure(user, name, (double)judge->kinds[i] / judge->runs);
    }
    for (unsigned i = 1; i < 16; i++) {
        snprintf(name, sizeof(name), "reason_%s", judge->reasons[i] ? estimate_reason_word(i) : "");
        if (judge->reasons[i] > 0)
            figure(user, name, (double)judge->reasons[i] / judge->runs);
    }
    for (unsigned i = 0; estimate_flag_word(i) != NULL; i++) {
        snprintf(name, sizeof(name), "flag_%s", estimate_flag_word(i));
        figure(user, name, (double)judge->flags[i] / judge->runs);
    }
}

void judge_figures(struct judge *judge, judge_figure *figure, void *user)
{
    figure(user, "runs", judge->runs);
    figure(user, "share_unended", (double)judge->unended / judge->runs);
    words(judge, figure, user);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct judge_values *values = &judge->series[rows[i].series];
        figure(user, rows[i].name,
               values->count >= rows[i].least ? rows[i].of(values, rows[i].argument) : NAN);
    }
    figure(user, "cross_added_loss",
           judge->cross_packets > 0 ? (double)judge->added_drops / (double)judge->cross_packets : NAN);
    figure(user, "steady_values",
           judge->steady_looks > 0 ? (double)judge->steady_values / judge->steady_looks : NAN);
    figure(user, "steps", judge->steps);
    figure(user, "steps_missed", judge->steps_missed);
}
