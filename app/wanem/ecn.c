#include "app/wanem/ecn.h"

#include <stdbool.h>

#include "wire/ethernet.h"

#define IPV4_CHECKSUM_OFFSET 10

static bool is_ipv6(const uint8_t *ip)
{
    return ip[0] >> 4 == 6;
}

/* The second byte: type of service in IPv4, low half of the traffic class and flow label in IPv6. */
uint8_t ecn_read(const uint8_t *ip)
{
    return is_ipv6(ip) ? ip[1] >> 4 & 3 : ip[1] & 3;
}

void ecn_write(uint8_t *ip, uint8_t ecn)
{
    if (is_ipv6(ip)) {
        ip[1] = (uint8_t)((ip[1] & ~0x30) | ecn << 4);
        return;
    }
    uint32_t sum = (uint16_t)~load_be16(ip + IPV4_CHECKSUM_OFFSET) + (uint32_t)(uint16_t)~load_be16(ip);
    ip[1] = (uint8_t)((ip[1] & ~3) | ecn);
    store_be16(ip + IPV4_CHECKSUM_OFFSET, checksum_fold(sum + load_be16(ip)));
}
