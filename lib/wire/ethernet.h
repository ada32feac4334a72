/* Ethernet (optional one VLAN tag), IPv4 or IPv6 without options or extension headers, UDP: build and parse
 * frames around a datagram. Fragments, other protocols and bad lengths are refused; each refusal has its own
 * code. */
#pragma once

#include "wire/address.h"
#include "wire/field.h"

#define MAC_BYTES        6
#define FRAME_HEADER_MAX (14 + 4 + 40 + 8)

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_ARP  0x0806
#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_IPV6 0x86dd

#define IPV4_BYTES 20 /* the header, without options */
#define IPV6_BYTES 40
#define ARP_BYTES  28
#define ND_BYTES   24 /* neighbour solicitation and advertisement: type, code, checksum, flags, target */

#define PROTOCOL_ICMP   1
#define PROTOCOL_UDP    17
#define PROTOCOL_ICMPV6 58
#define ND_SOLICIT      135 /* ICMPv6 type */

/* What a frame to one destination starts with; made once per peer, then only lengths and checksums change. */
struct frame_header {
    uint8_t bytes[FRAME_HEADER_MAX];
    uint8_t length;
    uint8_t ip_offset;
    uint8_t family; /* enum address_family */
    uint32_t sum;   /* of what the UDP checksum covers and no packet changes: addresses, protocol, ports */
};

/* vlan 0: untagged; both addresses of one family. Time to live 64, IPv4 with "don't fragment". */
void frame_header_init(struct frame_header *header, const uint8_t source_mac[MAC_BYTES],
                       const uint8_t target_mac[MAC_BYTES], uint16_t vlan, const struct net_address *source,
                       const struct net_address *target);

/* A datagram in two parts. */
struct frame_datagram {
    const uint8_t *head, *body;
    uint32_t head_bytes, body_bytes;
    uint16_t body_sum; /* checksum_of the body, which is then not read; 0: not known */
};

/* Writes the header for the datagram to `out`: lengths, DSCP/ECN (the byte as in the IP header), IPv4 header
 * checksum. The UDP checksum covers head and body; with `checksum` false only the sum of addresses, protocol and length
 * stands in its place, from which the device goes on. Writes and returns header->length bytes. */
size_t frame_header_write(uint8_t *out, const struct frame_header *header, uint8_t traffic_class,
                          const struct frame_datagram *datagram, bool checksum);

enum frame_error {
    FRAME_OK = 0,
    FRAME_TOO_SHORT,
    FRAME_NOT_IP, /* ARP, LLDP …: for the responder or nobody */
    FRAME_BAD_IP, /* version, header length, checksum, total length */
    FRAME_FRAGMENT,
    FRAME_NOT_UDP,
    FRAME_BAD_UDP, /* length, or a checksum that is present and wrong */
};

struct frame_view {
    struct net_address source, target;
    const uint8_t *payload; /* the datagram */
    uint32_t payload_bytes;
    uint16_t vlan; /* 0: untagged */
    uint16_t ethertype;
    uint16_t payload_sum; /* checksum_of the datagram, by a UDP checksum that is right; 0: not known */
    uint8_t traffic_class;
    bool unsummed;     /* in the place of a wrong UDP checksum stands what a device would have gone on from */
    const uint8_t *ip; /* start of the IP header, NULL when not IP */
};

/* `verify`: check the UDP checksum in software; else somebody has. Fills what was understood before an error. */
enum frame_error frame_parse(const uint8_t *frame, size_t length, bool verify, struct frame_view *view);

/* Ones' complement sum of RFC 1071 over a buffer, to be folded by checksum_fold; chainable over even-length
 * parts. */
uint32_t checksum_add(uint32_t sum, const uint8_t *data, size_t length);
uint16_t checksum_fold(uint32_t sum);

/* Sums of parts of datagrams, so that what is passed on is not read again for each copy: ones' complement sums of
 * 16-bit words in network order, where 0xffff stands for zero, and 0 for a sum that is not known. */
uint16_t checksum_of(const uint8_t *data, size_t length);
/* Of what follows the first `length` (an even number of) bytes of something whose sum is `whole`. Unknown stays so. */
uint16_t checksum_without(uint16_t whole, const uint8_t *first, size_t length);
