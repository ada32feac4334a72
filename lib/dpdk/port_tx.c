/* Sending: checks every frame's length before the device sees it, builds frames from datagrams, and lets them
 * go at their time through the lane. One place owns what a device did not take: port_flush leaves it at the
 * head of the lane. */
#include "dpdk/port.h"

#include <rte_ethdev.h>

#include "base/units.h"

static bool frame_sendable(struct port *port, const struct rte_mbuf *mbuf)
{
    if (mbuf->pkt_len > port->config.frame_bytes_max)
        count_add(&port->counters.tx_drop_too_long, 1);
    else if (mbuf->pkt_len < ETHERNET_HEADER_BYTES)
        count_add(&port->counters.tx_drop_too_short, 1);
    else
        return true;
    return false;
}

/* Sends a run of good frames; returns how many the device took. */
static uint16_t send_run(struct port *port, struct rte_mbuf **mbufs, uint16_t count)
{
    uint64_t bytes = 0;
    uint32_t lengths[PORT_BURST];
    for (uint16_t index = 0; index < count; index++)
        lengths[index] = mbufs[index]->pkt_len;
    uint16_t sent = rte_eth_tx_burst(port->id, 0, mbufs, count);
    for (uint16_t index = 0; index < sent; index++)
        bytes += lengths[index];
    count_add(&port->counters.tx_packets, sent);
    count_add(&port->counters.tx_bytes, bytes);
    return sent;
}

static uint16_t drop_link_down(struct port *port, struct rte_mbuf **mbufs, uint16_t count)
{
    count_add(&port->counters.tx_drop_link_down, count);
    rte_pktmbuf_free_bulk(mbufs, count);
    return count;
}

uint16_t port_tx_burst(struct port *port, struct rte_mbuf **mbufs, uint16_t count)
{
    if (!port->link_up)
        return drop_link_down(port, mbufs, count);
    uint16_t done = 0;
    while (done < count) {
        uint16_t run = 0;
        while (done + run < count && run < PORT_BURST && frame_sendable(port, mbufs[done + run]))
            run++;
        if (run > 0) {
            uint16_t sent = send_run(port, mbufs + done, run);
            done += sent;
            if (sent < run) {
                count_add(&port->counters.tx_full, 1);
                return done;
            }
        }
        if (run < PORT_BURST && done < count)
            rte_pktmbuf_free(mbufs[done++]); /* the one that ended the run: counted already */
    }
    return done;
}

/* ---- peers ---- */

static bool address_on_link(const struct port_config *config, const struct net_address *address)
{
    uint8_t bits = config->prefix_length;
    if (address->family != config->address.family)
        return false;
    uint8_t mask = (uint8_t)(0xff00 >> (bits % 8));
    return memcmp(address->ip, config->address.ip, bits / 8) == 0 &&
           (bits % 8 == 0 || ((address->ip[bits / 8] ^ config->address.ip[bits / 8]) & mask) == 0);
}

bool port_add_peer(struct port *port, uint16_t peer, const struct net_address *address, struct err *err)
{
    CHECK(peer < NODE_PEERS_MAX);
    char text[ADDRESS_TEXT_BYTES];
    address_format(address, text);
    const struct net_address *next = address;
    if (!port->config.static_mac && !address_on_link(&port->config, address)) {
        next = &port->config.gateway;
        if (next->family != address->family)
            return err_set(err, "%s is not on the link of port %u, and no gateway is given", text,
                           port->config.index);
    }
    struct port_peer *entry = &port->peers[peer];
    *entry = (struct port_peer){.address = *address, .neighbour = neighbour_add(&port->neighbours, next)};
    if (entry->neighbour == NEIGHBOUR_NONE)
        return err_set(err, "%s: too many neighbours on port %u", text, port->config.index);
    if (port->config.static_mac)
        neighbour_fix(&port->neighbours, entry->neighbour, port->config.gateway_mac);
    port->peer_count = MAX(port->peer_count, (uint16_t)(peer + 1));
    return true;
}

