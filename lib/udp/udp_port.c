/* Opening, looking after and telling of a port on a socket. */
#include "udp/udp_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "base/units.h"
#include "udp/socket.h"

#define ALIGN 64

/* While the caller keeps what came, further messages need buffers of their own. */
static uint32_t buffer_count(const struct udp_port_config *config)
{
    return config->keeps ? UDP_BUFFERS : UDP_MESSAGES;
}

uint64_t udp_port_bytes(const struct udp_port_config *config)
{
    uint64_t bodies = ((uint64_t)LANE_PLACES * config->mtu + ALIGN - 1) / ALIGN * ALIGN;
    return bodies + (uint64_t)buffer_count(config) * UDP_BUFFER_BYTES;
}

static void name_port(struct udp_port *port)
{
    char text[ADDRESS_TEXT_BYTES];
    address_format(&port->config.address, text);
    char *bracket = strrchr(text, ']');
    int before = bracket == NULL ? (int)strlen(text) : (int)(bracket - text);
    bool scoped = port->config.interface[0] != '\0';
    snprintf(port->name, sizeof(port->name), "%.*s%s%s%s", before, text, scoped ? "%" : "",
             port->config.interface, text + before);
}

bool udp_port_check(const struct udp_port_config *config, struct err *err)
{
    struct udp_port port = {.config = *config};
    name_port(&port);
    port.config.address.udp_port = 0;
    bool good = socket_open(&port, err);
    if (good)
        close(port.socket);
    return good;
}

bool udp_port_open(struct udp_port *port, const struct udp_port_config *config, void *memory, struct err *err)
{
    memset(port, 0, sizeof(*port));
    port->config = *config;
    port->clock.ours = config->clock;
    name_port(port);
    if (!socket_open(port, err))
        return false;
    uint8_t *at = memory;
    port->bodies = at;
    at += udp_port_bytes(config) - (uint64_t)buffer_count(config) * UDP_BUFFER_BYTES;
    port->buffer_count = buffer_count(config);
    for (uint32_t index = 0; index < port->buffer_count; index++) {
        port->buffers[index].data = at + (uint64_t)index * UDP_BUFFER_BYTES;
        port->free[port->free_count++] = &port->buffers[index];
    }
    lane_init(&port->lane, 0);
    if (config->gathers)
        port->lane.catch_up = LANE_PLACES;
    return true;
}

static bool add_peer(void *self, uint16_t peer, const struct net_address *address, struct err *err)
{
    struct udp_port *port = self;
    CHECK(peer < NODE_PEERS_MAX);
    (void)err;
    port->peers[peer] = *address;
    port->known |= 1ULL << peer;
    port->peer_count = MAX(port->peer_count, (uint16_t)(peer + 1));
    return true;
}

static void take_bodies(void *self, const void *memory, uint64_t bytes)
{
    (void)self; /* the kernel reads what this process does */
    (void)memory;
    (void)bytes;
}

static bool start(void *self, uint64_t now_ns)
{
    struct udp_port *port = self;
    if (port->config.clock != NULL)
        kernel_clock_look(&port->clock);
    port->service_ns = later_ns(now_ns, UDP_SERVICE_NS / 4); /* the clock is known then */
    __atomic_store_n(&port->link_up, true, __ATOMIC_RELAXED);
    return true;
}

static uint64_t next_ns(const void *self)
{
    return lane_next_ns(&((const struct udp_port *)self)->lane);
}

static uint32_t waiting(const void *self)
{
    return lane_count(&((const struct udp_port *)self)->lane);
}

static bool service(void *self, bool exact, uint64_t now_ns)
{
    struct udp_port *port = self;
    if (port->merges && port->merging == exact)
        socket_merge(port, !exact);
    if (now_ns < port->service_ns)
        return false;
    port->service_ns = later_ns(now_ns, UDP_SERVICE_NS);
    if (port->config.clock != NULL)
        kernel_clock_look(&port->clock);
    udp_errors_take(port, now_ns);
    udp_drops_look(port);
    return true;
}

static int descriptor(const void *self)
{
    return ((const struct udp_port *)self)->socket;
}

