#include "app/bench/company.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/bench/site.h"
#include "base/units.h"
#include "seal/handshake.h"
#include "seal/insecure.h"
#include "wire/handshake.h"

#define PEERS      63
#define HEAD_BYTES 64 /* header, fixed part and the tag of the body */
#define TAG_AT     16

static struct {
    const struct primitives *primitives;
    struct cipher_key key, scratch;
    uint64_t number;
    struct node *node;
    uint64_t begin_ns, next;
    uint64_t count;
    uint8_t (*initiations)[WIRE_INITIATION_BYTES];
} company;

static void peer_name(char name[NAME_BYTES], uint64_t peer)
{
    snprintf(name, NAME_BYTES, "n%u", (unsigned)peer + 1);
}

static void start_node(uint64_t now_ns)
{
    static struct node_config config;
    node_config_defaults(&config);
    snprintf(config.name, sizeof(config.name), "z"); /* its own initiations do not go before theirs */
    config.seed = config.incarnation = 1;
    config.primitives = company.primitives;
    config.keys_by_name = true;
    config.port_count = 1;
    config.ports[0] =
        (struct node_port_config){.address = site_address(0), .mtu = MTU_DEFAULT, .rate_bps = NS_PER_S};
    for (uint16_t peer = 0; peer < PEERS; peer++) {
        struct node_peer_config *made = &config.peers[config.peer_count++];
        *made = (struct node_peer_config){.address = site_address(peer + 1), .window_packets = 4096};
        peer_name(made->name, peer);
    }
    config.buffer_bytes = 16ULL << 20;
    config.blocks_max = 64;
    config.bodies_shared = true;
    size_t bytes = (node_bytes(&config) + 63) / 64 * 64;
    void *memory = aligned_alloc(64, bytes);
    CHECK(memory != NULL);
    memset(memory, 0, bytes);
    company.node = node_create(&config, memory, bytes, now_ns);
}

static void initiate(uint64_t index)
{
    struct key_pair own, node;
    struct bond bond;
    struct noise noise;
    uint8_t payload[WIRE_GREETING_BYTES], ephemeral[SEAL_KEY_BYTES] = {1};
    uint8_t *datagram = company.initiations[index];
    struct wire_greeting greeting = {.incarnation = 1,
                                     .session = (uint32_t)(index + 1) << 13,
                                     .window = 4096,
                                     .mtu = MTU_DEFAULT,
                                     .interval_ms = 1000};
    peer_name(greeting.name.text, index % PEERS);
    snprintf(greeting.peer.text, NAME_BYTES, "z");
    insecure_key_pair(company.primitives, greeting.name.text, &own);
    insecure_key_pair(company.primitives, "z", &node);
    CHECK(bond_make(&bond, company.primitives, &own, node.public_key));
    wire_greeting_put(payload, &greeting);
    memcpy(ephemeral + 8, &index, sizeof(index));
    wire_header_put(datagram, &(struct wire_header){.version = WIRE_VERSION, .type = WIRE_INITIATION});
    CHECK(handshake_initiate(&noise, &bond, &company.scratch, ephemeral, payload,
                             datagram + WIRE_HEADER_BYTES));
    bond_mac_out(&bond, datagram, WIRE_INITIATION_BYTES, TAG_AT, datagram + TAG_AT);
}

void company_start(const struct primitives *primitives, uint64_t duration_ns, uint64_t now_ns)
{
    static const uint8_t key[SEAL_KEY_BYTES] = "a key that everybody has";
    company.primitives = primitives;
    primitives->cipher_key_init(&company.scratch);
    primitives->cipher_key_init(&company.key);
    primitives->cipher_key_set(&company.key, key);
    company.count = muldiv64(duration_ns, COMPANY_A_SECOND, NS_PER_S);
    company.initiations = calloc(company.count + 1, sizeof(company.initiations[0]));
    CHECK(company.initiations != NULL);
    for (uint64_t index = 0; index < company.count; index++)
        initiate(index);
    start_node(now_ns);
    company.begin_ns = now_ns;
}

void company_seal(void)
{
    static uint8_t head[HEAD_BYTES];
    uint8_t nonce[SEAL_NONCE_BYTES] = {0};
    company.number++;
    memcpy(nonce, &company.number, sizeof(company.number));
    company.primitives->seal(&company.key, nonce, (struct seal_bytes){head, sizeof(head)}, NULL, 0, NULL,
                             head + TAG_AT);
}

void company_turn(uint64_t now_ns)
{
    uint64_t next_ns = company.begin_ns + company.next * (NS_PER_S / COMPANY_A_SECOND);
    static struct tx_packet sent[SITE_BURST];
    if (company.next == company.count || now_ns < next_ns)
        return;
    struct rx_packet packet = {.data = company.initiations[company.next],
                               .length = WIRE_INITIATION_BYTES,
                               .rx_ns = now_ns,
                               .from = site_address((uint16_t)(company.next % PEERS + 1))};
    node_rx(company.node, &packet, 1, now_ns);
    node_tick(company.node, now_ns);
    node_tx(company.node, 0, sent, SITE_BURST, now_ns); /* they go nowhere */
    company.next++;
}

uint64_t company_handshakes(void)
{
    uint64_t value;
    const char *name;
    for (uint32_t index = 0; (name = node_counter(company.node, index, &value)) != NULL; index++)
        if (strcmp(name, "rx_handshakes") == 0)
            return value;
    CHECK(!"a counter of that name");
    return 0;
}
