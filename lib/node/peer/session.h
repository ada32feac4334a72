/* Sessions of a peer: what its packets are told by, and sealed with.
 *
 * A handshake (seal/handshake.h) makes one: whoever has no session that works sends initiations, the same one for
 * INITIATION_NS, then one with a fresh key. An initiation that was read proves little, as it may be an old one: it makes a
 * tentative session, which is answered and does nothing else. The session is taken up when a packet opens under its keys;
 * at the initiator that is the response. So nothing that is replayed or made up changes what two nodes have in common.
 *
 * The edge (sender, receiver, mail) has a name, the same at both. Greetings tell it: where both name the same one, the new
 * session carries it on; else it carries a new one, named by the handshake, and both begin anew. Who wants that (lost sync)
 * names none. DATA numbers belong to the edge and go on with it; control numbers begin with the session.
 *
 * Both may begin at once. Then the session begun by the one with the smaller name is taken, the other is left. He does not
 * answer while he waits for an answer himself, nor after it until the peer uses that session, which he is known to hold:
 * else each end could take another one, forget its own, and be deaf.
 *
 * Two sessions are in use at most: what was sealed for the one before still opens for some seconds. Two are tentative at
 * most, each for some seconds, one of them made by an initiation that cannot be a recorded one (fresh.h).
 *
 * While a session lasts, its keys are updated (session_update.c); each hour its initiator makes another one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "edge/replay.h"
#include "node/node_config.h"
#include "node/core/node_keys.h"
#include "node/packet.h"
#include "node/peer/fresh.h"
#include "seal/session_keys.h"
#include "wire/close.h"
#include "wire/handshake.h"
#include "wire/hello.h"

#define SESSIONS_USED      2
#define SESSIONS_TENTATIVE 2

/* How far the keys of a session have come. Those of each direction are updated by who sends under them, which the id in
 * packets tells. */
struct key_course {
    uint64_t updated_ns;         /* own: when the current set was taken … */
    uint64_t from[SEAL_SPACES];  /* … and the first number of each space under it */
    bool confirmed;              /* the peer has told that it opened something under it */
    uint64_t opened_ns;          /* the peer's: when something opened under the current set … */
    uint64_t first[SEAL_SPACES]; /* … and its number in each space; UINT64_MAX: nothing did yet */
};

/* What both ends have agreed on. */
struct session {
    uint32_t in, out;                 /* what packets to us and from us carry; in 0: there is none */
    bool initiated;                   /* by this node */
    bool proved;                      /* not only this node knows it: something came under it */
    uint64_t edge;                    /* the name of the edge that it carries */
    uint8_t peer_key[SEAL_KEY_BYTES]; /* the peer's public key that it was made with */
    uint64_t made_ns, taken_ns, proved_ns;
    uint64_t control_next; /* number of the next datagram but DATA */
    struct key_course course;
    struct wire_greeting greeting;
};

/* Answered, and not proved yet. */
struct tentative {
    struct session session;
    struct session_secrets secrets;
    uint8_t ephemeral[SEAL_KEY_BYTES]; /* of the initiation: the same one again gets the same response */
    uint8_t response[WIRE_RESPONSE_BYTES];
    bool response_due;
    uint64_t answered_ns; /* when its response was asked for last */
};

/* Own, not answered yet. */
struct initiation {
    struct noise noise;
    const struct bond *bond;
    uint32_t session; /* that it tells; 0: there is none under way */
    uint64_t edge;    /* … and the edge */
    uint64_t made_ns;
    uint8_t datagram[WIRE_INITIATION_BYTES];
};

struct sessions {
    /* One for each key of the peer, tried in turn; none: initiations are due never. */
    struct bond bonds[NODE_PEER_KEYS_MAX];
    uint8_t bond_count, next_bond;
    struct initiation initiation;
    struct tentative tentative[SESSIONS_TENTATIVE];
    struct session used[SESSIONS_USED];
    struct session_keys *keys; /* of those used, then of the tentative ones … */
    struct replay replay[SESSIONS_USED];
    uint8_t current;            /* … and which of them is sent under */
    uint64_t edge;              /* name of the edge as it is; 0: none */
    uint64_t initiation_due_ns; /* TIME_NEVER: none is wanted */
    uint64_t initiated_ns;      /* when the last one left */
    uint64_t keys_due_ns;       /* when session_update_tick has something to do */
    uint8_t initiations;        /* so many have left since they are wanted, as far as that matters */
    struct freshness freshness;
    /* When the initiations of the peer that were computed are paid for: those that may be old, and those that cannot;
     * and its responses. */
    uint64_t asked_ns[2], answered_ns;
};

struct node;
struct peer;

static inline bool sessions_due(const struct sessions *sessions, uint64_t now_ns)
{
    bool response_due = false;
    for (unsigned index = 0; index < SESSIONS_TENTATIVE; index++)
        response_due |= sessions->tentative[index].response_due;
    return response_due || now_ns >= sessions->initiation_due_ns;
}

/* What a handshake or a packet brought about. A lost edge is to be let go of before anything else is done for the peer. */
enum session_event { SESSION_LOST = 1, SESSION_CAME_UP = 2 };

/* ---- session.c: sessions begin and end, liveness ---- */
size_t sessions_bytes(void);
/* When the peer has been made. The first initiation is due at once, a little irregular, so that many nodes started together
 * do not beat in step. */
