/* Somebody on the path sends all that he has recorded again, in another order, as it was, altered, or with text of his own
 * behind it: acks, messages, probes and trains as well. Nothing that a node knows of its edge changes by any of it, and
 * the job ends when it would have. Usage: replayed_test [COUNT]: so many datagrams (20000). */
#include "scripted.h"
#include "base/rng.h"
#include "node/peer/peer.h"
#include "sizes/sizes.h"

#define RECORDED_MAX  8192 /* the newest of DATA, and of all else */
#define DATAGRAM_MAX  1500
#define STEP_NS       NS_PER_MS
#define STEPS         1500 /* of the job, at least */
#define ARRIVED_NS    (25 * NS_PER_MS)
#define RUN_LIMIT_NS  (600 * NS_PER_S)
#define STEPS_A_TRAIN 500

struct recorded {
    uint64_t at_ns;
    uint16_t from, to;
    uint32_t length;
    uint8_t data[DATAGRAM_MAX];
};

enum { OTHERS, DATA, SHELVES };
static struct shelf {
    struct recorded entries[RECORDED_MAX];
    uint64_t count;
} shelves[SHELVES];

static uint64_t asked = 20000, sent, of_type[WIRE_TYPE_COUNT + 1];
static struct rng rng;

static void record(uint16_t from, uint16_t to, const uint8_t *data, uint32_t length)
{
    struct shelf *shelf = &shelves[data[1] == WIRE_DATA ? DATA : OTHERS];
    assert_in_range(length, WIRE_HEADER_BYTES, DATAGRAM_MAX);
    struct recorded *entry = &shelf->entries[shelf->count++ % RECORDED_MAX];
    *entry = (struct recorded){.at_ns = world.now_ns, .from = from, .to = to, .length = length};
    memcpy(entry->data, data, length);
}

/* ---- what may not change ---- */

struct edge_state {
    struct sender sender;
    struct receiver receiver;
    struct rtt_watch watch;
    struct mtu_watch mtu;
    struct rtt_probe probe;
    struct probe_result estimate;
    enum peer_state state;
    uint64_t heard_ns, answered_ns, digest;
};

static void look(uint16_t number, struct edge_state *seen)
{
    const struct node *node = world.nodes[number].node;
    const struct peer *peer = &node->peers[0];
    memset(seen, 0, sizeof(*seen));
    memcpy(&seen->sender, &peer->sender, sizeof(seen->sender));
    memcpy(&seen->receiver, &peer->receiver, sizeof(seen->receiver));
    seen->receiver.counters.duplicates = 0;
    memcpy(&seen->watch, &peer->watch, sizeof(seen->watch));
    memcpy(&seen->mtu, &peer->mtu, sizeof(seen->mtu));
    memcpy(&seen->probe, &peer->probe, sizeof(seen->probe));
    memcpy(&seen->estimate, prober_result(node, 0), sizeof(seen->estimate));
    seen->state = peer->state;
    seen->heard_ns = peer->heard_ns;
    seen->answered_ns = peer->answered_ns;
    seen->digest = node_digest(node);
}

/* All counters but those of what was refused, as one number. */
static uint64_t counted(uint16_t number)
{
    uint64_t sum = 0, value;
    const char *name;
    for (uint32_t index = 0; (name = node_counter(world.nodes[number].node, index, &value)) != NULL; index++)
        if (strncmp(name, "drop_", 5) != 0 && strcmp(name, "rx_datagrams") != 0 &&
            strcmp(name, "rx_handshakes") != 0)
            sum = sum * 0x100000001b3ULL + value;
    return sum;
}

/* ---- who is on the path ---- */

/* One that has arrived; NULL: this one has not yet. */
static const struct recorded *choose(const struct shelf *shelf)
{
    uint64_t kept = MIN(shelf->count, (uint64_t)RECORDED_MAX);
    const struct recorded *entry = &shelf->entries[rng_below(&rng, kept)];
    return world.now_ns >= entry->at_ns + ARRIVED_NS ? entry : NULL;
}

