/* One side's handle. Positions here are the truth for their own side: what stands in the files is only told
 * to the other side, and read back from there by a successor after a kill. */
#pragma once

#include <limits.h>
#include <sys/types.h>

#include "shm/layout.h"

struct shm_ring {
    struct shm_file *own;        /* read-write: this side produces here */
    const struct shm_file *peer; /* read-only: this side consumes here */
    uint64_t produced;
    uint64_t consumed;
    struct shm_ring_counters counters;
    int own_file; /* open as long as the handle: it holds the lock */
    bool node;    /* this side made the files */
    ino_t down_inode;
    dev_t down_device;
    char path[PATH_MAX];
};
