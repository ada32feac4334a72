/* Frames that others on the link send: echo requests and announcements. Untagged. */
#pragma once

#include <string.h>

#include "base/bytes.h"
#include "dpdk/responder.h"

static inline void frame_icmp6(uint8_t *ip, const uint8_t *source, const uint8_t *target, size_t length,
                               uint8_t hop_limit)
{
    uint8_t *icmp = ip + 40;
    uint8_t tail[8] = {0, 0, (uint8_t)(length >> 8), (uint8_t)length, 0, 0, 0, 58};
    ip[0] = 0x60;
    store_be16(ip + 4, (uint16_t)length);
    ip[6] = 58;
    ip[7] = hop_limit;
    memcpy(ip + 8, source, 16);
    memcpy(ip + 24, target, 16);
    uint32_t sum = checksum_add(checksum_add(0, ip + 8, 32), tail, 8);
    store_be16(icmp + 2, checksum_fold(checksum_add(sum, icmp, length)));
}

/* An echo request with `data` bytes; its length. */
static inline size_t frame_echo(uint8_t *frame, const struct responder *from, const struct responder *to,
                                size_t data)
{
    bool six = from->address.family == ADDRESS_IPV6;
    uint8_t *ip = frame + 14, *icmp = ip + (six ? 40 : 20);
    size_t payload = 8 + data;
    memset(frame, 0, (size_t)(icmp - frame) + payload);
    memcpy(frame, to->mac, MAC_BYTES);
    memcpy(frame + 6, from->mac, MAC_BYTES);
    store_be16(frame + 12, six ? ETHERTYPE_IPV6 : ETHERTYPE_IPV4);
    for (size_t index = 0; index < data; index++)
        icmp[8 + index] = (uint8_t)index;
    icmp[0] = six ? 128 : 8;
    store_be16(icmp + 4, 0x1234);
    if (six) {
        frame_icmp6(ip, from->address.ip, to->address.ip, payload, 64);
        return 14 + 40 + payload;
    }
    ip[0] = 0x45;
    store_be16(ip + 2, (uint16_t)(20 + payload));
    ip[8] = 64;
    ip[9] = 1;
    memcpy(ip + 12, from->address.ip, 4);
    memcpy(ip + 16, to->address.ip, 4);
    store_be16(ip + 10, checksum_fold(checksum_add(0, ip, 20)));
    store_be16(icmp + 2, checksum_fold(checksum_add(0, icmp, payload)));
    return 14 + 20 + payload;
}

/* A gratuitous ARP: `mac` has `address`, as a request or as a reply to nobody. */
static inline size_t frame_announce(uint8_t *frame, const uint8_t mac[MAC_BYTES],
                                    const struct net_address *address, bool reply)
{
    uint8_t *arp = frame + 14;
    memset(frame, 0, 42);
    memset(frame, 0xff, MAC_BYTES);
    memcpy(frame + 6, mac, MAC_BYTES);
    store_be16(frame + 12, ETHERTYPE_ARP);
    store_be16(arp, 1);
    store_be16(arp + 2, ETHERTYPE_IPV4);
    arp[4] = MAC_BYTES;
    arp[5] = 4;
    store_be16(arp + 6, reply ? 2 : 1);
    memcpy(arp + 8, mac, MAC_BYTES);
    memcpy(arp + 14, address->ip, 4);
    memcpy(arp + 24, address->ip, 4);
    return 42;
}

/* An unsolicited neighbour advertisement to all nodes. */
static inline size_t frame_advertise(uint8_t *frame, const uint8_t mac[MAC_BYTES],
                                     const struct net_address *address, bool override)
{
    static const uint8_t all_nodes[16] = {0xff, 2, [15] = 1}, group[MAC_BYTES] = {0x33, 0x33, 0, 0, 0, 1};
    uint8_t *ip = frame + 14, *nd = ip + 40;
    memset(frame, 0, 14 + 40 + 32);
    memcpy(frame, group, MAC_BYTES);
    memcpy(frame + 6, mac, MAC_BYTES);
    store_be16(frame + 12, ETHERTYPE_IPV6);
    nd[0] = 136;
    store_be32(nd + 4, override ? 0x20000000u : 0);
    memcpy(nd + 8, address->ip, 16);
    nd[24] = 2; /* target's link-layer address */
    nd[25] = 1;
    memcpy(nd + 26, mac, MAC_BYTES);
    frame_icmp6(ip, address->ip, all_nodes, 32, 255);
    return 14 + 40 + 32;
}
