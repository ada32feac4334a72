#include "planner/lp/steiner.h"

#include <string.h>

#define NONE UINT16_MAX

struct attempt {
    const struct steiner_task *task;
    struct arena *arena;
    bool *spanned; /* tried */
    bool *reached; /* scratch */
    uint16_t *queue;
    uint16_t *parent;
    uint16_t *best; /* the cheapest so far, the caller's */
    double cost;
    bool found;
};

size_t steiner_bytes(uint16_t count)
{
    size_t tree = 2 * arena_need(count * sizeof(bool)) + 2 * arena_need(count * sizeof(uint16_t)) +
                  arborescence_bytes(count);
    size_t ascent = arena_need((size_t)count * count * sizeof(double)) + arena_need(count * sizeof(bool)) +
                    arena_need(count * sizeof(uint16_t));
    return tree > ascent ? tree : ascent;
}

static double weight_of(const struct steiner_task *task, uint16_t from, uint16_t to)
{
    return task->weight[(size_t)from * task->count + to];
}

/* ---- trees ---- */

static void mark_reached(struct attempt *attempt)
{
    const struct steiner_task *task = attempt->task;
    uint16_t head = 0, tail = 0;
    memset(attempt->reached, 0, task->count * sizeof(bool));
    attempt->reached[task->source] = true;
    attempt->queue[tail++] = task->source;
    while (head < tail) {
        uint16_t from = attempt->queue[head++];
        for (uint16_t to = 0; to < task->count; to++)
            if (!attempt->reached[to] && weight_of(task, from, to) < ARBORESCENCE_NO_EDGE) {
                attempt->reached[to] = true;
                attempt->queue[tail++] = to;
            }
    }
}

/* Cuts off what leads nowhere: leaves that nobody wants, until there are none. */
static void prune(const struct steiner_task *task, uint16_t *parent, uint16_t *children)
{
    memset(children, 0, task->count * sizeof(uint16_t));
    for (uint16_t host = 0; host < task->count; host++)
        if (parent[host] != NONE)
            children[parent[host]]++;
    for (uint16_t host = 0; host < task->count; host++) {
        uint16_t leaf = host;
        while (leaf != task->source && parent[leaf] != NONE && !task->wanted[leaf] && children[leaf] == 0) {
            uint16_t above = parent[leaf];
            parent[leaf] = NONE;
            children[above]--;
            leaf = above;
        }
    }
}

/* The cheapest tree over `spanned`, pruned; then over what is left of it, as long as that shrinks. */
static bool try_spanned(struct attempt *attempt)
{
    const struct steiner_task *task = attempt->task;
    struct arborescence_task over = {task->count, task->source, task->weight, attempt->spanned};
    bool better = false;
    for (uint16_t round = 0; round < task->count; round++) {
        double cost;
        bool shrunk = false;
        if (!arborescence(&over, attempt->arena, attempt->parent, &cost))
            return better;
        prune(task, attempt->parent, attempt->queue);
        cost = 0;
        for (uint16_t host = 0; host < task->count; host++) {
            bool inside = attempt->parent[host] != NONE;
            cost += inside ? weight_of(task, attempt->parent[host], host) : 0;
            shrunk |= attempt->spanned[host] && !inside && host != task->source;
            attempt->spanned[host] = inside || host == task->source;
        }
        if (!attempt->found || cost < attempt->cost) {
            attempt->found = better = true;
            attempt->cost = cost;
            memcpy(attempt->best, attempt->parent, task->count * sizeof(uint16_t));
        }
        if (!shrunk)
            break;
    }
    return better;
}

static bool inside_best(const struct attempt *attempt, uint16_t host)
{
    return host == attempt->task->source || attempt->best[host] != NONE;
}

/* One relay more or less than the best tree has, as long as that helps; each is
 * tried once after the last gain. */
static void search_around(struct attempt *attempt)
{
    const struct steiner_task *task = attempt->task;
    uint16_t since = 0, host = 0, trials = 0;
    for (; since < task->count && trials < 4 * task->count; host = (uint16_t)((host + 1) % task->count)) {
        since++;
        if (task->wanted[host])
            continue;
        trials++;
        for (uint16_t other = 0; other < task->count; other++)
            attempt->spanned[other] = inside_best(attempt, other) != (other == host);
        if (try_spanned(attempt))
            since = 0;
    }
}

