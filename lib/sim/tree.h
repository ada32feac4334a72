/* A simulated directory: the index of a tree of so many files, made from a seed. Its files' content is the
 * source's (content.h). */
#pragma once

#include <stdint.h>

#include "pack/pack.h"

#define SIM_TREE_FILES_IN 100 /* files in each directory; after them a link */

/* `files` share size_bytes, unevenly and some of them empty. The index (pack->bytes) is the caller's to free;
 * pack->object_bytes is what a job sends. */
void sim_tree_make(struct pack *pack, uint32_t files, uint64_t size_bytes, uint64_t seed);
