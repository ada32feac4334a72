/* Sending half of an edge: numbers packets, paces them, remembers them until acked, declares loss by time.
 *
 * Loss rule (RACK, RFC 8985, without its timer): a packet is lost when an ack reports it missing and the
 * newest packet that the receiver had got by then was sent at least the reorder allowance later. The rule
 * needs no packet count and no clock of the receiver; a lost ack delays a verdict, never forges one. The
 * allowance is learnt (edge/reorder.h). A lost packet's content is handed back through on_lost and may be
 * sent again under a new number; a lost repair is thus found as fast as a lost original. A lost packet stays
 * of interest until two RTT and allowances after its departure: acked within that time it counts as a
 * spurious repair, widens the allowance and is reported through on_acked after all.
 *
 * Tail: once the owner has had nothing to send for RTT/16 or the allowance and more, what is in flight goes
 * out again before its verdict, RTT/64 apart, as many times as make it as good as sure that a copy of each
 * content comes: begun as soon as acks have settled so much that the budget (edge/repeat_budget.h) pays for
 * that, so a last lost repair costs no further round trip. Repairs leave in groups, as acks come; where none
 * follows within RTT/32 one more packet leaves, for the verdict on the last of them needs a later one. What
 * leaves at the tail says so (sender_at_tail), and is acked at shorter intervals. When packets are in flight
 * and the newest was sent rtt_timeout + SENDER_ACK_SLACK_NS ago (from the third in succession on doubling, to
 * at most 2 s, until an ack brings news), the content of the newest one in flight is handed back through
 * on_probe, to be sent again at once as a repair; its ack shows the gaps before it. Where the ack of the very
 * newest packet has come and others are missing, the probe is due after the reorder allowance.
 *
 * Silence: no ack for max(SENDER_SILENCE_MIN_NS, SENDER_SILENCE_RTTS RTT) with packets in flight. From then
 * on, whatever the strategy, one packet leaves per max(RTT/4, what keeps to 1/SENDER_SILENCE_DIVISOR of the
 * rate), at least one per RTT (or 10 ms), past window and in-flight limit; the first ack ends it and the full
 * rate is back. The strategy hears of both through on_silence; acks of what left before the end are not told
 * to it: some of it is lost, some stood still on the way.
 *
 * Capacity: config.window_packets numbers (a power of two, 256 to 2^22) between floor and next, or what the
 * receiver has room for (sender_set_window_limit), of which SENDER_PROBE_RESERVE are kept for tail probes;
 * then the edge waits. Lost packets give up their interest early when they alone would fill the window.
 * Memory: sender_bytes(), 24.25 bytes a packet. Cost of an ack: its runs, one step per 64 numbers they cover,
 * and the packets newly settled. Thread: one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/two_clocks.h"
#include "edge/congestion.h"
#include "edge/holes.h"
#include "edge/liveness.h"
#include "edge/number_bits.h"
#include "edge/pacer.h"
#include "edge/repeat_budget.h"
#include "edge/reorder.h"
#include "edge/ring_loss.h"
#include "edge/rtt.h"
#include "wire/ack.h"

#define SENDER_WINDOW_MIN        256u
#define SENDER_WINDOW_MAX        (1u << 22)
#define SENDER_ACK_SLACK_NS      27000000ULL /* the receiver's ack delay (25 ms) and 2 ms for the hosts */
#define SENDER_PROBE_WAIT_MAX_NS 2000000000ULL
#define SENDER_PROBE_RESERVE     64u
#define SENDER_BURST_PACKETS     8
#define SENDER_LOST_SYNC_ACKS    16
#define SENDER_SILENCE_MIN_NS    1000000000ULL
#define SENDER_SILENCE_RTTS      4
#define SENDER_SILENCE_DIVISOR   200
#define SENDER_LOST_PER_ACK_MAX  65536 /* what an ack reports beyond that waits for the next one */

struct sender_config {
    uint32_t window_packets;
    uint32_t packet_bytes_max; /* wire bytes of the largest packet (< 65536): sizes the catch-up burst */
};

/* State lies in the two bit sets of the sender: in flight, lost, or (neither) settled. */
struct sender_record {
    uint64_t sent_ns;
    uint64_t content; /* opaque to the edge: the node's content word */
    uint32_t note;    /* in flight: enum sender_note; lost: end of interest, modulo 2^32 us */
    uint16_t wire_bytes;
    uint16_t tag; /* opaque: which job's feed the content belongs to */
};
_Static_assert(sizeof(struct sender_record) == 24, "memory per packet in flight");

/* Calls back into the owner, from inside sender_on_ack, sender_on_tick and sender_on_refused only. The owner
 * takes notes: it must not call verbs of this sender from there. */
