/* What packets to and fro say of the clocks of two hosts, which nobody sets alike.
 *
 *     out    far clock at receipt - own clock at departure  =  way there + the far clock's lead
 *     back   own clock at receipt - far clock at departure  =  way back - the far clock's lead
 *     trip   out + back, taken one soon after the other     =  both ways, whatever the clocks show
 *
 * T is the least trip: the empty path, as far as no way back in it was less than all were for long before (one that was may
 * have left after a step that its way there was before). B is the least back of late (a window of TWO_CLOCKS_HALF_NS or two RTTs, at
 * most twice that): the way back less the lead of now. Then T - B is what `out` would be now without a queue on
 * the way there, or less, where there was one on the way back all the time. By so much as it exceeds the least
 * `out` seen so far the far clock has gained:
 *
 *     gained  grows until  gained + floor >= min(T - B - margin, out)
 *     floor   = least of (out - gained)
 *
 * so `out - gained` is a delay that clocks which drift apart, or jump ahead, do not lengthen: what it is longer
 * than the floor is a queue. A clock that gains takes no slope, hence nothing to settle. T counts when it has stood
 * for half a window; steps are looked for once it has stood for TWO_CLOCKS_HALF_NS, as jitter of a new path does the same,
 * and before that where a clock jumps back by far more than the way back usually differs by.
 *
 * A far clock that loses hides as much of a queue, until the way there is empty for a moment and the floor falls;
 * B has risen meanwhile, but so it does where a queue grows on the way back. What both have moved by is a slope, by
 * which `gained` falls from then on, as long as the floor is seen now and then; what it lifts again takes it back.
 * two_clocks_doubt_ns says how much may be hidden: whoever can empty the way there should do so.
 *
 * When a way's length changes for good:
 *     back longer   all of B's new half window, and no few exchanges, lie above the half before by more than a clock
 *                   drifts: T rises too
 *     any shorter   trips fall below T by much: T is what leaves gained + floor as they were
 *     there longer  T - B - margin is merely too careful, by that much
 *
 * All in ns; out and back on any constant origin, the same for both (trip is a true time). Thread: one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TWO_CLOCKS_HALF_NS       500000000ULL
#define TWO_CLOCKS_DRIFT_PPM_MAX 1000      /* crystals: 100 each; a clock that is being set right: 500 more */
#define TWO_CLOCKS_COARSE_NS     1000000LL /* beyond jitter: no drift of a moment, and no noise of a host */
#define TWO_CLOCKS_HOLD_NS       30000000000ULL
#define TWO_CLOCKS_TIME_NS_MAX   (INT64_MAX / 16)
#define TWO_CLOCKS_GAINED_NS_MAX (INT64_MAX / 8)

/* A least value and when it was seen. */
struct clock_sight {
    int64_t ns;
    uint64_t at_ns;
};

struct two_clocks {
    bool known; /* there was an exchange */
    int64_t gained_ns;
    struct clock_sight floor;
    int64_t trip_ns;            /* T */
    int64_t trip_before_ns;     /* of the newest exchange, as T would take it */
    uint64_t trip_fell_ns;      /* when T last became less by more than the margin: it may fall on */
    struct clock_sight back[2]; /* least of this half window, and of the one before */
    int64_t out_before_ns;      /* out, of the newest exchange */
    int64_t newest_ns[2];       /* back, of the newest two */
    uint64_t half_start_ns;
    uint32_t half_seen;      /* exchanges of this half */
    uint64_t jitter_ns[2];   /* peaks of this hold time and the one before */
    int64_t back_long_ns[2]; /* least of back, likewise */
    uint64_t hold_start_ns;
    int64_t losing_ppb; /* the far clock, by what it was seen to lose … */
    int64_t slid_rest;  /* … ppb x ns not yet in gained_ns */
    uint64_t slid_ns;   /* own time of the newest exchange */
    uint64_t seen_ns;   /* when `out` was last at the floor, nearly */
    struct {
        bool known;
        struct clock_sight floor, back; /* as they would be now, if the slope were right */
        int64_t lifted_ns;              /* … in spite of it */
    } since;                            /* what the slope is measured from */
    int64_t step_ns;     /* so far the far clock has just jumped ahead, or back (< 0); 0: it has not */
    uint32_t step_turns; /* so many more exchanges at least may still show both sides of it */
    uint64_t stepped_ns; /* when it was seen */
    int64_t fell_ns;     /* so far the way back has just become shorter; 0: it has not */
    uint64_t swing_ns;   /* mean of what the way back differs by from one exchange to the next … */
    uint32_t swing_seen; /* … of so many */
    uint32_t fell_turns; /* … within so many more exchanges */
};

/* An ack: it tells how long the packets before it took, and took that long itself. |out| and |back| are at most
 * TWO_CLOCKS_TIME_NS_MAX. */
struct clock_exchange {
    int64_t out_ns, back_ns;
    uint64_t jump_ns; /* what neighbours on the way there differed by */
    uint64_t rtt_ns;
    uint64_t now_ns; /* own clock */
};

/* Nothing is known of the far clock. What was gained so far is kept: delays go on from there. */
void two_clocks_forget(struct two_clocks *clocks);
/* An ack came that tells of new packets. Whatever a peer makes up, |gained| stays within TWO_CLOCKS_GAINED_NS_MAX. */
void two_clocks_on_exchange(struct two_clocks *clocks, const struct clock_exchange *exchange);

/* What the far clock has gained since the first exchange, as far as it shows. */
static inline int64_t two_clocks_gained_ns(const struct two_clocks *clocks)
{
    return clocks->gained_ns;
}

/* A queue may be so much longer than it looks, because the far clock loses; or the way back has that queue. */
uint64_t two_clocks_doubt_ns(const struct two_clocks *clocks);

/* The far clock has just jumped: what of late was told by differences of its times tells of that. */
static inline bool two_clocks_stepped(const struct two_clocks *clocks)
{
    return clocks->step_ns != 0;
}
