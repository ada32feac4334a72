/* TRACK: the rate that keeps the queue at q*.
 *
 *     rate = C (1 + clamp((q* - q')/T, +-15 %)), falling up to 1/2 by (q* - q')/2.5 T
 *
 * q' is the queue to come: q + (bytes sent after the newest acked packet) / C - its age. T is the loop (loop_ns of
 * path.h): the RTT, and what packets and acks come later by jitter, over which C is measured too; and the queue, to q*.
 * With less several edges swing without end: fifty at 60 ms, who want 20 ms together, ever more. */
#pragma once

#include "edge/bql/move.h"
#include "edge/bql/path.h"

struct bql_track {
    uint32_t growth_ppm;  /* before the queue showed; 0: it stood for a whole RTT since */
    uint64_t busy_ns;     /* when the queue was last more than a little */
    uint64_t idle_ns;     /* … and when not */
    uint64_t plateau_bps; /* most that was delivered since the start found a queue; 0: settled */
};

/* settled: goes on as before; false (a start's end): looks from now on whether the queue is packets that wait. */
void bql_track_begin(struct bql_track *track, bool settled, uint64_t now_ns);
/* Ends when there was no queue for a whole RTT. */
struct bql_move bql_track_step(struct bql_track *track, struct bql_path *path, const struct bql_view *view,
                               uint64_t rate_bps);
