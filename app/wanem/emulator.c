#include "app/wanem/emulator.h"

#include <stdio.h>
#include <stdlib.h>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_pause.h>

#include "app/wanem/ecn.h"
#include "app/wanem/route.h"
#include "base/units.h"
#include "dpdk/responder.h"

#define LATE_GAP_NS 500000ULL /* gaps of this length leave more than a burst in a port */
#define LATE_TIMES  4         /* the backlog of a gap is worked off within so many times its length */
#define POOL_CACHE  256
/* What is due, and what came, waits so long at most for more (dpdk/idle.h). */
#define EMULATOR_GATHER_NS (200 * NS_PER_US)

/* ---- start and end ---- */

static struct port_config port_config_of(const struct emulator_config *config, uint16_t site)
{
    uint64_t rate_bps = config->scenario->nodes[site].uplink.rate_bps;
    return (struct port_config){
        .device = config->devices[site],
        .index = site,
        .frame_bytes_max = config->frame_bytes[site],
        .rate_bps = rate_bps == 0 ? 10000000000ULL : rate_bps,
        .promiscuous = true,
        .no_chains = true,
    };
}

uint32_t emulator_mbufs(const struct emulator_config *config)
{
    uint32_t count = config->packets;
    for (uint16_t site = 0; site < config->scenario->node_count; site++) {
        struct port_config port = port_config_of(config, site);
        count += port_mbufs(&port);
    }
    return count;
}

uint32_t emulator_buffer_bytes(const struct emulator_config *config)
{
    uint32_t bytes = 0;
    for (uint16_t site = 0; site < config->scenario->node_count; site++) {
        struct port_config port = port_config_of(config, site);
        bytes = MAX(bytes, port_buffer_bytes(&port));
    }
    return bytes;
}

static void packet_release(void *packet)
{
    rte_pktmbuf_free(packet);
}

/* ---- what the WAN says of a frame ---- */

static uint64_t *drop_counter(struct emulator_counters *counters, enum netem_verdict verdict,
                              enum wan_place place)
{
    switch (verdict) {
    case NETEM_LOST:
        return &counters->rx_drop_lost;
    case NETEM_QUEUE_DROP:
        return place == WAN_AT_UPLINK   ? &counters->rx_drop_uplink_queue
               : place == WAN_AT_SHARED ? &counters->rx_drop_shared_queue
                                        : &counters->rx_drop_link_queue;
    case NETEM_TOO_LONG:
        return &counters->rx_drop_too_long;
    case NETEM_DOWN:
        return &counters->rx_drop_link_down;
    case NETEM_POLICED:
        return &counters->rx_drop_policer;
    case NETEM_PASS:
        break;
    }
    CHECK(false);
}

/* Does to the frame what the WAN says, and counts it. False: the mbuf is the caller's again. */
static bool obey(struct emulator *emulator, uint16_t from, uint16_t to, struct rte_mbuf *mbuf,
                 const struct wan_verdict *verdict)
{
    struct emulator_counters *counters = &emulator->counters;
    if (verdict->verdict != NETEM_PASS) {
        (*drop_counter(counters, verdict->verdict, verdict->place))++;
        return false;
    }
    counters->rx_accepted++;
    uint8_t *ip = rte_pktmbuf_mtod_offset(mbuf, uint8_t *, ETHERNET_HEADER_BYTES);
    if (verdict->congested)
        ecn_write(ip, wan_mark(&emulator->wan, from, to, verdict, ecn_read(ip)));
    if (verdict->duplicated) {
        counters->duplicated++;
        rte_pktmbuf_refcnt_update(mbuf, 1);
    }
    if (verdict->corrupted) {
        counters->corrupted++;
        ip[verdict->corrupt_bit / 8] ^= (uint8_t)(1u << verdict->corrupt_bit % 8);
    }
    return true;
}

/* Of a frame whose pair crosses shared links. */
static void packet_settle(void *context, uint16_t from, uint16_t to, void *packet,
                          const struct wan_verdict *verdict)
{
    if (!obey(context, from, to, packet, verdict))
        rte_pktmbuf_free(packet);
}

