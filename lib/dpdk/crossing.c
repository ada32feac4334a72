#include "dpdk/crossing.h"

#include "base/count.h"
#include "base/prefetch.h"
#include "base/units.h"

#define WRITTEN_BYTES (offsetof(struct tx_packet, head) + WIRE_DATA_BYTES + WIRE_TAG_BYTES)

void crossing_init(struct crossing *crossing)
{
    spsc_init(&crossing->received, CROSSING_RECEIVED);
    spsc_init(&crossing->sending, CROSSING_SENDING);
    spsc_init(&crossing->reported, CROSSING_REPORTED);
    crossing->announced_ns = TIME_NEVER;
    crossing->freed = 0;
}

void crossing_set_waiters(struct crossing *crossing, struct waiter *node, struct waiter *port)
{
    crossing->node_waiter = node;
    crossing->port_waiter = port;
}

static void wake(struct waiter *waiter)
{
    if (waiter != NULL)
        waiter_wake(waiter);
}

/* ---- the node's thread ---- */

/* What came in lies in the caches of the port's worker: all lines of a burst at once, not one after the
 * other. */
static void ask_to_read(const struct rx_packet *packets, uint16_t count)
{
    for (uint16_t index = 0; index < count; index++)
        for (uint32_t offset = 0; offset < packets[index].length; offset += RTE_CACHE_LINE_SIZE)
            __builtin_prefetch(packets[index].data + offset);
}

/* So do places that were used before; of each the lines that a data packet fills. */
static void ask_to_write(const struct tx_packet *packets, uint16_t count)
{
    for (uint16_t index = 0; index < count; index++)
        for (uint32_t offset = 0; offset < WRITTEN_BYTES; offset += RTE_CACHE_LINE_SIZE)
            prefetch_write((const uint8_t *)&packets[index] + offset);
}

struct rx_packet *crossing_received(struct crossing *crossing, uint16_t *count, uint64_t now_ns)
{
    *count = (uint16_t)spsc_count(&crossing->received, CROSSING_BURST);
    struct rx_packet *packets = &crossing->received_packets[spsc_front(&crossing->received)];
    for (uint16_t index = 0; index < *count; index++)
        if (packets[index].rx_ns > now_ns) /* stamped while the node's turn began */
            packets[index].rx_ns = now_ns;
    ask_to_read(packets, *count);
    return packets;
}

void crossing_received_done(struct crossing *crossing, uint16_t count)
{
    spsc_pop(&crossing->received, count);
}

struct tx_packet *crossing_sending(struct crossing *crossing, uint16_t *room)
{
    *room = (uint16_t)spsc_room(&crossing->sending, CROSSING_BURST);
    struct tx_packet *packets = &crossing->sending_packets[spsc_back(&crossing->sending)];
    ask_to_write(packets, *room);
    return packets;
}

void crossing_send(struct crossing *crossing, uint16_t count)
{
    uint32_t first = spsc_back(&crossing->sending);
    for (uint32_t place = first; place < first + count; place++) {
        struct tx_packet *packet = &crossing->sending_packets[place];
        if (packet->cookie != TX_COOKIE_NONE || packet->body_bytes == 0)
            continue;
        CHECK(packet->body_bytes <= sizeof(crossing->bodies[place]));
        memcpy(crossing->bodies[place], packet->body, packet->body_bytes);
        packet->body = crossing->bodies[place];
    }
    spsc_push(&crossing->sending, count);
    if (count > 0)
        wake(crossing->port_waiter);
}

const struct tx_report *crossing_reports(struct crossing *crossing, uint16_t *count)
{
    *count = (uint16_t)spsc_count(&crossing->reported, CROSSING_BURST);
    return &crossing->reports[spsc_front(&crossing->reported)];
}

void crossing_reports_done(struct crossing *crossing, uint16_t count)
{
    spsc_pop(&crossing->reported, count);
}

/* ---- the port's worker ---- */

static void free_returned(struct crossing *crossing, const struct datagram_port *port)
{
    uint32_t returned = spsc_returned(&crossing->received);
    while (crossing->freed != returned) {
        uint32_t place = crossing->freed % CROSSING_RECEIVED;
        uint32_t run = MIN(returned - crossing->freed, CROSSING_RECEIVED - place);
        port->calls->release(port->self, &crossing->held[place], (uint16_t)run);
        crossing->freed += run;
    }
}

