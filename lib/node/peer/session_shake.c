/* Handshakes: initiations and responses, out and in. */
#include <string.h>

#include "base/bytes.h"
#include "node/core/key_room.h"
#include "node/peer/author.h"
#include "node/peer/peer.h"
#include "seal/wipe.h"

/* One goes out again for so long, then another is made. */
#define INITIATION_NS (5 * NS_PER_S)
/* Between the first two; then twice as long until it is OFTEN, for so many; then the hello interval. */
#define INITIATION_WAIT_NS  (25 * NS_PER_MS)
#define INITIATION_OFTEN_NS (100 * NS_PER_MS)
#define INITIATIONS_OFTEN   22
/* So long a node waits for what its own initiation brings before it answers another's: longer than the longest round trip. */
#define CROSSING_NS (1500 * NS_PER_MS)
/* No tentative session is given up before. */
#define TENTATIVE_NS (5 * NS_PER_S)
/* Handshakes that are computed at once, and after that one in so long; for a peer, for all. Half of them are for
 * initiations that cannot be old. */
#define PEER_HANDSHAKES   8
#define PEER_HANDSHAKE_NS (250 * NS_PER_MS)
#define NODE_HANDSHAKES   64
#define NODE_HANDSHAKE_NS (20 * NS_PER_MS)
/* Between own initiations that those of others bring about. */
#define ASK_BACK_NS (500 * NS_PER_MS)
/* Between two times that one response leaves. */
#define RESEND_NS (25 * NS_PER_MS)
/* Initiations from unknown addresses are looked at so seldom: each may cost a hash for each peer. */
#define STRANGER_NS (100 * NS_PER_MS)
#define TAG_AT      (WIRE_HEADER_BYTES - WIRE_TAG_BYTES)

_Static_assert(WIRE_GREETING_BYTES == HANDSHAKE_PAYLOAD_BYTES, "the handshake carries greetings");

static void write_greeting(const struct node *node, struct peer *peer, uint32_t session,
                           uint8_t out[WIRE_GREETING_BYTES])
{
    struct wire_greeting greeting = {
        .incarnation = node->config.incarnation,
        .edge = peer->sessions.edge,
        .roster = node->config.roster,
        .session = session,
        .window = peer->receiver.window_packets,
        .mtu = (uint16_t)node->config.ports[peer->port].mtu,
        .interval_ms = (uint16_t)MIN(peer->sparing.port_ns / NS_PER_MS, (uint64_t)UINT16_MAX),
    };
    name_copy(greeting.name.text, sizeof(greeting.name.text), node->config.name);
    name_copy(greeting.peer.text, sizeof(greeting.peer.text), peer->config->name);
    wire_greeting_put(out, &greeting);
}

/* Header and MAC around what the handshake has written. */
static void close_initiation(const struct bond *bond, uint32_t named, uint8_t datagram[WIRE_INITIATION_BYTES])
{
    struct wire_header header = {.version = WIRE_VERSION, .type = WIRE_INITIATION, .packet_number = named};
    wire_header_put(datagram, &header);
    bond_mac_out(bond, datagram, WIRE_INITIATION_BYTES, TAG_AT, datagram + TAG_AT);
}

static void close_response(const struct bond *bond, uint32_t session, uint8_t datagram[WIRE_RESPONSE_BYTES])
{
    struct wire_header header = {.version = WIRE_VERSION, .type = WIRE_RESPONSE, .session = session};
    wire_header_put(datagram, &header);
    bond_mac_out(bond, datagram, WIRE_RESPONSE_BYTES, TAG_AT, datagram + TAG_AT);
}

/* That of the key which the datagram's MAC was made with; NULL: of none that the peer has. */
static const struct bond *bond_of(const struct peer *peer, const uint8_t *datagram, size_t length)
{
    const struct sessions *sessions = &peer->sessions;
    for (unsigned key = 0; key < sessions->bond_count; key++)
        if (bond_mac_fits(&sessions->bonds[key], datagram, length, TAG_AT))
            return &sessions->bonds[key];
    return NULL;
}

/* ---- out ---- */

