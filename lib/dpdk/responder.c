#include "dpdk/responder.h"

#include "base/bytes.h"
#include "base/units.h"

#define ICMP_ECHO_BYTES    8
#define ND_OPTION_BYTES    8
#define ICMP_ECHO_REPLY    0
#define ICMP_ECHO_REQUEST  8
#define ICMPV6_REQUEST     128
#define ICMPV6_REPLY       129
#define ND_ADVERTISE       136
#define ND_OPTION_SOURCE   1
#define ND_OPTION_TARGET   2
#define ND_FLAGS_SOLICITED 0x60000000u /* solicited, override */
#define ND_FLAG_OVERRIDE   0x20000000u
#define HOP_LIMIT_ANSWER   64
#define HOP_LIMIT_ND       255

static const uint8_t broadcast_mac[MAC_BYTES] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static size_t ethernet_write(const struct responder *responder, uint8_t *out, const uint8_t target[MAC_BYTES],
                             uint16_t ethertype)
{
    memcpy(out, target, MAC_BYTES);
    memcpy(out + MAC_BYTES, responder->mac, MAC_BYTES);
    size_t at = 2 * MAC_BYTES;
    if (responder->vlan != 0) {
        store_be16(out + at, ETHERTYPE_VLAN);
        store_be16(out + at + 2, responder->vlan);
        at += 4;
    }
    store_be16(out + at, ethertype);
    return at + 2;
}

static size_t ethernet_bytes(const struct responder *responder)
{
    return responder->vlan != 0 ? 18 : 14;
}

/* The ethertype when the frame carries our VLAN (or none, when we have none); 0 otherwise. */
static uint16_t ethernet_type(const struct responder *responder, const uint8_t *frame, size_t length)
{
    if (length < ethernet_bytes(responder))
        return 0;
    if (responder->vlan == 0)
        return load_be16(frame + 12);
    bool ours = load_be16(frame + 12) == ETHERTYPE_VLAN && (load_be16(frame + 14) & 0xfff) == responder->vlan;
    return ours ? load_be16(frame + 16) : 0;
}

static uint16_t ipv6_checksum(const uint8_t *ip, const uint8_t *payload, size_t length)
{
    uint8_t tail[8] = {0, 0, (uint8_t)(length >> 8), (uint8_t)length, 0, 0, 0, PROTOCOL_ICMPV6};
    uint32_t sum = checksum_add(0, ip + 8, 32);
    sum = checksum_add(sum, tail, sizeof(tail));
    return checksum_fold(checksum_add(sum, payload, length));
}

/* Header of an IPv6 packet from us; source, target and payload length only. */
static void ipv6_write(const struct responder *responder, uint8_t *ip, const uint8_t *target, size_t length,
                       uint8_t hop_limit)
{
    memset(ip, 0, 8);
    ip[0] = 0x60;
    store_be16(ip + 4, (uint16_t)length);
    ip[6] = PROTOCOL_ICMPV6;
    ip[7] = hop_limit;
    memcpy(ip + 8, responder->address.ip, 16);
    memcpy(ip + 24, target, 16);
}

static void arp_write(const struct responder *responder, uint8_t *arp, uint16_t operation,
                      const uint8_t target_mac[MAC_BYTES], const uint8_t target_ip[4])
{
    store_be16(arp, 1); /* Ethernet */
    store_be16(arp + 2, ETHERTYPE_IPV4);
    arp[4] = MAC_BYTES;
    arp[5] = 4;
    store_be16(arp + 6, operation);
    memcpy(arp + 8, responder->mac, MAC_BYTES);
    memcpy(arp + 14, responder->address.ip, 4);
    memcpy(arp + 18, target_mac, MAC_BYTES);
    memcpy(arp + 24, target_ip, 4);
}

static bool mac_usable(const uint8_t mac[MAC_BYTES])
{
    static const uint8_t zeros[MAC_BYTES];
    return (mac[0] & 1) == 0 && memcmp(mac, zeros, MAC_BYTES) != 0;
}

/* Not a frame of ours that came back. */
static bool mac_foreign(const struct responder *responder, const uint8_t *mac)
{
    return memcmp(mac, responder->mac, MAC_BYTES) != 0;
}

static void result_conflict(struct responder_result *result, enum responder_kind kind,
                            const uint8_t mac[MAC_BYTES])
{
    result->kind = kind;
    result->conflict = true;
    memcpy(result->mac, mac, MAC_BYTES);
}

static void result_learn(struct responder_result *result, uint8_t family, const uint8_t *ip,
                         const uint8_t mac[MAC_BYTES])
{
    result->learnt = true;
    result->address.family = family;
    memcpy(result->address.ip, ip, family == ADDRESS_IPV6 ? 16 : 4);
    memcpy(result->mac, mac, MAC_BYTES);
}

