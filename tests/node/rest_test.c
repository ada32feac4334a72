/* A node comes to rest: nothing stays open behind a job that is over, and nothing is due that can't be done. */
#include "check.h"
#include "node/node.h"
#include "node/peer/peer.h"
#include "wire/probe.h"

/* It failed before it had an object: only its file is open. */
static void job__failed_early_closes_its_file(void **state)
{
    (void)state;
    world_init(&world, 2, 1);
    world.planner_absent = true;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_PLANNING, 5 * NS_PER_S));
    world_cut(&world, 0, 1, 100 * NS_PER_S); /* no message wakes the job by chance */
    run_until_over(0, "j", 30 * NS_PER_S);
    assert_state(0, "j", JOB_FAILED);
    world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
    assert_true(world_is_clean(&world, 0));
    world_end(&world);
}

/* After the farewells a node has nothing to send any more, whatever was under way. */
static void shutdown__leaves_nothing_due(void **state)
{
    (void)state;
    world_init(&world, 2, 2);
    world.source_bytes = 50000000;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 10 * NS_PER_S));
    world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
    struct node *node = world.nodes[0].node;
    struct tx_packet packets[64];
    node_shutdown(node, world.now_ns);
    assert_int_equal(node_tx(node, 0, packets, 64, world.now_ns), 1);
    assert_int_equal(node_tx(node, 0, packets, 64, world.now_ns), 0);
    node_tick(node, world.now_ns);
    struct disk_request requests[64];
    while (node_disk(node, requests, 64, world.now_ns) > 0)
        continue;
    /* Jobs may still look at what they wait for, every 5 ms; nothing is asked for again and again. */
    uint64_t now_ns = world.now_ns, end_ns = now_ns + NS_PER_S;
    uint32_t calls = 0;
    while (node_next_ns(node) < end_ns && calls < 1000) {
        now_ns = MAX(now_ns, node_next_ns(node));
        node_tick(node, now_ns);
        assert_int_equal(node_tx(node, 0, packets, 64, now_ns), 0);
        calls++;
    }
    assert_in_range(calls, 0, 250);
    world_end(&world);
}

/* The answer would be as long as the question, and so could not leave. */
static void probe__longer_than_the_port_is_dropped(void **state)
{
    (void)state;
    world_init(&world, 2, 3);
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    const struct peer *peer = &world.nodes[1].node->peers[0];
    uint8_t datagram[4096] = {0};
    uint32_t mtu = world.nodes[1].config.ports[0].mtu;
    static const uint32_t over[] = {0, 1};
    for (unsigned row = 0; row < 2; row++) {
        struct wire_header header = {
            .version = WIRE_VERSION, .type = WIRE_PROBE, .session = peer->session_in};
        struct wire_probe probe = {.id = 77};
        probe.padding = (uint16_t)(mtu - address_overhead_bytes(ADDRESS_IPV4) - WIRE_PROBE_BYTES + over[row]);
        uint64_t dropped = world_counter(&world, 1, "drop_length");
        size_t length = wire_probe_encode(datagram, &header, &probe) + probe.padding;
        world_inject(&world, 0, 1, datagram, (uint32_t)length);
        world_run_until(&world, world.now_ns + 1);
        assert_int_equal(world_counter(&world, 1, "drop_length"), dropped + over[row]);
    }
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job__failed_early_closes_its_file),
        cmocka_unit_test(shutdown__leaves_nothing_due),
        cmocka_unit_test(probe__longer_than_the_port_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
