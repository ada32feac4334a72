/* The table of primitives of simulations, tests and fuzzers: cheap tags in place of real ones, which tell what was changed,
 * was sealed for another session or under another number. Lengths, order and refusals are those of the real ones, and no
 * nonce may come twice (nonces.h). */
#pragma once

#include "seal/primitives.h"

extern const struct primitives sizes_primitives;
