/* Receiving: what stands in the socket, merged or not, as views of datagrams. */
#include "udp/udp_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/count.h"
#include "base/units.h"
#include "udp/socket.h"

#define CONTROL_BYTES 128
#define TRIES         4 /* an error of some earlier datagram is not this call's */
#define DROPS_LATE_NS 2000000ULL
#define EMPTY_NS                                                                                             \
    20000 /* so long a socket that was empty is not asked again by who waits at its descriptor anyway */

/* What recvmmsg fills. */
struct receive_call {
    struct mmsghdr headers[UDP_MESSAGES];
    struct iovec parts[UDP_MESSAGES];
    union socket_address from[UDP_MESSAGES];
    _Alignas(struct cmsghdr) uint8_t control[UDP_MESSAGES][CONTROL_BYTES];
};

static uint16_t call_prepare(struct udp_port *port, struct receive_call *call)
{
    uint16_t count = (uint16_t)MIN(port->free_count, (uint32_t)UDP_MESSAGES);
    for (uint16_t index = 0; index < count; index++) {
        call->parts[index] = (struct iovec){port->free[port->free_count - 1 - index]->data, UDP_BUFFER_BYTES};
        call->headers[index].msg_hdr = (struct msghdr){.msg_name = &call->from[index],
                                                       .msg_namelen = sizeof(call->from[index]),
                                                       .msg_iov = &call->parts[index],
                                                       .msg_iovlen = 1,
                                                       .msg_control = call->control[index],
                                                       .msg_controllen = CONTROL_BYTES};
    }
    return count;
}

/* What the kernel says beside a message. */
static void read_control(const struct udp_port *port, struct msghdr *header, struct udp_message *message,
                         uint64_t read_ns)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part != NULL; part = CMSG_NXTHDR(header, part)) {
        const uint8_t *data = CMSG_DATA(part);
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPING) {
            struct timespec time;
            memcpy(&time, data, sizeof(time));
            uint64_t ns = (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
            uint64_t came_ns = kernel_clock_ns(&port->clock, ns, read_ns);
            if (came_ns != 0) {
                message->rx_ns = came_ns;
                message->stamp_kind = STAMP_HARDWARE;
            }
        } else if (part->cmsg_level == SOL_UDP && part->cmsg_type == UDP_GRO) {
            int bytes;
            memcpy(&bytes, data, sizeof(bytes));
            message->piece_bytes = (uint32_t)bytes;
        } else if ((part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_TOS) ||
                   (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_TCLASS)) {
            message->ecn = data[0] & IPTOS_ECN_MASK;
        }
    }
}

static void message_take(struct udp_port *port, struct receive_call *call, uint16_t index, uint64_t read_ns)
{
    struct mmsghdr *header = &call->headers[index];
    struct udp_message *message = &port->backlog.messages[index];
    struct udp_buffer *buffer = port->free[--port->free_count];
    buffer->references = 1;
    *message = (struct udp_message){.buffer = buffer,
                                    .bytes = header->msg_len,
                                    .from = socket_address_read(&call->from[index]),
                                    .rx_ns = read_ns,
                                    .stamp_kind = STAMP_SOFTWARE};
    read_control(port, &header->msg_hdr, message, read_ns);
    if (message->piece_bytes == 0 || message->piece_bytes > message->bytes)
        message->piece_bytes = message->bytes;
    uint32_t pieces = message->bytes == 0 ? 1 : (message->bytes - 1) / message->piece_bytes + 1;
    port->pieces_16ths += pieces - port->pieces_16ths / 16;
    count_add(&port->counters.rx_merged, pieces > 1 ? pieces : 0);
}

void udp_drops_look(struct udp_port *port)
{
    uint64_t drops = socket_drops(port), lost = (uint32_t)(drops - port->drops);
    if (lost == 0)
        return;
    port->drops = drops;
    count_add(&port->counters.rx_missed, lost * MAX(port->pieces_16ths / 16, 1u));
    udp_say(port, UDP_WORD_LOST, NULL, 0);
}

/* -1: nothing was there. */
static int receive_some(struct udp_port *port, struct receive_call *call, uint16_t room, uint64_t now_ns)
{
    for (int try = 0; try < TRIES; try++) {
        int count = recvmmsg(port->socket, call->headers, room, MSG_DONTWAIT, NULL);
        if (count >= 0)
            return count;
        bool empty = errno == EAGAIN || errno == EWOULDBLOCK;
        if (!empty || port->stamp_head != port->stamp_tail)
            udp_errors_take(port, now_ns);
        if (empty)
            break;
    }
    return -1;
}

