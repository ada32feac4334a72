/* How NAME.part, a directory, becomes NAME: in the place of nothing, or of a tree that is removed then.
 *
 * Guarantee: of the old tree nothing is removed before the new one has its name, and never anything of another
 * filesystem that is mounted in it. Of several jobs that replace one after the other none takes away what another
 * has made: an old tree is removed by its descriptor, and its name only while it still is its own.
 *
 * Blocking calls, made by the disk threads only. */
#pragma once

#include "disk/place.h"

/* Whether the tree behind fd, which stands at NAME, may be replaced. False: text says why not. */
bool replace_allowed(const struct place *place, int fd, char text[DISK_TEXT_BYTES]);
/* NAME.part, open as part_fd and locked, becomes NAME, where nothing is. It is a part no longer, and not locked.
 * False: text says why not. */
bool replace_nothing(const struct place *place, int part_fd, char text[DISK_TEXT_BYTES]);
/* The same where a directory is, which is removed. False: text says why; *renamed: only that failed, or not. */
bool replace_tree(struct place *place, int part_fd, bool *renamed, char text[DISK_TEXT_BYTES]);
