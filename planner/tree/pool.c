/* Who is in the pool, and who is taken out of it. */
#include "planner/tree/pool.h"

#include <string.h>

#include "planner/tree/order.h"
#include "planner/tree/thin.h"
#include "planner/tree/weigh.h"

#define TOLERANCE     1e-9
#define NEW_MIN_BPS   2    /* of new data on an edge: a whole bit of payload */
#define CLOSE_ENOUGH  1e-4 /* of the bound: nothing more to be looked for */
#define SHORTER_MAX   6    /* candidates whose delay is worked on */
#define SHORTER_FINAL 1.02 /* of the shortest time: those are */

/* Of the fastest single tree's rate: slower trees, of less delay. */
static const double slower[] = {0.9, 0.75, 0.6, 0.45, 0.3, 0.2, 0.1};
/* Of search_vectors: the first ones make the quick pool; these are tried along a packing's edges. */
#define QUICK_VECTORS 6
static const unsigned guided_vectors[] = {9, 3, 5, 6, 13};
#define GUIDED_ONLY 13
/* Of more hosts than that, every second vector of the full pool is left out: builds cost hosts^2. */
#define HOSTS_MANY 100
/* And of even more, all but this one. */
#define HUGE_VECTOR 5

size_t pool_bytes(const struct net *net)
{
    uint16_t count = net->count;
    return shares_bytes(count, net->shared_count) + search_bytes(count, net->shared_count) +
           mode_bytes(count) + judge_bytes(net) + POOL_MAX * search_forest_bytes(count) +
           arena_need((size_t)count * count * sizeof(double));
}

void pool_open(struct pool *pool, const struct task *task, const struct pool_options *options,
               struct arena *arena)
{
    pool->task = *task;
    pool->options = *options;
    pool->arena = arena;
    pool->count = pool->chosen = 0;
    shares_init(&pool->shares, &pool->task, arena);
    search_init(&pool->search, &pool->task, &pool->shares, arena);
    for (unsigned index = 0; index < POOL_MAX; index++)
        pool->candidates[index].forest = search_forest(task->net, arena);
    pool->guide = arena_alloc(arena, (size_t)task->net->count * task->net->count * sizeof(double));
}

/* ---- adding ---- */

static struct pool_candidate *place(struct pool *pool)
{
    CHECK(pool->count < POOL_MAX);
    return &pool->candidates[pool->count];
}

/* Plans tell whole bits per second. */
static bool carries(const struct pool *pool, const struct pool_candidate *candidate, uint16_t tree,
                    uint16_t host)
{
    const struct net_forest *forest = &candidate->forest;
    const struct net *net = pool->task.net;
    double host_bps = task_pace_bps(&pool->task, host, candidate->judgement.rate_bps);
    double new_bps = host_bps * forest->weight[tree] / forest->period;
    double loss = net->loss[net_edge(net, forest->trees[tree].parent[host], host)];
    return new_bps >= NEW_MIN_BPS && new_bps / (1 - loss) >= pool->options.edge_min_bps;
}

static bool starves(const struct pool *pool, const struct pool_candidate *candidate)
{
    for (uint16_t tree = 0; tree < candidate->forest.tree_count && pool->options.edge_min_bps > 0; tree++)
        for (uint16_t host = 0; host < pool->task.net->count; host++)
            if (candidate->forest.trees[tree].parent[host] != NET_NONE &&
                !carries(pool, candidate, tree, host))
                return true;
    return false;
}

static uint16_t hops_of(const struct net_forest *forest, uint16_t count)
{
    uint16_t most = 0;
    for (uint16_t tree = 0; tree < forest->tree_count; tree++)
        for (uint16_t host = 0; host < count; host++) {
            uint16_t hops = 0;
            for (uint16_t up = host; forest->trees[tree].parent[up] != NET_NONE;
                 up = forest->trees[tree].parent[up])
                hops++;
            most = hops > most ? hops : most;
        }
    return most;
}

