/* What keeps a host reachable on its link, as pure functions from frame to frame: ARP (RFC 826), IPv6
 * neighbour discovery (RFC 4861: solicitation for our own address, advertisements), ICMP and ICMPv6 echo (RFC
 * 792, RFC 4443). An announcement (gratuitous ARP, unsolicited advertisement) is learnt from like an answer;
 * what it may change is for the neighbour table to say. Whoever uses our own address as his is not answered (RFC
 * 5227: told, not fought).
 *
 * Guarantee: an answer is never longer than the question plus the 8 bytes that an advertisement's address
 * option takes, and only goes back to where the question came from; whatever is malformed, wrongly
 * checksummed or not for us gets no answer. ND is only believed with hop limit 255, that is, from the
 * link. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/address.h"
#include "wire/ethernet.h"

#define RESPONDER_FRAME_BYTES_MIN 96 /* room that every question and advertisement fits */

struct responder {
    uint8_t mac[MAC_BYTES];
    uint16_t vlan;              /* 0: untagged */
    struct net_address address; /* ours; family 0: answers nothing */
};

enum responder_kind {
    RESPONDER_IGNORED = 0, /* not for us, or nothing that is answered */
    RESPONDER_ARP,
    RESPONDER_ND,
    RESPONDER_ECHO,
    RESPONDER_BAD, /* ARP, ND or echo, but malformed */
    RESPONDER_KINDS
};

struct responder_result {
    enum responder_kind kind;
    size_t length; /* of the answer in `out`; 0: none */
    bool learnt;   /* the sender's addresses below are known now */
    bool weak;     /* but do not replace others: an advertisement without the override flag */
    bool conflict; /* the sender says that our own address is its */
    struct net_address address;
    uint8_t mac[MAC_BYTES]; /* of the sender: learnt, or in conflict */
};

/* `out` has room for `room` bytes; a longer answer is not given. */
struct responder_result responder_answer(const struct responder *responder, const uint8_t *frame,
                                         size_t length, uint8_t *out, size_t room);
/* The question for the MAC of `address` (ARP request or neighbour solicitation) to all who may know it, or to
 * `holder` alone: its length. */
size_t responder_ask(const struct responder *responder, const struct net_address *address,
                     const uint8_t *holder, uint8_t out[RESPONDER_FRAME_BYTES_MIN]);
/* The question whether anybody else has our own address, in the name of nobody, so that no cache learns from it (ARP
 * probe of RFC 5227, duplicate address detection of RFC 4862): its length. */
size_t responder_probe(const struct responder *responder, uint8_t out[RESPONDER_FRAME_BYTES_MIN]);