static void make_initiation(struct node *node, struct peer *peer, uint64_t now_ns)
{
    struct initiation *initiation = &peer->sessions.initiation;
    uint8_t ephemeral[SEAL_KEY_BYTES], greeting[WIRE_GREETING_BYTES];
    session_end(node, &initiation->session);
    initiation->session = session_new(node, peer);
    initiation->edge = peer->sessions.edge;
    initiation->made_ns = now_ns;
    initiation->bond = &peer->sessions.bonds[peer->sessions.next_bond++ % peer->sessions.bond_count];
    core_draw(node, ephemeral, sizeof(ephemeral));
    write_greeting(node, peer, initiation->session, greeting);
    CHECK(handshake_initiate(&initiation->noise, initiation->bond, &node->key_room->scratch, ephemeral,
                             greeting, initiation->datagram + WIRE_HEADER_BYTES));
    wipe(ephemeral, sizeof(ephemeral));
    fresh_note_own(&peer->sessions.freshness, fresh_name(initiation->datagram + WIRE_HEADER_BYTES), now_ns);
}

/* To the next one. A port that many share takes longer. */
static uint64_t initiation_wait_ns(const struct node *node, struct peer *peer)
{
    struct sessions *sessions = &peer->sessions;
    uint64_t interval_ns = node->config.hello_interval_ns;
    uint64_t most_ns = MAX(interval_ns, peer->sparing.port_ns);
    uint64_t often_ns = MIN(INITIATION_OFTEN_NS * most_ns / interval_ns, most_ns);
    unsigned count = sessions->initiations;
    sessions->initiations += count < INITIATIONS_OFTEN;
    if (count == INITIATIONS_OFTEN)
        return most_ns;
    return count > 4 ? often_ns : MIN(often_ns, INITIATION_WAIT_NS << count);
}

static void write_initiation(struct node *node, struct peer *peer, uint8_t *datagram, uint64_t now_ns)
{
    struct sessions *sessions = &peer->sessions;
    struct initiation *initiation = &sessions->initiation;
    bool usable = initiation->session != 0 && initiation->edge == sessions->edge &&
                  elapsed_ns(now_ns, initiation->made_ns) < INITIATION_NS;
    if (!usable)
        make_initiation(node, peer, now_ns);
    sessions->initiated_ns = now_ns;
    close_initiation(initiation->bond, sessions->freshness.newest, initiation->datagram);
    memcpy(datagram, initiation->datagram, WIRE_INITIATION_BYTES);
    /* A little irregular, so that those of many nodes do not stay in step. */
    uint64_t wait_ns = initiation_wait_ns(node, peer);
    sessions->initiation_due_ns = now_ns + wait_ns - rng_below(&node->rng, wait_ns / 8 + 1);
}

static struct tentative *due_response(struct peer *peer)
{
    for (unsigned index = 0; index < SESSIONS_TENTATIVE; index++)
        if (peer->sessions.tentative[index].response_due)
            return &peer->sessions.tentative[index];
    return NULL;
}

bool session_next_handshake(struct node *node, struct peer *peer, uint8_t *datagram, size_t *length,
                            uint64_t now_ns)
{
    struct tentative *tentative = due_response(peer);
    if (tentative != NULL) {
        tentative->response_due = false;
        memcpy(datagram, tentative->response, WIRE_RESPONSE_BYTES);
        *length = WIRE_RESPONSE_BYTES;
        return true;
    }
    if (now_ns < peer->sessions.initiation_due_ns)
        return false;
    write_initiation(node, peer, datagram, now_ns);
    *length = WIRE_INITIATION_BYTES;
    return true;
}

/* ---- in ---- */

/* Pays for a computation: until then so many are in advance at most. */
static bool pay(uint64_t *paid_ns, uint64_t each_ns, uint64_t most, uint64_t now_ns)
{
    uint64_t from_ns = MAX(*paid_ns, now_ns);
    if (elapsed_ns(from_ns, now_ns) > (most - 1) * each_ns)
        return false;
    *paid_ns = from_ns + each_ns;
    return true;
}

