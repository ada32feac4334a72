/* Packets under a session: sealed when they leave, opened before they have any effect. */
#include <string.h>

#include "base/serial.h"
#include "node/core/key_room.h"
#include "node/peer/peer.h"
#include "seal/wipe.h"
#include "wire/sealed.h"

#define TAG_AT          (WIRE_HEADER_BYTES - WIRE_TAG_BYTES)
#define KNOWN_BYTES_MAX 256

/* ---- out ---- */

static struct wire_header header_of(struct peer *peer, enum wire_type type, uint64_t number,
                                    uint64_t depart_ns)
{
    CHECK(peer_is_known(peer)); /* nothing but handshakes leaves without a session */
    return (struct wire_header){.version = WIRE_VERSION,
                                .type = (uint8_t)type,
                                .key_id = peer->sessions.keys[peer->sessions.current].out.id,
                                .session = peer_session(peer)->out,
                                .packet_number = (uint32_t)number,
                                .stamp = wire_stamp(depart_ns)};
}

struct wire_header session_header(struct peer *peer, enum wire_type type, uint64_t depart_ns)
{
    return header_of(peer, type, peer_session(peer)->control_next++, depart_ns);
}

struct wire_header session_data_header(struct peer *peer, uint64_t number, uint64_t depart_ns)
{
    CHECK(peer_session(peer)->edge == peer->sessions.edge); /* numbers of another begin anew */
    return header_of(peer, WIRE_DATA, number, depart_ns);
}

static void seal(const struct node *node, struct peer *peer, enum seal_space space, uint64_t number,
                 uint8_t *datagram, size_t length)
{
    if (!node->config.primitives->authenticates)
        return;
    struct wire_sealed_part part = wire_sealed_part(datagram, length);
    CHECK(part.known_bytes > 0);
    struct sealing what = {.space = space, .number = number, .known = {datagram, part.known_bytes}};
    if (part.rest_is_sealed) {
        what.text = datagram + part.known_bytes;
        what.length = length - part.known_bytes;
    }
    session_keys_seal(&peer->sessions.keys[peer->sessions.current], &what, datagram + part.known_bytes,
                      datagram + TAG_AT);
}

void session_seal(const struct node *node, struct peer *peer, uint8_t *datagram, size_t length)
{
    seal(node, peer, SEAL_CONTROL, peer_session(peer)->control_next - 1, datagram, length);
}

void session_seal_data(const struct node *node, struct peer *peer, uint8_t *head, size_t length,
                       uint64_t number)
{
    seal(node, peer, SEAL_DATA, number, head, length);
}

/* ---- in ---- */

/* What a packet may have been sent under: a session in use, or one that it would prove. */
struct door {
    struct session *session;
    struct session_keys *keys;
    struct replay *replay;       /* NULL: it has none yet */
    struct tentative *tentative; /* NULL: in use */
};

/* What tells one packet of a session from all others. */
struct seal_name {
    enum key_age age; /* of the keys that it says to be sealed with */
    enum seal_space space;
    uint64_t number;
};

static bool find_door(struct node *node, struct peer *peer, uint32_t number, struct door *door)
{
    struct sessions *sessions = &peer->sessions;
    session_expire_tentative(node, peer);
    for (unsigned place = 0; place < SESSIONS_USED; place++)
        if (sessions->used[place].in == number) {
            *door =
                (struct door){&sessions->used[place], &sessions->keys[place], &sessions->replay[place], NULL};
            return true;
        }
    for (unsigned index = 0; index < SESSIONS_TENTATIVE; index++)
        if (sessions->tentative[index].session.in == number) {
            struct tentative *tentative = &sessions->tentative[index];
            *door =
                (struct door){&tentative->session, &sessions->keys[SESSIONS_USED + index], NULL, tentative};
            return true;
        }
    return false;
}

static uint64_t expand(const struct peer *peer, const struct door *door, const struct wire_header *header)
{
    if (header->type != WIRE_DATA)
        return door->replay != NULL ? replay_expand(door->replay, header->packet_number)
                                    : serial_expand32(0, header->packet_number);
    bool goes_on = door->session->edge == peer->sessions.edge;
    return goes_on ? receiver_expand(&peer->receiver, header->packet_number)
                   : serial_expand32(0, header->packet_number);
}

