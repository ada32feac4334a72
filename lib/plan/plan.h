/* Plans: trees over named nodes with rates, and the question that leads to one. Shared by node and planner;
 * both validate, since neither trusts the other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/name.h"
#include "base/word.h"

#define PLAN_NODES_MAX    64
#define PLAN_TREES_MAX    8
#define PLAN_CHILDREN_MAX 16
#define PLAN_RTT_UNKNOWN  UINT32_MAX
#define PLAN_WHOLE_PPM    1000000u /* what weights add up to, and losses stay below */
#define PLAN_START_AGE_S  600u     /* of a measured value: 10 % less or more, one in three (planner/age.h) */

/* What finds the trees; a given tree is none of them. All but auto lead to one tree. */
#define PLAN_METRICS(ROW)                                                                                    \
    ROW(PLAN_METRIC_RTT, 0, "rtt", "a minimum spanning tree on RTT")                                         \
    ROW(PLAN_METRIC_STAR, 1, "star", "no relays")                                                            \
    ROW(PLAN_METRIC_AVB, 2, "avb", "a minimum spanning tree on 1 / available bandwidth")                     \
    ROW(PLAN_METRIC_AVB_DIRECTED, 3, "avb-directed", "the least out-tree on 1 / available bandwidth")        \
    ROW(PLAN_METRIC_DISTANCE, 4, "distance", "a minimum spanning tree on a given matrix")                    \
    ROW(PLAN_METRIC_DCMST, 5, "dcmst", "the tree of another metric with few children per node")              \
    ROW(PLAN_METRIC_LEXICOGRAPHIC, 6, "lexicographic", "classes of available bandwidth, then RTT")           \
    ROW(PLAN_METRIC_WIDEST, 7, "widest", "the fastest single tree")                                          \
    ROW(PLAN_METRIC_CHAIN, 8, "chain", "a chain, the nearest node by RTT next")                              \
    ROW(PLAN_METRIC_AUTO, 9, "auto", "the shortest time, with relays and several trees where they help")
enum plan_metric { PLAN_METRICS(WORD_CONSTANT) PLAN_METRIC_GIVEN, PLAN_METRIC_COUNT };
/* "given" included. */
extern const struct word plan_metric_words[];

/* Whose word on the available bandwidth of paths counts. */
#define PLAN_AVB_SOURCES(ROW)                                                                                \
    ROW(PLAN_AVB_ANY, 0, "any", "what is told, else what was measured")                                      \
    ROW(PLAN_AVB_TOLD, 1, "told", "what a matrix says, or in the simulator its links")                       \
    ROW(PLAN_AVB_MEASURED, 2, "measured", "what probes found, of the planner's history too")                 \
    ROW(PLAN_AVB_NONE, 3, "none", "nobody's: interfaces and shared links alone")
enum plan_avb_source { PLAN_AVB_SOURCES(WORD_CONSTANT) PLAN_AVB_COUNT };

/* How the available bandwidth of an edge is known to whoever plans. */
#define PLAN_BASES(ROW)                                                                                      \
    ROW(PLAN_BASIS_ASSUMED, 0, "assumed", "nothing is known of the path, interfaces decide")                 \
    ROW(PLAN_BASIS_TOLD, 1, "told", "a matrix or the operator says it")                                      \
    ROW(PLAN_BASIS_MEASURED, 2, "measured", "by trains or by data, of this job or an earlier one")
enum plan_basis { PLAN_BASES(WORD_CONSTANT) PLAN_BASIS_COUNT };
extern const struct word plan_basis_words[];

struct plan_known {
    uint8_t basis;  /* enum plan_basis */
    uint32_t age_s; /* MEASURED: of the newest value; else 0 */
};

struct plan_edge {
    uint16_t from, to; /* indexes into nodes */
};

struct plan_tree {
    uint32_t weight_ppm; /* share of the object's blocks; all trees add up to PLAN_WHOLE_PPM */
    uint16_t edge_count;
    struct plan_edge edges[PLAN_NODES_MAX - 1]; /* parents before their children */
};

struct plan_node {
    char name[NAME_BYTES];
    uint64_t up_bps, down_bps; /* interface rates on the wire */
    uint64_t packets_ps;       /* that its processor can send and receive; 0: not known, no limit */
    uint64_t window_bytes;     /* memory for what is on its way to children; 0: not known, no limit */
    bool receiver;             /* wants the object; else it may only relay */
    bool leaf;                 /* has no children in any tree */
};

