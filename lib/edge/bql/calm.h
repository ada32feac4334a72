/* CALM: there is hardly a queue, so the path may take more than is known: the rate grows by 2.5 % (at most 10
 * ms of queue, or 2 q* where packets were marked), then 2.5 times as much each 1.125 RTT, at most 50 %. Ends
 * where a queue shows; where TRACK then finds it gone before it stood for a whole RTT, what showed was jitter's
 * chance, and growth goes on 2.5 times smaller. Where packets wait for their predecessors the base moves to what
 * comes each time that twice as much is delivered: closer together they wait longer. */
#pragma once

#include "edge/bql/move.h"
#include "edge/bql/park.h"
#include "edge/bql/path.h"
#include "edge/bql/round.h"

#define BQL_GROWTH_MAX_PPM 500000U

struct bql_calm {
    uint64_t raised_ns;   /* when the rate was last raised */
    uint64_t settled_bps; /* the rate at which what delays showed was last no queue */
    uint32_t growth_ppm;  /* of the next step */
};

/* raised_ns: the rate does not grow before what left then is acked. unsure: it grows in larger steps. target_ns:
 * q* where marks say how long a queue may be, TIME_NEVER where nothing does. */
void bql_calm_begin(struct bql_calm *calm, uint64_t raised_ns, bool unsure, uint64_t rtt_ns,
                    uint64_t target_ns);
/* What ended the last growth, by so much a step, was no queue. */
void bql_calm_resume(struct bql_calm *calm, uint32_t growth_ppm);
/* So much less comes than is sent that the path does not take it, however much of it chance may lose. */
bool bql_calm_overshoots(const struct bql_path *path, uint64_t rate_bps);
/* Raises the rate, now and then. */
struct bql_move bql_calm_step(struct bql_calm *calm, const struct bql_ceiling *ceiling,
                              struct bql_rounds *rounds, struct bql_path *path, const struct bql_view *view,
                              uint64_t rate_bps);
