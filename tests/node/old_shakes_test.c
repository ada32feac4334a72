/* A node starts anew while somebody sends all initiations that he has ever recorded, in its name and at both ends. */
#include "node/peer/peer.h"
#include "sizes/sizes.h"
#include "spoof.h"

#define RECORDED 1000
#define EACH_NS  (100 * NS_PER_US)

static uint8_t recorded[2][RECORDED][WIRE_INITIATION_BYTES]; /* by whose they are */
static uint8_t reflected[WIRE_INITIATION_BYTES];             /* of the one that starts anew */
static uint16_t victim;
static bool reflects;

static void reflect(uint16_t from, uint16_t to, const uint8_t *data, uint32_t length)
{
    (void)to;
    if (from != victim || data[1] != WIRE_INITIATION)
        return;
    assert_int_equal(length, WIRE_INITIATION_BYTES);
    memcpy(reflected, data, length);
    reflects = true;
}

static void record_all(void)
{
    static const char *const names[2] = {"n0", "n1"};
    for (uint16_t from = 0; from < 2; from++)
        for (unsigned count = 0; count < RECORDED; count++) {
            struct wire_greeting greeting =
                spoof_greeting(names[from], names[1 - from], 1000 + count, 77 * count);
            spoof_make(&sizes_primitives, names[from], names[1 - from], &greeting, count,
                       recorded[from][count]);
        }
}

/* The next of them to the peer, in the victim's name; back to the victim; to the victim too, where told. */
static void attack(bool both, uint64_t end_ns)
{
    static unsigned count;
    while (world.now_ns < end_ns) {
        count++;
        world_inject(&world, victim, 1 - victim, recorded[victim][count % RECORDED], WIRE_INITIATION_BYTES);
        if (both)
            world_inject(&world, 1 - victim, victim, recorded[1 - victim][count % RECORDED],
                         WIRE_INITIATION_BYTES);
        if (reflects)
            world_inject(&world, 1 - victim, victim, reflected, WIRE_INITIATION_BYTES);
        reflects = false;
        world_run_until(&world, world.now_ns + EACH_NS);
    }
}

static bool knows_new_start(void)
{
    const struct peer *peer = &world.nodes[1 - victim].node->peers[0];
    return peer->state == PEER_UP && world.nodes[victim].node->peers[0].state == PEER_UP &&
           peer->incarnation == world.nodes[victim].node->config.incarnation;
}

static void node_session__restart_among_old_ones(void **state)
{
    (void)state;
    static const struct {
        uint64_t before_ns, delay_ns; /* so long before the restart it begins */
        bool both;
        uint64_t most_ns;
    } rows[] = {
        {0, 20 * NS_PER_MS, false, NS_PER_S},
        {300 * NS_PER_MS, 20 * NS_PER_MS, false, NS_PER_S},
        {3 * NS_PER_S, 100 * NS_PER_MS, false, NS_PER_S},
        {300 * NS_PER_MS, 20 * NS_PER_MS, true, NS_PER_S},
        {3 * NS_PER_S, 100 * NS_PER_MS, true, NS_PER_S},
        {0, 20 * NS_PER_MS, true, 7 * NS_PER_S}, /* at first both tell the names of old ones */
    };
    record_all();
    for (size_t row = 0; row < 2 * sizeof(rows) / sizeof(rows[0]); row++) {
        victim = row % 2;
        world_init(&world, 2, row + 1);
        world.delay_ns = rows[row / 2].delay_ns;
        for (uint16_t node = 0; node < 2; node++) {
            world.nodes[node].config.primitives = &sizes_primitives;
            world.nodes[node].config.keys_by_name = true;
        }
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        world.on_datagram = reflect;
        attack(rows[row / 2].both, world.now_ns + rows[row / 2].before_ns);
        assert_int_equal(world_counter(&world, 0, "peers_reset") + world_counter(&world, 1, "peers_reset"),
                         0);
        world_start(&world, victim);
        uint64_t from_ns = world.now_ns;
        while (!knows_new_start() && world.now_ns < from_ns + 10 * NS_PER_S)
            attack(rows[row / 2].both, world.now_ns + NS_PER_MS);
        print_message("row %u, n%u: %u ms\n", (unsigned)(row / 2), victim,
                      (unsigned)((world.now_ns - from_ns) / NS_PER_MS));
        assert_in_range(world.now_ns - from_ns, 0, rows[row / 2].most_ns);
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(node_session__restart_among_old_ones)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