/* ---- start and end ---- */

static bool open_ports(struct emulator *emulator, const struct emulator_config *config, struct err *err)
{
    bool looks = false;
    if (!waiter_open(&emulator->waiter, err))
        return false;
    for (uint16_t site = 0; site < config->scenario->node_count; site++) {
        struct port *port = &emulator->sites[site].port;
        struct port_config port_config = port_config_of(config, site);
        port_config.pool = emulator->pool;
        port_config.clock = &emulator->clock;
        const char *name = config->scenario->nodes[site].name;
        if (!port_open(port, &port_config, err))
            return err_context(err, "site %s", name);
        if (!port_start(port, tsc_now_ns(&emulator->clock)))
            return err_set(err, "site %s: device %s does not start", name, port->device.name);
        int descriptor = port_descriptor(port);
        if (descriptor >= 0)
            waiter_watch(&emulator->waiter, descriptor);
        looks |= descriptor < 0;
    }
    idle_init(&emulator->idle, config->idle, looks, tsc_now_ns(&emulator->clock));
    return true;
}

bool emulator_open(struct emulator *emulator, const struct emulator_config *config, struct err *err)
{
    uint32_t mbufs = emulator_mbufs(config);
    uint32_t room = RTE_PKTMBUF_HEADROOM + emulator_buffer_bytes(config);
    *emulator = (struct emulator){.scenario = config->scenario};
    tsc_clock_start(&emulator->clock);
    emulator->pool =
        rte_pktmbuf_pool_create("wan", mbufs, POOL_CACHE, 0, (uint16_t)room, (int)rte_socket_id());
    if (emulator->pool == NULL)
        return err_set(err, "no memory for %u packet buffers of %u bytes (%s)", mbufs, room,
                       rte_strerror(rte_errno));
    struct wan_owner owner = {emulator, packet_release, packet_settle};
    wan_create(&emulator->wan, config->scenario, config->packets, &owner);
    emulator->sites = calloc(config->scenario->node_count, sizeof(*emulator->sites));
    CHECK(emulator->sites != NULL);
    return open_ports(emulator, config, err);
}

void emulator_close(struct emulator *emulator)
{
    for (uint16_t site = 0; site < emulator->scenario->node_count; site++)
        port_close(&emulator->sites[site].port);
    waiter_close(&emulator->waiter);
    wan_destroy(&emulator->wan);
    free(emulator->sites);
}

/* ---- from sites ---- */

static void answer(struct emulator *emulator, struct emulator_site *site, const struct route *route,
                   const struct rte_mbuf *mbuf)
{
    struct rte_mbuf *reply = rte_pktmbuf_alloc(emulator->pool);
    size_t length = 0;
    if (reply != NULL) {
        struct responder responder = {.address = route->target};
        memcpy(responder.mac, site->port.mac, MAC_BYTES);
        length = responder_answer(&responder, rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->pkt_len,
                                  rte_pktmbuf_mtod(reply, uint8_t *), rte_pktmbuf_tailroom(reply))
                     .length;
    }
    if (length == 0) {
        emulator->counters.rx_drop_bad_question++;
        rte_pktmbuf_free(reply);
        return;
    }
    rte_pktmbuf_append(reply, (uint16_t)length);
    emulator->counters.rx_answered++;
    /* Questions are repeated: one whose answer finds the ring full is not worth holding. */
    if (port_tx_burst(&site->port, &reply, 1) == 0) {
        emulator->counters.out_port_full++;
        rte_pktmbuf_free(reply);
    }
}

/* False: the mbuf stays the caller's. */
static bool cross(struct emulator *emulator, uint16_t from, uint16_t to, struct rte_mbuf *mbuf,
                  uint64_t now_ns)
{
    uint32_t ip_bytes = mbuf->pkt_len - ETHERNET_HEADER_BYTES;
    struct wan_verdict verdict = wan_rx(&emulator->wan, from, to, mbuf, mbuf->pkt_len, ip_bytes, now_ns);
    return verdict.pending || obey(emulator, from, to, mbuf, &verdict);
}