/* FORBIDDEN: in no tree. PINNED: nothing else leads to the node that it enters, so it is in every tree that
 * has that node: in all, if it is a receiver. */
enum plan_rule { PLAN_RULE_NONE = 0, PLAN_RULE_FORBIDDEN, PLAN_RULE_PINNED, PLAN_RULE_COUNT };

/* One direction of a pair, as far as it is known. All zero but rtt_us is: nothing is known. */
struct plan_path {
    uint32_t rtt_us;   /* PLAN_RTT_UNKNOWN: not measured */
    uint32_t loss_ppm; /* share of packets */
    /* Available bandwidth on the wire, and the interval that it lies in; 0: not known, interfaces decide. */
    uint32_t avb_kbps, avb_low_kbps, avb_high_kbps;
    uint32_t avb_age_s;
    bool avb_widened;  /* the interval has its age in it already; a planner's own note, in no record */
    uint32_t distance; /* thousandths of whatever unit the operator likes; 0: not known */
    uint16_t mtu;      /* of the path, IP packet bytes; 0: not known */
    uint16_t shared;   /* one bit per shared link that it crosses */
    uint8_t rule;      /* enum plan_rule: what the operator says of it */
};

/* A link that several paths cross: a site's way out, a provider's link. */
#define PLAN_SHARED_MAX 16
struct plan_shared {
    char name[NAME_BYTES];
    uint64_t rate_bps; /* on the wire, for all that crosses it */
};

/* Everything the planner needs: self-contained, so that a restarted planner can answer it. */
struct plan_request {
    uint32_t job;
    uint32_t epoch;
    uint16_t node_count;
    uint16_t source;      /* index */
    uint8_t metric;       /* enum plan_metric */
    uint8_t trees_max;    /* 0: the planner's choice */
    uint8_t children_max; /* 0: no limit but PLAN_CHILDREN_MAX */
    uint8_t dcmst_of;     /* PLAN_METRIC_DCMST: whose tree: rtt, avb, distance or lexicographic */
    uint8_t degree;       /* and of how many children per node; 0: 2 */
    uint8_t avb_of;       /* enum plan_avb_source */
    bool ties_random;     /* where a metric ties: at random, from the seed; else by name */
    uint64_t ties_seed;
    uint64_t size_bytes;
    uint64_t rate_cap_bps; /* 0: none */
    uint64_t
        wanted_bps; /* payload rate that the job asks for; auto looks for no more. 0: all that can be had */
    struct plan_node nodes[PLAN_NODES_MAX];
    /* [from][to]; of a node to itself: its line, the way out behind its interface that all of its paths share, as far as
     * that was measured, or without an interval, as it is guessed by others' lines. */
    struct plan_path paths[PLAN_NODES_MAX][PLAN_NODES_MAX];
    /* By node: its line in, the way behind its interface that all paths to it share, as far as that was measured: `avb_`
     * fields alone. */
    struct plan_path lines_in[PLAN_NODES_MAX];
    /* Of the slower one of its ends (plan_ends_bps), what a path is taken to carry of which nothing is known; 0: all of it. */
    uint32_t assumed_ppm;
    uint16_t shared_count;
    struct plan_shared shared[PLAN_SHARED_MAX];
    struct plan_tree given; /* PLAN_METRIC_GIVEN: its edges may come in any order */
};

/* What can hold a rate down. */
enum plan_row {
    PLAN_ROW_NONE = 0,
    PLAN_ROW_UPLINK,
    PLAN_ROW_DOWNLINK,
    PLAN_ROW_PACKETS,
    PLAN_ROW_WINDOW,
    PLAN_ROW_SHARED,
    PLAN_ROW_PATH,
    PLAN_ROW_CAP,
    PLAN_ROW_COUNT
};
struct plan_limit {
    uint8_t row;       /* enum plan_row */
    uint16_t node, to; /* the node; a path's two; of a shared link its index */
};

/* The tree of one metric, over source and receivers alone. */
struct plan_why_metric {
    uint8_t metric;
    uint64_t rate_bps; /* payload */
    uint64_t delay_us;
    uint64_t time_us; /* of the object, from the first byte to the last; 0: a stream */
    struct plan_limit limit;
};

/* What holds the plan, and what it would take to hold less. */
struct plan_why_limit {
    struct plan_limit limit;
    uint64_t raised;   /* to so much, in the unit that the request has for it … */
    uint32_t gain_ppm; /* … the plan's rate grows by that; 0: raising this alone does not help */
};

