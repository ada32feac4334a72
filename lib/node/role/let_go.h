/* A parent that feeds a child no more, for a reason of its own, lets go of it: it tells the child and the source why.
 * Nobody else would: the child is there, and waits. What comes by that edge is lost to the child and to all below it. */
#pragma once

#include "node/job/job.h"

/* Of a job that runs, on every tick: the children that the flow and the kinds have let go of since (edges_note_gone).
 * Who could not be told is told at the next one. */
void let_go_tell(struct node *node, struct job *job, uint64_t now_ns);
/* At a site from a parent, of this site; at the source from a site, of a child of that. False: neither. */
bool let_go_on_message(struct node *node, struct job *job, uint16_t peer,
                       const struct control_let_go *message, uint64_t now_ns);
