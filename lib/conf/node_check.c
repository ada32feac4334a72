/* What holds between the keys of a node file. */
#include <stdio.h>
#include <string.h>

#include "conf/node_file.h"

static bool same_ip(const struct net_address *a, const struct net_address *b)
{
    return a->family == b->family && memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

static bool is_unicast(const struct net_address *address)
{
    static const uint8_t zero[16];
    if (memcmp(address->ip, zero, sizeof(zero)) == 0)
        return false;
    return address->family == ADDRESS_IPV4 ? address->ip[0] < 224 : address->ip[0] != 0xff;
}

static bool is_link_local(const struct net_address *address)
{
    return address->family == ADDRESS_IPV6 && address->ip[0] == 0xfe && (address->ip[1] & 0xc0) == 0x80;
}

static bool on_link(const struct node_file_port *port, const struct net_address *address)
{
    const uint8_t *own = port->node.address.ip;
    unsigned bytes = port->app.prefix_length / 8, bits = port->app.prefix_length % 8;
    if (port->node.address.family != address->family)
        return false;
    if (is_link_local(address))
        return true;
    uint8_t mask = (uint8_t)(0xff00 >> bits);
    return memcmp(own, address->ip, bytes) == 0 &&
           (bits == 0 || (own[bytes] & mask) == (address->ip[bytes] & mask));
}

static void check_gateway(struct conf_reader *reader, const struct node_file_port *port, unsigned index)
{
    char where[CONF_WHERE_BYTES];
    const struct net_address *gateway = &port->app.gateway;
    snprintf(where, sizeof(where), "ports[%u].gateway", index);
    if (gateway->family == ADDRESS_NONE) {
        snprintf(where, sizeof(where), "ports[%u].gateway_mac", index);
        if (port->app.static_mac)
            conf_fault(reader, where, "there is no gateway that it belongs to");
    } else if (gateway->family != port->node.address.family) {
        conf_fault(reader, where, "not of the same family (IPv4, IPv6) as the port's address");
    } else if (same_ip(gateway, &port->node.address)) {
        conf_fault(reader, where, "is this port's own address");
    } else if (!on_link(port, gateway)) {
        conf_fault(reader, where, "not within the network of the port's address (prefix length %u)",
                   port->app.prefix_length);
    }
}

/* A socket's routes, neighbours and tags are the host's. */
static void check_socket(struct conf_reader *reader, const struct node_file_port *port, unsigned index)
{
    char where[CONF_WHERE_BYTES];
    const struct app_port_config *app = &port->app;
    const char *key = app->gateway.family != ADDRESS_NONE ? "gateway"
                      : app->static_mac                   ? "gateway_mac"
                      : app->vlan != 0                    ? "vlan"
                                                          : NULL;
    snprintf(where, sizeof(where), "ports[%u].%s", index, key != NULL ? key : "address");
    if (key != NULL)
        conf_fault(reader, where, "is the host's affair where the port has no device");
    else if (is_link_local(&port->node.address) != (app->interface[0] != '\0'))
        conf_fault(reader, where,
                   app->interface[0] != '\0'
                       ? "only link-local addresses (fe80::…) have an interface behind %%"
                       : "link-local, expected with its interface like fe80::1%%eth0");
}

static void check_device(struct conf_reader *reader, const struct node_file_port *port, unsigned index)
{
    char where[CONF_WHERE_BYTES];
    snprintf(where, sizeof(where), "ports[%u].address", index);
    if (port->app.prefix_length == 0 && reader->errors->count == 0)
        conf_fault(reader, where, "has no prefix length: expected in the roster, like 10.0.0.1/24, or here");
    else if (port->app.prefix_length != 0)
        check_gateway(reader, port, index);
}

static void check_twins(struct conf_reader *reader, const struct node_file *file, unsigned index)
{
    char where[CONF_WHERE_BYTES];
    const struct node_file_port *port = &file->ports[index];
    for (unsigned other = 0; other < index; other++) {
        snprintf(where, sizeof(where), "ports[%u].address", index);
        if (same_ip(&port->node.address, &file->ports[other].node.address))
            conf_fault(reader, where, "is also the address of ports[%u]", other);
        snprintf(where, sizeof(where), "ports[%u].device", index);
        if (!app_port_is_socket(&port->app) && strcmp(port->app.device, file->ports[other].app.device) == 0)
            conf_fault(reader, where, "is also the device of ports[%u]", other);
    }
}

static void check_ports(struct conf_reader *reader, const struct node_file *file)
{
    char where[CONF_WHERE_BYTES];
    const yaml_node_t *root = yaml_document_get_root_node(&reader->document);
    const yaml_node_t *ports = conf_find(reader, root, "ports");
    if (ports != NULL && ports->type == YAML_SEQUENCE_NODE && conf_length(ports) == 0)
        conf_fault(reader, "ports", "no port, expected at least one");
    for (unsigned index = 0; index < file->config.node.port_count; index++) {
        const struct node_file_port *port = &file->ports[index];
        snprintf(where, sizeof(where), "ports[%u].address", index);
        if (port->node.address.family == ADDRESS_NONE) {
            if (reader->errors->count == 0) /* else it may be malformed */
                conf_fault(reader, where, "is missing, here and in the roster");
            continue;
        }
        if (!is_unicast(&port->node.address))
            conf_fault(reader, where, "not an address that a host can have");
        if (app_port_is_socket(&port->app))
            check_socket(reader, port, index);
        else
            check_device(reader, port, index);
        check_twins(reader, file, index);
    }
}

/* Where the peer stands, and a key of it. */
static void peer_place(const struct node_file_peer *peer, unsigned index, const char *key,
                       char place[CONF_WHERE_BYTES])
{
    if (peer->site != 0)
        snprintf(place, CONF_WHERE_BYTES, "roster[%u]%s", peer->site - 1u, key);
    else
        snprintf(place, CONF_WHERE_BYTES, "peers[%u]%s", index, key);
}

/* Whether the peer can be reached at all through its port. */
static void check_reachable(struct conf_reader *reader, const struct node_file *file, unsigned index)
{
    char where[CONF_WHERE_BYTES];
    const struct node_file_peer *peer = &file->peers[index];
    const struct node_file_port *port = &file->ports[peer->node.port];
    peer_place(peer, index, ".address", where);
    if (port->node.address.family == ADDRESS_NONE || peer->node.address.family == ADDRESS_NONE)
        return;
    if (!is_unicast(&peer->node.address))
        conf_fault(reader, where, "not an address that a host can have");
    else if (peer->node.address.family != port->node.address.family)
        conf_fault(reader, where, "not of the same family (IPv4, IPv6) as the address of ports[%u]",
                   peer->node.port);
    else if (!app_port_is_socket(&port->app) && !on_link(port, &peer->node.address) &&
             port->app.gateway.family == ADDRESS_NONE)
        conf_fault(reader, where, "not on the link of ports[%u], which has no gateway", peer->node.port);
}

static void check_peer(struct conf_reader *reader, const struct node_file *file, unsigned index)
{
    char name[CONF_WHERE_BYTES], address[CONF_WHERE_BYTES];
    const struct node_config *config = &file->config.node;
    const struct node_peer_config *peer = &file->peers[index].node;
    peer_place(&file->peers[index], index, ".name", name);
    peer_place(&file->peers[index], index, ".address", address);
    if (peer->name[0] != '\0' && strcmp(peer->name, config->name) == 0)
        conf_fault(reader, name, "\"%s\" is this node itself", peer->name);
    for (unsigned other = 0; other < index; other++) {
        const struct node_peer_config *earlier = &file->peers[other].node;
        char place[CONF_WHERE_BYTES];
        peer_place(&file->peers[other], other, "", place);
        if (peer->name[0] != '\0' && strcmp(peer->name, earlier->name) == 0)
            conf_fault(reader, name, "\"%s\" is also the name of %s", peer->name, place);
        if (peer->address.family != ADDRESS_NONE && address_equal(&peer->address, &earlier->address))
            conf_fault(reader, address, "is also the address of %s, \"%s\"", place, earlier->name);
    }
    for (unsigned port = 0; port < config->port_count; port++)
        if (same_ip(&peer->address, &file->ports[port].node.address) && peer->address.family != ADDRESS_NONE)
            conf_fault(reader, address, "is the address of ports[%u], this node's own", port);
    peer_place(&file->peers[index], index, ".port", name);
    if (peer->port < config->port_count)
        check_reachable(reader, file, index);
    else if (config->port_count > 0)
        conf_fault(reader, name, "there is no ports[%u], the last one is ports[%u]", peer->port,
                   config->port_count - 1);
}

/* A file that all sites share names them all. */
static bool is_site(const struct node_file *file, const char *name)
{
    if (file->site_count > 0 && strcmp(file->config.node.name, name) == 0)
        return true;
    for (unsigned index = 0; index < file->config.node.peer_count; index++)
        if (strcmp(file->peers[index].node.name, name) == 0)
            return true;
    return false;
}

static void check_directory(struct conf_reader *reader, const struct node_file *file, unsigned index)
{
    char where[CONF_WHERE_BYTES];
    const struct node_directory *directories = file->config.node.directories;
    snprintf(where, sizeof(where), "directories[%u].name", index);
    for (unsigned other = 0; other < index; other++)
        if (directories[index].name[0] != '\0' &&
            strcmp(directories[index].name, directories[other].name) == 0)
            conf_fault(reader, where, "\"%s\" is also the name of directories[%u]", directories[index].name,
                       other);
    snprintf(where, sizeof(where), "directories[%u].accept.setid", index);
    if (directories[index].accept.set_id && !directories[index].accept.owner)
        conf_fault(reader, where,
                   "means nothing without owner: true: the bits would be those of another user");
    snprintf(where, sizeof(where), "directories[%u].sources", index);
    for (unsigned source = 0; source < directories[index].source_count; source++)
        if (!is_site(file, directories[index].sources[source]))
            conf_fault(reader, where, "\"%s\" is not a peer", directories[index].sources[source]);
}

static void check_relay_for(struct conf_reader *reader, const struct node_file *file)
{
    const struct node_config *config = &file->config.node;
    for (unsigned index = 0; index < config->relay_for_count; index++)
        if (!is_site(file, config->relay_for[index]))
            conf_fault(reader, "plan.relay_for", "\"%s\" is not a peer", config->relay_for[index]);
}

/* A list of CPUs by that key. */
static void check_cpus(struct conf_reader *reader, const char *key, const uint16_t *cpus, unsigned count)
{
    char where[CONF_WHERE_BYTES];
    for (unsigned index = 0; index < count; index++) {
        snprintf(where, sizeof(where), "%s[%u]", key, index);
        for (unsigned other = 0; other < index; other++)
            if (cpus[index] == cpus[other])
                conf_fault(reader, where, "%u is there twice", cpus[index]);
    }
}

/* Each port's worker has a CPU. */
static void check_workers(struct conf_reader *reader, const struct app_config *config)
{
    char where[CONF_WHERE_BYTES];
    for (unsigned index = 0; index < config->node.port_count; index++) {
        snprintf(where, sizeof(where), "ports[%u].worker", index);
        if (config->ports[index].worker == 0 || config->ports[index].worker < config->lcore_count)
            continue;
        if (config->lcore_count < 2)
            conf_fault(reader, where, "lcores has no CPU for it, expected 0");
        else
            conf_fault(reader, where, "there is no lcores[%u], the last one is lcores[%u]",
                       config->ports[index].worker, config->lcore_count - 1);
    }
}

/* What is for DPDK needs a port that it drives. */
static void check_dpdk(struct conf_reader *reader, const struct node_file *file)
{
    for (unsigned index = 0; index < file->config.node.port_count; index++)
        if (!app_port_is_socket(&file->ports[index].app))
            return;
    if (file->config.eal_option_count > 0)
        conf_fault(reader, "eal", "no port has a device, so DPDK is not started");
    if (file->config.memory_bytes != 0)
        conf_fault(reader, "memory.dpdk", "no port has a device, so DPDK is not started");
}

void node_file_check(struct conf_reader *reader, struct node_file *file)
{
    const struct app_group *group = &file->config.control_group;
    if (group->refused != 0)
        conf_fault(reader, "control.group", "%s can't be looked up: %s", group->name,
                   strerror(group->refused));
    check_ports(reader, file);
    check_dpdk(reader, file);
    for (unsigned index = 0; index < file->config.node.peer_count; index++)
        check_peer(reader, file, index);
    for (unsigned index = 0; index < file->config.node.directory_count; index++)
        check_directory(reader, file, index);
    check_relay_for(reader, file);
    node_file_check_keys(reader, file);
    if (reader->errors->count > 0) /* a CPU that is no number reads as 0 */
        return;
    check_cpus(reader, "lcores", file->config.lcores, file->config.lcore_count);
    check_cpus(reader, "disk.cpus", file->config.disk_cpus, file->config.disk_cpu_count);
    check_workers(reader, &file->config);
}
