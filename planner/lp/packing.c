#include "planner/lp/packing.h"

#include <string.h>

#include "planner/lp/bound.h"
#include "planner/lp/pricing.h"

#define COST_LEAST    1e-9 /* below it, prices prove nothing */
#define GAIN_LEAST    1e-9
#define RATE_LEAST    1e-9 /* of the unit: trees with less are left out */
#define VALUE_LEAST   1e-6 /* of the unit: less is what limits were widened by */
#define TOLERANCE_MIN 1e-7
#define BASIC_MOST    1100
/* Slack rows get prices too, as shares of the gap (see price_slack): in turn, until a tree gains. */
#define SHARE_FIRST 1.0
#define SHARE_NEXT  0.125
#define SHARE_LAST  0.001
#define SHARE_MOST  1000
/* Shares from here on: prices between those of now and the best ones, which
 * jump less (Wentges' smoothing). */
static const struct {
    double share, smooth;
} smoothing[] = {{1, 0.9}, {0.125, 0.7}, {0.01, 0.3}, {0, 0}};
/* A row with less left than this share counts as one with that much; turn about, since now the one and now
 * the other gets on faster, by ten times on nets of very narrow paths. */
#define SLACK_LEAST_EVEN 0.001
#define SLACK_LEAST_ODD  0.01

/* Prices of some turn, by row. */
struct prices {
    uint32_t count;
    uint32_t *row;
    double *price;
};

struct generation {
    const struct net *net;
    const struct packing_options *options;
    struct rows rows;
    struct simplex simplex;
    struct pricing pricing;
    uint16_t *parent;      /* of the tree at hand */
    uint16_t *slot_parent; /* [slot * count] */
    struct prices now;
    double *best;    /* prices that prove the bound, by row */
    double *besides; /* prices of slack rows */
    double bound;    /* in units */
    struct packing *packing;
};

/* As many columns have a rate as rows are tight: about one per host, several where many narrow paths bind. */
static uint16_t basic_max(uint16_t count, uint16_t shared_count)
{
    uint32_t most = 10u * count + shared_count + 64;
    return (uint16_t)(most < BASIC_MOST ? most : BASIC_MOST);
}

size_t packing_bytes(uint16_t count, uint16_t shared_count)
{
    size_t places = basic_max(count, shared_count), common = 4u * count + shared_count;
    size_t stays = arena_need(places * sizeof(struct net_tree)) + arena_need(places * sizeof(double)) +
                   places * arena_need(count * sizeof(uint16_t)) + arena_need(count * sizeof(double)) +
                   arena_need(((size_t)count * count + common) * sizeof(double));
    return stays + rows_bytes(count, shared_count) +
           rows_simplex_bytes(count, shared_count, (uint16_t)places) + pricing_bytes(count, shared_count) +
           pricing_scratch_bytes(count) + arena_need(count * sizeof(uint16_t)) +
           arena_need((places + 1) * count * sizeof(uint16_t)) + arena_need(places * sizeof(uint32_t)) +
           arena_need(places * sizeof(double)) +
           2 * arena_need(rows_most(count, shared_count) * sizeof(double));
}

static void prices_new(struct prices *prices, uint16_t places, struct arena *arena)
{
    prices->count = 0;
    prices->row = arena_alloc(arena, places * sizeof(uint32_t));
    prices->price = arena_alloc(arena, places * sizeof(double));
}

/* What is known from the beginning: by the cap, or in closed form. */
static void price_closed(struct generation *generation, const struct bound *closed)
{
    const struct rows *rows = &generation->rows;
    const struct prices *prices = &generation->now;
    uint32_t count = bound_prices(generation->net, closed, prices->row, prices->price);
    if (rows->rate_from == ROWS_NO_ROW && rows->rate_most_bps <= closed->bps) {
        generation->best[rows_sum(rows)] = rows->rate_most_bps / rows->unit_bps;
        return;
    }
    for (uint32_t index = 0; index < count; index++) {
        uint32_t row = prices->row[index];
        if (row == rows->rate_from)
            generation->best[rows_sum(rows)] += prices->price[index] * rows->rate_most_bps / rows->unit_bps;
        else if (rows->scale[row] > 0) /* without capacity, it is not used at any price */
            generation->best[row] += prices->price[index] / rows->scale[row];
    }
}

