/* Two nodes begin at once, or one does anew, over paths that lose much: how long until both send under one session, and whether
 * they part again. Without arguments a part of the seeds; `open_test 1000` tries so many for each round trip. */
#include "base/rng.h"
#include "node/peer/peer.h"
#include "check.h"
#include "sizes/sizes.h"

#define YEARS_NS   (100000000 * NS_PER_S)
#define SEEDS_MAX  1000
#define MARGIN_NS  (500 * NS_PER_MS)
#define AFTER_NS   (15 * NS_PER_S)
#define LOSS_PPB   300000000
#define STARTED_NS NS_PER_S /* before that the clocks tell nothing */

static unsigned seed_count = 20;

static void begin(uint64_t seed, uint64_t rtt_ns)
{
    world_init(&world, 2, seed);
    world.delay_ns = rtt_ns / 2;
    world.nodes[seed % 2].clock_ahead_ns = YEARS_NS;
    for (uint16_t node = 0; node < 2; node++) {
        world.nodes[node].config.primitives = &sizes_primitives;
        world.nodes[node].config.keys_by_name = true;
        world.nodes[node].config.buffer_bytes = 9 << 20;
    }
    world.now_ns = STARTED_NS;
}

/* Each sends under the session that the other one sends under, and knows that he does. */
static bool is_one(void)
{
    struct peer *of_n0 = &world.nodes[0].node->peers[0], *of_n1 = &world.nodes[1].node->peers[0];
    const struct session *at_n0 = peer_session(of_n0), *at_n1 = peer_session(of_n1);
    return of_n0->state == PEER_UP && of_n1->state == PEER_UP && at_n0->in == at_n1->out &&
           at_n1->in == at_n0->out && at_n0->proved && at_n1->proved;
}

static uint64_t run_until_one(uint64_t from_ns, uint64_t step_ns)
{
    while (!is_one() && world.now_ns < from_ns + 30 * NS_PER_S)
        world_run_until(&world, world.now_ns + step_ns);
    return world.now_ns - from_ns;
}

