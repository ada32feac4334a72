/* Receiving: frames in one piece, then views of datagrams; what the link itself asks (ARP, ND, echo) is
 * answered on the way. */
#include "dpdk/port_link.h"

#include <rte_ethdev.h>

#include "base/prefetch.h"
#include "base/units.h"

#define PREFETCH_AHEAD 3 /* frames: their checksum reads all of them */

/* A frame of several parts in one piece: in its first part's buffer, or in another one where that has no room. NULL: it
 * was freed and counted. */
static struct rte_mbuf *frame_join(struct port *port, struct rte_mbuf *mbuf)
{
    if (mbuf->nb_segs == 1 || rte_pktmbuf_linearize(mbuf) == 0)
        return mbuf;
    struct rte_mbuf *whole = rte_pktmbuf_alloc(port->pool);
    uint8_t *room = whole != NULL ? (uint8_t *)rte_pktmbuf_append(whole, (uint16_t)mbuf->pkt_len) : NULL;
    if (room == NULL) {
        count_add(whole == NULL ? &port->counters.rx_drop_no_mbuf : &port->counters.rx_drop_segments, 1);
        rte_pktmbuf_free(whole);
        rte_pktmbuf_free(mbuf);
        return NULL;
    }
    for (const struct rte_mbuf *part = mbuf; part != NULL; room += part->data_len, part = part->next)
        memcpy(room, rte_pktmbuf_mtod(part, const uint8_t *), part->data_len);
    whole->ol_flags |= mbuf->ol_flags & (RTE_MBUF_F_RX_L4_CKSUM_MASK | port->stamps.arrived);
    rte_mbuf_dynfield_copy(whole, mbuf);
    rte_pktmbuf_free(mbuf);
    return whole;
}

/* In one piece, and not too long; NULL: it was freed and counted. */
static struct rte_mbuf *frame_usable(struct port *port, struct rte_mbuf *mbuf)
{
    if (mbuf->pkt_len > port->config.frame_bytes_max) {
        count_add(&port->counters.rx_drop_too_long, 1);
        rte_pktmbuf_free(mbuf);
        return NULL;
    }
    mbuf = frame_join(port, mbuf);
    if (mbuf != NULL)
        mbuf->port = port->config.index;
    return mbuf;
}

/* A frame without a noted time came during the burst: now. */
static void mark_arrivals(struct port *port, struct rte_mbuf **mbufs, uint16_t count)
{
    uint64_t times_ns[ARRIVALS_MAX], now_ticks = stamps_watch(&port->stamps, port->id);
    if (!arrivals_took(&port->arrivals, mbufs, count, times_ns)) {
        port->stamps.arrivals = port->stamps.kernel = false;
        return;
    }
    for (uint16_t index = 0; index < count; index++)
        stamps_mark(&port->stamps, mbufs[index], times_ns[index] != 0 ? times_ns[index] : now_ticks);
}

/* What the device has, their first lines asked for. */
static uint16_t take_burst(struct port *port, struct rte_mbuf **mbufs, uint16_t room)
{
    if (!port->started)
        return 0;
    room = MIN(room, (uint16_t)ARRIVALS_MAX);
    if (port->arrivals.ring != NULL)
        arrivals_note(&port->arrivals, room);
    uint16_t taken = rte_eth_rx_burst(port->id, 0, mbufs, room);
    if (taken > 0 && !port->link_up) /* sooner than the next look: its answer must not meet a dead link */
        port_link_refresh(port);
    for (uint16_t index = 0; index < taken; index++)
        prefetch_write(mbufs[index]);
    if (port->arrivals.ring != NULL && taken > 0)
        mark_arrivals(port, mbufs, taken);
    return taken;
}

static struct rte_mbuf *frame_take(struct port *port, struct rte_mbuf *mbuf)
{
    count_add(&port->counters.rx_packets, 1);
    count_add(&port->counters.rx_bytes, mbuf->pkt_len);
    return frame_usable(port, mbuf);
}

uint16_t port_rx_burst(struct port *port, struct rte_mbuf **mbufs, uint16_t room)
{
    uint16_t taken = take_burst(port, mbufs, room);
    uint16_t kept = 0;
    for (uint16_t index = 0; index < taken; index++) {
        struct rte_mbuf *usable = frame_take(port, mbufs[index]);
        if (usable != NULL)
            mbufs[kept++] = usable;
    }
    return kept;
}

