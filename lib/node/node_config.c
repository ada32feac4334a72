/* Defaults and consistency of a node's configuration. */
#include "node/node_config.h"

#include <string.h>

#include "edge/sender.h"
#include "node/node.h"
#include "store/store.h"

#define BUFFER_SLOTS_MIN 8
#define PROBE_LOAD_PPB   10000000
#define PROBE_WIDTH_PPB  5000000
#define PROBE_PERIOD_NS  (1900 * NS_PER_MS)

void node_config_defaults(struct node_config *config)
{
    memset(config, 0, sizeof(*config));
    config->seed = 1;
    config->incarnation = 1;
    config->store = NODE_STORE_DISK;
    config->buffer_bytes = 256ULL << 20;
    config->blocks_max = 1ULL << 18; /* 256 GiB under way at once */
    config->probe = (struct node_probe_config){.estimator = estimator_kinds[0],
                                               .load_ppb = PROBE_LOAD_PPB,
                                               .width_ppb = PROBE_WIDTH_PPB,
                                               .period_ns = PROBE_PERIOD_NS};
#define TIMEOUT(key, field, least, least_unit, most, most_unit, initial, unit, help)                         \
    config->field = initial * NS_PER_##unit;
#include "node/timeouts.def"
#undef TIMEOUT
}

static bool check_ports(const struct node_config *config, struct err *err)
{
    if (config->port_count == 0 || config->port_count > NODE_PORTS_MAX)
        return err_set(err, "ports: 1 to %d expected, got %u", NODE_PORTS_MAX, config->port_count);
    for (uint16_t index = 0; index < config->port_count; index++) {
        const struct node_port_config *port = &config->ports[index];
        if (port->address.family != ADDRESS_IPV4 && port->address.family != ADDRESS_IPV6)
            return err_set(err, "ports[%u].address: an IPv4 or IPv6 address expected", index);
        if (port->address.udp_port == 0)
            return err_set(err, "node.udp_port: 1 to 65535 expected");
        if (port->mtu < MTU_MIN || port->mtu > MTU_MAX)
            return err_set(err, "ports[%u].mtu: %u to %u expected, got %u", index, MTU_MIN, MTU_MAX,
                           port->mtu);
        if (port->rate_bps < 100000)
            return err_set(err, "ports[%u].rate: at least 100 kbit/s expected", index);
    }
    return true;
}

static bool window_valid(uint32_t packets)
{
    return packets == 0 ||
           (packets >= SENDER_WINDOW_MIN && packets <= SENDER_WINDOW_MAX && (packets & (packets - 1)) == 0);
}

static bool check_peers(const struct node_config *config, struct err *err)
{
    if (config->peer_count > NODE_PEERS_MAX)
        return err_set(err, "peers: at most %d expected, got %u", NODE_PEERS_MAX, config->peer_count);
    for (uint16_t index = 0; index < config->peer_count; index++) {
        const struct node_peer_config *peer = &config->peers[index];
        if (!name_valid(peer->name))
            return err_set(err, "peers[%u].name: not a valid name", index);
        if (strcmp(peer->name, config->name) == 0)
            return err_set(err, "peers[%u].name: '%s' is this node", index, peer->name);
        if (peer->port >= config->port_count)
            return err_set(err, "peers[%u].port: there is no port %u", index, peer->port);
        if (peer->address.family != config->ports[peer->port].address.family)
            return err_set(err, "peers[%u].address: not of the same family as its port's", index);
        bool keyed = config->keys_by_name || config->primitives == NULL || !config->primitives->authenticates;
        if (!keyed && (peer->key_count == 0 || peer->key_count > NODE_PEER_KEYS_MAX))
            return err_set(err, "peers[%u].key: 1 to %d expected", index, NODE_PEER_KEYS_MAX);
        if (!window_valid(peer->window_packets))
            return err_set(err, "peers[%u].window: a power of two from %u to %u expected", index,
                           SENDER_WINDOW_MIN, SENDER_WINDOW_MAX);
        for (uint16_t other = 0; other < index; other++) {
            if (strcmp(peer->name, config->peers[other].name) == 0)
                return err_set(err, "peers[%u].name: '%s' is there twice", index, peer->name);
            if (address_equal(&peer->address, &config->peers[other].address))
                return err_set(err, "peers[%u].address: the same as that of '%s'", index,
                               config->peers[other].name);
        }
    }
    return true;
}

static bool check_timeouts(const struct node_config *config, struct err *err)
{
#define TIMEOUT(key, field, least, least_unit, most, most_unit, initial, unit, help)                         \
    if (config->field < least * NS_PER_##least_unit || config->field > most * NS_PER_##most_unit)            \
        return err_set(err, "timeouts.%s: %d %s to %d %s expected", #key, least, #least_unit, most,          \
                       #most_unit);
#include "node/timeouts.def"
#undef TIMEOUT
    return true;
}

bool node_config_check(const struct node_config *config, struct err *err)
{
    if (!name_valid(config->name))
        return err_set(err, "node.name: 1 to 31 letters, digits, '.', '_' or '-' expected");
    if (config->incarnation == 0)
        return err_set(err, "incarnation: must not be 0");
    if (!check_ports(config, err) || !check_peers(config, err))
        return false;
    if (config->directory_count > NODE_DIRECTORIES_MAX)
        return err_set(err, "directories: at most %d expected", NODE_DIRECTORIES_MAX);
    for (uint16_t index = 0; index < config->directory_count; index++) {
        if (!name_valid(config->directories[index].name))
            return err_set(err, "directories[%u].name: not a valid name", index);
        if (config->directories[index].path[0] != '/')
            return err_set(err, "directories[%u].path: an absolute path expected", index);
    }
    uint64_t slot_bytes = BLOCK_BYTES_TARGET + sizeof(struct slot) + BLOCK_SYMBOLS_MAX * WIRE_TAG_BYTES;
    if (config->buffer_bytes < BUFFER_SLOTS_MIN * slot_bytes)
        return err_set(err, "memory.buffer: at least %llu bytes expected",
                       (unsigned long long)(BUFFER_SLOTS_MIN * slot_bytes));
    if (config->blocks_max < 64)
        return err_set(err, "memory.blocks_max: at least 64 expected");
    if (config->probe.load_ppb == 0 || config->probe.load_ppb > PROBE_LOAD_PPB_MAX)
        return err_set(err, "probe.load: more than 0, at most 50 %% expected");
    if (config->probe.width_ppb == 0 || config->probe.width_ppb >= 1000000000)
        return err_set(err, "probe.width: more than 0, less than 100 %% expected");
    if (config->probe.period_ns > PROBE_PERIOD_NS_MAX)
        return err_set(err, "probe.period: at most 1 h expected");
    return check_timeouts(config, err);
}
