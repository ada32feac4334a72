/* A relay with as many peers and jobs as there can be, most of them idle: all of it works, and no turn looks at a peer
 * that nothing has happened to. Virtual time in steps; every node knows the relay alone but for the source's sites.
 *
 * With arguments (peers, jobs, children) one run, so that what a packet costs can be counted, without noise:
 *   valgrind --tool=callgrind '--toggle-collect=relay_turn*' build-test/tests/node/scale_test 60 8 4 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/units.h"
#include "node/node.h"
#include "node/peer/peer.h"
#include "planner/solve.h"

#define NODES_MAX    (NODE_PEERS_MAX + 1)
#define STEP_NS      (20 * NS_PER_US)
#define DELAY_STEPS  25 /* one way: 0.5 ms */
#define RING         16384
#define RELAY        1
#define PACKET_BYTES 1600
#define LIMIT_NS     (20 * NS_PER_S)

struct flying {
    uint64_t step; /* of its arrival */
    uint32_t length;
    uint16_t from;
    uint8_t data[PACKET_BYTES];
};

struct place {
    struct node *node;
    void *memory;
    struct flying *ring;
    uint32_t head, tail;
    uint64_t next_ns;
};

static struct place places[NODES_MAX];
static uint16_t count, sites; /* the source, the relay and its children first */
static uint64_t step, now_ns, job_bytes;
static uint64_t stray_looks; /* at idle peers to which nothing has happened */

static struct net_address address_of(uint16_t number)
{
    return (struct net_address){
        .ip = {10, 0, 0, (uint8_t)(number + 1)}, .udp_port = NODE_UDP_PORT, .family = ADDRESS_IPV4};
}

static void add_peer(struct node_config *config, uint16_t number)
{
    struct node_peer_config *peer = &config->peers[config->peer_count++];
    snprintf(peer->name, sizeof(peer->name), "n%u", number);
    peer->address = address_of(number);
    peer->window_packets = 4096;
}

static void start(uint16_t number)
{
    static struct node_config config;
    node_config_defaults(&config);
    snprintf(config.name, sizeof(config.name), "n%u", number);
    config.seed = config.incarnation = number + 1u;
    config.port_count = 1;
    config.ports[0] = (struct node_port_config){
        .address = address_of(number), .mtu = MTU_DEFAULT, .rate_bps = 10 * NS_PER_S};
    for (uint16_t other = 0; other < count; other++)
        if (other != number && (number == RELAY || other == RELAY || (number < sites && other < sites)))
            add_peer(&config, other);
    config.directory_count = 1;
    config.directories[0].any_source = true;
    snprintf(config.directories[0].name, sizeof(config.directories[0].name), "incoming");
    snprintf(config.directories[0].path, sizeof(config.directories[0].path), "/nowhere");
    config.store = NODE_STORE_NONE;
    config.buffer_bytes = 32ULL << 20;
    config.blocks_max = 1024;
    config.bodies_shared = true;
    struct err err;
    if (!node_config_check(&config, &err))
        fail_msg("%s", err.text);
    size_t bytes = (node_bytes(&config) + 63) / 64 * 64;
    struct place *place = &places[number];
    *place = (struct place){.memory = aligned_alloc(64, bytes), .ring = malloc(RING * sizeof(struct flying))};
    CHECK(place->memory != NULL && place->ring != NULL);
    memset(place->memory, 0, bytes);
    place->node = node_create(&config, place->memory, bytes, now_ns);
}

static void stop_all(void)
{
    for (uint16_t number = 0; number < count; number++) {
        free(places[number].memory);
        free(places[number].ring);
    }
}

/* ---- a turn ---- */

static void receive(struct place *place)
{
    while (place->head != place->tail && place->ring[place->head % RING].step <= step) {
        const struct flying *flying = &place->ring[place->head++ % RING];
        struct rx_packet packet = {.data = flying->data,
                                   .length = flying->length,
                                   .rx_ns = now_ns,
                                   .from = address_of(flying->from)};
        node_rx(place->node, &packet, 1, now_ns);
    }
}

static void carry(uint16_t from, const struct tx_packet *packet)
{
    uint16_t to = (uint16_t)(packet->to.ip[3] - 1);
    struct place *place = &places[to];
    CHECK(to < count && place->tail - place->head < RING);
    struct flying *flying = &place->ring[place->tail++ % RING];
    *flying = (struct flying){.step = step + DELAY_STEPS,
                              .length = (uint32_t)packet->head_bytes + packet->body_bytes,
                              .from = from};
    CHECK(flying->length <= PACKET_BYTES);
    memcpy(flying->data, packet->head, packet->head_bytes);
    if (packet->body_bytes > 0)
        memcpy(flying->data + packet->head_bytes, packet->body, packet->body_bytes);
}