static struct responder_result arp_answer(const struct responder *responder, const uint8_t *arp,
                                          size_t length, uint8_t *out, size_t room)
{
    struct responder_result result = {.kind = RESPONDER_BAD};
    if (length < ARP_BYTES || load_be16(arp) != 1 || load_be16(arp + 2) != ETHERTYPE_IPV4 ||
        arp[4] != MAC_BYTES || arp[5] != 4 || !mac_usable(arp + 8))
        return result;
    result.kind = RESPONDER_IGNORED;
    if (responder->address.family != ADDRESS_IPV4)
        return result;
    /* Whatever he asks, of whomever, and in answer to our probe, too, which has no address to be answered to. */
    if (memcmp(arp + 14, responder->address.ip, 4) == 0 && mac_foreign(responder, arp + 8)) {
        result_conflict(&result, RESPONDER_ARP, arp + 8);
        return result;
    }
    uint16_t operation = load_be16(arp + 6);
    bool announced = memcmp(arp + 24, arp + 14, 4) == 0; /* gratuitous: sender and target are the same */
    bool ours = memcmp(arp + 24, responder->address.ip, 4) == 0;
    bool probe = load_be32(arp + 14) == 0; /* RFC 5227: has no address yet */
    if (!ours && !announced && !probe)
        return result;
    result.kind = RESPONDER_ARP;
    if (!probe && memcmp(arp + 14, responder->address.ip, 4) != 0)
        result_learn(&result, ADDRESS_IPV4, arp + 14, arp + 8);
    size_t answer_bytes = ethernet_bytes(responder) + ARP_BYTES;
    if (operation != 1 || !ours || announced || room < answer_bytes)
        return result;
    size_t at = ethernet_write(responder, out, arp + 8, ETHERTYPE_ARP);
    arp_write(responder, out + at, 2, arp + 8, arp + 14);
    result.length = answer_bytes;
    return result;
}

static struct responder_result ipv4_answer(const struct responder *responder, const uint8_t *frame,
                                           const uint8_t *ip, size_t length, uint8_t *out, size_t room)
{
    struct responder_result result = {.kind = RESPONDER_IGNORED};
    if (length < IPV4_BYTES || ip[0] != 0x45 || ip[9] != PROTOCOL_ICMP ||
        responder->address.family != ADDRESS_IPV4 || memcmp(ip + 16, responder->address.ip, 4) != 0)
        return result;
    result.kind = RESPONDER_BAD;
    size_t total = load_be16(ip + 2);
    if (total < IPV4_BYTES + ICMP_ECHO_BYTES || total > length || (load_be16(ip + 6) & 0x3fff) != 0 ||
        checksum_fold(checksum_add(0, ip, IPV4_BYTES)) != 0 ||
        checksum_fold(checksum_add(0, ip + IPV4_BYTES, total - IPV4_BYTES)) != 0 ||
        !mac_usable(frame + MAC_BYTES))
        return result;
    result.kind = RESPONDER_IGNORED;
    size_t answer_bytes = ethernet_bytes(responder) + total;
    if (ip[IPV4_BYTES] != ICMP_ECHO_REQUEST || answer_bytes > room)
        return result;
    result.kind = RESPONDER_ECHO;
    result.length = answer_bytes;
    uint8_t *answer = out + ethernet_write(responder, out, frame + MAC_BYTES, ETHERTYPE_IPV4);
    memcpy(answer, ip, total);
    answer[8] = HOP_LIMIT_ANSWER;
    memcpy(answer + 12, responder->address.ip, 4);
    memcpy(answer + 16, ip + 12, 4);
    store_be16(answer + 10, 0);
    store_be16(answer + 10, checksum_fold(checksum_add(0, answer, IPV4_BYTES)));
    uint8_t *icmp = answer + IPV4_BYTES;
    icmp[0] = ICMP_ECHO_REPLY;
    store_be16(icmp + 2, 0);
    store_be16(icmp + 2, checksum_fold(checksum_add(0, icmp, total - IPV4_BYTES)));
    return result;
}

/* The link-layer address option of the given type; NULL: none, or the options are malformed. */
static const uint8_t *nd_option(const uint8_t *nd, size_t length, uint8_t type)
{
    for (size_t at = ND_BYTES; at + ND_OPTION_BYTES <= length;) {
        size_t bytes = (size_t)nd[at + 1] * 8;
        if (bytes == 0 || at + bytes > length)
            return NULL;
        if (nd[at] == type && bytes == ND_OPTION_BYTES && mac_usable(nd + at + 2))
            return nd + at + 2;
        at += bytes;
    }
    return NULL;
}

