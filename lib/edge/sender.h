/* Sending half of an edge: numbers packets, paces them, remembers them until acked, declares loss by time.
 *
 * Loss rule (RACK, RFC 8985, without its timer): a packet is lost when an ack reports it missing and the
 * newest packet that the receiver had got by then was sent at least `reorder allowance` later. The rule needs
 * no packet count and no clock of the receiver; a lost ack delays a verdict, never forges one. The allowance
 * is learnt from the lateness that acks report (send-time distance of overtaken packets) and is never below
 * SENDER_REORDER_MIN_NS. A lost packet's content is handed back through on_lost and may be sent again under a
 * new number; a lost repair is thus found as fast as a lost original. A packet acked after it was declared
 * lost counts as a spurious repair.
 *
 * Tail: when packets are in flight and no ack came for 2 * smoothed RTT + 2 ms (then doubling to at most 2
 * s), the newest packet's content is handed back through on_probe, to be sent again at once; its ack shows
 * the gaps before it.
 *
 * Capacity: config.window_packets numbers (a power of two, up to 2^22) between floor and next; then the edge
 * waits. Memory: sender_bytes(), 24 bytes a packet. Thread: one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "edge/congestion.h"
#include "edge/pacer.h"
#include "edge/rtt.h"
#include "wire/ack.h"

#define SENDER_WINDOW_MAX     (1u << 22)
#define SENDER_REORDER_MIN_NS 1000000ULL
#define SENDER_BURST_PACKETS  8

struct sender_config {
    uint32_t window_packets;
    uint32_t packet_bytes_max; /* wire bytes of the largest packet: sizes the catch-up burst */
};

struct sender_record {
    uint64_t sent_ns;
    uint64_t content; /* opaque to the edge: the node's content word */
    uint32_t wire_bytes;
    uint8_t state; /* enum sender_record_state */
    uint8_t repair;
    uint16_t tag; /* opaque: which job's feed the content belongs to */
};

enum sender_record_state { RECORD_FREE = 0, RECORD_IN_FLIGHT, RECORD_LOST, RECORD_ACKED };

/* Calls back into the owner, from inside sender_on_ack, sender_on_tick and sender_on_refused only. */
struct sender_events {
    void (*on_acked)(void *owner, uint64_t content, uint16_t tag);
    void (*on_lost)(void *owner, uint64_t content, uint16_t tag);
    void (*on_probe)(void *owner, uint64_t content, uint16_t tag); /* send this again now */
    void *owner;
};

struct sender_counters {
    uint64_t sent_packets, sent_bytes; /* wire bytes, repairs included */
    uint64_t acked_packets;
    uint64_t lost_packets;     /* declared lost */
    uint64_t repairs;          /* sent with repair = true */
    uint64_t spurious_repairs; /* acked after having been declared lost */
    uint64_t refused_packets;
    uint64_t acks, stale_acks;
    uint64_t tail_probes;
};

struct sender {
    struct sender_config config;
    struct sender_record *records; /* number & (window_packets - 1) */
    uint64_t next_number;
    uint64_t floor; /* oldest number still of interest */
    uint64_t in_flight_bytes;
    uint64_t in_flight_packets;
    struct pacer pacer;
    struct rtt rtt;
    struct congestion congestion;
    uint64_t rate_cap_bps; /* of plan and job; TIME_NEVER-like UINT64_MAX: none */
    uint64_t credit_end;   /* first number that the receiver has no room for */
    uint64_t reorder_ns;   /* allowance in force */
    uint64_t largest_acked;
    uint64_t largest_acked_sent_ns;
    bool any_acked;
    uint64_t newest_sent_ns;
    uint64_t last_ack_ns;   /* or first packet after idleness */
    uint32_t probe_backoff; /* doublings of the tail timer */
    uint64_t probe_at_ns;
    uint64_t delivered_bytes; /* receiver's count in the newest ack */
    uint32_t delivered_stamp;
    uint64_t delivery_rate_bps;
    uint64_t rate_window_bytes;
    uint32_t rate_window_stamp;
    uint32_t ce_count;
    enum edge_limit limited;        /* since the last sample */
    enum edge_limit receiver_limit; /* as told by the last ack */
    struct sender_counters counters;
};

size_t sender_bytes(const struct sender_config *config);
void sender_init(struct sender *sender, const struct sender_config *config, struct arena *arena);
/* A new session: forgets all packets without events (the owner has reset its feeds). */
void sender_reset(struct sender *sender, uint64_t now_ns);
/* Chooses the strategy and the start rate. Called when the first job of an idle edge starts. */
void sender_set_congestion(struct sender *sender, const struct congestion_type *type, uint64_t initial_bps,
                           bool known, uint64_t now_ns);
void sender_set_cap(struct sender *sender, uint64_t rate_cap_bps);

/* When a packet of wire_bytes may depart: the pacer's time, or TIME_NEVER while congestion control's
 * in-flight limit, the window, or (for new content) the receiver's credit holds it. Repairs pass credit.
 * *limit says what held it. */
uint64_t sender_send_ns(const struct sender *sender, uint32_t wire_bytes, bool repair,
                        enum edge_limit *limit);
/* The packet will depart at depart_ns. Returns its number; sender_floor gives the floor to send with it. */
uint64_t sender_on_sent(struct sender *sender, uint64_t content, uint16_t tag, uint32_t wire_bytes,
                        bool repair, uint64_t depart_ns);
uint64_t sender_floor(const struct sender *sender);
/* The port did not take it: handed back through on_lost without any conclusion about the path. */
void sender_on_refused(struct sender *sender, uint64_t number, const struct sender_events *events);
/* The owner had nothing to send, or something else held it, while the pacer allowed a packet. */
void sender_on_limited(struct sender *sender, enum edge_limit limit);
/* False: the ack speaks of numbers never sent (a bad peer), nothing was changed. */
bool sender_on_ack(struct sender *sender, const struct wire_ack_view *ack, uint64_t now_ns,
                   const struct sender_events *events);
void sender_on_tick(struct sender *sender, uint64_t now_ns, const struct sender_events *events);
uint64_t
sender_next_ns(const struct sender *sender); /* next tail probe, TIME_NEVER when nothing is in flight */
uint64_t sender_rate_bps(const struct sender *sender); /* pacing rate in force: strategy under the cap */
