/* Bisection over the rate, order by order, then the climb. */
#include "planner/tree/search.h"

#include <string.h>

#include "planner/tree/improve.h"
#include "planner/tree/order.h"
#include "planner/tree/weigh.h"

#define FINER           1.003 /* rates nearer than this are not told apart by bisection */
#define FINER_MANY      1.02  /* of so many hosts that a build takes long: */
#define HOSTS_MANY      200
#define STEPS_MAX       12
#define ROUNDS_MAX      4
#define RATE_ROUNDS     8
#define WORTHWHILE      1.001 /* gain for which another round is made */
#define MOVES_BUDGET    400000
#define TOLERANCE       1e-9
#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

const struct search_vector search_vectors[] = {
    {1, {1}},
    {2, {1, 1}},
    {2, {2, 1}},
    {3, {4, 2, 1}},
    {4, {1, 1, 1, 1}},
    {4, {8, 4, 2, 1}},
    {4, {4, 2, 1, 1}},
    {4, {2, 2, 1, 1}},
    {5, {16, 8, 4, 2, 1}},
    {6, {8, 8, 4, 4, 2, 1}},
    {6, {16, 8, 4, 2, 1, 1}},
    {7, {8, 8, 4, 4, 2, 2, 1}},
    {8, {8, 8, 4, 4, 2, 2, 1, 1}},
    {8, {1, 1, 1, 1, 1, 1, 1, 1}}, /* along a guide only */
};
const unsigned search_vector_count = COUNT_OF(search_vectors);

size_t search_forest_bytes(uint16_t count)
{
    return NET_TREES_MAX * arena_need(count * sizeof(uint16_t));
}

struct net_forest search_forest(const struct net *net, struct arena *arena)
{
    struct net_forest forest = {.tree_count = 0};
    for (unsigned tree = 0; tree < NET_TREES_MAX; tree++)
        forest.trees[tree] = net_tree_new(net, arena);
    return forest;
}

void search_copy(const struct net *net, struct net_forest *target, const struct net_forest *source)
{
    target->tree_count = source->tree_count;
    target->period = source->period;
    memcpy(target->weight, source->weight, sizeof(source->weight));
    for (unsigned tree = 0; tree < source->tree_count; tree++)
        memcpy(target->trees[tree].parent, source->trees[tree].parent, net->count * sizeof(uint16_t));
}

size_t search_bytes(uint16_t count, uint16_t shared_count)
{
    return booking_bytes(count, shared_count) + tokens_bytes(count) + 2 * search_forest_bytes(count) +
           weigh_bytes(count, shared_count) + arena_need(count * sizeof(uint64_t));
}

void search_init(struct search *search, const struct task *task, const struct shares *shares,
                 struct arena *arena)
{
    *search =
        (struct search){.task = task, .shares = shares, .arena = arena, .enough_bps = shares->rate_max_bps};
    booking_init(&search->booking, task, shares, arena);
    tokens_init(&search->tokens, &search->booking, arena);
    search->work = search_forest(task->net, arena);
    search->kept = search_forest(task->net, arena);
    search->depth_us = arena_alloc(arena, task->net->count * sizeof(uint64_t));
}

/* Of the forest that is booked. */
static double booked_bps(const struct search *search)
{
    double load = booking_load_max(&search->booking), period = search->booking.forest->period;
    return load * search->shares->rate_max_bps > period ? period / load : search->shares->rate_max_bps;
}

/* Of any forest: slow hosts load the less of a row the faster the others are, so the rate is met from
 * above. */
static double rate_of(struct search *search, struct net_forest *forest)
{
    double rate_bps = search->shares->rate_max_bps;
    for (unsigned round = 0; round < RATE_ROUNDS; round++) {
        booking_open(&search->booking, forest, rate_bps);
        double booked = booked_bps(search);
        if (!(booked < rate_bps * (1 - TOLERANCE)))
            break;
        rate_bps = booked;
    }
    return rate_bps;
}

static void begin(struct net_forest *forest, const struct search_vector *vector)
{
    forest->tree_count = vector->trees;
    forest->period = 0;
    memcpy(forest->weight, vector->weight, sizeof(vector->weight));
    for (unsigned tree = 0; tree < vector->trees; tree++)
        forest->period = (uint16_t)(forest->period + vector->weight[tree]);
}

static void prune(const struct search *search, struct net_forest *forest)
{
    for (unsigned tree = 0; tree < forest->tree_count; tree++)
        order_prune(search->task, &forest->trees[tree]);
}

