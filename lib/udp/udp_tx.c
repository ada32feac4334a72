/* Sending: packets wait in the lane, and those that are due leave by runs. */
#include "udp/udp_internal.h"

#include <errno.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/count.h"
#include "base/units.h"
#include "udp/socket.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

#define CONTROL_BYTES 128
#define TRIES         4 /* an error of some earlier datagram is not this call's */

static struct udp_packet *packet_at(struct udp_port *port, uint32_t index)
{
    return lane_item(&port->lane, index)->packet;
}

/* ---- into the lane ---- */

uint16_t udp_send_room(const void *self)
{
    const struct udp_port *port = self;
    uint32_t owed = port->report_tail - port->report_head + lane_count(&port->lane) + UDP_STAMPS;
    uint32_t reports = owed < UDP_REPORTS ? UDP_REPORTS - owed : 0;
    return (uint16_t)MIN(lane_room(&port->lane), reports);
}

/* The body stays where it is while its cookie is out; one that is only lent is copied. */
static void packet_take(struct udp_port *port, const struct tx_packet *packet)
{
    uint32_t place = port->lane.tail % LANE_PLACES;
    struct udp_packet *own = &port->packets[place];
    CHECK(packet->peer < port->peer_count);
    *own = (struct udp_packet){.to = packet->to,
                               .peer = packet->peer,
                               .head_bytes = packet->head_bytes,
                               .body_bytes = packet->body_bytes,
                               .traffic_class = packet->traffic_class,
                               .timed = packet->cookie >= TX_COOKIE_TIMED && packet->cookie != TX_COOKIE_NONE,
                               .body = packet->body,
                               .cookie = packet->cookie};
    memcpy(own->head, packet->head, packet->head_bytes);
    if (packet->cookie == TX_COOKIE_NONE && packet->body_bytes > 0) {
        CHECK(packet->body_bytes <= port->config.mtu);
        own->body = port->bodies + (size_t)place * port->config.mtu;
        memcpy(port->bodies + (size_t)place * port->config.mtu, packet->body, packet->body_bytes);
    }
    struct lane_item item = {.packet = own,
                             .cookie = packet->cookie,
                             .asked_ns = packet->depart_ns,
                             .bytes = (uint32_t)packet->head_bytes + packet->body_bytes +
                                      address_overhead_bytes(packet->to.family)};
    lane_push(&port->lane, &item);
}

void udp_send(void *self, const struct tx_packet *packets, uint16_t count, uint64_t now_ns)
{
    struct udp_port *port = self;
    CHECK(count <= udp_send_room(port));
    (void)now_ns;
    for (uint16_t index = 0; index < count; index++)
        packet_take(port, &packets[index]);
}

/* ---- what became of a packet ---- */

static void packet_refused(struct udp_port *port, struct udp_packet *packet, uint64_t *reason,
                           uint64_t now_ns)
{
    packet->done = true;
    count_add(reason, 1);
    udp_report(port, &(struct tx_report){
                         .cookie = packet->cookie, .sent_ns = now_ns, .status = TX_REFUSED, .released = 1});
}

static void peer_reached(struct udp_port *port, uint16_t peer, bool reached)
{
    uint64_t bit = 1ULL << peer, all = port->peer_count < 64 ? (1ULL << port->peer_count) - 1 : UINT64_MAX;
    port->unroutable = reached ? port->unroutable & ~bit : port->unroutable | bit;
    bool up = port->unroutable != all;
    if (up != port->link_up) {
        __atomic_store_n(&port->link_up, up, __ATOMIC_RELAXED);
        count_add(&port->counters.link_changes, 1);
    }
}

