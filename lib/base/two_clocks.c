/* See two_clocks.h. */
#include "base/two_clocks.h"

#include "base/units.h"

#define MARGIN_NS       50000LL /* what hosts take now and then */
#define STEP_TURNS      3
#define NEVER_SEEN      INT64_MAX
#define DRIFTED_MAX(ns) ((int64_t)((ns) / (1000000 / TWO_CLOCKS_DRIFT_PPM_MAX)))

void two_clocks_forget(struct two_clocks *clocks)
{
    *clocks = (struct two_clocks){.gained_ns = clocks->gained_ns};
}

static int64_t jitter_of(const struct two_clocks *clocks)
{
    return (int64_t)MAX(clocks->jitter_ns[0], clocks->jitter_ns[1]);
}

/* What hosts and jitter may still add to the least of a window. */
static int64_t margin_of(const struct two_clocks *clocks)
{
    return MARGIN_NS + jitter_of(clocks) / 16;
}

static void begin(struct two_clocks *clocks, const struct clock_exchange *exchange)
{
    *clocks = (struct two_clocks){.known = true,
                                  .gained_ns = clocks->gained_ns,
                                  .floor_ns = exchange->out_ns - clocks->gained_ns,
                                  .trip_ns = exchange->out_ns + exchange->back_ns,
                                  .trip_before_ns = exchange->out_ns + exchange->back_ns,
                                  .trip_fell_ns = exchange->now_ns,
                                  .back_ns = {exchange->back_ns, NEVER_SEEN},
                                  .half_start_ns = exchange->now_ns,
                                  .jitter_ns = {exchange->jump_ns, 0},
                                  .jitter_start_ns = exchange->now_ns};
}

/* A clock that jumps ahead shortens the way back at once, and tears packets on the way there that left next to each
 * other. */
static void look_for_step(struct two_clocks *clocks, const struct clock_exchange *exchange, int64_t back_ns)
{
    if (clocks->step_turns > 0 && --clocks->step_turns == 0)
        clocks->step_ns = 0;
    int64_t fall_ns = back_ns - exchange->back_ns;
    if (fall_ns <= TWO_CLOCKS_COARSE_NS + jitter_of(clocks))
        return;
    clocks->step_ns = fall_ns;
    clocks->step_turns = STEP_TURNS;
}

static void note_jitter(struct two_clocks *clocks, const struct clock_exchange *exchange)
{
    if (clocks->step_ns != 0)
        return;
    if (elapsed_ns(exchange->now_ns, clocks->jitter_start_ns) >= TWO_CLOCKS_JITTER_HOLD_NS) {
        clocks->jitter_ns[1] = clocks->jitter_ns[0];
        clocks->jitter_ns[0] = 0;
        clocks->jitter_start_ns = exchange->now_ns;
    }
    clocks->jitter_ns[0] = MAX(clocks->jitter_ns[0], exchange->jump_ns);
}

/* back_ns: B as it was before. Two trips in a row far below T (one alone may be torn by a step: its way there was
 * before, its way back after it): a way is shorter now, while the clocks are as they were. */
static void note_trip(struct two_clocks *clocks, const struct clock_exchange *exchange, int64_t back_ns)
{
    int64_t newest_ns = exchange->out_ns + exchange->back_ns;
    int64_t longer_ns = MAX(newest_ns, clocks->trip_before_ns);
    int64_t far_ns = TWO_CLOCKS_COARSE_NS + jitter_of(clocks);
    int64_t before_ns = clocks->trip_ns;
    clocks->trip_before_ns = newest_ns;
    if (newest_ns >= before_ns - far_ns)
        clocks->trip_ns = MIN(before_ns, newest_ns);
    else if (longer_ns < before_ns - far_ns)
        clocks->trip_ns = MIN(longer_ns, clocks->gained_ns + clocks->floor_ns + back_ns);
    if (clocks->trip_ns < before_ns - margin_of(clocks))
        clocks->trip_fell_ns = exchange->now_ns;
}

/* The end of a half window: a way back that has become longer all at once. */
static void end_half(struct two_clocks *clocks, uint64_t half_ns, uint64_t now_ns)
{
    if (elapsed_ns(now_ns, clocks->half_start_ns) < half_ns)
        return;
    int64_t rise_ns = clocks->back_ns[1] == NEVER_SEEN ? 0 : clocks->back_ns[0] - clocks->back_ns[1];
    int64_t drifted_ns = DRIFTED_MAX(half_ns + elapsed_ns(now_ns, clocks->half_start_ns));
    if (rise_ns > TWO_CLOCKS_COARSE_NS + jitter_of(clocks) + drifted_ns)
        clocks->trip_ns += rise_ns;
    clocks->back_ns[1] = clocks->back_ns[0];
    clocks->back_ns[0] = NEVER_SEEN;
    clocks->half_start_ns = now_ns;
}

/* out that lies below the least possible: the own clock has jumped ahead since, or a way is shorter. */
static void lift(struct two_clocks *clocks, const struct clock_exchange *exchange, int64_t back_ns,
                 uint64_t half_ns)
{
    int64_t least_ns = clocks->trip_ns - back_ns;
    if (exchange->out_ns < least_ns - jitter_of(clocks) - TWO_CLOCKS_COARSE_NS) {
        clocks->back_ns[0] = exchange->back_ns;
        clocks->back_ns[1] = NEVER_SEEN;
        clocks->half_start_ns = exchange->now_ns;
        return;
    }
    if (elapsed_ns(exchange->now_ns, clocks->trip_fell_ns) < half_ns)
        return;
    least_ns = MIN(least_ns - margin_of(clocks), exchange->out_ns);
    clocks->gained_ns = MAX(clocks->gained_ns, least_ns - clocks->floor_ns);
}

void two_clocks_on_exchange(struct two_clocks *clocks, const struct clock_exchange *exchange)
{
    if (!clocks->known) {
        begin(clocks, exchange);
        return;
    }
    int64_t back_ns = MIN(clocks->back_ns[0], clocks->back_ns[1]);
    uint64_t half_ns = MAX(TWO_CLOCKS_HALF_NS, 2 * exchange->rtt_ns);
    look_for_step(clocks, exchange, back_ns);
    note_jitter(clocks, exchange);
    note_trip(clocks, exchange, back_ns);
    lift(clocks, exchange, back_ns, half_ns);
    clocks->floor_ns = MIN(clocks->floor_ns, exchange->out_ns - clocks->gained_ns);
    clocks->back_ns[0] = MIN(clocks->back_ns[0], exchange->back_ns);
    end_half(clocks, half_ns, exchange->now_ns);
}