/* The fastest that one order finds above `low_bps`, into `forest`; returns its rate, or low_bps. */
static double bisect(struct search *search, const struct search_vector *vector, struct tokens_order order,
                     double low_bps, struct net_forest *forest)
{
    double finer = search->task->net->count > HOSTS_MANY ? FINER_MANY : FINER;
    double high_bps = search->enough_bps * finer, try_bps = low_bps > 0 ? low_bps * finer : high_bps / 2;
    for (unsigned steps = 0; steps < STEPS_MAX && high_bps > low_bps * finer; steps++) {
        begin(&search->work, vector);
        if (tokens_build(&search->tokens, &search->work, order, try_bps)) {
            low_bps = booked_bps(search);
            search_copy(search->task->net, forest, &search->work);
        } else {
            high_bps = try_bps;
            if (steps == 0 && low_bps > 0)
                break; /* not even a little more than other orders found */
        }
        try_bps = (low_bps + high_bps) / 2;
    }
    return low_bps;
}

/* Orders that find what others do not; with all nine, rates are 0.1 % higher and builds cost twice as
 * much. */
static const struct tokens_order orders[] = {{TOKENS_SCARCE, TOKENS_FREEST},
                                             {TOKENS_SCARCE, TOKENS_NEAREST},
                                             {TOKENS_ROOMY, TOKENS_NEAREST},
                                             {TOKENS_NEAR, TOKENS_SPARE}};
static const struct tokens_order guided_orders[] = {
    {TOKENS_SCARCE, TOKENS_GUIDED}, {TOKENS_ROOMY, TOKENS_GUIDED}, {TOKENS_NEAR, TOKENS_GUIDED}};

double search_run(struct search *search, const struct search_vector *vector, bool guided,
                  struct net_forest *forest)
{
    const struct tokens_order *tried = guided ? guided_orders : orders;
    unsigned count = guided ? COUNT_OF(guided_orders) : COUNT_OF(orders);
    double best_bps = 0;
    for (unsigned index = 0; index < count; index++)
        best_bps = bisect(search, vector, tried[index], best_bps, forest);
    if (!(best_bps > 0))
        return 0;
    prune(search, forest);
    return search_refine(search, forest);
}

double search_refine(struct search *search, struct net_forest *forest)
{
    const struct net *net = search->task->net;
    struct booking *booking = &search->booking;
    double best_bps = rate_of(search, forest);
    for (unsigned round = 0; round < ROUNDS_MAX && best_bps < search->enough_bps; round++) {
        search_copy(net, &search->kept, round == 0 ? forest : &search->kept);
        booking_open(booking, &search->kept, best_bps);
        improve(booking, MOVES_BUDGET);
        prune(search, &search->kept);
        weigh(booking, &search->kept, best_bps, search->arena);
        weigh_tidy(net, &search->kept);
        double rate_bps = rate_of(search, &search->kept);
        bool enough = rate_bps < best_bps * WORTHWHILE;
        if (rate_bps > best_bps) {
            best_bps = rate_bps;
            search_copy(net, forest, &search->kept);
        }
        if (enough)
            break;
    }
    return best_bps;
}

/* RTTs from the source down to each host of the tree. */
static void measure_depths(struct search *search, const struct net_tree *tree)
{
    const struct net *net = search->task->net;
    for (uint16_t host = 0; host < net->count; host++) {
        uint64_t sum_us = 0;
        for (uint16_t below = host; tree->parent[below] != NET_NONE; below = tree->parent[below])
            sum_us += net->rtt_us[net_edge(net, tree->parent[below], below)];
        search->depth_us[host] = sum_us;
    }
}

/* The nearest parent under which the host does not load any row above the limit. */
static bool shorten_one(struct search *search, unsigned tree, uint16_t host, double limit)
{
    const struct net *net = search->task->net;
    struct booking *booking = &search->booking;
    const struct net_tree *grown = &booking->forest->trees[tree];
    uint16_t before = grown->parent[host], best = before;
    uint64_t best_us = search->depth_us[host];
    booking_remove(booking, tree, host);
    for (uint16_t from = 0; from < net->count; from++) {
        uint64_t through_us = search->depth_us[from] + net->rtt_us[net_edge(net, from, host)];
        bool inside = from == net->source || grown->parent[from] != NET_NONE;
        if (!inside || through_us >= best_us || !booking_allows(booking, tree, from, host) ||
            !booking_fits(booking, tree, from, host, limit) || booking_below(booking, tree, from, host))
            continue;
        best = from;
        best_us = through_us;
    }
    booking_add(booking, tree, best, host);
    if (best != before)
        measure_depths(search, grown);
    return best != before;
}

void search_shorten(struct search *search, struct net_forest *forest, double rate_bps)
{
    double limit = forest->period / rate_bps * (1 + TOLERANCE);
    booking_open(&search->booking, forest, rate_bps);
    for (unsigned tree = 0; tree < forest->tree_count; tree++) {
        measure_depths(search, &forest->trees[tree]);
        for (bool moved = true; moved;) {
            moved = false;
            for (uint16_t host = 0; host < search->task->net->count; host++)
                if (forest->trees[tree].parent[host] != NET_NONE)
                    moved |= shorten_one(search, tree, host, limit);
        }
    }
    prune(search, forest);
}
