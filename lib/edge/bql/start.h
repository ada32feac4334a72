/* START: the rate doubles, or takes 0.95 of what the train told; each higher one is tried for about 0.3
 * RTT, longer where packets jitter (up to 0.8), and kept where deliveries grew with it. Where less than 95
 * % came while a queue of half of q* stands, and jitter makes the train worthless, the next is a quarter
 * higher only: others grow as well.
 *
 * The first is half of what the train told, and no more than what it had of the path (train.h): of edges
 * that start together each would else take the path for its own.
 *
 * Where packets overtake by more than 1/12 RTT the next is four times as high, for a trial takes two round
 * trips then; it is judged by what comes once its late packets come as well; much loss ends it at once
 * (PARK), not only a first one; and a queue ends the start only if it stays, and not while hardly anything
 * but a trial's late packets comes. Where they keep their order, jumps are that long, and the RTT is above
 * 200 ms, it is three times as high once the first trial was judged, but all else as ever (crowds forbid
 * it: of twenty newcomers half a second apart one took the path).
 *
 * Loss of over 10 % in a trial: PARK tells. A queue of up to twice what packets may wait (wait.h), in the
 * first trial eight times, for few packets show little of it, that is still there when what was sent at the
 * rate before has come may as well be packets that wait for their predecessors: where deliveries grew it
 * becomes part of the base; where they did not, TRACK falls by 15 % until deliveries are below 92 % of
 * their most, and what stays then does. p0 does not rise by what only the higher rate lost.
 *
 * A trial in which the application had nothing to send ends the start at half of the proven rate or more, as RFC 7661
 * halves what was not used. */
#pragma once

#include "edge/bql/move.h"
#include "edge/bql/path.h"
#include "edge/bql/train.h"

struct bql_start {
    uint64_t train_bps;      /* what the first train's dispersion says of the path */
    uint64_t proven_bps;     /* the path took it */
    uint64_t tried_bps;      /* on trial */
    uint64_t tried_ns;       /* how long it is */
    uint64_t raised_ns;      /* when the trial began */
    bool long_trip;          /* the round trip was long then: whether it is does not change under way */
    uint64_t delivered_bps;  /* meanwhile; 0: not known yet */
    uint64_t before_bps;     /* delivered before; 0: the first trial */
    bool grown;              /* deliveries grew with the rate */
    bool fell_short;         /* … but by less than was sent, and there is a queue: the path may be full */
    uint64_t short_ns;       /* when there was last no long queue */
    uint64_t acked, lost;    /* packets since then */
    uint64_t chance_packets; /* fates known so far: what was lost of them was lost by chance */
};

/* The first trial. */
struct bql_move bql_start_begin(struct bql_start *start, const struct bql_path *path,
                                struct bql_train_verdict verdict);
/* Goes on at rate_bps: what was lost turned out to be chance. delivered_bps: at the rate that lost it. */
void bql_start_resume(struct bql_start *start, uint64_t rate_bps, uint64_t delivered_bps, uint64_t now_ns);
/* Counts the fates that a sample tells of. */
void bql_start_on_sample(struct bql_start *start, const struct bql_path *path,
                         const struct congestion_sample *sample);
/* Judges the trial under way and begins the next one, or ends the start. */
struct bql_move bql_start_step(struct bql_start *start, struct bql_path *path, const struct bql_view *view);