static void disk(struct place *place)
{
    struct disk_request requests[16];
    struct disk_reply replies[16];
    uint16_t taken = node_disk(place->node, requests, 16, now_ns);
    for (uint16_t index = 0; index < taken; index++) {
        replies[index] = (struct disk_reply){
            .op = requests[index].op, .handle = requests[index].handle, .cookie = requests[index].cookie};
        if (requests[index].op == DISK_OPEN_SOURCE)
            replies[index].size_bytes = job_bytes;
    }
    if (taken > 0)
        node_disk_done(place->node, replies, taken, now_ns);
}

static void transmit(struct place *place, struct tx_packet *packets, uint16_t *sent)
{
    struct tx_report reports[32];
    uint16_t reported = 0;
    *sent = node_tx(place->node, 0, packets, 32, now_ns);
    for (uint16_t index = 0; index < *sent; index++)
        if (packets[index].cookie != TX_COOKIE_NONE)
            reports[reported++] = (struct tx_report){
                .cookie = packets[index].cookie, .sent_ns = packets[index].depart_ns, .released = 1};
    node_tx_done(place->node, reports, reported, now_ns);
}

static void __attribute__((noinline)) relay_turn(struct tx_packet *packets, uint16_t *sent)
{
    struct place *place = &places[RELAY];
    receive(place);
    node_tick(place->node, now_ns);
    disk(place);
    transmit(place, packets, sent);
    place->next_ns = node_next_ns(place->node);
}

static void any_turn(struct place *place, struct tx_packet *packets, uint16_t *sent)
{
    bool comes = place->head != place->tail && place->ring[place->head % RING].step <= step;
    *sent = 0;
    if (!comes && now_ns < place->next_ns)
        return;
    receive(place);
    node_tick(place->node, now_ns);
    disk(place);
    transmit(place, packets, sent);
    place->next_ns = node_next_ns(place->node);
}

static void plan(struct node *node)
{
    static struct ctl_msg request, answer;
    if (!node_ctl_next(node, &request))
        return;
    struct err err;
    char text[256];
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    answer = (struct ctl_msg){.type = CTL_PLAN, .correlation = request.correlation};
    CHECK(solve(&request.body.plan_request, NULL, &answer.body.plan, &err));
    node_ctl(node, &answer, &reply, now_ns);
}

/* Peers of the relay that take part in nothing; they are numbered on behind the others. */
static uint64_t idle_peers(void)
{
    uint64_t all = (1ULL << (count - 1)) - 1, busy = (1ULL << (sites - 1)) - 1;
    return all & ~busy;
}

/* A look finds a peer's deadline anew. So that it can be seen, the relay has those of idle peers 1 ns early for a turn:
 * the ones, one bit each, that are not due and were not changed. */
static uint64_t mark(struct node *node)
{
    uint64_t marked = 0, called = node->changed_mask | node->short_mask;
    for (uint64_t left = idle_peers() & ~called; left != 0; left &= left - 1) {
        uint32_t index = (uint32_t)__builtin_ctzll(left);
        uint64_t at_ns = node->due.at_ns[index];
        if (at_ns == TIME_NEVER || at_ns <= now_ns + 1)
            continue;
        deadlines_set(&node->due, index, at_ns - 1);
        marked |= 1ULL << index;
    }
    return marked;
}

/* How many of the marked ones were looked at; `before`: what they were given. */
static uint64_t unmark(struct node *node, const struct deadlines *before, uint64_t marked)
{
    uint64_t looks = 0;
    for (; marked != 0; marked &= marked - 1) {
        uint32_t index = (uint32_t)__builtin_ctzll(marked);
        if (node->due.at_ns[index] == before->at_ns[index])
            deadlines_set(&node->due, index, before->at_ns[index] + 1);
        else
            looks++;
    }
    return looks;
}

static uint64_t idle_received(const struct node *node)
{
    return node->counters.rx_hellos + node->counters.rx_probes + node->counters.rx_probe_replies;
}

static bool carry_all(uint16_t from, const struct tx_packet *packets, uint16_t sent)
{
    bool to_idle = false;
    for (uint16_t index = 0; index < sent; index++) {
        carry(from, &packets[index]);
        to_idle = to_idle || packets[index].to.ip[3] > sites;
    }
    return to_idle;
}

