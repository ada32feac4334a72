/* What is to be planned: a net, who is in every tree, and who is fed at a pace of its own.
 *
 * A slow host gets less than the others (its downlink or its paths give no more), and must not hold them: it
 * feeds nobody but hosts that are as slow, so an edge into it carries its pace and not the forest's rate. */
#pragma once

#include "planner/net/net.h"

struct task {
    const struct net *net;
    const bool *member;     /* the source, receivers, and the relays that every tree is to have */
    const double *pace_bps; /* of a slow host; NET_NO_LIMIT: it gets what the forest carries */
};

static inline double task_pace_bps(const struct task *task, uint16_t host, double rate_bps)
{
    return task->pace_bps[host] < rate_bps ? task->pace_bps[host] : rate_bps;
}
