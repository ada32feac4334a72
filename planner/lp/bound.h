/* Rates that no forest exceeds, in closed form: what the source can send once, what all can send together,
 * what each receiver can take (Li, Chou and Zhang, "Mutualcast", 2005; Kumar and Ross, "Peer-assisted file
 * distribution", 2006). Where only uplinks and downlinks of a complete net of receivers bind, and no child
 * limits, some forest attains the least of them. */
#pragma once

#include "planner/net/net.h"

enum bound_kind { BOUND_NONE = 0, BOUND_ROW, BOUND_PATHS_OUT, BOUND_PATHS_IN, BOUND_ALL };

struct bound {
    enum bound_kind kind;
    double bps;    /* on the wire; NET_NO_LIMIT: BOUND_NONE */
    uint32_t row;  /* BOUND_ROW: one that every tree takes once at least */
    uint16_t host; /* BOUND_PATHS_*: whose */
};

/* The least of them. An edge, a capacity or a host that only relays more never lowers it. */
struct bound bound_of(const struct net *net);
/* Prices of rows under which every tree costs 1 at least, and the capacities together what the bound says:
 * returns how many rows. Room for 2 * count of them. */
uint32_t bound_prices(const struct net *net, const struct bound *bound, uint32_t *row, double *price);
/* What every receiver can take by its own downlink: the least of them, and whose (NET_NONE: no limit). */
double bound_downlinks_bps(const struct net *net, uint16_t *host);
