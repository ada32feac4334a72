/* Sessions of the peers of relay_fuzz. All keys are those that everybody has (seal/insecure.h), so that what a step
 * changes in a handshake is read by the node as if the peer had meant it. */
#include <string.h>

#include "relay_bench.h"
#include "seal/insecure.h"
#include "wire/close.h"

#define UNKNOWN_EDGE 7

const char *const peer_names[PEERS] = {"source", "parent", "left", "right"};

void sessions_start(struct bench *bench)
{
    insecure_key_pair(&insecure_primitives, "", &bench->keys);
    insecure_primitives.cipher_key_init(&bench->scratch);
    CHECK(bond_make(&bench->bond, &insecure_primitives, &bench->keys, bench->keys.public_key));
}

static void draw(struct bench *bench, uint8_t ephemeral[SEAL_KEY_BYTES])
{
    memset(ephemeral, 0, SEAL_KEY_BYTES);
    store_be64(ephemeral, ++bench->ephemerals);
}

static struct wire_greeting greeting_of(const struct bench *bench, uint8_t who, const uint8_t *arguments)
{
    const struct hostile *peer = &bench->peers[who % PEERS];
    uint8_t bits = arguments[0];
    struct wire_greeting greeting = {
        .incarnation = peer->incarnation,
        .edge = (bits & 4) != 0 ? UNKNOWN_EDGE : peer->edge,
        .session = peer->session_in,
        .window = arguments[1] == 0 ? RECEIVER_BITS : (uint32_t)wide(arguments[1]),
        .mtu = (uint16_t)(arguments[3] == 0 ? bench->config.ports[0].mtu : wide(arguments[3])),
        .interval_ms = (uint16_t)(arguments[2] == 0 ? 1000 : wide(arguments[2]))};
    name_copy(greeting.name.text, NAME_BYTES, (bits & 8) != 0 ? "nobody" : peer_names[who % PEERS]);
    name_copy(greeting.peer.text, NAME_BYTES, (bits & 16) != 0 ? "nobody" : bench->config.name);
    return greeting;
}

/* As the node does: only where both name the same edge it goes on. */
static void take_up(struct hostile *peer, uint64_t named, const struct wire_greeting *heard,
                    const struct session_secrets *secrets)
{
    uint64_t edge = named != 0 && named == heard->edge ? named : secrets->name | 1;
    if (peer->session_out != heard->session)
        peer->control_next = 0;
    peer->session_out = heard->session;
    peer->hello_due = true;
    if (edge == peer->edge)
        return;
    peer->edge = edge;
    peer->message_next = peer->message_heard = peer->data_next = 0;
    receiver_reset(&peer->receiver);
}

static void send_handshake(struct bench *bench, uint8_t who, enum wire_type type, uint32_t session,
                           size_t length)
{
    struct hostile *peer = &bench->peers[who % PEERS];
    struct wire_header header = {.version = WIRE_VERSION, .type = (uint8_t)type, .session = session};
    uint8_t out[DATAGRAM_MAX];
    wire_header_put(peer->sent, &header);
    peer->sent_bytes = length;
    memcpy(out, peer->sent, length);
    bench_receive(bench, who, out, length);
}

static void initiate(struct bench *bench, uint8_t who, const uint8_t *arguments)
{
    struct hostile *peer = &bench->peers[who % PEERS];
    struct wire_greeting greeting = greeting_of(bench, who, arguments);
    uint8_t ephemeral[SEAL_KEY_BYTES], payload[WIRE_GREETING_BYTES];
    draw(bench, ephemeral);
    wire_greeting_put(payload, &greeting);
    CHECK(handshake_initiate(&peer->noise, &bench->bond, &bench->scratch, ephemeral, payload,
                             peer->sent + WIRE_HEADER_BYTES));
    peer->initiated = true;
    peer->initiated_edge = greeting.edge;
    send_handshake(bench, who, WIRE_INITIATION, 0, WIRE_INITIATION_BYTES);
}