static void answer_send(struct port *port, struct rte_mbuf *answer, size_t length)
{
    answer->data_len = (uint16_t)length;
    answer->pkt_len = (uint32_t)length;
    if (port_tx_burst(port, &answer, 1) == 1) {
        count_add(&port->counters.rx_answered, 1);
        return;
    }
    count_add(&port->counters.tx_drop_full, 1);
    rte_pktmbuf_free(answer);
}

static uint64_t *limit_counter(struct port_counters *counters, enum responder_kind kind)
{
    return kind == RESPONDER_ARP  ? &counters->rx_drop_arp_limit
           : kind == RESPONDER_ND ? &counters->rx_drop_nd_limit
                                  : &counters->rx_drop_echo_limit;
}

static void note_conflict(struct port *port, const uint8_t mac[MAC_BYTES])
{
    uint64_t number = 0;
    for (unsigned index = 0; index < MAC_BYTES; index++)
        number = number << 8 | mac[index];
    count_set(&port->holder, number);
    count_add(&port->counters.address_conflicts, 1);
}

/* A frame that is no datagram for us: the link's own protocols, or a drop counted at *reason. */
static void receive_other(struct port *port, const uint8_t *frame, size_t length, uint64_t *reason,
                          uint64_t now_ns)
{
    struct rte_mbuf *answer = rte_pktmbuf_alloc(port->pool);
    if (answer == NULL) {
        count_add(&port->counters.rx_drop_no_mbuf, 1);
        return;
    }
    struct responder_result result = responder_answer(
        &port->responder, frame, length, rte_pktmbuf_mtod(answer, uint8_t *), rte_pktmbuf_tailroom(answer));
    if (result.conflict)
        note_conflict(port, result.mac);
    if (result.learnt)
        neighbour_learn(&port->neighbours, &result.address, result.mac, !result.weak, now_ns);
    switch (result.kind) {
    case RESPONDER_IGNORED:
    case RESPONDER_KINDS:
        count_add(reason, 1);
        break;
    case RESPONDER_BAD:
        count_add(&port->counters.rx_drop_bad_control, 1);
        break;
    case RESPONDER_ARP:
    case RESPONDER_ND:
    case RESPONDER_ECHO:
        if (result.length == 0) {
            count_add(&port->counters.rx_neighbours, 1);
        } else if (!answer_budget_take(&port->answers, result.kind, now_ns)) {
            count_add(limit_counter(&port->counters, result.kind), 1);
        } else {
            answer_send(port, answer, result.length);
            return;
        }
        break;
    }
    rte_pktmbuf_free(answer);
}

/* From a socket of this machine, over a veth. */
static void note_unsummed(struct port *port, const struct net_address *from)
{
    if (__atomic_load_n(&port->unsummed, __ATOMIC_ACQUIRE)) /* nobody has said it yet */
        return;
    port->unsummed_from = *from;
    __atomic_store_n(&port->unsummed, true, __ATOMIC_RELEASE);
}

static void prefetch_frame(const struct rte_mbuf *mbuf)
{
    const uint8_t *data = rte_pktmbuf_mtod(mbuf, const uint8_t *);
    for (uint32_t offset = 0; offset < mbuf->data_len; offset += RTE_CACHE_LINE_SIZE)
        rte_prefetch0(data + offset);
}

