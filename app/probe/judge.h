/* Pools the results of many measurements of one path: how far off they were, how sure, and what they cost.
 *
 * Errors are relative to the tight hop's capacity at the end of the run, against W (what was left while the trains kept
 * the tight hop busy) and P (over the whole window of the estimate), of runs that gave a value; shares too. A figure for
 * which there is no run is not a number: null in JSON, "-" as text. Which figures there are stands in judge.c, once. */
#pragma once

#include "app/probe/run.h"

#define JUDGE_SLACK 0.005

enum judge_series {
    JUDGE_ERROR_W,   /* estimate less W, of C */
    JUDGE_ERROR_P,   /* … less P */
    JUDGE_ERROR_A,   /* … less what was configured, on average */
    JUDGE_HALF,      /* half-width of the interval, of C */
    JUDGE_OUTSIDE_P, /* how far P lies outside the interval, of C; 0 inside */
    JUDGE_OUTSIDE_W,
    JUDGE_WRONG_P, /* 1: sure, and wrong: more than JUDGE_SLACK and the whole width of the interval off; else 0 */
    JUDGE_WRONG_W,
    JUDGE_BOUND_P, /* of all runs, 1: within 3 % of P; or flagged, and 0.8 to 1.03 of P is a lower bound; else 0 */
    JUDGE_LAW,      /* rho L / (C T): what the variance of JUDGE_ERROR_A is to be by the busy time T */
    JUDGE_CAPACITY, /* relative error of the capacity that was told */
    JUDGE_DEPTH,    /* … of a bucket's depth, where the path has one and it was told */
    JUDGE_LEAST,    /* of lower bounds: of C */
    JUDGE_LEAST_P,  /* … of P */
    JUDGE_TOOK_S,   /* all of the following: of all runs */
    JUDGE_BYTES,
    JUDGE_LOAD,        /* the most of the capacity that trains took over any 10 s */
    JUDGE_QUEUE,       /* bytes that a train met at the tight hop */
    JUDGE_ADDED_FIRST, /* bytes that trains added to its queue: in the first second, */
    JUDGE_ADDED,       /* and later */
    JUDGE_TRAINS,
    JUDGE_STEADY, /* looks later than 1 s after a change: error against what was configured, of C */
    JUDGE_STEADY_HALF,
    JUDGE_STEADY_OUTSIDE,
    JUDGE_STEADY_WRONG,
    JUDGE_SEEN_S, /* from a change of the capacity to the first look within 1 % of what then was so */
    JUDGE_SERIES
};

struct judge_values {
    double *values;
    uint32_t count, room;
};

struct judge {
    const struct run_config *config;
    struct judge_values series[JUDGE_SERIES];
    uint32_t runs, kinds[4], reasons[16], flags[32], unended;
    uint32_t looks, steady_looks, steady_values;
    unsigned steps_passed, step_seen; /* of this run: changes that have been, and the last one seen */
    uint32_t steps, steps_missed;
    uint64_t cross_packets, added_drops;
};

/* The config outlives it. */
void judge_begin(struct judge *judge, const struct run_config *config);
void judge_end(struct judge *judge);
/* `user` is the judge: for run_measure. */
void judge_look(void *user, const struct run_look *look);
void judge_take(struct judge *judge, const struct run_result *result);
/* Each figure by name, in order; words of kinds, reasons and flags are part of names. */
typedef void judge_figure(void *user, const char *name, double value);
void judge_figures(struct judge *judge, judge_figure *figure, void *user);
