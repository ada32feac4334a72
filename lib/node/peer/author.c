#include "node/peer/author.h"

#include <string.h>

#include "node/core/key_room.h"
#include "node/peer/peer.h"

#define AUTHOR_NS (10 * NS_PER_S) /* between two tries of a peer */

static bool is_tagged(const uint8_t *datagram)
{
    static const uint8_t none[WIRE_TAG_BYTES]; /* as nodes without keys send them */
    return memcmp(datagram + WIRE_HEADER_BYTES - WIRE_TAG_BYTES, none, sizeof(none)) != 0;
}

bool author_is_wanted(const struct node *node, struct peer *peer, const uint8_t *datagram)
{
    const struct misfit *misfit = &peer->misfit;
    if (!node->config.primitives->authenticates)
        misfit_note_author(peer, MISFIT_KEY_NEEDED, "");
    else if (!is_tagged(datagram))
        misfit_note_author(peer, MISFIT_KEY_NONE, "");
    else
        return peer->state == PEER_DOWN &&
               (misfit->tried_ns == 0 || elapsed_ns(core_lived_ns(node), misfit->tried_ns) >= AUTHOR_NS);
    return false;
}

/* A bond with whoever of the roster has that public key; NULL: nobody. */
static const struct bond *bond_with(const struct node *node, const uint8_t author[SEAL_KEY_BYTES],
                                    uint16_t *whose)
{
    for (*whose = 0; *whose < node->peer_count; (*whose)++) {
        const struct sessions *sessions = &node->peers[*whose].sessions;
        for (unsigned key = 0; key < sessions->bond_count; key++)
            if (memcmp(sessions->bonds[key].peer, author, SEAL_KEY_BYTES) == 0)
                return &sessions->bonds[key];
    }
    return NULL;
}

void author_find(struct node *node, struct peer *peer, const uint8_t *datagram)
{
    const uint8_t *message = datagram + WIRE_HEADER_BYTES;
    uint8_t author[SEAL_KEY_BYTES], payload[WIRE_GREETING_BYTES];
    struct noise noise = {0};
    uint16_t whose;
    peer->misfit.tried_ns = MAX(core_lived_ns(node), (uint64_t)1);
    if (!handshake_peek(node->config.primitives, &node->config.key, &node->key_room->scratch, message,
                        author)) {
        misfit_note_author(peer, MISFIT_KEY_HERE, "");
        return;
    }
    const struct bond *bond = bond_with(node, author, &whose);
    if (bond == NULL)
        misfit_note_author(peer, MISFIT_KEY_UNKNOWN, "");
    else if (whose != peer->index && handshake_read(&noise, bond, &node->key_room->scratch, message, payload))
        misfit_note_author(peer, MISFIT_KEY_OF, node->peers[whose].config->name);
    else
        misfit_note_author(peer, MISFIT_KEY, "");
    noise_wipe(&noise);
}
