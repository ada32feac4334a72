/* The cheapest tree under prices of rows, and what no tree can cost less than.
 *
 * Where every host is a receiver both are the minimum arborescence. Hosts that only relay make it the Steiner
 * problem: trees then come from arborescences over the receivers and some relays, of which those that lead
 * nowhere are cut off, and the least cost from Wong's dual ascent (Math. Programming 28, 1984). */
#pragma once

#include "planner/lp/rows.h"

struct pricing {
    const struct rows *rows;
    struct arena *arena; /* scratch on top of it, given back */
    double *price;       /* of the net's rows; zeroes between calls */
    double *weight;      /* [from * count + to] */
    uint32_t *dead;      /* edges that carry nothing */
    uint32_t dead_count;
    bool *wanted; /* [count]: source and receivers */
    bool relays;  /* there are hosts that only relay */
};

size_t pricing_bytes(uint16_t count, uint16_t shared_count); /* of arena, to stay */
size_t pricing_scratch_bytes(uint16_t count);                /* of arena, during calls */
void pricing_init(struct pricing *pricing, const struct rows *rows, struct arena *arena);

/* Prices of the simplex' rows, >= 0; of a row that is named twice the sum. */
struct pricing_list {
    uint32_t count;
    const uint32_t *row;
    const double *price;
    const double *besides; /* of all rows, added to these; NULL: nothing */
};

struct pricing_answer {
    double cost;  /* of the tree */
    double least; /* no tree costs less; below 0 or 0: nothing is known */
};

/* How long to look where it is the Steiner problem; `least` is known from PRICING_THOROUGH on. */
enum pricing_effort { PRICING_QUICK = 0, PRICING_THOROUGH, PRICING_EXACT };

/* False: no tree reaches all receivers. */
bool pricing_tree(struct pricing *pricing, const struct pricing_list *list, enum pricing_effort effort,
                  uint16_t *parent, struct pricing_answer *answer);
/* With the same price on every limited row: a tree to begin with. */
bool pricing_first(struct pricing *pricing, uint16_t *parent);
