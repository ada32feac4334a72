/* A node's memory and its start. */
#include <string.h>

#include "base/check.h"
#include "edge/sender.h"
#include "node/core/key_room.h"
#include "node/flow/data_rate.h"
#include "node/flow/pieces.h"
#include "node/kind/stream.h"
#include "node/node.h"
#include "node/peer/measure.h"
#include "node/peer/path_table.h"
#include "node/role/manifest.h"
#include "node/role/site.h"
#include "node/role/source.h"
#include "node/top.h"
#include "node/train/all.h"
#include "node/train/in.h"
#include "node/train/line_in.h"
#include "node/train/prober.h"
#include "seal/insecure.h"
#include "wire/ethernet.h"

/* A job may begin while others hold all that they may, for as long as they like: two slots for it, one for the next. */
#define NEWCOMER_SLOTS 3
#define UPDATE_PACKETS (1ULL << 26)
#define UPDATE_NS      (600 * NS_PER_S)
#define RENEWAL_NS     (3600 * NS_PER_S)

static struct store_config store_config(const struct node_config *config)
{
    return (struct store_config){
        .memory_bytes = config->buffer_bytes,
        .blocks_max = config->blocks_max,
        .objects_max = NODE_JOBS_MAX,
        .bodies_shared = config->bodies_shared,
        .newcomer_slots = NEWCOMER_SLOTS,
    };
}

size_t node_key_bytes(const struct node_config *config)
{
    return arena_need(sizeof(struct node)) + arena_need(config->peer_count * sizeof(struct peer)) +
           arena_need(sizeof(struct key_room)) + config->peer_count * sessions_bytes();
}

size_t node_bytes(const struct node_config *config)
{
    struct store_config store = store_config(config);
    size_t bytes = node_key_bytes(config);
    bytes += arena_need(NODE_PORTS_MAX * sizeof(struct node_port));
    bytes += arena_need(config->peer_count * sizeof(struct flow));
    bytes += arena_need(sizeof(struct pieces));
    bytes += arena_need(sizeof(struct measure));
    bytes += arena_need(sizeof(struct path_table)) + path_table_bytes((uint16_t)(config->peer_count + 1));
    bytes += arena_need(sizeof(struct train_out)) + arena_need(sizeof(struct train_in)) +
             prober_bytes(config) + data_rate_bytes(config);
    bytes += arena_need(sizeof(struct asked)) + arena_need(sizeof(struct line_in)) + pairs_bytes(config) +
             all_bytes(config);
    bytes += arena_need(NODE_JOBS_MAX * sizeof(struct job));
    bytes += arena_need(NODE_JOBS_MAX * sizeof(struct job_stream));
    bytes += arena_need(NODE_JOBS_MAX * sizeof(struct source));
    bytes += arena_need(config->peer_count * sizeof(struct offer));
    bytes += arena_need(MANIFESTS_MAX * sizeof(struct manifest_file));
    bytes += MANIFESTS_MAX * arena_need(MANIFEST_BYTES);
    bytes += arena_need(sizeof(struct scratch));
    bytes += store_bytes(&store);
    for (uint16_t index = 0; index < config->peer_count; index++)
        bytes += peer_bytes(config, &config->peers[index]);
    return bytes;
}

static void allocate(struct node *node, struct arena *keys, struct arena *arena)
{
    node->peers = arena_alloc(keys, node->peer_count * sizeof(struct peer));
    node->key_room = arena_alloc(keys, sizeof(struct key_room));
    node->ports = arena_alloc(arena, NODE_PORTS_MAX * sizeof(struct node_port));
    node->flows = arena_alloc(arena, node->peer_count * sizeof(struct flow));
    node->pieces = arena_alloc(arena, sizeof(struct pieces));
    node->measure = arena_alloc(arena, sizeof(struct measure));
    node->paths = arena_alloc(arena, sizeof(struct path_table));
    path_table_init(node->paths, (uint16_t)(node->peer_count + 1), arena);
    node->train_out = arena_alloc(arena, sizeof(struct train_out));
    node->train_in = arena_alloc(arena, sizeof(struct train_in));
    node->jobs = arena_alloc(arena, NODE_JOBS_MAX * sizeof(struct job));
    node->streams = arena_alloc(arena, NODE_JOBS_MAX * sizeof(struct job_stream));
    node->sources = arena_alloc(arena, NODE_JOBS_MAX * sizeof(struct source));
    node->offers = arena_alloc(arena, node->peer_count * sizeof(struct offer));
    node->manifests = arena_alloc(arena, MANIFESTS_MAX * sizeof(struct manifest_file));
    for (uint32_t index = 0; index < MANIFESTS_MAX; index++)
        node->manifests[index].text = arena_alloc(arena, MANIFEST_BYTES);
    node->scratch = arena_alloc(arena, sizeof(struct scratch));
}

