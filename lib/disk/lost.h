/* What of a tree is not kept, in numbers of entries, and the line that tells it: at the source what the job's
 * keys leave behind, at a site what its directory does not accept. */
#pragma once

#include <stdint.h>

#include "store/disk.h"

enum lost_kind {
    LOST_OWNERS,  /* user or group other than it gets now */
    LOST_SET_IDS, /* set-id bits */
    LOST_XATTRS,  /* access lists and the user's attributes */
    LOST_LINKS,   /* further names that become files of their own */
    LOST_KIND_COUNT
};

#define LOST_UNCOUNTED UINT32_MAX /* not kept, and not known yet of how many */

struct lost {
    uint32_t entries[LOST_KIND_COUNT];
};

/* "not kept: set-id bits of 2 entries (owner), hard links of 3 entries (hardlinks)", the words in brackets
 * being those of `why`; empty where nothing is lost. */
void lost_tell(const struct lost *lost, const char *const why[LOST_KIND_COUNT], char text[DISK_TEXT_BYTES]);
