/* Congestion control as a strategy: a const struct of hooks, one file each, and a union of states inside the
 * edge. A strategy turns what the acks say into a pacing rate and a limit on bytes in flight. It sees no
 * packet and no clock. Time during which the edge was limited by something else freezes its estimates
 * (sample.limited). The caps of job and plan are applied by the edge after the strategy, so they always hold.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "edge/limit.h"
#include "edge/cubic_window.h"
#include "edge/path_delay.h"
#include "edge/path_rate.h"

/* What one processed ack (or group of acks) taught. Bytes are wire bytes. */
struct congestion_sample {
    uint64_t now_ns;
    uint64_t rtt_ns; /* newest sample, 0 when this ack gave none */
    uint64_t rtt_min_ns;
    uint64_t rtt_smoothed_ns;
    int64_t owd_ns; /* least one-way delay of the packets this ack is the first to cover, on an arbitrary but
                       constant origin */
    bool owd_known; /* false: owd_ns says nothing */
    uint64_t jump_ns; /* largest change of the one-way delay between packets sent next to each other, beyond
                         the time between their departures: no queue does that, so it is jitter */
    uint64_t late_ns; /* how late packets overtaken by newer ones came, decaying peak; 0: order is kept */
    uint64_t
        spread_ns; /* how much longer the newest packet was under way than the quickest since the last ack */
    uint64_t delivered_bytes; /* receiver's count so far */
    uint64_t delivered_ns; /* when it was reached, on the receiver's clock: arbitrary origin, never wraps */
    uint64_t delivery_rate_bps; /* over about the last RTT on the receiver's clock, 0 while unknown */
    uint64_t acked_bytes;       /* newly acked by this ack */
    uint64_t acked_packets;
    uint64_t lost_bytes; /* newly declared lost */
    uint64_t lost_packets;
    uint64_t spurious_bytes; /* newly acked after having been declared lost */
    uint64_t in_flight_bytes;
    uint64_t sent_bytes;     /* by the edge so far */
    uint64_t newest_sent_ns; /* departure of the newest packet known to have come */
    uint64_t after_bytes;    /* sent after that packet */
    uint32_t ce_count;       /* newly reported */
    uint64_t own_rate_bps;   /* the receiver's own edges into that port, this one included; 0: not told */
    enum edge_limit
        limited; /* what limited the edge since the last sample; EDGE_LIMIT_congestion: the strategy */
};

struct congestion_fixed {
    uint64_t rate_bps;
};

/* Delay- and loss-aware rate control; see congestion_delay.c for equations and gains. */
struct congestion_delay {
    uint64_t rate_bps;
    uint64_t round_start_ns;   /* decisions are made once per round trip */
    uint64_t round_rtt_min_ns; /* least RTT sample within the round: jitter cannot lower it */
    uint64_t round_acked_bytes;
    uint64_t round_lost_bytes;
    uint64_t delivery_rate_bps; /* newest within the round */
    uint32_t base_loss_ppm;     /* random loss as learnt: no reason to slow down */
    uint32_t parked_loss_ppm;   /* loss of the round that led to parking */
    uint32_t parked_rounds;     /* left before the rate may grow again */
    uint64_t unparked_bps;      /* rate before parking, restored when that did not help */
    uint64_t drained_bps;       /* rate to go back to once the queue is gone; 0: none */
    uint32_t calm_rounds;
    uint64_t timeout_bps; /* rate before the path went silent; 0: it has not */
    bool starting;
    bool settling;        /* the samples of this round stem from before the newest change */
    bool parked_starting; /* parked while starting: goes on when the loss was random */
    bool round_limited;   /* the round was limited by something else: estimates stay */
    bool round_capped;    /* … by the cap of plan or job: the rate does not grow */
};

/* Small standing queue; see congestion_bql.c for the law. */
struct congestion_scavenger {
    struct path_delay delay;
    struct path_rate rate;
    uint64_t rate_bps;
    uint64_t rtt_ns;
    uint64_t late_ns;
    uint64_t changed_ns;   /* beginning of the round */
    uint64_t acked, lost;  /* packets of the round */
    uint32_t loss_ppm;     /* usual */
    uint64_t full_bps;     /* deliveries when a queue came up last */
    uint64_t most_bps;     /* the most of these of late */
    bool others;           /* were present in the round before */
    uint32_t calm_rounds;  /* in a row */
    uint64_t still_end_ns; /* until then it keeps still to see the base */
    uint64_t stilled_bps;  /* rate to go back to; 0: it does not */
    bool limited;          /* the round was limited by something else */
};

