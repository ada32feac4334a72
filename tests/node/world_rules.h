/* What a node keeps so that no turn has to look at all peers or jobs holds after every step of the small world: what
 * may be found out late, and what is not asked, has nothing to be found. */
#pragma once

#include "node/node.h"

/* CHECKs it. */
void world_rules_check(const struct node *node);
