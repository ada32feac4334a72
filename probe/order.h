/* Which pairs of N nodes are still worth a train, where the measurement is for a plan: trees need of each
 * receiver the paths into it that are widest, and how wide those are; of the others only that they are not
 * among them.
 *
 * The rule, for each receiver and the paths into it. The bar is the `keep`-th greatest low end among them.
 * A path
 *   is OPEN     while its interval is wider than coarse_bps on either side: even the order of paths is not known then;
 *   else OUT    once its high end lies below the bar: `keep` others are certainly wider;
 *   else SURE   once its interval is no wider than fine_bps on either side, or "at least" what its ends' ports can do;
 *   else OPEN.
 * As intervals hold the truth, none of the `keep` widest is ever OUT, so a tree that takes of each receiver
 * one of these is planned as if all had been measured to fine_bps. Bars only rise while intervals shrink:
 * what is OUT need not be looked at again but when a path changes.
 *
 * The value of a train: of an OPEN path the part of its interval that lies above the bar, all of it while
 * it is coarse; trains cost the same, so what is greatest is worth most per byte.
 *
 * No IO, no allocation; times are the caller's, of one clock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "probe/known.h"
#include "probe/rotation.h"

struct order_goal {
    uint16_t node_count; /* to ROTATION_NODES_MAX */
    uint16_t keep;       /* paths into each receiver that a plan may choose among: as many as trees; > 0 */
    uint64_t coarse_bps, fine_bps; /* half of an interval */
    uint64_t port_bps;             /* more than that no path has use for */
    double drift_bps;              /* per square root of a second (known.h); 0: known.h's own */
};

enum order_state { ORDER_OPEN, ORDER_OUT, ORDER_SURE };

struct order {
    struct order_goal goal;
    struct known *known; /* [from * node_count + to], the caller's */
    uint64_t now_ns;
    uint64_t bar_bps[ROTATION_NODES_MAX]; /* of each receiver, as of now_ns */
};

/* Nothing is known of any pair. `known` has node_count^2 places and outlives the order. */
void order_init(struct order *order, const struct order_goal *goal, struct known *known);
void order_take(struct order *order, uint16_t from, uint16_t to, const struct estimate *estimate,
                uint64_t at_ns);
/* Sets the bars by what is known now: what the next three say holds as of then. */
void order_look(struct order *order, uint64_t now_ns);
enum order_state order_state(const struct order *order, uint16_t from, uint16_t to);
/* Bits: to whom a train from there is worth its bytes. For rotation_want. */
uint64_t order_wanted(const struct order *order, uint16_t from);
/* The pair whose train is worth most. False: nothing is open. */
bool order_next(const struct order *order, uint16_t *from, uint16_t *to);
