/* What of an edge's losses the receiver's ring lost: packets that came to its host, which did not take them
 * in time.
 *
 * Each ack tells how many frames the port has missed so far. Growth of that count is a credit: as many of
 * the packets that turn out lost soon after are the ring's. It is the whole port's count, of all edges and
 * of what else comes in, so a sender has what is another's as well, as far as it has packets under way;
 * losses on the path that fall into the same moment are then taken for the ring's.
 *
 * What the ring lost while the host stood still says nothing of the rate, and is forgiven: up to what was
 * under way at the end of the standstill. It shows by acks that come after twice as long as usual, or tell
 * that what they are of had waited for twice as long. What the ring loses without is more than the host
 * takes: that is for the strategy to find out, as with any bottleneck. A host that never catches up, or a
 * peer that says so, is late as a rule: it is forgiven nothing. Counts of frames, times in ns. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What is usual of a time that is told again and again. */
struct ring_usual {
    uint64_t ns;
    uint64_t set_ns; /* when it was learnt last */
};

struct ring_loss {
    bool known;
    uint32_t missed;        /* the port's count, as told last */
    uint64_t credit;        /* frames missed that were not yet found among the lost */
    uint64_t grown_ns;      /* when it grew last */
    struct ring_usual wait; /* of what comes, at the receiver */
    struct ring_usual gap;  /* between acks … */
    uint64_t heard_ns;      /* … the newest of which came then */
    uint64_t stood_ns;      /* when a standstill was told last; 0: never */
    uint64_t open;          /* packets that were under way then, and were not forgiven yet */
    /* Of the packets judged since since_ns the ring lost so many. */
    uint64_t since_ns, judged, lost;
    uint64_t limits_until_ns; /* the ring is what limits the edge */
};

/* What became of packets that an ack judged. */
struct ring_lost {
    uint64_t all;      /* the ring's */
    uint64_t forgiven; /* … of those, while its host stood still */
};

/* Nothing is known; with a new session the count begins anew. */
void ring_loss_init(struct ring_loss *ring);
void ring_loss_forget(struct ring_loss *ring);
/* The newest ack: the port's count, how long what it tells of may have waited there, packets under way
 * before it, and how long after the count its losses may be declared. Returns by how much the count has
 * grown. */
uint32_t ring_loss_on_ack(struct ring_loss *ring, uint32_t missed, uint64_t wait_ns, uint64_t in_flight,
                          uint64_t lasts_ns, uint64_t now_ns);
/* An ack judged so many packets, `lost` of them lost. */
struct ring_lost ring_loss_judge(struct ring_loss *ring, uint64_t judged, uint64_t lost, uint64_t lasts_ns,
                                 uint64_t now_ns);
/* Of what came to the receiver in the last seconds its ring lost more than 1 %. */
bool ring_loss_limits(const struct ring_loss *ring, uint64_t now_ns);