bool steiner_tree(const struct steiner_task *task, bool thorough, struct arena *arena, uint16_t *parent,
                  double *cost)
{
    size_t used = arena->used;
    struct attempt attempt = {.task = task, .arena = arena, .best = parent};
    attempt.spanned = arena_alloc(arena, task->count * sizeof(bool));
    attempt.reached = arena_alloc(arena, task->count * sizeof(bool));
    attempt.queue = arena_alloc(arena, task->count * sizeof(uint16_t));
    attempt.parent = arena_alloc(arena, task->count * sizeof(uint16_t));
    mark_reached(&attempt);
    for (uint16_t host = 0; host < task->count; host++)
        attempt.spanned[host] = attempt.reached[host] || task->wanted[host];
    try_spanned(&attempt);
    memcpy(attempt.spanned, task->wanted, task->count * sizeof(bool));
    try_spanned(&attempt);
    if (attempt.found && thorough)
        search_around(&attempt);
    *cost = attempt.cost;
    arena->used = used;
    return attempt.found;
}

/* ---- what none is below ---- */

struct ascent {
    const struct steiner_task *task;
    double *left; /* of each edge's weight */
    bool *inside; /* hosts from which the cut's receiver is reached over edges with nothing left */
    uint16_t *queue;
};

/* False: the source is among them. */
static bool mark_cut(struct ascent *ascent, uint16_t target)
{
    const struct steiner_task *task = ascent->task;
    uint16_t head = 0, tail = 0;
    memset(ascent->inside, 0, task->count * sizeof(bool));
    ascent->inside[target] = true;
    ascent->queue[tail++] = target;
    while (head < tail) {
        uint16_t to = ascent->queue[head++];
        for (uint16_t from = 0; from < task->count; from++)
            if (!ascent->inside[from] && ascent->left[(size_t)from * task->count + to] <= 0) {
                ascent->inside[from] = true;
                ascent->queue[tail++] = from;
            }
    }
    return !ascent->inside[task->source];
}

/* Pays for every edge into the cut what the cheapest of them costs. False: there is none. */
static bool pay(struct ascent *ascent, double *paid)
{
    uint16_t count = ascent->task->count;
    double least = ARBORESCENCE_NO_EDGE;
    for (uint16_t from = 0; from < count; from++)
        for (uint16_t to = 0; to < count && !ascent->inside[from]; to++)
            if (ascent->inside[to] && ascent->left[(size_t)from * count + to] < least)
                least = ascent->left[(size_t)from * count + to];
    if (least >= ARBORESCENCE_NO_EDGE)
        return false;
    *paid += least;
    for (uint16_t from = 0; from < count; from++)
        for (uint16_t to = 0; to < count && !ascent->inside[from]; to++) {
            double *left = &ascent->left[(size_t)from * count + to];
            if (ascent->inside[to] && *left < ARBORESCENCE_NO_EDGE)
                *left = *left <= least ? 0 : *left - least;
        }
    return true;
}

double steiner_least(const struct steiner_task *task, struct arena *arena)
{
    size_t used = arena->used, edges = (size_t)task->count * task->count;
    struct ascent ascent = {.task = task};
    double paid = 0;
    bool open = true;
    ascent.left = arena_alloc(arena, edges * sizeof(double));
    ascent.inside = arena_alloc(arena, task->count * sizeof(bool));
    ascent.queue = arena_alloc(arena, task->count * sizeof(uint16_t));
    memcpy(ascent.left, task->weight, edges * sizeof(double));
    /* In turns, a cut for each receiver: what receivers share is then paid for later, and once. */
    while (open) {
        open = false;
        for (uint16_t host = 0; host < task->count; host++) {
            if (!task->wanted[host] || host == task->source || !mark_cut(&ascent, host))
                continue;
            if (!pay(&ascent, &paid)) {
                arena->used = used;
                return ARBORESCENCE_NO_EDGE;
            }
            open = true;
        }
    }
    arena->used = used;
    return paid;
}
