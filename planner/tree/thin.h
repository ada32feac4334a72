/* Of very many hosts: which edges builders look at. A host is fed by one of its neighbours, of those among
 * them that have more than most to give, of the widest paths to it, of the greatest uplinks, or by the
 * source: hosts in one place stay together, places hang on their neighbours and on whoever has much to give,
 * and building costs hosts times that few instead of hosts^2. */
#pragma once

#include "planner/tree/shares.h"

/* Closes all other edges, but for those of the trees given. */
void thin(const struct task *task, const struct net_forest *const *forests, unsigned forest_count,
          struct shares *shares);
