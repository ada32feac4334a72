/* Some hosts of a net as a net of their own: what the linear program is asked about when others have a
 * pace and therefore carry nothing for them. */
#pragma once

#include "planner/net/net.h"

struct part {
    struct net net;
    uint16_t *host_of; /* [net.count] host of the whole */
};

size_t part_bytes(const struct net *whole); /* of arena */
/* The source is one of those kept, and somebody else is. Rows stay as wide as they are in the whole. */
void part_init(struct part *part, const struct net *whole, const bool *keep, struct arena *arena);
/* A tree of the part in the whole's hosts; the others are not in it. */
void part_tree(const struct part *part, const struct net_tree *tree, struct net_tree *in_whole);
