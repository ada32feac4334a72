/* Turns of whole nodes over net_ring, n0 → n1 → n2, all driven by this thread: what they allocate, and what becomes of a
 * job when buffers or places of a ring run out. No assertion looks at the time but the limit of each job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "app/bench/bench.h"
#include "app/bench/site.h"
#include "dpdk/memory.h"
#include "dpdk/resident.h"
#include "tests/dpdk/eal_fixture.h"

#include <rte_malloc.h>
#include <rte_ring.h>

#include "base/units.h"
#include "crypt/crypt.h"

#define SITES        3
#define RELAY        1
#define RING_PLACES  256
#define OBJECT_BYTES (24ULL << 20)
#define LIMIT_NS     (60 * NS_PER_S)
#define FAULTS_MAX                                                                                           \
    8 /* the kernel's own: it moves pages and splits huge ones; a page at a time would be hundreds */

/* ---- what this thread allocates ---- */

static __thread volatile bool counts; /* volatile: compilers know that malloc looks at no variables */
static __thread volatile uint64_t allocations;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HOOKED false
#else
#define HOOKED true
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);
void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *memory, size_t bytes);
void *aligned_alloc(size_t align, size_t bytes);

void *malloc(size_t bytes)
{
    allocations += counts;
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    allocations += counts;
    return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    allocations += counts;
    return __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    allocations += counts;
    return __libc_memalign(align, bytes);
}
#endif

static uint64_t dpdk_allocations(void)
{
    struct rte_malloc_socket_stats stats;
    assert_int_equal(rte_malloc_get_socket_stats((int)rte_socket_id(), &stats), 0);
    return stats.alloc_count;
}

/* ---- the bed ---- */

struct bed {
    struct site sites[SITES];
    struct rte_ring *into[SITES], *out_of[SITES];
    uint64_t overflows; /* frames for which a ring had no place: lost, as at a NIC */
};

static struct bed *bed;
static unsigned beds; /* names of devices and rings are never used again */

static const struct primitives *sealing; /* NULL: no keys */

static void open_site(uint16_t number)
{
    struct site *site = &bed->sites[number];
    char names[3][24];
    struct err err;
    for (unsigned which = 0; which < 3; which++)
        snprintf(names[which], sizeof(names[which]), "%s_%u",
                 (const char *[]){"net_ring", "into", "out"}[which], beds * SITES + number);
    bed->into[number] = rte_ring_create(names[1], RING_PLACES, (int)rte_socket_id(), 0);
    bed->out_of[number] = rte_ring_create(names[2], RING_PLACES, (int)rte_socket_id(), 0);
    struct port_config port = {.device = names[0],
                               .frame_bytes_max = MTU_DEFAULT + ETHERNET_HEADER_BYTES,
                               .rate_bps = 1000000000,
                               .extra_mbufs = 2 * RING_PLACES,
                               .address = site_address(number),
                               .prefix_length = 24,
                               .static_mac = true,
                               .gateway_mac = {2, 0, 0, 0, 0, 1}};
    assert_true(port_open_rings(&site->port, &port, bed->into[number], bed->out_of[number], &err));
    struct site_config config = {.number = number,
                                 .count = SITES,
                                 .mtu = MTU_DEFAULT,
                                 .rate_bps = port.rate_bps,
                                 .buffer_bytes = 12 << 20,
                                 .blocks_max = 2 * (OBJECT_BYTES >> 20) + 64,
                                 .object_bytes = OBJECT_BYTES,
                                 .discard = true,
                                 .idle = IDLE_MODE_POLL,
                                 .primitives = sealing,
                                 .update_ns = 1,
                                 .renewal_ns = 5 * NS_PER_S};
    assert_true(site_start(site, &config, &err));
}

static int begin(void **state)
{
    (void)state;
    bed = memory_take(sizeof(*bed), false);
    assert_non_null(bed);
    for (uint16_t number = 0; number < SITES; number++)
        open_site(number);
    beds++;
    resident_process();
    resident_stack();
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (uint16_t number = 0; number < SITES; number++) {
        void *frame;
        while (rte_ring_dequeue(bed->into[number], &frame) == 0 ||
               rte_ring_dequeue(bed->out_of[number], &frame) == 0)
            rte_pktmbuf_free(frame);
    }
    for (uint16_t number = 0; number < SITES; number++)
        port_stop(&bed->sites[number].port);
    return 0;
}

static void switch_turn(void)
{
    for (uint16_t from = 0; from < SITES; from++) {
        void *frame;
        while (rte_ring_dequeue(bed->out_of[from], &frame) == 0) {
            const uint8_t *bytes = rte_pktmbuf_mtod((struct rte_mbuf *)frame, const uint8_t *);
            uint16_t to = (uint16_t)(bytes[33] - 1); /* last byte of the IPv4 destination */
            assert_true(to < SITES);
            if (rte_ring_enqueue(bed->into[to], frame) != 0) {
                bed->overflows++;
                rte_pktmbuf_free(frame);
            }
        }
    }
}

/* What goes wrong, at every turn: NULL: nothing. */
typedef void trouble(uint64_t turn);

static bool relay_stands; /* it is not called: its ring fills up */

static void turns(trouble *fault, uint64_t turn)
{
    if (fault != NULL)
        fault(turn);
    for (uint16_t number = 0; number < SITES; number++) {
        counts = number != 0; /* the source is its own planner as well, which allocates */
        if (number != RELAY || !relay_stands)
            site_turn(&bed->sites[number]);
        counts = false;
    }
    switch_turn();
}

