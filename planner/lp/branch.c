#include "planner/lp/branch.h"

#include <string.h>

#define NONE       UINT16_MAX
#define NO_CHEAPER (1 - 1e-10) /* of the cheapest: what costs at least that is not worth a turn */

enum choice { OPEN = 0, INSIDE, OUTSIDE };

struct search {
    const struct steiner_task *task;
    struct arena *arena;
    uint8_t *choice; /* of hosts that only relay */
    double *weight;  /* under these choices */
    bool *wanted;
    uint16_t *parent; /* of the tree tried */
    uint16_t *best;   /* the caller's */
    double cost;      /* of the best */
    uint32_t turns_left;
};

size_t branch_bytes(uint16_t count)
{
    return arena_need(count) + arena_need((size_t)count * count * sizeof(double)) +
           arena_need(count * sizeof(bool)) + arena_need(count * sizeof(uint16_t)) + steiner_bytes(count);
}

static void apply_choices(struct search *search)
{
    const struct steiner_task *task = search->task;
    uint16_t count = task->count;
    memcpy(search->weight, task->weight, (size_t)count * count * sizeof(double));
    for (uint16_t host = 0; host < count; host++) {
        search->wanted[host] = task->wanted[host] || search->choice[host] == INSIDE;
        for (uint16_t other = 0; other < count && search->choice[host] == OUTSIDE; other++)
            search->weight[(size_t)host * count + other] = search->weight[(size_t)other * count + host] =
                ARBORESCENCE_NO_EDGE;
    }
}

/* The relay to decide on: of those in the tree the one with most children, else any. */
static uint16_t open_relay(const struct search *search)
{
    const struct steiner_task *task = search->task;
    uint16_t best = NONE, most = 0;
    for (uint16_t host = 0; host < task->count; host++) {
        uint16_t children = 0;
        if (task->wanted[host] || search->choice[host] != OPEN)
            continue;
        for (uint16_t below = 0; below < task->count; below++)
            children += search->parent[below] == host;
        if (best == NONE || children > most) {
            best = host;
            most = children;
        }
    }
    return best;
}

/* What no tree under the choices made costs less than. */
static double search_below(struct search *search)
{
    struct steiner_task task = *search->task;
    double cost;
    apply_choices(search);
    task.weight = search->weight;
    task.wanted = search->wanted;
    double least = steiner_least(&task, search->arena);
    if (least >= search->cost * NO_CHEAPER || search->turns_left == 0)
        return least;
    search->turns_left--;
    if (!steiner_tree(&task, false, search->arena, search->parent, &cost))
        return ARBORESCENCE_NO_EDGE;
    if (cost < search->cost) {
        search->cost = cost;
        memcpy(search->best, search->parent, task.count * sizeof(uint16_t));
    }
    uint16_t relay = open_relay(search);
    if (relay == NONE)
        return cost;
    search->choice[relay] = INSIDE;
    double inside = search_below(search);
    search->choice[relay] = OUTSIDE;
    double outside = search_below(search);
    search->choice[relay] = OPEN;
    double below = inside < outside ? inside : outside;
    return below > least ? below : least;
}

double branch_least(const struct steiner_task *task, uint32_t turns_max, struct arena *arena,
                    uint16_t *parent, double *cost)
{
    size_t used = arena->used;
    struct search search = {
        .task = task, .arena = arena, .best = parent, .cost = *cost, .turns_left = turns_max};
    search.choice = arena_alloc(arena, task->count);
    search.weight = arena_alloc(arena, (size_t)task->count * task->count * sizeof(double));
    search.wanted = arena_alloc(arena, task->count * sizeof(bool));
    search.parent = arena_alloc(arena, task->count * sizeof(uint16_t));
    memset(search.choice, OPEN, task->count);
    double least = search_below(&search);
    *cost = search.cost;
    arena->used = used;
    return least < search.cost ? least : search.cost;
}
