/* The link model: packets and time in, decisions out. Used by the simulator (virtual time) and the emulator
 * (real time) alike.
 *
 * Order of impairments: policer → queue → shaper and rate → loss (and corruption, duplication) → delay and
 * jitter. A lost packet has occupied the link; a packet that the full queue refuses has not, but has used the
 * policer's tokens; one that the policer drops has used nothing. Jitter j adds a uniform 0 … j to each
 * packet's delay; without `reorder` a packet never overtakes its predecessor (it leaves at the later of its
 * own time and the predecessor's). The queue is what waits for the shaper (a virtual queue: the backlog in
 * time at the link's rate). A packet is refused when what it would wait behind exceeds the limit: more than
 * queue_limit ns, more than queue_limit bytes (converted at the rate, that of the shaper's tokens where there
 * is one), or queue_limit packets besides the one being sent. So a packet that finds the link idle always
 * passes, and without a rate only limits in packets matter (while the link is down and holds). A limit in ns
 * or bytes gives way to queue_min_packets times the packet's own transmission time where that is more: a
 * shallow queue at a low rate still holds a few packets. A packet that waits longer than ecn_ns is congested
 * (with a ramp: at first by a chance that grows with the wait, as by RED): if it is ECN-capable it is marked
 * (RFC 3168), which netem_mark does for the caller, who knows the header; the full queue still drops. A
 * duplicate is made behind the shaper: it takes no link time, has its own jitter and shares the original's
 * corruption.
 *
 * The background (cross traffic at config.background_bps, and what was joined) joins at the queue, behind the
 * policer: its packets take the shaper's time, wait, and are refused by the full queue as others are; they
 * draw nothing from the link's generator, and what becomes of them further on is nobody's affair. The
 * decisions are exactly those that would be made if each of them were sent.
 *
 * Integers only, sub-nanosecond remainders of the rate are carried: over any time the link passes rate ±
 * one packet. Each link has its own generator: the same seed and the same packets give the same decisions. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "netem/background.h"
#include "netem/bucket.h"
#include "netem/config.h"
#include "netem/shaper.h"

enum netem_verdict {
    NETEM_PASS,
    NETEM_LOST, /* independently or in a burst */
    NETEM_QUEUE_DROP,
    NETEM_TOO_LONG,
    NETEM_DOWN,    /* the link is down in drop mode */
    NETEM_POLICED, /* too few tokens */
};

struct netem_decision {
    enum netem_verdict verdict;
    uint64_t depart_ns; /* the last bit leaves the shaper (also for LOST) */
    uint64_t arrive_ns; /* PASS: when it comes out at the far end */
    bool duplicated;
    uint64_t duplicate_ns; /* when the copy comes out */
    bool corrupted;
    uint32_t corrupt_bit; /* of the IP packet: < 8 * ip_bytes */
    bool congested;       /* it waited longer than ecn_ns, or the link rewrites all fields: see netem_mark */
};

/* packets, bytes: all that were offered, bytes on the wire. Each packet that did not pass counts once more,
 * by its verdict; lost_burst: those of `lost` that the burst model took. reordered: packets that came out
 * before one that had been sent earlier. */
struct netem_counters {
    uint64_t packets, bytes, lost, queue_drops, policer_drops, too_long, down_drops;
    uint64_t lost_burst, duplicated, corrupted, reordered, marked;
    /* Not in the others; up to the last catch-up. Bytes: of those that were not dropped. */
    uint64_t background_packets, background_drops, background_bytes;
};

struct netem_truth;

struct netem_link {
    struct netem_config config;
    struct rng rng;
    struct netem_bucket policer;
    struct netem_background background; /* the first of all that are joined */
    uint64_t background_ns;             /* when the next packet of any of them comes */
    struct netem_truth *truth;          /* NULL: nobody watches */
    bool has_burst, in_burst;
    uint64_t queue_ns_max; /* the queue limit as waiting time; UINT64_MAX: none of that kind */
    struct netem_shaper shaper;
    uint64_t last_arrive_ns;   /* keeps order */
    uint64_t newest_arrive_ns; /* counts reordering */
    uint64_t *departures;      /* ring of departure times, only with NETEM_QUEUE_PACKETS */
    uint32_t departures_mask;
    uint64_t departures_head, departures_tail;
    bool down;       /* fault injection */
    bool down_holds; /* hold: packets wait until up_ns; else they are dropped */
    uint64_t up_ns;
    void *memory; /* of netem_make: for whoever frees it */
    struct netem_counters counters;
};

/* `departures`: storage for packet-counted queues, a power of two > queue_limit places; NULL otherwise.
 * Given storage is kept up to date with every unit, so that netem_set may change to packets. */
void netem_init(struct netem_link *link, const struct netem_config *config, uint64_t seed,
                uint64_t *departures, uint32_t departures_places);
/* One background more, before anything else is asked of the link; it lives as long as that. Whoever makes
 * a link joins one for each of config.loads. */
void netem_join(struct netem_link *link, struct netem_background *background);
/* Records what happens from now on (truth.h); before anything else is asked of the link. */
void netem_watch(struct netem_link *link, struct netem_truth *truth);
/* The background begins at now_ns instead of 0; before anything else is asked of the link. */
void netem_background_from(struct netem_link *link, uint64_t now_ns);
/* New parameters from now on; what is under way stays as decided. Without reorder, order is still kept.
 * A policer or shaper starts full when its values differ from those before. The background stays as it is. */
void netem_set(struct netem_link *link, const struct netem_config *config);
/* Down from now until up_ns. With `holds` packets wait and leave at the link's rate from up_ns on (2^60 ns if
 * that is later), within the queue's limits; else they are dropped. What is under way stays as decided. */
void netem_down(struct netem_link *link, bool holds, uint64_t up_ns);
/* A packet of wire_bytes on the wire (ip_bytes as IP packet) reaches the link at now_ns; calls come in order
 * of time. */
struct netem_decision netem_send(struct netem_link *link, uint32_t wire_bytes, uint32_t ip_bytes,
                                 uint64_t now_ns);
/* Time that a packet arriving now would wait for the shaper; calls come in order of time, also with those of
 * netem_send. */
uint64_t netem_queue_ns(struct netem_link *link, uint64_t now_ns);
/* The ECN field (two bits) with which a packet that came with `ecn` goes on: CE when it is ECN-capable and
 * the decision says congested (Not-ECT where the link clears the field). */
uint8_t netem_mark(struct netem_link *link, const struct netem_decision *decision, uint8_t ecn);
/* What netem_catch_up does where some have come. */
void netem_take_background(struct netem_link *link, uint64_t now_ns);

/* Takes in the background's packets that come by now_ns; nothing where there are none. netem_send and
 * netem_queue_ns do it themselves; it is to be called before a change of the link and before its counters of
 * the background are read. */
static inline void netem_catch_up(struct netem_link *link, uint64_t now_ns)
{
    if (link->background_ns <= now_ns)
        netem_take_background(link, now_ns);
}
