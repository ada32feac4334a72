/* Drives one node: everything that comes in is followed by taking all that comes out. */
#include <string.h>
#include <sys/mman.h>

#include "base/check.h"
#include "pack/pack.h"
#include "seal/insecure.h"
#include "sizes/sizes.h"
#include "sim/run.h"

#define DRAIN_ROUNDS_MAX 1000000
#define CTL_TEXT_BYTES   4096
#define PORT_RATE_MAX    100000000000ULL /* of a node without an uplink rate */
#define WINDOW_MIN       1024
#define WINDOW_MAX       (1u << 21)
#define BUFFER_MIN       (32ULL << 20)
#define BUFFER_MAX       (256ULL << 20)
#define HUGE_BUFFER_MIN  (512ULL << 20)
#define REPAIR_NS        (100 * NS_PER_MS) /* windows cover a path's RTT and this for repairs */

struct net_address host_address(uint16_t index)
{
    uint16_t number = (uint16_t)(index + 1);
    return (struct net_address){.ip = {10, 0, (uint8_t)(number >> 8), (uint8_t)number},
                                .udp_port = NODE_UDP_PORT,
                                .family = ADDRESS_IPV4};
}

/* Host of an address, or node_count when nobody has it. */
static uint16_t host_find(const struct sim *sim, const struct net_address *address)
{
    uint16_t index = (uint16_t)((address->ip[2] << 8 | address->ip[3]) - 1);
    struct net_address own = host_address(index);
    return index < sim->scenario->node_count && address_equal(address, &own) ? index
                                                                             : sim->scenario->node_count;
}

/* ---- configuration ---- */

/* A queue in time counts without a rate too: a fault may give the link one. */
static uint64_t queue_time_ns(const struct netem_config *config)
{
    if (config->queue_unit == NETEM_QUEUE_NS && config->rate_bps == 0)
        return config->queue_limit;
    uint64_t wait_ns = netem_config_wait_ns(config, FULL_PACKET_WIRE_BYTES);
    return wait_ns == UINT64_MAX ? 0 : wait_ns;
}

/* One way at its longest, faults included. */
static uint64_t path_ns(const struct scenario *scenario, uint16_t from, uint16_t to)
{
    const struct netem_config *link = &scenario->links[from][to];
    uint64_t delay_ns = link->delay_ns, jitter_ns = link->jitter_ns;
    for (uint16_t fault = 0; fault < scenario->fault_count; fault++) {
        const struct scenario_fault *change = &scenario->faults[fault];
        if (change->kind != FAULT_LINK_SET)
            continue;
        delay_ns = MAX(delay_ns, change->set_mask & NETEM_CHANGE_DELAY ? change->set.delay_ns : 0);
        jitter_ns = MAX(jitter_ns, change->set_mask & NETEM_CHANGE_JITTER ? change->set.jitter_ns : 0);
    }
    uint8_t way[SCENARIO_WAY_MAX];
    for (uint8_t shared = scenario_way(scenario, from, to, way); shared > 0; shared--)
        delay_ns += queue_time_ns(&scenario->shared[way[shared - 1]].link);
    return delay_ns + jitter_ns + queue_time_ns(link) + queue_time_ns(&scenario->nodes[from].uplink) +
           queue_time_ns(&scenario->nodes[to].downlink);
}

static uint64_t lesser_rate(uint64_t a_bps, uint64_t b_bps)
{
    if (a_bps == 0 || b_bps == 0)
        return MAX(a_bps, b_bps);
    return MIN(a_bps, b_bps);
}

static uint32_t mtu_of(const struct scenario_node *node)
{
    return node->mtu != 0 ? node->mtu : MTU_DEFAULT;
}