/* Keeps the candidate that was placed last. A forest that does not keep to the counts of children is not
 * one. */
static void keep(struct pool *pool, enum pool_origin origin, unsigned detail)
{
    struct pool_candidate *candidate = &pool->candidates[pool->count];
    candidate->origin = origin;
    candidate->detail = detail;
    if (!net_forest_valid(pool->task.net, &candidate->forest))
        return;
    candidate->judgement = judge(&pool->task, &candidate->forest, &pool->options.object, pool->arena);
    candidate->starves = starves(pool, candidate);
    candidate->hops = hops_of(&candidate->forest, pool->task.net->count);
    pool->count++;
}

static void one_tree(struct net_forest *forest)
{
    forest->tree_count = forest->period = forest->weight[0] = 1;
}

static void add_mode(struct pool *pool, enum plan_metric mode, const struct mode_options *options)
{
    struct pool_candidate *candidate = place(pool);
    struct err ignored;
    one_tree(&candidate->forest);
    if (mode_tree(&pool->search, mode, options, &candidate->forest.trees[0], &ignored))
        keep(pool, POOL_MODE, mode);
}

static void add_modes(struct pool *pool)
{
    static const enum plan_metric metrics[] = {PLAN_METRIC_RTT, PLAN_METRIC_AVB, PLAN_METRIC_LEXICOGRAPHIC};
    for (enum plan_metric mode = 0; mode < PLAN_METRIC_COUNT; mode++)
        if (mode != PLAN_METRIC_DCMST && mode != PLAN_METRIC_WIDEST && mode != PLAN_METRIC_AUTO)
            add_mode(pool, mode, &pool->options.modes);
    add_mode(pool, PLAN_METRIC_DCMST, &pool->options.modes);
    if (pool->task.net->count > POOL_HOSTS_HUGE)
        return;
    for (unsigned metric = 0; metric < sizeof(metrics) / sizeof(metrics[0]); metric++)
        for (uint16_t degree = 1; degree <= 3; degree++) {
            struct mode_options options = pool->options.modes;
            options.metric = metrics[metric];
            options.degree = degree;
            add_mode(pool, PLAN_METRIC_DCMST, &options);
        }
}

/* Nearest hosts under nearest parents at part of the best tree's rate: for objects that end before the
 * rate matters. */
static void add_slower(struct pool *pool, double rate_bps)
{
    struct tokens_order order = {TOKENS_NEAR, TOKENS_NEAREST};
    for (unsigned index = 0; index < sizeof(slower) / sizeof(slower[0]); index++) {
        struct pool_candidate *candidate = place(pool);
        one_tree(&candidate->forest);
        if (!tokens_build(&pool->search.tokens, &candidate->forest, order, rate_bps * slower[index]))
            continue;
        order_prune(&pool->task, &candidate->forest.trees[0]);
        search_shorten(&pool->search, &candidate->forest, rate_bps * slower[index]);
        keep(pool, POOL_TOKENS, 0);
    }
}

static double add_vector(struct pool *pool, unsigned vector, bool guided)
{
    struct pool_candidate *candidate = place(pool);
    double rate_bps = search_run(&pool->search, &search_vectors[vector], guided, &candidate->forest);
    if (rate_bps > 0)
        keep(pool, POOL_TOKENS, vector);
    return rate_bps;
}

static void add_vectors(struct pool *pool, double enough_bps)
{
    unsigned end = pool->options.quick ? QUICK_VECTORS : GUIDED_ONLY;
    bool many = pool->task.net->count > HOSTS_MANY, huge = pool->task.net->count > POOL_HOSTS_HUGE;
    for (unsigned vector = huge ? HUGE_VECTOR : 1; vector < end; vector += many ? 2 : 1)
        if ((!huge || vector == HUGE_VECTOR) && search_vectors[vector].trees <= pool->options.trees_max &&
            pool_rate_bps(pool) < enough_bps * (1 - CLOSE_ENOUGH))
            add_vector(pool, vector, false);
}

