/* A forest while it is being built or changed: who hangs where, and what is taken of each row. Adding and
 * taking away an edge costs as much as the edge has rows.
 *
 * load[row] = sum over trees t and their edges e of weight[t] * scale[to of e] * a(row, e) / C(row), so
 * the forest carries period / max load. */
#pragma once

#include "planner/tree/shares.h"

struct booking {
    const struct task *task;
    const struct shares *shares;
    struct net_forest *forest; /* the trees' parents are kept here */
    double *load;              /* [shares->count] */
    double *scale;             /* [count] share of the rate that a host gets; 1 but for slow ones */
    uint16_t *children;        /* [trees * count] */
    uint16_t *distinct;        /* [count] */
    uint8_t *carried_by;       /* [edges] bit t: tree t has the edge */
};

size_t booking_bytes(uint16_t count, uint16_t shared_count);
void booking_init(struct booking *booking, const struct task *task, const struct shares *shares,
                  struct arena *arena);
/* The trees that the forest has are booked, with scales for this rate. */
void booking_open(struct booking *booking, struct net_forest *forest, double rate_bps);

void booking_add(struct booking *booking, unsigned tree, uint16_t from, uint16_t to);
void booking_remove(struct booking *booking, unsigned tree, uint16_t to);
/* Whether counts of children allow the edge; loads are not looked at. */
bool booking_allows(const struct booking *booking, unsigned tree, uint16_t from, uint16_t to);
/* Whether no row of the edge would be loaded above `limit`. */
bool booking_fits(const struct booking *booking, unsigned tree, uint16_t from, uint16_t to, double limit);
/* Whether `host` is `top` or hangs below it in the tree. */
bool booking_below(const struct booking *booking, unsigned tree, uint16_t host, uint16_t top);

double booking_load_max(const struct booking *booking);
