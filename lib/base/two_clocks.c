/* See two_clocks.h. */
#include "base/two_clocks.h"

#include "base/units.h"

#define MARGIN_NS       50000LL /* what hosts take now and then */
#define STEP_TURNS      3       /* exchanges: acks under way at the step tell of packets before it */
#define FAR_JITTERS     2       /* a step is so far beyond jitter … */
#define CERTAIN_JITTERS 8       /* … or so far that torn packets need not show it */
#define LATE_JITTERS    2 /* so much later may come what still shows both sides of it, and the ack that tells */
#define SWING_SEEN_MIN  64 /* exchanges, until the usual is known */
#define SWINGS          4  /* a step is so much more than what the way back usually differs by */
#define HALF_SEEN_MIN   8  /* that the least of a half says something of the way, beside jitter */
#define SEEN_HOLD_NS    (25 * NS_PER_S) /* a slope is believed for so long after the floor was seen last */
#define NEVER_SEEN      INT64_MAX
#define DRIFTED_MAX(ns) ((int64_t)((ns) / (1000000 / TWO_CLOCKS_DRIFT_PPM_MAX)))

void two_clocks_forget(struct two_clocks *clocks)
{
    *clocks = (struct two_clocks){.gained_ns = clocks->gained_ns};
}

/* Sums that a peer's times could let grow without end. */
static int64_t bounded(int64_t ns)
{
    return MAX(MIN(ns, TWO_CLOCKS_GAINED_NS_MAX), -TWO_CLOCKS_GAINED_NS_MAX);
}

static int64_t jitter_of(const struct two_clocks *clocks)
{
    return (int64_t)MAX(clocks->jitter_ns[0], clocks->jitter_ns[1]);
}

static const struct clock_sight *least_back(const struct two_clocks *clocks)
{
    return clocks->back[0].ns < clocks->back[1].ns ? &clocks->back[0] : &clocks->back[1];
}

/* What hosts and jitter may still add to the least of a window. */
static int64_t margin_of(const struct two_clocks *clocks)
{
    return MARGIN_NS + jitter_of(clocks) / 16;
}

static void measure_from(struct two_clocks *clocks)
{
    clocks->since.floor = clocks->floor;
    clocks->since.back = *least_back(clocks);
    clocks->since.lifted_ns = 0;
    clocks->since.known = true;
}

static void begin(struct two_clocks *clocks, const struct clock_exchange *exchange)
{
    uint64_t now_ns = exchange->now_ns;
    *clocks = (struct two_clocks){.known = true,
                                  .gained_ns = clocks->gained_ns,
                                  .floor = {exchange->out_ns - clocks->gained_ns, now_ns},
                                  .trip_ns = exchange->out_ns + exchange->back_ns,
                                  .trip_before_ns = exchange->out_ns + exchange->back_ns,
                                  .trip_fell_ns = now_ns,
                                  .back = {{exchange->back_ns, now_ns}, {NEVER_SEEN, now_ns}},
                                  .back_long_ns = {exchange->back_ns, NEVER_SEEN},
                                  .out_before_ns = exchange->out_ns,
                                  .newest_ns = {exchange->back_ns, exchange->back_ns},
                                  .half_start_ns = now_ns,
                                  .jitter_ns = {exchange->jump_ns, 0},
                                  .hold_start_ns = now_ns,
                                  .slid_ns = now_ns,
                                  .seen_ns = now_ns};
    measure_from(clocks);
}

static void note_step(struct two_clocks *clocks, int64_t step_ns, uint64_t now_ns)
{
    clocks->step_ns = step_ns;
    clocks->step_turns = STEP_TURNS;
    clocks->stepped_ns = now_ns;
}

/* What overtakes is late by jitter: packets that come then, and acks that tell of them, still show both sides. Those of a
 * step that is not far beyond jitter would add little to it. */
static void end_step(struct two_clocks *clocks, uint64_t now_ns)
{
    int64_t jitter_ns = jitter_of(clocks), step_ns = MAX(clocks->step_ns, -clocks->step_ns);
    uint64_t late_ns = step_ns > FAR_JITTERS * jitter_ns ? LATE_JITTERS * (uint64_t)jitter_ns : 0;
    clocks->step_turns -= clocks->step_turns > 0;
    if (clocks->step_turns == 0 && elapsed_ns(now_ns, clocks->stepped_ns) >= late_ns)
        clocks->step_ns = 0;
}

static bool alike(int64_t a_ns, int64_t b_ns)
{
    return a_ns > b_ns / 2 && a_ns <= b_ns + b_ns / 2;
}

