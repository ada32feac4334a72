/* MESSAGE: one item of mail, the reliable, ordered exchange of small control messages between two peers.
 *
 * common header 32 | sequence u32 | ack u32 | kind u8 | reserved u8 | length u16 | body
 *
 * sequence: the message's own number, the same each time it is sent. ack: the next one expected from the peer
 * (cumulative). Kind WIRE_MESSAGE_ACK carries only that, and uses no sequence number. Its body is empty, or, where
 * later ones than the expected one came already, wire_gaps. Bodies of other kinds are declared in wire/control.h. */
#pragma once

#include "wire/header.h"

#define WIRE_MESSAGE_FIELDS(FIELD)                                                                           \
    FIELD(u32, sequence)                                                                                     \
    FIELD(u32, ack)                                                                                          \
    FIELD(u8, kind) /* enum control_kind, or WIRE_MESSAGE_ACK */                                             \
    FIELD(u8, reserved)                                                                                      \
    FIELD(u16, length)

/* Which messages came early, and what came last. */
#define WIRE_GAPS_FIELDS(FIELD)                                                                              \
    FIELD(u32, echo)       /* newest stamp of all messages that came, in the peer's own time */              \
    FIELD(u64, early_low)  /* bit i: ack + 1 + i came */                                                     \
    FIELD(u64, early_high) /* … ack + 65 + i */

WIRE_DECLARE(message, WIRE_MESSAGE_FIELDS)
WIRE_DECLARE(gaps, WIRE_GAPS_FIELDS)
#define WIRE_GAPS_BYTES       WIRE_FIXED_BYTES(WIRE_GAPS_FIELDS)
#define WIRE_MESSAGE_BYTES    (WIRE_HEADER_BYTES + WIRE_FIXED_BYTES(WIRE_MESSAGE_FIELDS))
#define WIRE_MESSAGE_BODY_MAX 1176 /* 44 + 1176 + 48 (IPv6, UDP) <= 1280 */
#define WIRE_MESSAGE_ACK      0

struct wire_message_view {
    struct wire_message fixed;
    const uint8_t *body;
};

/* The datagram must be exactly WIRE_MESSAGE_BYTES + length long. */
enum wire_error wire_message_decode(const uint8_t *data, size_t length, struct wire_message_view *view);
/* Writes header and fixed part, then `body` of fixed->length bytes. Returns the datagram's length. */
size_t wire_message_encode(uint8_t *out, const struct wire_header *header, const struct wire_message *fixed,
                           const uint8_t *body);
