#include "node/peer/misfit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

void misfit_note_key(struct peer *peer)
{
    if (peer->state == PEER_DOWN && peer->misfit.kind < MISFIT_KEY)
        peer->misfit.kind = MISFIT_KEY;
}

void misfit_note_right(struct peer *peer, uint8_t kind, uint64_t lived_ns)
{
    if (peer->misfit.kind == MISFIT_TWICE)
        return;
    peer->misfit.kind = MISFIT_RIGHT;
    peer->misfit.said = kind;
    peer->misfit.said_ns = lived_ns;
    peer->misfit.said_count++;
}

void misfit_note_author(struct peer *peer, enum misfit_kind kind, const char *whose)
{
    if (peer->state == PEER_DOWN)
        misfit_note_name(peer, kind, whose);
}

void misfit_note_rival(struct peer *peer, uint64_t incarnation, uint64_t lived_ns)
{
    struct rival *rival = &peer->rival;
    if (rival->incarnation != incarnation) {
        rival->incarnation = incarnation;
        rival->since_ns = lived_ns;
    }
    rival->newest_ns = lived_ns;
    if (peer->heard_ns > later_ns(rival->since_ns, RIVAL_NS))
        peer->misfit.kind = MISFIT_TWICE;
}

void misfit_note_start(struct peer *peer, uint64_t incarnation)
{
    if (peer->incarnation == 0 || peer->incarnation == incarnation)
        return;
    peer->rival.returned = peer->rival.before == incarnation;
    peer->rival.before = peer->incarnation;
}

void misfit_note_up(struct peer *peer)
{
    peer->misfit.kind = peer->rival.returned ? MISFIT_TWICE : MISFIT_NONE;
    peer->rival.incarnation = 0;
    peer->rival.newest_ns = peer->heard_ns;
}

void misfit_note_greeting(struct peer *peer, uint64_t lived_ns)
{
    if (peer->misfit.kind == MISFIT_TWICE && elapsed_ns(lived_ns, peer->rival.newest_ns) > RIVAL_OVER_NS)
        peer->misfit.kind = MISFIT_NONE;
    if (peer->misfit.kind == MISFIT_RIGHT && elapsed_ns(lived_ns, peer->misfit.said_ns) > RIGHT_OVER_NS)
        peer->misfit.kind = MISFIT_NONE;
}

/* No key is ever printed: of whom an unproved one is, whoever sent it may have chosen. */
static int key_text(const struct node *node, const struct peer *peer, char *text, size_t room)
{
    const char *name = peer->config->name;
    switch ((enum misfit_kind)peer->misfit.kind) {
    case MISFIT_KEY_NONE:
        return snprintf(text, room,
                        "its handshakes are of no key (node.insecure there), and this node has one");
    case MISFIT_KEY_NEEDED:
        return snprintf(text, room, "its handshakes are of a key, and this node has none (node.insecure)");
    case MISFIT_KEY_HERE:
        return snprintf(text, room,
                        "its handshakes are not for this node's key: its roster may have an old one of '%s', "
                        "compare with what sluicectl key show prints here",
                        node->config.name);
    case MISFIT_KEY_UNKNOWN:
        return snprintf(text, room,
                        "its handshakes are of a key that is not in the roster, unproved: compare with what "
                        "sluicectl key show prints at %s",
                        name);
    case MISFIT_KEY_OF:
        return snprintf(text, room, "its handshakes are of the key of '%s', expected that of '%s'",
                        peer->misfit.name, name);
    default:
        return snprintf(
            text, room,
            "its handshakes are of another key than the roster has, or of none: compare with what "
            "sluicectl key show prints at %s",
            name);
    }
}

size_t misfit_silence(const struct node *node, const struct peer *peer, char *text, size_t room)
{
    text[0] = '\0';
    if (peer->state == PEER_UP || peer->misfit.kind != MISFIT_NONE ||
        elapsed_ns(core_lived_ns(node), peer->down_since_ns) < MISFIT_SILENT_NS)
        return 0;
    return (size_t)snprintf(text, room, "no answer: it does not run, or packets to it or from it get lost");
}

size_t misfit_text(const struct node *node, const struct peer *peer, char *text, size_t room)
{
    char from[ADDRESS_TEXT_BYTES], expected[ADDRESS_TEXT_BYTES];
    const struct misfit *misfit = &peer->misfit;
    int length = 0;
    text[0] = '\0';
    if (peer->sessions.bond_count == 0)
        return (size_t)snprintf(text, room, "its key is not in the roster any more");
    switch ((enum misfit_kind)misfit->kind) {
    case MISFIT_NONE:
        break;
    case MISFIT_NAME:
        length = snprintf(text, room, "it says that it is '%s'%s, expected '%s'", misfit->name,
                          strcmp(misfit->name, node->config.name) == 0 ? ", as this node is called" : "",
                          peer->config->name);
        break;
    case MISFIT_CALLED:
        length =
            snprintf(text, room, "it speaks to '%s', this node is '%s'", misfit->name, node->config.name);
        break;
    case MISFIT_ADDRESS:
        address_format(&misfit->from, from);
        address_format(&peer->config->address, expected);
        length = snprintf(text, room, "packets in its name come from %s, expected %s%s", from, expected,
                          peer->state == PEER_UP ? ", from where it is up: are there two of that name?" : "");
        break;
    case MISFIT_KEY:
    case MISFIT_KEY_NONE:
    case MISFIT_KEY_NEEDED:
    case MISFIT_KEY_HERE:
    case MISFIT_KEY_UNKNOWN:
    case MISFIT_KEY_OF:
        length = key_text(node, peer, text, room);
        break;
    case MISFIT_RIGHT:
        length = snprintf(text, room, "it says what it may not, '%s' the last time, %" PRIu64 " times so far",
                          word_of(control_kind_words, misfit->said), misfit->said_count);
        break;
    case MISFIT_TWICE:
        length = snprintf(text, room,
                          "two nodes say to be it, both from its address: one name and address twice?");
        break;
    }
    return length > 0 ? MIN((size_t)length, room - 1) : 0;
}

uint64_t misfit_namesake(const struct node *node, char *text, size_t room)
{
    char from[ADDRESS_TEXT_BYTES];
    text[0] = '\0';
    bool recent = elapsed_ns(core_lived_ns(node), node->namesake_ns) <= NAMESAKE_OVER_NS;
    if (node->namesake_hellos > 0 && recent) {
        address_format(&node->namesake, from);
        snprintf(text, room, "handshakes in the name of this node, '%s', come from %s", node->config.name,
                 from);
    }
    return node->namesake_hellos;
}
