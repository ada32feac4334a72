/* Receiving half of an edge: which packet numbers came, and the acks that say so.
 *
 * Tracks window_packets numbers from the sender's floor on (a power of two, 64 to 2^22; one bit each). A
 * number below the floor or already seen is a duplicate; one beyond the window is refused (the sender overran
 * what hello stated).
 *
 * Forged numbers: one packet must not be able to move the window to where no genuine one ever comes. A number
 * a window or more beyond the largest received is refused too, unless RECEIVER_JUMP_PROOFS refused ones in a
 * row, with nothing new in between, were within a window of each other and of it: so a sender that sent that
 * much into the dark goes on, two packets later. Where all that comes for RECEIVER_LOST_SYNC_NS is beyond the
 * window, or was passed over by such a jump, receiver_lost_sync says so, and the owner renews the session. What is
 * below the window was received else, and may be sent again by anybody.
 *
 * When: acks are due once both the interval (RTT/8 within RECEIVER_ACK_INTERVAL_MIN_NS …
 * RECEIVER_ACK_DELAY_MAX_NS) and 16 packets have passed, at once for the first packet after idleness, and at
 * the latest RECEIVER_ACK_DELAY_MAX_NS after a packet, RTT/64 where the sender says that it is at the tail.
 * In the beginning, when the sender's strategy waits for what its few first packets tell, an ack that no
 * packet follows is repeated at doubling distances.
 *
 * What: one message describes all gaps from the floor on when they fit. Otherwise a group of messages
 * describes slices: the oldest gaps (they hold the sender's floor), then what no ack covered yet together
 * with what was too young for a verdict then and what the RECEIVER_FRESH_GROUPS groups before were the first
 * to cover, then a slice of the rest, which rotates over the window in half an RTT. So every gap is reported
 * in RECEIVER_GAP_REPORTS acks at least while the floor lets it live (about two RTT), the first four of them
 * within three intervals: enough for 30 % of all acks lost. A group is at most RECEIVER_ACKS_PER_TURN_MAX
 * messages; what is left over follows an eighth of an interval later.
 *
 * owd_min and jump speak of what came since the last group; a group in which delivered_bytes has not grown
 * has nothing to say about them. The ring behind jump spans RTT/2, at least RECEIVER_JUMP_SPAN_MIN_NS.
 *
 * Memory: receiver_bytes(). Thread: one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "edge/jump.h"
#include "edge/limit.h"
#include "edge/number_bits.h"
#include "wire/ack.h"

#define RECEIVER_WINDOW_MAX          (1u << 22)
#define RECEIVER_ACK_PACKETS         16
#define RECEIVER_ACK_INTERVAL_MIN_NS 100000ULL
#define RECEIVER_ACK_DELAY_MAX_NS    25000000ULL
#define RECEIVER_JUMP_SPAN_MIN_NS    50000000ULL
#define RECEIVER_GAP_REPORTS         6
#define RECEIVER_FRESH_GROUPS        3
#define RECEIVER_ACKS_PER_TURN_MAX   8  /* messages in one group */
#define RECEIVER_REMINDERS           10 /* repetitions of news that no packet answers */
#define RECEIVER_REPETITIONS         4  /* … of an ack that no packet follows, in the beginning */
#define RECEIVER_JUMP_PROOFS         2
#define RECEIVER_LOST_SYNC_PACKETS   16
#define RECEIVER_LOST_SYNC_NS        1000000000ULL
#define RECEIVER_BEGINNING           256 /* numbers */

enum receiver_verdict { RECEIVER_NEW, RECEIVER_DUPLICATE, RECEIVER_BEYOND_WINDOW };

struct receiver_counters {
    uint64_t packets, bytes; /* wire bytes, duplicates excluded */
    uint64_t duplicates, beyond_window;
    uint64_t late_packets; /* overtaken by newer ones */
    uint64_t acks;
};

/* Position within a group of acks. */
enum receiver_stage { RECEIVER_OLDEST, RECEIVER_FRESH, RECEIVER_ROTATION };

