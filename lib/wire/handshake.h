/* INITIATION, RESPONSE: two nodes make a session (seal/handshake.h). Fixed sizes, so that no answer is longer than
 * what caused it. The header's tag is the handshake's MAC over all of it, its stamp is 0; its session is 0 in an
 * initiation, that of the initiator in a response; its packet number is 0 in a response, in an initiation the name of
 * the newest one that came from the other end (the first four bytes of its ephemeral key; 0: none came): who has not
 * heard that one can't name it.
 *
 * Both carry the sender's greeting, sealed. edge: which state of the edge between them the sender still has; where both
 * name the same one the edge goes on, else both begin anew. */
#pragma once

#include "wire/header.h"

#define WIRE_GREETING_FIELDS(FIELD)                                                                          \
    FIELD(u64, incarnation)  /* random at each start */                                                      \
    FIELD(u64, edge)         /* 0: none */                                                                   \
    FIELD(u64, roster)       /* hash of the sender's roster; 0: not told */                                  \
    FIELD(u32, session)      /* put this into packets to me */                                               \
    FIELD(u32, window)       /* packet numbers that my receive tracking covers */                            \
    FIELD(u32, capabilities) /* sent as 0, not looked at */                                                  \
    FIELD(u16, mtu)          /* largest IP packet my port takes */                                           \
    FIELD(u16, interval_ms)  /* of my hellos: four silent ones mean that I am gone */                        \
    FIELD(name, name)        /* my name, zero padded */                                                      \
    FIELD(name, peer)        /* whom I believe to talk to */

WIRE_DECLARE(greeting, WIRE_GREETING_FIELDS)
#define WIRE_GREETING_BYTES WIRE_FIXED_BYTES(WIRE_GREETING_FIELDS)
_Static_assert(WIRE_GREETING_BYTES + WIRE_TAG_BYTES == WIRE_SEALED_BYTES, "a greeting and its tag");

#define WIRE_INITIATION_FIELDS(FIELD)                                                                        \
    FIELD(hash, ephemeral)  /* public key of this handshake */                                               \
    FIELD(hash, static_key) /* the sender's public key, sealed … */                                        \
    FIELD(tag, static_tag)  /* … and its tag */                                                            \
    FIELD(sealed, greeting)

#define WIRE_RESPONSE_FIELDS(FIELD)                                                                          \
    FIELD(hash, ephemeral)                                                                                   \
    FIELD(sealed, greeting)

WIRE_DECLARE(initiation, WIRE_INITIATION_FIELDS)
WIRE_DECLARE(response, WIRE_RESPONSE_FIELDS)
#define WIRE_INITIATION_BYTES (WIRE_HEADER_BYTES + WIRE_FIXED_BYTES(WIRE_INITIATION_FIELDS))
#define WIRE_RESPONSE_BYTES   (WIRE_HEADER_BYTES + WIRE_FIXED_BYTES(WIRE_RESPONSE_FIELDS))
_Static_assert(WIRE_INITIATION_BYTES == 232 && WIRE_RESPONSE_BYTES == 184, "fixed sizes");

/* Every port takes IP packets of this size (RFC 8200): acks and messages are never longer. */
#define WIRE_MTU_MIN MTU_MIN

/* Both names are checked with name_valid; incarnation, session, interval and window are not 0, mtu >= WIRE_MTU_MIN. */
enum wire_error wire_greeting_decode(const uint8_t data[WIRE_GREETING_BYTES], struct wire_greeting *greeting);
/* The datagram's length and the header's fields. */
enum wire_error wire_handshake_check(const struct wire_header *header, size_t length);
