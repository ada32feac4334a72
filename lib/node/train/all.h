/* A round of all pairs: this node has the paths between all nodes that it sees up measured, itself included, each by its own
 * sender (pairs.h, asked.h), in the order that probe/survey.h says.
 *
 * Behind the paths come the lines out that they share, a few at a time, whose trains bear each other; then the lines in.
 *
 * First nodes are asked how fast their ports are and how far from each other (MEETING, no trains), so that what it will cost can
 * be told before any train is sent (READY). Then an operator starts it; it ends when paths and lines are known, by its last pass, or
 * when it is stopped. What is known by then stays in the tables, and answers that come later too. Should this node die, the
 * others measure for half a second what they were last asked for, and are done.
 *
 * Groups of nodes with one way out are those whose paths cross one shared link (path_table.h), where this node was told of such. */
#pragma once

#include "base/arena.h"
#include "node/train/pairs.h"
#include "probe/survey.h"

#define ALL_BYTES      1500000u /* of one measurement: two round trips of trains at any rate … */
#define ALL_TEST_BYTES 40000u   /* … behind a test of its ends (ends.h), which takes one */
#define ALL_TRAINS     4u
#define ALL_PASSES     4u
/* Of the slowest port, that a node sends and receives: within what others take (in.h). */
#define ALL_LOAD_PPM 30000u
#define ALL_LINES    2                /* asked for at a time */
#define ALL_KEEP     4u               /* paths into each node that a plan may choose among */
#define ALL_FRESH_NS (60 * NS_PER_S)  /* what was told of ports and distances counts for so long */
#define ALL_MEET_NS  (2 * NS_PER_S)   /* whoever has told nothing by then is taken to be like this node */
#define ALL_GUARD_NS (10 * NS_PER_MS) /* messages that come late, clocks that drift */
#define ALL_SLACK_NS (40 * NS_PER_MS) /* paths slower than their ports; reports that take a turn */

enum all_state { ALL_IDLE, ALL_MEETING, ALL_READY, ALL_RUNNING, ALL_OVER };

struct all {
    enum all_state state;
    bool order, stopped;
    uint64_t met_ns; /* MEETING: over then, whoever is missing */
    uint64_t next_ns;
    uint64_t asked_mask; /* bit per peer that was asked how fast it is */
    struct survey_goal goal;
    struct rotation_cost cost;
    uint64_t lasts_ns, rtt_ns; /* of a measurement at most; the longest */
    uint16_t site_of[ROTATION_NODES_MAX];
    struct survey survey;
    uint16_t line;       /* index of the site whose line out is asked for next; beyond: lines in were … */
    uint64_t line_mask;  /* … and bit per index of those that have not answered … */
    uint64_t in_mask;    /* … of lines in */
    struct known *known; /* (peers + 1)^2 */
};

size_t all_bytes(const struct node_config *config); /* of arena */
void all_init(struct node *node, struct arena *arena);
/* What it would cost: READY in a round trip or two. False with the reason. */
bool all_reckon(struct node *node, bool order, uint64_t now_ns, struct err *err);
/* As reckoned. False with the reason. */
bool all_start(struct node *node, uint64_t now_ns, struct err *err);
bool all_stop(struct node *node, uint64_t now_ns, struct err *err);
void all_on_end(struct node *node, const struct pair_end *end, uint64_t now_ns);
void all_tick(struct node *node, uint64_t now_ns);
uint64_t all_next_ns(const struct node *node);
const char *all_state_word(enum all_state state);
