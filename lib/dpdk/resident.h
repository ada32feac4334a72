/* What a worker would else be the first to touch: pages of the program's and its libraries' data, of the EAL's
 * memory and of the worker's stack, before it starts; regions that a memif link shares, once it is up. (The node's
 * memory and the pools are there as soon as they are taken: memory_take, port_open.)
 *
 * Reads /proc/self/maps. Threads: any; pages are made while others use them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RESIDENT_STACK_BYTES (128 << 10) /* of a worker: buffers of a turn, and what libraries put there */

enum resident_kind {
    RESIDENT_NONE,
    RESIDENT_DATA,  /* writable data of a file, what follows it of the same program or library, the heap */
    RESIDENT_MEMIF, /* a region of a memif link */
};

struct resident_range {
    enum resident_kind kind;
    uintptr_t first, end;
};

/* One line of /proc/self/maps; `before` is what the one before it was. */
struct resident_range resident_parse(const char *line, const struct resident_range *before);
/* Data, heap and EAL memory. After ports were opened and before the worker runs. */
void resident_process(void);
/* The calling thread's stack. */
void resident_stack(void);
/* Regions of all memif links that are up. A few ms for the first time, then some 50 us. */
void resident_memif(void);
