/* Every method of the papers, and a few more: from a net to one tree. None but `widest` knows the rows of
 * hosts; that is what the planner's own choice is better by.
 *
 *   rtt            minimum spanning tree on RTT, the smaller of both directions; unmeasured pairs are not used
 *   avb            the same on 1 / AvB, elementwise (Cascade); AvB of a pair is the smaller of its directions
 *   avb-directed   the least out-tree on 1 / AvB of each direction (Edmonds)
 *   distance       minimum spanning tree on a matrix of the operator's
 *   dcmst          a metric's tree with `degree` children per host at most
 *   lexicographic  AvB in classes that measurement can tell apart, then RTT
 *   widest         the fastest single tree under all rows that the token builder finds
 *   chain          from host to host, the nearest by RTT next
 *   star           everybody straight from the source
 *   tree           as given
 *
 * All keep to children_max of the hosts; a greedy tree where that binds. */
#pragma once

#include "base/err.h"
#include "base/word.h"
#include "planner/tree/search.h"

#define MODES(ROW)                                                                                           \
    ROW(MODE_RTT, 0, "rtt", "a minimum spanning tree on RTT")                                                \
    ROW(MODE_AVB, 1, "avb", "a minimum spanning tree on 1 / available bandwidth")                            \
    ROW(MODE_AVB_DIRECTED, 2, "avb-directed", "the least out-tree on 1 / available bandwidth")               \
    ROW(MODE_DISTANCE, 3, "distance", "a minimum spanning tree on a given matrix")                           \
    ROW(MODE_DCMST, 4, "dcmst", "a metric's tree with few children per host")                                \
    ROW(MODE_LEXICOGRAPHIC, 5, "lexicographic", "classes of available bandwidth, then RTT")                  \
    ROW(MODE_WIDEST, 6, "widest", "the fastest single tree")                                                 \
    ROW(MODE_CHAIN, 7, "chain", "a chain, the nearest host by RTT next")                                     \
    ROW(MODE_STAR, 8, "star", "no relays")                                                                   \
    ROW(MODE_TREE, 9, "tree", "as given")
enum mode { MODES(WORD_CONSTANT) MODE_COUNT };
extern const struct word mode_words[];

struct mode_options {
    enum mode metric; /* of dcmst: rtt, avb, distance or lexicographic */
    uint16_t degree;  /* of dcmst; 0: 2 */
    bool ties_random; /* where the metric ties; else by name */
    uint64_t ties_seed;
    const double *distance; /* [edges]; below 0: not known. NULL: there is none */
    /* [edges] What the measurement left open; NULL: 5 % on both sides. */
    const double *avb_low_bps, *avb_high_bps;
    const uint16_t *given; /* [count] parents, NET_NONE: not in the tree. NULL: none */
};

size_t mode_bytes(uint16_t count); /* of arena, while it runs, beside the search's own */
/* False: err says who can't be reached, or what was not given. Relays are left out but for `tree`. */
bool mode_tree(struct search *search, enum mode mode, const struct mode_options *options,
               struct net_tree *tree, struct err *err);
/* AvB of an edge: of its path, and what its ends' interfaces allow. */
double mode_avb_bps(const struct net *net, uint16_t from, uint16_t to);
