/* Slow hosts first, then relays, each decided by a quick pool; then the full pool for the task that came
 * out. */
#include "planner/tree/choose.h"

#include <string.h>

#include "planner/lp/bound.h"
#include "planner/lp/packing.h"
#include "planner/tree/pace.h"
#include "planner/tree/part.h"

#define SAME_PACE 1.05 /* hosts that can be sent little more than the slowest one go with it */
#define TOLERANCE 1e-9

#define TRIED_MAX 2

#define HOSTS_MANY          100 /* from here on, proofs are coarser */
#define PACK_TOLERANCE      2e-3
#define PACK_TOLERANCE_MANY 5e-3
#define PACK_ROUNDS_MAX     1000
#define PACK_ROUNDS_MANY    500
#define PACK_PIVOTS_MAX     4000

struct planning {
    const struct net *net;
    const struct choose_options *options;
    struct arena *arena;
    double *most_bps;  /* [count] */
    double *pace_bps;  /* [count] being tried */
    bool *member;      /* [count] being tried */
    struct pool *pool; /* of the task being tried */
    size_t mark;       /* of the arena: all above is the pool's */
    double last_max_seconds;
    unsigned tried; /* of very many hosts: tasks beside the first and the last one */
    bool modes_told;
    double ceiling_bps; /* by what slow hosts leave of all uplinks, in closed form */
    double bound_bps;   /* of the last full pool's task */
    struct choice *choice;
};

/* Of a packing, in the whole net: it has as many trees as rows are tight (lp/packing.c). */
static size_t packing_trees_bytes(const struct net *net)
{
    size_t trees = 3u * net->count + net->shared_count + 32;
    return arena_need(trees * sizeof(struct net_tree)) + trees * net_tree_bytes(net);
}

size_t choose_bytes(const struct net *net)
{
    uint16_t count = net->count;
    return search_forest_bytes(count) + 3 * arena_need(count * sizeof(double)) + 2 * arena_need(count) +
           arena_need(sizeof(struct pool)) + pool_bytes(net) + packing_bytes(count, net->shared_count) +
           part_bytes(net) + packing_trees_bytes(net);
}

double choose_host_bps(const struct choice *choice, uint16_t host)
{
    double rate_bps = choice->judgement.rate_bps, pace_bps = choice->pace_bps[host];
    return pace_bps < rate_bps ? pace_bps : rate_bps;
}

double choose_edge_bps(const struct choice *choice, uint16_t tree, uint16_t host)
{
    return choose_host_bps(choice, host) * choice->forest.weight[tree] / choice->forest.period;
}

/* ---- one task ---- */

/* The first pool of all knows no paces and no relays: what modes are worth is told of it. */
static void tell_modes(struct planning *planning)
{
    const struct pool *pool = planning->pool;
    for (unsigned index = 0; index < pool->count; index++) {
        const struct pool_candidate *candidate = &pool->candidates[index];
        bool widest = candidate->origin == POOL_TOKENS && candidate->detail == 0;
        unsigned mode = widest ? PLAN_METRIC_WIDEST : candidate->detail;
        if ((!widest && candidate->origin != POOL_MODE) || planning->choice->mode_known[mode])
            continue;
        planning->choice->mode_known[mode] = true;
        planning->choice->modes[mode] = candidate->judgement;
    }
    planning->modes_told = true;
}

/* The packing's trees in the hosts of the whole net. Hosts with a pace are not in them, so they only
 * guide. */
static struct pool_packing in_whole(struct planning *planning, const struct part *part,
                                    const struct packing *packing)
{
    struct net_tree *trees = arena_alloc(planning->arena, packing->tree_count * sizeof(struct net_tree));
    for (uint16_t tree = 0; tree < packing->tree_count; tree++) {
        trees[tree] = net_tree_new(planning->net, planning->arena);
        part_tree(part, &packing->trees[tree], &trees[tree]);
    }
    return (struct pool_packing){packing->bound_bps, packing->tree_count, trees, packing->tree_bps};
}