/* The peer's prebuilt header, made again when neighbours changed; NULL: its MAC is not known. */
static const struct frame_header *peer_header(struct port *port, const struct tx_packet *packet,
                                              struct frame_header *other)
{
    CHECK(packet->peer < port->peer_count);
    struct port_peer *peer = &port->peers[packet->peer];
    const struct port_config *config = &port->config;
    if (peer->version != port->neighbours.version) {
        const uint8_t *mac = neighbour_mac(&port->neighbours, peer->neighbour);
        peer->version = port->neighbours.version;
        peer->resolved = mac != NULL;
        if (mac != NULL)
            frame_header_init(&peer->header, port->mac, mac, config->vlan, &config->address, &peer->address);
    }
    if (!peer->resolved)
        return NULL;
    if (__builtin_expect(address_equal(&packet->to, &peer->address), 1))
        return &peer->header;
    frame_header_init(other, port->mac, neighbour_mac(&port->neighbours, peer->neighbour), config->vlan,
                      &config->address, &packet->to);
    return other;
}

/* ---- frames from datagrams ---- */

static void report_add(struct port *port, const struct tx_report *report)
{
    if (report->cookie == TX_COOKIE_NONE)
        return;
    CHECK(port->report_tail - port->report_head < PORT_REPORTS);
    port->reports[port->report_tail++ % PORT_REPORTS] = *report;
}

static void refuse(struct port *port, uint64_t cookie, uint64_t *reason, uint64_t now_ns)
{
    count_add(reason, 1);
    struct tx_report report = {.cookie = cookie, .sent_ns = now_ns, .status = TX_REFUSED, .released = 1};
    report_add(port, &report);
}

static bool wants_chain(const struct port *port, const struct tx_packet *packet)
{
    return port->chains && packet->cookie < TX_COOKIE_TIMED && packet->body_bytes >= CHAIN_BYTES_MIN;
}

/* The record of the packet's body: that of the packet before, when it is the same body. CHAIN_NONE: it is
 * to be copied. */
static uint32_t chain_record(struct port *port, const struct tx_packet *packet, uint32_t last)
{
    if (last != CHAIN_NONE) {
        const struct chain_body *before = &port->chain.bodies[last];
        if (before->body == packet->body && before->body_bytes == packet->body_bytes)
            return last;
    }
    rte_iova_t address;
    if (!reach_body(&port->reach, packet->body, packet->body_bytes, &address))
        return CHAIN_NONE;
    return chain_open(&port->chain, packet->body, packet->body_bytes, address, packet->cookie);
}

/* The packet's body becomes the frame's second part. False: it has to be copied. *record: of the last body of this
 * burst that was chained. */
static bool chain_body(struct port *port, uint32_t *record, struct rte_mbuf *mbuf,
                       const struct tx_packet *packet)
{
    if (!wants_chain(port, packet) || port->bodies.count == 0)
        return false;
    uint32_t found = chain_record(port, packet, *record);
    if (found == CHAIN_NONE)
        return false;
    *record = found;
    mbuf->next = stock_take(&port->bodies);
    chain_attach(&port->chain, found, mbuf->next);
    mbuf->nb_segs = 2;
    mbuf->pkt_len += packet->body_bytes;
    count_add(&port->counters.tx_chained, 1);
    return true;
}

/* What a data packet of one symbol has is copied by its size, which takes half the time of a copy of any size. */
static void head_copy(uint8_t *out, const struct tx_packet *packet)
{
    size_t known = WIRE_DATA_BYTES + WIRE_TAG_BYTES;
    if (packet->head_bytes == known)
        memcpy(out, packet->head, known);
    else
        memcpy(out, packet->head, packet->head_bytes);
}

/* The device finishes the UDP checksum that frame_header_write began. */
static void checksum_ask(struct rte_mbuf *mbuf, const struct frame_header *header)
{
    bool six = header->family == ADDRESS_IPV6;
    mbuf->l2_len = header->ip_offset;
    mbuf->l3_len = six ? IPV6_BYTES : IPV4_BYTES;
    mbuf->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM | (six ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4);
}

