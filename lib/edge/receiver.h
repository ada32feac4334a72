/* Receiving half of an edge: which packet numbers came, and the acks that say so.
 *
 * Tracks window_packets numbers from the sender's floor on (a power of two, up to 2^22; one bit each). A
 * number below the floor or already seen is a duplicate; one beyond the window is refused (the sender overran
 * what hello stated). Acks are due after max(smoothed interval: RTT/8 as the sender's stamps allow, 16
 * packets), at once for the first packet after idleness, and at the latest RECEIVER_ACK_DELAY_MAX_NS after a
 * packet. Each ack describes all gaps from the floor on; when they do not fit one message, successive
 * messages describe successive slices, rotating over the window, and every gap is reported in
 * RECEIVER_GAP_REPORTS acks at least while the floor lets it live. Memory: receiver_bytes(). Thread: one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "edge/limit.h"
#include "wire/ack.h"

#define RECEIVER_WINDOW_MAX        (1u << 22)
#define RECEIVER_ACK_PACKETS       16
#define RECEIVER_ACK_DELAY_MAX_NS  25000000ULL
#define RECEIVER_GAP_REPORTS       3
#define RECEIVER_ACKS_PER_TURN_MAX 8 /* messages in one group */

enum receiver_verdict { RECEIVER_NEW, RECEIVER_DUPLICATE, RECEIVER_BEYOND_WINDOW };

struct receiver_counters {
    uint64_t packets, bytes; /* wire bytes, duplicates excluded */
    uint64_t duplicates, beyond_window;
    uint64_t late_packets; /* overtaken by newer ones */
    uint64_t acks;
};

struct receiver {
    uint64_t *words; /* bit per number, number % window_packets */
    uint32_t window_packets;
    uint64_t floor;
    uint64_t end;           /* largest number received + 1; 0: none yet */
    uint64_t largest_ns;    /* when that came */
    uint32_t largest_stamp; /* the sender's stamp in it */
    uint64_t last_ns;       /* newest receipt of anything */
    uint64_t ack_due_ns;    /* TIME_NEVER: nothing to say */
    uint32_t unacked_packets;
    uint64_t slice; /* where the next slice of a group starts; == floor: a new group */
    uint32_t owd_min;
    bool owd_known;
    uint32_t late_peak_us; /* decays by 1/8 per ack group */
    uint64_t interval_ns;  /* ack interval in force */
    uint32_t ce_count;
    struct receiver_counters counters;
};

size_t receiver_bytes(uint32_t window_packets);
void receiver_init(struct receiver *receiver, uint32_t window_packets, struct arena *arena);
void receiver_reset(struct receiver *receiver);
/* The full number behind the 32 bits on the wire. */
uint64_t receiver_expand(const struct receiver *receiver, uint32_t low);
/* Looks only: the owner may still refuse the content for lack of memory, and then does not call
 * receiver_on_packet, so that the gap is reported and the packet comes again. */
enum receiver_verdict receiver_check(const struct receiver *receiver, uint64_t number);
/* Accepts a packet, new or duplicate: advances the floor, marks the number, schedules an ack. */
void receiver_on_packet(struct receiver *receiver, uint64_t number, uint64_t floor, uint32_t stamp,
                        uint32_t wire_bytes, bool congestion_experienced, uint64_t now_ns);
/* The path's RTT as the owner knows it (probes, hellos): sets the ack interval to max(RTT/8, 16 packets). */
void receiver_set_rtt(struct receiver *receiver, uint64_t rtt_ns);
uint64_t receiver_next_ns(const struct receiver *receiver);
/* Fills one ack when one is due: fixed part but credit, own_rate_mbps and limited_by (the owner's), and runs
 * (WIRE_ACK_RUNS_MAX bytes of room). Call again until it returns false: a group is at most
 * RECEIVER_ACKS_PER_TURN_MAX messages, the rest follows with the next group. */
bool receiver_ack(struct receiver *receiver, struct wire_ack *ack, uint8_t *runs, uint64_t now_ns);
