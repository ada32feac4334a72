/* A link with all that its configuration needs, the loads included, in one piece of memory. */
#pragma once

#include <stddef.h>

#include "netem/link.h"

/* What netem_make takes; 0: nothing. packets_limit: of the longest queue counted in packets that the link
 * ever has; 0: none. */
size_t netem_memory_bytes(const struct netem_config *config, uint64_t packets_limit);
/* `memory`: of that size, aligned for any type, zeroed or not; it lives as long as the link
 * (link->memory). */
void netem_make(struct netem_link *link, const struct netem_config *config, uint64_t packets_limit,
                uint64_t seed, void *memory);
