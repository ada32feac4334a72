/* The roster of a node file: one list of all sites, the same in each of their files. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "conf/node_file.h"

/* Up to the first dot. */
bool conf_host_name(char name[NAME_BYTES])
{
    char host[256];
    if (gethostname(host, sizeof(host)) != 0)
        return false;
    host[sizeof(host) - 1] = '\0';
    host[strcspn(host, ".")] = '\0';
    return name_valid(host) && name_copy(name, NAME_BYTES, host);
}

void node_file_name(struct conf_reader *reader, struct node_file *file, const char *given)
{
    char *name = file->config.node.name;
    if (given != NULL && !name_valid(given))
        conf_fault(reader, "", "\"%s\" is no name: 1 to 31 of a-z A-Z 0-9 . _ - expected", given);
    else if (given != NULL)
        name_copy(name, NAME_BYTES, given);
    else if (name[0] == '\0' && !conf_host_name(name))
        conf_fault(reader, "",
                   "no node.name and no --name, and the host's name is none that a node can have");
}

/* A port need not say what stands here; what it says must be the same. */
static void take_own(struct conf_reader *reader, struct node_file *file, unsigned index)
{
    char where[CONF_WHERE_BYTES];
    const struct node_file_site *site = &file->sites[index];
    if (site->peer.node.port >= file->config.node.port_count) {
        snprintf(where, sizeof(where), "roster[%u].port", index);
        conf_fault(reader, where, "this node has no ports[%u]", site->peer.node.port);
        return;
    }
    struct node_file_port *port = &file->ports[site->peer.node.port];
    file->config.own_address = site->peer.node.address;
    file->config.own_port = site->peer.node.port;
    file->config.own_keys = site->peer.keys;
    const struct net_address *own = &port->node.address, *told = &site->peer.node.address;
    if (own->family == ADDRESS_NONE) {
        port->node.address = *told;
        port->app.prefix_length = site->prefix_length;
    } else if (!app_port_is_socket(&port->app) &&
               told->family != ADDRESS_NONE && /* it may be behind 1:1 NAT */
               (own->family != told->family || memcmp(own->ip, told->ip, sizeof(own->ip)) != 0)) {
        snprintf(where, sizeof(where), "roster[%u].address", index);
        conf_fault(reader, where, "is not that of ports[%u], and others send to it", site->peer.node.port);
    }
    if (port->app.gateway.family == ADDRESS_NONE && !app_port_is_socket(&port->app))
        port->app.gateway = site->gateway;
    if (site->peer.udp_port != 0)
        file->udp_port = site->peer.udp_port;
}

static void add_peer(struct conf_reader *reader, struct node_file *file, unsigned index)
{
    char where[CONF_WHERE_BYTES];
    snprintf(where, sizeof(where), "roster[%u]", index);
    if (file->config.node.peer_count == NODE_PEERS_MAX)
        conf_fault(reader, where, "more than %d peers", NODE_PEERS_MAX);
    else
        file->peers[file->config.node.peer_count++] = file->sites[index].peer;
}

static void say_twice(struct conf_reader *reader, unsigned index, const char *name)
{
    char where[CONF_WHERE_BYTES];
    snprintf(where, sizeof(where), "roster[%u].name", index);
    conf_fault(reader, where, "\"%s\", this node, is there twice", name);
}

void node_file_take_roster(struct conf_reader *reader, struct node_file *file)
{
    bool found = false;
    uint16_t udp_port = file->udp_port;
    for (unsigned index = 0; index < file->site_count; index++) {
        struct node_file_site *site = &file->sites[index];
        site->peer.site = (uint16_t)(index + 1);
        site->peer.udp_port = site->peer.udp_port != 0 ? site->peer.udp_port : udp_port;
        bool own = strcmp(site->peer.node.name, file->config.node.name) == 0;
        if (own && found)
            say_twice(reader, index, site->peer.node.name);
        else if (own)
            take_own(reader, file, index);
        else
            add_peer(reader, file, index);
        found = found || own;
    }
    if (file->site_count > 0 && !found && file->config.node.name[0] != '\0')
        conf_fault(reader, "roster",
                   "has no entry of this node, \"%s\": its name is given by --name, node.name or the host",
                   file->config.node.name);
}
