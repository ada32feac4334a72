/* A UDP endpoint, IPv4 or IPv6: what identifies a peer's packets below the session. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ADDRESS_TEXT_BYTES 56 /* "[…]:65535" with the terminating zero */

enum address_family { ADDRESS_NONE = 0, ADDRESS_IPV4 = 4, ADDRESS_IPV6 = 6 };

struct net_address {
    uint8_t ip[16];    /* network order; IPv4 uses the first four bytes, the rest is zero */
    uint16_t udp_port; /* host order */
    uint8_t family;    /* enum address_family */
    uint8_t unused;
};

static inline bool address_equal(const struct net_address *a, const struct net_address *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* IP + UDP header bytes of the family: 28 or 48. */
static inline uint32_t address_overhead_bytes(uint8_t family)
{
    return family == ADDRESS_IPV6 ? 48 : 28;
}

/* "10.1.2.3" or "fd00::1" (without brackets or port) into *address; udp_port is left as it was. False when
 * malformed. */
bool address_parse(const char *text, struct net_address *address);

/* "10.1.2.3:7840" or "[fd00::1]:7840". */
void address_format(const struct net_address *address, char text[ADDRESS_TEXT_BYTES]);
