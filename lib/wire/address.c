#include "wire/address.h"

#include <arpa/inet.h>
#include <stdio.h>

bool address_parse(const char *text, struct net_address *address)
{
    uint8_t ip[16] = {0};
    uint8_t family;
    if (inet_pton(AF_INET, text, ip) == 1)
        family = ADDRESS_IPV4;
    else if (inet_pton(AF_INET6, text, ip) == 1)
        family = ADDRESS_IPV6;
    else
        return false;
    memcpy(address->ip, ip, sizeof(ip));
    address->family = family;
    address->unused = 0;
    return true;
}

void address_format(const struct net_address *address, char text[ADDRESS_TEXT_BYTES])
{
    char ip[INET6_ADDRSTRLEN] = "-";
    bool six = address->family == ADDRESS_IPV6;
    if (address->family != ADDRESS_NONE)
        inet_ntop(six ? AF_INET6 : AF_INET, address->ip, ip, sizeof(ip));
    snprintf(text, ADDRESS_TEXT_BYTES, six ? "[%s]:%u" : "%s:%u", ip, address->udp_port);
}
