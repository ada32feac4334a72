/* The table of primitives that keeps nobody out: handshakes run and sessions have names of their own, but packets go in the
 * clear with tags of zeros. For benchmarks, and for networks that are closed by other means. What simulations seal with is
 * sizes/sizes.h. */
#pragma once

#include "seal/noise.h"

extern const struct primitives insecure_primitives;

/* A pair of keys that everybody can make, for nodes of a world that has no secrets, by any primitives. */
void insecure_key_pair(const struct primitives *primitives, const char *name, struct key_pair *pair);
