/* Datagrams that a node drops before it knows anything of them: initiations of which nothing opens. */
#pragma once

#include <stdbool.h>

#include "seal/primitives.h"

#define REFUSED_BURST 32

/* A node with some peers, and keys. */
void refused_begin(const struct primitives *primitives);
void refused_end(void);
/* Where those of the bursts come from, and whether a key of the roster seems to have made them. */
void refused_set(bool known_address, bool right_mac);
/* One through node_rx. */
void refused_burst(void);
