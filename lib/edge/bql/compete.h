/* COMPETE: beside senders that fill the buffer the edge holds its own with CUBIC's window, until giving way
 * for a moment, twice, shows that they are gone. */
#pragma once

#include "edge/bql/move.h"
#include "edge/bql/path.h"
#include "edge/bql/round.h"
#include "edge/cubic_window.h"

/* Whether others have what this edge gives way to. Outlives the phase. */
struct bql_contest {
    uint64_t own_bps, own_most_bps; /* of all edges into the receiver's port: now, and the most of late */
    uint64_t own_most_now_bps, own_most_before_bps, own_most_from_ns;
    uint64_t since_ns;       /* since when the queue stays and the edge no longer gives way */
    uint64_t queue_ns;       /* how long it was then … */
    uint64_t given_bps;      /* … and what all edges had */
    uint64_t alike_until_ns; /* till then others are taken for edges as this one, who give way */
};

struct bql_compete {
    struct cubic_window window;
    uint64_t deaf_from_ns, deaf_queue_ns, deaf_least_ns; /* after losses: does the queue fall? */
    uint32_t deaf_events;                                /* so often in a row it did not */
    uint64_t empty_from_ns; /* since when there is no queue, or the last sample with one */
    uint64_t asked_ns; /* when it was last asked whether the others are alike, or the contest began … */
    uint64_t packets, lost; /* … and since then */
    uint64_t drain_due_ns, draining_ns, drain_queue_ns, drain_least_ns;
    uint64_t queue_peak_ns; /* longest queue since it last gave way */
    bool drain_fell;        /* the last one looked as if the others were gone */
};

/* Notes what all edges into the receiver's port have. */
void bql_contest_on_sample(struct bql_contest *contest, const struct bql_path *path,
                           const struct congestion_sample *sample);
/* The queue stays for max(1.5 s, 15 RTT), or three times that where what packets wait for their
 * predecessors is a quarter of it or more, although this edge keeps giving way, and the receiver's edges
 * together have less than 85 % of the most they had of late. A queue is long enough above min(2.5 q*, 30 ms
 * + 2 J), but not below 1.5 q* of that most and what packets wait for their predecessors. To be asked at
 * each sample. */
bool bql_contest_found(struct bql_contest *contest, const struct bql_path *path, const struct bql_view *view);
/* The others are gone. */
void bql_contest_over(struct bql_contest *contest);

/* The window begins with what the rate had in flight, or half of the most of late, but at most 16 times that. */
void bql_compete_begin(struct bql_compete *compete, const struct bql_contest *contest,
                       const struct bql_path *path, const struct bql_view *view, uint64_t rate_bps);
/* Gives way each max(10 s, 50 RTT), or from half of that on when the buffer overflows. Ends in TRACK when the others
 * are gone: the queue falls twice as if it were the edge's own, or there is none for
 * max(1 s, 10 RTT). */
struct bql_move bql_compete_step(struct bql_compete *compete, const struct bql_path *path,
                                 const struct bql_view *view, const struct congestion_sample *sample);
/* A round, marked: had packets marked. Ends in TRACK where more than 7.5 % beyond chance got lost, of 200 packets and
 * over max(2 s, 20 RTT), or however short where few packets make a round trip: CUBIC loses less, and edges as this one,
 * each of which competes with the others, more. The most of late is forgotten then, for it was had at their cost; for
 * a minute the queue of few packets is no contest while it is no longer than 1.5 q*. */
struct bql_move bql_compete_on_round(struct bql_compete *compete, struct bql_contest *contest,
                                     const struct bql_path *path, const struct bql_view *view,
                                     const struct bql_round *round, bool marked);
