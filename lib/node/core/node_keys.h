/* The keys of a node and of its peers, ready for handshakes. Making them costs a scalar multiplication for each, so whoever
 * reads a roster again does that on a thread of his own, and the node takes what was made (CTL_KEYS). */
#pragma once

#include "base/err.h"
#include "node/node_config.h"
#include "seal/handshake.h"

struct peer_bonds {
    uint8_t count; /* 0: the peer has no key, and gets no session */
    struct bond of[NODE_PEER_KEYS_MAX];
};

struct node_keys {
    struct key_pair own;
    uint64_t roster;                         /* of the configuration */
    struct peer_bonds peers[NODE_PEERS_MAX]; /* as the configuration has them */
};

/* Of the configuration's own key and its peers' public ones. False: err says which is of low order, and nobody's. Who calls
 * wipes them. */
bool node_keys_make(struct node_keys *keys, const struct node_config *config, struct err *err);
