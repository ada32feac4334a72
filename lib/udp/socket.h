/* Opening the socket of a port, and addresses as the kernel has them. */
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "udp/udp_port.h"

union socket_address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

/* Returns its length. scope: of the interface, for link-local addresses. */
socklen_t socket_address_of(union socket_address *own, const struct net_address *address, uint32_t scope);
/* family ADDRESS_NONE: none that a peer can have. */
struct net_address socket_address_read(const union socket_address *own);

/* Opens and binds port->socket, and sets what the kernel does for it. False: err says who is to do what. */
bool socket_open(struct udp_port *port, struct err *err);
/* Switches UDP_GRO: with it a message may be several datagrams in one piece. */
void socket_merge(struct udp_port *port, bool merging);
/* What its receiving buffer should hold: 20 ms of the rate. */
uint64_t socket_buffer_bytes(const struct udp_port *port);
/* What the kernel threw away of the socket's so far, as it counts: merged datagrams as one. */
uint64_t socket_drops(const struct udp_port *port);