/* A copy of the candidate whose hosts are nearer to the source. */
static void add_shorter(struct pool *pool, unsigned of)
{
    struct pool_candidate *candidate = place(pool);
    search_copy(pool->task.net, &candidate->forest, &pool->candidates[of].forest);
    if (!(pool->candidates[of].judgement.rate_bps > 0))
        return;
    search_shorten(&pool->search, &candidate->forest, pool->candidates[of].judgement.rate_bps);
    keep(pool, POOL_SHORTER, of);
}

/* Builders and small steps look at few of very many edges; modes have looked at all. */
static void thin_out(struct pool *pool)
{
    const struct net_forest *forests[POOL_MAX];
    for (unsigned index = 0; index < pool->count; index++)
        forests[index] = &pool->candidates[index].forest;
    thin(&pool->task, forests, pool->count, &pool->shares);
}

void pool_fill(struct pool *pool, double enough_bps)
{
    pool->search.enough_bps = enough_bps;
    add_modes(pool);
    unsigned modes = pool->count;
    if (pool->task.net->count > POOL_HOSTS_HUGE)
        thin_out(pool);
    double single_bps = add_vector(pool, 0, false);
    if (pool->options.object.size_bytes > 0 && single_bps > 0)
        add_slower(pool, single_bps);
    for (unsigned mode = 0; mode < modes && pool->options.object.size_bytes > 0; mode++)
        add_shorter(pool, mode);
    add_vectors(pool, enough_bps);
}

/* ---- what a packing adds ---- */

/* A packing may use relays that this task leaves out. */
static bool over_usable(const struct pool *pool, const struct net_forest *forest)
{
    for (uint16_t tree = 0; tree < forest->tree_count; tree++)
        for (uint16_t host = 0; host < pool->task.net->count; host++) {
            uint16_t parent = forest->trees[tree].parent[host];
            if (parent != NET_NONE && !pool->shares.usable[net_edge(pool->task.net, parent, host)])
                return false;
        }
    return true;
}

/* The `trees` greatest columns, in weights near their rates. */
static void add_columns(struct pool *pool, const struct pool_packing *packing, uint16_t trees)
{
    struct pool_candidate *candidate = place(pool);
    struct net_forest *forest = &candidate->forest;
    double sum_bps = 0;
    forest->tree_count = trees;
    forest->period = 0;
    for (uint16_t tree = 0; tree < trees; tree++)
        sum_bps += packing->tree_bps[tree];
    for (uint16_t tree = 0; tree < trees; tree++) {
        double part = packing->tree_bps[tree] / sum_bps * (NET_PERIOD_MAX - NET_TREES_MAX);
        forest->weight[tree] = (uint16_t)(part < 1 ? 1 : part);
        forest->period = (uint16_t)(forest->period + forest->weight[tree]);
        memcpy(forest->trees[tree].parent, packing->trees[tree].parent,
               pool->task.net->count * sizeof(uint16_t));
    }
    if (!over_usable(pool, forest) || !net_forest_valid(pool->task.net, forest))
        return;
    search_refine(&pool->search, forest);
    keep(pool, POOL_COLUMNS, trees);
}

static void set_guide(struct pool *pool, const struct pool_packing *packing)
{
    const struct net *net = pool->task.net;
    memset(pool->guide, 0, (size_t)net->count * net->count * sizeof(double));
    for (uint16_t tree = 0; tree < packing->tree_count; tree++)
        for (uint16_t host = 0; host < net->count; host++)
            if (packing->trees[tree].parent[host] != NET_NONE)
                pool->guide[net_edge(net, packing->trees[tree].parent[host], host)] +=
                    packing->tree_bps[tree];
    pool->search.tokens.guide = pool->guide;
}

