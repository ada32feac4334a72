/* What came in a peer's name, or from its address, and was not taken because it does not fit the configuration: names or a source
 * port that differ between the two files, or that somebody on the way changes (NAT). The newest of a peer is kept until the peer
 * comes up; nothing but what people are told depends on it, as anybody may send such. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/name.h"
#include "wire/address.h"

enum misfit_kind {
    MISFIT_NONE = 0,
    MISFIT_NAME,    /* from its address: says to be somebody else */
    MISFIT_CALLED,  /* from its address: speaks to somebody else */
    MISFIT_ADDRESS, /* in its name, or under its session: from another address or port */
};

struct misfit {
    uint8_t kind;            /* enum misfit_kind */
    char name[NAME_BYTES];   /* NAME, CALLED: what came */
    struct net_address from; /* ADDRESS */
};

struct node;
struct peer;
struct rx_packet;

void misfit_note_name(struct peer *peer, enum misfit_kind kind, const char *name);
void misfit_note_address(struct peer *peer, const struct net_address *from);
/* A hello from an address that nobody has: in whose name? */
void misfit_note_hello(struct node *node, const struct rx_packet *packet);
/* What was heard, and what was expected; "": nothing that does not fit. Returns its length. */
size_t misfit_text(const struct node *node, const struct peer *peer, char *text, size_t room);
