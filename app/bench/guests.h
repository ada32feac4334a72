/* Peers of a relay that take no part in what it moves: whole nodes that know the relay alone, make sessions with it
 * and let their paths be measured, as any peer of it. They have no ports: their frames go into the relay's ring and are
 * taken from a switch, by the thread that also drives the others. `interval_ns` apart each sends a small data packet of
 * no job, from the tail of a transfer, so that the relay owes it an ack a little later; 0: they are quiet. */
#pragma once

#include "dpdk/port.h"
#include "dpdk/tsc.h"

#include "base/err.h"
#include "node/node_config.h"

#define GUESTS_BYTES (16ULL << 20) /* of the EAL's memory */

struct guests_config {
    uint16_t relay;        /* its number as a site */
    uint16_t first, count; /* their own numbers */
    uint64_t interval_ns;
    struct rte_ring *into; /* the relay's; theirs is the only thread that fills it */
};

/* The clock runs until the end. */
bool guests_start(const struct guests_config *config, const struct tsc_clock *clock, struct err *err);
/* Frames for them; they are freed. */
void guests_take(struct rte_mbuf *frame, uint16_t number);
/* Whatever is due leaves. */
void guests_turn(void);
/* All of them and the relay have heard of each other. */
bool guests_up(void);
