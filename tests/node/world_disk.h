/* The disks of the small world: files in memory, hashes that are cheap, and what each request is answered with.
 * When the answer arrives, and which faults it meets, is the world's affair. */
#pragma once

#include "world.h"

/* Aborts on a request that lib/disk could not serve. *reply is filled; data is read or written at once. */
void world_disk_answer(struct world *world, struct world_node *node, const struct disk_request *request,
                       struct disk_reply *reply);