/* The bound of hosts without a pace, and what else the linear program finds where the pool is not there
 * yet. All relays count, whether the task has them or not. */
static void pack(struct planning *planning)
{
    struct pool *pool = planning->pool;
    bool many = planning->net->count > HOSTS_MANY;
    struct packing_options options = {.tolerance = many ? PACK_TOLERANCE_MANY : PACK_TOLERANCE,
                                      .rounds_max = many ? PACK_ROUNDS_MANY : PACK_ROUNDS_MAX,
                                      .pivots_max = PACK_PIVOTS_MAX,
                                      .fan_out = true};
    struct part part;
    bool keep[NET_HOSTS_MAX];
    for (uint16_t host = 0; host < planning->net->count; host++)
        keep[host] = planning->pace_bps[host] >= NET_NO_LIMIT;
    part_init(&part, planning->net, keep, planning->arena);
    double closed_bps = bound_of(&part.net).bps;
    planning->bound_bps = closed_bps < planning->ceiling_bps ? closed_bps : planning->ceiling_bps;
    if (!planning->options->pack || planning->net->count > POOL_HOSTS_HUGE ||
        pool_rate_bps(pool) >= planning->bound_bps * (1 - PACK_TOLERANCE))
        return;
    struct packing packing;
    const struct pool_candidate *fastest = pool_fastest(pool);
    bool warm = fastest != NULL && part.net.count == planning->net->count;
    packing_solve(&part.net, &options, warm ? fastest->forest.trees : NULL,
                  warm ? fastest->forest.tree_count : 0, planning->arena, &packing);
    if (packing.bound_bps < planning->bound_bps)
        planning->bound_bps = packing.bound_bps;
    struct pool_packing result = in_whole(planning, &part, &packing);
    pool_add_packing(pool, &result);
}

/* The best of the task's pool; false: it has none. */
static bool try_task(struct planning *planning, bool quick)
{
    struct task task = {planning->net, planning->member, planning->pace_bps};
    struct pool_options options = planning->options->pool;
    options.quick = quick;
    options.last_max_seconds = planning->last_max_seconds;
    planning->arena->used = planning->mark;
    pool_open(planning->pool, &task, &options, planning->arena);
    pool_fill(planning->pool, planning->pool->shares.rate_max_bps);
    if (!planning->modes_told)
        tell_modes(planning);
    if (!quick)
        pack(planning);
    return pool_choose(planning->pool);
}

static const struct pool_candidate *chosen(const struct planning *planning)
{
    return &planning->pool->candidates[planning->pool->chosen];
}

static void take(struct planning *planning)
{
    struct choice *choice = planning->choice;
    const struct pool_candidate *candidate = chosen(planning);
    search_copy(planning->net, &choice->forest, &candidate->forest);
    memcpy(choice->pace_bps, planning->pace_bps, planning->net->count * sizeof(double));
    memcpy(choice->member, planning->member, planning->net->count);
    choice->judgement = candidate->judgement;
    choice->bound_bps = planning->bound_bps;
    choice->origin = candidate->origin;
    choice->detail = candidate->detail;
}

/* Back to what was taken last. */
static void reset(struct planning *planning)
{
    memcpy(planning->pace_bps, planning->choice->pace_bps, planning->net->count * sizeof(double));
    memcpy(planning->member, planning->choice->member, planning->net->count);
}

/* ---- which task ---- */

/* What hosts without a pace could get at most; the pool is the next task's scratch. */
static double rate_max_bps(struct planning *planning)
{
    size_t mark = planning->arena->used;
    struct task task = {planning->net, planning->member, planning->pace_bps};
    struct shares shares;
    planning->arena->used = planning->mark;
    shares_init(&shares, &task, planning->arena);
    planning->arena->used = mark;
    return shares.rate_max_bps;
}

static double eps_of(const struct planning *planning)
{
    return planning->options->pool.eps;
}

/* The quick pool's best for what is being tried, if it is so much better for the others and no worse for
 * the last one. */
