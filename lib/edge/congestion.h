/* Congestion control as a strategy: a const struct of hooks, a file or a folder each, and state inside the
 * edge that only the strategy looks at. A strategy turns what the acks say into a pacing rate and a limit on
 * bytes in flight. It sees no packet and no clock. Time during which the edge was limited by something else
 * freezes its estimates (sample.limited). The caps of job and plan are applied by the edge after the
 * strategy, so they always hold. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/units.h"
#include "edge/limit.h"

/* What one processed ack (or group of acks) taught. Bytes are wire bytes. */
struct congestion_sample {
    uint64_t now_ns;
    uint64_t rtt_ns; /* newest sample, 0 when this ack gave none */
    uint64_t rtt_min_ns;
    uint64_t rtt_smoothed_ns;
    /* Least one-way delay of the packets this ack is the first to cover, on a constant origin. */
    int64_t owd_ns;
    bool owd_known;    /* false: owd_ns says nothing */
    uint64_t doubt_ns; /* so much longer than it looks the queue may be (base/two_clocks.h) */
    /* Largest change of the one-way delay between packets sent next to each other, beyond the time between
     * their departures: no queue does that, so it is jitter. */
    uint64_t jump_ns;
    uint64_t late_ns; /* how late packets overtaken by newer ones came, decaying peak; 0: order is kept */
    /* How much longer the newest packet was under way than the quickest since the last ack. */
    uint64_t spread_ns;
    uint64_t wait_ns; /* the receiver stood still: what came may have waited so long before it was stamped */
    /* This host stood still: not long before the newest packet known to have come nothing left for so long. Told once;
     * 0: nothing of the kind. */
    uint64_t hole_ns;
    bool before_hole;         /* what it tells left right before such a hole, or at its end: nobody knows */
    uint64_t delivered_bytes; /* receiver's count so far */
    uint64_t delivered_ns; /* when it was reached, on the receiver's clock: arbitrary origin, never wraps */
    uint64_t acked_bytes;  /* newly acked by this ack */
    uint64_t acked_packets;
    uint64_t lost_packets; /* newly declared lost, but for … */
    uint64_t ring_lost; /* … what the receiver's ring lost while its host stood still: no word on the rate */
    uint64_t newest_sent_ns; /* departure of the newest packet known to have come */
    uint64_t oldest_sent_ns; /* … of the oldest whose fate was open before the ack */
    uint64_t after_bytes;    /* sent after that packet */
    uint32_t ce_count;       /* packets with Congestion Experienced, newly reported */
    uint64_t own_rate_bps;   /* the receiver's own edges into that port, this one included; 0: not told */
    /* What limited the edge since the last sample; EDGE_LIMIT_congestion: the strategy. */
    enum edge_limit limited;
};

/* Room for the state of any strategy; each asserts that its own fits. */
#define CONGESTION_STATE_BYTES 2880

struct congestion {
    const struct congestion_type *type;
    uint32_t packet_bytes;        /* in, before init: wire bytes of a full packet */
    uint64_t rate_bps;            /* out: pacing rate */
    uint64_t in_flight_max_bytes; /* out */
    bool path_renewed; /* out: the path is longer than it was: round trips of before are of another */
    /* out: packets may wait so long to leave together, or for 8 of them; 0: not at all. TIME_NEVER before init */
    uint64_t gather_ns;
    _Alignas(uint64_t) unsigned char state[CONGESTION_STATE_BYTES]; /* the strategy's own */
};

/* What the strategy owes at this time, as the law of liveness (edge/liveness.h) may ask: no rate, for it is
 * given one or gives way to everybody; none yet, for it is finding out what the path takes; none, for it
 * shares with senders that fill the buffer; what it has, for a little more got lost; or what the path
 * takes. */
enum congestion_duty {
    CONGESTION_OWES_NOTHING,
    CONGESTION_STARTS,
    CONGESTION_CONTENDS,
    CONGESTION_HOLDS,
    CONGESTION_OWES_RATE
};

/* For people: `show edges`, traces. */
struct congestion_view {
    const char *phase;
    enum congestion_duty duty;
    uint64_t capacity_bps; /* 0: unknown */
    uint64_t queue_ns, target_ns, jitter_ns;
    /* The empty path was not seen for twice the time in which it is looked for: what seems to be a queue may be it. */
    bool base_old;
    uint64_t buffer_ns; /* the queue it allows itself where the buffer is small; TIME_NEVER: no such limit */
    uint64_t competitive_ns; /* so long it has held its own against senders that fill the buffer */
    uint32_t base_loss_ppm;
};

struct congestion_type {
    const char *name; /* as jobs ask for it */
    /* initial_bps: the job's rate for the path. Where that is not known (known = false) a few packets per round
     * trip, at which `fixed` stays; strategies that search have a start of their own. rtt_ns: as far as known
     * before the first sample. */
    void (*init)(struct congestion *, uint64_t initial_bps, bool known, uint64_t rtt_ns, uint64_t now_ns);
    void (*on_ack)(struct congestion *, const struct congestion_sample *);
    /* No ack for a whole timeout in spite of a tail probe: the path may be dead. */
    void (*on_timeout)(struct congestion *, uint64_t now_ns);
    /* The edge fell silent: whatever the rate, it sends next to nothing until an ack comes (silent = false),
     * then at the strategy's rate again, at once. The next sample is about packets that left after it: a
     * round trip later, and not about losses before. May be NULL. */
    void (*on_silence)(struct congestion *, bool silent, uint64_t now_ns);
    /* What it makes of the path; NULL: nothing. */
    void (*view)(const struct congestion *, struct congestion_view *);
};

/* What a rate may have in flight: twice what a round trip and the receiver's ack delay need. Losses do not
 * slow it, but when acks cease altogether it stops after that much. */
#define CONGESTION_ACK_ALLOWANCE_NS (50 * NS_PER_MS)
static inline uint64_t congestion_in_flight_bytes(uint64_t rate_bps, uint64_t rtt_ns)
{
    return 2 * bytes_within(rate_bps, rtt_ns + CONGESTION_ACK_ALLOWANCE_NS);
}

extern const struct congestion_type congestion_fixed_type; /* rate given, never changed */
extern const struct congestion_type congestion_bql_type;
extern const struct congestion_type congestion_scavenger_type;

/* By name, a word of PART_CONGESTIONS (wire/control.h); NULL when there is none. */
const struct congestion_type *congestion_find(const char *name);