static void run_job(trouble *fault)
{
    static struct node_job_view view;
    const struct bench_options options = {.stripes = 1, .jobs = 1};
    struct site *source = &bed->sites[0];
    struct node_edge_view edge;
    struct err err;
    uint64_t turn = 0, limit_ns = source->now_ns + LIMIT_NS;
    for (uint32_t peer = 0; peer + 1 < SITES && source->now_ns < limit_ns; peer += edge.up) {
        turns(NULL, 0);
        assert_true(node_edge_view(source->node, peer, &edge));
    }
    struct job_spec spec = bench_job(&options, SITES, true, 0);
    assert_true(site_run_job(source, &spec, &err));
    do {
        turns(fault, turn++);
        assert_true(node_job_view(source->node, 0, &view));
    } while (view.state < JOB_DONE && source->now_ns < limit_ns);
    if (view.state != JOB_DONE)
        fail_msg("the job is %s: %s", job_state_name(view.state), view.text);
}

/* ---- tests ---- */

static void turns__allocate_nothing(void **state)
{
    (void)state;
    uint64_t dpdk = dpdk_allocations(), faults = memory_thread_faults();
    allocations = 0;
    run_job(NULL);
    assert_int_equal(dpdk_allocations(), dpdk);
    if (!HOOKED)
        skip();
    assert_int_equal(allocations, 0);
    assert_in_range(memory_thread_faults() - faults, 0, FAULTS_MAX);
    counts = true;
    void *volatile memory = malloc(1); /* the hook is there */
    free(memory);
    counts = false;
    assert_int_equal(allocations, 1);
}

static int begin_sealed(void **state)
{
    struct err err;
    sealing = crypt_primitives(&err);
    return sealing == NULL ? -1 : begin(state);
}

static int end_sealed(void **state)
{
    sealing = NULL;
    return end(state);
}

/* Turns in which keys are updated and sessions renewed, as often as may be. Without a job: these sites' disks seal nothing. */
static void turns__new_keys_allocate_nothing(void **state)
{
    (void)state;
    static const char *const counters[] = {"keys_updated", "rx_handshakes"};
    uint64_t dpdk = dpdk_allocations(), limit_ns = bed->sites[0].now_ns + LIMIT_NS;
    allocations = 0;
    for (uint16_t site = 1; site < SITES; site++)
        for (unsigned counter = 0; counter < 2; counter++) {
            uint64_t before = site_counter(&bed->sites[site], counters[counter]);
            while (site_counter(&bed->sites[site], counters[counter]) == before &&
                   bed->sites[0].now_ns < limit_ns)
                turns(NULL, 0);
            assert_true(site_counter(&bed->sites[site], counters[counter]) > before);
            assert_int_equal(site_counter(&bed->sites[site], "drop_tag"), 0);
        }
    assert_int_equal(dpdk_allocations(), dpdk);
    if (!HOOKED)
        skip();
    assert_int_equal(allocations, 0);
}

/* Trouble begins each time that the relay has got so many data packets more, and lasts until it has told: until what is
 * counted has grown, or for TROUBLE_TURNS at most. */
#define TROUBLE_PACKETS 3000
#define TROUBLE_TURNS   20000

static struct {
    uint64_t next_packets, since, before;
    uint32_t times;
    bool on;
} episode;

/* `count`: the counter that is to grow. True: there is trouble now. */
static bool has_trouble(uint64_t turn, uint64_t count)
{
    uint64_t packets = site_counter(&bed->sites[RELAY], "rx_data");
    if (episode.on) {
        episode.on = count == episode.before && turn - episode.since < TROUBLE_TURNS;
        return episode.on;
    }
    episode.before = count;
    if (packets < episode.next_packets)
        return false;
    episode.next_packets = packets + TROUBLE_PACKETS;
    episode.since = turn;
    episode.times++;
    episode.on = true;
    return true;
}

static int begin_trouble(void **state)
{
    memset(&episode, 0, sizeof(episode));
    episode.next_packets = TROUBLE_PACKETS;
    return begin(state);
}

static void stand_still(uint64_t turn)
{
    relay_stands = has_trouble(turn, bed->overflows);
}

/* As when a worker is not called for a while: what comes in meanwhile is lost, counted by the device, and comes again. */
static void turns__ring_overflows(void **state)
{
    (void)state;
    run_job(stand_still);
    relay_stands = false;
    assert_in_range(episode.times, 2, UINT32_MAX);
    assert_in_range(bed->overflows, episode.times - 1, UINT64_MAX);
}

/* All that the relay's pool has is elsewhere. */
static void take_buffers(uint64_t turn)
{
    static struct rte_mbuf *taken[8192];
    static unsigned count;
    const struct port *port = &bed->sites[RELAY].port;
    if (has_trouble(turn, port->counters.tx_drop_no_mbuf))
        while (count < 8192 && (taken[count] = rte_pktmbuf_alloc(port->pool)) != NULL)
            count++;
    else
        while (count > 0)
            rte_pktmbuf_free(taken[--count]);
}

/* What can't be sent is refused, counted, and sent later. */
static void turns__pool_runs_empty(void **state)
{
    (void)state;
    run_job(take_buffers);
    const struct site *relay = &bed->sites[RELAY];
    assert_in_range(episode.times, 2, UINT32_MAX);
    assert_in_range(relay->port.counters.tx_drop_no_mbuf, episode.times - 1, UINT64_MAX);
    assert_in_range(site_counter(relay, "tx_refused"), 1, UINT64_MAX);
}

int main(void)
{
    if (!fixture_eal_start("turns_test"))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(turns__allocate_nothing, begin, end),
        cmocka_unit_test_setup_teardown(turns__new_keys_allocate_nothing, begin_sealed, end_sealed),
        cmocka_unit_test_setup_teardown(turns__ring_overflows, begin_trouble, end),
        cmocka_unit_test_setup_teardown(turns__pool_runs_empty, begin_trouble, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
