/* Groups: at first every host is one. A circle of groups is merged into a new group, which takes the row and
 * the column of the circle's first one; the others' lie dead. */
#include "planner/lp/arborescence.h"

#include <string.h>

#define NONE UINT16_MAX

struct entry {
    uint16_t from, to; /* hosts, by their place among those that are spanned */
};

struct search {
    uint16_t count;       /* hosts spanned; the source is 0 */
    uint16_t group_count; /* made so far */
    uint16_t live_count;
    uint16_t depth;        /* of the path */
    double *weight;        /* [to * count + from], between rows that live */
    struct entry *entry;   /* of these weights: the edge between hosts that it stands for */
    uint16_t *live;        /* rows, ascending */
    uint16_t *group;       /* of a row */
    uint16_t *path;        /* rows, each entered from the next */
    uint16_t *place;       /* of a row on the path; NONE: not on it */
    bool *done;            /* row: it is entered, and so are those it is entered from */
    double *taken;         /* row on the path: weight of the edge that enters it */
    uint16_t *outer;       /* of a group: the one it was merged into */
    struct entry *entered; /* of a group: the edge that enters it */
    uint16_t *hosts;       /* their indexes */
};

size_t arborescence_bytes(uint16_t count)
{
    size_t square = (size_t)count * count;
    return arena_need(square * sizeof(double)) + arena_need(square * sizeof(struct entry)) +
           5 * arena_need(count * sizeof(uint16_t)) + arena_need(count * sizeof(bool)) +
           arena_need(count * sizeof(double)) + arena_need(2 * count * sizeof(uint16_t)) +
           arena_need(2 * count * sizeof(struct entry));
}

static void allocate(struct search *search, uint16_t count, struct arena *arena)
{
    size_t square = (size_t)count * count;
    search->weight = arena_alloc(arena, square * sizeof(double));
    search->entry = arena_alloc(arena, square * sizeof(struct entry));
    search->live = arena_alloc(arena, count * sizeof(uint16_t));
    search->group = arena_alloc(arena, count * sizeof(uint16_t));
    search->path = arena_alloc(arena, count * sizeof(uint16_t));
    search->place = arena_alloc(arena, count * sizeof(uint16_t));
    search->hosts = arena_alloc(arena, count * sizeof(uint16_t));
    search->done = arena_alloc(arena, count * sizeof(bool));
    search->taken = arena_alloc(arena, count * sizeof(double));
    search->outer = arena_alloc(arena, 2 * count * sizeof(uint16_t));
    search->entered = arena_alloc(arena, 2 * count * sizeof(struct entry));
}

static void list_hosts(struct search *search, const struct arborescence_task *task)
{
    search->hosts[0] = task->source;
    search->count = 1;
    for (uint16_t host = 0; host < task->count; host++)
        if (task->spanned[host] && host != task->source)
            search->hosts[search->count++] = host;
}

static void copy_weights(struct search *search, const struct arborescence_task *task)
{
    for (uint16_t to = 0; to < search->count; to++)
        for (uint16_t from = 0; from < search->count; from++) {
            size_t at = (size_t)to * search->count + from;
            search->weight[at] = task->weight[(size_t)search->hosts[from] * task->count + search->hosts[to]];
            search->entry[at] = (struct entry){from, to};
        }
}

static void begin(struct search *search, const struct arborescence_task *task, struct arena *arena)
{
    allocate(search, task->count, arena);
    list_hosts(search, task);
    copy_weights(search, task);
    search->group_count = search->live_count = search->count;
    search->depth = 0;
    for (uint16_t row = 0; row < search->count; row++) {
        search->live[row] = search->group[row] = row;
        search->place[row] = NONE;
        search->done[row] = row == 0;
    }
    memset(search->outer, 0xff, 2 * search->count * sizeof(uint16_t));
}

/* The row whose edge into this one is cheapest; NONE: there is none. */
static uint16_t cheapest_into(const struct search *search, uint16_t row)
{
    const double *weights = search->weight + (size_t)row * search->count;
    double least = ARBORESCENCE_NO_EDGE;
    uint16_t best = NONE;
    for (uint16_t index = 0; index < search->live_count; index++) {
        uint16_t from = search->live[index];
        if (weights[from] < least && from != row) {
            least = weights[from];
            best = from;
        }
    }
    return best;
}