static bool try_better(struct planning *planning)
{
    double before_seconds = planning->choice->judgement.seconds;
    if (planning->net->count > POOL_HOSTS_HUGE && ++planning->tried > TRIED_MAX)
        return false;
    if (!try_task(planning, true) ||
        !(chosen(planning)->judgement.seconds < before_seconds * (1 - eps_of(planning)) * (1 - TOLERANCE)))
        return false;
    take(planning);
    return true;
}

/* The slowest receivers without a pace get one: what they can be sent, or `cap_bps` if that is less.
 * False: there are none, or nobody else. */
static bool slow_down(struct planning *planning, double cap_bps)
{
    double slowest_bps = pace_slowest_bps(planning->net, planning->most_bps, planning->pace_bps);
    return slowest_bps > 0 &&
           pace_set(planning->net, planning->most_bps, slowest_bps * SAME_PACE, cap_bps, planning->pace_bps);
}

/* The slowest receiver, and whoever is as slow, gets its own pace, as long as that helps the others: then
 * the next. The most it can be sent may take more trees than there are; what it gets now, then. */
static bool slow_helps(struct planning *planning, double cap_bps)
{
    bool helps = slow_down(planning, cap_bps) &&
                 rate_max_bps(planning) > planning->choice->judgement.rate_bps * (1 + eps_of(planning)) &&
                 try_better(planning);
    reset(planning);
    return helps;
}

static void find_slow(struct planning *planning)
{
    while (slow_helps(planning, NET_NO_LIMIT) || slow_helps(planning, planning->choice->judgement.rate_bps))
        ;
}

/* The relay with the largest uplink that is not used yet; NET_NONE: there is none. */
static uint16_t next_relay(const struct planning *planning)
{
    const struct net_host *hosts = planning->net->hosts;
    uint16_t best = NET_NONE;
    for (uint16_t host = 0; host < planning->net->count; host++)
        if (!planning->member[host] && hosts[host].children_max > 0 && hosts[host].up_bps > 0 &&
            (best == NET_NONE || hosts[host].up_bps > hosts[best].up_bps))
            best = host;
    return best;
}

/* One relay, two, four … of the largest uplinks. */
static void find_relays(struct planning *planning)
{
    for (unsigned more = 1; next_relay(planning) != NET_NONE; more *= 2) {
        for (unsigned added = 0; added < more && next_relay(planning) != NET_NONE; added++)
            planning->member[next_relay(planning)] = true;
        try_better(planning);
    }
    reset(planning);
}

/* ---- all of it ---- */

static bool any_relay(const struct planning *planning)
{
    return next_relay(planning) != NET_NONE;
}

/* A receiver that caps the others: without it, they could get more. */
static bool any_slow(struct planning *planning)
{
    double slowest_bps = pace_slowest_bps(planning->net, planning->most_bps, planning->pace_bps);
    double all_bps = rate_max_bps(planning);
    all_bps = slowest_bps < all_bps ? slowest_bps : all_bps;
    bool slow =
        slow_down(planning, NET_NO_LIMIT) && rate_max_bps(planning) > all_bps * (1 + eps_of(planning));
    reset(planning);
    return slow;
}

/* What hosts without a pace could get at most if every relay helped. */
static double ceiling_bps(struct planning *planning)
{
    bool asked[NET_HOSTS_MAX];
    memcpy(asked, planning->member, planning->net->count);
    memset(planning->member, true, planning->net->count);
    double bps = rate_max_bps(planning);
    memcpy(planning->member, asked, planning->net->count);
    return bps;
}

static bool full(struct planning *planning)
{
    planning->ceiling_bps = ceiling_bps(planning);
    if (!try_task(planning, false))
        return false;
    take(planning);
    return true;
}

/* The task that modes have: receivers alone, all at one rate. */
static void ask_receivers(const struct net *net, double *pace_bps, bool *member)
{
    for (uint16_t host = 0; host < net->count; host++) {
        pace_bps[host] = NET_NO_LIMIT;
        member[host] = host == net->source || net->hosts[host].receiver;
    }
}

