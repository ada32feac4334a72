/* HELLO: who I am, which session you are to use towards me, and the echo of yours. Fixed size for every node,
 * so that an answer is never longer than what caused it. A peer is up once its hello echoes our session. */
#pragma once

#include "wire/header.h"

#define WIRE_HELLO_FIELDS(FIELD)                                                                             \
    FIELD(u64, incarnation)  /* random at each start: a new one means that the peer lost its state */        \
    FIELD(u32, session)      /* put this into packets to me */                                               \
    FIELD(u32, echo_session) /* what I put into packets to you; 0 while unknown */                           \
    FIELD(u16, mtu)          /* largest IP packet my port takes */                                           \
    FIELD(u16, interval_ms)  /* my hello interval: four silent ones mean that I am gone */                   \
    FIELD(u32, window)       /* packet numbers that my receive tracking covers */                            \
    FIELD(name, name)        /* my name, zero padded */                                                      \
    FIELD(name, peer)        /* whom I believe to talk to */

WIRE_DECLARE(hello, WIRE_HELLO_FIELDS)
#define WIRE_HELLO_BYTES (WIRE_HEADER_BYTES + WIRE_FIXED_BYTES(WIRE_HELLO_FIELDS))

/* Every port takes IP packets of this size (RFC 8200): acks and messages are never longer. */
#define WIRE_MTU_MIN MTU_MIN

/* Both names are checked with name_valid; session, interval and window are not 0, mtu >= WIRE_MTU_MIN. The
 * datagram must be exactly WIRE_HELLO_BYTES long. */
enum wire_error wire_hello_decode(const uint8_t *data, size_t length, struct wire_hello *hello);
size_t wire_hello_encode(uint8_t *out, const struct wire_header *header, const struct wire_hello *hello);
