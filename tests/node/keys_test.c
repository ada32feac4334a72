/* Keys of sessions change while jobs run: updates, whose packets are lost, forged or late; renewed sessions. */
#include "check.h"
#include "node/peer/peer.h"
#include "sizes/nonces.h"
#include "sizes/sizes.h"

#define HOLD_NS (3 * NS_PER_S + 200 * NS_PER_MS) /* three seconds and two round trips */

static void begin(uint64_t update_ns, uint64_t rate_bps)
{
    world_init(&world, 2, 1);
    for (uint16_t node = 0; node < 2; node++) {
        struct node_config *config = &world.nodes[node].config;
        config->primitives = &sizes_primitives;
        config->keys_by_name = true;
        config->rtt_max_ns = 100 * NS_PER_MS;
        config->update_ns = update_ns;
        config->ports[0].rate_bps = rate_bps;
    }
}

static struct peer *peer_at(uint16_t node)
{
    return &world.nodes[node].node->peers[0];
}

static struct session_keys *keys_at(uint16_t node)
{
    return &peer_at(node)->sessions.keys[peer_at(node)->sessions.current];
}

static void run_job(const char *name)
{
    struct job_spec spec = world_job(&world, name);
    run_job_at(0, &spec);
    assert_true(run_until_state(0, name, JOB_RUNNING, 10 * NS_PER_S));
}

static void assert_no_reset(void)
{
    for (uint16_t node = 0; node < 2; node++)
        assert_int_equal(world_counter(&world, node, "peers_reset"), 0);
}

static void assert_all_opened(void)
{
    for (uint16_t node = 0; node < 2; node++) {
        assert_int_equal(world_counter(&world, node, "drop_tag"), 0);
        assert_int_equal(world_counter(&world, node, "drop_key"), 0);
    }
    assert_no_reset();
}

static void run_until_updated(uint16_t node, uint64_t count)
{
    uint64_t end_ns = world.now_ns + 60 * NS_PER_S;
    while (world.now_ns < end_ns && world_counter(&world, node, "keys_updated") < count)
        world_run_until(&world, world.now_ns + NS_PER_MS);
    assert_true(world_counter(&world, node, "keys_updated") >= count);
}