/* One in a call at most, so that nobody who sends many at once keeps this node from all else. Of one share of so many. */
static bool may_compute(struct node *node, uint64_t *node_paid_ns, uint64_t *peer_paid_ns, unsigned shares,
                        uint64_t now_ns)
{
    bool may = node->computed_ns != now_ns &&
               pay(peer_paid_ns, PEER_HANDSHAKE_NS * shares, PEER_HANDSHAKES / shares, now_ns) &&
               pay(node_paid_ns, NODE_HANDSHAKE_NS * shares, NODE_HANDSHAKES / shares, now_ns);
    if (may)
        node->computed_ns = now_ns;
    return may;
}

/* What cannot be old has a half of its own, and may take of the other. */
static bool may_ask(struct node *node, struct peer *peer, bool fresh, uint64_t now_ns)
{
    uint64_t *all_ns = node->asked_ns, *one_ns = peer->sessions.asked_ns;
    return (fresh && may_compute(node, &all_ns[1], &one_ns[1], 2, now_ns)) ||
           may_compute(node, &all_ns[0], &one_ns[0], 2, now_ns);
}

/* Too many, most of them old: the true peer, if it is there, answers an initiation of this node's own, or names it. A new one
 * brings one about, and it is repeated when others come, so that no more leaves than came. */
static void ask_back(struct node *node, struct peer *peer, bool is_new, uint64_t now_ns)
{
    struct sessions *sessions = &peer->sessions;
    bool under_way = sessions->initiation_due_ns != TIME_NEVER;
    if (!under_way && !is_new)
        return;
    uint64_t wait_ns = under_way ? INITIATION_OFTEN_NS : ASK_BACK_NS;
    uint64_t due_ns = MAX(now_ns, sessions->initiated_ns + wait_ns);
    sessions->initiation_due_ns = MIN(sessions->initiation_due_ns, due_ns);
    if (!under_way)
        sessions->initiations = INITIATIONS_OFTEN;
    peer_schedule(node, peer, due_ns);
}

static bool take_greeting(struct node *node, struct peer *peer, const uint8_t *payload,
                          struct wire_greeting *greeting)
{
    if (wire_greeting_decode(payload, greeting) != WIRE_OK) {
        node->counters.drop_value++;
        return false;
    }
    bool is_he = peer_find(node, greeting->name.text) == peer->index;
    if (is_he && peer_find(node, greeting->peer.text) == PEER_SELF)
        return true;
    node->counters.drop_name++;
    misfit_note_name(peer, is_he ? MISFIT_CALLED : MISFIT_NAME,
                     is_he ? greeting->peer.text : greeting->name.text);
    return false;
}

static struct tentative *find_tentative(struct peer *peer, const uint8_t *ephemeral)
{
    for (unsigned index = 0; index < SESSIONS_TENTATIVE; index++) {
        struct tentative *tentative = &peer->sessions.tentative[index];
        if (tentative->session.in != 0 && memcmp(tentative->ephemeral, ephemeral, SEAL_KEY_BYTES) == 0)
            return tentative;
    }
    return NULL;
}

/* A free place, or that of the oldest, if it has had its time. What may be old has but the first, which others take last. */
static struct tentative *free_tentative(struct node *node, struct peer *peer, bool fresh, uint64_t now_ns)
{
    struct tentative *tentative = peer->sessions.tentative;
    unsigned oldest = fresh ? SESSIONS_TENTATIVE - 1 : 0;
    for (unsigned index = oldest; index-- > 0;)
        if (tentative[index].session.made_ns < tentative[oldest].session.made_ns) /* a free one: made at 0 */
            oldest = index;
    if (tentative[oldest].session.in != 0 &&
        elapsed_ns(now_ns, tentative[oldest].session.made_ns) < TENTATIVE_NS)
        return NULL;
    session_forget_tentative(node, peer, oldest);
    return &tentative[oldest];
}

/* It waits for an answer to an initiation of its own, which goes before. Not for ever: a peer that does not fit gives none,
 * and what does not fit is told by its own initiation. */
static bool waits(const struct node *node, const struct peer *peer, uint64_t now_ns)
{
    const struct initiation *initiation = &peer->sessions.initiation;
    return initiation->session != 0 && elapsed_ns(now_ns, initiation->made_ns) < CROSSING_NS &&
           session_goes_first(node, peer);
}