static size_t advertise_write(const struct responder *responder, uint8_t *out, const uint8_t mac[MAC_BYTES],
                              const uint8_t *target, bool solicited)
{
    uint8_t *ip = out + ethernet_write(responder, out, mac, ETHERTYPE_IPV6);
    uint8_t *nd = ip + IPV6_BYTES;
    size_t length = ND_BYTES + ND_OPTION_BYTES;
    ipv6_write(responder, ip, target, length, HOP_LIMIT_ND);
    memset(nd, 0, length);
    nd[0] = ND_ADVERTISE;
    store_be32(nd + 4, solicited ? ND_FLAGS_SOLICITED : ND_FLAG_OVERRIDE);
    memcpy(nd + 8, responder->address.ip, 16);
    nd[ND_BYTES] = ND_OPTION_TARGET;
    nd[ND_BYTES + 1] = 1;
    memcpy(nd + ND_BYTES + 2, responder->mac, MAC_BYTES);
    store_be16(nd + 2, ipv6_checksum(ip, nd, length));
    return (size_t)(nd - out) + length;
}

/* Ours, or the solicited-node multicast address of ours. */
static bool ipv6_for_us(const struct responder *responder, const uint8_t *ip)
{
    static const uint8_t solicited[13] = {0xff, 2, [11] = 1, [12] = 0xff};
    static const uint8_t all_nodes[16] = {0xff, 2, [15] = 1};
    const uint8_t *target = ip + 24;
    return memcmp(target, responder->address.ip, 16) == 0 || memcmp(target, all_nodes, 16) == 0 ||
           (memcmp(target, solicited, 13) == 0 && memcmp(target + 13, responder->address.ip + 13, 3) == 0);
}

static struct responder_result nd_answer(const struct responder *responder, const uint8_t *frame,
                                         const uint8_t *ip, const uint8_t *nd, size_t length, uint8_t *out,
                                         size_t room)
{
    static const uint8_t all_nodes_ip[16] = {0xff, 2, [15] = 1};
    static const uint8_t all_nodes_mac[MAC_BYTES] = {0x33, 0x33, 0, 0, 0, 1};
    static const uint8_t unspecified[16];
    struct responder_result result = {.kind = RESPONDER_BAD};
    if (length < ND_BYTES || ip[7] != HOP_LIMIT_ND || nd[1] != 0)
        return result;
    result.kind = RESPONDER_ND;
    const uint8_t *whose = nd[0] == ND_ADVERTISE ? nd + 8 : ip + 8; /* the sender says that this one is his */
    if (memcmp(whose, responder->address.ip, 16) == 0 && mac_foreign(responder, frame + MAC_BYTES)) {
        result_conflict(&result, RESPONDER_ND, frame + MAC_BYTES);
        return result;
    }
    if (!ipv6_for_us(responder, ip)) {
        result.kind = RESPONDER_IGNORED;
        return result;
    }
    if (nd[0] == ND_ADVERTISE) {
        const uint8_t *mac = nd_option(nd, length, ND_OPTION_TARGET);
        result.weak = (load_be32(nd + 4) & ND_FLAG_OVERRIDE) == 0;
        if (mac != NULL && memcmp(whose, responder->address.ip, 16) != 0)
            result_learn(&result, ADDRESS_IPV6, nd + 8, mac);
        return result;
    }
    if (memcmp(nd + 8, responder->address.ip, 16) != 0) {
        result.kind = RESPONDER_IGNORED;
        return result;
    }
    bool probe = memcmp(ip + 8, unspecified, 16) == 0; /* duplicate address detection */
    const uint8_t *mac = nd_option(nd, length, ND_OPTION_SOURCE);
    if (!probe && mac != NULL)
        result_learn(&result, ADDRESS_IPV6, ip + 8, mac);
    size_t answer_bytes = ethernet_bytes(responder) + IPV6_BYTES + ND_BYTES + ND_OPTION_BYTES;
    if (room < answer_bytes || (!probe && mac == NULL))
        return result;
    result.length = probe ? advertise_write(responder, out, all_nodes_mac, all_nodes_ip, false)
                          : advertise_write(responder, out, mac, ip + 8, true);
    return result;
}