/* More than the way back usually differs by from one exchange to the next. */
static bool unusual(const struct two_clocks *clocks, int64_t change_ns)
{
    return clocks->swing_seen >= SWING_SEEN_MIN && change_ns > SWINGS * (int64_t)clocks->swing_ns;
}

/* A far clock that jumps back shortens the way there at once, lengthens the way back by as much, and tears packets; the
 * ack that tells of these may be lost, or another one, so a change far beyond all jitter needs none. back_ns: B. */
static int64_t stepped_back_ns(const struct two_clocks *clocks, const struct clock_exchange *exchange,
                               int64_t back_ns)
{
    int64_t fall_ns = clocks->out_before_ns - exchange->out_ns, rise_ns = exchange->back_ns - back_ns;
    bool torn = alike((int64_t)exchange->jump_ns, fall_ns);
    int64_t far_ns = TWO_CLOCKS_COARSE_NS + (torn ? FAR_JITTERS : CERTAIN_JITTERS) * jitter_of(clocks);
    bool both = MIN(fall_ns, rise_ns) > far_ns && (torn || unusual(clocks, rise_ns));
    return both && alike(fall_ns, rise_ns) ? fall_ns : 0;
}

/* Where the own clock jumped just before, or the far one back, the way back was longer for a moment only and falls to
 * what it is known to be. So do queues there; but they tear no packets on the way there by about as much. */
static void look_for_hidden_step(struct two_clocks *clocks, const struct clock_exchange *exchange)
{
    int64_t noise_ns = TWO_CLOCKS_COARSE_NS + jitter_of(clocks);
    int64_t fall_ns = clocks->newest_ns[0] - exchange->back_ns;
    int64_t jump_ns = (int64_t)exchange->jump_ns;
    if (clocks->fell_turns > 0 && --clocks->fell_turns == 0)
        clocks->fell_ns = 0;
    bool falls = fall_ns > noise_ns && unusual(clocks, fall_ns);
    uint64_t swing_ns = (uint64_t)MAX(fall_ns, -fall_ns);
    clocks->swing_ns += swing_ns / 16;
    clocks->swing_ns -= clocks->swing_ns / 16;
    clocks->swing_seen += clocks->swing_seen < SWING_SEEN_MIN;
    if (falls) {
        clocks->fell_ns = fall_ns;
        clocks->fell_turns = STEP_TURNS;
    }
    if (clocks->fell_ns != 0 && jump_ns > noise_ns && alike(jump_ns, clocks->fell_ns))
        note_step(clocks, clocks->fell_ns, exchange->now_ns);
}

/* A clock that jumps ahead shortens the way back at once, and tears packets on the way there that left next to each
 * other. */
static void look_for_step(struct two_clocks *clocks, const struct clock_exchange *exchange, int64_t back_ns)
{
    end_step(clocks, exchange->now_ns);
    int64_t fall_ns = back_ns - exchange->back_ns;
    int64_t lost_ns = stepped_back_ns(clocks, exchange, back_ns);
    look_for_hidden_step(clocks, exchange);
    /* Where a path is new its jitter does that too: until T has stood for a while too little is known of it. A step back
     * needs what is known of the way back alone. */
    bool known = elapsed_ns(exchange->now_ns, clocks->trip_fell_ns) >= TWO_CLOCKS_HALF_NS;
    if (known && fall_ns > TWO_CLOCKS_COARSE_NS + jitter_of(clocks))
        note_step(clocks, fall_ns, exchange->now_ns);
    if (lost_ns > 0 && (known || unusual(clocks, lost_ns)))
        note_step(clocks, -lost_ns, exchange->now_ns);
}

/* What is kept for long begins anew: only the hold time before counts beside it. */
static void end_hold(struct two_clocks *clocks, uint64_t now_ns)
{
    if (elapsed_ns(now_ns, clocks->hold_start_ns) < TWO_CLOCKS_HOLD_NS)
        return;
    clocks->jitter_ns[1] = clocks->jitter_ns[0];
    clocks->jitter_ns[0] = 0;
    clocks->back_long_ns[1] = clocks->back_long_ns[0];
    clocks->back_long_ns[0] = NEVER_SEEN;
    clocks->hold_start_ns = now_ns;
}

static void note_jitter(struct two_clocks *clocks, const struct clock_exchange *exchange)
{
    if (clocks->step_ns == 0)
        clocks->jitter_ns[0] = MAX(clocks->jitter_ns[0], exchange->jump_ns);
}