/* False: it was not sealed by the peer, under this number. *opened is the packet in the clear. */
static bool open_packet(struct node *node, const struct door *door, const struct rx_packet *packet,
                        const struct seal_name *name, const struct wire_sealed_part *part,
                        struct rx_packet *opened)
{
    uint8_t known[KNOWN_BYTES_MAX];
    memcpy(known, packet->data, part->known_bytes);
    memset(known + TAG_AT, 0, WIRE_TAG_BYTES);
    struct sealing what = {.space = name->space, .number = name->number, .known = {known, part->known_bytes}};
    *opened = *packet;
    uint8_t *clear = node->key_room->opened;
    if (part->rest_is_sealed) {
        what.text = packet->data + part->known_bytes;
        what.length = packet->length - part->known_bytes;
        memcpy(clear, packet->data, part->known_bytes);
        opened->data = clear;
    }
    return session_keys_open(door->keys, name->age, &what, clear + part->known_bytes, packet->data + TAG_AT);
}

static bool is_authentic(struct node *node, const struct door *door, const struct rx_packet *packet,
                         const struct seal_name *name, struct rx_packet *opened)
{
    if (!node->config.primitives->authenticates) {
        static const uint8_t zeros[WIRE_TAG_BYTES];
        *opened = *packet;
        return memcmp(packet->data + TAG_AT, zeros, sizeof(zeros)) == 0;
    }
    struct wire_sealed_part part = wire_sealed_part(packet->data, packet->length);
    if (part.known_bytes == 0 || part.known_bytes > KNOWN_BYTES_MAX ||
        (part.rest_is_sealed && packet->length > sizeof(node->key_room->opened)))
        return false;
    return open_packet(node, door, packet, name, &part, opened);
}

/* The door has been gone through: it is the peer. */
static unsigned prove(struct node *node, struct peer *peer, const struct door *door, uint64_t now_ns)
{
    if (door->tentative == NULL) {
        session_prove(node, peer, door->session);
        return 0;
    }
    struct tentative tentative = *door->tentative;
    door->tentative->session.in = 0; /* the number is the session's now, or nobody's */
    unsigned events = session_take_up(node, peer, &tentative.session, &tentative.secrets, now_ns);
    wipe(&tentative, sizeof(tentative));
    wipe(door->tentative, sizeof(*door->tentative));
    session_keys_forget(door->keys);
    return events;
}

/* Of keys that are there, and nothing that was sealed with the old ones after the new ones were in use. */
static bool name_packet(const struct peer *peer, const struct door *door, const struct wire_header *header,
                        struct seal_name *name)
{
    name->age = session_keys_find(&door->keys->in, header->key_id);
    name->space = header->type == WIRE_DATA ? SEAL_DATA : SEAL_CONTROL;
    name->number = expand(peer, door, header);
    bool late = name->age == KEYS_OLD && name->number > door->session->course.first[name->space];
    return name->age != KEYS_NONE && !late;
}

static void note_keys(struct node *node, struct peer *peer, const struct door *door,
                      const struct seal_name *name, uint64_t now_ns)
{
    struct key_course *course = &door->session->course;
    if (name->age == KEYS_NEXT)
        session_update_taken(node, peer, door->session, door->keys, now_ns);
    if (name->age != KEYS_OLD && course->first[name->space] == UINT64_MAX)
        course->first[name->space] = name->number;
}

/* DATA has a window of its own. */
static bool is_replayed(struct node *node, struct peer *peer, uint32_t session, enum seal_space space,
                        uint64_t number)
{
    struct door door;
    if (!find_door(node, peer, session, &door) || door.replay == NULL) {
        node->counters.drop_session++; /* another one was taken up */
        return true;
    }
    bool replayed = space == SEAL_CONTROL && !replay_take(door.replay, number);
    node->counters.drop_replay += replayed;
    return replayed;
}

bool session_open(struct node *node, struct peer *peer, const struct wire_header *header,
                  const struct rx_packet *packet, struct rx_packet *opened, unsigned *events, uint64_t now_ns)
{
    struct door door;
    struct seal_name name;
    *events = 0;
    if (!find_door(node, peer, header->session, &door)) {
        node->counters.drop_session++;
        return false;
    }
    if (!name_packet(peer, &door, header, &name)) {
        node->counters.drop_key++;
        return false;
    }
    if (!is_authentic(node, &door, packet, &name, opened)) {
        node->counters.drop_tag++;
        return false;
    }
    note_keys(node, peer, &door, &name, now_ns);
    *events = prove(node, peer, &door, now_ns);
    return !is_replayed(node, peer, header->session, name.space, name.number);
}
