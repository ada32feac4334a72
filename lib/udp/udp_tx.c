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

#define CONTROL_BYTES 128
#define TRIES         4                 /* an error of some earlier datagram is not this call's */
#define RETRY_NS      (500 * NS_PER_US) /* a full queue is asked again so late */
#define QUEUE_NS      (20 * NS_PER_MS)  /* and so long it may be full before packets are lost there … */
#define QUEUE_PACKETS (LANE_PLACES / 8) /* … or so many of one peer wait */
#define STUCK_NS      NS_PER_S

static struct udp_packet *packet_at(struct udp_port *port, uint32_t index)
{
    return lane_item(&port->lane, index)->packet;
}

uint16_t udp_send_room(const void *self)
{
    const struct udp_port *port = self;
    uint32_t owed = port->report_tail - port->report_head + lane_count(&port->lane) + UDP_STAMPS;
    uint32_t reports = owed < UDP_REPORTS ? UDP_REPORTS - owed : 0;
    return (uint16_t)MIN(lane_room(&port->lane), reports);
}

/* ---- what became of a packet ---- */

static void packet_done(struct udp_port *port, struct udp_packet *packet, const struct tx_report *report)
{
    packet->done = true;
    port->queues[packet->peer].waiting--;
    udp_report(port, report);
}

static void packet_refused(struct udp_port *port, struct udp_packet *packet, uint64_t *reason,
                           uint64_t now_ns)
{
    count_add(reason, 1);
    packet_done(port, packet,
                &(struct tx_report){
                    .cookie = packet->cookie, .sent_ns = now_ns, .status = TX_REFUSED, .released = 1});
}

/* On the way, as it were: whoever sent it learns it as any loss, and slows down. A train has to know. */
static void packet_lost(struct udp_port *port, struct udp_packet *packet, uint64_t now_ns)
{
    count_add(&port->counters.tx_drop_queue, 1);
    packet_done(port, packet,
                &(struct tx_report){.cookie = packet->cookie,
                                    .sent_ns = now_ns,
                                    .status = packet->timed ? TX_REFUSED : TX_SENT,
                                    .released = 1});
}

/* ---- into the lane ---- */

/* The body stays where it is while its cookie is out; one that is only lent is copied. */
static struct udp_packet *packet_take(struct udp_port *port, const struct tx_packet *packet)
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
    port->queues[packet->peer].waiting++;
    return own;
}

void udp_send(void *self, const struct tx_packet *packets, uint16_t count, uint64_t now_ns)
{
    struct udp_port *port = self;
    CHECK(count <= udp_send_room(port));
    for (uint16_t index = 0; index < count; index++) {
        struct udp_packet *packet = packet_take(port, &packets[index]);
        const struct udp_queue *queue = &port->queues[packet->peer];
        if (queue->full_ns != 0 && queue->waiting > QUEUE_PACKETS) /* others want their places in the lane */
            packet_lost(port, packet, now_ns);
    }
}