/* What there is to say of an edge, the first that is true. */
enum plan_edge_verdict {
    PLAN_EDGE_UNKNOWN = 0, /* nobody asked */
    PLAN_EDGE_USED,
    PLAN_EDGE_SOURCE,     /* it leads to the source */
    PLAN_EDGE_FORBIDDEN,  /* by the operator; or the node that it enters is pinned to another one */
    PLAN_EDGE_LEAF,       /* of its sender */
    PLAN_EDGE_UNMEASURED, /* no RTT of the pair */
    PLAN_EDGE_RELAY,      /* no tree has both ends: one of them only relays */
    /* Taken in the tree where that costs least, in place of the edge that is there: */
    PLAN_EDGE_NARROW, /* `kbps`: what `limit` allows it if nothing else took of that, and the tree brings more */
    PLAN_EDGE_SLOW,  /* `kbps`: what its sender gets, and the tree brings more */
    PLAN_EDGE_FULL,  /* its sender has as many children as it may have */
    PLAN_EDGE_BELOW, /* its sender hangs below its receiver, and can't be fed in its place */
    PLAN_EDGE_COSTS, /* `change_ppm`, `delay_us`: what becomes of rate and delay; 0 and 0: as good, it is a tie */
    PLAN_EDGE_VERDICT_COUNT
};
struct plan_why_edge {
    uint8_t verdict;         /* enum plan_edge_verdict */
    struct plan_limit limit; /* NARROW: which row; COSTS: which one would hold the plan then */
    uint32_t kbps;           /* on the wire */
    int32_t change_ppm;      /* of the rate that receivers get but for slow ones */
    int32_t delay_us;        /* more than now */
};

/* Why the plan is as it is; empty where nobody asked. */
#define PLAN_WHY_LIMITS_MAX 16
struct plan_why {
    uint16_t metric_count, limit_count;
    struct plan_why_metric metrics[PLAN_METRIC_COUNT];
    struct plan_why_limit limits[PLAN_WHY_LIMITS_MAX];
    bool edges_known;
    struct plan_why_edge edges[PLAN_NODES_MAX][PLAN_NODES_MAX]; /* [from][to]; of a node to itself: UNKNOWN */
};

struct plan {
    uint32_t job;
    uint32_t epoch;
    uint16_t node_count; /* of the request: indexes mean the same nodes */
    uint16_t source;
    uint64_t rate_bps;  /* payload rate that every receiver is to get at least */
    uint64_t bound_bps; /* what no plan can exceed under the request's limits, of plan_common_bps */
    uint64_t delay_us;  /* largest sum of RTT/2 from the source to a leaf */
    uint16_t tree_count;
    struct plan_tree trees[PLAN_TREES_MAX];
    uint64_t edge_rate_bps[PLAN_TREES_MAX]; /* wire rate of the tree's edges, where the next line has 0 */
    uint64_t into_rate_bps[PLAN_TREES_MAX][PLAN_NODES_MAX];       /* of the edge that enters a node */
    struct plan_known into_known[PLAN_TREES_MAX][PLAN_NODES_MAX]; /* and what it rests on */
    struct plan_why why;
};

/* Every path not measured; all else of the request zero. */
void plan_request_init(struct plan_request *request);
/* Names valid and distinct, source and counts within bounds, rates > 0, losses below 1, intervals around what
 * they belong to, no rule that contradicts another, the given tree spanning if one is given. */
bool plan_request_validate(const struct plan_request *request, struct err *err);

/* The slower one of a path's two ends: their interfaces, and their lines as far as these are known. */
uint64_t plan_ends_bps(const struct plan_request *request, uint16_t from, uint16_t to);
/* Wire rate that a plan may count on where nothing is known of the path; UINT64_MAX: interfaces alone decide. */
uint64_t plan_assumed_bps(const struct plan_request *request, uint16_t from, uint16_t to);
/* Of each edge of the plan how it is known, by the request that it was made from: only the planner has
 * seen its history. */
void plan_note_known(struct plan *plan, const struct plan_request *request);

/* Against its request: same job and epoch; each tree an out-tree from the source that reaches every
 * receiver, parents before children, each node entered at most once, no node with more children than
 * allowed, nor with more than PLAN_CHILDREN_MAX over all trees, only relays that lead somewhere, no children
 * of leaves, no forbidden edge, none beside a pinned one; weights add up; edges get at least
 * SEND_RATE_MIN_BPS and no uplink or downlink is overbooked by the rates of its edges, of which a downlink
 * gets what the path does not lose. */