/* Packet numbers that one RTT of the path and its repairs can need. */
static uint32_t window_for(const struct scenario *scenario, uint16_t from, uint16_t to)
{
    uint64_t rate_bps =
        lesser_rate(scenario->nodes[from].uplink.rate_bps,
                    lesser_rate(scenario->links[from][to].rate_bps, scenario->nodes[to].downlink.rate_bps));
    uint64_t rtt_ns = path_ns(scenario, from, to) + path_ns(scenario, to, from);
    uint64_t bytes = bytes_within(rate_bps != 0 ? rate_bps : PORT_RATE_MAX, rtt_ns + rtt_ns / 2 + REPAIR_NS);
    uint64_t packets = bytes / (mtu_of(&scenario->nodes[from]) + WIRE_OVERHEAD_BYTES);
    uint32_t window = WINDOW_MIN;
    while (window < packets && window < WINDOW_MAX)
        window *= 2;
    return window;
}

/* What it says of its port, one way. */
static uint64_t port_bps(const struct scenario_node *node, const struct netem_config *shaper)
{
    uint64_t known_bps = node->port_bps != 0 ? node->port_bps : shaper->rate_bps;
    return known_bps != 0 ? known_bps : PORT_RATE_MAX;
}

/* Symbol buffer where the scenario says nothing: two RTTs of the longest path at the interface's rate, within
 * bounds. Less than the appliance's default, because every page of it that a run touches costs time. */
static uint64_t buffer_for(const struct scenario *scenario, uint16_t index)
{
    uint64_t rate_bps = MAX(scenario->nodes[index].uplink.rate_bps, scenario->nodes[index].downlink.rate_bps);
    uint64_t bytes = BUFFER_MIN;
    for (uint16_t other = 0; other < scenario->node_count; other++) {
        uint64_t rtt_ns = path_ns(scenario, index, other) + path_ns(scenario, other, index);
        bytes = MAX(bytes, bytes_within(rate_bps, 2 * rtt_ns));
    }
    for (uint16_t job = 0; job < scenario->job_count; job++)
        if (scenario->jobs[job].spec.object == PART_OBJECT_STREAM)
            bytes = MAX(bytes, 3 * scenario->jobs[job].spec.retention_bytes);
    return MIN(bytes, BUFFER_MAX);
}

static void configure_peers(const struct sim *sim, uint16_t index, struct node_config *config)
{
    const struct scenario *scenario = sim->scenario;
    for (uint16_t other = 0; other < scenario->node_count; other++) {
        if (other == index)
            continue;
        struct node_peer_config *peer = &config->peers[config->peer_count++];
        name_copy(peer->name, sizeof(peer->name), scenario->nodes[other].name);
        peer->address = host_address(other);
        peer->window_packets = MAX(window_for(scenario, index, other), window_for(scenario, other, index));
    }
}

/* A stream needs tables for its window only. */
static uint64_t blocks_for(const struct scenario_job *job)
{
    uint64_t bytes = job->spec.object == PART_OBJECT_STREAM ? job->spec.retention_bytes : job->size_bytes;
    return (bytes + job->files * 2ULL * (PACK_RECORD_BYTES + NAME_BYTES)) / 1000000 + 8;
}

/* Nothing is sealed that nobody compares. */
static const struct primitives *primitives_of(const struct sim *sim)
{
    for (uint16_t job = 0; job < sim->scenario->job_count; job++) {
        if (sim->scenario->jobs[job].spec.hash == PART_HASH_NONE)
            return &insecure_primitives;
    }
    return sim->options.primitives != NULL ? sim->options.primitives : &sizes_primitives;
}

bool host_config(struct sim *sim, uint16_t index, struct err *err)
{
    const struct scenario_node *node = &sim->scenario->nodes[index];
    struct node_config *config = &sim->hosts[index].config;
    node_config_defaults(config);
    name_copy(config->name, sizeof(config->name), node->name);
    config->seed = sim->options.seed * 1000003 + index;
    config->incarnation = config->seed + 1;
    config->primitives = primitives_of(sim);
    sim->hosts[index].disk.sealed.primitives = config->primitives;
    config->keys_by_name = true;
    config->port_count = 1;
    config->ports[0] = (struct node_port_config){.address = host_address(index),
                                                 .mtu = mtu_of(node),
                                                 .rate_bps = port_bps(node, &node->uplink),
                                                 .down_bps = port_bps(node, &node->downlink)};
    configure_peers(sim, index, config);
    config->directory_count = 1;
    config->directories[0] =
        (struct node_directory){.name = "incoming", .path = "/incoming", .any_source = true};
    config->store = node->store_none ? NODE_STORE_NONE : NODE_STORE_DISK;
    config->buffer_bytes = node->buffer_bytes != 0 ? node->buffer_bytes : buffer_for(sim->scenario, index);
    if (sim->scenario->probe.node.load_ppb != 0) /* else made without a file */
        config->probe = sim->scenario->probe.node;
    config->probe.off |= node->probe_off;
    config->leaf = node->leaf;
    config->packets_ps = node->packets_ps;
    config->bodies_shared = scenario_is_sparse(sim->scenario);
    config->blocks_max = 64;
    for (uint16_t job = 0; job < sim->scenario->job_count; job++)
        config->blocks_max += blocks_for(&sim->scenario->jobs[job]);
    return node_config_check(config, err) || err_context(err, "node %s", node->name);
}