static bool receive(struct crossing *crossing, const struct datagram_port *port,
                    const struct tsc_clock *clock)
{
    uint16_t frames, room, total = 0;
    do {
        uint32_t burst = port->calls->waiting(port->self) > 0 ? PORT_ARMED_BURST : CROSSING_BURST;
        room = (uint16_t)spsc_room(&crossing->received, burst);
        free_returned(crossing,
                      port); /* after it: each place that is free has no buffer behind it any more */
        crossing->blocked = room == 0;
        if (room == 0) {
            count_add(&crossing->node_behind, 1);
            break;
        }
        uint32_t place = spsc_back(&crossing->received);
        CHECK(crossing->received.tail + room - crossing->freed <= CROSSING_RECEIVED);
        uint16_t count = port->calls->receive(port->self, &crossing->received_packets[place], room, &frames,
                                              tsc_now_ns(clock));
        CHECK(port->calls->receive_keep(port->self, &crossing->held[place]) == count);
        spsc_push(&crossing->received, count);
        total += frames;
        if (burst == PORT_ARMED_BURST)
            port->calls->flush(port->self, tsc_now_ns(clock));
    } while (frames == room && total < PORT_RECEIVE_MAX);
    return total > 0;
}

static bool report(struct crossing *crossing, const struct datagram_port *port)
{
    uint16_t room, count, total = 0;
    do {
        room = (uint16_t)spsc_room(&crossing->reported, CROSSING_BURST);
        count = port->calls->reports(port->self, &crossing->reports[spsc_back(&crossing->reported)], room);
        spsc_push(&crossing->reported, count);
        total += count;
    } while (count > 0);
    return total > 0;
}

/* A burst of what the node handed over. */
static uint16_t send_burst(struct crossing *crossing, const struct datagram_port *port,
                           const struct tsc_clock *clock)
{
    uint32_t room = MIN(port->calls->send_room(port->self), (uint32_t)CROSSING_BURST);
    uint16_t count = (uint16_t)spsc_count(&crossing->sending, room);
    if (count == 0)
        return 0;
    port->calls->send(port->self, &crossing->sending_packets[spsc_front(&crossing->sending)], count,
                      tsc_now_ns(clock));
    spsc_pop(&crossing->sending, count);
    port->calls->flush(port->self, tsc_now_ns(clock));
    return count;
}

static bool transmit(struct crossing *crossing, const struct datagram_port *port,
                     const struct tsc_clock *clock)
{
    bool worked = port->calls->flush(port->self, tsc_now_ns(clock)) > 0;
    worked |= report(crossing, port);
    uint16_t count = CROSSING_BURST;
    for (int burst = 0; burst < CROSSING_SEND_BURSTS && count == CROSSING_BURST; burst++) {
        count = send_burst(crossing, port, clock);
        worked |= count > 0;
    }
    worked |= report(crossing, port);
    return worked;
}

bool crossing_turn(struct crossing *crossing, const struct datagram_port *port, const struct tsc_clock *clock)
{
    bool worked = receive(crossing, port, clock);
    worked |= transmit(crossing, port, clock);
    if (worked) /* something came, was reported, or has left room */
        wake(crossing->node_waiter);
    /* Where nobody sleeps nothing gathers, be there a train or not. */
    bool exact = crossing->port_waiter != NULL && !crossing->blocked && crossing_gather_ns(crossing) == 0;
    port->calls->service(port->self, exact, tsc_now_ns(clock));
    return worked;
}

uint64_t crossing_next_ns(const struct crossing *crossing, const struct datagram_port *port)
{
    return MIN(port->calls->next_ns(port->self), __atomic_load_n(&crossing->announced_ns, __ATOMIC_RELAXED));
}

bool crossing_sent_all(const struct crossing *crossing, const struct datagram_port *port)
{
    return spsc_waiting(&crossing->sending) == 0 && port->calls->waiting(port->self) == 0;
}

void crossing_close(struct crossing *crossing, const struct datagram_port *port)
{
    /* Twice: a run ends where the array does. */
    crossing_received_done(crossing, (uint16_t)spsc_count(&crossing->received, CROSSING_RECEIVED));
    crossing_received_done(crossing, (uint16_t)spsc_count(&crossing->received, CROSSING_RECEIVED));
    free_returned(crossing, port);
}