/* back_ns: B as it was before. An exchange may be torn by a step: its way there was before, its way back after it. So no
 * way back counts for less than all were for long until it has come twice, once the usual is known, and two trips in
 * a row far below T are needed to tell that a way is shorter now, while the clocks are as they were. B would not do
 * for the former: where acks are few and jitter is much, most ways back that are as short as can be lie below it. */
static void note_trip(struct two_clocks *clocks, const struct clock_exchange *exchange, int64_t back_ns)
{
    int64_t least_ns = MIN(clocks->back_long_ns[0], clocks->back_long_ns[1]) - margin_of(clocks);
    bool usual = clocks->swing_seen >= SWING_SEEN_MIN;
    int64_t newest_ns = exchange->out_ns + (usual ? MAX(exchange->back_ns, least_ns) : exchange->back_ns);
    int64_t longer_ns = MAX(newest_ns, clocks->trip_before_ns);
    int64_t shorter_ns = MIN(newest_ns, clocks->trip_before_ns);
    int64_t far_ns = TWO_CLOCKS_COARSE_NS + jitter_of(clocks);
    int64_t before_ns = clocks->trip_ns;
    clocks->trip_before_ns = newest_ns;
    if (newest_ns >= before_ns - far_ns)
        clocks->trip_ns = MIN(before_ns, newest_ns);
    else if (longer_ns < before_ns - far_ns)
        clocks->trip_ns = MIN(shorter_ns, bounded(clocks->gained_ns + clocks->floor.ns + back_ns));
    if (clocks->trip_ns < before_ns - margin_of(clocks))
        clocks->trip_fell_ns = exchange->now_ns;
}

static int64_t slope_ppb(int64_t by_ns, uint64_t from_ns, uint64_t to_ns)
{
    int64_t span_us = (int64_t)MAX(elapsed_ns(to_ns, from_ns) / NS_PER_US, 1ULL);
    by_ns = MIN(by_ns, (int64_t)(10 * NS_PER_S));
    return MAX(by_ns, 0) * 1000000 / span_us;
}

/* What the slope is off by: the lesser of what the floor fell and what B rose by, both beyond the slope. */
static void measure_slope(struct two_clocks *clocks, uint64_t now_ns)
{
    const struct clock_sight *back = least_back(clocks), *floor = &clocks->floor;
    int64_t fell_ns = clocks->since.floor.ns - floor->ns, rose_ns = back->ns - clocks->since.back.ns;
    if (!clocks->since.known) {
        measure_from(clocks);
        return;
    }
    if (clocks->since.lifted_ns > margin_of(clocks)) {
        clocks->losing_ppb -= slope_ppb(clocks->since.lifted_ns, clocks->since.floor.at_ns, now_ns);
    } else if (fell_ns > margin_of(clocks)) {
        int64_t of_floor = slope_ppb(fell_ns, clocks->since.floor.at_ns, floor->at_ns);
        int64_t of_back = slope_ppb(rose_ns, clocks->since.back.at_ns, back->at_ns);
        clocks->losing_ppb += MIN(of_floor, of_back);
    } else {
        return;
    }
    clocks->losing_ppb = MAX(clocks->losing_ppb, 0);
    clocks->losing_ppb = MIN(clocks->losing_ppb, TWO_CLOCKS_DRIFT_PPM_MAX * 1000);
    measure_from(clocks);
}

static void slide(struct two_clocks *clocks, uint64_t half_ns, uint64_t now_ns)
{
    uint64_t passed_ns = MIN(elapsed_ns(now_ns, clocks->slid_ns), half_ns);
    clocks->slid_ns = now_ns;
    if (clocks->losing_ppb == 0 || elapsed_ns(now_ns, clocks->seen_ns) > SEEN_HOLD_NS)
        return;
    clocks->slid_rest += clocks->losing_ppb * (int64_t)passed_ns;
    int64_t slid_ns = clocks->slid_rest / (int64_t)NS_PER_S;
    clocks->slid_rest %= (int64_t)NS_PER_S;
    clocks->gained_ns -= slid_ns;
    clocks->back[0].ns += clocks->back[0].ns == NEVER_SEEN ? 0 : slid_ns;
    clocks->back[1].ns += clocks->back[1].ns == NEVER_SEEN ? 0 : slid_ns;
    clocks->since.back.ns += slid_ns;
}

