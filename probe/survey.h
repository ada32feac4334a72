/* Measures the paths between all of N nodes: whom to ask for which path, and when; what is known, and what
 * is still worth it.
 *
 * A measurement of one path takes a slot of the rotation (rotation.h): nobody sends or receives for two at
 * once, and of a group's shared way out no more is taken than it has. Within a pass rounds are open loop:
 * each ask goes out `lead_ns` ahead, and the next round begins whether or not answers to the last one are
 * back. Between two passes answers are waited for, those of silent nodes not; then only what is not yet
 * known to `fine_bps` is asked for again, and by `order` (order.h) only what a plan may need to know
 * better. What was refused by a node's own rules is not asked for again.
 *
 *     survey_begin(&survey, &goal, known, now, &err)
 *     while ((step = survey_next(..., now, &turn)) != SURVEY_DONE)
 *         ASK: ask turn.from for its path to turn.to, to begin at turn.at_ns; WAIT: until turn.at_ns, or an answer
 *         survey_take(..., from, to, answer, estimate, now)     once for each ask: its answer, or that it did not come
 *
 * No IO, no allocation; times are the caller's. */
#pragma once

#include "probe/order.h"

struct survey_goal {
    struct rotation_goal rotation; /* train_ns: of a slot; train_bytes: of a measurement, at most */
    uint64_t lead_ns;
    uint32_t trains; /* of a measurement, at most */
    bool order;
    uint16_t keep;                 /* by order: paths into each node that a plan may choose among */
    uint64_t coarse_bps, fine_bps; /* half of an interval */
    uint64_t port_bps;             /* more than that no path has use for */
};

enum survey_step { SURVEY_WAIT, SURVEY_ASK, SURVEY_DONE };
enum survey_answer {
    SURVEY_ESTIMATE, /* the estimate says something */
    SURVEY_NOTHING,  /* the sender has answered, and nothing came of it: it is tried again */
    SURVEY_REFUSED,  /* it will not be measured */
    SURVEY_SILENT    /* one of the two does not answer */
};

struct survey_progress {
    struct rotation_progress rotation; /* trains: asks, in all */
    uint32_t pairs, known;             /* of all nodes that take part */
    uint32_t refused; /* by a node's rules, or nothing is known but why trains tell nothing */
    uint32_t trains;  /* as told by the estimates */
    uint64_t bytes;
    uint64_t took_ns;
};

struct survey {
    struct survey_goal goal;
    struct rotation rotation;
    struct order order;
    struct known *known;                  /* the caller's, [from * node_count + to] */
    uint64_t refused[ROTATION_NODES_MAX]; /* [from]: bit `to` */
    uint64_t vain[ROTATION_NODES_MAX];    /* the newest estimate says why it says nothing */
    uint64_t open[ROTATION_NODES_MAX];    /* asked, and not taken */
    bool over, between;                   /* between: a pass has ended, answers are waited for */
    bool held;                            /* `turn` waits for its lead */
    struct rotation_train turn;
    uint64_t begun_ns, ended_ns;
    uint32_t trains;
    uint64_t bytes;
};

/* Before anything is sent: bounds. trains: of all measurements. */
struct rotation_cost survey_cost(const struct survey_goal *goal);
/* `known` has node_count^2 places and outlives the survey. False: the goal contradicts itself. */
bool survey_begin(struct survey *survey, const struct survey_goal *goal, struct known *known, uint64_t now_ns,
                  struct err *err);
/* WAIT: turn->at_ns is when to come again (TIME_NEVER: after an answer). */
enum survey_step survey_next(struct survey *survey, uint64_t now_ns, struct rotation_train *turn);
/* `estimate` of SURVEY_ESTIMATE and SURVEY_NOTHING; else NULL. Of a survey that is over nothing is taken. */
void survey_take(struct survey *survey, uint16_t from, uint16_t to, enum survey_answer answer,
                 const struct estimate *estimate, uint64_t now_ns);
/* The node is down: nobody is asked about it, or waits for it, until it answers again. */
void survey_leave_out(struct survey *survey, uint16_t node);
/* No more asks; what is known stays. */
void survey_stop(struct survey *survey, uint64_t now_ns);
struct survey_progress survey_progress(const struct survey *survey, uint64_t now_ns);
