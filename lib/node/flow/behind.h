/* Children that are left behind. What a child was sent some of, and what cannot be read back from a disk,
 * stays in memory until the child has acked it: a dead child of a relay without a disk would hold everybody
 * up until the source fails them all. So, while memory is short, a child that holds some of it and takes
 * nothing for half of the stall timeout is dropped; also one that takes less than an eighth of a block in
 * that time while another child has been sent all that is there and waits for more. One that answers and says
 * that its own memory is full is waited for: it is a relay with such a child itself, and looks after it.
 * Streams have their own rule (kind/stream.h).
 *
 * Of all kinds, a child that takes nothing for the stall timeout, and to which the path carries small packets only, is
 * dropped: no piece of a data packet fits. */
#pragma once

#include "node/flow/flow.h"

void behind_tick(struct node *node, struct job *job);
/* Of a stream: looks at the paths only. */
void behind_tick_stream(struct node *node, struct job *job);
