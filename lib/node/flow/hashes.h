/* Hashes of blocks go down the tree ahead of them, in groups. */
#pragma once

#include "node/flow/flow.h"

void hashes_send(struct node *node, struct job *job, uint64_t now_ns);