/* By what the kernel said of it alone. */
static void refuse(struct udp_port *port, struct udp_packet *packet, int error, uint64_t now_ns)
{
    struct port_counters *counters = &port->counters;
    uint64_t *reason = &counters->tx_drop_refused;
    if (error == EMSGSIZE)
        reason = &counters->tx_drop_too_long;
    else if (error == EPERM || error == EACCES)
        reason = &counters->tx_drop_filtered;
    else if (error == ENETUNREACH || error == EHOSTUNREACH || error == ENETDOWN || error == EADDRNOTAVAIL ||
             error == EINVAL) /* of a single one: the host has lost the address */
        reason = &counters->tx_drop_no_route;
    if (reason == &counters->tx_drop_filtered)
        udp_say(port, UDP_WORD_FILTERED, &packet->to, error);
    if (reason == &counters->tx_drop_no_route)
        peer_reached(port, packet->peer, false);
    packet_refused(port, packet, reason, now_ns);
}

/* ---- a run ---- */

struct send_call {
    struct msghdr message;
    struct iovec parts[2 * RUN_PACKETS_MAX];
    union socket_address to;
    _Alignas(struct cmsghdr) uint8_t control[CONTROL_BYTES];
};

static void control_add(struct send_call *call, int level, int type, const void *value, size_t bytes)
{
    struct cmsghdr *part = (struct cmsghdr *)(call->control + call->message.msg_controllen);
    part->cmsg_level = level;
    part->cmsg_type = type;
    part->cmsg_len = CMSG_LEN(bytes);
    memcpy(CMSG_DATA(part), value, bytes);
    call->message.msg_controllen += CMSG_SPACE(bytes);
}

static void call_prepare(struct udp_port *port, struct send_call *call, const uint16_t *places,
                         uint16_t count)
{
    const struct udp_packet *first = packet_at(port, places[0]);
    uint16_t bytes = (uint16_t)(first->head_bytes + first->body_bytes);
    size_t parts = 0;
    call->message =
        (struct msghdr){.msg_name = &call->to, .msg_iov = call->parts, .msg_control = call->control};
    call->message.msg_namelen = socket_address_of(&call->to, &first->to, port->scope);
    for (uint16_t index = 0; index < count; index++) {
        struct udp_packet *packet = packet_at(port, places[index]);
        call->parts[parts++] = (struct iovec){packet->head, packet->head_bytes};
        if (packet->body_bytes > 0)
            call->parts[parts++] = (struct iovec){(void *)(uintptr_t)packet->body, packet->body_bytes};
    }
    call->message.msg_iovlen = parts;
    int class = first->traffic_class;
    if (first->to.family == ADDRESS_IPV4)
        control_add(call, IPPROTO_IP, IP_TOS, &class, sizeof(class));
    else
        control_add(call, IPPROTO_IPV6, IPV6_TCLASS, &class, sizeof(class));
    if (count > 1)
        control_add(call, SOL_UDP, UDP_SEGMENT, &bytes, sizeof(bytes));
    uint32_t asked = SOF_TIMESTAMPING_TX_SOFTWARE;
    if (first->timed && port->departures)
        control_add(call, SOL_SOCKET, SO_TIMESTAMPING, &asked, sizeof(asked));
}

/* 0, or errno. An error that an ICMP message has left at the socket stops no datagram. */
static int call_send(struct udp_port *port, struct send_call *call, uint64_t now_ns)
{
    int error = 0;
    for (int try = 0; try < TRIES; try++) {
        uint64_t unreachable = port->counters.rx_unreachable;
        if (sendmsg(port->socket, &call->message, MSG_DONTWAIT) >= 0)
            return 0;
        error = errno;
        if (error == EAGAIN || error == ENOBUFS || error == EMSGSIZE || error == EINVAL || error == EIO)
            return error;
        udp_errors_take(port, now_ns);
        if (unreachable == port->counters.rx_unreachable && error != ECONNREFUSED)
            return error;
    }
    return error;
}

