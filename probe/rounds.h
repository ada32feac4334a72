/* Rounds of measurements before a plan is used: its own edges of which nothing fresh is known, all of a round side
 * by side.
 *
 * What all rounds together may take is reckoned anew before each one, by the newest plan: what was measured shows
 * how long the job takes. Bytes: of each port and direction ROUNDS_OBJECT_PPM of the object; what trains for a
 * line bring to their receivers, an eighth or a half each and a sprint, is not counted. Time: ROUNDS_PLAN_PPM of
 * what the plan takes until its last receiver has all, ROUNDS_NS_MOST at most; and where it is likely to take
 * longer, since paths of which nothing is known may be as slow as some that are, the next round may take a part of
 * what that would cost, until all rounds have taken as long as the plan, or ROUNDS_NS_MOST. A round has those of
 * its edges that go into both, those first that take least; the others are left to later ones. Where the operator
 * has said how long it may take, that counts in place of both.
 *
 * An edge from a site to itself is the site's line (probe/joint.h): that of who asks comes first, since no plan is
 * faster, those of others behind all edges, one at a time. While nothing is known, though, the plan rests on ports,
 * and may be far too short: then the first round is a look at lines alone, one train each, side by side, which tell
 * of slow paths, too. A look is at all of them where that takes no more than ROUNDS_LOOK_PPM of the plan's time.
 * Where nothing else fits, it is at those that it takes ROUNDS_LOOK_PPM_MOST for, and the asker's whatever time
 * that takes: a job may be that much longer if ports were the limit, and many times as long without if they were
 * not. Without bytes for the asker's there is none.
 * Where there was none, a later round is one, if all lines go into its time: where the plan is likely to take
 * ROUNDS_LOOK_TIMES as long; and where a path carries far less than its ends, as that may be a line, which may take
 * ROUNDS_LOOK_PPM_LATE of the plan's time.
 *
 * Where lines are found narrow, one round is a look at lines in (probe/gather.h), each by several senders at once,
 * within ROUNDS_IN_PPM of the plan's time; their bytes count for their receivers.
 *
 * Sites are numbers below ROTATION_NODES_MAX. Sans-IO. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "probe/rotation.h"

#define ROUNDS_MOST          6u
#define ROUNDS_EDGES_MAX     192u
#define ROUNDS_ANY           ROTATION_NODES_MAX /* who sends by a line in */
#define ROUNDS_IN_PPM        100000u /* of the plan's time: a look at lines in, once others are found narrow */
#define ROUNDS_IN_SLACK_NS   (20 * NS_PER_MS) /* queues that trains of such stand in */
#define ROUNDS_OBJECT_PPM    10000u
#define ROUNDS_PLAN_PPM      40000u
#define ROUNDS_LOOK_PPM      30000u
#define ROUNDS_LOOK_PPM_MOST 500000u
#define ROUNDS_LOOK_PPM_LATE 100000u /* of a look that is a later round */
#define ROUNDS_WORTH_PART    2u /* of what the plan is likely to take longer, a round may take such a part */
#define ROUNDS_LOOK_TIMES    2u /* as long as it says: so risky a plan is worth a look */
#define ROUNDS_NS_MOST       (10 * NS_PER_S)
#define ROUNDS_BYTES_LEAST   100000u          /* of an edge's trains, less says little … */
#define ROUNDS_BYTES_MOST    1500000u         /* … and more no more … */
#define ROUNDS_TRAIN_NS      (16 * NS_PER_MS) /* … nor more than its port sends in so long */
#define ROUNDS_TEST_BYTES    40000u           /* the test of its ends, which comes before */
#define ROUNDS_TRAINS        4u
#define ROUNDS_SLACK_NS      (40 * NS_PER_MS) /* of a measurement: reports that take a turn */
#define ROUNDS_LOOK_BYTES    400000u          /* of a line in a look: one train … */
#define ROUNDS_SPRINT_BYTES  12400u           /* … and its sprints, at the port's rate … */
#define ROUNDS_SPRINTS_MAX   16u              /* … at most */
#define ROUNDS_LOOK_SLOWER   4u               /* a train of a look takes so many times what its port would */
#define ROUNDS_LOOK_MORE     2u               /* such a part of its time is waited for beyond that */
#define ROUNDS_PATIENCE      3u /* of what it should take: a path may be far slower than its ports */

struct rounds_goal {
    uint64_t size_bytes; /* of the object */
    uint64_t plan_ns;    /* what the plan would take, until its last receiver has all */
    uint64_t likely_ns;  /* what it takes on average if its unknown paths are like those that are known */
    uint64_t time_ns;    /* the operator's word; 0: none */
    bool surprised;      /* a path carries far less than its ends: what else rests on ports is in doubt */
    uint16_t peers;      /* that a site may send to: a look's trains have as many sprints */
};

struct round_edge {
    uint16_t from, to; /* sites */
    uint64_t rtt_ns;   /* between them; of a line to the farthest site that its trains may go to */
    uint64_t asker_ns; /* round trip from who asks to `from`; 0: it is who asks */
    uint64_t port_bps; /* the slower one of the two */
    uint64_t wait_ns;  /* rounds_begin says: begin so long after the round has … */
    uint32_t bytes;    /* … with so many in trains */
    uint16_t trains;   /* … at most */
    bool look;         /* a line for a look alone: no other round has it */
    bool in;           /* `to`'s line in, measured by it: `from` is ROUNDS_ANY */
};

struct rounds {
    struct rounds_goal goal;
    uint64_t begun_ns; /* the first one; 0: none was */
    uint64_t end_ns;   /* of the newest, whoever has not answered */
    unsigned count;    /* so far */
    bool over;         /* there is no other */
    bool looked;       /* one was a look … */
    bool looked_in;    /* … at lines in */
    uint64_t out_bytes[ROTATION_NODES_MAX + 1], in_bytes[ROTATION_NODES_MAX]; /* by site, asked for so far */
    uint64_t asked[ROTATION_NODES_MAX + 1];                                   /* [from]: bit `to` */
    uint64_t silent[ROTATION_NODES_MAX + 1]; /* the same: nothing came of it, once */
    uint16_t edge_count;
    struct round_edge edges[ROUNDS_EDGES_MAX]; /* of the newest */
};

void rounds_init(struct rounds *rounds);
/* The newest round is over: what is added from now on is for the next one. */
void rounds_end(struct rounds *rounds);
/* Whether there may be a look yet: lines that are not known are to be added for it. */
bool rounds_may_look(const struct rounds *rounds, const struct rounds_goal *goal);
/* Bytes of one port and direction, and time, in all, by the plan's own time. */
uint64_t rounds_bytes(const struct rounds_goal *goal);
uint64_t rounds_time_ns(const struct rounds_goal *goal);
/* One more edge that is not known, for the next round: what was in a round before is not asked again. */
void rounds_add(struct rounds *rounds, const struct round_edge *edge);
/* Whether that edge is, or was, in a round; of a line, in a look, too. */
bool rounds_has_asked(const struct rounds *rounds, uint16_t from, uint16_t to);
/* Nothing came of that edge of the newest round, as trains met or were lost: it may be in one more. */
void rounds_silent(struct rounds *rounds, uint16_t from, uint16_t to);
/* The next round, of what was added as far as there are bytes and time for it: `edges` is whom to ask for what.
 * False: there is none, and no other after it. */
bool rounds_begin(struct rounds *rounds, const struct rounds_goal *goal, uint64_t now_ns);