/* How long a job takes that lasts a minute, with 1 % loss. */
static uint64_t minute_ns(uint64_t update_ns)
{
    begin(update_ns, 24000000);
    world.source_bytes = 150000000;
    world.loss_ppb = 10000000;
    start_all();
    run_job("j");
    run_until_over(0, "j", 120 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    assert_all_opened();
    const struct node_job_view *view = world_view(&world, 0, "j");
    uint64_t took_ns = view->ended_ns - view->running_ns;
    uint64_t updates = world_counter(&world, 0, "keys_updated");
    if (update_ns == 0)
        assert_int_equal(updates, 0);
    else
        assert_true(updates >= took_ns / (update_ns + 2 * NS_PER_S));
    world_end(&world);
    return took_ns;
}

static void node_keys__updates_cost_nothing(void **state)
{
    (void)state;
    uint64_t with_ns = minute_ns(6 * NS_PER_S), without_ns = minute_ns(0);
    assert_true(without_ns > 50 * NS_PER_S);
    assert_true(with_ns * 99 / 100 < without_ns);
}

/* As if so many packets had gone, and so many updates had been: 2^32 numbers and 255 key ids end in mid-job. */
static void start_late(uint16_t from, uint16_t to, uint64_t number, uint64_t control)
{
    struct peer *sends = peer_at(from), *receives = peer_at(to);
    sends->sender.next_number = sends->sender.floor = number;
    peer_session(sends)->control_next = control;
    peer_session(sends)->course.from[SEAL_DATA] = number;
    peer_session(sends)->course.from[SEAL_CONTROL] = control;
    receives->receiver.floor = receives->receiver.end = number;
    receives->sessions.replay[receives->sessions.current].end = control;
    while (keys_at(from)->out.id != 255) {
        session_keys_prepare(keys_at(from), &keys_at(from)->out);
        session_keys_prepare(keys_at(to), &keys_at(to)->in);
        session_keys_move(&keys_at(from)->out);
        session_keys_move(&keys_at(to)->in);
    }
    session_keys_prepare(keys_at(from), &keys_at(from)->out);
    session_keys_prepare(keys_at(to), &keys_at(to)->in);
    peer_session(sends)->course.confirmed = false;
}

static void node_keys__numbers_and_ids_end(void **state)
{
    (void)state;
    begin(1, 100000000);
    world.source_bytes = 80000000;
    start_all();
    world_run_until(&world, 1 * NS_PER_S);
    uint64_t number = (1ULL << 32) - 1000;
    start_late(0, 1, number, number + 980); /* it has little to say beside data */
    start_late(1, 0, number, number);
    world.loss_ppb = 50000000;
    run_job("j");
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    assert_all_opened();
    for (uint16_t node = 0; node < 2; node++) {
        assert_true(peer_session(peer_at(node))->control_next > 1ULL << 32);
        assert_true(keys_at(node)->out.id < 10 && keys_at(node)->in.id < 10);
    }
    assert_true(peer_at(0)->sender.next_number > 1ULL << 32);
    world_end(&world);
}

/* Packets of a space bring about an update, too. */
static void node_keys__update_by_packets(void **state)
{
    (void)state;
    begin(0, 100000000);
    for (uint16_t node = 0; node < 2; node++)
        world.nodes[node].config.update_packets = 40000;
    world.source_bytes = 150000000;
    start_all();
    run_job("j");
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    assert_all_opened();
    assert_int_equal(world_counter(&world, 0, "keys_updated"), 2);
    assert_int_equal(world_counter(&world, 1, "keys_updated"), 0); /* it sends acks: thousands */
    world_end(&world);
}

/* From the moment of an update on nothing arrives, for less and for more than a peer's patience. */
static void node_keys__all_lost_around_an_update(void **state)
{
    (void)state;
    static const uint64_t cuts_ms[] = {20, 100, 2000, 12000};
    for (size_t row = 0; row < sizeof(cuts_ms) / sizeof(cuts_ms[0]); row++) {
        begin(4 * NS_PER_S, 24000000);
        world.source_bytes = 40000000;
        start_all();
        run_job("j");
        world_run_until(&world, peer_session(peer_at(0))->taken_ns + 4 * NS_PER_S - 10 * NS_PER_MS);
        world_cut(&world, 0, 1, world.now_ns + cuts_ms[row] * NS_PER_MS);
        world_run_until(&world, world.now_ns + cuts_ms[row] * NS_PER_MS);
        assert_int_equal(keys_at(0)->out.id, 2); /* not more, as nobody has said that he knows of it */
        assert_int_equal(keys_at(1)->in.id, 1);
        run_until_updated(0, 2);
        run_until_over(0, "j", 60 * NS_PER_S);
        assert_state(0, "j", JOB_DONE);
        assert_all_opened();
        world_end(&world);
    }
}

static struct recorded {
    uint8_t data[2048];
    uint32_t length;
} data_packet, hello_packet; /* of n0 */

static void record(uint16_t from, uint16_t to, const uint8_t *data, uint32_t length)
{
    (void)to;
    if (from != 0 || length > sizeof(data_packet.data) || (data[1] != WIRE_DATA && data[1] != WIRE_HELLO))
        return;
    struct recorded *entry = data[1] == WIRE_DATA ? &data_packet : &hello_packet;
    entry->length = length;
    memcpy(entry->data, data, length);
}

static void inject(const struct recorded *entry)
{
    world_inject(&world, 0, 1, entry->data, entry->length);
}

/* One tag check for each, and no derivation. */
static void node_keys__forged_ids(void **state)
{
    (void)state;
    begin(0, 24000000);
    world.source_bytes = 20000000;
    world.on_datagram = record;
    start_all();
    run_job("j");
    world_run_until(&world, world.now_ns + 1500 * NS_PER_MS);
    world.on_datagram = NULL;
    struct direction_keys before = keys_at(1)->in;
    assert_true(before.has_next);
    for (unsigned any = 0; any <= UINT8_MAX; any++) {
        bool next = any == 2;
        uint64_t tags = world_counter(&world, 1, "drop_tag"), ids = world_counter(&world, 1, "drop_key");
        if (any == 1)
            continue;
        data_packet.data[2] = hello_packet.data[2] = (uint8_t)any;
        for (unsigned count = 0; count < (next ? 100000 : 10); count++)
            inject(count % 2 == 0 ? &data_packet : &hello_packet);
        assert_int_equal(world_counter(&world, 1, "drop_tag") - tags, next ? 100000 : 0);
        assert_int_equal(world_counter(&world, 1, "drop_key") - ids, next ? 0 : 10);
    }
    assert_memory_equal(&before, &keys_at(1)->in, sizeof(before));
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    assert_no_reset();
    world_end(&world);
}

/* What was sent before the update opens for a while, what says to be sent after it under the old keys does not, and nothing
 * when they are wiped. */
static void node_keys__old_keys(void **state)
{
    (void)state;
    begin(4 * NS_PER_S, 24000000);
    world.source_bytes = 80000000;
    start_all();
    run_job("j");
    world_run_until(&world, 3500 * NS_PER_MS);
    struct session_keys stolen = *keys_at(0);
    struct session session = *peer_session(peer_at(0));
    uint32_t number = (uint32_t)session.control_next + 5000;
    run_until_updated(0, 1);
    world_run_until(&world, world.now_ns + 500 * NS_PER_MS);
    assert_true(keys_at(1)->in.has_old);
    uint8_t datagram[WIRE_HELLO_BYTES];
    for (unsigned round = 0; round < 3; round++) {
        static const int64_t moves[] = {0, -4999, 1};
        uint64_t at = number + (uint64_t)moves[round];
        struct wire_header header = {.version = WIRE_VERSION,
                                     .type = WIRE_HELLO,
                                     .key_id = 1,
                                     .session = session.out,
                                     .packet_number = (uint32_t)at};
        struct wire_hello hello = {.interval_ms = 1000};
        wire_hello_encode(datagram, &header, &hello);
        struct sealing what = {.space = SEAL_CONTROL,
                               .number = at,
                               .known = {datagram, WIRE_HEADER_BYTES},
                               .text = datagram + WIRE_HEADER_BYTES,
                               .length = sizeof(datagram) - WIRE_HEADER_BYTES};
        nonces_forget(); /* who has stolen them may seal as he likes */
        session_keys_seal(&stolen, &what, datagram + WIRE_HEADER_BYTES,
                          datagram + WIRE_HEADER_BYTES - WIRE_TAG_BYTES);
        nonces_forget();
        uint64_t ids = world_counter(&world, 1, "drop_key"), again = world_counter(&world, 1, "drop_replay");
        world_inject(&world, 0, 1, datagram, sizeof(datagram));
        assert_int_equal(world_counter(&world, 1, "drop_key") - ids, round == 1 ? 0 : 1);
        assert_int_equal(world_counter(&world, 1, "drop_replay") - again, round == 1 ? 1 : 0); /* it opened */
        if (round == 1) {
            world_run_until(&world, world.now_ns + HOLD_NS);
            assert_false(keys_at(1)->in.has_old);
        }
    }
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    assert_no_reset();
    world_end(&world);
}

/* No word of new keys comes, for whatever reason: the session ends, another one carries the job on. */
static void node_keys__spent(void **state)
{
    (void)state;
    begin(0, 24000000);
    world.nodes[0].config.update_packets = 20000;
    world.source_bytes = 20000000;
    start_all();
    run_job("j");
    world_run_until(&world, world.now_ns + NS_PER_S);
    struct session *session = peer_session(peer_at(0));
    uint32_t before = session->out;
    session->course.confirmed = false;
    session->control_next += 80001;
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_int_equal(world_counter(&world, 0, "keys_spent"), 1);
    assert_true(peer_is_known(peer_at(0)) && peer_session(peer_at(0))->out != before);
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    assert_no_reset();
    world_end(&world);
}

/* Sessions follow each other while a job runs, and the keys of each are gone soon after it. */
static void node_session__renewed(void **state)
{
    (void)state;
    begin(0, 24000000);
    for (uint16_t node = 0; node < 2; node++)
        world.nodes[node].config.renewal_ns = 5 * NS_PER_S;
    world.source_bytes = 60000000;
    world.loss_ppb = 10000000;
    start_all();
    run_job("j");
    uint32_t seen = 0, sessions = 0, kept_long = 0;
    while (state_at(0, "j") < JOB_DONE) {
        world_run_until(&world, world.now_ns + 10 * NS_PER_MS);
        for (uint16_t node = 0; node < 2; node++) {
            struct session *session = peer_session(peer_at(node));
            const struct session *other = &peer_at(node)->sessions.used[!peer_at(node)->sessions.current];
            kept_long += other->in != 0 && session->taken_ns + HOLD_NS + NS_PER_S < world.now_ns;
        }
        sessions += peer_session(peer_at(0))->in != seen;
        seen = peer_session(peer_at(0))->in;
        assert_true(world.now_ns < 60 * NS_PER_S);
    }
    assert_state(0, "j", JOB_DONE);
    assert_true(sessions >= 4);
    assert_int_equal(kept_long, 0);
    assert_no_reset();
    for (uint16_t node = 0; node < 2; node++) {
        assert_int_equal(world_counter(&world, node, "drop_tag"), 0);
        assert_int_equal(world_counter(&world, node, "peers_lost"), 0);
    }
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_keys__updates_cost_nothing),
        cmocka_unit_test(node_keys__numbers_and_ids_end),
        cmocka_unit_test(node_keys__update_by_packets),
        cmocka_unit_test(node_keys__all_lost_around_an_update),
        cmocka_unit_test(node_keys__forged_ids),
        cmocka_unit_test(node_keys__old_keys),
        cmocka_unit_test(node_keys__spent),
        cmocka_unit_test(node_session__renewed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