static void run_left(struct udp_port *port, const uint16_t *places, uint16_t count, uint64_t from_ns)
{
    uint64_t until_ns = port->config.clock != NULL ? tsc_now_ns(port->config.clock) : from_ns;
    for (uint16_t index = 0; index < count; index++) {
        struct udp_packet *packet = packet_at(port, places[index]);
        packet->done = true;
        count_add(&port->counters.tx_packets, 1);
        count_add(&port->counters.tx_bytes, lane_item(&port->lane, places[index])->bytes);
        if (packet->timed) {
            udp_departed(port, packet->cookie, from_ns, until_ns);
            continue;
        }
        uint64_t left_ns = from_ns + (until_ns - from_ns) * (index + 1u) / count;
        udp_report(port, &(struct tx_report){.cookie = packet->cookie,
                                             .sent_ns = left_ns,
                                             .stamp_kind = STAMP_HARDWARE,
                                             .status = TX_SENT,
                                             .released = 1});
    }
    if (port->unroutable != 0)
        peer_reached(port, packet_at(port, places[0])->peer, true);
}

/* False: the kernel has no room now, for any of them. */
static bool run_send(struct udp_port *port, const uint16_t *places, uint16_t count, uint64_t now_ns)
{
    struct send_call call;
    bool timed = packet_at(port, places[0])->timed;
    call_prepare(port, &call, places, count);
    uint64_t from_ns = port->config.clock != NULL ? tsc_now_ns(port->config.clock) : now_ns;
    int error = call_send(port, &call, now_ns);
    count_add(&port->counters.tx_calls, 1);
    if (error == 0) {
        run_left(port, places, count, from_ns);
        if (timed)
            udp_errors_take(port, tsc_now_ns(port->config.clock));
        return true;
    }
    if (error == EAGAIN || error == ENOBUFS) {
        count_add(&port->counters.tx_full, 1);
        return false;
    }
    if (count == 1) {
        refuse(port, packet_at(port, places[0]), error, now_ns);
        return true;
    }
    if (error == EIO) { /* this interface cannot sum what it would cut */
        port->segments = false;
        udp_say(port, UDP_WORD_PLAIN, NULL, error);
    }
    bool room = true; /* one by one, each with its own answer */
    for (uint16_t index = 0; index < count && room; index++)
        room = run_send(port, places + index, 1, now_ns);
    return room;
}

/* ---- departures ---- */

/* Those at the lane's head that are dealt with leave it. */
static uint16_t lane_leave(struct udp_port *port, uint64_t now_ns)
{
    uint32_t count = 0;
    while (count < lane_count(&port->lane) && packet_at(port, count)->done)
        count++;
    lane_pop(&port->lane, count, now_ns);
    return (uint16_t)count;
}

static void runs_collect(struct udp_port *port, struct runs *runs, uint32_t due)
{
    runs_begin(runs);
    for (uint32_t index = 0; index < due; index++) {
        const struct udp_packet *packet = packet_at(port, index);
        if (packet->done)
            continue;
        bool known = address_equal(&packet->to, &port->peers[packet->peer]);
        runs_add(runs, &(struct run_packet){.peer = packet->peer,
                                            .place = (uint16_t)index,
                                            .class = packet->traffic_class,
                                            .bytes = (uint32_t)packet->head_bytes + packet->body_bytes,
                                            .alone = packet->timed || !known});
    }
}

uint16_t udp_flush(void *self, uint64_t now_ns)
{
    static __thread struct runs runs;
    struct udp_port *port = self;
    uint32_t due = lane_due(&port->lane, now_ns, RUN_WAITING_MAX);
    if (due == 0)
        return 0;
    uint16_t places[RUN_PACKETS_MAX], count;
    runs_collect(port, &runs, due);
    bool room = true;
    while (room && (count = runs_next(&runs, places, port->segments ? RUN_PACKETS_MAX : 1)) > 0)
        room = run_send(port, places, count, now_ns);
    return lane_leave(port, now_ns);
}

uint16_t udp_reports(void *self, struct tx_report *reports, uint16_t room)
{
    struct udp_port *port = self;
    uint16_t count = 0;
    while (count < room && port->report_head != port->report_tail)
        reports[count++] = port->reports[port->report_head++ % UDP_REPORTS];
    return count;
}
