/* Initiations that anybody can make for nodes that authenticate nothing. */
#pragma once

#include "base/name.h"
#include "check.h"
#include "seal/handshake.h"
#include "seal/insecure.h"
#include "wire/handshake.h"

/* To n0, from the address of node `from`: a start of `name` with that incarnation, which speaks to `peer` and still has the
 * edge of that name. */
static inline void spoof_initiation(uint16_t from, const char *name, const char *peer, uint64_t incarnation,
                                    uint64_t edge)
{
    static struct cipher_key scratch;
    static uint64_t count;
    uint8_t datagram[WIRE_INITIATION_BYTES], payload[WIRE_GREETING_BYTES], ephemeral[SEAL_KEY_BYTES] = {0};
    struct key_pair everybody;
    struct bond bond;
    struct noise noise;
    struct wire_header header = {.version = WIRE_VERSION, .type = WIRE_INITIATION};
    struct wire_greeting greeting = {.incarnation = incarnation,
                                     .edge = edge,
                                     .session = 0xabcd00,
                                     .mtu = 1500,
                                     .interval_ms = 1000,
                                     .window = 4096};
    name_copy(greeting.name.text, sizeof(greeting.name.text), name);
    name_copy(greeting.peer.text, sizeof(greeting.peer.text), peer);
    wire_greeting_put(payload, &greeting);
    insecure_key_pair(&insecure_primitives, "", &everybody);
    assert_true(bond_make(&bond, &insecure_primitives, &everybody, everybody.public_key));
    count++;
    memcpy(ephemeral, &count, sizeof(count));
    wire_header_put(datagram, &header);
    assert_true(
        handshake_initiate(&noise, &bond, &scratch, ephemeral, payload, datagram + WIRE_HEADER_BYTES));
    world_inject(&world, from, 0, datagram, sizeof(datagram));
}
