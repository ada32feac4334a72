/* Which part of a datagram is what to the keys of its session. */
#pragma once

#include "wire/header.h"

/* What is only authenticated of a datagram, from its first byte on, and whether all that is behind is encrypted and
 * authenticated too; where it is not, what is behind is zeros that mean nothing, or symbols that are sealed by
 * themselves. */
struct wire_sealed_part {
    size_t known_bytes;
    bool rest_is_sealed;
};
/* `data`: the datagram, or as much of it as belongs to `length`, at least the header. known_bytes 0: too short. */
struct wire_sealed_part wire_sealed_part(const uint8_t *data, size_t length);