static void begin(struct generation *generation, const struct bound *closed, struct arena *arena)
{
    const struct net *net = generation->net;
    const struct packing_options *options = generation->options;
    uint16_t places = basic_max(net->count, net->shared_count);
    double unit_bps = closed->bps < ROWS_RATE_MOST ? closed->bps : ROWS_RATE_MOST;
    if (options->rate_cap_bps > 0 && options->rate_cap_bps < unit_bps)
        unit_bps = options->rate_cap_bps;
    rows_init(&generation->rows, net, unit_bps, options->rate_cap_bps, options->fan_out, arena);
    struct simplex_size size = rows_size(&generation->rows, places);
    simplex_init(&generation->simplex, &size, generation->rows.limit, arena);
    pricing_init(&generation->pricing, &generation->rows, arena);
    generation->parent = arena_alloc(arena, net->count * sizeof(uint16_t));
    generation->slot_parent = arena_alloc(arena, (places + 1u) * net->count * sizeof(uint16_t));
    prices_new(&generation->now, places, arena);
    generation->best = arena_alloc(arena, generation->rows.count * sizeof(double));
    memset(generation->best, 0, generation->rows.count * sizeof(double));
    generation->besides = arena_alloc(arena, generation->rows.count * sizeof(double));
    memset(generation->besides, 0, generation->rows.count * sizeof(double));
    generation->bound = 1;
    price_closed(generation, closed);
}

/* ---- turns ---- */

static double gain_of(struct generation *generation, const uint16_t *parent)
{
    struct simplex_column column = rows_column(&generation->rows, parent);
    return simplex_gain(&generation->simplex, &column);
}

static uint32_t settle(struct generation *generation)
{
    uint32_t most = generation->options->pivots_max, pivots = generation->simplex.pivots;
    return pivots < most ? simplex_settle(&generation->simplex, most - pivots) : 0;
}

static bool enter(struct generation *generation, const uint16_t *parent)
{
    struct simplex_column column = rows_column(&generation->rows, parent);
    uint16_t slot = simplex_enter(&generation->simplex, &column);
    if (slot == SIMPLEX_NONE)
        return false;
    memcpy(generation->slot_parent + (size_t)slot * generation->net->count, parent,
           generation->net->count * sizeof(uint16_t));
    settle(generation);
    return true;
}

/* The best of the trees given, as long as one gains. */
static void enter_warm(struct generation *generation, const struct net_tree *warm, uint16_t warm_count)
{
    for (uint32_t turn = 0; turn < 20u * warm_count + 20; turn++) {
        double most = GAIN_LEAST;
        uint16_t best = NET_NONE;
        for (uint16_t tree = 0; tree < warm_count; tree++) {
            double gain = gain_of(generation, warm[tree].parent);
            if (gain > most) {
                most = gain;
                best = tree;
            }
        }
        if (best == NET_NONE || !enter(generation, warm[best].parent))
            return;
    }
}

static void read_prices(const struct simplex *simplex, struct prices *prices)
{
    prices->count = 0;
    for (uint16_t place = 0; place < simplex->inverse.size; place++) {
        double price = simplex->price[simplex->tight[place]];
        if (price <= 0)
            continue;
        prices->row[prices->count] = simplex->tight[place];
        prices->price[prices->count++] = price;
    }
}

/* What the prices and the least cost under them prove. `besides`: sum of the prices of slack rows. */
static void consider_bound(struct generation *generation, const struct pricing_list *list, double besides,
                           double least)
{
    double value = besides;
    if (least < COST_LEAST)
        return;
    for (uint32_t index = 0; index < list->count; index++)
        value += generation->rows.limit[list->row[index]] * list->price[index];
    if (value >= generation->bound * least)
        return;
    generation->bound = value / least;
    memset(generation->best, 0, generation->rows.count * sizeof(double));
    for (uint32_t row = 0; row < generation->rows.count && list->besides != NULL; row++)
        generation->best[row] = list->besides[row] / least;
    for (uint32_t index = 0; index < list->count; index++)
        generation->best[list->row[index]] += list->price[index] / least;
}

/* Prices of slack rows, the less is left the higher, so small that they only choose among trees that cost
 * about the same: without them, prices of 0 on most rows leave the choice to the index, such trees share
 * their narrow rows, and each gains next to nothing (a hundred times the turns on nets of narrow paths). And,
 * of all rows, the share `smooth` of the best prices. Returns the sum of what adds to a bound. */
static double price_slack(struct generation *generation, double share, double smooth)
{
    const struct simplex *simplex = &generation->simplex;
    double gap = generation->bound - simplex_value(simplex);
    double factor = share * gap / (2.0 * generation->net->count), sum = 0;
    double least = simplex->pivots % 2 == 0 ? SLACK_LEAST_EVEN : SLACK_LEAST_ODD;
    for (uint32_t row = 0; row < net_rows(generation->net); row++) {
        double slack = simplex->slack[row] > least ? simplex->slack[row] : least;
        generation->besides[row] = generation->rows.scale[row] > 0 ? factor / slack : 0;
        generation->besides[row] += smooth * generation->best[row];
        sum += generation->besides[row];
    }
    for (uint16_t host = 0; host < generation->net->count && generation->options->fan_out; host++) {
        uint32_t row = rows_children(&generation->rows, host);
        double slack = simplex->slack[row] > least ? simplex->slack[row] : least;
        generation->besides[row] = factor / slack + smooth * generation->best[row];
    }
    uint32_t last = rows_sum(&generation->rows);
    generation->besides[last] = smooth * generation->best[last];
    sum += generation->besides[last];
    return sum;
}