/* Nodes that keep nobody out have one key in common. */
static void init_keys(struct node *node)
{
    struct node_config *config = &node->config;
    struct key_pair pair;
    if (config->primitives == NULL)
        config->primitives = &insecure_primitives;
    config->update_packets = config->update_packets != 0 ? config->update_packets : UPDATE_PACKETS;
    config->update_ns = config->update_ns != 0 ? config->update_ns : UPDATE_NS;
    config->renewal_ns = config->renewal_ns != 0 ? config->renewal_ns : RENEWAL_NS;
    config->keys_by_name |= !config->primitives->authenticates;
    config->primitives->cipher_key_init(&node->key_room->scratch);
    for (unsigned job = 0; job < NODE_JOBS_MAX; job++)
        for (unsigned group = 0; group < KEY_ROOM_GROUPS; group++)
            body_cipher_init(&node->key_room->bodies[job][group], config->primitives);
    if (!config->keys_by_name)
        return;
    bool apart = config->primitives->authenticates;
    insecure_key_pair(config->primitives, apart ? config->name : "", &config->key);
    for (uint16_t index = 0; index < config->peer_count; index++) {
        insecure_key_pair(config->primitives, apart ? config->peers[index].name : "", &pair);
        config->peers[index].key_count = 1;
        memcpy(config->peers[index].public_keys[0], pair.public_key, SEAL_KEY_BYTES);
    }
}

static void init_ports(struct node *node, uint64_t now_ns)
{
    for (uint16_t index = 0; index < node->config.port_count; index++) {
        struct node_port_config *port = &node->config.ports[index];
        if (port->down_bps == 0)
            port->down_bps = port->rate_bps;
        uint32_t frame_bytes = port->mtu + WIRE_OVERHEAD_BYTES;
        pacer_init(&node->ports[index].pacer, port->rate_bps, SENDER_BURST_PACKETS * frame_bytes, now_ns);
    }
}

struct node *node_create(const struct node_config *config, void *memory, size_t bytes, uint64_t now_ns)
{
    struct err err;
    CHECK(node_config_check(config, &err));
    CHECK(bytes >= node_bytes(config));
    struct arena arena, keys;
    size_t key_bytes = node_key_bytes(config);
    arena_init(&arena, memory, bytes);
    arena_init(&keys, config->key_memory != NULL ? config->key_memory : arena_alloc(&arena, key_bytes),
               key_bytes);
    struct node *node = arena_alloc(&keys, sizeof(*node));
    node->config = *config;
    node->peer_count = config->peer_count;
    node->now_ns = now_ns;
    node->horizon_ns = config->gathers ? 0 : TX_HORIZON_NS;
    node->jobs_tick_ns = now_ns;
    deadlines_init(&node->due);
    rng_init(&node->rng, config->seed ^ config->incarnation * 0x9e3779b97f4a7c15ULL);
    digest_init(&node->digest);
    rng_init(&node->secret_rng, config->seed * 0xbf58476d1ce4e5b9ULL ^ config->incarnation);
    allocate(node, &keys, &arena);
    init_keys(node);
    memset(node->session_peer, UINT8_MAX, sizeof(node->session_peer));
    init_ports(node, now_ns);
    node->train_out->next_number = 1;
    train_in_init(node, now_ns);
    node->asked = arena_alloc(&arena, sizeof(struct asked));
    asked_init(node, now_ns);
    node->line_in = arena_alloc(&arena, sizeof(struct line_in));
    prober_init(node, &arena, now_ns);
    pairs_init(node, &arena);
    all_init(node, &arena);
    data_rate_init(node, &arena);
    for (uint16_t index = 0; index < node->peer_count; index++) {
        peer_init(node, index, &arena, now_ns);
        sessions_init(node, &node->peers[index], &keys, now_ns);
        flow_init(&node->flows[index]);
    }
    struct store_config store = store_config(config);
    store_init(&node->store, &store, &arena);
    node->disk_queue.slots = node->store.slot_count;
    CHECK(node->store.slot_count < TX_COOKIE_TIMED >> 40);
    return node;
}
