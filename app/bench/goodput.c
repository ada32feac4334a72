/* Part (a): one object from n0 to n1. Over net_ring: one process, two lcores. Over memif and vhost: two processes, the
 * receiver being the end that makes the socket, forked before either has an EAL. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/bench/site.h"
#include "app/bench/bench.h"
#include "app/bench/cpu_use.h"

#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "base/units.h"
#include "edge/limit.h"

#define RING_PLACES  4096
#define BUFFER_BYTES (96ULL << 20)
#define WARM_UP_NS   (20 * NS_PER_S) /* for links and hellos, then the job may take this long */
#define LIMIT_NS     (120 * NS_PER_S)
#define MEMORY_BYTES (256ULL << 20)
#define RECEIVER     1

/* What the receiving end tells at its end. */
struct receiver_figures {
    uint64_t gap_ns_max;
    uint64_t busy_ns;
    uint64_t packets;
    struct cpu_use cpu_use;
};

static struct site sites[2];
static uint64_t worker_ns[2]; /* CPU time that the loops took */
static bool stop;             /* atomic: the receiver's loop ends */

static struct site_config site_config_of(const struct bench_options *options, uint16_t number)
{
    return (struct site_config){
        .number = number,
        .count = 2,
        .mtu = options->mtu,
        .rate_bps = options->rate_bps,
        .buffer_bytes = BUFFER_BYTES,
        .blocks_max = (options->object_bytes >> 20) * 2 + 64,
        .object_bytes = options->object_bytes,
        .directory = options->directory,
        .discard = options->directory == NULL,
        .idle = options->idle,
        .hugepages = options->hugepages,
        .primitives = options->sealed ? bench_primitives() : NULL,
    };
}

static struct port_config port_config_of(const struct bench_options *options, uint16_t number,
                                         const char *device)
{
    struct port_config config = {
        .device = device,
        .frame_bytes_max = options->mtu + ETHERNET_HEADER_BYTES,
        .rate_bps = options->rate_bps,
        .extra_mbufs = RING_PLACES,
        .address = site_address(number),
        .prefix_length = 24,
        .static_mac = true,
        .gateway_mac = {2, 0, 0, 0, 0, 1},
    };
    return config;
}

/* With hashes or a file a disk serves the site, as in the appliance; else requests are answered at once. A
 * source without a file has its blocks hashed as well: what is sent with the hash of something else is asked
 * for for ever. */
static struct disk *disk_for(const struct bench_options *options, uint16_t number)
{
    struct err err;
    struct disk_config config = {.threads = options->disk_threads,
                                 .nice = 19,
                                 .primitives = options->sealed ? bench_primitives() : NULL};
    bool file = number == 0 ? options->source_file != NULL : options->directory != NULL;
    struct disk *disk = file || options->sha256 ? disk_start(&config, &err) : NULL;
    if ((file || options->sha256) && disk == NULL)
        bench_fail("disk", &err);
    return disk;
}

static void start_site(const struct bench_options *options, uint16_t number, struct disk *disk)
{
    struct err err;
    struct site_config config = site_config_of(options, number);
    config.disk = disk;
    config.made_up = number == 0 && options->source_file == NULL;
    if (!site_start(&sites[number], &config, &err))
        bench_fail("site", &err);
}

/* ---- the two ends ---- */

static int receiver_loop(void *unused)
{
    (void)unused;
    uint64_t before_ns = cpu_use_now_ns();
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        site_turn(&sites[RECEIVER]);
        site_rest(&sites[RECEIVER]);
    }
    worker_ns[RECEIVER] = cpu_use_now_ns() - before_ns;
    return 0;
}

static struct receiver_figures receiver_figures(void)
{
    const struct site *site = &sites[RECEIVER];
    struct receiver_figures figures = {
        .gap_ns_max = site->gap_ns_max, .busy_ns = site->busy_ns, .packets = site_counter(site, "rx_data")};
    cpu_use_look(&figures.cpu_use, site->config.disk, worker_ns[RECEIVER]);
    return figures;
}