/* ---- life ---- */

void host_start(struct sim *sim, uint16_t index)
{
    struct sim_host *host = &sim->hosts[index];
    CHECK(host->node == NULL);
    host->config.incarnation = host->config.seed * 31 + ++host->starts;
    if (host->config.incarnation == 0)
        host->config.incarnation = 1;
    /* Pages that the node never touches cost nothing. */
    host->memory_bytes = node_bytes(&host->config);
    host->memory = mmap(NULL, host->memory_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(host->memory != MAP_FAILED);
    /* Huge pages where nearly all of it is going to be used: 20 GB at 10 Gbit/s take 16 s instead of 37. */
    if (host->config.buffer_bytes >= HUGE_BUFFER_MIN)
        madvise(host->memory, host->memory_bytes, MADV_HUGEPAGE);
    host->wake_ns = TIME_NEVER;
    host->node =
        node_create(&host->config, host->memory, host->memory_bytes, clock_local(&host->clock, sim->now_ns));
    CHECK(host->node != NULL);
    if (host->planner && host->planner_alive) {
        planner_attach(sim, index);
        host_ctl(sim, index, &sim->message, NULL);
    }
    host_drain(sim, index);
}

void host_count(struct sim *sim, const struct sim_host *host)
{
    uint64_t value;
    const char *name;
    for (uint32_t counter = 0; (name = node_counter(host->node, counter, &value)) != NULL; counter++) {
        CHECK(counter < RESULT_COUNTERS_MAX);
        sim->totals[counter].name = name;
        sim->totals[counter].value += value;
        if (strcmp(name, "tx_train_bytes") == 0)
            sim->trains_most_bytes = MAX(sim->trains_most_bytes, value);
        sim->total_count = MAX(sim->total_count, counter + 1);
    }
}

void host_kill(struct sim *sim, uint16_t index)
{
    struct sim_host *host = &sim->hosts[index];
    if (host->node == NULL)
        return;
    digest_add(&sim->past_nodes, node_digest(host->node));
    host_count(sim, host);
    sim_disk_crash(&host->disk);
    munmap(host->memory, host->memory_bytes);
    host->memory = NULL;
    host->node = NULL;
}

/* What the host reads off its clock for something that happens at virtual_ns. */
static uint64_t host_stamp(struct sim_host *host, uint64_t virtual_ns)
{
    return netem_stamp(&host->stamping, clock_local(&host->clock, virtual_ns), &host->stamp_noise);
}

static uint8_t host_stamp_kind(const struct sim_host *host)
{
    return netem_stamping_exact(&host->stamping) && !host->stamps_late ? STAMP_VIRTUAL : STAMP_SOFTWARE;
}

uint64_t host_awake_ns(struct sim *sim, uint16_t index)
{
    struct sim_host *host = &sim->hosts[index];
    sim_stall_look(&host->stall, sim->now_ns);
    return sim_stall_awake_ns(&host->stall, sim->now_ns);
}

/* ---- what comes out ---- */

static void send_burst(struct sim *sim, struct sim_host *host, const struct tx_packet *packets,
                       uint16_t count, uint64_t now_ns)
{
    struct tx_report reports[SIM_BURST];
    uint16_t report_count = 0;
    for (uint16_t place = 0; place < count; place++) {
        const struct tx_packet *packet = &packets[place];
        uint16_t to = host_find(sim, &packet->to);
        uint64_t depart_ns = MAX(clock_virtual(&host->clock, packet->depart_ns), sim->now_ns);
        depart_ns = sim_stall_awake_ns(&host->stall, depart_ns);
        uint32_t ip_bytes =
            packet->head_bytes + packet->body_bytes + address_overhead_bytes(packet->to.family);
        struct tx_report report = {.cookie = packet->cookie,
                                   .stamp_kind = host_stamp_kind(host),
                                   .released = true,
                                   .sent_ns = now_ns};
        if (ip_bytes > host->config.ports[0].mtu) {
            sim->counters.refused++;
            report.status = TX_REFUSED;
        } else if (to == sim->scenario->node_count) {
            sim->net.counters.no_route++;
        } else {
            depart_ns = net_send(&sim->net, host->index, to, packet, depart_ns);
            report.sent_ns = host_stamp(host, depart_ns);
        }
        if (packet->cookie != TX_COOKIE_NONE)
            reports[report_count++] = report;
    }
    if (report_count != 0)
        node_tx_done(host->node, reports, report_count, now_ns);
}

static bool drain_packets(struct sim *sim, struct sim_host *host, uint64_t now_ns)
{
    struct tx_packet packets[SIM_BURST];
    uint16_t count = node_tx(host->node, 0, packets, SIM_BURST, now_ns);
    CHECK(count <= SIM_BURST);
    send_burst(sim, host, packets, count, now_ns);
    return count != 0;
}

static bool drain_disk(struct sim *sim, struct sim_host *host, uint64_t now_ns)
{
    struct disk_request requests[SIM_BURST];
    uint16_t count = node_disk(host->node, requests, SIM_BURST, now_ns);
    if (count == 0)
        return false;
    uint64_t next_ns = sim_disk_next_ns(&host->disk);
    for (uint16_t place = 0; place < count; place++)
        sim_disk_submit(&host->disk, &requests[place], sim->now_ns);
    if (sim_disk_next_ns(&host->disk) < next_ns)
        event_add(&sim->heap, sim_disk_next_ns(&host->disk), EVENT_DISK, host->index, NULL);
    return true;
}

static bool drain_ctl(struct sim *sim, struct sim_host *host)
{
    if (!node_ctl_next(host->node, &sim->message))
        return false;
    planner_ask(sim, host->index, &sim->message);
    return true;
}

static void schedule_wake(struct sim *sim, struct sim_host *host)
{
    uint64_t wake_ns = clock_virtual(&host->clock, node_next_ns(host->node));
    if (wake_ns <= sim->now_ns) {
        sim->counters.early_wakes++;
        wake_ns = sim->now_ns + SIM_POLL_NS;
    }
    wake_ns = MAX(wake_ns, host->turn_ns);
    if (wake_ns >= host->wake_ns)
        return;
    host->wake_ns = wake_ns;
    event_add(&sim->heap, wake_ns, EVENT_WAKE, host->index, NULL);
}

void host_drain(struct sim *sim, uint16_t index)
{
    struct sim_host *host = &sim->hosts[index];
    uint64_t now_ns = clock_local(&host->clock, sim->now_ns);
    uint32_t rounds = 0;
    bool more = true;
    host->turn_ns = sim->now_ns + host->turn_lasts_ns;
    node_tick(host->node, now_ns);
    while (more) {
        CHECK(rounds++ < DRAIN_ROUNDS_MAX); /* a node that never comes to rest */
        more = drain_packets(sim, host, now_ns);
        more |= drain_disk(sim, host, now_ns);
        more |= drain_ctl(sim, host);
    }
    schedule_wake(sim, host);
}

/* ---- what goes in ---- */

static const uint8_t *datagram_of(struct sim_scratch *scratch, const struct sim_packet *packet)
{
    if (packet->stored == packet->length)
        return packet->data;
    uint8_t *start = scratch->bytes + POOL_DATA_MAX - packet->stored;
    memcpy(start, packet->data, packet->stored);
    return start;
}

/* When the host sees that the packet is there. */
static uint64_t seen_ns(const struct sim *sim, const struct sim_host *host, uint64_t came_ns)
{
    if (host->stamps_turns)
        return sim->now_ns;
    return host->stamps_late ? MAX(came_ns, host->stall.ended_ns) : came_ns;
}

/* The packet may have stood there for so long by then: since all that had come was taken. */
static uint64_t waited_ns(const struct sim_host *host, uint64_t stamp_ns)
{
    if (host->stamps_turns)
        return elapsed_ns(stamp_ns, host->taken_ns);
    return host->stamps_late && stamp_ns == host->stall.ended_ns ? host->stall.config.for_ns : 0;
}

static struct rx_packet packet_in(struct sim *sim, struct sim_host *host, const struct sim_packet *packet,
                                  struct sim_scratch *scratch)
{
    uint64_t stamp_ns = seen_ns(sim, host, packet->time_ns);
    return (struct rx_packet){.data = datagram_of(scratch, packet),
                              .length = packet->length,
                              .ecn = packet->ecn,
                              .stamp_kind = host_stamp_kind(host),
                              .rx_ns = host_stamp(host, stamp_ns),
                              .wait_ns = waited_ns(host, stamp_ns),
                              .from = host_address(packet->from)};
}

void host_receive(struct sim *sim, uint16_t index)
{
    struct sim_host *host = &sim->hosts[index];
    uint64_t now_ns = clock_local(&host->clock, sim->now_ns);
    struct sim_packet *taken[SIM_BURST];
    struct rx_packet packets[SIM_BURST];
    uint16_t count = 0;
    while (count < SIM_BURST && (taken[count] = net_take(&sim->net, index, sim->now_ns)) != NULL) {
        struct sim_packet *packet = taken[count];
        if (packet->flow != 0) {
            cross_on_packet(&sim->cross, packet, sim->now_ns);
            net_done(&sim->net, packet);
            continue;
        }
        packets[count] = packet_in(sim, host, packet, &sim->scratch[count]);
        count++;
    }
    if (count < SIM_BURST)
        host->taken_ns = sim->now_ns;
    net_on_port(&sim->net, index, sim->now_ns);
    if (host->node != NULL)
        node_missed(host->node, 0, sim->net.ports[index].ring_drops);
    if (host->node != NULL && count != 0)
        node_rx(host->node, packets, count, now_ns);
    else
        sim->counters.dead_drops += count;
    for (uint16_t place = 0; place < count; place++)
        net_done(&sim->net, taken[place]);
    if (host->node != NULL && count != 0)
        host_drain(sim, index);
}

void host_disk_done(struct sim *sim, uint16_t index)
{
    struct sim_host *host = &sim->hosts[index];
    struct disk_reply replies[SIM_BURST];
    uint16_t count = 0;
    while (count < SIM_BURST && sim_disk_next_ns(&host->disk) <= sim->now_ns)
        sim_disk_answer(&host->disk, &replies[count++], sim->now_ns);
    if (count == 0)
        return;
    if (sim_disk_next_ns(&host->disk) != TIME_NEVER)
        event_add(&sim->heap, MAX(sim_disk_next_ns(&host->disk), sim->now_ns), EVENT_DISK, index, NULL);
    node_disk_done(host->node, replies, count, clock_local(&host->clock, sim->now_ns));
    host_drain(sim, index);
}

void host_wake(struct sim *sim, uint16_t index)
{
    struct sim_host *host = &sim->hosts[index];
    if (host->node == NULL || host->wake_ns > sim->now_ns)
        return;
    host->wake_ns = TIME_NEVER;
    if (clock_virtual(&host->clock, node_next_ns(host->node)) > sim->now_ns)
        schedule_wake(sim, host);
    else
        host_drain(sim, index);
}

bool host_ctl(struct sim *sim, uint16_t index, const struct ctl_msg *msg, struct err *err)
{
    struct sim_host *host = &sim->hosts[index];
    static char text[CTL_TEXT_BYTES];
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    int result = node_ctl(host->node, msg, &reply, clock_local(&host->clock, sim->now_ns));
    if (result != 0 && err != NULL)
        *err = reply.err;
    host_drain(sim, index);
    return result == 0;
}
