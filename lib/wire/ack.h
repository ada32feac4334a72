/* ACK: what the child received on this edge, all gaps included.
 *
 * common header 32 | fixed part | runs | places
 *
 * The runs describe every packet number in [base, base + sum of runs): lengths alternate received, missing,
 * received … starting with received (which may be 0), each as an unsigned LEB128 varint (1 to 5 bytes).
 * Numbers outside the range are not spoken of. largest/largest delay describe the newest packet received; an
 * ack that is one of a group covering successive slices repeats them. All numbers are the low 32 bits of
 * 64-bit numbers.
 *
 * The places are those of jobs that have few left at the receiver; what other jobs begin finds room. */
#pragma once

#include "wire/header.h"

#define WIRE_ACK_FIELDS(FIELD)                                                                               \
    FIELD(u32, base)            /* first packet number that the runs describe */                             \
    FIELD(u32, largest)         /* largest packet number received */                                         \
    FIELD(u32, largest_delay)   /* ns from its receipt to this ack's departure */                            \
    FIELD(u64, delivered_bytes) /* wire bytes received on this edge so far, duplicates excluded */           \
    FIELD(u32, delivered_stamp) /* receiver's clock when that count was reached, 16 ns units */              \
    FIELD(u32, owd_min)         /* least (receive stamp - send stamp) since the last ack, 16 ns, mod 2^32 */ \
    FIELD(u32, jump) /* peak change of OWD between neighbours beyond their send gap since the last group */  \
    FIELD(u32, late_us)  /* how late packets overtaken by newer ones came, in send time: decaying peak */    \
    FIELD(u32, wait)     /* what this ack tells times of may have come so much earlier, 16 ns units */       \
    FIELD(u32, ce_count) /* packets received with Congestion Experienced so far */                           \
    FIELD(u32, credit)   /* packets beyond `largest` that the receiver has room for */                       \
    FIELD(u32, own_rate_kbps) /* sum of the rates of the receiver's edges into this port */                  \
    FIELD(u32, missed)        /* frames that came to this port and its ring lost, so far */                  \
    FIELD(u8, limited_by)     /* enum edge_limit of the receiver: why credit is short */                     \
    FIELD(u8, place_count)    /* jobs whose places follow the runs */                                        \
    FIELD(u16, run_bytes)     /* bytes of runs that follow */

WIRE_DECLARE(ack, WIRE_ACK_FIELDS)
#define WIRE_ACK_BYTES     (WIRE_HEADER_BYTES + WIRE_FIXED_BYTES(WIRE_ACK_FIELDS))
#define WIRE_ACK_RUNS_MAX  1024 /* bytes of runs in one ack: it fits 1280-byte paths */
#define WIRE_RUN_BYTES_MAX 5

#define WIRE_PLACE_FIELDS(FIELD)                                                                             \
    FIELD(u32, job)                                                                                          \
    FIELD(u8, full_stripes) /* one bit each: stripes of which no other block has a place at the receiver */  \
    FIELD(u8, room)         /* other blocks, over all stripes, that have one */

WIRE_DECLARE(place, WIRE_PLACE_FIELDS)
#define WIRE_PLACE_BYTES    WIRE_FIXED_BYTES(WIRE_PLACE_FIELDS)
#define WIRE_ACK_PLACES_MAX 16
#define WIRE_ACK_BYTES_MAX  (WIRE_ACK_BYTES + WIRE_ACK_RUNS_MAX + WIRE_ACK_PLACES_MAX * WIRE_PLACE_BYTES)

struct wire_ack_view {
    struct wire_ack fixed;
    uint32_t stamp; /* the common header's: the receiver's clock when the ack departed */
    const uint8_t *runs;
    const uint8_t *places;
};

/* Validates that run_bytes and place_count places follow, that the runs are whole varints below 2^32 and that their
 * sum stays below 2^31. */
enum wire_error wire_ack_decode(const uint8_t *data, size_t length, struct wire_ack_view *view);

/* Writes it all; the caller has put fixed.run_bytes <= WIRE_ACK_RUNS_MAX bytes of runs at `runs`, and fixed.place_count
 * <= WIRE_ACK_PLACES_MAX places at `places`. Returns the datagram's length, at most WIRE_ACK_BYTES_MAX. */
size_t wire_ack_encode(uint8_t *out, const struct wire_header *header, const struct wire_ack *fixed,
                       const uint8_t *runs, const struct wire_place *places);

/* Appends one run; returns bytes written (1 to WIRE_RUN_BYTES_MAX). */
size_t wire_run_put(uint8_t *out, uint32_t run);

/* Reads one run from a validated view: advances *in. */
uint32_t wire_run_get(const uint8_t **in);