/* Until the peer has said hello. */
static void wait_for_peer(struct site *site)
{
    struct node_edge_view edge;
    uint64_t limit_ns = site->now_ns + WARM_UP_NS;
    do {
        site_turn(site);
        site_rest(site);
        CHECK(node_edge_view(site->node, 0, &edge));
    } while (!edge.up && site->now_ns < limit_ns);
    if (!edge.up) {
        fprintf(stderr, "sluice-bench: the peer did not come up\n");
        exit(1);
    }
}

/* Runs the job to its end at the source; false: it failed, and why was said. */
static bool source_run(const struct bench_options *options, struct node_job_view *view)
{
    struct site *site = &sites[0];
    struct err err;
    wait_for_peer(site);
    struct job_spec spec = bench_job(options, 2, false, 0);
    if (!site_run_job(site, &spec, &err))
        bench_fail("job", &err);
    uint64_t limit_ns = site->now_ns + LIMIT_NS, before_ns = cpu_use_now_ns();
    site->gap_ns_max = 0;
    do {
        for (int turns = 0; turns < 1000; turns++) {
            site_turn(site);
            site_rest(site);
        }
        CHECK(node_job_view(site->node, 0, view));
    } while (view->state < JOB_DONE && site->now_ns < limit_ns);
    worker_ns[0] = cpu_use_now_ns() - before_ns;
    if (view->state != JOB_DONE)
        fprintf(stderr, "sluice-bench: the job ended as %s: %s %s\n", job_state_name(view->state), view->text,
                view->sites[0].text);
    return view->state == JOB_DONE;
}

static void print_result(const struct bench_options *options, const struct node_job_view *view,
                         const struct receiver_figures *receiver)
{
    static struct bench_print print;
    struct node_edge_view edge;
    struct cpu_use cpu_use;
    const struct site *source = &sites[0];
    uint64_t running_ns = MAX(view->sites[0].complete_ns - view->running_ns, (uint64_t)1);
    CHECK(node_edge_view(source->node, 0, &edge));
    bench_print_begin(&print, options);
    struct report *report = &print.report;
    report_text(report, "link", options->link);
    report_u64(report, "mtu", options->mtu);
    report_bool(report, "sha256", options->sha256);
    report_bool(report, "sealed", options->sealed);
    report_text(report, "sink", options->directory == NULL ? "memory" : "file");
    report_u64(report, "bytes", view->size_bytes);
    report_fixed(report, "seconds", running_ns, 9);
    report_fixed(report, "job_seconds", view->sites[0].complete_ns - view->created_ns, 9);
    report_u64(report, "goodput_bps", muldiv64(view->size_bytes * 8, NS_PER_S, running_ns));
    report_u64(report, "packets", receiver->packets);
    report_u64(report, "packets_per_s", muldiv64(receiver->packets, NS_PER_S, running_ns));
    report_u64(report, "lost_packets", edge.lost_packets);
    report_u64(report, "repairs", edge.repairs);
    report_text(report, "limited_by", edge_limit_name(edge.limited_by));
    report_u64(report, "edge_rate_bps", edge.rate_bps);
    report_u64(report, "rtt_us", edge.rtt_smoothed_ns / NS_PER_US);
    report_u64(report, "gap_us_max", MAX(source->gap_ns_max, receiver->gap_ns_max) / NS_PER_US);
    report_bool(report, "hugepages", options->hugepages);
    report_text(report, "bodies", source->port.bodies_text);
    report_u64(report, "source_busy_ns", source->busy_ns);
    report_u64(report, "receiver_busy_ns", receiver->busy_ns);
    cpu_use_look(&cpu_use, source->config.disk, worker_ns[0]);
    report_u64(report, "hash_bps", cpu_use_hash_bps(&cpu_use, &receiver->cpu_use));
    report_table(report, "threads");
    cpu_use_report(&cpu_use, "source", report);
    cpu_use_report(&receiver->cpu_use, "receiver", report);
    report_table_end(report);
    bench_print_end(&print);
}

/* ---- net_ring ---- */