static void receive_frame(struct emulator *emulator, uint16_t from, struct rte_mbuf *mbuf, uint64_t now_ns)
{
    struct emulator_counters *counters = &emulator->counters;
    struct emulator_site *site = &emulator->sites[from];
    const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
    struct route route = route_frame(frame, mbuf->pkt_len, from, emulator->wan.site_count);
    if (route.kind != ROUTE_TOO_SHORT && (frame[MAC_BYTES] & 1) == 0) {
        memcpy(site->mac, frame + MAC_BYTES, MAC_BYTES);
        site->mac_known = true;
    }
    switch (route.kind) {
    case ROUTE_SITE:
        if (cross(emulator, from, route.to, mbuf, now_ns))
            return;
        break;
    case ROUTE_ASKS:
        answer(emulator, site, &route, mbuf);
        break;
    case ROUTE_NOBODY:
        counters->rx_drop_no_such_site++;
        break;
    case ROUTE_ITSELF:
        counters->rx_drop_to_itself++;
        break;
    case ROUTE_OTHER:
        counters->rx_drop_other++;
        break;
    case ROUTE_TOO_SHORT:
        counters->rx_drop_too_short++;
        break;
    }
    rte_pktmbuf_free(mbuf);
}

/* When the frame came, if the port knows; else now. Never before the frame ahead of it. */
static uint64_t came_ns(struct emulator_site *site, const struct rte_mbuf *mbuf, uint64_t now_ns)
{
    uint8_t kind;
    site->came_ns = MAX(site->came_ns, stamps_get(&site->port.stamps, mbuf, now_ns, &kind));
    return site->came_ns;
}

/* When the emulator was not scheduled for a while, frames pile up in the ports. They came spread over that
 * time; where the port does not know when, they would all overflow the uplink's queue as if they came at once, a loss
 * that no real uplink has. So they wait in the port, as they would in the site, while that queue is half full. */
static bool receive(struct emulator *emulator, uint16_t from, uint64_t now_ns, uint64_t *until_ns)
{
    struct emulator_site *site = &emulator->sites[from];
    struct rte_mbuf *burst[PORT_BURST];
    if (wan_room(&emulator->wan) < PORT_BURST) {
        emulator->counters.rx_paused++;
        site->came_ns = now_ns;
        return false;
    }
    if (now_ns < emulator->late_until_ns && wan_uplink_crowded(&emulator->wan, from, site->came_ns)) {
        emulator->counters.rx_held++;
        site->came_ns = now_ns; /* frames held back count as coming when they are taken */
        return false;
    }
    uint16_t count = port_rx_burst(&site->port, burst, PORT_BURST);
    for (uint16_t index = 0; index < count; index++)
        receive_frame(emulator, from, burst[index], came_ns(site, burst[index], now_ns));
    if (count == PORT_BURST) /* more may wait, hardly younger: links must not run past that */
        *until_ns = MIN(*until_ns, site->came_ns);
    else
        site->came_ns = MAX(site->came_ns, now_ns);
    return count > 0;
}

/* ---- to sites ---- */

/* The router's work: the frame comes from the emulator's port and goes to the site's MAC. */
static void address_frames(const struct emulator_site *site, struct rte_mbuf **burst, uint16_t count)
{
    for (uint16_t index = 0; index < count; index++) {
        uint8_t *frame = rte_pktmbuf_mtod(burst[index], uint8_t *);
        memcpy(frame, site->mac, MAC_BYTES);
        memcpy(frame + MAC_BYTES, site->port.mac, MAC_BYTES);
    }
}

static bool hand_over(struct emulator *emulator, uint16_t to, uint64_t now_ns)
{
    struct emulator_site *site = &emulator->sites[to];
    void *packets[PORT_BURST];
    struct rte_mbuf *burst[PORT_BURST];
    uint16_t count = wan_due(&emulator->wan, to, packets, PORT_BURST, now_ns);
    if (count == 0)
        return false;
    for (uint16_t index = 0; index < count; index++)
        burst[index] = packets[index];
    uint16_t taken = count;
    if (site->mac_known) {
        address_frames(site, burst, count);
        taken = port_tx_burst(&site->port, burst, count);
        emulator->counters.out_handed_over += taken;
        emulator->counters.out_port_full += taken < count;
    } else {
        rte_pktmbuf_free_bulk(burst, count);
        emulator->counters.out_mac_unknown += count;
    }
    wan_sent(&emulator->wan, to, taken, now_ns);
    return taken > 0;
}

