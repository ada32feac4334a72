/* Forests of a given rate, built tree by tree, the heaviest first. A row has as many
 * tokens as edges of the tree's weight fit into what is left of it; each tree grows from the source by one
 * host at a time: which host comes next and under whom is what the orders differ in. Nobody finds the best
 * forest this way, but some order comes close. */
#pragma once

#include "planner/tree/booking.h"

enum tokens_child {
    TOKENS_SCARCE = 0, /* whom the fewest can still feed */
    TOKENS_ROOMY,      /* who can feed most */
    TOKENS_NEAR,       /* who is nearest to the source */
    TOKENS_CHILD_COUNT
};
enum tokens_parent {
    TOKENS_FREEST = 0, /* who can feed most */
    TOKENS_NEAREST,    /* by RTT */
    TOKENS_SPARE,      /* over whose edge the fullest row stays emptiest */
    TOKENS_GUIDED,     /* on whose edge most of the guide is left */
    TOKENS_PARENT_COUNT
};

struct tokens_order {
    enum tokens_child child;
    enum tokens_parent parent;
};

struct tokens {
    struct booking *booking;
    struct tokens_order order;
    const double *guide; /* [edges] rate that an edge has in the best packing; NULL: no order is GUIDED */
    double limit;        /* load that no row may exceed */
    double later;        /* weight of the trees still to come: the source keeps tokens for them */
    uint32_t looks;      /* left for making room */
    double *room;        /* [count] children of this tree that the host can still feed */
    double *supply;      /* [count] towards a host, when the tree was begun */
    double *near_us;     /* [count] RTT from the source, a running smallest */
    bool *inside;        /* [count] */
    bool *stuck;         /* [count] tried since the tree last grew */
};

size_t tokens_bytes(uint16_t count);
void tokens_init(struct tokens *tokens, struct booking *booking, struct arena *arena);
/* Fills the forest's trees, whose weights are given and do not grow, such that it carries rate_bps. False:
 * this order does not find one; the trees are then anything. */
bool tokens_build(struct tokens *tokens, struct net_forest *forest, struct tokens_order order,
                  double rate_bps);
