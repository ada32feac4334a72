/* A measurement of this node's own line, the way out that all of its paths share behind its port: by joint trains to several
 * peers (out.h, probe/joint.h), and, where those were held up, by what the path to one of them carries alone, as far as that
 * is not known. The prober drives it. */
#pragma once

#include "node/packet.h"
#include "node/peer/peer.h"
#include "node/train/out.h"
#include "probe/estimator.h"
#include "probe/joint.h"
#include "probe/self_test.h"

#define LINE_RECEIVERS_MIN  2u
#define LINE_PACKETS_LEAST  24u               /* of a train to each receiver */
#define LINE_PORT_PARTS     9u                /* of ten: a line of that capacity, of its port, is none */
#define LINE_ROUGH_PART     4u                /* of a port: a line is told roughly where it carries less */
#define LINE_WIDE_PART      2u                /* of a line: an interval wider than that tells none */
#define LINE_TURNS_PACKETS  232u              /* of a look that also has sprints, ahead of these */
#define LINE_SPRINTS_NS_MAX (100 * NS_PER_MS) /* a train may last a second in all */
#define LINE_SPRINT_PACKETS 8u                /* of a sprint */
#define LINE_NEAR_NS        NS_PER_MS         /* nearer peers may stand before the line: they come last */

_Static_assert(TRAIN_RECEIVERS_MAX <= JOINT_PARTS_MAX, "each receiver's part has a place");

struct line {
    bool wanted; /* it is what the prober measures */
    bool alone;  /* by the path to one receiver, now */
    struct train_receivers to;
    bool apart, agreed;             /* joint trains were APART, AGREED … */
    bool few;                       /* … or fewer than half of the parts agreed … */
    bool trickled;                  /* … or next to nothing came, …*/
    bool rough;                     /* … or lost so much that the estimator's law does not hold */
    uint16_t peer;                  /* whose part told last … */
    uint16_t turns;                 /* … each so-many-th packet */
    struct estimate part_estimate;  /* by one train's parts, roughly … */
    struct estimate joint_estimate; /* … and by all trains */
    /* Of the path to each receiver, by the last train; kind NONE: it told nothing. */
    struct estimate sprints[TRAIN_SPRINTS_MAX];
    struct joint joint;
};

/* Peers that a joint train may go to, TRAIN_SPRINTS_MAX at most, the nearest first but those that are LINE_NEAR_NS away or less; returns
 * how many. */
uint16_t line_receivers(const struct node *node, uint16_t *peers, uint16_t most);
/* Why there can be none. False: it can be measured. */
bool line_hindrance(const struct node *node, struct err *err);
/* The line is to be measured, not a path, for so many bytes: few of them go to few receivers. `known_mask`: bits of peers the
 * paths to whom are known alone. `look`: by one train, which has sprints where there are bytes enough. */
void line_begin(const struct node *node, struct line *line, uint64_t bytes, uint64_t known_mask, bool look);
/* Without those of its receivers that are down. False: too few are left. */
bool line_renew(const struct node *node, struct line *line);
/* Joint trains are what it needs now. */
bool line_is_joint(const struct line *line);
/* The goal of the path to its first receiver becomes that of the line: `alone` is what is known of that path, or NULL. */
void line_goal(const struct node *node, const struct line *line, const struct estimate *alone,
               struct estimator_goal *goal);
/* Of the joint train that was told last, the record that stands for all, its ends known by `test`, of a receiver the path to
 * whom is known where there is; NULL: it tells nothing. What it shows is kept in `line`. `alone`: what the path to each of
 * `line->to.peers` carries by itself, NULL: that is not known. */
const struct train_record *line_take(struct node *node, struct line *line,
                                     const struct estimate *const *alone, const struct self_test *test);
/* What the path to that peer carries by the last train's sprint; NULL: there was none, or it told nothing. */
const struct estimate *line_sprint(const struct line *line, uint16_t peer);
/* What the same train told of paths that are not known alone goes into the table of paths. */
void line_tell_paths(struct node *node, const struct line *line, const struct estimate *const *alone,
                     uint64_t now_ns);
/* The line by all joint trains, behind a port of port_bps; `alone` is what the path to `peer` carries by itself, NULL: that is not
 * known. */
void line_tell(const struct line *line, const struct estimate *alone, uint64_t port_bps,
               struct estimate *estimate);