struct congestion_bql {
    struct path_delay delay;
    struct path_rate rate;
    uint8_t phase; /* enum bql_phase */
    bool frozen;   /* limited by something else since the round began */
    uint64_t now_ns;
    uint64_t rtt_ns;       /* least */
    uint64_t packet_bytes; /* on the wire: of a full packet, then the mean of late */
    uint64_t rate_bps;
    uint64_t capacity_bps; /* what the path takes from this edge, random loss included; 0: unknown */
    uint64_t standing_ns;  /* receiver's time since when there is a queue all the time; 0: there is none */
    uint64_t train_bps;    /* what the first train's dispersion says of the path; 0: nothing */
    uint64_t train_bytes, train_ns; /* receiver's count and time at the train's first ack */
    uint64_t raised_ns;             /* when the rate was last raised */
    uint64_t raised_from_bps;       /* delivery rate before that, as measured */
    uint64_t tried_ns;              /* how long the rate is on trial */
    uint64_t tried_delivered_bps;   /* meanwhile; 0: not known yet */
    bool grown;                     /* deliveries grew with it */
    uint64_t plateau_bps;           /* most that was delivered since the start found a queue; 0: settled */
    uint64_t raised_acked, raised_lost; /* packets since then */
    uint64_t late_ns;
    uint64_t entered_ns;      /* when the phase began */
    uint64_t parked_queue_ns; /* at the loss that led to parking */
    uint64_t busy_ns;         /* when the queue was last more than a little */
    uint64_t held_until_ns;   /* until then deliveries stem from a time that says nothing */
    uint32_t growth_ppm;      /* of the next step while calm */
    uint64_t target_max_ns;   /* the queue that the buffer was seen to hold, less a margin */
    uint64_t target_max_set_ns;
    uint64_t target_max_hold_ns;                  /* so long it holds before it is tried anew */
    uint32_t cautious_rounds;                     /* loss rounds to end before the rate is raised again */
    uint64_t queue_peak_ns, queue_peak_before_ns; /* of this round and the one before */
    uint64_t round_start_ns;                      /* rounds of the loss rate */
    uint64_t round_acked, round_lost;             /* packets */
    uint32_t base_loss_ppm;                       /* random loss as learnt */
    uint32_t parked_loss_ppm;
    uint32_t parked_rounds;
    uint32_t park_rounds;          /* until the rate may grow again */
    bool window_limited;           /* … by a window, so long as held */
    uint64_t start_bps, tried_bps; /* rate that the path took, and the one on trial */
    uint32_t trains_lost;
    uint64_t started_packets;      /* whose loss was by chance: fates known while starting */
    uint32_t loss_swing_ppm;       /* mean distance of rounds' loss by chance from its mean */
    uint32_t unparked_loss_ppm;    /* of the round that led to parking first */
    bool parked_starting;          /* the start goes on where the loss was by chance */
    uint64_t parked_ns;            /* when it last was, or went lower */
    uint64_t parked_bps;           /* what the path was thought to take then */
    uint64_t parked_most_bps;      /* deliveries in the first round after parking, 0: none yet */
    uint64_t settled_bps;          /* … without losses, the last time */
    uint64_t parked_delivered_bps; /* in the round that led to parking */
    uint64_t delivered_ns, round_delivered_ns, round_delivered_bytes;
    uint64_t unparked_bps;
    bool excess_before;   /* the round before lost more than chance takes */
    uint64_t unparked_ns; /* when that rate was taken up again */
    uint64_t refresh_start_ns, refresh_end_ns;
    int64_t refresh_owd_ns;         /* least seen meanwhile */
    uint64_t refreshed_bps;         /* rate to go back to */
    uint64_t fed_ns;                /* when the rate was last no less than half of that, or the queue small */
    uint64_t own_bps, own_most_bps; /* of all edges into the receiver's port: now, and the most of late */
    uint64_t own_most_now_bps, own_most_before_bps, own_most_from_ns;
    uint64_t contest_ns, contest_queue_ns; /* since when the queue stays, and how long it was */
    struct cubic_window window;
    uint64_t deaf_from_ns, deaf_queue_ns, deaf_least_ns; /* after losses: does the queue fall? */
    uint32_t deaf_events;                                /* so often in a row it did not */
    uint64_t competitive_ns, competed_ns;
    uint64_t drain_due_ns, draining_ns, drain_queue_ns, drain_least_ns;
    uint64_t base_seen_bps; /* rate when the base was last seen */
    uint64_t silenced_bps;  /* rate when the path fell silent */
    uint64_t train_end_ns;
    uint64_t newest_sent_ns;  /* of the sample before */
    uint32_t refreshes_above; /* successive ones that never saw the queue below the target */
};

struct congestion {
    const struct congestion_type *type;
    uint32_t packet_bytes;        /* in, before init: wire bytes of a full packet */
    uint64_t rate_bps;            /* out: pacing rate */
    uint64_t in_flight_max_bytes; /* out */
    union {
        struct congestion_fixed fixed;
        struct congestion_delay delay;
        struct congestion_bql bql;
        struct congestion_scavenger scavenger;
    } state;
};

/* For people: `show edges`, traces. */
struct congestion_view {
    const char *phase;
    uint64_t capacity_bps; /* 0: unknown */
    uint64_t queue_ns, target_ns, jitter_ns;
    uint64_t buffer_ns; /* the queue it allows itself where the buffer is small; TIME_NEVER: no such limit */
    uint64_t competitive_ns; /* so long it has held its own against senders that fill the buffer */
    uint32_t base_loss_ppm;
};

struct congestion_type {
    const char *name;
    /* initial_bps: the plan's rate, or a cautious start when that is unknown (known = false). rtt_ns: as far
     * as known before the first sample. */
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

extern const struct congestion_type congestion_fixed_type; /* rate given, never changed */
extern const struct congestion_type congestion_delay_type;
extern const struct congestion_type congestion_bql_type;
extern const struct congestion_type congestion_scavenger_type;

/* By name ("bql", "scavenger", "fixed", "delay"); NULL when there is none. */
const struct congestion_type *congestion_find(const char *name);