void pool_add_packing(struct pool *pool, const struct pool_packing *packing)
{
    uint16_t most =
        pool->options.trees_max < packing->tree_count ? pool->options.trees_max : packing->tree_count;
    if (packing->bound_bps < pool->search.enough_bps)
        pool->search.enough_bps = packing->bound_bps;
    for (uint16_t trees = 1; trees <= most; trees++)
        add_columns(pool, packing, trees);
    set_guide(pool, packing);
    unsigned guided =
        pool->task.net->count > HOSTS_MANY ? 1 : sizeof(guided_vectors) / sizeof(guided_vectors[0]);
    for (unsigned index = 0; index < guided; index++)
        if (search_vectors[guided_vectors[index]].trees <= pool->options.trees_max &&
            pool_rate_bps(pool) < pool->search.enough_bps * (1 - CLOSE_ENOUGH))
            add_vector(pool, guided_vectors[index], true);
}

/* ---- taking one ---- */

const struct pool_candidate *pool_fastest(const struct pool *pool)
{
    const struct pool_candidate *fastest = NULL;
    for (unsigned index = 0; index < pool->count; index++)
        if (fastest == NULL || pool->candidates[index].judgement.rate_bps > fastest->judgement.rate_bps)
            fastest = &pool->candidates[index];
    return fastest;
}

double pool_rate_bps(const struct pool *pool)
{
    const struct pool_candidate *fastest = pool_fastest(pool);
    return fastest == NULL ? 0 : fastest->judgement.rate_bps;
}

static bool may_be_taken(const struct pool *pool, unsigned candidate)
{
    return !pool->candidates[candidate].starves &&
           !(pool->candidates[candidate].judgement.last_seconds > pool->options.last_max_seconds);
}

bool pool_any_starves(const struct pool *pool)
{
    for (unsigned index = 0; index < pool->count; index++)
        if (pool->candidates[index].starves)
            return true;
    return false;
}

double pool_shortest_seconds(const struct pool *pool)
{
    double shortest = NET_NO_LIMIT;
    for (unsigned index = 0; index < pool->count; index++)
        if (may_be_taken(pool, index) && pool->candidates[index].judgement.seconds < shortest)
            shortest = pool->candidates[index].judgement.seconds;
    return shortest;
}

/* Fewer trees, then fewer relays in series, then less delay, then less time; who came first of equals. */
static bool preferred(const struct pool_candidate *one, const struct pool_candidate *other)
{
    if (one->forest.tree_count != other->forest.tree_count)
        return one->forest.tree_count < other->forest.tree_count;
    if (one->hops != other->hops)
        return one->hops < other->hops;
    if (one->judgement.delay_us != other->judgement.delay_us)
        return one->judgement.delay_us < other->judgement.delay_us;
    return one->judgement.seconds < other->judgement.seconds * (1 - TOLERANCE);
}

static bool best_within(struct pool *pool, double seconds)
{
    bool found = false;
    for (unsigned index = 0; index < pool->count; index++) {
        if (!may_be_taken(pool, index) || pool->candidates[index].judgement.seconds > seconds ||
            (found && !preferred(&pool->candidates[index], &pool->candidates[pool->chosen])))
            continue;
        pool->chosen = index;
        found = true;
    }
    return found;
}

/* Candidates that may be taken, with less delay where it can be had. */
static void add_shorter_ones(struct pool *pool)
{
    double shortest = NET_NO_LIMIT;
    unsigned before = pool->count, shortened = 0;
    for (unsigned index = 0; index < before; index++)
        if (pool->candidates[index].judgement.seconds < shortest)
            shortest = pool->candidates[index].judgement.seconds;
    for (unsigned index = 0; index < before && shortened < SHORTER_MAX && pool->count < POOL_MAX; index++)
        if (pool->candidates[index].judgement.seconds <= shortest * (1 + pool->options.eps) * SHORTER_FINAL) {
            add_shorter(pool, index);
            shortened++;
        }
}

bool pool_choose(struct pool *pool)
{
    add_shorter_ones(pool);
    double shortest = pool_shortest_seconds(pool);
    return shortest < NET_NO_LIMIT && best_within(pool, shortest * (1 + pool->options.eps) * (1 + TOLERANCE));
}