struct sender_events {
    /* The receiver has it. Comes once for every number acked, thus also after on_lost of the same content,
     * when a packet declared lost was only late: a repair still queued can then be dropped. Returns whether
     * that was news of this content. */
    bool (*on_acked)(void *owner, uint64_t content, uint16_t tag);
    /* Returns whether it is to be sent again: false when it was acked under another number, or is not wanted
     * any more. */
    bool (*on_lost)(void *owner, uint64_t content, uint16_t tag);
    bool (*on_probe)(void *owner, uint64_t content, uint16_t tag); /* the same; send this again now */
    void *owner;
};

struct sender_counters {
    uint64_t sent_packets, sent_bytes; /* wire bytes, repairs included */
    uint64_t acked_packets;
    uint64_t lost_packets;     /* declared lost … */
    uint64_t ring_lost;        /* … of those, by the receiver's ring */
    uint64_t repairs;          /* sent with repair = true */
    uint64_t spurious_repairs; /* acked after having been declared lost */
    uint64_t peer_missed;      /* frames that the receiver's port missed meanwhile, whoever sent them */
    uint64_t refused_packets;
    uint64_t acks, stale_acks;
    uint64_t tail_probes;
    uint64_t early_repeats; /* handed out again at the tail before a verdict */
    uint64_t silences;
    uint64_t marked_packets;    /* came with Congestion Experienced, by the receiver's count */
    uint64_t pauses, paused_ns; /* of this host, HOLES_MIN_NS or longer, while it had something to send */
    uint64_t peer_pauses;       /* acks that say: what came had waited as long before the receiver took it */
    uint64_t clock_steps;       /* the receiver's clock jumped ahead by > TWO_CLOCKS_COARSE_NS, or this one */
};

struct sender {
    struct sender_config config;
    uint32_t window;               /* in force: config.window_packets or the receiver's */
    struct sender_record *records; /* number & (window_packets - 1) */
    struct number_bits in_flight;
    struct number_bits lost; /* of interest: a spurious repair would still be recognised */
    uint64_t next_number;
    uint64_t floor; /* oldest number still of interest */
    uint64_t in_flight_bytes;
    uint64_t in_flight_packets;
    struct pacer pacer;
    struct rtt rtt;
    struct congestion congestion;
    uint64_t rate_cap_bps; /* of plan and job; UINT64_MAX: none */
    uint64_t credit_end; /* first number that the receiver has no room for; UINT64_MAX until the first ack */
    struct reorder reorder;
    uint64_t largest_acked;
    uint64_t largest_sent_ns; /* its departure */
    bool any_acked;
    uint64_t rtt_from;       /* older numbers were in flight while this host stood still: no RTT samples */
    uint64_t newest_sent_ns; /* departure of the newest packet */
    uint16_t newest_tag;
    uint64_t newest_new_ns; /* … of the newest that was no repair */
    uint64_t quiet_from_ns; /* newest ack, or departure into an empty path */
    uint32_t probe_backoff; /* tail probes since an ack brought news */
    uint64_t probe_from_ns; /* the tail timer runs from here */
    uint64_t probe_wait_ns; /* this long, before doublings */
    bool probe_granted;     /* one repair may pass the in-flight limit */
    bool idle;              /* the owner has had nothing to send since the newest packet */
    bool drained;           /* … nothing new since the newest that was no repair */
    bool silent;
    uint32_t impossible_acks;  /* … of numbers never sent, in a row */
    uint64_t untold_end;       /* what left before has no say in the strategy: a silence */
    uint64_t repeated_packets; /* in flight, and handed out again */
    uint64_t moot_packets;     /* about as many of the others are copies of what was acked since */
    struct repeat_budget repeat_budget;
    uint32_t covers_left; /* packets that may be sent after the newest, so that it gets its verdict */
    bool covering;        /* the owner was asked for one */
    uint64_t repeat_from_ns;
    uint32_t repeats_left;      /* copies of each content that the budget was found to hold */
    uint64_t interest_until_ns; /* by then nothing declared lost so far is of interest */
    uint64_t delivered_bytes;   /* receiver's count in the newest ack */
    uint32_t delivered_stamp;
    uint64_t delivered_ns;      /* when that was, on the receiver's clock; never wraps */
    uint64_t delivered_told_ns; /* when this host heard of it */
    int64_t owd_ns;             /* newest told by the receiver, on a constant origin */
    uint32_t owd_raw;
    int64_t owd_sure_ns; /* … and what of owd_ns is no wait at the receiver, as far as that can be told */
    struct two_clocks clocks; /* … and what of it is the receiver's clock that gains on this host's */
    uint64_t ack_wait_ns;     /* the next ack may have come so long before: sender_set_wait */
    struct holes holes;
    struct ring_loss ring_loss;
    bool delivered_known, owd_known; /* the ones before were told once since the peer began anew */
    uint64_t delivery_rate_bps;      /* over about the last RTT on the receiver's clock, 0 while unknown */
    uint64_t rate_window_bytes;
    uint32_t rate_window_stamp;
    bool rate_window_open;
    uint32_t ce_count;
    enum edge_limit limited;        /* since the last sample */
    enum edge_limit receiver_limit; /* as told by the newest ack */
    struct liveness liveness;       /* by what acks say */
    uint64_t congested_ns; /* acks that told of nothing else that limited it came after so long, in sum */
    uint64_t sampled_ns;   /* the newest ack that the strategy was told of */
    uint64_t began_ns;     /* the strategy did */
    struct sender_counters counters;
};