/* The peer, in this start of his, has answered an initiation of this node, which goes before, and does not use it yet. */
static bool crosses(const struct node *node, struct peer *peer, const struct wire_greeting *greeting)
{
    const struct session *current = peer_session(peer);
    return current->in != 0 && current->initiated && !current->proved && peer->state == PEER_UP &&
           current->greeting.incarnation == greeting->incarnation && session_goes_first(node, peer);
}

static void ask_for_response(struct node *node, struct peer *peer, struct tentative *tentative,
                             uint64_t now_ns)
{
    if (tentative->answered_ns != 0 && elapsed_ns(now_ns, tentative->answered_ns) < RESEND_NS) {
        node->counters.drop_handshake_busy++;
        return;
    }
    tentative->answered_ns = now_ns;
    tentative->response_due = true;
    peer_note_control(node, peer);
    peer_schedule(node, peer, now_ns);
    node->counters.rx_handshakes++;
}

static void answer(struct node *node, struct peer *peer, const struct bond *bond, struct tentative *tentative,
                   struct noise *noise, const struct wire_greeting *greeting, uint64_t now_ns)
{
    uint8_t ephemeral[SEAL_KEY_BYTES], own[WIRE_GREETING_BYTES];
    tentative->session = (struct session){
        .in = session_new(node, peer), .out = greeting->session, .made_ns = now_ns, .greeting = *greeting};
    memcpy(tentative->session.peer_key, bond->peer, SEAL_KEY_BYTES);
    core_draw(node, ephemeral, sizeof(ephemeral));
    write_greeting(node, peer, tentative->session.in, own);
    if (!handshake_respond(noise, ephemeral, own, tentative->response + WIRE_HEADER_BYTES,
                           &tentative->secrets)) {
        session_end(node, &tentative->session.in);
        wipe(ephemeral, sizeof(ephemeral));
        node->counters.drop_handshake++;
        return;
    }
    wipe(ephemeral, sizeof(ephemeral));
    session_keys_set(&peer->sessions.keys[SESSIONS_USED + (tentative - peer->sessions.tentative)],
                     &tentative->secrets);
    tentative->session.edge = session_edge(peer->sessions.edge, greeting->edge, &tentative->secrets);
    close_response(bond, greeting->session, tentative->response);
    ask_for_response(node, peer, tentative, now_ns);
}

/* Reads one and answers it, in the place that it was given. */
static void read_and_answer(struct node *node, struct peer *peer, const struct bond *bond,
                            struct tentative *tentative, const uint8_t *message, uint64_t now_ns)
{
    struct noise noise;
    struct wire_greeting greeting;
    uint8_t payload[WIRE_GREETING_BYTES];
    if (!handshake_read(&noise, bond, &node->key_room->scratch, message, payload)) {
        node->counters.drop_handshake++;
        return;
    }
    if (take_greeting(node, peer, payload, &greeting)) {
        if (peer->state == PEER_UP && greeting.incarnation != peer->incarnation)
            misfit_note_rival(peer, greeting.incarnation, core_lived_ns(node));
        if (crosses(node, peer, &greeting)) {
            node->counters.drop_handshake_crossed++;
        } else {
            memcpy(tentative->ephemeral, message, SEAL_KEY_BYTES);
            answer(node, peer, bond, tentative, &noise, &greeting, now_ns);
        }
    }
    noise_wipe(&noise);
}

static void on_initiation(struct node *node, struct peer *peer, const struct bond *bond, uint32_t named,
                          const uint8_t *message, uint64_t now_ns)
{
    struct freshness *freshness = &peer->sessions.freshness;
    uint32_t name = fresh_name(message);
    bool fresh = fresh_names_own(freshness, named, now_ns);
    unsigned place;
    bool is_new = fresh_on_came(freshness, name, fresh, &place);
    struct tentative *tentative = find_tentative(peer, message);
    if (tentative != NULL) {
        ask_for_response(node, peer, tentative, now_ns);
        return;
    }
    if (fresh_is_computed(freshness, place)) {
        node->counters.drop_replay++;
        return;
    }
    if (waits(node, peer, now_ns)) {
        node->counters.drop_handshake_crossed++;
        return;
    }
    tentative = free_tentative(node, peer, fresh, now_ns);
    if (tentative == NULL || !may_ask(node, peer, fresh, now_ns)) {
        node->counters.drop_handshake_busy++;
        ask_back(node, peer, is_new, now_ns);
        return;
    }
    fresh_note_computed(freshness, place);
    read_and_answer(node, peer, bond, tentative, message, now_ns);
}

