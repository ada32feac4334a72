/* What sources that no directory here lists may take of this node, which relays for them at most: a roster member is not an
 * enemy, but whoever has one's key is one. Sources that a directory lists have no such bounds, so that what they may have had
 * alone they have beside any number of others. A node without directories only relays: there each source has most of it, and
 * none has all.
 *
 * Guarantee: all unlisted sources together hold no more than half of the places of jobs and half of the block tables, and each
 * has no more than UNLISTED_PARTS parts looked at, and UNLISTED_PARTS_PS more each second. */
#pragma once

#include "node/role/site.h"

#define UNLISTED_PARTS    64u /* all jobs that a node may run, planned four times */
#define UNLISTED_PARTS_PS 8u

/* The peer has told a part. False: that was too much; nothing is to be looked at, nor answered. */
bool unlisted_may_tell(struct node *node, uint16_t peer, uint64_t now_ns);
/* There is room for that part among those of its kind; `replaced`: the job whose part it takes the place of, NULL: none. False:
 * err says what is used up. */
bool unlisted_fits(const struct node *node, uint16_t peer, const struct job *replaced,
                   const struct wire_part *part, struct err *err);
