/* What came in a peer's name, or from its address, and was not taken because it does not fit the configuration: names or a
 * source port that differ between the two files, or that somebody on the way changes (NAT); or two nodes with one name, or
 * with one name and address. The newest of a peer is kept until the peer comes up; nothing but what people are told depends
 * on it, as anybody may send such.
 *
 * Two with one name and address are told from a restart: an old start is heard long after a new one said hello, or comes back
 * in its place. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/name.h"
#include "base/units.h"
#include "wire/address.h"

enum misfit_kind {
    MISFIT_NONE = 0,
    MISFIT_NAME,    /* from its address: says to be somebody else */
    MISFIT_CALLED,  /* from its address: speaks to somebody else */
    MISFIT_ADDRESS, /* in its name, or under its session: from another address or port */
    MISFIT_TWICE,   /* in its name, from its address: two of them */
    MISFIT_RIGHT,   /* by itself: what it may not say */
    /* From its address, handshakes that fit no key of its entry in the roster … */
    MISFIT_KEY,         /* … and more is not known; all that follow are of this kind */
    MISFIT_KEY_NONE,    /* they have no key */
    MISFIT_KEY_NEEDED,  /* this node has none */
    MISFIT_KEY_HERE,    /* they are not for this node's key */
    MISFIT_KEY_UNKNOWN, /* they name a key that is not in the roster */
    MISFIT_KEY_OF,      /* they are of another site's key */
};

#define RIVAL_NS      (5 * NS_PER_S) /* a peer that started anew is not heard by its old session for so long */
#define RIGHT_OVER_NS (60 * NS_PER_S) /* it has said nothing of that kind any more */
#define RIVAL_OVER_NS (60 * NS_PER_S) /* without a hello of the other: there is but one any more */
/* So long a peer that starts, or comes back, may keep us waiting. */
#define MISFIT_SILENT_NS (5 * NS_PER_S)
/* Without a handshake of another node in this one's name, which would come at each hello interval: it is gone. */
#define NAMESAKE_OVER_NS (300 * NS_PER_S)

/* Another start of a peer, which says hello while the peer is up. Times are lived ones. */
struct rival {
    uint64_t incarnation; /* 0: none */
    uint64_t since_ns, newest_ns;
    uint64_t before; /* the peer's incarnation before the one it has; 0: none */
    bool returned;   /* the one it has had the place before that */
};

struct misfit {
    uint8_t kind;            /* enum misfit_kind */
    char name[NAME_BYTES];   /* NAME, CALLED: what came; KEY_OF: whose it is */
    struct net_address from; /* ADDRESS */
    uint8_t said;            /* RIGHT: enum control_kind, the newest; when in lived time, how often */
    uint64_t said_ns, said_count;
    uint64_t tried_ns; /* when it was last found out, in lived time, whose key it is; 0: never */
};

struct node;
struct peer;
struct rx_packet;

void misfit_note_name(struct peer *peer, enum misfit_kind kind, const char *name);
void misfit_note_address(struct peer *peer, const struct net_address *from);
/* A handshake from its address, while it is down, that fits no key of its own. */
void misfit_note_key(struct peer *peer);
/* A message that the peer has no right to. */
void misfit_note_right(struct peer *peer, uint8_t kind, uint64_t lived_ns);
/* What was found out of that; `whose`: of MISFIT_KEY_OF. */
void misfit_note_author(struct peer *peer, enum misfit_kind kind, const char *whose);
/* An initiation of the peer that another start of it sent: it proves nothing, and the peer is up. */
void misfit_note_rival(struct peer *peer, uint64_t incarnation, uint64_t lived_ns);
/* That other start takes the peer's place. */
void misfit_note_start(struct peer *peer, uint64_t incarnation);
/* The peer came up, or was greeted once more: what did not fit is over, or may be. */
void misfit_note_up(struct peer *peer);
void misfit_note_greeting(struct peer *peer, uint64_t lived_ns);
/* What of it is to be told when nothing comes that could not fit: the peer is down, and nothing has been heard of it for
 * MISFIT_SILENT_NS. "": it is not so. */
size_t misfit_silence(const struct node *node, const struct peer *peer, char *text, size_t room);
/* What was heard, and what was expected; "": nothing that does not fit. Returns its length. */
size_t misfit_text(const struct node *node, const struct peer *peer, char *text, size_t room);
/* The same of this node's own name, which another one uses; "" too, when the newest such handshake is NAMESAKE_OVER_NS old.
 * Returns how many came so far. */
uint64_t misfit_namesake(const struct node *node, char *text, size_t room);
