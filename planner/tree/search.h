/* The fastest forests that token builds find: for each vector of weights every order of growing, rates by
 * bisection, then small steps and new weights in turns until neither helps. */
#pragma once

#include "planner/tree/tokens.h"

/* Weights of the trees, the heaviest first. Equal ones use up what hosts have in even parts; halves of
 * halves leave less over where uplinks bind (8:4:2:1 reaches with four trees what takes eight equal ones). */
struct search_vector {
    uint16_t trees;
    uint16_t weight[NET_TREES_MAX];
};
extern const struct search_vector search_vectors[];
extern const unsigned search_vector_count;

struct search {
    const struct task *task;
    const struct shares *shares;
    struct booking booking;
    struct tokens tokens;
    struct net_forest work, kept;
    uint64_t *depth_us;  /* [count] */
    struct arena *arena; /* for scratch while a call runs */
    double enough_bps;   /* no forest is looked for beyond: a bound */
};

size_t search_bytes(uint16_t count, uint16_t shared_count);
void search_init(struct search *search, const struct task *task, const struct shares *shares,
                 struct arena *arena);
/* The fastest forest of these weights, by the orders that a guide leads (`guided`), or by all others. Its
 * weights may come out otherwise, its trees fewer. Returns its rate; 0: none found. */
double search_run(struct search *search, const struct search_vector *vector, bool guided,
                  struct net_forest *forest);
/* Small steps and new weights from a forest as it is; returns the rate, which is never lower than before. */
double search_refine(struct search *search, struct net_forest *forest);
/* Hosts move nearer to the source in each tree where that keeps the forest's rate at rate_bps. */
void search_shorten(struct search *search, struct net_forest *forest, double rate_bps);

struct net_forest search_forest(const struct net *net, struct arena *arena); /* with room for all trees */
size_t search_forest_bytes(uint16_t count);
void search_copy(const struct net *net, struct net_forest *target, const struct net_forest *source);
