#include "disk/lost.h"

#include <inttypes.h>
#include <stdio.h>

void lost_tell(const struct lost *lost, const char *const why[LOST_KIND_COUNT], char text[DISK_TEXT_BYTES])
{
    static const char *const names[LOST_KIND_COUNT] = {"other owners", "set-id bits", "attributes",
                                                       "hard links"};
    size_t at = 0;
    text[0] = '\0';
    for (int kind = 0; kind < LOST_KIND_COUNT; kind++) {
        char count[32] = "";
        if (lost->entries[kind] == 0)
            continue;
        if (lost->entries[kind] != LOST_UNCOUNTED)
            snprintf(count, sizeof(count), " of %" PRIu32 " entries", lost->entries[kind]);
        at += (size_t)snprintf(text + at, DISK_TEXT_BYTES - at, "%s%s%s (%s)", at == 0 ? "not kept: " : ", ",
                               names[kind], count, why[kind]);
    }
}