static int by_size(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

static uint64_t counted(const char *name)
{
    return world_counter(&world, 0, name) + world_counter(&world, 1, name);
}

/* What is different after some time in which nothing is lost: another session, or one that is not the same at both, or somebody
 * who was thought to be gone. */
static bool parts(void)
{
    uint32_t session = peer_session(&world.nodes[0].node->peers[0])->in;
    uint64_t lost = counted("peers_lost");
    world.loss_ppb = 0;
    world_run_until(&world, world.now_ns + AFTER_NS);
    return !is_one() || peer_session(&world.nodes[0].node->peers[0])->in != session ||
           counted("peers_lost") != lost;
}

/* ---- what they begin after ---- */

static void start(struct rng *rng, uint64_t seed, uint64_t rtt_ns)
{
    world.loss_ppb = LOSS_PPB;
    world_start(&world, (uint16_t)(seed / 2 % 2));
    world_run_until(&world, world.now_ns + rng_below(rng, rtt_ns + 1));
    world_start(&world, (uint16_t)(1 - seed / 2 % 2));
}

static void outage(struct rng *rng, uint64_t seed, uint64_t rtt_ns)
{
    (void)seed;
    (void)rtt_ns;
    start_all();
    world_run_until(&world, world.now_ns + 5 * NS_PER_S);
    uint64_t end_ns = world.now_ns + 7 * NS_PER_S + rng_below(rng, 2 * NS_PER_S);
    world_cut(&world, 0, 1, end_ns);
    world_run_until(&world, end_ns);
    world.loss_ppb = LOSS_PPB;
}

static void restart(struct rng *rng, uint64_t seed, uint64_t rtt_ns)
{
    (void)rtt_ns;
    start_all();
    world_run_until(&world, world.now_ns + 5 * NS_PER_S + rng_below(rng, NS_PER_S));
    world.loss_ppb = LOSS_PPB;
    world_start(&world, (uint16_t)(seed / 2 % 2));
}

static const struct {
    const char *name;
    void (*begin)(struct rng *rng, uint64_t seed, uint64_t rtt_ns);
    unsigned resets; /* at most */
} beginnings[] = {{"start", start, 2}, {"outage", outage, 0}, {"restart", restart, 2}};

static const uint64_t rtts_us[] = {200, 5000, 50000, 200000, 600000, 1200000};

struct found {
    unsigned parted, reset, more_reset;
    uint64_t needed_ns[SEEDS_MAX];
};

static void try_all(size_t beginning, uint64_t rtt_ns, struct found *found)
{
    *found = (struct found){0};
    for (unsigned seed = 1; seed <= seed_count; seed++) {
        struct rng rng;
        rng_init(&rng, seed * 1000003 + rtt_ns);
        begin(seed, rtt_ns);
        beginnings[beginning].begin(&rng, seed, rtt_ns);
        found->needed_ns[seed - 1] = run_until_one(world.now_ns, MAX(rtt_ns / 50, 100 * NS_PER_US));
        found->parted += parts();
        found->reset += counted("peers_reset") > 0;
        found->more_reset += counted("peers_reset") > beginnings[beginning].resets;
        world_end(&world);
    }
    qsort(found->needed_ns, seed_count, sizeof(found->needed_ns[0]), by_size);
}

static void node_session__opens_where_much_is_lost(void **state)
{
    (void)state;
    static struct found found;
    unsigned parted = 0, slow = 0, reset = 0;
    for (size_t row = 0; row < sizeof(beginnings) / sizeof(beginnings[0]); row++)
        for (size_t rtt = 0; rtt < sizeof(rtts_us) / sizeof(rtts_us[0]); rtt++) {
            uint64_t rtt_ns = rtts_us[rtt] * NS_PER_US;
            try_all(row, rtt_ns, &found);
            uint64_t p99_ns = found.needed_ns[seed_count * 99 / 100];
            print_message("%s, RTT %u us: median %u ms, p99 %u, most %u; of %u %u part, %u reset\n",
                          beginnings[row].name, (unsigned)rtts_us[rtt],
                          (unsigned)(found.needed_ns[seed_count / 2] / NS_PER_MS),
                          (unsigned)(p99_ns / NS_PER_MS),
                          (unsigned)(found.needed_ns[seed_count - 1] / NS_PER_MS), seed_count, found.parted,
                          found.reset);
            slow += row == 0 && seed_count >= 100 && p99_ns > 5 * rtt_ns + MARGIN_NS;
            parted += found.parted;
            reset += found.more_reset;
        }
    assert_int_equal(parted, 0);
    assert_int_equal(reset, 0);
    assert_int_equal(slow, 0);
}

static struct {
    uint8_t data[WIRE_INITIATION_BYTES];
    uint32_t length;
} held;

/* What n0 sends under its session is kept, and does not arrive. */
static void hold_back(uint16_t from, uint16_t to, const uint8_t *data, uint32_t length)
{
    (void)to;
    if (from != 0 || data[1] == WIRE_INITIATION || data[1] == WIRE_RESPONSE)
        return;
    if (data[1] == WIRE_HELLO) {
        memcpy(held.data, data, length);
        held.length = length;
    }
    memset((uint8_t *)(uintptr_t)data, 0, length);
}

/* n0, which goes first, has its answer, and for longer than any round trip nothing under that session comes through, while n1
 * goes on to ask. Were it answered too, each could take the other's session and forget its own. */
static void node_session__is_not_heard_for_long(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 60; seed++) {
        uint64_t rtt_ns = rtts_us[seed % 5] * NS_PER_US;
        begin(seed, rtt_ns);
        held.length = 0;
        world.on_datagram = hold_back;
        world_start(&world, 0);
        world_run_until(&world, world.now_ns + 200 * NS_PER_MS);
        world_start(&world, 1);
        uint64_t end_ns = world.now_ns + 2 * NS_PER_S + seed * 30 * NS_PER_MS;
        while (world.now_ns < end_ns && world.nodes[1].node->peers[0].state != PEER_UP)
            world_run_until(&world, world.now_ns + NS_PER_MS);
        world.on_datagram = NULL;
        assert_true(held.length > 0);
        world_inject(&world, 0, 1, held.data, held.length);
        uint64_t needed_ns = run_until_one(world.now_ns, NS_PER_MS);
        if (needed_ns > 5 * rtt_ns + MARGIN_NS || parts())
            fail_msg("seed %u: one session after %u ms, or none", seed, (unsigned)(needed_ns / NS_PER_MS));
        world_end(&world);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(node_session__opens_where_much_is_lost),
                                       cmocka_unit_test(node_session__is_not_heard_for_long)};
    if (argc == 2)
        seed_count = (unsigned)MIN(strtoul(argv[1], NULL, 10), (unsigned long)SEEDS_MAX);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
