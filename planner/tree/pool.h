/* Candidates for one task, all judged alike, and the one to take: of those within eps of the shortest time
 * the fewest trees, then the fewest relays in series, each of which holds up all behind it when it is slow or dies, then
 * the least delay. Every mode is among them, so what is taken is never longer than any mode's by more than eps. */
#pragma once

#include "planner/tree/judge.h"
#include "planner/tree/mode.h"

#define POOL_MAX        96
#define POOL_HOSTS_HUGE 200 /* of more hosts, builders look at few edges (thin.h), and nothing is packed */

enum pool_origin {
    POOL_MODE = 0, /* `detail`: enum plan_metric */
    POOL_TOKENS,   /* `detail`: of search_vectors */
    POOL_COLUMNS,  /* trees of the packing; `detail`: how many */
    POOL_SHORTER   /* of a candidate, hosts moved nearer to the source; `detail`: the candidate */
};

struct pool_candidate {
    enum pool_origin origin;
    unsigned detail;
    struct net_forest forest;
    struct judgement judgement;
    uint16_t hops; /* edges in series, at most: one more than relays */
    bool starves;  /* an edge carries too little (edge_min_bps) */
};

struct pool_options {
    struct judge_object object;
    double eps; /* 0.03: 3 % */
    /* What an edge is sent at least, repairs included: a forest that gives one less is not taken. 0: any. */
    double edge_min_bps;
    uint16_t trees_max; /* 1 … NET_TREES_MAX */
    struct mode_options modes;
    double last_max_seconds; /* nobody may end later, slow ones neither */
    bool quick;              /* a few vectors only: enough to compare tasks */
};

/* Trees of the best packing, found elsewhere: what is left of their rates guides builds. */
struct pool_packing {
    double bound_bps;
    uint16_t tree_count;
    const struct net_tree *trees; /* greatest rate first */
    const double *tree_bps;
};

struct pool {
    struct task task;
    struct pool_options options;
    struct shares shares;
    struct search search;
    struct arena *arena;
    double *guide;
    unsigned count, chosen; /* chosen: index, once pool_choose has found one */
    struct pool_candidate candidates[POOL_MAX];
};

size_t pool_bytes(const struct net *net); /* of arena */
void pool_open(struct pool *pool, const struct task *task, const struct pool_options *options,
               struct arena *arena);
/* All that needs no packing. `enough_bps`: no forest carries more; looking for one ends there. */
void pool_fill(struct pool *pool, double enough_bps);
/* What the packing adds. Its trees are over the same members. */
void pool_add_packing(struct pool *pool, const struct pool_packing *packing);
/* False: no candidate carries anything, or enough on every edge, or all end too late. */
bool pool_choose(struct pool *pool);
/* The shortest time in the pool of what may be taken; NET_NO_LIMIT: nothing. */
double pool_shortest_seconds(const struct pool *pool);
/* Some candidate was passed over because an edge would carry too little. */
bool pool_any_starves(const struct pool *pool);
/* The greatest rate in the pool. */
double pool_rate_bps(const struct pool *pool);
/* The candidate that has it; NULL: the pool is empty. */
const struct pool_candidate *pool_fastest(const struct pool *pool);
