/* Receivers that hold all others back: what they can be sent at most, whatever the trees. */
#pragma once

#include "planner/net/net.h"

/* most_bps[host]: what no forest of so many trees brings the host more than: its downlink and processor,
 * the paths towards it, and shared links that all paths into a group of hosts cross. NET_NO_LIMIT of the
 * source and of hosts that want nothing. `member` as in a task. */
void pace_most(const struct net *net, const bool *member, uint16_t trees, double *most_bps);
/* The least of most_bps among receivers without a pace yet; NET_NO_LIMIT: all have one. */
double pace_slowest_bps(const struct net *net, const double *most_bps, const double *pace_bps);
/* Receivers without a pace whose most_bps is at most `bps` get one: what they can be sent, or `cap_bps` if
 * that is less. False: no other would be left. */
bool pace_set(const struct net *net, const double *most_bps, double bps, double cap_bps, double *pace_bps);
