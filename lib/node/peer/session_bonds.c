/* Keys of the roster change while sessions last. */
#include <string.h>

#include "node/peer/peer.h"
#include "seal/wipe.h"

static bool is_listed(const struct peer_bonds *bonds, const uint8_t key[SEAL_KEY_BYTES])
{
    for (unsigned index = 0; index < bonds->count; index++)
        if (memcmp(bonds->of[index].peer, key, SEAL_KEY_BYTES) == 0)
            return true;
    return false;
}

static bool is_same(const struct sessions *sessions, const struct peer_bonds *bonds)
{
    if (sessions->bond_count != bonds->count)
        return false;
    for (unsigned index = 0; index < bonds->count; index++)
        if (memcmp(sessions->bonds[index].peer, bonds->of[index].peer, SEAL_KEY_BYTES) != 0)
            return false;
    return true;
}

static void take(struct node *node, struct peer *peer, const struct peer_bonds *bonds)
{
    struct sessions *sessions = &peer->sessions;
    struct node_peer_config *config = &node->config.peers[peer->index];
    session_forget_initiation(node, peer);
    wipe(sessions->bonds, sizeof(sessions->bonds));
    sessions->bond_count = config->key_count = bonds->count;
    sessions->next_bond = 0;
    for (unsigned index = 0; index < bonds->count; index++) {
        sessions->bonds[index] = bonds->of[index];
        sessions->bonds[index].own = &node->config.key;
        memcpy(config->public_keys[index], bonds->of[index].peer, SEAL_KEY_BYTES);
    }
}

/* Those whose key is gone, but for the one in use. */
static void forget_others(struct node *node, struct peer *peer, const struct peer_bonds *bonds)
{
    struct sessions *sessions = &peer->sessions;
    for (unsigned index = 0; index < SESSIONS_TENTATIVE; index++)
        if (!is_listed(bonds, sessions->tentative[index].session.peer_key))
            session_forget_tentative(node, peer, index);
    unsigned before = !sessions->current;
    if (!is_listed(bonds, sessions->used[before].peer_key))
        session_forget(node, peer, before);
}

/* A little apart, so that not all peers are asked in one turn. */
static void call(struct node *node, struct peer *peer, uint64_t now_ns)
{
    struct sessions *sessions = &peer->sessions;
    sessions->initiation_due_ns = now_ns + rng_below(&node->rng, node->config.hello_interval_ns / 4 + 1);
    sessions->initiations = 0;
    peer_schedule(node, peer, sessions->initiation_due_ns);
}

enum bonds_event session_take_bonds(struct node *node, struct peer *peer, const struct peer_bonds *bonds,
                                    bool own_changed, uint64_t now_ns)
{
    if (!own_changed && is_same(&peer->sessions, bonds))
        return BONDS_KEPT;
    bool known = peer_is_known(peer), goes_on = known && is_listed(bonds, peer_session(peer)->peer_key);
    take(node, peer, bonds);
    forget_others(node, peer, bonds);
    if (bonds->count == 0) {
        session_revoke(node, peer, now_ns);
        return BONDS_LOST;
    }
    if (known && !goes_on) {
        session_replace(node, peer, now_ns);
        return BONDS_DOWN;
    }
    if (!known || own_changed)
        call(node, peer, now_ns);
    return BONDS_KEPT;
}
