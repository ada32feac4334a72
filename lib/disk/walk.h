/* Walks a directory and makes its index (pack/pack.h). Blocking calls, made by the disk threads only. */
#pragma once

#include "disk/tree.h"

/* What the job's policy leaves behind, in numbers of entries. */
struct walk_lost {
    uint32_t owners;  /* user or group other than the directory's own */
    uint32_t set_ids; /* set-id bits */
    uint32_t xattrs;  /* access lists, and the user's attributes unless kept */
    uint32_t links;   /* further names that become files of their own */
};

struct walked {
    struct pack pack; /* of `bytes` */
    uint8_t *bytes;   /* the index */
    uint64_t *inodes; /* of each entry */
    struct wire_hash hash;
    struct walk_lost lost;
};

/* `tree`: PART_TREE_…. The two arrays are the caller's to free. False: text says which entry and why: one
 * that can not be read, or that is neither file, directory nor symbolic link. */
bool walk_tree(struct walked *walked, int root_fd, uint8_t tree, const char *shown,
               char text[DISK_TEXT_BYTES]);
