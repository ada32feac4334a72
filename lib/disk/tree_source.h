/* A directory as a source: walked when it is opened, read as one packed object. Blocking calls, made by the
 * disk threads only; reads run side by side, since nothing changes after opening. */
#pragma once

#include "disk/walk.h"

struct tree_source;

/* `fd`, the open directory, belongs to the tree from now on. NULL: the reply's text says why. */
struct tree_source *tree_source_open(int fd, const struct disk_open *open, const char *shown,
                                     struct disk_reply *reply);
enum disk_status tree_source_read(const struct tree_source *tree, const struct disk_request *request,
                                  char text[DISK_TEXT_BYTES]);
void tree_source_close(struct tree_source *tree);