static void relay_step(struct tx_packet *packets)
{
    struct node *node = places[RELAY].node;
    uint16_t sent;
    uint64_t received = idle_received(node), marked = mark(node);
    struct deadlines before = node->due;
    relay_turn(packets, &sent);
    uint64_t looks = unmark(node, &before, marked);
    if (!carry_all(RELAY, packets, sent) && received == idle_received(node))
        stray_looks += looks;
}

static void run_step(void)
{
    static struct tx_packet packets[32];
    uint16_t sent;
    for (uint16_t number = 0; number < count; number++) {
        if (number == RELAY) {
            relay_step(packets);
            continue;
        }
        any_turn(&places[number], packets, &sent);
        carry_all(number, packets, sent);
    }
    plan(places[0].node);
    step++;
    now_ns += STEP_NS;
}

/* ---- a run ---- */

static void run_job(uint16_t children, uint32_t number)
{
    static struct ctl_msg msg;
    char text[256];
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    msg = (struct ctl_msg){.type = CTL_JOB_RUN};
    struct job_spec *spec = &msg.body.job_run;
    *spec = (struct job_spec){.source = "n0",
                              .to_all = true,
                              .directory = "incoming",
                              .metric = PLAN_METRIC_GIVEN,
                              .trees = 1,
                              .hash = PART_HASH_NONE,
                              .exists = PART_EXISTS_REPLACE,
                              .congestion = PART_CONGESTION_FIXED,
                              .measure_ns = 20 * NS_PER_MS,
                              .file = "/nowhere/file"};
    snprintf(spec->name, sizeof(spec->name), "job%u", number);
    snprintf(spec->target, sizeof(spec->target), "out%u", number);
    for (uint16_t site = 1; site < children + 2; site++) {
        snprintf(spec->given[spec->given_count][0], NAME_BYTES, "n%u", site > 1 ? 1 : 0);
        snprintf(spec->given[spec->given_count++][1], NAME_BYTES, "n%u", site);
    }
    if (node_ctl(places[0].node, &msg, &reply, now_ns) != 0)
        fail_msg("%s", reply.err.text);
}

static bool job_is_done(uint32_t number)
{
    static struct node_job_view view;
    if (!node_job_view(places[0].node, number, &view) || view.state < JOB_DONE)
        return false;
    if (view.state != JOB_DONE)
        fail_msg("%s: %s", view.name, view.text);
    return true;
}

static void run(uint16_t peers, uint32_t jobs, uint16_t children, uint64_t bytes)
{
    static struct ctl_msg hello = {.type = CTL_PLANNER_HELLO};
    char text[64];
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    count = (uint16_t)(peers + 1);
    sites = (uint16_t)(children + 2);
    step = stray_looks = 0;
    now_ns = NS_PER_S;
    job_bytes = bytes;
    CHECK(sites <= count && count <= NODES_MAX);
    for (uint16_t number = 0; number < count; number++)
        start(number);
    node_ctl(places[0].node, &hello, &reply, now_ns);
    uint64_t begin_ns = now_ns;
    while (now_ns < begin_ns + 700 * NS_PER_MS)
        run_step();
    for (uint32_t number = 0; number < jobs; number++)
        run_job(children, number);
    for (uint32_t number = 0; number < jobs;) {
        run_step();
        number += job_is_done(number);
        if (now_ns > begin_ns + LIMIT_NS)
            fail_msg("job %u has not ended", number);
    }
}

static void relay__of_many_peers_and_jobs(void **state)
{
    (void)state;
    static const struct {
        uint16_t peers, children;
        uint32_t jobs;
    } rows[] = {{2, 1, 1}, {NODE_PEERS_MAX, 1, 1}, {NODE_PEERS_MAX, 4, 8}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        run(rows[row].peers, rows[row].jobs, rows[row].children, 2ULL << 20);
        struct node_edge_view edge;
        for (uint32_t peer = 0; peer < rows[row].peers; peer++)
            assert_true(node_edge_view(places[RELAY].node, peer, &edge) && edge.up);
        assert_int_equal(stray_looks, 0);
        stop_all();
    }
}

int main(int argument_count, char **arguments)
{
    if (argument_count == 4) {
        run((uint16_t)atoi(arguments[1]), (uint32_t)atoi(arguments[2]), (uint16_t)atoi(arguments[3]),
            (64ULL << 20) / (uint32_t)atoi(arguments[2]));
        printf("data packets of the relay: %lu in, %lu out\n", places[RELAY].node->counters.rx_data,
               places[RELAY].node->counters.tx_data);
        stop_all();
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(relay__of_many_peers_and_jobs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
