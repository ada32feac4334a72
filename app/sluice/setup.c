/* From a checked configuration to started ports. Order matters: memory is checked before the EAL takes any,
 * and threads are made before the worker is pinned (eal.h). */
#include <stdio.h>
#include <string.h>

#include "app.h"
#include "check.h"
#include "directories.h"
#include "dpdk/memory.h"
#include "dpdk/resident.h"
#include "key_memory.h"
#include "own_key.h"
#include "seal/wipe.h"

#define BUFFER_LEAST_BYTES (32ULL << 20) /* what a buffer shrinks to by itself */

/* Of the worker that drives the port. */
static const struct tsc_clock *clock_of(const struct app *app, uint16_t worker)
{
    return worker == 0 ? &app->clock : &app->port_workers[worker].clock.clock;
}

static struct turns *turns_of(struct app *app, uint16_t worker)
{
    return worker == 0 ? &app->worker.turns : &app->port_workers[worker].turns;
}

static void port_config_fill(const struct app *app, uint16_t index, struct port_config *port)
{
    const struct app_port_config *own = &app->config.ports[index];
    const struct node_port_config *node = &app->config.node.ports[index];
    *port = (struct port_config){
        .device = own->device,
        .index = index,
        .frame_bytes_max = own->frame_bytes_max,
        .rate_bps = node->rate_bps,
        .extra_mbufs = own->worker != 0 ? CROSSING_RECEIVED : 0,
        .address = node->address,
        .prefix_length = own->prefix_length,
        .gateway = own->gateway,
        .vlan = own->vlan,
        .static_mac = own->static_mac,
        .clock = clock_of(app, own->worker),
    };
    memcpy(port->gateway_mac, own->gateway_mac, MAC_BYTES);
}

static void socket_config_fill(const struct app *app, uint16_t index, struct udp_port_config *port)
{
    const struct app_port_config *own = &app->config.ports[index];
    const struct node_port_config *node = &app->config.node.ports[index];
    *port = (struct udp_port_config){.index = index,
                                     .mtu = node->mtu,
                                     .rate_bps = node->rate_bps,
                                     .rate_given = own->rate_given,
                                     .keeps = own->worker != 0,
                                     .gathers = app->config.idle == IDLE_MODE_SLEEP,
                                     .address = node->address,
                                     .clock = clock_of(app, own->worker)};
    memcpy(port->interface, own->interface, sizeof(port->interface));
}

static bool has_device(const struct app *app)
{
    for (uint16_t index = 0; index < app->config.node.port_count; index++)
        if (!app_port_is_socket(&app->config.ports[index]))
            return true;
    return false;
}

/* What a port takes: of the EAL's memory without hugepages and with them, and besides. */
static void add_port_need(const struct app *app, uint16_t index, struct memory_need *need,
                          uint64_t eal_with[2])
{
    struct port_config port;
    struct udp_port_config socket;
    need->node_bytes += app->config.ports[index].worker != 0 ? sizeof(struct crossing) : 0;
    if (app_port_is_socket(&app->config.ports[index])) {
        socket_config_fill(app, index, &socket);
        need->packet_bytes += sizeof(struct udp_port) + udp_port_bytes(&socket);
        return;
    }
    port_config_fill(app, index, &port);
    need->packet_bytes += memory_pool_bytes(port_mbufs(&port), port_buffer_bytes(&port));
    eal_with[false] += port_eal_bytes(&port, false);
    eal_with[true] += port_eal_bytes(&port, true);
}

static struct memory_need need_of(const struct app *app, uint64_t eal_with[2])
{
    struct memory_need need = {.node_bytes = node_bytes(&app->config.node),
                               .overhead_bytes = has_device(app) ? MEMORY_OVERHEAD_BYTES : 0};
    eal_with[false] = eal_with[true] = 0;
    for (uint16_t index = 0; index < app->config.node.port_count; index++)
        add_port_need(app, index, &need, eal_with);
    eal_with[true] += need.node_bytes;
    return need;
}

/* A buffer of which nobody said how large leaves half of the memory to the planner, the disk and others. */
static void fit_buffer(struct app *app, const struct memory_host *host)
{
    uint64_t unused[2], most = MAX(host->available_bytes, host->hugepage_free_bytes) / 2;
    uint64_t *buffer = &app->config.node.buffer_bytes;
    for (struct memory_need need = need_of(app, unused);
         !app->config.buffer_given && memory_need_total(&need) > most && *buffer / 2 >= BUFFER_LEAST_BYTES;
         need = need_of(app, unused))
        *buffer /= 2;
}