static bool receive_frame(struct port *port, const struct rte_mbuf *mbuf, struct rx_packet *packet,
                          uint64_t now_ns)
{
    const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
    size_t length = mbuf->pkt_len;
    struct port_counters *counters = &port->counters;
    struct frame_view view;
    /* NONE: the sender's device was to compute it and never needed to (virtio); what stands there is no checksum. */
    uint64_t checked = mbuf->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
    bool verify = checked != RTE_MBUF_F_RX_L4_CKSUM_GOOD && checked != RTE_MBUF_F_RX_L4_CKSUM_NONE;
    switch (frame_parse(frame, length, verify, &view)) {
    case FRAME_OK:
        break;
    case FRAME_TOO_SHORT:
        count_add(&counters->rx_drop_too_short, 1);
        return false;
    case FRAME_NOT_IP:
        receive_other(port, frame, length, &counters->rx_drop_not_ip, now_ns);
        return false;
    case FRAME_BAD_IP:
        count_add(&counters->rx_drop_bad_ip, 1);
        return false;
    case FRAME_FRAGMENT:
        count_add(&counters->rx_drop_fragment, 1);
        return false;
    case FRAME_NOT_UDP:
        receive_other(port, frame, length, &counters->rx_drop_not_udp, now_ns);
        return false;
    case FRAME_BAD_UDP:
        count_add(&counters->rx_drop_bad_udp, 1);
        if (view.unsummed)
            note_unsummed(port, &view.source);
        return false;
    }
    if (view.vlan != port->config.vlan) {
        count_add(&counters->rx_drop_vlan, 1);
        return false;
    }
    if (!address_equal(&view.target, &port->config.address)) {
        count_add(&counters->rx_drop_not_ours, 1);
        return false;
    }
    uint8_t stamp_kind;
    uint64_t arrived_ns = stamps_get(&port->stamps, mbuf, now_ns, &stamp_kind);
    count_add(&counters->rx_stamped, stamp_kind == STAMP_HARDWARE);
    *packet = (struct rx_packet){
        .data = view.payload,
        .length = view.payload_bytes,
        .port = port->config.index,
        .data_sum = checked == RTE_MBUF_F_RX_L4_CKSUM_NONE ? 0 : view.payload_sum,
        .ecn = view.traffic_class & 3,
        .stamp_kind = stamp_kind,
        .noise_ns = stamp_kind == STAMP_HARDWARE && port->stamps.kernel ? STAMP_KERNEL_NOISE_NS : 0,
        .waited = port->backlog.waited && stamp_kind == STAMP_SOFTWARE,
        .rx_ns = arrived_ns,
        .wait_ns = stamp_kind == STAMP_SOFTWARE ? port->backlog.wait_ns : 0,
        .from = view.source,
    };
    count_add(&counters->rx_datagrams, 1);
    return true;
}

/* However few the caller takes at a time, frames come from the device in bursts: only so can their lines be asked for
 * before they are used. */
static void backlog_fill(struct port *port, uint64_t now_ns)
{
    struct backlog *backlog = &port->backlog;
    if (backlog->at < backlog->count)
        return;
    backlog->at = 0;
    backlog->waited = backlog->count == PORT_RECEIVE_MAX;
    backlog->count = take_burst(port, backlog->frames, PORT_RECEIVE_MAX);
    backlog->rx_ns = now_ns;
    backlog->wait_ns = backlog->empty_ns == 0 ? 0 : elapsed_ns(now_ns, backlog->empty_ns);
    if (backlog->count < PORT_RECEIVE_MAX)
        backlog->empty_ns = now_ns;
    if (missed_late(&port->missed, backlog->wait_ns, now_ns))
        count_set(&port->counters.rx_missed, missed_frames(&port->missed));
    for (uint16_t index = 0; index < MIN(backlog->count, (uint16_t)PREFETCH_AHEAD); index++)
        prefetch_frame(backlog->frames[index]);
}

uint16_t port_receive(struct port *port, struct rx_packet *packets, uint16_t room, uint16_t *frames,
                      uint64_t now_ns)
{
    CHECK(port->held_count == 0);
    struct backlog *backlog = &port->backlog;
    backlog_fill(port, now_ns);
    uint16_t count = MIN(room, (uint16_t)(backlog->count - backlog->at));
    uint16_t given = 0;
    for (uint16_t index = 0; index < count; index++) {
        struct rte_mbuf *taken = backlog->frames[backlog->at++];
        if (backlog->at + PREFETCH_AHEAD <= backlog->count)
            prefetch_frame(backlog->frames[backlog->at + PREFETCH_AHEAD - 1]);
        struct rte_mbuf *frame = frame_take(port, taken);
        if (frame == NULL)
            continue;
        if (receive_frame(port, frame, &packets[given], backlog->rx_ns))
            port->held[given++] = frame;
        else
            rte_pktmbuf_free(frame);
    }
    port->held_count = given;
    *frames = count;
    return given;
}

void port_receive_done(struct port *port)
{
    rte_pktmbuf_free_bulk(port->held, port->held_count);
    port->held_count = 0;
}

uint16_t port_receive_keep(struct port *port, struct rte_mbuf **mbufs)
{
    uint16_t count = port->held_count;
    memcpy(mbufs, port->held, count * sizeof(port->held[0]));
    port->held_count = 0;
    return count;
}
