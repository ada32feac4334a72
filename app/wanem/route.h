/* Where a frame from a site goes. Site number N (from 1, in the order of the scenario) owns the IPv4
 * addresses x.x.N.x and the IPv6 addresses whose fourth group is N (hexadecimal), whatever else stands in
 * them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire/ethernet.h"

enum route_kind {
    ROUTE_SITE,      /* to site `to` */
    ROUTE_ASKS,      /* ARP or neighbour solicitation for route.target */
    ROUTE_NOBODY,    /* no such site */
    ROUTE_ITSELF,    /* the site it comes from */
    ROUTE_OTHER,     /* multicast, broadcast, neither IP nor a question */
    ROUTE_TOO_SHORT, /* shorter than its headers say */
};

struct route {
    enum route_kind kind;
    uint16_t to;
    struct net_address target; /* of the question: whose MAC is wanted */
};

/* `frame` is untagged; `from` counts from 0. */
struct route route_frame(const uint8_t *frame, size_t length, uint16_t from, uint16_t site_count);
