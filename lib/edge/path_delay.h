/* What one-way delays say of a path: how long packets wait in its queues now, and how much it jitters.
 *
 * Three filters over the least one-way delay of each ack:
 *   base    least of all since the newest renewal: the empty path
 *   now     least over the newest RTT/8 or PATH_DELAY_PACKETS_MIN packets, whichever takes longer (but never
 *           over more than PATH_DELAY_BUCKETS times that): jitter only adds, so the least shows the queue
 *   jitter  peak of what packets sent next to each other differ by beyond their own distance in time. No
 *           queue does that (a queue grows by what arrives in between), whereas the spread of delays over a
 *           window is queue as much as jitter. Held for PATH_DELAY_JITTER_HOLD_NS to twice that. Jitter that
 *           keeps the order looks, at high packet rates, like a longer path: it enters base and now alike.
 *
 * The base can only fall by itself. When the path got longer, or the base was seen last so long ago that
 * clocks may have drifted, the owner lets the queue run dry and calls path_delay_renew_base: what is then
 * seen replaces it.
 *
 * Delays are in ns on an arbitrary, constant origin (the two clocks' offset is inside). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PATH_DELAY_PACKETS_MIN    32
#define PATH_DELAY_BUCKETS        16
#define PATH_DELAY_JITTER_HOLD_NS 30000000000ULL

struct path_delay {
    bool known;
    int64_t base_ns;
    int64_t floor_ns;      /* the least since the last renewal, shifted or not */
    uint64_t nearer_ns;    /* what packets wait for their predecessors more now than when that was seen */
    uint64_t base_seen_ns; /* when a packet last came as fast as that, nearly */
    struct {
        int64_t least_ns;
        uint32_t packets;
    } buckets[PATH_DELAY_BUCKETS]; /* per RTT/8 */
    uint32_t packets_min;          /* so many are looked at, at least */
    uint64_t bucket_start_ns;
    uint32_t bucket;                  /* the newest is at bucket % PATH_DELAY_BUCKETS */
    uint64_t jump_ns, jump_before_ns; /* peaks of this and the previous hold time */
    uint64_t jump_start_ns;
    uint64_t late_ns; /* how late overtaken packets come, as told last */
};

/* Nothing is known of the path. */
void path_delay_init(struct path_delay *delay, uint64_t now_ns);
/* One ack: the least delay among `packets` newly received ones. Delays within `tolerance_ns` of the base
 * count as having seen it. */
void path_delay_on_sample(struct path_delay *delay, int64_t owd_ns, uint64_t packets, uint64_t rtt_ns,
                          uint64_t tolerance_ns, uint64_t now_ns);
/* The largest difference between neighbours that the ack tells of. */
void path_delay_on_jump(struct path_delay *delay, uint64_t jump_ns, uint64_t now_ns);
/* How late packets overtaken by newer ones come; 0: order is kept. */
void path_delay_on_late(struct path_delay *delay, uint64_t late_ns);
/* The base moves to what comes now, at most so much above the least delay ever: packets are sent at another
 * distance than before. TIME_NEVER: however much. */
void path_delay_shift_base(struct path_delay *delay, uint64_t up_ns_max);
/* The queue has run dry where packets wait for their predecessors: the base rises to what was seen then, at
 * most so much above the least delay ever. */
void path_delay_raise_base(struct path_delay *delay, int64_t base_ns, uint64_t up_ns_max);
/* The queue has run dry: the base is what was seen then. */
void path_delay_renew_base(struct path_delay *delay, int64_t base_ns, uint64_t now_ns);
/* A step of the path's length was no jitter: neighbours differ by no more than so much, as was known before. */
void path_delay_forget_jump(struct path_delay *delay, uint64_t jitter_ns);
/* The base, and what packets wait longer than then. */
int64_t path_delay_empty_ns(const struct path_delay *delay);
/* How long packets wait in queues now: least delay of late above that. */
uint64_t path_delay_queue_ns(const struct path_delay *delay);
/* Peak of late of what neighbours differ by. */
uint64_t path_delay_jitter_ns(const struct path_delay *delay);
/* Packets that are late wait for their predecessors instead of being overtaken: the least delay is then that
 * of the queue and of the jitter together. */
bool path_delay_keeps_order(const struct path_delay *delay);
