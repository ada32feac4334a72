/* What datagrams cost that a node drops before it knows anything of them, by real primitives: a burst of each kind through
 * node_rx. */
#include "app/bench/refused.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "base/units.h"
#include "node/node.h"
#include "seal/handshake.h"
#include "wire/handshake.h"

#define PEERS     8
#define KINDS     1536 /* more than a node remembers of a peer */
#define TAG_AT    (WIRE_HEADER_BYTES - WIRE_TAG_BYTES)
#define PACKET_NS 1000

static struct {
    struct node_config config;
    struct node *node;
    uint8_t *memory;
    uint64_t now_ns;
    struct bond bond; /* of the peer whose address they come from */
    uint8_t datagrams[KINDS][WIRE_INITIATION_BYTES];
    uint32_t next;
    struct net_address from;
} lab;

static struct net_address address_of(unsigned node)
{
    return (struct net_address){
        .ip = {10, 0, 0, (uint8_t)(1 + node)}, .udp_port = 7840, .family = ADDRESS_IPV4};
}

static void make_key(const struct primitives *primitives, struct rng *rng, struct key_pair *key)
{
    for (size_t at = 0; at < SEAL_KEY_BYTES; at += sizeof(uint64_t)) {
        uint64_t drawn = rng_next(rng);
        memcpy(key->private_key + at, &drawn, sizeof(drawn));
    }
    primitives->public_key(key->public_key, key->private_key);
}

void refused_begin(const struct primitives *primitives)
{
    struct rng rng;
    struct key_pair peer = {0};
    struct node_config *config = &lab.config;
    node_config_defaults(config);
    rng_init(&rng, 1);
    strcpy(config->name, "node");
    config->seed = config->incarnation = 1;
    config->primitives = primitives;
    make_key(primitives, &rng, &config->key);
    config->port_count = 1;
    config->peer_count = PEERS;
    config->ports[0] =
        (struct node_port_config){.address = address_of(0), .mtu = 1500, .rate_bps = 1000000000};
    for (unsigned index = 0; index < PEERS; index++) {
        struct node_peer_config *of = &config->peers[index];
        *of = (struct node_peer_config){.address = address_of(1 + index),
                                        .window_packets = 4096,
                                        .key_count = 1,
                                        .name = {'a' + (char)index}};
        make_key(primitives, &rng, &peer);
        memcpy(of->public_keys[0], peer.public_key, SEAL_KEY_BYTES);
    }
    config->buffer_bytes = 9 << 20;
    config->blocks_max = 64;
    size_t bytes = (node_bytes(config) + 63) / 64 * 64;
    lab.memory = aligned_alloc(64, bytes);
    CHECK(lab.memory != NULL);
    memset(lab.memory, 0, bytes);
    lab.now_ns = NS_PER_S;
    lab.node = node_create(config, lab.memory, bytes, lab.now_ns);
    CHECK(bond_make(&lab.bond, primitives, &peer, config->key.public_key));
    for (unsigned index = 0; index < KINDS; index++) {
        struct wire_header header = {.version = WIRE_VERSION, .type = WIRE_INITIATION};
        uint8_t *datagram = lab.datagrams[index];
        wire_header_put(datagram, &header);
        for (size_t at = WIRE_HEADER_BYTES; at < WIRE_INITIATION_BYTES; at += sizeof(uint64_t)) {
            uint64_t drawn = rng_next(&rng);
            memcpy(datagram + at, &drawn, sizeof(drawn));
        }
    }
}

void refused_end(void)
{
    free(lab.memory);
}

void refused_set(bool known_address, bool right_mac)
{
    lab.from = address_of(known_address ? PEERS : PEERS + 1);
    for (unsigned index = 0; index < KINDS; index++)
        if (right_mac)
            bond_mac_out(&lab.bond, lab.datagrams[index], WIRE_INITIATION_BYTES, TAG_AT,
                         lab.datagrams[index] + TAG_AT);
        else
            memset(lab.datagrams[index] + TAG_AT, 0, WIRE_TAG_BYTES);
}

void refused_burst(void)
{
    struct rx_packet packets[REFUSED_BURST];
    for (unsigned index = 0; index < REFUSED_BURST; index++)
        packets[index] = (struct rx_packet){.data = lab.datagrams[lab.next++ % KINDS],
                                            .length = WIRE_INITIATION_BYTES,
                                            .rx_ns = lab.now_ns,
                                            .from = lab.from};
    lab.now_ns += REFUSED_BURST * PACKET_NS;
    node_rx(lab.node, packets, REFUSED_BURST, lab.now_ns);
}
