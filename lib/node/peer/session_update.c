/* New keys for a session while it lasts, and new sessions in time.
 *
 * Keys of a direction are updated by its sender, both spaces at once, after so many packets of a space or so long
 * (node_config.h); numbers go on. The next set of each direction is derived here, in a tick, never for a packet. The receiver
 * moves on when something opens under it, says so in its next hello, at once, and opens the old one for HOLD_NS and two
 * round trips more. Until the sender has heard that, and for as long as that, it updates no second time: so the two
 * are never further apart than the receiver knows, whatever is lost.
 *
 * Whoever has read a node's memory could follow all updates; so the session's initiator makes another session after
 * node_config.renewal_ns, by a handshake, and what is under way goes on. Where no word of new keys comes, after twice the packets
 * of an update either does; after four times the session ends, and nothing leaves but initiations. */
#include "node/peer/peer.h"

#define HOLD_NS           (3 * NS_PER_S)
#define RENEW_PACKETS     2 /* times those of an update, of a space, without a word of the peer */
#define SPENT_PACKETS     4
#define DIGEST_OWN_KEYS   0x6b6f
#define DIGEST_PEERS_KEYS 0x6b70

static uint64_t hold_ns(const struct node *node)
{
    return HOLD_NS + 2 * node->config.rtt_max_ns;
}

static uint64_t numbers_used(struct peer *peer)
{
    const struct session *session = peer_session(peer);
    uint64_t data = peer->sender.next_number - session->course.from[SEAL_DATA];
    return MAX(data, session->control_next - session->course.from[SEAL_CONTROL]);
}

/* ---- own keys ---- */

/* When they may be replaced, at the earliest: the peer opens nothing more of those before them. */
static uint64_t replaceable_ns(const struct node *node, const struct session *session)
{
    return session->course.confirmed ? later_ns(session->course.updated_ns, hold_ns(node)) : TIME_NEVER;
}

static uint64_t update_due_ns(const struct node *node, const struct session *session, uint64_t used)
{
    uint64_t may_ns = replaceable_ns(node, session);
    if (may_ns == TIME_NEVER || used >= node->config.update_packets)
        return may_ns;
    return MAX(may_ns, later_ns(session->course.updated_ns, node->config.update_ns));
}

static void update(struct node *node, struct peer *peer, uint64_t now_ns)
{
    struct session *session = peer_session(peer);
    struct session_keys *keys = &peer->sessions.keys[peer->sessions.current];
    session_keys_move(&keys->out);
    session_keys_forget_old(keys, &keys->out);
    session_keys_prepare(keys, &keys->out);
    session->course.updated_ns = now_ns;
    session->course.from[SEAL_DATA] = peer->sender.next_number;
    session->course.from[SEAL_CONTROL] = session->control_next;
    session->course.confirmed = false;
    node->counters.keys_updated++;
    digest_add(&node->digest, (uint64_t)DIGEST_OWN_KEYS << 32 | peer->index);
}

void session_update_on_hello(struct node *node, struct peer *peer, uint32_t session, uint8_t key_id)
{
    struct session *current = peer_session(peer);
    if (current->course.confirmed || session != current->in ||
        key_id != peer->sessions.keys[peer->sessions.current].out.id)
        return;
    current->course.confirmed = true;
    peer->sessions.keys_due_ns = node->now_ns;
    peer_schedule(node, peer, node->now_ns);
}

/* ---- the peer's keys ---- */

void session_update_taken(struct node *node, struct peer *peer, struct session *session,
                          struct session_keys *keys, uint64_t now_ns)
{
    session_keys_move(&keys->in);
    session->course.opened_ns = now_ns;
    for (unsigned space = 0; space < SEAL_SPACES; space++)
        session->course.first[space] = UINT64_MAX;
    peer->sessions.keys_due_ns = now_ns;
    peer->hello_due_ns = MIN(peer->hello_due_ns, now_ns);
    peer_schedule(node, peer, now_ns);
    digest_add(&node->digest, (uint64_t)DIGEST_PEERS_KEYS << 32 | peer->index);
}

uint8_t session_key_opened(const struct peer *peer)
{
    return peer->sessions.keys[peer->sessions.current].in.id;
}

/* ---- sessions ---- */

/* When the one before that in use opens nothing more: the peer has shown that it uses the same. */
static uint64_t farewell_ns(const struct node *node, struct peer *peer)
{
    bool over = peer->sessions.used[!peer->sessions.current].in != 0 && peer_session(peer)->proved;
    return over ? later_ns(peer_session(peer)->proved_ns, hold_ns(node)) : TIME_NEVER;
}

static uint64_t renewal_due_ns(const struct node *node, struct peer *peer, uint64_t used)
{
    const struct session *session = peer_session(peer);
    if (peer->sessions.initiation_due_ns != TIME_NEVER)
        return TIME_NEVER; /* under way */
    if (used >= RENEW_PACKETS * node->config.update_packets && !session->course.confirmed)
        return node->now_ns;
    return session->initiated ? later_ns(session->taken_ns, node->config.renewal_ns) : TIME_NEVER;
}

static void renew(struct peer *peer, uint64_t now_ns)
{
    peer->sessions.initiation_due_ns = now_ns;
    peer->sessions.initiations = 0;
}

static void tend(const struct node *node, struct peer *peer, unsigned place, uint64_t now_ns)
{
    struct session *session = &peer->sessions.used[place];
    struct session_keys *keys = &peer->sessions.keys[place];
    if (session->in == 0)
        return;
    if (now_ns >= later_ns(session->course.opened_ns, hold_ns(node)))
        session_keys_forget_old(keys, &keys->in);
    session_keys_prepare(keys, &keys->in);
    session_keys_prepare(keys, &keys->out);
}

static uint64_t next_ns(const struct node *node, struct peer *peer, uint64_t used)
{
    uint64_t at_ns = MIN(farewell_ns(node, peer), renewal_due_ns(node, peer, used));
    for (unsigned place = 0; place < SESSIONS_USED; place++)
        if (peer->sessions.used[place].in != 0 && peer->sessions.keys[place].in.has_old)
            at_ns = MIN(at_ns, later_ns(peer->sessions.used[place].course.opened_ns, hold_ns(node)));
    return MIN(at_ns, update_due_ns(node, peer_session(peer), used));
}

bool session_update_tick(struct node *node, struct peer *peer, uint64_t now_ns)
{
    uint64_t used = numbers_used(peer);
    if (now_ns < peer->sessions.keys_due_ns && used < node->config.update_packets)
        return false;
    peer->sessions.keys_due_ns = TIME_NEVER;
    if (!node->config.primitives->authenticates || !peer_is_known(peer))
        return false;
    if (now_ns >= farewell_ns(node, peer))
        session_forget(node, peer, !peer->sessions.current);
    for (unsigned place = 0; place < SESSIONS_USED; place++)
        tend(node, peer, place, now_ns);
    if (now_ns >= update_due_ns(node, peer_session(peer), used)) {
        update(node, peer, now_ns);
        used = 0;
    }
    if (used >= SPENT_PACKETS * node->config.update_packets) {
        node->counters.keys_spent++;
        session_replace(node, peer, now_ns);
        return true;
    }
    if (now_ns >= renewal_due_ns(node, peer, used))
        renew(peer, now_ns);
    peer->sessions.keys_due_ns = next_ns(node, peer, used);
    return false;
}
