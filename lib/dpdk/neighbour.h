/* Neighbours: which MAC address an IP address on the link has. A table with timers, fed by the responder
 * (ARP, IPv6 ND) and asked by the transmit side. Pure: the owner sends what neighbour_next asks for.
 *
 * An entry is asked for until it answers (first retries 1 s apart, after NEIGHBOUR_TRIES 5 s apart, for ever:
 * a peer may come up later). A known address is asked for again after NEIGHBOUR_FRESH_NS and stays in use
 * until NEIGHBOUR_TRIES questions remained unanswered. Static entries are never asked for.
 *
 * Guarantee: no frame alone moves a known address to another MAC. Who claims one (a gateway's stand-in by
 * gratuitous ARP, or somebody who would like to be it) makes the holder be asked, NEIGHBOUR_CLAIM_ASKS times
 * by unicast; a sign of it within NEIGHBOUR_CLAIM_NS of the first question and it stays (a conflict), else
 * the claim is taken (a move). While a claim is examined further ones are not looked at, and after a conflict
 * the next one waits for NEIGHBOUR_CLAIM_NS: a flood of claims costs a few questions a second. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/address.h"
#include "wire/ethernet.h"

#define NEIGHBOURS_MAX     128
#define NEIGHBOUR_TRIES    5
#define NEIGHBOUR_RETRY_NS 1000000000ULL
#define NEIGHBOUR_SLOW_NS  5000000000ULL
#define NEIGHBOUR_FRESH_NS 60000000000ULL
#define NEIGHBOUR_NONE     UINT16_MAX

#define NEIGHBOUR_CLAIM_NS     1000000000ULL
#define NEIGHBOUR_CLAIM_ASKS   3
#define NEIGHBOUR_CLAIM_ASK_NS 300000000ULL

struct neighbour {
    struct net_address address; /* udp_port 0 */
    uint8_t mac[MAC_BYTES];
    bool known;
    bool fixed;
    uint8_t tries;   /* unanswered questions */
    uint64_t ask_ns; /* when to ask (again) */
    bool claimed;    /* by claim_mac; `mac` is in use until the holder was silent */
    uint8_t claim_mac[MAC_BYTES];
    uint8_t claim_asks;     /* questions to the holder so far */
    uint64_t claim_ask_ns;  /* the next one; without a claim: the earliest one */
    uint64_t claim_over_ns; /* end of the holder's time, from the first question on */
};

struct neighbour_table {
    uint16_t count;
    uint32_t version; /* changes whenever a MAC is learnt, changed or lost: cached headers are old then */
    uint64_t conflicts, moves;
    struct neighbour entries[NEIGHBOURS_MAX];
};

/* The entry's index (the old one where it exists); NEIGHBOUR_NONE: table full. */
uint16_t neighbour_add(struct neighbour_table *table, const struct net_address *address);
void neighbour_fix(struct neighbour_table *table, uint16_t index, const uint8_t mac[MAC_BYTES]);
/* The address answered, asked us, or announced itself. Addresses that nobody needs are ignored. `override`:
 * it may claim an address that is known with another MAC; else it only makes known what is not. */
void neighbour_learn(struct neighbour_table *table, const struct net_address *address,
                     const uint8_t mac[MAC_BYTES], bool override, uint64_t now_ns);
/* NULL: not known. */
const uint8_t *neighbour_mac(const struct neighbour_table *table, uint16_t index);
/* An entry that is to be asked for now, noted as asked; NEIGHBOUR_NONE: none. *holder: whom to ask by
 * unicast, valid until the next call; NULL: everybody. Takes the claims whose time has come. */
uint16_t neighbour_next(struct neighbour_table *table, uint64_t now_ns, const uint8_t **holder);
