#include "node/peer/misfit.h"

#include <stdio.h>

#include "node/packet.h"
#include "node/peer/peer.h"

void misfit_note_name(struct peer *peer, enum misfit_kind kind, const char *name)
{
    peer->misfit.kind = (uint8_t)kind;
    name_copy(peer->misfit.name, sizeof(peer->misfit.name), name);
}

void misfit_note_address(struct peer *peer, const struct net_address *from)
{
    peer->misfit.kind = MISFIT_ADDRESS;
    peer->misfit.from = *from;
}

void misfit_note_hello(struct node *node, const struct rx_packet *packet)
{
    struct wire_hello hello;
    if (wire_hello_decode(packet->data, packet->length, &hello) != WIRE_OK)
        return;
    uint16_t index = peer_find(node, hello.name.text);
    if (index < node->peer_count && peer_find(node, hello.peer.text) == PEER_SELF)
        misfit_note_address(&node->peers[index], &packet->from);
}

size_t misfit_text(const struct node *node, const struct peer *peer, char *text, size_t room)
{
    char from[ADDRESS_TEXT_BYTES], expected[ADDRESS_TEXT_BYTES];
    const struct misfit *misfit = &peer->misfit;
    int length = 0;
    text[0] = '\0';
    switch ((enum misfit_kind)misfit->kind) {
    case MISFIT_NONE:
        break;
    case MISFIT_NAME:
        length = snprintf(text, room, "hellos from its address name '%s', expected '%s'", misfit->name,
                          peer->config->name);
        break;
    case MISFIT_CALLED:
        length = snprintf(text, room, "its hellos are for '%s', this node is '%s'", misfit->name,
                          node->config.name);
        break;
    case MISFIT_ADDRESS:
        address_format(&misfit->from, from);
        address_format(&peer->config->address, expected);
        length = snprintf(text, room, "packets in its name come from %s, expected %s", from, expected);
        break;
    }
    return length > 0 ? MIN((size_t)length, room - 1) : 0;
}