struct receiver {
    struct number_bits seen;
    uint32_t window_packets;
    uint64_t floor;
    uint64_t end;           /* largest number received + 1; 0: none yet */
    uint64_t largest_ns;    /* when that came */
    uint32_t largest_stamp; /* the sender's stamp in it */
    uint64_t last_ns;       /* newest receipt of anything */
    uint64_t delivered_ns;  /* newest receipt of something new */
    uint64_t ack_due_ns;    /* TIME_NEVER: nothing to say */
    uint64_t unacked_ns;    /* receipt of the first packet since the last group */
    uint32_t unacked_packets;
    uint32_t owd_min;
    bool owd_known;
    uint64_t wait_ns;                     /* of packets that are told now: receiver_set_wait */
    uint64_t newest_wait_ns, owd_wait_ns; /* of what came last, and of the one behind owd_min */
    struct jump jump;
    uint32_t jump_peak;    /* what the newest group tells */
    uint32_t late_peak_us; /* decays by 1/64 per ack group */
    uint64_t interval_ns;  /* ack interval in force */
    uint64_t rtt_ns;
    uint32_t ce_count;
    uint32_t reminders;     /* left to be sent … */
    uint64_t remind_due_ns; /* … the next one then */
    uint64_t remind_gap_ns; /* doubles */
    uint64_t jump_number;   /* newest of the refused numbers that may prove a jump … */
    uint32_t jump_proofs;   /* … so many so far */
    uint64_t passed_over;   /* from here to the window nothing was received; UINT64_MAX: there was no jump */
    uint32_t strays;        /* in a row: far from the window, with nothing new in between */
    uint64_t stray_from_ns; /* the first of them */

    uint32_t group_left; /* messages left in the group under way; 0: none is */
    enum receiver_stage stage;
    uint64_t fresh;                           /* numbers from here on were in no ack yet */
    uint64_t fresh_of[RECEIVER_FRESH_GROUPS]; /* … when the groups before started, the newest first */
    uint64_t slice;                           /* where the group's next slice starts */
    uint64_t fresh_start;                     /* of this group; the rotation ends here */
    uint64_t oldest_end;                      /* what this group's first message covered */
    uint64_t rotation;                        /* where the rotation goes on */
    uint64_t rotation_left;                   /* numbers owed */
    uint64_t group_ns;                        /* start of the newest group, and end at that time */
    uint64_t group_end;
    struct receiver_counters counters;
};

/* Memory that receiver_init takes from the arena. */
size_t receiver_bytes(uint32_t window_packets);
void receiver_init(struct receiver *receiver, uint32_t window_packets, struct arena *arena);
/* A new session; counters run on, the delivered count too. */
void receiver_reset(struct receiver *receiver);
/* The full number behind the 32 bits on the wire. */
uint64_t receiver_expand(const struct receiver *receiver, uint32_t low);
/* Looks only: the owner may still refuse the content for lack of memory, and then does not call
 * receiver_on_packet, so that the gap is reported and the packet comes again. `floor` is the packet's own: it
 * may move the window far enough. */
enum receiver_verdict receiver_check(const struct receiver *receiver, uint64_t number, uint64_t floor);
/* Notes a packet that receiver_check found to be no new one; the owner drops it, and it has no other effect. */
void receiver_on_refused(struct receiver *receiver, enum receiver_verdict verdict, uint64_t number,
                         uint64_t now_ns);
/* Accepts a packet: advances the floor, marks the number, schedules an ack. One that is not new is noted only. */
void receiver_on_packet(struct receiver *receiver, uint64_t number, uint64_t floor, uint32_t stamp,
                        uint32_t wire_bytes, bool congestion_experienced, uint64_t now_ns);
/* Packets that are told from now on may have come so long before the time that is told: this host looked for them as
 * long ago. The ack says so, and jumps that this explains are none. */
void receiver_set_wait(struct receiver *receiver, uint64_t wait_ns);
/* The packet just taken says that its sender is at the tail: the ack is due RTT/64 after the first packet
 * that waits for it. */
void receiver_hurry(struct receiver *receiver);
/* The path's RTT as the owner knows it (probes, hellos): sets the ack interval to max(RTT/8, 16 packets). */
void receiver_set_rtt(struct receiver *receiver, uint64_t rtt_ns);
/* The owner has news for a sender that may be waiting (credit grew from nothing): an ack is due now, and
 * again up to RECEIVER_REMINDERS times at doubling distances until a packet comes. */
void receiver_remind(struct receiver *receiver, uint64_t now_ns);
/* The two ends do not speak of the same numbers: nothing but strays, RECEIVER_LOST_SYNC_PACKETS or more of
 * them, came for RECEIVER_LOST_SYNC_NS. The owner then renews the session; nothing else will bring the edge
 * back. Cheap enough to be asked at each packet that was no RECEIVER_NEW. */
bool receiver_lost_sync(const struct receiver *receiver, uint64_t now_ns);
/* When the next ack is due; TIME_NEVER: none is. */
uint64_t receiver_next_ns(const struct receiver *receiver);
/* Fills one ack when one is due: fixed part but credit, own_rate_kbps, missed and limited_by (the owner's), and runs
 * (WIRE_ACK_RUNS_MAX bytes of room). Call again until it returns false. */
bool receiver_ack(struct receiver *receiver, struct wire_ack *ack, uint8_t *runs, uint64_t now_ns);
