#include "app/bench/guests.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/bench/site.h"
#include "wire/data.h"
#include "wire/ethernet.h"

#include "base/units.h"

#define MBUFS      4095
#define BURST      8
#define BODY_BYTES 16
#define NO_JOB     UINT32_MAX

struct guest {
    struct node *node;
    struct frame_header header;
    uint64_t next_ns; /* the node's */
    uint64_t data_ns;
    uint32_t session; /* what the node sends under; 0: it has none yet */
    uint32_t number;  /* of the next data packet */
};

static struct guests_config config;
static const struct tsc_clock *clock_of;
static struct rte_mempool *pool;
static struct guest guests[NODE_PEERS_MAX];

static void node_config_make(struct node_config *node, uint16_t number)
{
    node_config_defaults(node);
    snprintf(node->name, sizeof(node->name), "n%u", number);
    node->seed = node->incarnation = number + 1u;
    node->port_count = node->peer_count = 1;
    node->ports[0] =
        (struct node_port_config){.address = site_address(number), .mtu = MTU_DEFAULT, .rate_bps = NS_PER_S};
    node->peers[0] = (struct node_peer_config){.address = site_address(config.relay), .window_packets = 4096};
    snprintf(node->peers[0].name, sizeof(node->peers[0].name), "n%u", config.relay);
    node->buffer_bytes = 16ULL << 20;
    node->blocks_max = 64;
    node->bodies_shared = true;
}

static bool guest_start(struct guest *guest, uint16_t number, struct err *err)
{
    static const uint8_t mac[MAC_BYTES] = {2, 0, 0, 0, 0, 1};
    static struct node_config node;
    node_config_make(&node, number);
    if (!node_config_check(&node, err))
        return false;
    size_t bytes = (node_bytes(&node) + 63) / 64 * 64;
    void *memory = aligned_alloc(64, bytes);
    if (memory == NULL)
        return err_set(err, "no memory for a guest: %zu bytes", bytes);
    memset(memory, 0, bytes);
    struct net_address from = site_address(number), to = site_address(config.relay);
    frame_header_init(&guest->header, mac, mac, 0, &from, &to);
    guest->node = node_create(&node, memory, bytes, tsc_now_ns(clock_of));
    return true;
}

bool guests_start(const struct guests_config *wanted, const struct tsc_clock *clock, struct err *err)
{
    config = *wanted;
    clock_of = clock;
    pool = rte_pktmbuf_pool_create("guests", MBUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, (int)rte_socket_id());
    if (pool == NULL)
        return err_set(err, "no memory for the guests' frames");
    for (uint16_t index = 0; index < config.count; index++)
        if (!guest_start(&guests[index], (uint16_t)(config.first + index), err))
            return false;
    return true;
}

static void frame_send(const struct guest *guest, const uint8_t *head, uint32_t head_bytes,
                       const uint8_t *body, uint32_t body_bytes)
{
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
    if (mbuf == NULL)
        return; /* as if lost */
    struct frame_datagram datagram = {
        .head = head, .body = body, .head_bytes = head_bytes, .body_bytes = body_bytes};
    uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *);
    size_t at = frame_header_write(frame, &guest->header, 0, &datagram, true);
    memcpy(frame + at, head, head_bytes);
    memcpy(frame + at + head_bytes, body, body_bytes);
    mbuf->data_len = (uint16_t)(at + head_bytes + body_bytes);
    mbuf->pkt_len = mbuf->data_len;
    if (rte_ring_sp_enqueue(config.into, mbuf) != 0)
        rte_pktmbuf_free(mbuf);
}

void guests_take(struct rte_mbuf *frame, uint16_t number)
{
    struct guest *guest = &guests[number - config.first];
    struct frame_view view;
    struct wire_header header;
    CHECK(number >= config.first && number < config.first + config.count);
    bool good = rte_pktmbuf_linearize(frame) == 0 &&
                frame_parse(rte_pktmbuf_mtod(frame, uint8_t *), frame->pkt_len, true, &view) == FRAME_OK &&
                wire_header_decode(view.payload, view.payload_bytes, &header) == WIRE_OK;
    CHECK(good);
    uint64_t now_ns = tsc_now_ns(clock_of);
    struct rx_packet packet = {
        .data = view.payload, .length = view.payload_bytes, .rx_ns = now_ns, .from = view.source};
    if (header.type != WIRE_ACK) { /* of packets that the node does not know of */
        node_rx(guest->node, &packet, 1, now_ns);
        guest->next_ns = 0;
    }
    rte_pktmbuf_free(frame);
}

static void send_data(struct guest *guest, uint64_t now_ns)
{
    static const uint8_t body[BODY_BYTES];
    uint8_t head[WIRE_DATA_HEADER_MAX];
    struct wire_header header = {.version = WIRE_VERSION,
                                 .type = WIRE_DATA,
                                 .flags = WIRE_FLAG_TAIL,
                                 .session = guest->session,
                                 .packet_number = guest->number++,
                                 .stamp = wire_stamp(now_ns)};
    struct wire_data data = {.floor_delta = 1, .job = NO_JOB, .content = wire_content(0, 1, 0, 0)};
    frame_send(guest, head, (uint32_t)wire_data_encode(head, &header, &data, NULL), body, sizeof(body));
    guest->data_ns = now_ns + config.interval_ns;
}

/* The node makes its sessions by itself; its first hello under one shows that it has it. */
static void note_session(struct guest *guest, const struct tx_packet *packet)
{
    struct wire_header header;
    CHECK(wire_header_decode(packet->head, packet->head_bytes, &header) == WIRE_OK);
    if (header.type == WIRE_HELLO)
        guest->session = header.session;
}

static void send_control(struct guest *guest, uint64_t now_ns)
{
    struct tx_packet packets[BURST];
    node_tick(guest->node, now_ns);
    uint16_t count = node_tx(guest->node, 0, packets, BURST, now_ns);
    for (uint16_t index = 0; index < count; index++) {
        note_session(guest, &packets[index]);
        frame_send(guest, packets[index].head, packets[index].head_bytes, packets[index].body,
                   packets[index].body_bytes);
    }
    guest->next_ns = node_next_ns(guest->node);
}

void guests_turn(void)
{
    uint64_t now_ns = config.count == 0 ? 0 : tsc_now_ns(clock_of);
    for (uint16_t index = 0; index < config.count; index++) {
        struct guest *guest = &guests[index];
        if (now_ns >= guest->next_ns)
            send_control(guest, now_ns);
        if (config.interval_ns != 0 && guest->session != 0 && now_ns >= guest->data_ns)
            send_data(guest, now_ns);
    }
}

bool guests_up(void)
{
    struct node_edge_view edge;
    for (uint16_t index = 0; index < config.count; index++)
        if (!node_edge_view(guests[index].node, 0, &edge) || !edge.up)
            return false;
    return true;
}