static void backlog_fill(struct udp_port *port, uint64_t now_ns)
{
    static __thread struct receive_call call;
    struct udp_backlog *backlog = &port->backlog;
    if (port->config.gathers && elapsed_ns(now_ns, backlog->empty_ns) < EMPTY_NS)
        return;
    uint16_t room = call_prepare(port, &call);
    if (room == 0) /* all that was taken is with the caller: the kernel keeps what comes */
        return;
    int count = receive_some(port, &call, room, now_ns);
    backlog->waited = backlog->count == UDP_MESSAGES;
    backlog->at = backlog->count = 0;
    backlog->wait_ns = backlog->empty_ns == 0 ? 0 : elapsed_ns(now_ns, backlog->empty_ns);
    if (count < (int)room)
        backlog->empty_ns = now_ns;
    if (count <= 0)
        return;
    if (port->arrivals)
        kernel_clock_watch(&port->clock);
    uint64_t read_ns = port->config.clock != NULL ? tsc_now_ns(port->config.clock) : now_ns;
    for (int index = 0; index < count; index++)
        message_take(port, &call, (uint16_t)index, MAX(read_ns, now_ns));
    backlog->count = (uint16_t)count;
    if (backlog->wait_ns > DROPS_LATE_NS)
        udp_drops_look(port);
}

static void buffer_leave(struct udp_port *port, struct udp_buffer *buffer)
{
    if (--buffer->references == 0)
        port->free[port->free_count++] = buffer;
}

/* The next datagram of the message; false: it counts as dropped. */
static bool piece_view(struct udp_port *port, struct udp_message *message, struct rx_packet *packet)
{
    struct port_counters *counters = &port->counters;
    uint32_t bytes = MIN(message->piece_bytes, message->bytes - message->at);
    uint32_t headers = address_overhead_bytes(message->from.family);
    const uint8_t *data = message->buffer->data + message->at;
    message->at += bytes;
    count_add(&counters->rx_packets, 1);
    count_add(&counters->rx_bytes, bytes + headers);
    if (bytes == 0 || bytes + headers > port->config.mtu || message->from.family == ADDRESS_NONE) {
        count_add(bytes == 0 ? &counters->rx_drop_too_short : &counters->rx_drop_too_long, 1);
        return false;
    }
    bool stamped = message->stamp_kind == STAMP_HARDWARE;
    *packet = (struct rx_packet){.data = data,
                                 .length = bytes,
                                 .port = port->config.index,
                                 .ecn = message->ecn,
                                 .stamp_kind = message->stamp_kind,
                                 .noise_ns = stamped ? STAMP_KERNEL_NOISE_NS : 0,
                                 .waited = port->backlog.waited && !stamped,
                                 .rx_ns = message->rx_ns,
                                 .wait_ns = stamped ? 0 : port->backlog.wait_ns,
                                 .from = message->from};
    count_add(&counters->rx_datagrams, 1);
    count_add(&counters->rx_stamped, stamped);
    return true;
}

uint16_t udp_receive(void *self, struct rx_packet *packets, uint16_t room, uint16_t *frames, uint64_t now_ns)
{
    struct udp_port *port = self;
    struct udp_backlog *backlog = &port->backlog;
    CHECK(port->held_count == 0);
    if (backlog->at == backlog->count)
        backlog_fill(port, now_ns);
    uint16_t given = 0, seen = 0;
    room = MIN(room, (uint16_t)PORT_RECEIVE_MAX);
    while (seen < room && backlog->at < backlog->count) {
        struct udp_message *message = &backlog->messages[backlog->at];
        seen++;
        if (piece_view(port, message, &packets[given])) {
            message->buffer->references++;
            port->held[given++] = message->buffer;
        }
        if (message->at >= message->bytes) {
            buffer_leave(port, message->buffer);
            backlog->at++;
        }
    }
    port->held_count = given;
    *frames = seen;
    return given;
}

void udp_receive_done(void *self)
{
    struct udp_port *port = self;
    for (uint16_t index = 0; index < port->held_count; index++)
        buffer_leave(port, port->held[index]);
    port->held_count = 0;
}

uint16_t udp_receive_keep(void *self, void **buffers)
{
    struct udp_port *port = self;
    uint16_t count = port->held_count;
    memcpy(buffers, port->held, count * sizeof(port->held[0]));
    port->held_count = 0;
    return count;
}

void udp_release(void *self, void **buffers, uint16_t count)
{
    for (uint16_t index = 0; index < count; index++)
        buffer_leave(self, buffers[index]);
}
