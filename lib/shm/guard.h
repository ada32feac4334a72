/* Mappings of files that another user may cut short while this side reads them: SIGBUS.
 *
 * Guarantee: whoever touches what was cut off a watched mapping goes on, with zeros instead of what lay there, from
 * then on in the whole mapping; guard_cut says so for as long as the mapping is watched. SIGBUS anywhere else does
 * what it did before. The handler belongs to the process, and so does the table of what is watched; guard_watch and
 * guard_forget are for one thread at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define GUARD_MAPPINGS_MAX 32

/* False: too many are watched. */
bool guard_watch(const void *mapping, size_t bytes);
/* Before it is unmapped. What is not watched is let be. */
void guard_forget(const void *mapping);
/* Somebody touched what had been cut off. */
bool guard_cut(const void *mapping);
