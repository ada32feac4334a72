#include "disk/lanes.h"

#include <stdbool.h>

#include "base/check.h"
#include "base/count.h"

/* A lane that is free, rather one that nobody has had yet: who had another may come back to it. Else the one
 * with the fewest handles. */
static uint32_t find_place(const struct lanes *lanes)
{
    uint32_t best = 0;
    for (uint32_t lane = 1; lane < LANES_MAX; lane++) {
        bool fewer = lanes->handles[lane] < lanes->handles[best];
        bool fresher = lanes->handles[lane] == 0 && lanes->devices[lane] == 0 && lanes->devices[best] != 0;
        if (fewer || fresher)
            best = lane;
    }
    return best;
}

uint32_t lanes_join(struct lanes *lanes, uint64_t device)
{
    if (device == 0)
        return LANE_OF_NONE;
    uint32_t lane = 0;
    while (lane < LANES_MAX && lanes->devices[lane] != device)
        lane++;
    if (lane == LANES_MAX) {
        lane = find_place(lanes);
        count_add(&lanes->shared, lanes->handles[lane] > 0);
        if (lanes->handles[lane] == 0)
            count_set(&lanes->devices[lane], device);
    }
    lanes->handles[lane]++;
    return lane;
}

void lanes_leave(struct lanes *lanes, uint32_t lane)
{
    if (lane == LANE_OF_NONE)
        return;
    CHECK(lanes->handles[lane] > 0);
    lanes->handles[lane]--;
}
