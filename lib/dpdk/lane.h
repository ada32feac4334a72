/* The departure lane: finished packets wait here, in order, for their time of departure.
 *
 * Guarantee: no packet leaves before its time less `slack_ns`; order is kept; and no burst after a stall:
 * when the head is overdue by more than LANE_STALL_NS, `catch_up` packets leave at once, and the
 * schedule of the others is moved so that the next one follows them by its own distance. Later packets take
 * up what was lost by running at most 1/8 closer together than they were asked to. A device that departs
 * packets itself gets them `lead_ns` before their time, which is all that differs. Times in ns of the
 * caller's clock. Thread: one. The lane owns a packet from lane_push to lane_pop. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/report.h"
#include "dpdk/histogram.h"

#define LANE_PLACES   512 /* a power of two */
#define LANE_CATCH_UP 8
#define LANE_STALL_NS 10000
/* What nodes are ahead: a stall of the core shorter than that delays nothing then. */
#define LANE_LEAD_NS 50000

struct lane_item {
    void *packet;
    uint64_t cookie;
    uint64_t asked_ns;     /* the departure that was asked for */
    uint64_t unshifted_ns; /* and the lane's shift_ns: the departure in force; set by lane_push */
    uint32_t bytes;        /* of the frame */
    bool chained;          /* the body is still referenced after departure */
};

struct lane {
    /* How long before its time a packet goes to the device, which waits for it; 0: it doesn't. */
    uint64_t lead_ns;
    uint64_t slack_ns; /* packets this close may leave together: for devices with costly bursts */
    uint32_t
        catch_up; /* LANE_CATCH_UP, unless whoever hands packets over bounds what is overdue (edge/gather.h) */
    uint32_t head, tail; /* free-running */
    uint64_t shift_ns;   /* by which stalls have moved all departures so far, modulo 2^64 */
    uint64_t last_asked_ns, last_depart_ns;
    uint64_t last_distance_ns; /* between the last two departures asked for */
    uint64_t reanchored;       /* stalls after which the schedule was moved */
    struct histogram error_ns;
    struct lane_item items[LANE_PLACES];
};

void lane_init(struct lane *lane, uint64_t slack_ns);

static inline uint32_t lane_count(const struct lane *lane)
{
    return lane->tail - lane->head;
}

static inline uint32_t lane_room(const struct lane *lane)
{
    return LANE_PLACES - lane_count(lane);
}

/* The item `index` places behind the head. */
static inline const struct lane_item *lane_item(const struct lane *lane, uint32_t index)
{
    return &lane->items[(lane->head + index) % LANE_PLACES];
}

/* When it is to depart, stalls considered. */
static inline uint64_t lane_depart_ns(const struct lane *lane, uint32_t index)
{
    return lane_item(lane, index)->unshifted_ns + lane->shift_ns;
}

/* CHECKs room. The item is copied. */
void lane_push(struct lane *lane, const struct lane_item *item);
/* How many packets, at most `room`, may leave from the head now. */
uint32_t lane_due(struct lane *lane, uint64_t now_ns, uint32_t room);
/* `count` packets left the head: records by how much they missed their time. */
void lane_pop(struct lane *lane, uint32_t count, uint64_t sent_ns);
/* When the head is due; TIME_NEVER when empty. */
uint64_t lane_next_ns(const struct lane *lane);
/* Any thread: how late packets left, inside a report's object or row. */
void lane_report(const struct lane *lane, struct report *report);
