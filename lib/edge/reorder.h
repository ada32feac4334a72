/* How long a missing packet may still be on its way: the reorder allowance of loss detection, in send time.
 *
 *     allowance = late * (1 + margin/64), within REORDER_MIN_NS … max(RTT, REORDER_CEILING_NS)
 *
 * `late` is the peak of what the receiver reports (send-time distance between a packet and the newest one
 * that had overtaken it); it fades by 1/REORDER_FADE_RTTS per RTT of acks, not while the edge is idle. The
 * margin is a quarter, more after every ack that shows a repair to have been needless, and goes back one 64th
 * every REORDER_CALM_RTTS. Until lateness has been watched over half an RTT of departures nothing is known: a
 * quarter of the RTT is allowed, or REORDER_CEILING_NS where that is less. */
#pragma once

#include <stdint.h>

#define REORDER_MIN_NS     1000000ULL
#define REORDER_CEILING_NS 50000000ULL
#define REORDER_FADE_RTTS  32
#define REORDER_CALM_RTTS  4
#define REORDER_MARGIN     16u /* in 64ths of the lateness */
#define REORDER_MARGIN_MAX 128u

struct reorder {
    uint64_t allowance_ns; /* in force */
    uint64_t late_ns;
    uint64_t fresh_ns;   /* when it was brought up to date */
    uint64_t calm_ns;    /* since the margin changed, in time of acks */
    uint64_t watched_ns; /* departures over which lateness was watched */
    uint64_t newest_sent_ns;
    uint32_t margin;
};

/* Nothing is known of the path. */
void reorder_init(struct reorder *reorder);
/* An ack at now_ns: its lateness, and the departure of the newest packet it knows of. */
void reorder_on_ack(struct reorder *reorder, uint64_t late_ns, uint64_t newest_sent_ns, uint64_t rtt_ns,
                    uint64_t now_ns);
/* A packet declared lost came after all. */
void reorder_on_spurious(struct reorder *reorder, uint64_t rtt_ns);
