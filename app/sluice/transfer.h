/* What a transfer came to, in words for the log. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/name.h"

#define TRANSFER_OBJECT_BYTES (NAME_BYTES + PATH_BYTES)
#define TRANSFER_VIA_BYTES    128

struct transfer {
    char object[TRANSFER_OBJECT_BYTES]; /* what was moved; bytes of any kind */
    char from[NAME_BYTES];              /* its source; "": this node */
    char via[TRANSFER_VIA_BYTES];       /* who brought it, but for the source; "": only the source did */
    uint64_t bytes, took_ns;
    uint16_t sites, sites_whole; /* at the source: how many were to get it, and have it as a whole */
};

/* "received in/a.tar from london: 1.23 GB in 13.4 s, 734 Mbit/s, via frankfurt", or, at the source, "sent a.tar to 4 of
 * 4 sites: 1.23 GB in 13.4 s, 734 Mbit/s". The rate is that of the object's bytes. */
void transfer_words(const struct transfer *transfer, char *text, size_t room);
