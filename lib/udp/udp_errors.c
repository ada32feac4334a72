/* The socket's queue of errors (ip(7), IP_RECVERR; timestamping.rst of the kernel). */
#include "udp/udp_internal.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/count.h"
#include "base/units.h"
#include "udp/socket.h"

#define ERRORS_MAX     4096             /* of a call: some ms; whoever sends more waits for the next turn */
#define STAMP_WAIT_NS  (20 * NS_PER_MS) /* a queue below the interface may hold a packet so long */
#define STAMP_EARLY_NS 1000000          /* a time before the call's begin by more belongs to another packet */
#define CONTROL_BYTES  512

void udp_report(struct udp_port *port, const struct tx_report *report)
{
    if (report->cookie == TX_COOKIE_NONE)
        return;
    CHECK(port->report_tail - port->report_head < UDP_REPORTS);
    port->reports[port->report_tail++ % UDP_REPORTS] = *report;
}

void udp_say(struct udp_port *port, enum udp_word word, const struct net_address *of, int error)
{
    if (__atomic_load_n(&port->words[word], __ATOMIC_ACQUIRE)) /* nobody has taken the last one */
        return;
    if (of != NULL)
        port->word_of[word] = *of;
    port->word_error[word] = error;
    __atomic_store_n(&port->words[word], true, __ATOMIC_RELEASE);
}

static void report_left(struct udp_port *port, const struct udp_stamp *stamp, uint64_t left_ns)
{
    udp_report(port, &(struct tx_report){.cookie = stamp->cookie,
                                         .sent_ns = left_ns,
                                         .stamp_kind = STAMP_HARDWARE,
                                         .status = TX_SENT,
                                         .released = 1});
}

/* The oldest ones are told by their call. */
static void settle(struct udp_port *port, uint32_t until)
{
    for (; port->stamp_head != until; port->stamp_head++) {
        const struct udp_stamp *stamp = &port->stamps[port->stamp_head % UDP_STAMPS];
        report_left(port, stamp, stamp->until_ns);
    }
}

void udp_departed(struct udp_port *port, uint64_t cookie, uint64_t from_ns, uint64_t until_ns)
{
    struct udp_stamp stamp = {.cookie = cookie, .from_ns = from_ns, .until_ns = until_ns};
    if (!port->departures) {
        report_left(port, &stamp, until_ns);
        return;
    }
    if (port->stamp_tail - port->stamp_head == UDP_STAMPS)
        settle(port, port->stamp_head + 1);
    stamp.id = port->stamp_id++;
    port->stamps[port->stamp_tail++ % UDP_STAMPS] = stamp;
}

/* The kernel's count of asked departures and ours run together, or its times are of no use. */
static void take_stamp(struct udp_port *port, uint32_t id, uint64_t left_ns)
{
    uint32_t waiting = port->stamp_tail - port->stamp_head;
    uint32_t behind = waiting > 0 ? id - port->stamps[port->stamp_head % UDP_STAMPS].id : waiting;
    if (behind >= waiting) /* told by its call already */
        return;
    settle(port, port->stamp_head + behind);
    const struct udp_stamp *stamp = &port->stamps[port->stamp_head++ % UDP_STAMPS];
    if (left_ns != 0 && left_ns + STAMP_EARLY_NS < stamp->from_ns) {
        port->departures = false;
        left_ns = 0;
    }
    count_add(&port->counters.tx_timed, left_ns != 0);
    report_left(port, stamp, left_ns != 0 ? MAX(left_ns, stamp->from_ns) : stamp->until_ns);
}

static void take_icmp(struct udp_port *port, const struct sock_extended_err *error,
                      const struct net_address *to)
{
    count_add(&port->counters.rx_unreachable, 1);
    if (error->ee_errno != EMSGSIZE) /* path MTUs are probed, and no message is believed */
        udp_say(port, UDP_WORD_UNREACHABLE, to, (int)error->ee_errno);
}

static void take_message(struct udp_port *port, struct msghdr *message, uint64_t now_ns)
{
    uint64_t left_ns = 0;
    const struct sock_extended_err *error = NULL;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPING) {
            const struct timespec *time = (const struct timespec *)CMSG_DATA(part);
            uint64_t realtime_ns = (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_nsec;
            left_ns = kernel_clock_ns(&port->clock, realtime_ns, now_ns);
        } else if ((part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_RECVERR) ||
                   (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_RECVERR)) {
            error = (const struct sock_extended_err *)CMSG_DATA(part);
        }
    }
    if (error == NULL)
        return;
    if (error->ee_origin == SO_EE_ORIGIN_TIMESTAMPING) {
        take_stamp(port, error->ee_data, left_ns);
        return;
    }
    struct net_address to = socket_address_read(message->msg_name);
    if (error->ee_origin == SO_EE_ORIGIN_ICMP || error->ee_origin == SO_EE_ORIGIN_ICMP6)
        take_icmp(port, error, &to);
}

bool udp_errors_take(struct udp_port *port, uint64_t now_ns)
{
    uint64_t unreachable = port->counters.rx_unreachable;
    for (int taken = 0; taken < ERRORS_MAX; taken++) {
        _Alignas(struct cmsghdr) uint8_t control[CONTROL_BYTES];
        union socket_address to = {.any.sa_family = AF_UNSPEC};
        uint8_t byte;
        struct iovec part = {&byte, 1};
        struct msghdr message = {.msg_name = &to,
                                 .msg_namelen = sizeof(to),
                                 .msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof(control)};
        if (recvmsg(port->socket, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
            break;
        take_message(port, &message, now_ns);
    }
    uint32_t late = port->stamp_head;
    while (late != port->stamp_tail &&
           elapsed_ns(now_ns, port->stamps[late % UDP_STAMPS].until_ns) > STAMP_WAIT_NS)
        late++;
    settle(port, late);
    return port->counters.rx_unreachable != unreachable;
}
