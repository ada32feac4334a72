#include "udp/socket.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <linux/sock_diag.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

#define IPV6_OFF         "%s: IPv6 is off on this host: sysctl net.ipv6.conf.all.disable_ipv6 shows it"
#define BUFFER_NS        (20 * NS_PER_MS) /* as af_packet's ring (dpdk/device.h) */
#define BUFFER_BYTES_MIN (1 << 20)
#define BUFFER_BYTES_MAX (64 << 20)
#define BUFFER_TAKES     2 /* a byte of a packet takes about two of the kernel's accounts */

socklen_t socket_address_of(union socket_address *own, const struct net_address *address, uint32_t scope)
{
    memset(own, 0, sizeof(*own));
    if (address->family == ADDRESS_IPV4) {
        own->four.sin_family = AF_INET;
        own->four.sin_port = htons(address->udp_port);
        memcpy(&own->four.sin_addr, address->ip, 4);
        return sizeof(own->four);
    }
    own->six.sin6_family = AF_INET6;
    own->six.sin6_port = htons(address->udp_port);
    memcpy(&own->six.sin6_addr, address->ip, 16);
    if (IN6_IS_ADDR_LINKLOCAL(&own->six.sin6_addr))
        own->six.sin6_scope_id = scope;
    return sizeof(own->six);
}

struct net_address socket_address_read(const union socket_address *own)
{
    struct net_address address = {.family = ADDRESS_NONE};
    if (own->any.sa_family == AF_INET) {
        address.family = ADDRESS_IPV4;
        address.udp_port = ntohs(own->four.sin_port);
        memcpy(address.ip, &own->four.sin_addr, 4);
    } else if (own->any.sa_family == AF_INET6) {
        address.family = ADDRESS_IPV6;
        address.udp_port = ntohs(own->six.sin6_port);
        memcpy(address.ip, &own->six.sin6_addr, 16);
    }
    return address;
}

static bool set(int socket, int level, int option, int value)
{
    return setsockopt(socket, level, option, &value, sizeof(value)) == 0;
}

uint64_t socket_buffer_bytes(const struct udp_port *port)
{
    uint64_t bytes = muldiv64(port->config.rate_bps, BUFFER_NS, 8 * NS_PER_S);
    return MIN(MAX(bytes, (uint64_t)BUFFER_BYTES_MIN), (uint64_t)BUFFER_BYTES_MAX);
}

/* That much, or what this host lets an unprivileged socket have. Returns what it got. */
static uint32_t grow(int socket, int option, int forced, uint64_t wanted)
{
    int got = 0, bytes = (int)wanted;
    socklen_t length = sizeof(got);
    if (!set(socket, SOL_SOCKET, forced, bytes))
        set(socket, SOL_SOCKET, option, bytes);
    getsockopt(socket, SOL_SOCKET, option, &got, &length);
    return (uint32_t)got / BUFFER_TAKES;
}

static bool ipv6_is_off(void)
{
    FILE *file = fopen("/proc/sys/net/ipv6/conf/all/disable_ipv6", "r");
    int off = 0;
    bool known = file != NULL && fscanf(file, "%d", &off) == 1;
    if (file != NULL)
        fclose(file);
    return known && off != 0;
}

static bool bind_refused(const struct udp_port *port, struct err *err)
{
    const struct net_address *address = &port->config.address;
    switch (errno) {
    case EADDRINUSE:
        return err_set(err, "%s: UDP port %u is taken: ss -lunp 'sport = %u' shows by whom", port->name,
                       address->udp_port, address->udp_port);
    case EADDRNOTAVAIL:
        if (address->family == ADDRESS_IPV6 && ipv6_is_off())
            return err_set(err, IPV6_OFF, port->name);
        return err_set(err, "%s: this host does not have that address: ip address shows those that it has",
                       port->name);
    case EACCES:
        return err_set(err, "%s: this user may not bind to UDP port %u: those below %s need root", port->name,
                       address->udp_port, "net.ipv4.ip_unprivileged_port_start");
    default:
        return err_set(err, "%s: %s", port->name, strerror(errno));
    }
}

