#include "app/wanem/route.h"

#include "base/units.h"
#include "wire/ethernet.h"

static struct route to_site(uint32_t number, uint16_t from, uint16_t site_count)
{
    if (number == 0 || number > site_count)
        return (struct route){.kind = ROUTE_NOBODY};
    if (number - 1 == from)
        return (struct route){.kind = ROUTE_ITSELF};
    return (struct route){.kind = ROUTE_SITE, .to = (uint16_t)(number - 1)};
}

static struct route question(uint8_t family, const uint8_t *ip)
{
    struct route route = {.kind = ROUTE_ASKS, .target.family = family};
    memcpy(route.target.ip, ip, family == ADDRESS_IPV6 ? 16 : 4);
    return route;
}

/* A probe (RFC 5227) and an announcement ask for the sender's own address: answering would say that it is
 * taken. */
static struct route route_arp(const uint8_t *arp, size_t length)
{
    if (length < ARP_BYTES)
        return (struct route){.kind = ROUTE_TOO_SHORT};
    bool own = load_be32(arp + 14) == 0 || memcmp(arp + 14, arp + 24, 4) == 0;
    if (load_be16(arp + 6) != 1 || own)
        return (struct route){.kind = ROUTE_OTHER};
    return question(ADDRESS_IPV4, arp + 24);
}

static struct route route_ipv6(const uint8_t *ip, size_t length, uint16_t from, uint16_t site_count)
{
    static const uint8_t zeros[16];
    if (length < IPV6_BYTES)
        return (struct route){.kind = ROUTE_TOO_SHORT};
    if (ip[6] == PROTOCOL_ICMPV6 && length >= IPV6_BYTES + ND_BYTES && ip[IPV6_BYTES] == ND_SOLICIT) {
        if (memcmp(ip + 8, zeros, 16) == 0) /* duplicate address detection */
            return (struct route){.kind = ROUTE_OTHER};
        return question(ADDRESS_IPV6, ip + IPV6_BYTES + 8);
    }
    if (ip[24] == 0xff)
        return (struct route){.kind = ROUTE_OTHER};
    return to_site(load_be16(ip + 24 + 6), from, site_count);
}

struct route route_frame(const uint8_t *frame, size_t length, uint16_t from, uint16_t site_count)
{
    if (length < ETHERNET_HEADER_BYTES)
        return (struct route){.kind = ROUTE_TOO_SHORT};
    const uint8_t *packet = frame + ETHERNET_HEADER_BYTES;
    size_t packet_bytes = length - ETHERNET_HEADER_BYTES;
    switch (load_be16(frame + 12)) {
    case ETHERTYPE_ARP:
        return route_arp(packet, packet_bytes);
    case ETHERTYPE_IPV6:
        return route_ipv6(packet, packet_bytes, from, site_count);
    case ETHERTYPE_IPV4:
        if (packet_bytes < IPV4_BYTES)
            return (struct route){.kind = ROUTE_TOO_SHORT};
        if (packet[16] >= 224)
            return (struct route){.kind = ROUTE_OTHER};
        return to_site(packet[18], from, site_count);
    default:
        return (struct route){.kind = ROUTE_OTHER};
    }
}
