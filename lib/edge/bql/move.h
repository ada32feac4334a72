/* What the phases of bql hand upwards: data about what is to be done. Only bql.c does it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"

#define BQL_PPM            1000000ULL
#define BQL_RATE_MIN_BPS   16000ULL
#define BQL_RATE_MAX_BPS   1000000000000ULL
#define BQL_PARK_PPM       985000ULL
#define BQL_PLAIN_LOSS_PPM 100000 /* above what chance takes: few packets tell */

/* What each does and what ends it: head of bql.c. */
enum bql_phase { BQL_TRAIN, BQL_START, BQL_TRACK, BQL_CALM, BQL_PARK, BQL_REFRESH, BQL_COMPETE };

/* What a higher rate lost, and what it delivered. */
struct bql_loss {
    uint32_t loss_ppm;
    uint64_t delivered_bps;
    uint64_t packets; /* that tell; 0: many */
};

struct bql_move {
    uint64_t rate_bps; /* from now on; 0: as it is. Taken before the phase begins */
    bool enters;       /* a phase begins, or begins anew */
    enum bql_phase phase;
    bool unsure;          /* TRACK, CALM: a start ended without knowing what the path takes */
    bool waits;           /* CALM: the rate does not grow before what leaves from now on is acked */
    struct bql_loss loss; /* PARK: why */
};

static inline struct bql_move bql_stay(void)
{
    return (struct bql_move){.rate_bps = 0};
}

static inline struct bql_move bql_at_rate(uint64_t rate_bps)
{
    return (struct bql_move){.rate_bps = MAX(rate_bps, BQL_RATE_MIN_BPS)};
}

static inline struct bql_move bql_to_phase(enum bql_phase phase)
{
    return (struct bql_move){.enters = true, .phase = phase};
}

static inline struct bql_move bql_to_phase_at(enum bql_phase phase, uint64_t rate_bps)
{
    struct bql_move move = bql_at_rate(rate_bps);
    move.enters = true;
    move.phase = phase;
    return move;
}