/* Nobody's own: to send to it is only permitted to sockets that ask for it. */
static bool is_broadcast(const struct udp_port *port, bool six)
{
    union socket_address own;
    socklen_t length = socket_address_of(&own, &port->config.address, port->scope);
    int other = socket(six ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool refused = other >= 0 && connect(other, &own.any, length) != 0 && errno == EACCES;
    if (other >= 0)
        close(other);
    return refused;
}

/* What makes a datagram carry what it says, and nothing the kernel thinks of by itself. */
static void set_ip(int socket, bool six)
{
    if (!six) {
        set(socket, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
        set(socket, IPPROTO_IP, IP_RECVTOS, 1);
        set(socket, IPPROTO_IP, IP_RECVERR, 1);
        return;
    }
    set(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    set(socket, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
    set(socket, IPPROTO_IPV6, IPV6_DONTFRAG, 1);
    set(socket, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
    set(socket, IPPROTO_IPV6, IPV6_RECVERR, 1);
}

static void ask_kernel(struct udp_port *port)
{
    int times = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_OPT_ID |
                SOF_TIMESTAMPING_OPT_TSONLY;
    int off = 0;
    socklen_t length = sizeof(off);
    bool wished = port->config.clock != NULL;
    port->segments = getsockopt(port->socket, SOL_UDP, UDP_SEGMENT, &off, &length) == 0;
    port->arrivals = wished && set(port->socket, SOL_SOCKET, SO_TIMESTAMPING, times);
    port->departures = port->arrivals;
    socket_merge(port, true);
    port->merges = port->merging;
    port->words[UDP_WORD_PLAIN] = !port->segments || !port->merges || (wished && !port->arrivals);
    port->receive_bytes = grow(port->socket, SO_RCVBUF, SO_RCVBUFFORCE, socket_buffer_bytes(port));
    grow(port->socket, SO_SNDBUF, SO_SNDBUFFORCE, socket_buffer_bytes(port));
    port->words[UDP_WORD_SMALL] = port->config.rate_given && port->receive_bytes < socket_buffer_bytes(port);
}

bool socket_open(struct udp_port *port, struct err *err)
{
    union socket_address own;
    bool six = port->config.address.family == ADDRESS_IPV6;
    if (port->config.interface[0] != '\0' && (port->scope = if_nametoindex(port->config.interface)) == 0)
        return err_set(err, "%s: this host has no interface %s: ip link shows those that it has", port->name,
                       port->config.interface);
    socklen_t length = socket_address_of(&own, &port->config.address, port->scope);
    port->socket = socket(six ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (port->socket < 0)
        return six && errno == EAFNOSUPPORT ? err_set(err, IPV6_OFF, port->name)
                                            : err_set(err, "%s: no socket: %s", port->name, strerror(errno));
    set_ip(port->socket, six);
    bool broadcast = is_broadcast(port, six);
    if (!broadcast && bind(port->socket, &own.any, length) == 0) {
        ask_kernel(port);
        return true;
    }
    if (broadcast)
        err_set(err, "%s: a broadcast address, which no host has", port->name);
    else
        bind_refused(port, err);
    close(port->socket);
    port->socket = -1;
    return false;
}

void socket_merge(struct udp_port *port, bool merging)
{
    port->merging = set(port->socket, SOL_UDP, UDP_GRO, merging) && merging;
}

uint64_t socket_drops(const struct udp_port *port)
{
    uint32_t values[SK_MEMINFO_VARS] = {0};
    socklen_t length = sizeof(values);
    if (getsockopt(port->socket, SOL_SOCKET, SO_MEMINFO, values, &length) != 0)
        return 0;
    return values[SK_MEMINFO_DROPS];
}
