/* One side's handle. Positions here are the truth for their own side: what stands in the files is only told
 * to the other side, and read back from there by a successor after a kill. */
#pragma once

#include <limits.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "shm/guard.h"
#include "shm/layout.h"

struct shm_ring {
    struct shm_file *own;        /* read-write: this side produces here */
    const struct shm_file *peer; /* read-only: this side consumes here */
    uint64_t produced;
    uint64_t consumed;
    struct shm_ring_counters counters;
    int own_file;  /* open as long as the handle: it holds a planner's lock */
    int peer_file; /* the same, without a lock */
    int lock_file; /* of the node: it holds its lock */
    bool node;     /* this side made the files */
    ino_t down_inode;
    dev_t down_device;
    char path[PATH_MAX];
};

/* One of the files is shorter than its mapping, or was when somebody touched what was missing. */
static inline bool handle_cut(const struct shm_ring *ring)
{
    struct stat own, peer;
    return guard_cut(ring->own) || guard_cut(ring->peer) || fstat(ring->own_file, &own) != 0 ||
           own.st_size < SHM_FILE_BYTES || fstat(ring->peer_file, &peer) != 0 ||
           peer.st_size < SHM_FILE_BYTES;
}
