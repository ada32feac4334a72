/* Which lane of disk threads serves whose blocks: a filesystem that hangs holds all threads of its lane, so
 * each has one of its own.
 *
 * Guarantee: as long as open handles lie on at most LANES_MAX filesystems, no two filesystems share a lane;
 * then the lane with the fewest handles is shared, which is counted. What needs no filesystem has
 * LANE_OF_NONE to itself. No IO, no clock. */
#pragma once

#include <stdint.h>

#define LANES_MAX    4
#define LANE_OF_NONE LANES_MAX

struct lanes {
    uint64_t devices[LANES_MAX]; /* of whom it was last; 0: of nobody yet */
    uint32_t handles[LANES_MAX]; /* open now */
    uint64_t shared;             /* handles that found no lane of their own */
};

/* The lane of a handle just opened on that device (st_dev); 0: on none. */
uint32_t lanes_join(struct lanes *lanes, uint64_t device);
/* The handle is closed. */
void lanes_leave(struct lanes *lanes, uint32_t lane);
