/* The 32 bytes that begin every Sluice datagram (UDP payload).
 *
 *   0 version u8 | 1 type u8 | 2 key id u8 | 3 flags u8
 *   4 session u32 | 8 packet number u32 | 12 stamp u32 | 16 tag[16]
 *
 * session: chosen by the node that receives the packet and told in its greeting (wire/handshake.h); 0 only in an
 * initiation.
 * packet number: low 32 bits of the edge's number (data), of the session's control number (all others): a fresh
 * one for each datagram that leaves (edge/replay.h).
 * stamp: the sender's clock at departure in units of 16 ns, modulo 2^32 (68.7 s): differences give one-way
 * delays.
 * key id: of the keys that the tag is made with, from 1 on; 0 in handshakes, and where nothing is authenticated: the
 * tag is zero then. What the tag covers: wire/sealed.h.
 * flags: of DATA, WIRE_FLAG_TAIL; all others, and every field named reserved: sent as 0, not looked at. */
#pragma once

#include "wire/field.h"

#define WIRE_VERSION 2

#define WIRE_FLAG_TAIL 1u /* the sender has only repairs left: acks are wanted soon */

/* message: reliable, in order, small: plan and job control */
#define WIRE_TYPES(ROW)                                                                                      \
    ROW(WIRE_HELLO, 1, "hello")                                                                              \
    ROW(WIRE_DATA, 2, "data")                                                                                \
    ROW(WIRE_ACK, 3, "ack")                                                                                  \
    ROW(WIRE_MESSAGE, 4, "message")                                                                          \
    ROW(WIRE_PROBE, 5, "probe")                                                                              \
    ROW(WIRE_PROBE_REPLY, 6, "probe_reply")                                                                  \
    ROW(WIRE_CLOSE, 7, "close")                                                                              \
    ROW(WIRE_TRAIN, 8, "train")                                                                              \
    ROW(WIRE_INITIATION, 9, "initiation")                                                                    \
    ROW(WIRE_RESPONSE, 10, "response")                                                                       \
    ROW(WIRE_PIECE, 11, "piece")
enum wire_type { WIRE_TYPES(WORD_CONSTANT) WIRE_TYPE_COUNT };

#define WIRE_HEADER_FIELDS(FIELD)                                                                            \
    FIELD(u8, version)                                                                                       \
    FIELD(u8, type)                                                                                          \
    FIELD(u8, key_id)                                                                                        \
    FIELD(u8, flags)                                                                                         \
    FIELD(u32, session)                                                                                      \
    FIELD(u32, packet_number)                                                                                \
    FIELD(u32, stamp)                                                                                        \
    FIELD(tag, tag)

WIRE_DECLARE(header, WIRE_HEADER_FIELDS)
#define WIRE_HEADER_BYTES WIRE_FIXED_BYTES(WIRE_HEADER_FIELDS)
_Static_assert(WIRE_HEADER_BYTES == 32, "the common header is 32 bytes");

#define WIRE_STAMP_UNIT_NS 16

static inline uint32_t wire_stamp(uint64_t now_ns)
{
    return (uint32_t)(now_ns / WIRE_STAMP_UNIT_NS);
}

enum wire_error {
    WIRE_OK = 0,
    WIRE_TOO_SHORT,
    WIRE_BAD_VERSION,
    WIRE_BAD_TYPE,
    WIRE_BAD_LENGTH, /* body lengths and counts that contradict each other */
    WIRE_BAD_VALUE   /* a field outside its range */
};

/* Decodes and validates the common header; the type's own decoder then reads from data +
 * WIRE_HEADER_BYTES. */
enum wire_error wire_header_decode(const uint8_t *data, size_t length, struct wire_header *header);
