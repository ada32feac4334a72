/* Opening, configuring, starting and looking after a device. The traps of DPDK 22.11's drivers that are dealt
 * with here are listed in README.md. */
#include "dpdk/port_link.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include <rte_bus_vdev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>

#include "base/units.h"
#include "dpdk/driver_log.h"
#include "dpdk/fanout.h"
#include "dpdk/machine.h"
#include "dpdk/memif_gate.h"
#include "dpdk/pool.h"
#include "dpdk/socket_file.h"

#define POOL_BASE     (2047 + 2 * STOCK_PLACES) /* bursts, lane, caches, answers */
#define FRAME_RESERVE 8
#define MEMIF_LOG     "pmd.net.memif"
#define VIRTIO_SPARE  4 /* places that its threshold must leave */

/* False: malformed; port_open says so. */
static bool config_device(const struct port_config *config, struct device *device)
{
    struct err err;
    return device_parse(device, config->device, config->frame_bytes_max, config->rate_bps, &err);
}

uint32_t port_mbufs(const struct port_config *config)
{
    struct device device;
    uint32_t queues = config_device(config, &device) ? device_mbufs(&device) : 0;
    return POOL_BASE + queues + config->extra_mbufs;
}

uint64_t port_eal_bytes(const struct port_config *config, bool hugepages)
{
    struct device device;
    bool for_device = !config_device(config, &device) || device_reach(device.kind) != DEVICE_READS_ALL;
    return pool_eal_bytes(port_mbufs(config), port_buffer_bytes(config), for_device, hugepages);
}

uint32_t port_buffer_bytes(const struct port_config *config)
{
    struct device device;
    return config_device(config, &device) ? device.buffer_bytes
                                          : device_buffer_bytes(config->frame_bytes_max);
}

static bool port_make_pool(struct port *port, struct err *err)
{
    if (port->config.pool != NULL) {
        port->pool = port->config.pool;
        return true;
    }
    char name[RTE_MEMPOOL_NAMESIZE];
    snprintf(name, sizeof(name), "port%u", port->id);
    uint32_t count = port_mbufs(&port->config);
    struct err reason;
    bool for_device = device_reach(port->device.kind) != DEVICE_READS_ALL;
    port->pool = pool_create(name, count, port->device.buffer_bytes, for_device, &reason);
    return port->pool != NULL || err_set(err, "device %s: %s", port->device.name, reason.text);
}

/* Where a device has no address of its own (net_ring), or the same in every process (net_vhost), one made of its name
 * and arguments, locally administered. */