static void report(const void *self, struct report *report)
{
    const struct udp_port *port = self;
    report_text(report, "device", "the kernel's UDP");
    report_text(report, "bound_to", port->name);
    report_text(report, "link", __atomic_load_n(&port->link_up, __ATOMIC_RELAXED) ? "up" : "down");
    report_u64(report, "ip_bytes_max", port->config.mtu);
    report_bool(report, "segments", port->segments);
    report_bool(report, "merges", port->merges);
    report_text(report, "departures", port->departures ? "kernel" : "software");
    report_text(report, "arrivals", port->arrivals ? "kernel" : "software");
    report_u64(report, "receive_buffer_bytes", port->receive_bytes);
    report_u64(report, "device_clock_jumps", port->clock.clock.jumps);
    port_counters_report(&port->counters, report);
    lane_report(&port->lane, report);
}

static void close_port(void *self)
{
    struct udp_port *port = self;
    if (port->socket >= 0)
        close(port->socket);
    port->socket = -1;
}

static void words_of_buffer(const struct udp_port *port, enum udp_word word, char *text, size_t room)
{
    const char *what = word == UDP_WORD_LOST ? "lost packets (rx_missed)" : "is less than 20 ms of the rate";
    unsigned long long wanted = socket_buffer_bytes(port);
    char advice[80] = "this appliance had no CPU for so long";
    if (port->receive_bytes < wanted)
        snprintf(advice, sizeof(advice), "sysctl -w net.core.rmem_max=%llu, and start again", wanted);
    snprintf(text, room, "%s: the socket's buffer of %u KiB %s: %s", port->name, port->receive_bytes >> 10,
             what, advice);
}

static void word_text(const struct udp_port *port, enum udp_word word, char *text, size_t room)
{
    char of[ADDRESS_TEXT_BYTES];
    address_format(&port->word_of[word], of);
    switch (word) {
    case UDP_WORD_FILTERED:
        snprintf(text, room, "%s: a filter of this host refuses packets to %s (%s): nft list ruleset",
                 port->name, of, strerror(port->word_error[word]));
        break;
    case UDP_WORD_UNREACHABLE:
        snprintf(text, room, "%s: %s is said to take no packets (%s): does the appliance there run?",
                 port->name, of, strerror(port->word_error[word]));
        break;
    case UDP_WORD_SMALL:
    case UDP_WORD_LOST:
        words_of_buffer(port, word, text, room);
        break;
    case UDP_WORD_PLAIN:
        if (port->word_error[word] == EIO)
            snprintf(text, room,
                     "%s: the interface sums no datagrams that are cut from one piece: each leaves by "
                     "itself, which takes "
                     "more CPU",
                     port->name);
        else
            snprintf(
                text, room,
                "%s: this kernel, or a filter of system calls, has no%s%s%s: it works, and takes more CPU",
                port->name, port->segments ? "" : " UDP_SEGMENT", port->merges ? "" : " UDP_GRO",
                port->arrivals ? "" : " SO_TIMESTAMPING");
        break;
    case UDP_WORD_COUNT:
        break;
    }
}

static bool word(void *self, char *text, size_t room, uint64_t now_ns)
{
    struct udp_port *port = self;
    for (unsigned index = 0; index < UDP_WORD_COUNT; index++) {
        if (!__atomic_load_n(&port->words[index], __ATOMIC_ACQUIRE))
            continue;
        bool say = gaps_say(&port->said[index], now_ns);
        if (say)
            word_text(port, index, text, room);
        __atomic_store_n(&port->words[index], false, __ATOMIC_RELEASE);
        if (say)
            return true;
    }
    return false;
}

struct datagram_port udp_port_datagrams(struct udp_port *port)
{
    static const struct datagram_calls calls = {
        .add_peer = add_peer,
        .take_bodies = take_bodies,
        .start = start,
        .receive = udp_receive,
        .receive_done = udp_receive_done,
        .receive_keep = udp_receive_keep,
        .release = udp_release,
        .send_room = udp_send_room,
        .send = udp_send,
        .flush = udp_flush,
        .reports = udp_reports,
        .next_ns = next_ns,
        .waiting = waiting,
        .service = service,
        .descriptor = descriptor,
        .word = word,
        .report = report,
        .close = close_port,
    };
    return (struct datagram_port){.calls = &calls,
                                  .self = port,
                                  .name = port->name,
                                  .counters = &port->counters,
                                  .link_up = &port->link_up,
                                  .burst = PORT_BURST_MAX};
}