/* The end of a half window: a way back that has become longer all at once. */
static void end_half(struct two_clocks *clocks, uint64_t half_ns, uint64_t now_ns)
{
    if (elapsed_ns(now_ns, clocks->half_start_ns) < half_ns)
        return;
    int64_t rise_ns = clocks->back[1].ns == NEVER_SEEN ? 0 : clocks->back[0].ns - clocks->back[1].ns;
    int64_t drifted_ns = DRIFTED_MAX(half_ns + elapsed_ns(now_ns, clocks->half_start_ns));
    if (clocks->half_seen >= HALF_SEEN_MIN &&
        rise_ns > TWO_CLOCKS_COARSE_NS + jitter_of(clocks) + drifted_ns) {
        clocks->trip_ns = bounded(clocks->trip_ns + rise_ns);
        clocks->since.back.ns = bounded(clocks->since.back.ns + rise_ns);
    }
    measure_slope(clocks, now_ns);
    clocks->back[1] = clocks->back[0];
    clocks->back[0].ns = NEVER_SEEN;
    clocks->half_start_ns = now_ns;
    clocks->half_seen = 0;
}

/* out that lies below the least possible: B is of a time before the far clock lost. Or before the own one jumped
 * ahead, which made the way back that much longer, and no slope does that. */
static void renew_back(struct two_clocks *clocks, const struct clock_exchange *exchange, int64_t below_ns,
                       bool settled)
{
    int64_t newest_ns = MIN(clocks->newest_ns[0], clocks->newest_ns[1]);
    int64_t rise_ns = MIN(exchange->back_ns, newest_ns) - least_back(clocks)->ns;
    clocks->back[0] = (struct clock_sight){exchange->back_ns, exchange->now_ns};
    clocks->back[1].ns = NEVER_SEEN;
    clocks->half_start_ns = exchange->now_ns;
    clocks->half_seen = 0;
    if (below_ns <= TWO_CLOCKS_COARSE_NS + jitter_of(clocks))
        return;
    clocks->since.known = false;
    if (rise_ns > TWO_CLOCKS_COARSE_NS + 2 * jitter_of(clocks) && settled)
        clocks->gained_ns -= rise_ns;
}

static void lift(struct two_clocks *clocks, const struct clock_exchange *exchange, int64_t back_ns,
                 uint64_t half_ns)
{
    int64_t least_ns = clocks->trip_ns - back_ns - margin_of(clocks);
    bool settled = elapsed_ns(exchange->now_ns, clocks->trip_fell_ns) >= half_ns;
    if (exchange->out_ns < least_ns) {
        renew_back(clocks, exchange, least_ns - exchange->out_ns, settled);
        return;
    }
    if (!settled)
        return;
    int64_t lift_ns = MAX(least_ns - clocks->floor.ns - clocks->gained_ns, 0);
    clocks->gained_ns += lift_ns;
    clocks->since.lifted_ns = bounded(clocks->since.lifted_ns + (clocks->losing_ppb > 0 ? lift_ns : 0));
}

void two_clocks_on_exchange(struct two_clocks *clocks, const struct clock_exchange *exchange)
{
    if (!clocks->known) {
        begin(clocks, exchange);
        return;
    }
    uint64_t half_ns = MAX(TWO_CLOCKS_HALF_NS, 2 * exchange->rtt_ns), now_ns = exchange->now_ns;
    slide(clocks, half_ns, now_ns);
    int64_t back_ns = least_back(clocks)->ns;
    look_for_step(clocks, exchange, back_ns);
    note_jitter(clocks, exchange);
    note_trip(clocks, exchange, back_ns);
    clocks->back_long_ns[0] = MIN(clocks->back_long_ns[0], exchange->back_ns);
    end_hold(clocks, now_ns);
    lift(clocks, exchange, back_ns, half_ns);
    clocks->gained_ns = bounded(clocks->gained_ns);
    int64_t out_ns = exchange->out_ns - clocks->gained_ns;
    if (out_ns < clocks->floor.ns)
        clocks->floor = (struct clock_sight){out_ns, now_ns};
    if (out_ns <= clocks->floor.ns + margin_of(clocks))
        clocks->seen_ns = now_ns;
    if (exchange->back_ns < clocks->back[0].ns)
        clocks->back[0] = (struct clock_sight){exchange->back_ns, now_ns};
    clocks->out_before_ns = exchange->out_ns;
    clocks->newest_ns[1] = clocks->newest_ns[0];
    clocks->newest_ns[0] = exchange->back_ns;
    clocks->half_seen++;
    end_half(clocks, half_ns, now_ns);
}

uint64_t two_clocks_doubt_ns(const struct two_clocks *clocks)
{
    if (!clocks->known)
        return 0;
    int64_t least_ns = clocks->trip_ns - least_back(clocks)->ns;
    return (uint64_t)MAX(clocks->gained_ns + clocks->floor.ns - least_ns, 0);
}