static bool read_greeting(struct node *node, struct peer *peer, const uint8_t *datagram,
                          struct wire_greeting *greeting)
{
    struct noise noise = {0};
    uint8_t payload[WIRE_GREETING_BYTES];
    const struct bond *bond = bond_of(peer, datagram, WIRE_INITIATION_BYTES);
    bool is_read =
        bond != NULL &&
        handshake_read(&noise, bond, &node->key_room->scratch, datagram + WIRE_HEADER_BYTES, payload) &&
        wire_greeting_decode(payload, greeting) == WIRE_OK;
    noise_wipe(&noise);
    return is_read;
}

void session_note_stranger(struct node *node, const struct rx_packet *packet)
{
    if (node->now_ns < node->stranger_due_ns || packet->length != WIRE_INITIATION_BYTES)
        return;
    node->stranger_due_ns = node->now_ns + STRANGER_NS;
    struct wire_greeting greeting;
    bool is_read = false;
    for (uint16_t index = 0; index < node->peer_count && !is_read; index++)
        is_read = read_greeting(node, &node->peers[index], packet->data, &greeting);
    uint16_t index = is_read ? peer_find(node, greeting.name.text) : PEER_NONE;
    if (index == PEER_SELF) {
        node->namesake = packet->from;
        node->namesake_ns = core_lived_ns(node);
        node->namesake_hellos++;
    }
    if (index < node->peer_count && peer_find(node, greeting.peer.text) == PEER_SELF)
        misfit_note_address(&node->peers[index], &packet->from);
}

static unsigned on_response(struct node *node, struct peer *peer, const uint8_t *datagram, uint64_t now_ns)
{
    struct initiation *initiation = &peer->sessions.initiation;
    struct session_secrets secrets;
    struct wire_greeting greeting;
    uint8_t payload[WIRE_GREETING_BYTES];
    if (!may_compute(node, &node->answered_ns, &peer->sessions.answered_ns, 1, now_ns)) {
        node->counters.drop_handshake_busy++;
        return 0;
    }
    if (!handshake_finish(&initiation->noise, datagram + WIRE_HEADER_BYTES, payload, &secrets)) {
        node->counters.drop_handshake++;
        return 0;
    }
    struct session made = {.in = initiation->session, .initiated = true, .made_ns = initiation->made_ns};
    memcpy(made.peer_key, initiation->bond->peer, SEAL_KEY_BYTES);
    initiation->session = 0; /* the number is the session's now, or nobody's */
    unsigned events = 0;
    if (take_greeting(node, peer, payload, &greeting)) {
        node->counters.rx_handshakes++;
        made.out = greeting.session;
        made.greeting = greeting;
        made.edge = session_edge(initiation->edge, greeting.edge, &secrets);
        events = session_take_up(node, peer, &made, &secrets, now_ns);
    } else {
        session_end(node, &made.in);
    }
    wipe(&secrets, sizeof(secrets));
    return events;
}

unsigned session_on_handshake(struct node *node, struct peer *peer, const struct wire_header *header,
                              const uint8_t *datagram, size_t length, uint64_t now_ns)
{
    bool answers = header->type == WIRE_RESPONSE;
    if (answers && (header->session == 0 || header->session != peer->sessions.initiation.session)) {
        node->counters.drop_session++;
        return 0;
    }
    const struct bond *bond = bond_of(peer, datagram, length);
    if (bond == NULL) {
        node->counters.drop_mac++;
        misfit_note_key(peer);
        if (!answers && author_is_wanted(node, peer, datagram) && may_ask(node, peer, false, now_ns))
            author_find(node, peer, datagram);
        return 0;
    }
    if (answers)
        return on_response(node, peer, datagram, now_ns);
    on_initiation(node, peer, bond, header->packet_number, datagram + WIRE_HEADER_BYTES, now_ns);
    return 0;
}