static struct responder_result ipv6_answer(const struct responder *responder, const uint8_t *frame,
                                           const uint8_t *ip, size_t length, uint8_t *out, size_t room)
{
    struct responder_result result = {.kind = RESPONDER_IGNORED};
    if (length < IPV6_BYTES || ip[0] >> 4 != 6 || ip[6] != PROTOCOL_ICMPV6 ||
        responder->address.family != ADDRESS_IPV6)
        return result;
    bool for_us = ipv6_for_us(responder, ip);
    if (!for_us && memcmp(ip + 8, responder->address.ip, 16) != 0)
        return result;
    result.kind = RESPONDER_BAD;
    size_t payload_bytes = load_be16(ip + 4);
    const uint8_t *icmp = ip + IPV6_BYTES;
    if (payload_bytes < ICMP_ECHO_BYTES || IPV6_BYTES + payload_bytes > length ||
        ipv6_checksum(ip, icmp, payload_bytes) != 0 || !mac_usable(frame + MAC_BYTES))
        return result;
    if (icmp[0] == ND_SOLICIT || icmp[0] == ND_ADVERTISE)
        return nd_answer(responder, frame, ip, icmp, payload_bytes, out, room);
    result.kind = RESPONDER_IGNORED;
    size_t answer_bytes = ethernet_bytes(responder) + IPV6_BYTES + payload_bytes;
    bool unicast = memcmp(ip + 24, responder->address.ip, 16) == 0;
    if (icmp[0] != ICMPV6_REQUEST || !unicast || ip[8] == 0xff || answer_bytes > room)
        return result;
    result.kind = RESPONDER_ECHO;
    result.length = answer_bytes;
    uint8_t *answer = out + ethernet_write(responder, out, frame + MAC_BYTES, ETHERTYPE_IPV6);
    ipv6_write(responder, answer, ip + 8, payload_bytes, HOP_LIMIT_ANSWER);
    memcpy(answer + IPV6_BYTES, icmp, payload_bytes);
    answer[IPV6_BYTES] = ICMPV6_REPLY;
    store_be16(answer + IPV6_BYTES + 2, 0);
    store_be16(answer + IPV6_BYTES + 2, ipv6_checksum(answer, answer + IPV6_BYTES, payload_bytes));
    return result;
}

struct responder_result responder_answer(const struct responder *responder, const uint8_t *frame,
                                         size_t length, uint8_t *out, size_t room)
{
    struct responder_result result = {.kind = RESPONDER_IGNORED};
    size_t header_bytes = ethernet_bytes(responder);
    switch (ethernet_type(responder, frame, length)) {
    case ETHERTYPE_ARP:
        return arp_answer(responder, frame + header_bytes, length - header_bytes, out, room);
    case ETHERTYPE_IPV4:
        return ipv4_answer(responder, frame, frame + header_bytes, length - header_bytes, out, room);
    case ETHERTYPE_IPV6:
        return ipv6_answer(responder, frame, frame + header_bytes, length - header_bytes, out, room);
    default:
        return result;
    }
}

/* `probe`: for our own address, in the name of nobody. */
static size_t solicit_write(const struct responder *responder, const struct net_address *address,
                            const uint8_t *holder, bool probe, uint8_t *out)
{
    uint8_t group_mac[MAC_BYTES] = {0x33, 0x33, 0xff, address->ip[13], address->ip[14], address->ip[15]};
    uint8_t group_ip[16] = {0xff, 2, [11] = 1, [12] = 0xff};
    memcpy(group_ip + 13, address->ip + 13, 3);
    uint8_t *ip = out + ethernet_write(responder, out, holder != NULL ? holder : group_mac, ETHERTYPE_IPV6);
    uint8_t *nd = ip + IPV6_BYTES;
    size_t length = ND_BYTES + (probe ? 0 : ND_OPTION_BYTES);
    ipv6_write(responder, ip, holder != NULL ? address->ip : group_ip, length, HOP_LIMIT_ND);
    memset(nd, 0, length);
    nd[0] = ND_SOLICIT;
    memcpy(nd + 8, address->ip, 16);
    if (probe) {
        memset(ip + 8, 0, 16);
    } else {
        nd[ND_BYTES] = ND_OPTION_SOURCE;
        nd[ND_BYTES + 1] = 1;
        memcpy(nd + ND_BYTES + 2, responder->mac, MAC_BYTES);
    }
    store_be16(nd + 2, ipv6_checksum(ip, nd, length));
    return (size_t)(nd - out) + length;
}

size_t responder_ask(const struct responder *responder, const struct net_address *address,
                     const uint8_t *holder, uint8_t out[RESPONDER_FRAME_BYTES_MIN])
{
    static const uint8_t unknown_mac[MAC_BYTES];
    if (address->family == ADDRESS_IPV6)
        return solicit_write(responder, address, holder, false, out);
    size_t at = ethernet_write(responder, out, holder != NULL ? holder : broadcast_mac, ETHERTYPE_ARP);
    arp_write(responder, out + at, 1, unknown_mac, address->ip);
    return at + ARP_BYTES;
}

size_t responder_probe(const struct responder *responder, uint8_t out[RESPONDER_FRAME_BYTES_MIN])
{
    static const uint8_t unknown_mac[MAC_BYTES];
    if (responder->address.family == ADDRESS_IPV6)
        return solicit_write(responder, &responder->address, NULL, true, out);
    size_t at = ethernet_write(responder, out, broadcast_mac, ETHERTYPE_ARP);
    arp_write(responder, out + at, 1, unknown_mac, responder->address.ip);
    memset(out + at + 14, 0, 4);
    return at + ARP_BYTES;
}
