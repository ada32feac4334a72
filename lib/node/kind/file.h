/* Files and directories: blocks of a known object, held by a disk. At the source they are read ahead of the
 * slowest child; at a site they are written once whole, verified, and asked for again where their hash does
 * not agree. */
#pragma once

#include "node/job/object_kind.h"

extern const struct object_kind file_kind;

/* HAVE of all blocks, to every parent; false: a queue is full, and all are to be told again. */
bool file_post_have(struct node *node, const struct job *job);
/* Blocks whose RESEND found the queue full. All that is lacking among them is asked for: some of it may be on
 * its way anyway, and then comes twice. */
void file_resend_again(struct node *node, struct job *job);