static void begin(struct planning *planning, struct choice *choice)
{
    const struct net *net = planning->net;
    struct arena *arena = planning->arena;
    *choice = (struct choice){.forest = search_forest(net, arena),
                              .pace_bps = arena_alloc(arena, net->count * sizeof(double)),
                              .member = arena_alloc(arena, net->count),
                              .judgement = {.seconds = NET_NO_LIMIT, .last_seconds = NET_NO_LIMIT}};
    planning->choice = choice;
    planning->most_bps = arena_alloc(arena, net->count * sizeof(double));
    planning->pace_bps = arena_alloc(arena, net->count * sizeof(double));
    planning->member = arena_alloc(arena, net->count);
    planning->pool = arena_alloc(arena, sizeof(struct pool));
    ask_receivers(net, choice->pace_bps, choice->member);
    reset(planning);
    pace_most(net, planning->member, planning->options->pool.trees_max, planning->most_bps);
}

/* Everybody can be reached, but an edge has less than the least that it carries. */
static bool explain_least(const struct planning *planning, struct err *err)
{
    const double *most_bps = planning->most_bps;
    double least_bps = planning->options->pool.edge_min_bps;
    uint16_t slowest = 0;
    for (uint16_t host = 0; host < planning->net->count; host++)
        slowest = most_bps[host] < most_bps[slowest] ? host : slowest;
    if (most_bps[slowest] < least_bps)
        return err_set(err, "%s can be sent %.0f bit/s at most, an edge carries %.0f at least",
                       planning->net->hosts[slowest].name, most_bps[slowest], least_bps);
    return err_set(err, "no plan leaves %.0f bit/s for each of its edges", least_bps);
}

/* Nobody can be reached whom no host outside its own circle can feed: name the first one that growth does
 * not get to. */
static bool explain(const struct planning *planning, struct err *err)
{
    const struct net *net = planning->net;
    bool reached[NET_HOSTS_MAX] = {false};
    reached[net->source] = true;
    for (bool grew = true; grew;) {
        grew = false;
        for (uint16_t from = 0; from < net->count; from++)
            for (uint16_t to = 0; to < net->count && reached[from] && net->hosts[from].up_bps > 0; to++)
                if (!reached[to] && net_usable(net, from, to) && net->hosts[to].down_bps > 0)
                    grew = reached[to] = true;
    }
    for (uint16_t host = 0; host < net->count; host++)
        if (net->hosts[host].receiver && !reached[host])
            return net->hosts[host].down_bps > 0
                       ? err_set(err,
                                 "%s can't be reached from %s: no path leads to it that is measured, allowed "
                                 "and carries anything",
                                 net->hosts[host].name, net->hosts[net->source].name)
                       : err_set(err, "%s has a downlink of 0", net->hosts[host].name);
    if (pool_any_starves(planning->pool))
        return explain_least(planning, err);
    return err_set(err, "no tree from %s reaches every receiver: too few hosts may have children",
                   net->hosts[net->source].name);
}

/* With paces and relays, the last one must not end later than it could without,
 * but by eps: else there are none. */
static bool plan_all(struct planning *planning)
{
    bool slow = any_slow(planning), relays = any_relay(planning);
    planning->last_max_seconds = NET_NO_LIMIT;
    if ((slow || relays) && try_task(planning, true)) {
        take(planning);
        planning->last_max_seconds =
            pool_shortest_seconds(planning->pool) * (1 + eps_of(planning)) * (1 + TOLERANCE);
    }
    if (slow)
        find_slow(planning);
    if (relays)
        find_relays(planning);
    if (full(planning))
        return true;
    ask_receivers(planning->net, planning->pace_bps, planning->member);
    planning->last_max_seconds = NET_NO_LIMIT;
    return full(planning);
}

bool choose(const struct net *net, const struct choose_options *options, struct arena *arena,
            struct choice *choice, struct err *err)
{
    struct planning planning = {.net = net, .options = options, .arena = arena};
    begin(&planning, choice);
    planning.mark = arena->used;
    bool found = plan_all(&planning);
    arena->used = planning.mark;
    if (found)
        return true;
    return explain(&planning, err);
}