static void alter(uint8_t *data, uint32_t length, unsigned how)
{
    if (how == 0) { /* one bit of what a tag covers */
        uint32_t covered = data[1] == WIRE_DATA ? WIRE_DATA_BYTES + WIRE_TAG_BYTES : MIN(length, 64u);
        data[rng_below(&rng, covered)] ^= (uint8_t)(1u << rng_below(&rng, 8));
        return;
    }
    if (how == 1) /* under another number */
        store_be32(data + 8, load_be32(data + 8) + 1 + (uint32_t)rng_below(&rng, 100000));
    for (uint32_t at = how == 1 ? length : WIRE_HEADER_BYTES; at < length; at++)
        data[at] = (uint8_t)rng_next(&rng);
}

/* Half of it is DATA as it was. */
static void send_one(void)
{
    static struct edge_state before, after;
    uint8_t data[DATAGRAM_MAX];
    unsigned kind = (unsigned)rng_below(&rng, 8);
    const struct recorded *entry = choose(&shelves[kind < 4 ? DATA : kind % 2]);
    if (entry == NULL)
        return;
    memcpy(data, entry->data, entry->length);
    if (kind >= 4 && rng_below(&rng, 2) == 0)
        alter(data, entry->length, (unsigned)rng_below(&rng, 3));
    look(entry->to, &before);
    world_inject(&world, entry->from, entry->to, data, entry->length);
    look(entry->to, &after);
    if (memcmp(&before, &after, sizeof(before)) != 0)
        fail_msg("one of type %u, %u bytes, kind %u, has an effect", entry->data[1], entry->length, kind);
    sent++;
    of_type[MIN((unsigned)entry->data[1], (unsigned)WIRE_TYPE_COUNT)]++;
}

static void send_some(void)
{
    uint64_t before[2] = {counted(0), counted(1)};
    for (unsigned count = 0; count < asked / STEPS + 4; count++)
        send_one();
    for (uint16_t node = 0; node < 2; node++)
        assert_int_equal(counted(node), before[node]);
}

/* The two measure the path at times, by short trains. */
static void begin_job(void)
{
    begin(2, 20, 50000000);
    script.again = true;
    for (uint16_t node = 0; node < 2; node++) {
        world.nodes[node].config.primitives = &sizes_primitives;
        world.nodes[node].config.keys_by_name = true;
        world.nodes[node].config.ports[0].rate_bps = 100000000;
    }
    world.source_bytes = 20000000;
    for (unsigned shelf = 0; shelf < SHELVES; shelf++)
        shelves[shelf].count = 0;
    rng_init(&rng, 5);
    world.on_datagram = record;
    start();
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
    world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
}

/* How long the job takes, with the attack or without. */
static uint64_t run_job(bool attacked)
{
    begin_job();
    for (uint64_t step = 0, end_ns = world.now_ns + RUN_LIMIT_NS;
         state_at(0, "j") < JOB_DONE && world.now_ns < end_ns; step++) {
        if (step % STEPS_A_TRAIN == 0)
            ask(0, "n1");
        if (attacked)
            send_some();
        world_run_until(&world, world.now_ns + STEP_NS);
    }
    assert_state(0, "j", JOB_DONE);
    for (uint16_t node = 0; node < 2; node++)
        assert_int_equal(world_counter(&world, node, "peers_reset"), 0);
    const struct node_job_view *view = world_view(&world, 0, "j");
    uint64_t took_ns = view->ended_ns - view->running_ns;
    world_end(&world);
    return took_ns;
}

static void node_rx__all_again_changes_nothing(void **state)
{
    (void)state;
    uint64_t alone_ns = run_job(false), attacked_ns = run_job(true);
    print_message("%lu datagrams, the job took %lu us, %lu without\n", (unsigned long)sent,
                  (unsigned long)(attacked_ns / 1000), (unsigned long)(alone_ns / 1000));
    assert_true(sent >= asked);
    assert_in_range(attacked_ns, alone_ns - alone_ns / 100, alone_ns + alone_ns / 100);
    static const uint8_t types[] = {WIRE_DATA,  WIRE_MESSAGE,    WIRE_ACK,      WIRE_HELLO,
                                    WIRE_PROBE, WIRE_INITIATION, WIRE_RESPONSE, WIRE_TRAIN};
    for (size_t index = 0; index < sizeof(types); index++)
        if (of_type[types[index]] == 0)
            fail_msg("none of type %u was among them", types[index]);
}

int main(int count, char **arguments)
{
    if (count > 1)
        asked = strtoull(arguments[1], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(node_rx__all_again_changes_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
