/* What is let go of with a peer that is down, that has lost its state, or that lost its key. */
#include "node/core/node_keys.h"
#include "node/flow/flow.h"
#include "node/role/role.h"
#include "node/top.h"
#include "node/train/in.h"
#include "node/train/line_in.h"
#include "node/train/pairs.h"
#include "node/train/prober.h"

void peer_state_lost(struct node *node, struct peer *peer, uint64_t now_ns)
{
    flow_on_reset(node, peer);
    train_in_forget(node, peer->index);
    prober_forget(node, peer->index);
    asked_forget(node, peer->index);
    line_in_forget(node, peer->index);
    pairs_forget(node, peer->index, now_ns);
    role_on_peer_lost(node, peer->index, true, now_ns);
}

void peer_went_down(struct node *node, const struct peer *peer, uint64_t now_ns)
{
    role_on_peer_lost(node, peer->index, false, now_ns);
    pairs_forget(node, peer->index, now_ns);
}

/* The old private key is gone at once: what is made with it by now needs it no more. */
void peers_take_keys(struct node *node, const struct node_keys *keys, uint64_t now_ns)
{
    const struct key_pair *own = &node->config.key;
    bool changed = memcmp(own->public_key, keys->own.public_key, SEAL_KEY_BYTES) != 0;
    node->config.key = keys->own;
    node->config.roster = keys->roster;
    for (uint16_t index = 0; index < node->peer_count; index++) {
        struct peer *peer = &node->peers[index];
        switch (session_take_bonds(node, peer, &keys->peers[index], changed, now_ns)) {
        case BONDS_KEPT:
            break;
        case BONDS_DOWN:
            peer_went_down(node, peer, now_ns);
            break;
        case BONDS_LOST:
            peer_state_lost(node, peer, now_ns);
            break;
        }
    }
}