static bool close_enough(const struct generation *generation)
{
    double tolerance = generation->options->tolerance;
    tolerance = tolerance > TOLERANCE_MIN ? tolerance : TOLERANCE_MIN;
    double value = simplex_value(&generation->simplex) * (1 - SIMPLEX_WIDENED);
    return value >= generation->bound * (1 - tolerance);
}

static double smooth_at(double share)
{
    uint16_t index = 0;
    while (share < smoothing[index].share)
        index++;
    return smoothing[index].smooth;
}

/* The cheapest tree by the prices of now, and of slack rows by that share of
 * the gap. False: there is none. */
static bool ask(struct generation *generation, double share, enum pricing_effort effort)
{
    struct prices *now = &generation->now;
    struct pricing_answer answer;
    double besides = 0;
    read_prices(&generation->simplex, now);
    struct pricing_list list = {now->count, now->row, now->price, NULL};
    if (share > 0) {
        double smooth = smooth_at(share);
        besides = price_slack(generation, share, smooth);
        for (uint32_t index = 0; index < now->count; index++)
            now->price[index] *= 1 - smooth;
        list.besides = generation->besides;
    }
    if (!pricing_tree(&generation->pricing, &list, effort, generation->parent, &answer))
        return false;
    generation->packing->rounds++;
    consider_bound(generation, &list, besides, answer.least);
    return true;
}

enum turn { TURN_GAINED, TURN_NOTHING, TURN_END };

static enum turn try(struct generation *generation, double share, enum pricing_effort effort)
{
    if (!ask(generation, share, effort) || close_enough(generation))
        return TURN_END;
    if (gain_of(generation, generation->parent) <= GAIN_LEAST)
        return TURN_NOTHING;
    return enter(generation, generation->parent) ? TURN_GAINED : TURN_END;
}

/* False: nothing is to be gained any more. */
static bool turn(struct generation *generation)
{
    enum turn turn = TURN_NOTHING;
    for (double share = SHARE_FIRST; turn == TURN_NOTHING && share > SHARE_LAST; share *= SHARE_NEXT)
        turn = try(generation, share, PRICING_QUICK);
    if (turn == TURN_NOTHING)
        turn = try(generation, 0, PRICING_THOROUGH);
    if (turn == TURN_NOTHING && settle(generation) > 0)
        return true;
    if (turn == TURN_NOTHING && generation->pricing.relays)
        turn = try(generation, 0, PRICING_EXACT);
    return turn == TURN_GAINED;
}

/* Where turns or room ran out: prices of slack rows stand for what tight ones do not say yet. */
static void improve_bound(struct generation *generation)
{
    for (double share = SHARE_FIRST; share < SHARE_MOST && !close_enough(generation); share *= 2)
        if (!ask(generation, share, PRICING_THOROUGH))
            return;
}

/* ---- what is told ---- */

/* By how much rates are to shrink until every row of the net has what it gives. */
static double overload(struct generation *generation)
{
    struct simplex *simplex = &generation->simplex;
    double most = 1;
    memset(simplex->change, 0, simplex->max.rows * sizeof(double));
    for (uint16_t place = 0; place < simplex->inverse.size; place++) {
        const uint16_t *parent =
            generation->slot_parent + (size_t)simplex->slot[place] * generation->net->count;
        struct simplex_column column = rows_column(&generation->rows, parent);
        for (uint32_t entry = 0; entry < column.count; entry++)
            if (simplex->rate[place] > RATE_LEAST)
                simplex->change[column.row[entry]] += simplex->rate[place] * column.use[entry];
    }
    for (uint32_t row = 0; row < simplex->max.rows; row++)
        if (generation->rows.limit[row] > 0 && simplex->change[row] > most)
            most = simplex->change[row];
    return most;
}