static void port_read_mac(struct port *port)
{
    static const uint8_t zeros[MAC_BYTES];
    struct rte_ether_addr mac;
    if (rte_eth_macaddr_get(port->id, &mac) == 0)
        memcpy(port->mac, mac.addr_bytes, MAC_BYTES);
    if (memcmp(port->mac, zeros, MAC_BYTES) != 0 && port->device.kind != DEVICE_VHOST)
        return;
    uint32_t hash = 2166136261u;
    for (const char *c = port->device.name; *c != '\0'; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619u;
    for (const char *c = port->device.args; *c != '\0'; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619u;
    port->mac[0] = 0x02;
    memcpy(port->mac + 2, &hash, 4);
}

/* Headers are summed in software: a few additions to the sum of their template. The datagrams are what costs. */
static void port_offloads(struct port *port, const struct rte_eth_dev_info *info, struct rte_eth_conf *conf)
{
    static const char copied[] = "copied: the device takes no frames of several parts";
    uint64_t rx = device_checksums(port->device.kind) ? info->rx_offload_capa : 0;
    uint64_t tx = device_checksums(port->device.kind) ? info->tx_offload_capa : 0;
    port->hardware = info->device;
    port->takes_chains = device_chains(port->device.kind) && !port->config.no_chains &&
                         (info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;
    port->bodies_text = port->takes_chains ? "copied: none were told of" : copied;
    if (port->takes_chains)
        conf->txmode.offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    conf->txmode.offloads |= tx & RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
    conf->rxmode.offloads |= rx & (RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM);
    port->checksums = (conf->txmode.offloads & RTE_ETH_TX_OFFLOAD_UDP_CKSUM) != 0;
    /* What drivers reckon with besides: FCS and a second tag. */
    if (port->config.frame_bytes_max + FRAME_RESERVE > port->device.buffer_bytes)
        conf->rxmode.offloads |= info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
    /* Else, once the other end went and came back, the EAL watches this driver's socket beyond its close,
     * and panics; and the worker, which reads the link's state, would set up the new connection and wait
     * for that end's answers. */
    conf->intr_conf.lsc =
        port->device.kind == DEVICE_VIRTIO_USER && (*info->dev_flags & RTE_ETH_DEV_INTR_LSC) != 0;
    conf->intr_conf.rxq = port->device.kind == DEVICE_TAP; /* else it does not tell its descriptor */
    stamps_ask(&port->stamps, info, conf, port->config.clock);
    if (port->takes_chains && device_reach(port->device.kind) == DEVICE_READS_ALL)
        port_take_bodies(port, NULL, 0);
}

/* Some drivers refuse the MTU call though they carry such frames (memif, af_packet): then their limit is
 * their buffer size, and the port's own length check stands in. */
static bool port_configure_device(struct port *port, struct rte_eth_dev_info *info, struct err *err)
{
    struct rte_eth_conf conf = {0};
    uint32_t header_bytes = ETHERNET_HEADER_BYTES + (port->config.vlan != 0 ? 4 : 0);
    port_offloads(port, info, &conf);
    conf.rxmode.mtu = port->config.frame_bytes_max - header_bytes;
    bool asks_mtu = port->device.kind != DEVICE_MEMIF && port->device.kind != DEVICE_AF_PACKET;
    if (!asks_mtu)
        conf.rxmode.mtu = 0;
    int failed = rte_eth_dev_configure(port->id, 1, 1, &conf);
    if (failed != 0)
        return err_set(err, "device %s: cannot be configured for an MTU of %u (%s)", port->device.name,
                       port->config.frame_bytes_max - header_bytes, rte_strerror(-failed));
    uint16_t rx = port->device.rx_descriptors, tx = port->device.tx_descriptors;
    rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &rx, &tx);
    struct rte_eth_rxconf rx_conf = info->default_rxconf;
    struct rte_eth_txconf tx_conf = info->default_txconf;
    rx_conf.offloads = conf.rxmode.offloads;
    tx_conf.offloads = conf.txmode.offloads;
    if (port->device.kind == DEVICE_VIRTIO_USER) /* else what was sent is only freed when the queue is full */
        tx_conf.tx_free_thresh = (uint16_t)(tx - VIRTIO_SPARE);
    unsigned socket = rte_socket_id();
    failed = rte_eth_rx_queue_setup(port->id, 0, rx, socket, &rx_conf, port->pool);
    if (failed == 0)
        failed = rte_eth_tx_queue_setup(port->id, 0, tx, socket, &tx_conf);
    if (failed != 0)
        return err_set(err, "device %s: queue setup failed (%s)", port->device.name, rte_strerror(-failed));
    return true;
}

/* Solicitations come by multicast. Virtual functions may refuse: then the host must permit it. */
static void port_filters(struct port *port)
{
    if (port->config.promiscuous)
        rte_eth_promiscuous_enable(port->id);
    if (rte_eth_allmulticast_enable(port->id) != 0 && port->device.kind == DEVICE_NIC)
        rte_eth_promiscuous_enable(port->id);
}

static bool port_setup(struct port *port, struct err *err)
{
    struct rte_eth_dev_info info;
    int failed = rte_eth_dev_info_get(port->id, &info);
    if (failed != 0)
        return err_set(err, "device %s: no information (%s)", port->device.name, rte_strerror(-failed));
    uint32_t limit = device_frame_bytes_max(port->device.kind, info.max_rx_pktlen);
    if (port->config.frame_bytes_max > limit)
        return err_set(err, "device %s: carries frames up to %u bytes, %u needed for this MTU",
                       port->device.name, limit, port->config.frame_bytes_max);
    if (!port_make_pool(port, err) || !port_configure_device(port, &info, err))
        return false;
    char interface[IF_NAMESIZE];
    bool kernel = port->device.kind == DEVICE_AF_PACKET &&
                  device_argument(&port->device, "iface", interface, sizeof(interface));
    missed_open(&port->missed, kernel ? interface : NULL);
    arrivals_open(&port->arrivals, &port->device,
                  kernel && port->config.clock != NULL ? port->missed.socket : -1);
    if (port->arrivals.ring != NULL && !stamps_expect_kernel(&port->stamps))
        arrivals_close(&port->arrivals);
    port->sends_at_once = port->config.clock != NULL && device_sends_at_once(port->device.kind);
    port_read_mac(port);
    port_filters(port);
    lane_init(&port->lane, device_slack_ns(port->device.kind));
    port->heads = (struct stock){.data = true};
    port->bodies = (struct stock){.data = false};
    chain_init(&port->chain);
    port->responder = (struct responder){.vlan = port->config.vlan, .address = port->config.address};
    memcpy(port->responder.mac, port->mac, MAC_BYTES);
    port->neighbours.version = 1;
    return true;
}

static bool port_prepare(struct port *port, const struct port_config *config, struct err *err)
{
    memset(port, 0, sizeof(*port));
    port->config = *config;
    return device_parse(&port->device, config->device, config->frame_bytes_max, config->rate_bps, err);
}

/* Of a device that did not come up. True: it can be seen what the machine lacks, and err says it. */
static bool machine_explains(const struct device *device, struct err *err)
{
    struct machine machine = {.root = ""};
    char text[MACHINE_FINDINGS_MAX * MACHINE_TEXT_BYTES] = "";
    machine_look_device(&machine, device, 0);
    for (uint16_t index = 0; index < machine.count; index++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", index > 0 ? "; " : "",
                 machine.findings[index].text);
    if (machine.count > 0)
        err_set(err, "device %s: %s", device->name, text);
    return machine.count > 0;
}

/* Makes a virtual device. The drivers say why not on their log alone. */
static bool port_make_vdev(const struct device *device, const char *args, struct err *err)
{
    char interface[IF_NAMESIZE], path[DEVICE_ARGS_BYTES];
    if (device->listens != NULL && device_argument(device, device->listens, path, sizeof(path)))
        socket_file_clear(path);
    if (rte_vdev_init(device->name, args) == 0)
        return true;
    int error = rte_errno;
    if (device->kind == DEVICE_AF_PACKET && device_argument(device, "iface", interface, sizeof(interface)) &&
        fanout_is_taken(interface))
        return err_set(err, "device %s: " FANOUT_TAKEN, device->name);
    if (machine_explains(device, err))
        return false;
    return err_set(err, "device %s: cannot be made from \"%s\" (%s)%s", device->name, device->args,
                   rte_strerror(error),
                   device->kind == DEVICE_VIRTIO_USER ? "; is the vhost end listening on its socket?" : "");
}

static bool port_make_device(struct port *port, struct err *err)
{
    char args[DEVICE_ARGS_BYTES];
    if (!memif_gate_open(&port->gate, &port->device, args, sizeof(args), err))
        return false;
    if (port_make_vdev(&port->device, args, err) && memif_gate_listen(port->gate, err))
        return true;
    memif_gate_stop(port->gate);
    memif_gate_close(port->gate);
    return false;
}

bool port_open(struct port *port, const struct port_config *config, struct err *err)
{
    if (!port_prepare(port, config, err))
        return false;
    if (port->device.vdev && !port_make_device(port, err))
        return false;
    if (rte_eth_dev_get_port_by_name(port->device.name, &port->id) != 0)
        return !machine_explains(&port->device, err) &&
               err_set(err, "device %s: not found; what DPDK printed above may say why", port->device.name);
    return port_setup(port, err);
}

bool port_open_rings(struct port *port, const struct port_config *config, struct rte_ring *rx,
                     struct rte_ring *tx, struct err *err)
{
    if (!port_prepare(port, config, err))
        return false;
    struct rte_ring *rx_rings[] = {rx}, *tx_rings[] = {tx};
    int id = rte_eth_from_rings(port->device.name, rx_rings, 1, tx_rings, 1, rte_socket_id());
    if (id < 0)
        return err_set(err, "device %s: cannot be made from rings (%s)", port->device.name,
                       rte_strerror(rte_errno));
    port->id = (uint16_t)id;
    return port_setup(port, err);
}

void port_take_bodies(struct port *port, const void *memory, uint64_t bytes)
{
    if (!port->takes_chains)
        return;
    reach_close(&port->reach);
    port->chains = reach_open(&port->reach, memory, bytes, device_reach(port->device.kind), port->hardware,
                              &port->bodies_text);
    if (port->chains)
        port->bodies_text = "chained";
}

static void port_clock_look(struct port *port)
{
    if (!port->started)
        return;
    stamps_look(&port->stamps, port->id);
    count_set(&port->lane.lead_ns, stamps_depart(&port->stamps) ? LANE_LEAD_NS : 0);
}

/* A memif client that nobody serves says so each time that it is started. */
static bool device_start(struct port *port, uint64_t now_ns)
{
    bool hushed = port->device.redials && !gaps_say(&port->redials_said, now_ns);
    int level = hushed ? driver_log_hush(MEMIF_LOG) : 0;
    bool started = rte_eth_dev_start(port->id) == 0;
    if (hushed)
        driver_log_restore(MEMIF_LOG, level);
    return started;
}

bool port_start(struct port *port, uint64_t now_ns)
{
    __atomic_store_n(&port->started, device_start(port, now_ns), __ATOMIC_RELAXED);
    port->redial_ns = now_ns;
    port->link_poll_ns = later_ns(now_ns, PORT_LINK_POLL_NS);
    port_link_poll(port, now_ns);
    port_clock_look(port);
    return port->started;
}

int port_descriptor(const struct port *port)
{
    if (port->device.kind == DEVICE_AF_PACKET)
        return port->missed.socket;
    return port->device.kind == DEVICE_TAP ? rte_eth_dev_rx_intr_ctl_q_get_fd(port->id, 0) : -1;
}

void port_stop(struct port *port)
{
    arrivals_close(&port->arrivals);
    missed_close(&port->missed);
    if (port->started)
        rte_eth_dev_stop(port->id);
    __atomic_store_n(&port->started, false, __ATOMIC_RELAXED);
    __atomic_store_n(&port->link_up, false, __ATOMIC_RELAXED);
}

void port_close(struct port *port)
{
    port_receive_done(port);
    rte_pktmbuf_free_bulk(port->backlog.frames + port->backlog.at, port->backlog.count - port->backlog.at);
    port->backlog.at = port->backlog.count = 0;
    for (uint32_t index = 0; index < lane_count(&port->lane); index++)
        rte_pktmbuf_free(lane_item(&port->lane, index)->packet);
    port->lane.head = port->lane.tail;
    stock_drain(&port->heads);
    stock_drain(&port->bodies);
    port_stop(port);
    memif_gate_stop(port->gate);
    rte_eth_dev_close(port->id);
    memif_gate_close(port->gate);
    if (port->config.pool == NULL)
        rte_mempool_free(port->pool);
    port->pool = NULL;
    reach_close(&port->reach);
}

/* A memif client does not come back by itself when its server went away, or was not ready. Stopping a live
 * link crashes either side, so only one that was down for a while is started over; servers never are. */
static void port_redial(struct port *port, uint64_t now_ns)
{
    bool over = !port->started || port->device.redials;
    if (port->link_up || !over || elapsed_ns(now_ns, port->redial_ns) < PORT_REDIAL_NS ||
        elapsed_ns(now_ns, port->link_since_ns) < PORT_REDIAL_NS)
        return;
    if (port->started)
        rte_eth_dev_stop(port->id);
    count_add(&port->counters.redials, 1);
    port_start(port, now_ns);
}

static void send_question(struct port *port, struct rte_mbuf *mbuf, size_t length)
{
    mbuf->data_len = (uint16_t)length;
    mbuf->pkt_len = (uint32_t)length;
    count_add(&port->counters.tx_asked, 1);
    if (port_tx_burst(port, &mbuf, 1) == 0) {
        count_add(&port->counters.tx_drop_full, 1);
        rte_pktmbuf_free(mbuf);
    }
}

/* NULL: there is none, and that is counted. */
static struct rte_mbuf *question_mbuf(struct port *port)
{
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(port->pool);
    if (mbuf == NULL)
        count_add(&port->counters.tx_drop_no_mbuf, 1);
    return mbuf;
}

/* Asks for one neighbour; false: none is to be asked for. */
static bool port_ask(struct port *port, uint64_t now_ns)
{
    const uint8_t *holder;
    uint16_t index = neighbour_next(&port->neighbours, now_ns, &holder);
    count_set(&port->counters.neighbour_conflicts, port->neighbours.conflicts);
    count_set(&port->counters.neighbour_moves, port->neighbours.moves);
    if (index == NEIGHBOUR_NONE)
        return false;
    struct rte_mbuf *mbuf = question_mbuf(port);
    if (mbuf != NULL)
        send_question(port, mbuf,
                      responder_ask(&port->responder, &port->neighbours.entries[index].address, holder,
                                    rte_pktmbuf_mtod(mbuf, uint8_t *)));
    return true;
}

/* Whether another host has our address. Nothing waits for the answer, and none is the rule. */
static void port_probe(struct port *port, uint64_t now_ns)
{
    if (port->probes_left == 0 || now_ns < port->probe_ns)
        return;
    port->probes_left--;
    port->probe_ns = later_ns(now_ns, PORT_PROBE_NS);
    struct rte_mbuf *mbuf = question_mbuf(port);
    if (mbuf != NULL)
        send_question(port, mbuf, responder_probe(&port->responder, rte_pktmbuf_mtod(mbuf, uint8_t *)));
}

bool port_service(struct port *port, uint64_t now_ns)
{
    if (now_ns < port->link_poll_ns)
        return false;
    port->link_poll_ns = later_ns(now_ns, PORT_LINK_POLL_NS);
    port_link_poll(port, now_ns);
    if (port->link_up)
        gaps_end(&port->redials_said);
    port_redial(port, now_ns);
    port_clock_look(port);
    count_set(&port->counters.rx_missed, missed_frames_all(&port->missed, port->id));
    count_set(&port->counters.refused_clients, memif_gate_refused(port->gate));
    if (port->started &&
        chain_in_use(&port->chain) > 0) /* what was sent long ago: drivers look when they need room */
        rte_eth_tx_done_cleanup(port->id, 0, 0);
    if (port->link_up)
        port_probe(port, now_ns);
    for (uint16_t asked = 0; port->link_up && asked < PORT_BURST && port_ask(port, now_ns);)
        asked++;
    return true;
}
