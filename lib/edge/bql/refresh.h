/* REFRESH: the base was not seen for max(10 s, 20 RTT), or there is doubt of it (doubt.h), or the rate was
 * for a fifth of that time below half of what it was then, under a queue that stays: half the rate for
 * max(RTT, 200 ms, 8 packets) or until it is. Where most packets are marked whatever the edge does (heed.h)
 * one comes early, and takes all its time. Doubt alone has a brief one: so much less is sent that the queue
 * runs dry if all of it is the edge's own, but hardly the path; what that did shows a round trip later, and
 * only where the base was not seen then the rate is halved.
 *
 * Edges that share a queue see it fall when one of them refreshes, and join when half of their time is up,
 * so that together they run it dry. An edge that comes to a queue takes it for a part of the way and adds
 * its own: until they have done this together it has more than its share, and the next one adds still more.
 * Hence, where what the path takes changes as it does among others, its first refresh comes after a
 * fortieth of the time, while it has so much that others notice, and each next one after twice the gap; and
 * others join after a quarter of the time. A long queue does not keep it from that, for so is the queue of
 * a crowd that has gone wrong; but where the peak is above 1.5 q* it joins none before half of the time is
 * up, for there others may be unlike itself, who fill the buffer. Early ones never count towards a renewal
 * of the base: the others' queue does not end for one alone. Where an edge was alone for long they wait two
 * loops: a path that has become slower looks the same, and the rate must follow that first. For the same
 * reason half the rate is half of C, as long as samples tell of packets that left before.
 *
 * Where an edge has taken a queue for packets that wait, one comes a tenth of that time later, thus 1 s or
 * 2 RTT, and takes all its own: an edge that comes just as others refresh may have taken their queue for
 * that, and most of the path.
 *
 * Where much seems to be lost by chance, a short one tries that (retest.h).
 *
 * Where the path seems to have become longer all at once (path_step.h) one comes as soon as C has shown no
 * others, by more than a quarter, for max(10 s, 20 RTT): beside others queues step as they come and go, and
 * edges that took them for the path would keep ever more. What C does while the step is open waits until it
 * closes, for that may be the step's own effect. What is left is the path's unless more than q* + J/4 went;
 * one look is enough then, and rate, C and jitter are those of before the step, while the least round trip is
 * learnt anew. That a queue grows is no objection: the path may have become slower as well. After a try in
 * vain that step is forgotten, and none opens for 20 times as long as the try took.
 *
 * Where packets wait for their predecessors the base rises to what is left when most of the queue has gone:
 * the least wait ever says little of the usual one, and edges would differ by it. Where most of it stays it
 * rises all the same, by what the jitter has grown since the last look (wait.h). What two refreshes in a
 * row see above the target replaces the base, unless half the rate made it shorter by a quarter of the
 * time: that was a queue of the edge's own. Where it stood still, as only a way does, it is above 1.5 times
 * the target of the rate at which the base was last seen that counts. */
#pragma once

#include "edge/bql/doubt.h"
#include "edge/bql/move.h"
#include "edge/bql/path.h"
#include "edge/bql/retest.h"
#include "edge/bql/round.h"

enum bql_refresh_why {
    BQL_REFRESH_NONE,
    BQL_REFRESH_NEEDED, /* it is time, marks or a starving rate ask, or a wait was supposed */
    BQL_REFRESH_EARLY,  /* less than half of the usual time after the last: others keep their queue */
    BQL_REFRESH_DOUBT,  /* the clock may hide a queue */
    BQL_REFRESH_CHANCE, /* only p0 is tried */
    BQL_REFRESH_STEP    /* the path seems to have become longer all at once (path_step.h) */
};

/* Outlives the phase: its verdict comes when what was sent meanwhile has come. */
struct bql_refresh {
    uint64_t start_ns;       /* of the newest one, 0: it has its verdict */
    uint64_t end_ns;         /* 0: there was none yet */
    int64_t before_owd_ns;   /* least of late when it began */
    int64_t least_owd_ns;    /* seen meanwhile */
    uint64_t before_bps;     /* rate to go back to */
    struct path_known known; /* before the path became longer, if that is on trial */
    uint64_t queue_ns;       /* when it began */
    /* C since it began or the base was seen, while a queue stood; 0: none did */
    uint64_t least_bps, most_bps;
    uint64_t fed_ns;   /* when the rate was last no less than half of the next, or the queue small */
    uint64_t seen_bps; /* rate when the base was last seen */
    uint64_t brief_ns; /* until then it sends less, then as before; 0: it is no brief one */
    bool halves;       /* the rate: what gets lost is compared with p0 */
    bool whole; /* it does not end where the base is seen: marks are on trial, or the base is supposed */
    struct bql_doubt doubt;
    struct bql_retest retest;
    uint64_t shared_ns;             /* when C last showed others, or the edge began */
    uint64_t begun_ns;              /* the edge; 0: not yet */
    uint64_t crowd_ns;              /* when C last showed others by more than jitter makes of it; 0: never */
    uint64_t early_from_ns;         /* C may show what the path itself has become, until then */
    enum bql_refresh_why next, why; /* of one that began now; of the newest */
    uint32_t count;                 /* NEEDED and EARLY ones: first gaps are short */
    uint32_t above; /* successive ones that never saw the queue below the target, early ones aside */
};

/* For max(10 s, 20 RTT) the edge was there, and C showed no others. */
bool bql_refresh_alone(const struct bql_refresh *refresh, const struct bql_path *path);
/* The same, but for what jitter makes of C where there is any. */
bool bql_refresh_is_uncrowded(const struct bql_refresh *refresh, const struct bql_path *path);
/* The base was not seen for twice the time after which it is looked for. */
bool bql_refresh_is_overdue(const struct bql_path *path);
/* Others turned out to fill the buffer: no step of the path is on trial any more, nor open. */
void bql_refresh_on_contest(struct bql_refresh *refresh, struct bql_path *path);
/* Whether it is time. To be asked at each sample. A step of the path that others may have made is none. */
bool bql_refresh_due(struct bql_refresh *refresh, struct bql_path *path, const struct bql_rounds *rounds,
                     const struct bql_view *view, uint64_t rate_bps);
/* Begins, at the rate returned. */
uint64_t bql_refresh_begin(struct bql_refresh *refresh, struct bql_path *path, const struct bql_view *view,
                           uint64_t rate_bps);
/* Ends when the base was seen, or time is up. */
struct bql_move bql_refresh_step(struct bql_refresh *refresh, const struct bql_path *path,
                                 const struct bql_view *view);
/* The verdict upon what a refresh saw, in whatever phase; lasts: it still goes on. Moves where the path has become
 * longer: to the rate of before. */
struct bql_move bql_refresh_judge(struct bql_refresh *refresh, struct bql_path *path,
                                  const struct bql_view *view, const struct congestion_sample *sample,
                                  bool lasts);