bool app_memory(struct app *app, uint64_t *eal_bytes, struct err *err)
{
    struct memory_host host;
    uint64_t eal_with[2]; /* without hugepages, with them */
    memory_host_read(&host);
    fit_buffer(app, &host);
    struct memory_need need = need_of(app, eal_with);
    app->memory_bytes = memory_need_total(&need);
    if (!memory_choose(&need, &host, app->config.hugepages && has_device(app), &app->hugepages, err))
        return false;
    memory_print(&need, &host, app->hugepages, app->memory_text, sizeof(app->memory_text));
    *eal_bytes = eal_with[app->hugepages] + need.overhead_bytes;
    if (app->config.memory_bytes != 0 && app->config.memory_bytes < *eal_bytes)
        return err_set(err, "memory: %llu MiB are configured for DPDK, but %llu MiB are needed",
                       (unsigned long long)(app->config.memory_bytes >> 20),
                       (unsigned long long)((*eal_bytes >> 20) + 1));
    *eal_bytes = MAX(*eal_bytes, app->config.memory_bytes);
    return true;
}

/* Workers with something to do: the node's, and up to the last that drives a port. */
static uint16_t lcore_count(const struct app_config *config)
{
    uint16_t count = 1;
    for (uint16_t index = 0; index < config->node.port_count; index++)
        count = MAX(count, (uint16_t)(config->ports[index].worker + 1));
    return MIN(count, config->lcore_count);
}

static bool start_eal(struct app *app, uint64_t eal_bytes, int extra_count, char **extra, struct err *err)
{
    static struct device devices[NODE_PORTS_MAX];
    struct eal_options options = {
        .program = "sluice",
        .hugepages = app->hugepages,
        .memory_bytes = eal_bytes,
        .lcore_count = lcore_count(&app->config),
        .option_count = app->config.eal_option_count,
        .options = (const char(*)[APP_DEVICE_BYTES])app->config.eal_options,
        .extra_count = extra_count,
        .extra = extra,
    };
    memcpy(options.lcores, app->config.lcores, sizeof(options.lcores));
    for (uint16_t index = 0; index < app->config.node.port_count; index++) {
        if (app_port_is_socket(&app->config.ports[index]))
            continue;
        if (!device_parse(&devices[index], app->config.ports[index].device,
                          app->config.ports[index].frame_bytes_max, app->config.node.ports[index].rate_bps,
                          err))
            return false;
        if (!devices[index].vdev)
            options.pci[options.pci_count++] = devices[index].name;
    }
    return has_device(app) ? eal_start(&app->eal, &options, err) : eal_without(&app->eal, &options, err);
}

/* Those of further workers as well: from port_start on a port compares its device's clock with its worker's. */
static void start_clocks(struct app *app)
{
    tsc_clock_start(&app->clock);
    tsc_share(&app->clock_shared, &app->clock);
    for (uint16_t number = 1; number < APP_LCORES_MAX; number++)
        tsc_follow(&app->port_workers[number].clock, &app->clock_shared);
}

static bool make_crossing(struct app *app, uint16_t index, struct err *err)
{
    app->crossings[index] = memory_take(sizeof(struct crossing), app->hugepages);
    if (app->crossings[index] == NULL)
        return err_set(err, "no memory between ports[%u] and the node", index);
    crossing_init(app->crossings[index]);
    if (app->config.idle == IDLE_MODE_SLEEP)
        crossing_set_waiters(app->crossings[index], &app->worker.turns.waiter,
                             &turns_of(app, app->config.ports[index].worker)->waiter);
    return true;
}

static bool open_socket(struct app *app, uint16_t index, struct err *err)
{
    struct udp_port_config config;
    socket_config_fill(app, index, &config);
    void *memory = memory_take(udp_port_bytes(&config), app->hugepages);
    if (memory == NULL)
        return err_set(err, "no memory for its packets");
    if (!udp_port_open(&app->sockets[index], &config, memory, err))
        return false;
    app->ports[index] = udp_port_datagrams(&app->sockets[index]);
    return true;
}

static bool open_device(struct app *app, uint16_t index, struct err *err)
{
    struct port_config config;
    port_config_fill(app, index, &config);
    if (!port_open(&app->devices[index], &config, err))
        return false;
    app->ports[index] = port_datagrams(&app->devices[index]);
    return true;
}

static bool open_ports(struct app *app, struct err *err)
{
    uint16_t count = app->config.node.port_count;
    app->devices = has_device(app) ? memory_take(count * sizeof(struct port), app->hugepages) : NULL;
    app->sockets = memory_take(count * sizeof(struct udp_port), app->hugepages);
    if ((has_device(app) && app->devices == NULL) || app->sockets == NULL)
        return err_set(err, "no memory for the ports");
    for (uint16_t index = 0; index < count; index++) {
        bool is_socket = app_port_is_socket(&app->config.ports[index]);
        if (is_socket ? !open_socket(app, index, err) : !open_device(app, index, err))
            return err_context(err, "ports[%u]", index);
        if (app->config.ports[index].worker != 0 && !make_crossing(app, index, err))
            return false;
    }
    return true;
}

