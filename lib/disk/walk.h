/* Walks a directory and makes its index (pack/pack.h). Blocking calls, made by the disk threads only. */
#pragma once

#include "disk/lost.h"
#include "disk/tree.h"

struct walked {
    struct pack pack;       /* of `bytes` */
    uint8_t *bytes;         /* the index */
    struct tree_seen *seen; /* of each entry */
    struct wire_hash hash;
    struct lost lost; /* what the job's keys leave behind */
};

/* `tree`: PART_TREE_…. The two arrays are the caller's to free. False: text says which entry and why: one
 * that can not be read, or that is neither file, directory nor symbolic link. */
bool walk_tree(struct walked *walked, int root_fd, uint8_t tree, const char *shown,
               char text[DISK_TEXT_BYTES]);
/* The same by a thread that acts as a caller (identity.h): a file that he can not read is refused, by its name.
 * What is read later is what was looked at here, by its inode. */
bool walk_tree_of_caller(struct walked *walked, int root_fd, uint8_t tree, const char *shown,
                         char text[DISK_TEXT_BYTES]);