bool plan_validate(const struct plan *plan, const struct plan_request *request, struct err *err);

/* Children that a node which is no leaf may have in one tree. */
uint16_t plan_children_max(const struct plan_request *request);
/* For each node the only one that may feed it, by a pin; PLAN_NOT_PINNED. */
#define PLAN_NOT_PINNED UINT16_MAX
struct plan_pins {
    uint16_t from[PLAN_NODES_MAX];
};
struct plan_pins plan_pins(const struct plan_request *request);
/* Whether rules and leaves allow the edge. */
bool plan_edge_allowed(const struct plan_request *request, const struct plan_pins *pins, uint16_t from,
                       uint16_t to);

/* Of avb_kbps, that somebody says it, without an interval or with one of no width: it is taken for as it is. */
bool plan_path_told(const struct plan_path *path);
/* It is known, and a plan by `avb_of` (enum plan_avb_source) counts on it. */
bool plan_path_counts(uint8_t avb_of, const struct plan_path *path);
/* Measured as "at least": the trains found no limit, so the rates of its ends are the limit. */
bool plan_path_at_least(const struct plan_path *path);
/* It counts, and what is known of it is a limit. */
bool plan_path_limits(uint8_t avb_of, const struct plan_path *path);
/* How the path is known to a plan by `avb_of`. */
struct plan_known plan_path_known(uint8_t avb_of, const struct plan_path *path);
/* Edges may begin at the plan's rate: told, or measured within PLAN_START_AGE_S. Elsewhere a plan's rate is that of
 * interfaces, or was true once, and what begins at it may lose all that a path does not take, for two round trips. */
bool plan_known_starts(const struct plan_known *known);
/* Wire rate of the tree's edge that enters `node`. */
uint64_t plan_edge_rate_bps(const struct plan *plan, uint16_t tree, uint16_t node);
/* Payload, all trees together, of receivers that nothing of their own makes
 * slow; rate_bps where nobody is. */
uint64_t plan_common_bps(const struct plan *plan);
/* Payload that this receiver gets, all trees together, by what its edges carry and do not lose. */
uint64_t plan_receiver_bps(const struct plan *plan, const struct plan_request *request, uint16_t node);
/* Whether it is a receiver that gets less than the common rate. */
bool plan_receiver_slow(const struct plan *plan, const struct plan_request *request, uint16_t node);
/* Index of the parent of `node` in the tree, or -1 (the source, or not in the tree). */
int plan_parent(const struct plan_tree *tree, uint16_t node);
/* Children of `node` in order; returns how many. `children` has PLAN_CHILDREN_MAX places. */
uint16_t plan_children(const struct plan_tree *tree, uint16_t node, uint16_t *children);

#define PLAN_EDGE_TEXT_BYTES 320
/* "too narrow: path from london to canada allows 3.00 Mbit/s" and the like, of two different nodes. False:
 * nothing is known of the edge, or the buffer is too small. */
bool plan_edge_text(const struct plan *plan, const struct plan_request *request, struct plan_edge edge,
                    char *text, size_t room);

/* Reorders the edges so that parents come before their children, breadth first, siblings as they were.
 * False, and the tree as it was, unless they form an out-tree from `source` over nodes below `node_count`. */
bool plan_tree_order(struct plan_tree *tree, uint16_t node_count, uint16_t source);

/* Draws a tree as text, one node a line, "london\n├── frankfurt\n└── canada\n    └── …", behind each name
 * what its edge rests on where `known` says it (by the node that it enters; NULL: not). False: buffer too small. */
bool plan_draw(const struct plan_tree *tree, const struct plan_node *nodes, uint16_t node_count,
               uint16_t source, const struct plan_known *known, char *text, size_t room);

/* Records for the control ring: little-endian, versioned by the ring. Encoders return bytes, 0 when room is
 * short; decoders check every count and index (not the plan's sense: that is plan_validate). */
size_t plan_request_encode(const struct plan_request *request, uint8_t *out, size_t room);
bool plan_request_decode(struct plan_request *request, const uint8_t *in, size_t length, struct err *err);
size_t plan_encode(const struct plan *plan, uint8_t *out, size_t room);
bool plan_decode(struct plan *plan, const uint8_t *in, size_t length, struct err *err);
#define PLAN_REQUEST_BYTES_MAX 147456
#define PLAN_BYTES_MAX         90112
