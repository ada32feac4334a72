/* What measurements of a net are worth: what a plan that is made of them carries on the true net. */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "probe/estimate.h"

#define WORTH_TREES 4 /* that `auto` may choose */

/* Hosts in sites, as many in each; every pair has a path of its own, and leaves its site by a way out that is shared. */
struct worth_net {
    uint16_t nodes, sites;
    uint64_t port_bps, egress_bps;
    const uint64_t *avail_bps; /* [from * nodes + to], truly */
};

/* By those estimates, [from * nodes + to], `auto` plans one object from the first host to all others; rates then grow in the
 * proportions that were planned until something of the true net is full. That over the same for a plan by the truth. 0: there
 * is no plan. */
double worth(const struct worth_net *net, const struct estimate *measured, struct arena *solver);