static void peer_reached(struct udp_port *port, uint16_t peer, bool reached)
{
    uint64_t bit = 1ULL << peer;
    port->unroutable = reached ? port->unroutable & ~bit : port->unroutable | bit;
    bool up = port->unroutable != port->known;
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

/* 0, or errno: what the kernel says of this datagram. What an ICMP message has left at the socket stops no datagram:
 * EAGAIN while more of them come than can be taken. */
static int call_send(struct udp_port *port, struct send_call *call, uint64_t now_ns)
{
    int error = 0;
    for (int try = 0, alone = 0; try < TRIES && alone < 2; try++) {
        if (sendmsg(port->socket, &call->message, MSG_DONTWAIT) >= 0)
            return 0;
        error = errno;
        if (error == EAGAIN || error == ENOBUFS || error == EINVAL || error == EIO)
            return error;
        alone = udp_errors_take(port, now_ns)
                    ? 0
                    : alone + 1; /* twice the same, with no message that explains it */
        if (alone == 0)
            error = EAGAIN;
    }
    return error;
}

static void run_left(struct udp_port *port, const uint16_t *places, uint16_t count, uint64_t from_ns)
{
    uint64_t until_ns = port->config.clock != NULL ? tsc_now_ns(port->config.clock) : from_ns;
    for (uint16_t index = 0; index < count; index++) {
        struct udp_packet *packet = packet_at(port, places[index]);
        uint64_t left_ns = from_ns + (until_ns - from_ns) * (index + 1u) / count;
        struct tx_report report = {.cookie = packet->timed ? TX_COOKIE_NONE : packet->cookie,
                                   .sent_ns = left_ns,
                                   .stamp_kind = STAMP_HARDWARE,
                                   .status = TX_SENT,
                                   .released = 1};
        count_add(&port->counters.tx_packets, 1);
        count_add(&port->counters.tx_bytes, lane_item(&port->lane, places[index])->bytes);
        packet_done(port, packet, &report);
        if (packet->timed)
            udp_departed(port, packet->cookie, from_ns, until_ns);
    }
    uint16_t peer = packet_at(port, places[0])->peer;
    port->queues[peer].full_ns = 0;
    if (port->unroutable != 0)
        peer_reached(port, peer, true);
}

/* A queue of this host towards that peer was full. For a while its packets wait, as for a device; then the queue's loss
 * is the path's. */
static void run_waits(struct udp_port *port, const uint16_t *places, uint16_t count, uint64_t now_ns)
{
    struct udp_queue *queue = &port->queues[packet_at(port, places[0])->peer];
    count_add(&port->counters.tx_full, 1);
    queue->retry_ns = later_ns(now_ns, RETRY_NS);
    if (queue->full_ns == 0)
        queue->full_ns = now_ns;
    for (uint16_t index = 0; index < count && elapsed_ns(now_ns, queue->full_ns) > QUEUE_NS; index++)
        packet_lost(port, packet_at(port, places[index]), now_ns);
}

enum run_result {
    RUN_DONE = 0,
    RUN_PEER_WAITS, /* all of this peer do */
    RUN_ALL_WAIT    /* the socket has no room */
};

static enum run_result run_send(struct udp_port *port, const uint16_t *places, uint16_t count,
                                uint64_t now_ns)
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
        return RUN_DONE;
    }
    if (error == ENOBUFS) {
        run_waits(port, places, count, now_ns);
        return RUN_PEER_WAITS;
    }
    if (error == EAGAIN) {
        count_add(&port->counters.tx_full, 1);
        return RUN_ALL_WAIT;
    }
    bool of_run = error == EINVAL || error == EMSGSIZE || error == EIO; /* of its size or its cuts, maybe */
    if (count == 1 || !of_run) {
        for (uint16_t index = 0; index < count; index++)
            refuse(port, packet_at(port, places[index]), error, now_ns);
        return RUN_DONE;
    }
    if (error == EIO) { /* this interface cannot sum what it would cut */
        port->segments = false;
        udp_say(port, UDP_WORD_PLAIN, NULL, error);
    }
    enum run_result result = RUN_DONE; /* one by one, each with its own answer */
    for (uint16_t index = 0; index < count && result == RUN_DONE; index++)
        result = run_send(port, places + index, 1, now_ns);
    return result;
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

static void runs_collect(struct udp_port *port, struct runs *runs, uint32_t due, uint64_t now_ns)
{
    runs_begin(runs);
    for (uint32_t index = 0; index < due; index++) {
        const struct udp_packet *packet = packet_at(port, index);
        if (packet->done || port->queues[packet->peer].retry_ns > now_ns)
            continue;
        bool known = address_equal(&packet->to, &port->peers[packet->peer]);
        runs_add(runs, &(struct run_packet){.peer = packet->peer,
                                            .place = (uint16_t)index,
                                            .class = packet->traffic_class,
                                            .bytes = (uint32_t)packet->head_bytes + packet->body_bytes,
                                            .alone = packet->timed || !known});
    }
}

/* The socket took nothing: it is asked again soon, and after a second what is due is refused, as by a device. */
static void all_wait(struct udp_port *port, uint32_t due, uint64_t now_ns)
{
    port->retry_ns = later_ns(now_ns, RETRY_NS);
    if (port->stuck_ns == 0)
        port->stuck_ns = now_ns;
    if (elapsed_ns(now_ns, port->stuck_ns) < STUCK_NS)
        return;
    for (uint32_t index = 0; index < due; index++)
        if (!packet_at(port, index)->done)
            packet_refused(port, packet_at(port, index), &port->counters.tx_drop_stuck, now_ns);
    port->stuck_ns = 0;
}

uint16_t udp_flush(void *self, uint64_t now_ns)
{
    static __thread struct runs runs;
    struct udp_port *port = self;
    uint32_t due = now_ns < port->retry_ns ? 0 : lane_due(&port->lane, now_ns, RUN_WAITING_MAX);
    if (due == 0)
        return 0;
    uint16_t places[RUN_PACKETS_MAX], count;
    enum run_result result = RUN_DONE;
    runs_collect(port, &runs, due, now_ns);
    while (result != RUN_ALL_WAIT &&
           (count = runs_next(&runs, places, port->segments ? RUN_PACKETS_MAX : 1)) > 0) {
        if (port->queues[packet_at(port, places[0])->peer].retry_ns > now_ns) /* a run before had to wait */
            continue;
        result = run_send(port, places, count, now_ns);
        if (result == RUN_DONE)
            port->stuck_ns = 0;
    }
    if (result == RUN_ALL_WAIT)
        all_wait(port, due, now_ns);
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