void sessions_init(struct node *node, struct peer *peer, struct arena *arena, uint64_t now_ns);
/* Ends a session in use, or one that is tentative, and forgets its keys. */
void session_forget(struct node *node, struct peer *peer, unsigned place);
void session_forget_tentative(struct node *node, struct peer *peer, unsigned index);
/* Those that have proved nothing in their time. */
void session_expire_tentative(struct node *node, struct peer *peer);
/* Ends the handshake that this node has begun. */
void session_forget_initiation(struct node *node, struct peer *peer);
/* A session for packets to us; no other has its low bits, by which session_peer finds the peer (NULL: nobody was given it). */
uint32_t session_new(struct node *node, const struct peer *peer);
void session_end(struct node *node, uint32_t *session); /* 0: there is none; *session becomes 0 */
struct peer *session_peer(const struct node *node, uint32_t session);
/* It has proved to be the peer's: from now on it is the one that is used, unless one that goes before it crossed it. Returns
 * events. */
unsigned session_take_up(struct node *node, struct peer *peer, const struct session *made,
                         const struct session_secrets *secrets, uint64_t now_ns);
/* Something came under one in use: the peer uses it too. */
void session_prove(struct node *node, struct peer *peer, struct session *session);
/* Of two nodes that begin at once, this one goes before the peer: its name is the smaller one. */
bool session_goes_first(const struct node *node, const struct peer *peer);
/* The edge that a session carries whose greetings name these: the same one, or a new one named by the handshake. */
uint64_t session_edge(uint64_t own, uint64_t told, const struct session_secrets *secrets);
/* What came under a session was opened: as good as a hello. True: the peer came up by it. */
bool session_on_packet(struct node *node, struct peer *peer, uint64_t now_ns);
/* A hello of it was opened. */
void session_on_hello(struct node *node, struct peer *peer, const struct wire_hello *hello, uint64_t now_ns);
/* Begins anew with a peer that is there: what was under way is lost at both ends. */
void session_renew(struct node *node, struct peer *peer, uint64_t now_ns);
/* Ends the session in use, and calls for another one to carry on its edge. */
void session_replace(struct node *node, struct peer *peer, uint64_t now_ns);
/* The peer has no key any more: all that was between the two ends, and nothing begins. */
void session_revoke(struct node *node, struct peer *peer, uint64_t now_ns);
/* The peer has left. */
void session_on_close(struct node *node, struct peer *peer, uint64_t now_ns);
/* True: the peer fell silent now. */
bool session_fell_silent(struct node *node, struct peer *peer, uint64_t now_ns);
/* To the next hello, and between probes of the watch; to be asked when a hello leaves. */
uint64_t session_hello_interval_ns(const struct node *node, struct peer *peer, uint64_t now_ns);
/* Says farewell at the next node_tx. */
void session_say_farewell(struct node *node, struct peer *peer, enum wire_close_reason reason);

/* ---- session_shake.c: handshakes ---- */
/* An initiation or a response from the peer's address. Counts it, or the reason why it was not taken; returns events. */
unsigned session_on_handshake(struct node *node, struct peer *peer, const struct wire_header *header,
                              const uint8_t *datagram, size_t length, uint64_t now_ns);
/* An initiation from an address that nobody has: if somebody's key has made it, that is told to people (misfit.h). */
void session_note_stranger(struct node *node, const struct rx_packet *packet);
/* The next datagram of a handshake that is due to be sent; false: none. Writes at most WIRE_INITIATION_BYTES. */
bool session_next_handshake(struct node *node, struct peer *peer, uint8_t *datagram, size_t *length,
                            uint64_t now_ns);

/* ---- session_update.c: new keys for a session, a new session in its place ---- */
/* Derives, updates, wipes and renews what is due. True: the keys are used up, so that nothing can be sent any more. */
bool session_update_tick(struct node *node, struct peer *peer, uint64_t now_ns);
/* A hello of the peer, opened under that session, tells which of this node's keys it opened last. */
void session_update_on_hello(struct node *node, struct peer *peer, uint32_t session, uint8_t key_id);
/* Something opened under the peer's next keys: from now on they are the current ones. */
void session_update_taken(struct node *node, struct peer *peer, struct session *session,
                          struct session_keys *keys, uint64_t now_ns);
/* What a hello tells. */
uint8_t session_key_opened(const struct peer *peer);

/* ---- session_bonds.c: keys of the roster change ---- */
enum bonds_event { BONDS_KEPT, BONDS_DOWN, BONDS_LOST }; /* the peer is down; its edge was let go of, too */
/* From now on the peer has these keys. A session that was made with one of them goes on; any other is wiped, as are the old
 * bonds, and one is made with a key that is left. With an own new key all are renewed. */
enum bonds_event session_take_bonds(struct node *node, struct peer *peer, const struct peer_bonds *bonds,
                                    bool own_changed, uint64_t now_ns);

/* ---- session_seal.c: packets under a session ---- */
/* The common header of a datagram to the peer that is no DATA; takes a number. */
struct wire_header session_header(struct peer *peer, enum wire_type type, uint64_t depart_ns);
/* … and of DATA, whose numbers are the edge's. */
struct wire_header session_data_header(struct peer *peer, uint64_t number, uint64_t depart_ns);
/* Seals one that was made with it just now: `datagram` is all of it, or, where the rest means nothing, what is in front. */
void session_seal(const struct node *node, struct peer *peer, uint8_t *datagram, size_t length);
/* The same of DATA: header and all that stands before the symbols. */
void session_seal_data(const struct node *node, struct peer *peer, uint8_t *head, size_t length,
                       uint64_t number);
/* Opens what came from the peer's address: *opened is the packet with what was sealed in the clear, valid until the next call.
 * False: it is dropped, and counted. *events: what it brought about, before the packet itself is looked at. */
bool session_open(struct node *node, struct peer *peer, const struct wire_header *header,
                  const struct rx_packet *packet, struct rx_packet *opened, unsigned *events,
                  uint64_t now_ns);
