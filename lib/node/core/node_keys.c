#include "node/core/node_keys.h"

bool node_keys_make(struct node_keys *keys, const struct node_config *config, struct err *err)
{
    keys->own = config->key;
    keys->roster = config->roster;
    for (uint16_t index = 0; index < config->peer_count; index++) {
        const struct node_peer_config *peer = &config->peers[index];
        struct peer_bonds *bonds = &keys->peers[index];
        bonds->count = peer->key_count;
        for (unsigned key = 0; key < peer->key_count; key++)
            if (!bond_make(&bonds->of[key], config->primitives, &keys->own, peer->public_keys[key]))
                return err_set(err, "%s: no node's key: with this one everybody agrees on the same secret",
                               peer->name);
    }
    return true;
}
