/* Makes the entries of a packed directory below a root: pieces of content as they come, and what has to wait
 * until all content is there. Blocking calls, made by the disk threads only. */
#pragma once

#include <pthread.h>

#include "disk/lost.h"
#include "disk/tree.h"

struct unpack {
    const struct pack *pack;
    int root_fd;
    struct disk_accept keep; /* what is taken over */
    bool sync;               /* each file is on the disk before unpack_range returns */
    uint8_t *made;           /* bit per entry: this file or link is ours */
    uint8_t *split;          /* bit per entry: came in several pieces, has its mode and time still to get */
    uint32_t links_copied;   /* hard links that became files of their own: the filesystem has none */
    pthread_mutex_t lock;    /* creation of what comes in pieces */
};

/* False: no memory. unpack_end either way; it does nothing where all is zeros. */
bool unpack_begin(struct unpack *unpack, const struct pack *pack, struct disk_accept keep, int root_fd);
void unpack_end(struct unpack *unpack);

/* What of the index `keep` leaves out, and the filesystem has not. */
void unpack_count_lost(const struct unpack *unpack, struct lost *lost);
/* All directories, 0700. */
bool unpack_directories(struct unpack *unpack, char text[DISK_TEXT_BYTES]);
/* Content from `start` to `end` - 1; may come again. Ranges side by side are fine as long as they don't
 * overlap. A name that is there already and not by this call fails: on a filesystem that does not tell case
 * two names of the tree may be one. */
bool unpack_range(struct unpack *unpack, uint64_t start, uint64_t end, const uint8_t *data,
                  char text[DISK_TEXT_BYTES]);
/* After all ranges: hard links (copies where the filesystem has none), modes, owners, times. */
bool unpack_finish(struct unpack *unpack, char text[DISK_TEXT_BYTES]);
