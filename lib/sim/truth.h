/* What the link models leave for jobs at a time, as records of paths: what a perfect measurement of the
 * network without its jobs would find. */
#pragma once

#include "ctl/paths.h"
#include "sim/net.h"

/* Available bandwidth: the rate of the pair's own link (its policer's, where that is less) less the cross
 * traffic on it, 1 kbit/s at least; not known where it has no rate. Loss: of all kinds but full queues.
 * Interfaces and shared links are told apart from it, each less its own cross traffic. Of the cross traffic
 * count matrices.cross_mbps and those open loops (cbr, poisson, onoff by its mean) that run at now_ns: what obeys
 * acks leaves room for others. Shared links beyond PLAN_SHARED_MAX narrow the pairs that cross them. */
void truth_paths(const struct scenario *scenario, struct net *net, uint64_t now_ns, struct ctl_paths *paths);
/* What the hop of a pair's way that has least leaves, and its rate; 0: none has a rate. Cross traffic as above, by its
 * mean. */
uint64_t truth_tight_bps(const struct scenario *scenario, struct net *net, uint16_t from, uint16_t to,
                         uint64_t now_ns, uint64_t *rate_bps);
