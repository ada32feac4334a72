/* What sources that no directory here lists may take of this node, which relays for them at most: a roster member is not an
 * enemy, but whoever has one's key is one. Sources that a directory lists, or that relay_for names, have no such bounds. A node
 * without directories only relays: there each source has most of it, and none has all.
 *
 * Guarantee: all unlisted sources together hold no more than half of the places of jobs, a quarter of the block tables and of
 * the slots that are kept for trees (a node without directories: each three quarters of these); each has no more than
 * UNLISTED_PARTS parts looked at, and UNLISTED_PARTS_PS more each second; and a part that is planned again and again without a
 * start is kept UNLISTED_PLANS times as long as one. */
#pragma once

#include "node/role/site.h"

#define UNLISTED_PARTS    64u /* all jobs that a node may run, planned four times */
#define UNLISTED_PARTS_PS 8u
#define UNLISTED_PLANS    3u

/* The peer has told a part. False: that was too much; nothing is to be looked at, nor answered. */
bool unlisted_may_tell(struct node *node, uint16_t peer, uint64_t now_ns);
/* There is room for that part among those of its kind; `replaced`: the job whose part it takes the place of, NULL: none. False:
 * err says what is used up. */
bool unlisted_fits(const struct node *node, uint16_t peer, const struct job *replaced,
                   const struct wire_part *part, struct err *err);
/* So many trees the peer may have now of those that memory has room for. */
uint32_t unlisted_trees(const struct node *node, uint16_t peer, const struct job *replaced, uint32_t most);
