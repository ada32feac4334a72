/* Two tables of primitives that keep nobody out.
 *
 * insecure_primitives: handshakes run and sessions have names of their own, but packets go in the clear with tags of zeros:
 * for benchmarks, and for networks that are closed by other means.
 * sizes_primitives: cheap tags in place of real ones, which tell what was changed, was sealed for another session or under
 * another number: for simulations and tests, in which lengths, order and refusals are to be those of the real ones. */
#pragma once

#include "seal/noise.h"

extern const struct primitives insecure_primitives;
extern const struct primitives sizes_primitives;

/* A pair of keys that everybody can make, for nodes of a world that has no secrets, by any primitives. */
void insecure_key_pair(const struct primitives *primitives, const char *name, struct key_pair *pair);
