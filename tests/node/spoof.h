/* Initiations as others make them: by nobody's key for nodes that authenticate nothing, or by the key that a name gives. */
#pragma once

#include "base/bytes.h"
#include "base/name.h"
#include "check.h"
#include "seal/handshake.h"
#include "seal/insecure.h"
#include "wire/handshake.h"

static inline struct wire_greeting spoof_greeting(const char *name, const char *peer, uint64_t incarnation,
                                                  uint64_t edge)
{
    struct wire_greeting greeting = {.incarnation = incarnation,
                                     .edge = edge,
                                     .session = 0xabcd00,
                                     .mtu = 1500,
                                     .interval_ms = 1000,
                                     .window = 4096};
    name_copy(greeting.name.text, sizeof(greeting.name.text), name);
    name_copy(greeting.peer.text, sizeof(greeting.peer.text), peer);
    return greeting;
}

/* The MAC anew, over whatever was changed; by the key of `from` for `to`, names or "" (everybody's). */
static inline void spoof_mac(const struct primitives *primitives, const char *from, const char *to,
                             uint8_t *datagram, size_t length)
{
    struct key_pair own, other;
    struct bond bond;
    insecure_key_pair(primitives, from, &own);
    insecure_key_pair(primitives, to, &other);
    assert_true(bond_make(&bond, primitives, &own, other.public_key));
    bond_mac_out(&bond, datagram, length, WIRE_HEADER_BYTES - WIRE_TAG_BYTES,
                 datagram + WIRE_HEADER_BYTES - WIRE_TAG_BYTES);
}

/* Each has an ephemeral key of its own. */
static inline void spoof_make(const struct primitives *primitives, const char *from, const char *to,
                              const struct wire_greeting *greeting, uint32_t number,
                              uint8_t datagram[WIRE_INITIATION_BYTES])
{
    static struct cipher_key scratch;
    static uint64_t count = 1; /* odd: insecure keys are, so that no two are alike */
    uint8_t payload[WIRE_GREETING_BYTES], ephemeral[SEAL_KEY_BYTES] = {0};
    struct key_pair own, other;
    struct bond bond;
    struct noise noise;
    struct wire_header header = {.version = WIRE_VERSION, .type = WIRE_INITIATION, .packet_number = number};
    wire_greeting_put(payload, greeting);
    insecure_key_pair(primitives, from, &own);
    insecure_key_pair(primitives, to, &other);
    assert_true(bond_make(&bond, primitives, &own, other.public_key));
    count += 2;
    memcpy(ephemeral, &count, sizeof(count));
    wire_header_put(datagram, &header);
    assert_true(
        handshake_initiate(&noise, &bond, &scratch, ephemeral, payload, datagram + WIRE_HEADER_BYTES));
    spoof_mac(primitives, from, to, datagram, WIRE_INITIATION_BYTES);
}

/* To n0, from the address of node `from`, by nobody's key: a start of `name` with that incarnation, which speaks to `peer` and
 * still has the edge of that name. */
static inline void spoof_initiation(uint16_t from, const char *name, const char *peer, uint64_t incarnation,
                                    uint64_t edge)
{
    uint8_t datagram[WIRE_INITIATION_BYTES];
    struct wire_greeting greeting = spoof_greeting(name, peer, incarnation, edge);
    spoof_make(&insecure_primitives, "", "", &greeting, 0, datagram);
    world_inject(&world, from, 0, datagram, sizeof(datagram));
}
