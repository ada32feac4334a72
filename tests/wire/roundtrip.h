/* Decodes any datagram or frame all the way and, where that succeeded, encodes the result again: what is
 * accepted must come out the same. A difference is a CHECK. Used by the unit tests and the fuzz targets. */
#pragma once

#include "wire/ethernet.h"
#include "wire/header.h"

/* Header, the type's decoder, a message's body. The bytes must come back identical. */
enum wire_error roundtrip_datagram(const uint8_t *data, size_t length);

/* Parses with and without verification; an accepted frame's addresses and payload, framed again, parse to
 * the same view. Returns the verdict with verification. */
enum frame_error roundtrip_frame(const uint8_t *frame, size_t length);