static void tell_trees(struct generation *generation)
{
    struct simplex *simplex = &generation->simplex;
    struct packing *packing = generation->packing;
    uint16_t count = generation->net->count;
    double unit_bps = generation->rows.unit_bps / overload(generation);
    if (simplex_value(simplex) < VALUE_LEAST)
        return;
    for (uint16_t place = 0; place < simplex->inverse.size; place++) {
        if (simplex->rate[place] <= RATE_LEAST)
            continue;
        double bps = simplex->rate[place] * unit_bps;
        uint16_t at = packing->tree_count++;
        uint16_t *parent = packing->trees[at].parent;
        for (; at > 0 && packing->tree_bps[at - 1] < bps; at--) {
            packing->trees[at] = packing->trees[at - 1];
            packing->tree_bps[at] = packing->tree_bps[at - 1];
        }
        packing->trees[at].parent = parent;
        packing->tree_bps[at] = bps;
        memcpy(parent, generation->slot_parent + (size_t)simplex->slot[place] * count,
               count * sizeof(uint16_t));
    }
    for (uint16_t tree = 0; tree < packing->tree_count; tree++)
        packing->rate_bps += packing->tree_bps[tree];
}

/* Edges that were left out carry next to nothing; where that is not nothing,
 * a price on it makes up for it. */
static void price_dead(struct generation *generation)
{
    const struct net *net = generation->net;
    struct packing_proof *proof = &generation->packing->proof;
    for (uint32_t index = 0; index < generation->pricing.dead_count; index++) {
        uint32_t edge = generation->pricing.dead[index];
        struct net_use culprit;
        rows_dead(&generation->rows, (uint16_t)(edge / net->count), (uint16_t)(edge % net->count), &culprit);
        double capacity = net_capacity(net, culprit.row), price = 1 / culprit.per_bit;
        if (price <= proof->row[culprit.row])
            continue;
        generation->packing->bound_bps += (price - proof->row[culprit.row]) * capacity;
        proof->row[culprit.row] = price;
    }
}

static void tell_proof(struct generation *generation)
{
    const struct rows *rows = &generation->rows;
    const double *best = generation->best;
    struct packing_proof *proof = &generation->packing->proof;
    double sum = best[rows_sum(rows)] * rows->unit_bps / rows->rate_most_bps;
    for (uint32_t row = 0; row < net_rows(rows->net); row++)
        proof->row[row] = best[row] * rows->scale[row];
    for (uint16_t host = 0; host < rows->net->count; host++)
        proof->children[host] = best[rows_children(rows, host)];
    if (rows->rate_from == ROWS_NO_ROW)
        proof->sum = sum;
    else
        proof->row[rows->rate_from] += sum;
    generation->packing->bound_bps = generation->bound * rows->unit_bps;
    price_dead(generation);
}

/* Children's rows are widened from 0: no row of the net takes that back. */
static void keep_to_bound(struct packing *packing)
{
    if (packing->rate_bps <= packing->bound_bps)
        return;
    for (uint16_t tree = 0; tree < packing->tree_count; tree++)
        packing->tree_bps[tree] *= packing->bound_bps / packing->rate_bps;
    packing->rate_bps = packing->bound_bps;
}

static void allocate_answer(const struct net *net, struct arena *arena, struct packing *packing)
{
    uint16_t places = basic_max(net->count, net->shared_count);
    size_t row_bytes = net_rows(net) * sizeof(double);
    *packing = (struct packing){.trees = arena_alloc(arena, places * sizeof(struct net_tree)),
                                .tree_bps = arena_alloc(arena, places * sizeof(double)),
                                .proof = {.row = arena_alloc(arena, row_bytes),
                                          .children = arena_alloc(arena, net->count * sizeof(double))}};
    for (uint16_t tree = 0; tree < places; tree++)
        packing->trees[tree] = net_tree_new(net, arena);
    memset(packing->proof.row, 0, row_bytes);
    memset(packing->proof.children, 0, net->count * sizeof(double));
}

void packing_solve(const struct net *net, const struct packing_options *options, const struct net_tree *warm,
                   uint16_t warm_count, struct arena *arena, struct packing *packing)
{
    struct generation generation = {.net = net, .options = options, .packing = packing};
    struct bound closed = bound_of(net);
    allocate_answer(net, arena, packing);
    size_t used = arena->used;
    if (closed.bps <= 0)
        return;
    begin(&generation, &closed, arena);
    enter_warm(&generation, warm, warm_count);
    bool found = pricing_first(&generation.pricing, generation.parent);
    if (found && gain_of(&generation, generation.parent) > GAIN_LEAST)
        enter(&generation, generation.parent);
    while (found && packing->rounds < options->rounds_max &&
           generation.simplex.pivots < options->pivots_max && !close_enough(&generation) && turn(&generation))
        ;
    if (found && !close_enough(&generation) && ask(&generation, 0, PRICING_EXACT))
        improve_bound(&generation);
    if (found) {
        tell_trees(&generation);
        tell_proof(&generation);
        keep_to_bound(packing);
    }
    packing->pivots = generation.simplex.pivots;
    arena->used = used;
}