/* ---- the loop ---- */

static bool turn(struct emulator *emulator, uint64_t now_ns)
{
    bool worked = false;
    uint64_t until_ns = now_ns; /* up to which all frames have been read, and links run */
    emulator->counters.faults += wan_play_faults(&emulator->wan, now_ns);
    for (uint16_t site = 0; site < emulator->wan.site_count; site++) {
        port_service(&emulator->sites[site].port, now_ns);
        worked |= receive(emulator, site, now_ns, &until_ns);
    }
    emulator->counters.out_downlink_queue += wan_run(&emulator->wan, until_ns);
    for (uint16_t site = 0; site < emulator->wan.site_count; site++)
        worked |= hand_over(emulator, site, now_ns);
    return worked;
}

static void rest(struct emulator *emulator, bool worked, uint64_t begin_ns)
{
    struct idle_turn turn = {.worked = worked,
                             .begin_ns = begin_ns,
                             .now_ns = tsc_now_ns(&emulator->clock),
                             .next_ns = wan_next_ns(&emulator->wan),
                             .gather_ns = EMULATOR_GATHER_NS};
    enum idle_action action = idle_next(&emulator->idle, &turn);
    emulator->last_sleep_ns = idle_rests(action) ? emulator->idle.rest_ns : 0;
    if (action == IDLE_SPIN)
        rte_pause();
    idle_do(&emulator->idle, action, &emulator->waiter);
}

void emulator_print_sums(const struct emulator *emulator)
{
    const struct emulator_counters *counters = &emulator->counters;
    uint64_t queue_drops =
        counters->rx_drop_uplink_queue + counters->rx_drop_link_queue + counters->out_downlink_queue;
    printf("sluice-wanem: in %llu out %llu lost %llu queue_drops %llu on_the_way %u port_full %llu "
           "gap_us_max %llu\n",
           (unsigned long long)counters->rx_accepted, (unsigned long long)counters->out_handed_over,
           (unsigned long long)counters->rx_drop_lost, (unsigned long long)queue_drops,
           wan_count(&emulator->wan), (unsigned long long)counters->out_port_full,
           (unsigned long long)(emulator->gap_ns_max / NS_PER_US));
    fflush(stdout);
}

void emulator_run(struct emulator *emulator, const volatile sig_atomic_t *stop, uint64_t period_s)
{
    uint64_t now_ns = tsc_now_ns(&emulator->clock);
    uint64_t sync_ns = later_ns(now_ns, NS_PER_S);
    uint64_t print_ns = period_s == 0 ? TIME_NEVER : later_ns(now_ns, period_s * NS_PER_S);
    emulator->last_turn_ns = now_ns;
    waiter_exact_timers();
    while (!*stop) {
        now_ns = tsc_now_ns(&emulator->clock);
        uint64_t gap_ns = elapsed_ns(now_ns, emulator->last_turn_ns + emulator->last_sleep_ns);
        emulator->gap_ns_max = MAX(emulator->gap_ns_max, gap_ns);
        emulator->last_turn_ns = now_ns;
        if (gap_ns > LATE_GAP_NS)
            emulator->late_until_ns = MAX(emulator->late_until_ns, now_ns + LATE_TIMES * gap_ns);
        rest(emulator, turn(emulator, now_ns), now_ns);
        if (now_ns >= sync_ns) {
            tsc_clock_sync(&emulator->clock);
            sync_ns = later_ns(now_ns, NS_PER_S);
        }
        if (now_ns >= print_ns) {
            emulator_print_sums(emulator);
            print_ns = later_ns(print_ns, period_s * NS_PER_S);
        }
    }
}