static void send_one(struct port *port, const struct tx_packet *packet, uint32_t *record, uint64_t now_ns)
{
    struct frame_header other;
    const struct frame_header *header = peer_header(port, packet, &other);
    uint64_t *reason = NULL;
    if (header == NULL)
        reason = &port->counters.tx_drop_unresolved;
    else if ((uint32_t)header->length + packet->head_bytes + packet->body_bytes >
             port->config.frame_bytes_max)
        reason = &port->counters.tx_drop_too_long;
    if (reason != NULL) {
        refuse(port, packet->cookie, reason, now_ns);
        return;
    }
    struct rte_mbuf *mbuf = stock_take(&port->heads);
    uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *);
    struct frame_datagram datagram = {.head = packet->head,
                                      .body = packet->body,
                                      .head_bytes = packet->head_bytes,
                                      .body_bytes = packet->body_bytes,
                                      .body_sum = packet->body_sum};
    size_t at = frame_header_write(frame, header, packet->traffic_class, &datagram, !port->checksums);
    if (port->checksums)
        checksum_ask(mbuf, header);
    head_copy(frame + at, packet);
    at += packet->head_bytes;
    mbuf->data_len = (uint16_t)at;
    mbuf->pkt_len = (uint32_t)at;
    bool chained = chain_body(port, record, mbuf, packet);
    if (!chained && packet->body_bytes > 0) {
        memcpy(frame + at, packet->body, packet->body_bytes);
        mbuf->data_len = (uint16_t)(at + packet->body_bytes);
        mbuf->pkt_len = mbuf->data_len;
    }
    struct lane_item item = {.packet = mbuf,
                             .cookie = packet->cookie,
                             .asked_ns = packet->depart_ns,
                             .bytes = mbuf->pkt_len,
                             .chained = chained};
    lane_push(&port->lane, &item);
}

/* Buffers for one burst, or as many as the pool has. */
static void port_stock(struct port *port)
{
    stock_fill(&port->heads, port->pool, PORT_BURST);
    if (port->chains)
        stock_fill(&port->bodies, port->pool, PORT_BURST);
}

/* Each packet in the lane, each chained body and each report not yet fetched may need a place for a
 * report. */
uint16_t port_send_room(const struct port *port)
{
    uint32_t owed =
        port->report_tail - port->report_head + lane_count(&port->lane) + chain_in_use(&port->chain);
    uint32_t reports = owed + PORT_BURST < PORT_REPORTS ? (PORT_REPORTS - owed) / 2 : 0;
    return (uint16_t)MIN(lane_room(&port->lane), reports);
}

void port_send(struct port *port, const struct tx_packet *packets, uint16_t count, uint64_t now_ns)
{
    CHECK(count <= port_send_room(port));
    for (uint16_t done = 0; done < count;) {
        uint16_t chunk = MIN((uint16_t)(count - done), (uint16_t)PORT_BURST);
        uint32_t record = CHAIN_NONE;
        port_stock(port);
        for (uint16_t index = 0; index < chunk; index++) {
            if (port->heads.count > 0)
                send_one(port, &packets[done + index], &record, now_ns);
            else
                refuse(port, packets[done + index].cookie, &port->counters.tx_drop_no_mbuf, now_ns);
        }
        done += chunk;
    }
    port_stock(port); /* for the next burst: its lines come in the meantime */
}

/* ---- departures ---- */

/* The first `count` frames of the lane, and the call that sent or refused them. */
struct lane_call {
    uint16_t count;
    uint8_t status; /* enum tx_status */
    uint64_t from_ns, until_ns;
};

/* When frame `index` left, and returns who says so. Frames of one call are spread evenly over it. */
static uint8_t left_at(const struct port *port, const struct lane_call *call, uint16_t index,
                       uint64_t *left_ns)
{
    *left_ns = call->from_ns;
    if (call->until_ns > call->from_ns)
        *left_ns += muldiv64(call->until_ns - call->from_ns, index + 1u, call->count);
    if (port->lane.lead_ns > 0 && call->status == TX_SENT)
        *left_ns = MAX(lane_depart_ns(&port->lane, index), call->from_ns);
    bool known = port->lane.lead_ns > 0 || port->sends_at_once;
    return known && call->status == TX_SENT ? STAMP_HARDWARE : STAMP_SOFTWARE;
}