/* Edges into the circle: what it costs more to enter a member by them than by the circle's own edge. */
static void merge_into(struct search *search, uint16_t keep, uint16_t from, const uint16_t *circle,
                       uint16_t length)
{
    size_t count = search->count, at = keep * count + from;
    double least = ARBORESCENCE_NO_EDGE;
    struct entry entry = {NONE, NONE};
    for (uint16_t index = 0; index < length; index++) {
        size_t member = circle[index] * count + from;
        double more = search->weight[member];
        if (more >= ARBORESCENCE_NO_EDGE)
            continue;
        more -= search->taken[circle[index]];
        if (more < least) {
            least = more;
            entry = search->entry[member];
        }
    }
    search->weight[at] = least;
    search->entry[at] = entry;
}

static void merge_out_of(struct search *search, uint16_t keep, uint16_t to, const uint16_t *circle,
                         uint16_t length)
{
    size_t row = (size_t)to * search->count, best = row + keep;
    for (uint16_t index = 0; index < length; index++)
        if (search->weight[row + circle[index]] < search->weight[best])
            best = row + circle[index];
    search->weight[row + keep] = search->weight[best];
    search->entry[row + keep] = search->entry[best];
}

/* The path from place `start` on has closed to a circle. */
static void merge(struct search *search, uint16_t start)
{
    const uint16_t *circle = search->path + start;
    uint16_t length = (uint16_t)(search->depth - start), keep = circle[0], left = 0;
    uint16_t made = search->group_count++;
    for (uint16_t index = 0; index < length; index++)
        search->outer[search->group[circle[index]]] = made;
    for (uint16_t index = 0; index < search->live_count; index++) {
        uint16_t row = search->live[index];
        bool member = search->place[row] != NONE && search->place[row] >= start;
        if (!member)
            merge_into(search, keep, row, circle, length);
        if (!member && !search->done[row])
            merge_out_of(search, keep, row, circle, length);
        if (!member || row == keep)
            search->live[left++] = row;
    }
    search->live_count = left;
    search->group[keep] = made;
    search->depth = (uint16_t)(start + 1);
}

/* Enters the row, and what it is entered from, until that is done. False: nothing leads there. */
static bool enter_row(struct search *search, uint16_t row)
{
    search->path[0] = row;
    search->place[row] = 0;
    search->depth = 1;
    for (;;) {
        uint16_t head = search->path[search->depth - 1];
        uint16_t from = cheapest_into(search, head);
        if (from == NONE)
            return false;
        size_t at = (size_t)head * search->count + from;
        search->taken[head] = search->weight[at];
        search->entered[search->group[head]] = search->entry[at];
        if (search->done[from])
            break;
        if (search->place[from] != NONE) {
            merge(search, search->place[from]);
            continue;
        }
        search->place[from] = search->depth;
        search->path[search->depth++] = from;
    }
    for (uint16_t index = 0; index < search->depth; index++) {
        search->done[search->path[index]] = true;
        search->place[search->path[index]] = NONE;
    }
    return true;
}

/* Latest groups first: the edge that enters a group replaces that of the member it ends in. */
static void unfold(struct search *search)
{
    for (uint16_t group = search->group_count; group-- > search->count;) {
        uint16_t member = search->entered[group].to;
        while (search->outer[member] != group)
            member = search->outer[member];
        search->entered[member] = search->entered[group];
    }
}

bool arborescence(const struct arborescence_task *task, struct arena *arena, uint16_t *parent, double *cost)
{
    struct search search;
    size_t used = arena->used;
    begin(&search, task, arena);
    bool found = true;
    for (uint16_t row = 1; row < search.count && found; row++)
        /* A row that was merged into another is done with that one, which came earlier on a path. */
        if (!search.done[row] && search.outer[search.group[row]] == NONE)
            found = enter_row(&search, row);
    memset(parent, 0xff, task->count * sizeof(uint16_t));
    *cost = 0;
    if (found) {
        unfold(&search);
        for (uint16_t row = 1; row < search.count; row++) {
            uint16_t from = search.hosts[search.entered[row].from], to = search.hosts[row];
            parent[to] = from;
            *cost += task->weight[(size_t)from * task->count + to];
        }
    }
    arena->used = used;
    return found;
}
