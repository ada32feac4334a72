/* ROOM: what a path of few packets took of late, and what got lost while it had more room than that.
 *
 * A packet that came through a queue of Q proves that the buffer holds Q: what gets lost while the queue is less than
 * 3/4 of that is lost by chance, whatever the rate, for no policer lets a queue stand. So is what gets lost without a
 * queue at less than 0.8 of what was delivered before, over 32 packets; but others may have taken what it was delivered
 * by, so that this counts only where the rate was lowered for it (trial.h). p0 is thus known from a few dozen
 * packets, where rounds of many, and lower rates to compare with (PARK), take minutes. It is at most 20 %: in a crowd
 * that began with a queue which it takes for the path, what overflows is lost in a short queue, too.
 *
 * Others may take the room that there was: it counts for one to two minutes, and no longer than the base stays.
 * What PARK learns of the buffer (queue_max_ns) bounds it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "edge/bql/path.h"

struct bql_room_mark {
    uint64_t queue_ns, rate_bps;
};

struct bql_room {
    struct bql_room_mark most, most_before; /* that was taken: within this minute, the one before */
    uint64_t since_ns;
    struct bql_room_mark late, late_before; /* most that packets met whose fate is known now */
    uint64_t late_since_ns;
    int64_t base_ns;      /* what queues are counted from */
    uint64_t acked, lost; /* packets with ample room, not told yet */
    uint64_t told;        /* … told so far */
};

/* What p0 is learnt from: nothing, packets in a short queue, those at a low rate as well. */
enum bql_room_use { BQL_ROOM_NONE, BQL_ROOM_QUEUE, BQL_ROOM_RATE };

/* Nothing is known of the room yet. */
void bql_room_init(struct bql_room *room, uint64_t now_ns);
/* Packets whose fate became known, and the queue that the path shows now. */
void bql_room_on_sample(struct bql_room *room, struct bql_path *path, const struct congestion_sample *sample,
                        uint64_t rate_bps, enum bql_room_use use);
/* A rate at which only chance takes packets; 0: none is known. */
uint64_t bql_room_safe_bps(const struct bql_room *room);
