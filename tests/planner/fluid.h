/* What a plan is worth that was made of mismeasured rows: the same rows with noise, and the rates that a
 * forest carries on the true ones, as a fluid. */
#pragma once

#include "planner/tree/choose.h"

size_t fluid_bytes(const struct net *net); /* of arena, for a noisy copy and what the rates need */
/* `noisy` is `net` but for rows: the capacity of each that has one is multiplied by 1 + share * z, z
 * near normal (mean 0, deviation 1). */
void fluid_noise(const struct net *net, double share, uint64_t seed, struct net *noisy, struct arena *arena);
/* What the slowest receiver gets, bit/s on the wire, of a choice made for `noisy`, on `net`.
 *
 * Rates grow in the proportions that were planned until rows are full: the source hands out blocks by the
 * trees' weights, so a tree cannot be ahead of the others for long, and senders share their uplinks by
 * planned rates. Below the first full row everything fits, so max-min shares, by which demand is capped, give
 * the same; above it the trees' common rate is stopped for all of them. A host with a pace of its own goes on
 * until a row of its own is full, or until it gets what its parents get. */
double fluid_rate(const struct net *net, const struct choice *choice, struct arena *arena);
