/* What one of the prober's measurements asks for, and may take. */
#pragma once

#include "node/train/prober.h"

/* Of a path, in parts of 10^9: a tenth of what is configured while this node has jobs. */
uint64_t prober_load_ppb(const struct node *node);
/* Called now and then: what trains have sent by now, for prober_load_bps. */
void prober_roll_load(struct node *node, uint64_t now_ns);
/* In the background, with nobody else to be measured. */
bool prober_goes_on(const struct node *node);
/* Of the path to that peer; or of the line, whose trains go to that peer first. */
struct estimator_goal prober_goal(const struct node *node, const struct peer *peer);