static void lane_left(struct port *port, const struct lane_call *call)
{
    uint64_t bytes = 0;
    uint16_t count = call->count;
    uint8_t status = call->status;
    bool timed = port->lane.lead_ns > 0 && status == TX_SENT;
    count_add(&port->counters.tx_timed, timed ? count : 0);
    for (uint16_t index = 0; index < count; index++) {
        const struct lane_item *item = lane_item(&port->lane, index);
        bytes += item->bytes;
        if (item->chained && status == TX_SENT)
            continue; /* told when its body is released */
        struct tx_report report = {.cookie = item->cookie, .status = status, .released = !item->chained};
        report.stamp_kind = left_at(port, call, index, &report.sent_ns);
        report_add(port, &report);
    }
    lane_pop(&port->lane, count, call->from_ns);
    if (status == TX_SENT) {
        count_add(&port->counters.tx_packets, count);
        count_add(&port->counters.tx_bytes, bytes);
    }
}

/* All that waits in the lane is refused. */
static void lane_refuse(struct port *port, uint64_t *reason, uint64_t now_ns)
{
    uint32_t count = lane_count(&port->lane);
    for (uint32_t index = 0; index < count; index++)
        rte_pktmbuf_free(lane_item(&port->lane, index)->packet);
    count_add(reason, count);
    lane_left(port, &(struct lane_call){(uint16_t)count, TX_REFUSED, now_ns, now_ns});
}

/* Some drivers take nothing for ever (tap with a frame beyond its MTU): what waits too long is refused. */
static void flush_stuck(struct port *port, uint64_t now_ns)
{
    if (port->stuck_since_ns == 0)
        port->stuck_since_ns = now_ns;
    else if (elapsed_ns(now_ns, port->stuck_since_ns) >= PORT_STUCK_NS) {
        lane_refuse(port, &port->counters.tx_drop_stuck, now_ns);
        port->stuck_since_ns = 0;
    }
}

/* The head of the lane; returns how many the device took. Lengths were checked when the frames were built. */
static uint16_t flush_burst(struct port *port, struct rte_mbuf **burst, uint16_t count, uint64_t now_ns)
{
    for (uint16_t index = 0; port->lane.lead_ns > 0 && index < count; index++)
        stamps_put(&port->stamps, burst[index], lane_depart_ns(&port->lane, index), now_ns);
    uint16_t ready = port->checksums ? rte_eth_tx_prepare(port->id, 0, burst, count) : count;
    uint16_t sent = rte_eth_tx_burst(port->id, 0, burst, ready);
    count_add(&port->counters.tx_full, sent < count);
    return sent;
}

static void collect_released(struct port *port, uint64_t now_ns)
{
    uint64_t cookie;
    uint16_t frames;
    while (chain_released(&port->chain, &cookie, &frames)) {
        struct tx_report report = {
            .cookie = cookie, .sent_ns = now_ns, .status = TX_RELEASED, .released = frames};
        report_add(port, &report);
    }
}

uint16_t port_flush(struct port *port, uint64_t now_ns)
{
    collect_released(port, now_ns);
    uint32_t waiting = lane_count(&port->lane);
    if (waiting == 0)
        return 0;
    if (!port->link_up) {
        lane_refuse(port, &port->counters.tx_drop_link_down, now_ns);
        return (uint16_t)waiting;
    }
    struct rte_mbuf *burst[PORT_BURST];
    uint16_t left = 0;
    for (uint16_t due = PORT_BURST, sent = PORT_BURST; due == PORT_BURST && sent == due;) {
        due = (uint16_t)lane_due(&port->lane, now_ns, PORT_BURST);
        if (due == 0)
            break;
        for (uint16_t index = 0; index < due; index++)
            burst[index] = lane_item(&port->lane, index)->packet;
        uint64_t from_ns = port->sends_at_once ? tsc_now_ns(port->config.clock) : now_ns;
        sent = flush_burst(port, burst, due, now_ns);
        uint64_t until_ns = port->sends_at_once ? tsc_now_ns(port->config.clock) : now_ns;
        lane_left(port, &(struct lane_call){sent, TX_SENT, from_ns, until_ns});
        left += sent;
        if (sent == 0)
            flush_stuck(port, now_ns);
        else
            port->stuck_since_ns = 0;
    }
    return left;
}

uint16_t port_reports(struct port *port, struct tx_report *reports, uint16_t room)
{
    uint16_t count = 0;
    while (count < room && port->report_head != port->report_tail)
        reports[count++] = port->reports[port->report_head++ % PORT_REPORTS];
    return count;
}
