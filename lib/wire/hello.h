/* HELLO: I am here, and so often I say so. Sent under a session, like all but a handshake; it is sealed, so that who
 * has opened it knows that the peer is there. */
#pragma once

#include "wire/header.h"

#define WIRE_HELLO_FIELDS(FIELD)                                                                             \
    FIELD(u16, interval_ms) /* my hello interval: four silent ones mean that I am gone */                    \
    FIELD(u8, key_id)       /* of your keys, the one whose packet I opened last */                           \
    FIELD(u8, reserved)

WIRE_DECLARE(hello, WIRE_HELLO_FIELDS)
#define WIRE_HELLO_BYTES (WIRE_HEADER_BYTES + WIRE_FIXED_BYTES(WIRE_HELLO_FIELDS))

/* interval_ms is not 0. The datagram must be exactly WIRE_HELLO_BYTES long. */
enum wire_error wire_hello_decode(const uint8_t *data, size_t length, struct wire_hello *hello);
size_t wire_hello_encode(uint8_t *out, const struct wire_header *header, const struct wire_hello *hello);