static bool start_ports(struct app *app, struct err *err)
{
    const struct node_config *node = &app->config.node;
    if (!open_ports(app, err))
        return false;
    for (uint16_t index = 0; index < node->peer_count; index++) {
        const struct node_peer_config *peer = &node->peers[index];
        const struct datagram_port *port = &app->ports[peer->port];
        if (!port->calls->add_peer(port->self, index, &peer->address, err))
            return err_context(err, "peer %s", peer->name);
    }
    for (uint16_t index = 0; index < node->port_count; index++) {
        app->ports[index].calls->start(app->ports[index].self, tsc_now_ns(&app->clock));
        turns_watch(turns_of(app, app->config.ports[index].worker), &app->ports[index]);
    }
    check_started(app);
    return true;
}

/* Not before the process that starts planners was forked: it has no business with it. */
static bool take_own_key(struct app *app, struct err *err)
{
    struct node_config *config = &app->config.node;
    config->key_memory = key_memory_take(config->name, node_key_bytes(config), err);
    return config->key_memory != NULL && own_key_ready(&app->config, OWN_KEY_USE, &config->key, err);
}

static bool start_node(struct app *app, struct err *err)
{
    struct node_config *config = &app->config.node;
    config->planner_never = app->config.control_ring[0] == '\0';
    if (app->config.planner == APP_PLANNER_OFF)
        snprintf(config->planner_command, sizeof(config->planner_command), "sluice-planner --ring %s",
                 app->config.control_ring);
    config->gathers = app->config.idle == IDLE_MODE_SLEEP;
    if (!take_own_key(app, err))
        return false;
    size_t bytes = node_bytes(config);
    void *memory = memory_take(bytes, app->hugepages);
    if (memory == NULL)
        return err_set(err, "no memory for the node: %zu bytes", bytes);
    for (uint16_t index = 0; index < config->port_count; index++)
        app->ports[index].calls->take_bodies(app->ports[index].self, memory, bytes);
    app->node = node_create(config, memory, bytes, tsc_now_ns(&app->clock));
    wipe(config->key.private_key, sizeof(config->key.private_key)); /* the node has its own copy */
    return true;
}

/* A worker that sleeps leaves the CPU to the disk, which beside busy programs of others would get next to nothing of it;
 * one that polls does without it only at the disk's expense. */
#define DISK_NICE                5
#define DISK_NICE_BESIDE_POLLERS 19

static void disk_replied(void *waiter)
{
    waiter_wake(waiter);
}

static bool start_disk(struct app *app, struct err *err)
{
    struct disk_config config = {.primitives = app->config.node.primitives,
                                 .threads = MAX(app->config.disk_threads, (uint16_t)1),
                                 .nice = app->config.idle == IDLE_MODE_SLEEP ? DISK_NICE
                                                                             : DISK_NICE_BESIDE_POLLERS,
                                 .cpu_count = app->config.disk_cpu_count,
                                 .index_bytes_max = app->config.disk_index_bytes,
                                 .waiter = {disk_replied, &app->worker.turns.waiter}};
    memcpy(config.cpus, app->config.disk_cpus, sizeof(config.cpus));
    app->disk = disk_start(&config, err);
    return app->disk != NULL;
}

/* Where the kernel places it there is one, too. */
static uint16_t worker_count(const struct app_config *config)
{
    return MAX(lcore_count(config), (uint16_t)1);
}

static bool start_waiters(struct app *app, struct err *err)
{
    for (uint16_t number = 0; number < worker_count(&app->config); number++)
        if (!turns_open(turns_of(app, number), err))
            return false;
    return waiter_open(&app->background, err);
}

bool app_start(struct app *app, int extra_count, char **extra, struct err *err)
{
    uint64_t eal_bytes;
    if (!app_memory(app, &eal_bytes, err))
        return false;
    fprintf(stderr, "%s: memory: %s\n", app->config.node.name, app->memory_text);
    for (uint16_t number = lcore_count(&app->config); number < app->config.lcore_count; number++)
        fprintf(stderr, "%s: lcores: CPU %u has no port to drive\n", app->config.node.name,
                app->config.lcores[number]);
    if (!directories_create(&app->config.node, err))
        return false;
    directories_warn(&app->config.node);
    channel_init(&app->channel, &app->worker.turns.waiter);
    outbox_init(&app->outbox, &app->background);
    question_init(&app->question, &app->background);
    if (!start_waiters(app, err) || !start_eal(app, eal_bytes, extra_count, extra, err))
        return false;
    start_clocks(app);
    if (!server_listen(app, err) || !start_ports(app, err) || !start_disk(app, err) || !start_node(app, err))
        return false;
    resident_process();
    return true;
}

void app_finish(struct app *app)
{
    disk_stop(app->disk);
    for (uint16_t index = 0; index < app->config.node.port_count; index++) {
        if (app->crossings[index] != NULL)
            crossing_close(app->crossings[index], &app->ports[index]);
        app->ports[index].calls->close(app->ports[index].self);
    }
    for (uint16_t number = 0; number < worker_count(&app->config); number++)
        turns_close(turns_of(app, number));
    waiter_close(&app->background);
    eal_stop(&app->eal);
}
