/* A job, whatever this node is to it: source or site. */
#pragma once

#include "node/job/job.h"

void role_tick(struct node *node, struct job *job, uint64_t now_ns);
void role_on_disk(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns);
/* The child has let go of the job by itself, and says why. */
void role_on_child_parted(struct node *node, struct job *job, uint16_t peer, const char *text,
                          uint64_t now_ns);
/* Silence may end; a peer that restarted has forgotten everything. */
void role_on_peer_lost(struct node *node, uint16_t peer, bool restarted, uint64_t now_ns);
