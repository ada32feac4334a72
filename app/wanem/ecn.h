/* The ECN field (RFC 3168) of an IP header, IPv4 or IPv6. */
#pragma once

#include <stdint.h>

uint8_t ecn_read(const uint8_t *ip);
/* IPv4: the header checksum follows (RFC 1624). */
void ecn_write(uint8_t *ip, uint8_t ecn);