static int over_ring(const struct bench_options *options)
{
    static struct node_job_view view;
    struct err err;
    struct disk *disks[2] = {disk_for(options, 0), disk_for(options, 1)};
    bench_eal(options, "sluice-bench", 2, MEMORY_BYTES);
    struct rte_ring *rings[2];
    for (int number = 0; number < 2; number++) {
        char name[16];
        snprintf(name, sizeof(name), "ring%d", number);
        rings[number] =
            rte_ring_create(name, RING_PLACES, (int)rte_socket_id(), RING_F_SP_ENQ | RING_F_SC_DEQ);
        CHECK(rings[number] != NULL);
    }
    for (uint16_t number = 0; number < 2; number++) {
        struct port_config config =
            port_config_of(options, number, number == 0 ? "net_ring_a" : "net_ring_b");
        if (!port_open_rings(&sites[number].port, &config, rings[number], rings[1 - number], &err))
            bench_fail("port", &err);
        start_site(options, number, disks[number]);
    }
    rte_eal_remote_launch(receiver_loop, NULL, rte_get_next_lcore(-1, 1, 0));
    bool good = source_run(options, &view);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    rte_eal_mp_wait_lcore();
    struct receiver_figures figures = receiver_figures();
    if (good)
        print_result(options, &view, &figures);
    return good ? 0 : 1;
}

/* ---- two processes ---- */

static void on_term(int number)
{
    (void)number;
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
}

#define VHOST_SOCKET "/tmp/sluice-bench-%d.vhost"

static void device_of(const struct bench_options *options, uint16_t number, pid_t identity, char *text,
                      size_t room)
{
    if (strcmp(options->link, "memif") == 0)
        snprintf(text, room, "net_memif0,role=%s,socket-abstract=yes,socket=@sluice-bench-%d",
                 number == RECEIVER ? "server" : "client", (int)identity);
    else
        snprintf(text, room,
                 number == RECEIVER ? "net_vhost0,iface=" VHOST_SOCKET
                                    : "net_virtio_user0,path=" VHOST_SOCKET,
                 (int)identity);
}

static void open_device(const struct bench_options *options, uint16_t number, pid_t identity)
{
    struct err err;
    char device[128];
    device_of(options, number, identity, device, sizeof(device));
    struct bench_options own = *options;
    own.lcores[0] = options->lcores[number];
    struct disk *disk = disk_for(options, number);
    bench_eal(&own, number == RECEIVER ? "sluice-bench-receiver" : "sluice-bench-source", 1, MEMORY_BYTES);
    struct port_config config = port_config_of(options, number, device);
    if (!port_open(&sites[number].port, &config, &err))
        bench_fail("port", &err);
    start_site(options, number, disk);
}

static void receiver_process(const struct bench_options *options, pid_t identity, int out)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGTERM, on_term);
    open_device(options, RECEIVER, identity);
    if (write(out, "r", 1) != 1)
        _exit(1);
    receiver_loop(NULL);
    struct receiver_figures figures = receiver_figures();
    _exit(write(out, &figures, sizeof(figures)) == sizeof(figures) ? 0 : 1);
}

static int over_processes(const struct bench_options *options)
{
    static struct node_job_view view;
    int from_receiver[2];
    char byte;
    CHECK(pipe(from_receiver) == 0);
    pid_t identity = getpid();
    pid_t receiver = fork();
    if (receiver == 0)
        receiver_process(options, identity, from_receiver[1]);
    close(from_receiver[1]);
    if (receiver < 0 || read(from_receiver[0], &byte, 1) != 1) {
        fprintf(stderr, "sluice-bench: the receiver did not start\n");
        return 1;
    }
    open_device(options, 0, identity);
    bool good = source_run(options, &view);
    struct receiver_figures figures = {0};
    kill(receiver, SIGTERM);
    good &= read(from_receiver[0], &figures, sizeof(figures)) == sizeof(figures);
    waitpid(receiver, NULL, 0);
    char path[sizeof(VHOST_SOCKET) + 16];
    snprintf(path, sizeof(path), VHOST_SOCKET, (int)identity);
    unlink(path);
    if (good)
        print_result(options, &view, &figures);
    return good ? 0 : 1;
}

int bench_goodput(const struct bench_options *options)
{
    if (options->sealed && (options->source_file == NULL || !options->sha256)) {
        fputs("sluice-bench: goodput: --sealed goes with --source and --sha256: a disk seals what it reads\n",
              stderr);
        return 2;
    }
    return strcmp(options->link, "ring") == 0 ? over_ring(options) : over_processes(options);
}
