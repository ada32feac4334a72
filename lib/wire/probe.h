/* PROBE and PROBE_REPLY: RTT with the four timestamps of STAMP (RFC 8762): t1 sent, t2 received, t3 replied;
 * t4, the reply's receipt, stays with the prober. RTT = (t4 - t1) - (t3 - t2), free of the reflector's
 * residence. A probe may be padded with zeros up to the path MTU; its reply is as long as the probe. */
#pragma once

#include "wire/header.h"

#define WIRE_PROBE_FIELDS(FIELD)                                                                             \
    FIELD(u32, id)      /* the prober's sequence number */                                                   \
    FIELD(u16, padding) /* zero bytes that follow */                                                         \
    FIELD(u16, reserved)                                                                                     \
    FIELD(u64, t1_ns)                                                                                        \
    FIELD(u64, t2_ns)                                                                                        \
    FIELD(u64, t3_ns)

WIRE_DECLARE(probe, WIRE_PROBE_FIELDS)
#define WIRE_PROBE_BYTES (WIRE_HEADER_BYTES + WIRE_FIXED_BYTES(WIRE_PROBE_FIELDS))

/* Used for both types. The datagram must be exactly WIRE_PROBE_BYTES + padding long. */
enum wire_error wire_probe_decode(const uint8_t *data, size_t length, struct wire_probe *probe);
/* Writes WIRE_PROBE_BYTES; the caller sends probe->padding zero bytes behind them. */
size_t wire_probe_encode(uint8_t *out, const struct wire_header *header, const struct wire_probe *probe);
