/* A path that becomes longer all at once: its least delay steps up, by more than a queue grows in the time, and
 * stays there. A reroute looks like that; a queue grows over round trips, and goes on moving.
 *
 *     before    least of the newest few acks; where nothing was delivered for a while (an outage, a pause) the empty
 *               path, for what was in the queue has gone by then
 *     rise      delay of an ack above that
 *     opens     where rise is more than `noise`, and than what a queue grows by from ack to ack: as a start of others
 *               fills it, or no more than jitter where it stood for long. That has no say where neighbours differ by
 *               about as much, for no queue does that, nor after a while in which nothing was delivered
 *     stepped   for a part of a round trip, and PATH_STEP_ACKS acks, none came within 3/4 of the rise of the empty
 *               path, and none above one and a half of it; until one does the former. Where it opened after such a
 *               while what was held back may come first: as that ends the rise is what is left
 *
 * It concludes nothing: others may have filled a queue just so. Whoever is told lets his own queue run dry and
 * looks at what is left. What was known before the step is handed out with it, for what the edge does in answer
 * to a longer delay hides it. All in ns, delays on the origin of path_delay.h. Cost of an ack: some comparisons. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "edge/congestion.h"

#define PATH_STEP_ACKS     3
#define PATH_STEP_RTT_PART 2
#define PATH_STEP_RECENT   4

/* What the edge knew of the path. */
struct path_known {
    uint64_t rate_bps;     /* its rate */
    uint64_t capacity_bps; /* what the path takes; 0: unknown */
    uint64_t jitter_ns;    /* what neighbours differ by */
};

/* All zero: nothing is known yet. */
struct path_step {
    struct path_step_level {
        int64_t owd_ns;
        struct path_known known;
    } recent[PATH_STEP_RECENT];   /* of the newest acks, at count % PATH_STEP_RECENT */
    uint32_t count;               /* of acks, since the beginning or the newest step */
    uint64_t told_bytes, told_ns; /* delivered by then, and when: receiver's clock, and this host's stalls */
    uint64_t torn_ns;             /* neighbours differed by so much more than usual, last … */
    uint32_t torn_count;          /* … by the ack that was this one */
    uint64_t rests_ns;            /* until then none opens */
    uint64_t since_ns;            /* when a step opened; 0: none has */
    uint32_t acks;                /* since then */
    int64_t before_ns;            /* delay */
    int64_t rise_ns;              /* of the one that opened it */
    bool held;                    /* nothing was delivered for a while before it */
    struct path_known known;      /* before it */
    bool stepped;                 /* until path_step_rest */
    bool paused;                  /* nothing was delivered for a while before this one */
};

/* What an ack says, and what is known meanwhile. */
struct path_step_look {
    int64_t empty_ns;  /* delay of the empty path */
    uint64_t noise_ns; /* so much the least of an ack differs from the next one's */
    uint64_t rtt_ns;
    uint64_t delivered_bps;  /* of late */
    bool stands;             /* there was a queue for long, which the edge keeps as it is */
    struct path_known known; /* before this ack */
};

void path_step_on_sample(struct path_step *step, const struct congestion_sample *sample,
                         const struct path_step_look *look);
/* None is open, nor opens before until_ns: it was seen to, or the edge itself fills a queue as fast as others may. */
void path_step_rest(struct path_step *step, uint64_t until_ns);
