/* Units: time in ns (uint64_t), rates in bit/s on the wire (uint64_t), sizes in bytes.
 * A rate always counts what an Ethernet link is occupied with: preamble, FCS and inter-frame gap included. */
#pragma once

#include <stdint.h>

#include "base/check.h"

#define NS_PER_US  1000ULL
#define NS_PER_MS  1000000ULL
#define NS_PER_S   1000000000ULL
#define NS_PER_H   (3600 * NS_PER_S)
#define TIME_NEVER UINT64_MAX

/* The least rate that data is sent at. One packet of 9 KB takes 74 s at it; what is slower holds an interface
 * for hours, control messages included, and nobody wants it. Files, plans and messages keep to it; 0 in them
 * means that there is none. */
#define SEND_RATE_MIN_BPS 1000ULL

#define ETHERNET_HEADER_BYTES   14
#define ETHERNET_OVERHEAD_BYTES 24 /* preamble 8, FCS 4, inter-frame gap 12 */
/* What an IP packet takes of the wire beyond itself, untagged; a rate is measured with it. */
#define WIRE_OVERHEAD_BYTES (ETHERNET_HEADER_BYTES + ETHERNET_OVERHEAD_BYTES)

/* IP packets of a port: IPv6 demands the least (RFC 8200), jumbo frames of 9 KB give the largest. */
#define MTU_MIN     1280
#define MTU_MAX     9216
#define MTU_DEFAULT 1500
/* A packet of the usual MTU on the wire: what a queue counted in packets is taken to hold. */
#define FULL_PACKET_WIRE_BYTES (MTU_DEFAULT + WIRE_OVERHEAD_BYTES)
/* What of it is the object's own, over IPv4 (lib/wire asserts the sum). */
#define FULL_PACKET_SYMBOL_BYTES 1408

/* a * b / c without overflow of the product, rounded down. c > 0, and the result must fit 64 bits. */
static inline uint64_t muldiv64(uint64_t a, uint64_t b, uint64_t c)
{
    CHECK(c != 0);
    return (uint64_t)((unsigned __int128)a * b / c);
}

/* The same, rounded up. */
static inline uint64_t muldiv64_up(uint64_t a, uint64_t b, uint64_t c)
{
    CHECK(c != 0);
    return (uint64_t)(((unsigned __int128)a * b + c - 1) / c);
}

/* Time that `bytes` occupy a link of `rate_bps`, rounded down; the carried remainder is the pacer's
 * affair. */
static inline uint64_t transmit_ns(uint64_t bytes, uint64_t rate_bps)
{
    return muldiv64(bytes * 8, NS_PER_S, rate_bps);
}

/* Bytes that a link of `rate_bps` carries within `duration_ns`, rounded down. */
static inline uint64_t bytes_within(uint64_t rate_bps, uint64_t duration_ns)
{
    return muldiv64(rate_bps, duration_ns, 8 * NS_PER_S);
}

/* a - b, or 0 where b is more: of any unit. */
static inline uint64_t excess_of(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* now - before, or 0 where `before` lies ahead: for stamps of another clock or of a later call. */
static inline uint64_t elapsed_ns(uint64_t now_ns, uint64_t before_ns)
{
    return now_ns > before_ns ? now_ns - before_ns : 0;
}

/* a + b, kept at TIME_NEVER when either is that or the sum would pass it. */
static inline uint64_t later_ns(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns > TIME_NEVER - b_ns ? TIME_NEVER : a_ns + b_ns;
}

#define MIN(a, b)                                                                                            \
    ({                                                                                                       \
        __typeof__(a) min_a_ = (a);                                                                          \
        __typeof__(b) min_b_ = (b);                                                                          \
        min_a_ < min_b_ ? min_a_ : min_b_;                                                                   \
    })
#define MAX(a, b)                                                                                            \
    ({                                                                                                       \
        __typeof__(a) max_a_ = (a);                                                                          \
        __typeof__(b) max_b_ = (b);                                                                          \
        max_a_ > max_b_ ? max_a_ : max_b_;                                                                   \
    })