void peer_respond(struct bench *bench, uint8_t who, const uint8_t *arguments)
{
    struct hostile *peer = &bench->peers[who % PEERS];
    struct wire_greeting heard, own = greeting_of(bench, who, arguments);
    struct noise noise;
    struct session_secrets secrets;
    uint8_t ephemeral[SEAL_KEY_BYTES], payload[WIRE_GREETING_BYTES];
    peer->asked_due = false;
    draw(bench, ephemeral);
    CHECK(handshake_read(&noise, &bench->bond, &bench->scratch, peer->asked + WIRE_HEADER_BYTES, payload));
    CHECK(wire_greeting_decode(payload, &heard) == WIRE_OK);
    wire_greeting_put(payload, &own);
    CHECK(handshake_respond(&noise, ephemeral, payload, peer->sent + WIRE_HEADER_BYTES, &secrets));
    take_up(peer, own.edge, &heard, &secrets);
    send_handshake(bench, who, WIRE_RESPONSE, heard.session, WIRE_RESPONSE_BYTES);
}

static void hear_response(struct hostile *peer, const uint8_t *datagram)
{
    struct wire_greeting heard;
    struct session_secrets secrets;
    uint8_t payload[WIRE_GREETING_BYTES];
    if (!peer->initiated) /* to one that came again */
        return;
    CHECK(handshake_finish(&peer->noise, datagram + WIRE_HEADER_BYTES, payload, &secrets));
    CHECK(wire_greeting_decode(payload, &heard) == WIRE_OK);
    peer->initiated = false;
    take_up(peer, peer->initiated_edge, &heard, &secrets);
}

void peer_hear_handshake(struct bench *bench, uint16_t index, const struct wire_header *header,
                         const uint8_t *datagram, size_t length)
{
    struct hostile *peer = &bench->peers[index];
    CHECK(wire_handshake_check(header, length) == WIRE_OK);
    if (header->type == WIRE_RESPONSE) {
        hear_response(peer, datagram);
        return;
    }
    memcpy(peer->asked, datagram, WIRE_INITIATION_BYTES);
    peer->asked_once = peer->asked_due = true;
}

static void send_hello(struct bench *bench, uint8_t who, const uint8_t *arguments)
{
    uint8_t out[DATAGRAM_MAX];
    struct wire_header header = peer_header(bench, who, WIRE_HELLO);
    struct wire_hello hello = {.interval_ms = (uint16_t)(arguments[2] == 0 ? 1000 : wide(arguments[2]))};
    bench->peers[who % PEERS].hello_due = false;
    bench_receive(bench, who, out, wire_hello_encode(out, &header, &hello));
}

void peer_hello(struct bench *bench, uint8_t who, const uint8_t *arguments)
{
    struct hostile *peer = &bench->peers[who % PEERS];
    uint8_t bits = arguments[0], out[DATAGRAM_MAX];
    if ((bits & 1) != 0) {
        peer->incarnation++;
        peer->edge = 0;
    }
    if ((bits & 2) != 0)
        peer->session_in += 0x100;
    if ((bits & 128) != 0 && peer->sent_bytes > 0) {
        memcpy(out, peer->sent, peer->sent_bytes);
        bench_receive(bench, who, out, peer->sent_bytes);
    } else if ((bits & 64) != 0 && peer->asked_once) {
        peer_respond(bench, who, arguments);
    } else if (bits != 0) {
        initiate(bench, who, arguments);
    } else {
        send_hello(bench, who, arguments);
    }
}

void peer_close(struct bench *bench, uint8_t who, const uint8_t *arguments)
{
    uint8_t out[DATAGRAM_MAX];
    struct hostile *peer = &bench->peers[who % PEERS];
    peer->control_next -= (arguments[0] & 1) != 0 && peer->control_next > 0;
    struct wire_header header = peer_header(bench, who, WIRE_CLOSE);
    struct wire_close close = {.reason = arguments[1]};
    bench_receive(bench, who, out, wire_close_encode(out, &header, &close));
}