/* Memory that sender_init takes from the arena. */
size_t sender_bytes(const struct sender_config *config);
void sender_init(struct sender *sender, const struct sender_config *config, struct arena *arena);
/* A new session: forgets all packets without events (the owner ends the jobs that sent them), and what they
 * owe the pacer; what was learnt about the path stays, counters run on. */
void sender_reset(struct sender *sender, uint64_t now_ns);
/* What the owner knows of the path's RTT (probes, hellos); counts only until acks give samples. */
void sender_set_rtt(struct sender *sender, uint64_t rtt_ns);
/* Chooses the strategy and the start rate. Called when the first job of an idle edge starts. */
void sender_set_congestion(struct sender *sender, const struct congestion_type *type, uint64_t initial_bps,
                           bool known, uint64_t now_ns);
/* Of plan and job, not below SEND_RATE_MIN_BPS; UINT64_MAX: none. What was sent under the cap of before holds the
 * next packet for SENDER_BURST_PACKETS at the new rate at most. */
void sender_set_cap(struct sender *sender, uint64_t rate_cap_bps);
/* What the receiver has room for, in packets from the floor on (its hello says). */
void sender_set_window_limit(struct sender *sender, uint32_t window_packets);

/* When a packet of wire_bytes may depart: the pacer's time, or TIME_NEVER while congestion control's
 * in-flight limit, the window, or (for new content) the receiver's credit holds it. Repairs pass credit.
 * *limit says what held it. */
uint64_t sender_send_ns(const struct sender *sender, uint32_t wire_bytes, bool repair,
                        enum edge_limit *limit);
/* The packet will depart at depart_ns >= sender_send_ns. Returns its number; sender_floor gives the floor to
 * send with it. */
uint64_t sender_on_sent(struct sender *sender, uint64_t content, uint16_t tag, uint32_t wire_bytes,
                        bool repair, uint64_t depart_ns);
/* The oldest number still of interest. */
uint64_t sender_floor(const struct sender *sender);
/* Whether what departs then belongs to the tail: the owner has nothing new, and nothing new has left for
 * RTT/64 or the allowance. */
bool sender_at_tail(const struct sender *sender, uint64_t depart_ns);
/* The port did not take it: handed back through on_lost without any conclusion about the path. */
void sender_on_refused(struct sender *sender, uint64_t number, const struct sender_events *events);
/* The owner had nothing to send (EDGE_LIMIT_application: that is what starts the tail), or something else
 * held it, while the pacer allowed a packet. */
void sender_on_limited(struct sender *sender, enum edge_limit limit);
/* `limit`, as people are told: the receiver's ring is behind it where that loses what comes. */
enum edge_limit sender_cause(const struct sender *sender, enum edge_limit limit, uint64_t now_ns);
/* The next packet leaves so much later than it could have: this host was not there (edge/holes.h). To be told right
 * before sender_on_sent. */
void sender_on_lag(struct sender *sender, uint64_t lag_ns, uint64_t depart_ns);
/* Acks that are told from now on may have come so long before: this host looked for them as long ago. */
void sender_set_wait(struct sender *sender, uint64_t wait_ns);
/* False: the ack speaks of numbers never sent (a bad peer, or a forger), nothing was changed but a count. */
bool sender_on_ack(struct sender *sender, const struct wire_ack_view *ack, uint64_t now_ns,
                   const struct sender_events *events);
/* The two ends do not speak of the same numbers: nothing but SENDER_LOST_SYNC_ACKS or more impossible acks
 * came in a silence. The owner then renews the session; nothing else will bring the edge back. Cheap enough
 * to be asked whenever sender_on_ack returned false. */
bool sender_lost_sync(const struct sender *sender);
/* The path has been found to be narrower than packets that nothing was heard of: all of them are lost,
 * which says nothing of its rate. */
void sender_on_narrower(struct sender *sender, uint64_t now_ns, const struct sender_events *events);
/* This host stood still for gap_ns: what is in flight gives no RTT samples (its acks may have waited here),
 * the tail timer starts anew. */
void sender_on_standstill(struct sender *sender, uint64_t gap_ns);
/* Does what is due by sender_next_ns; early calls do nothing. */
void sender_on_tick(struct sender *sender, uint64_t now_ns, const struct sender_events *events);
/* Next probe, repeat or silence, or the end of a lost packet's interest; TIME_NEVER when there is neither. */
uint64_t sender_next_ns(const struct sender *sender);
/* How long packets that may leave can wait for others: 0, they can't. */
uint64_t sender_gather_ns(const struct sender *sender);
uint64_t sender_rate_bps(const struct sender *sender); /* pacing rate in force: strategy under the cap */
