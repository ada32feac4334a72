/* Handshakes as attackers send them: those of one who has a key of the roster, recorded ones, changed ones. Each row: what is
 * sent, the one counter that counts it, and that the job, or the session, is as without. */
#include "base/rng.h"
#include "recorded.h"
#include "spoof.h"

#define GBPS 1000000000ULL

/* ---- a key of the roster ---- */

static struct primitives counting; /* like sizes_primitives, but scalar multiplications are counted */
static uint64_t multiplications;

static bool counted_agree(uint8_t out[SEAL_KEY_BYTES], const uint8_t private_key[SEAL_KEY_BYTES],
                          const uint8_t public_key[SEAL_KEY_BYTES])
{
    multiplications++;
    return sizes_primitives.agree(out, private_key, public_key);
}

/* Right under the key of n1, of which nothing opens. */
static void make_garbage(const struct bond *bond, struct rng *rng, uint8_t datagram[WIRE_INITIATION_BYTES])
{
    struct wire_header header = {.version = WIRE_VERSION, .type = WIRE_INITIATION};
    wire_header_put(datagram, &header);
    for (size_t at = WIRE_HEADER_BYTES; at < WIRE_INITIATION_BYTES; at += 8)
        store_be64(datagram + at, rng_next(rng));
    bond_mac_out(bond, datagram, WIRE_INITIATION_BYTES, WIRE_HEADER_BYTES - WIRE_TAG_BYTES,
                 datagram + WIRE_HEADER_BYTES - WIRE_TAG_BYTES);
}

/* How long the job takes at 1 Gbit/s while so many come in each 100 us. */
static uint64_t job_beside(unsigned each, uint64_t *sent)
{
    struct key_pair own, other;
    struct bond bond;
    struct rng rng;
    uint8_t datagram[WIRE_INITIATION_BYTES];
    insecure_key_pair(&sizes_primitives, "n1", &own);
    insecure_key_pair(&sizes_primitives, "n0", &other);
    assert_true(bond_make(&bond, &sizes_primitives, &own, other.public_key));
    rng_init(&rng, 1);
    world_init(&world, 2, 1);
    world.delay_ns = NS_PER_MS;
    use_keys(&counting);
    for (uint16_t node = 0; node < 2; node++)
        world.nodes[node].config.ports[0].rate_bps = GBPS;
    begin_job(60000000);
    uint64_t from_ns = world.now_ns, before = multiplications, dropped = drops(0);
    for (*sent = 0; state_at(0, "j") < JOB_DONE; *sent += each) {
        for (unsigned count = 0; count < each; count++) {
            make_garbage(&bond, &rng, datagram);
            world_inject(&world, 1, 0, datagram, sizeof(datagram));
        }
        world_run_until(&world, world.now_ns + 100 * NS_PER_US);
        assert_true(world.now_ns < from_ns + 10 * NS_PER_S);
    }
    uint64_t took_ns = world.now_ns - from_ns;
    assert_in_range(drops(0) - dropped, *sent, *sent + 2);
    print_message("%u beside a job of %u ms: %u scalar multiplications, %u read\n", (unsigned)*sent,
                  (unsigned)(took_ns / NS_PER_MS), (unsigned)(multiplications - before),
                  (unsigned)world_counter(&world, 0, "drop_handshake"));
    assert_in_range(multiplications - before, 0, 100 * (took_ns / NS_PER_S + 1));
    end_intact();
    return took_ns;
}

static void node_session__garbage_of_a_member(void **state)
{
    (void)state;
    uint64_t sent;
    counting = sizes_primitives;
    counting.agree = counted_agree;
    uint64_t alone_ns = job_beside(0, &sent);
    uint64_t beside_ns = job_beside(100, &sent); /* a million a second */
    assert_true(sent > 100000);
    assert_in_range(beside_ns, 0, alone_ns * 100 / 95);
}

/* ---- recorded ones ---- */

#define OLD 1000
static uint8_t old[2][OLD][WIRE_INITIATION_BYTES]; /* by whose they are */
static uint64_t responses, initiations, bytes_out;

static void count_out(uint16_t from, uint16_t to, const uint8_t *data, uint32_t length)
{
    (void)to;
    responses += from == 0 && data[1] == WIRE_RESPONSE;
    initiations += from == 0 && data[1] == WIRE_INITIATION;
    bytes_out += from == 0 ? length : 0;
}

static void make_old(void)
{
    static const char *const names[2] = {"n0", "n1"};
    for (uint16_t from = 0; from < 2; from++)
        for (unsigned count = 0; count < OLD; count++) {
            struct wire_greeting greeting =
                spoof_greeting(names[from], names[1 - from], 1000 + count, 77 * count);
            spoof_make(&sizes_primitives, names[from], names[1 - from], &greeting, count, old[from][count]);
        }
}

static void send_old(void)
{
    for (unsigned count = 0; count < OLD; count++) {
        for (uint16_t from = 0; from < 2; from++)
            world_inject(&world, from, 1 - from, old[from][count], WIRE_INITIATION_BYTES);
        for (uint32_t index = count % 7; index < recorded_count; index += 7)
            if (recorded[index].data[1] == WIRE_INITIATION || recorded[index].data[1] == WIRE_RESPONSE)
                world_inject(&world, recorded[index].from, recorded[index].to, recorded[index].data,
                             recorded[index].length);
        world_run_until(&world, world.now_ns + NS_PER_MS);
    }
}

/* Recorded before this start of the peer and since, while a job runs, and again after a restart: no more than a response
 * each. */
static void node_session__recorded_initiations(void **state)
{
    (void)state;
    make_old();
    begin_recorded();
    uint64_t dropped = drops(0) + drops(1);
    responses = initiations = 0;
    world.on_datagram = count_out;
    send_old();
    assert_in_range(responses, 0, OLD / 2);
    assert_in_range(initiations, 0, 4);
    assert_true(drops(0) + drops(1) >= dropped + OLD);
    run_until_over(0, "j", 30 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    world_start(&world, 1);
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_int_equal(world_counter(&world, 0, "peers_reset"), 1);
    send_old();
    assert_int_equal(world_counter(&world, 0, "peers_reset"), 1);
    assert_int_equal(world_counter(&world, 1, "peers_reset"), 0);
    assert_true(is_up(0) && is_up(1));
    world_end(&world);
}

/* The answer of an earlier handshake, while another one is under way: as it was, under the session of that one, and so by the
 * key itself. */
static void node_session__recorded_response(void **state)
{
    (void)state;
    begin_recorded();
    struct recorded response = {0};
    for (uint32_t index = 0; index < recorded_count; index++)
        if (recorded[index].data[1] == WIRE_RESPONSE)
            response = recorded[index];
    assert_int_equal(response.length, WIRE_RESPONSE_BYTES);
    uint16_t to = response.to;
    struct peer *peer = &world.nodes[to].node->peers[0];
    run_until_over(0, "j", 30 * NS_PER_S);
    world_kill(&world, response.from);
    world_run_until(&world, world.now_ns + 8 * NS_PER_S);
    assert_false(is_up(to));
    assert_true(peer->sessions.initiation.session != 0);
    refused(1 - to, response.data, response.length, "drop_session");
    store_be32(response.data + 4, peer->sessions.initiation.session);
    refused(1 - to, response.data, response.length, "drop_mac");
    spoof_mac(&sizes_primitives, to == 0 ? "n1" : "n0", to == 0 ? "n0" : "n1", response.data,
              response.length);
    refused(1 - to, response.data, response.length, "drop_handshake");
    assert_true(peer->sessions.initiation.session != 0);
    world_start(&world, response.from);
    world_run_until(&world, world.now_ns + 2 * NS_PER_S);
    assert_true(is_up(0) && is_up(1));
    world_end(&world);
}

/* ---- an address that has proved nothing ---- */

/* Bytes that n0 sends in so long. */
static uint64_t out_within(uint64_t ns)
{
    uint64_t before = bytes_out;
    world_run_until(&world, world.now_ns + ns);
    return bytes_out - before;
}

/* What n0 sends a second to n1, which was never there, when nothing comes. */
static void begin_alone(uint64_t *own_bytes)
{
    world_init(&world, 2, 1);
    use_keys(&sizes_primitives);
    world_start(&world, 0);
    world.on_datagram = count_out;
    world_run_until(&world, 10 * NS_PER_S);
    *own_bytes = out_within(10 * NS_PER_S) / 10 + WIRE_INITIATION_BYTES;
}

static void node_tx__answers_are_not_longer(void **state)
{
    (void)state;
    uint64_t own_bytes;
    uint8_t datagram[1500] = {0};
    begin_alone(&own_bytes);
    for (unsigned kind = 0; kind < 2; kind++) /* from the address of n1, from nobody's */
        for (uint8_t type = 0; type <= WIRE_TYPE_COUNT; type++) {
            uint64_t dropped = drops(0), before = bytes_out, count = 0;
            for (uint32_t length = 0; length <= sizeof(datagram); length += 7, count++) {
                struct wire_header header = {
                    .version = WIRE_VERSION, .type = type, .session = type == WIRE_INITIATION ? 0 : length};
                wire_header_put(datagram, &header);
                world_inject(&world, kind == 0 ? 1 : 5, 0, datagram, length);
            }
            world_run_until(&world, world.now_ns); /* the node may send now */
            assert_int_equal(bytes_out, before);
            assert_int_equal(drops(0) - dropped, count);
        }
    world_end(&world);
}

/* Who has recorded initiations of n1 sends them while n1 is not there: over any second less comes out than went in. */
static void node_tx__answers_to_recorded_are_not_longer(void **state)
{
    (void)state;
    uint64_t own_bytes;
    make_old();
    begin_alone(&own_bytes);
    for (unsigned each = 1; each <= 10; each++)
        for (unsigned second = 0; second < 5; second++) {
            for (unsigned count = 0; count < each; count++)
                world_inject(&world, 1, 0, old[1][(second + 5 * each) * 10 + count], WIRE_INITIATION_BYTES);
            assert_in_range(out_within(NS_PER_S), 0, each * WIRE_INITIATION_BYTES + own_bytes);
        }
    world_end(&world);
}

/* ---- changed ones ---- */

/* Each byte of an initiation that n1 might send now, and the MAC anew, as its key would make it: what the Noise transcript covers
 * does not open, of the header only the number may differ. */
static void node_session__changed_initiations(void **state)
{
    (void)state;
    struct wire_greeting greeting = spoof_greeting("n1", "n0", 1, 0);
    world_init(&world, 2, 1);
    use_keys(&sizes_primitives);
    start_all();
    world_run_until(&world, 3 * NS_PER_S);
    const struct peer *peer = &world.nodes[0].node->peers[0];
    uint32_t session = peer_session((struct peer *)(uintptr_t)peer)->in;
    for (uint32_t at = 0; at < WIRE_INITIATION_BYTES; at++) {
        uint8_t datagram[WIRE_INITIATION_BYTES];
        bool is_number = at >= 8 && at < 12, is_tag = at >= 16 && at < WIRE_HEADER_BYTES;
        if (is_tag)
            continue;
        spoof_make(&sizes_primitives, "n1", "n0", &greeting, 0, datagram);
        datagram[at] ^= 0x10;
        if (is_number) { /* not by the key: the MAC covers it */
            refused(1, datagram, sizeof(datagram), "drop_mac");
        } else {
            spoof_mac(&sizes_primitives, "n1", "n0", datagram, sizeof(datagram));
            refused(1, datagram, sizeof(datagram),
                    at >= WIRE_HEADER_BYTES ? "drop_handshake"
                    : at == 0               ? "drop_version"
                    : at == 1               ? "drop_type"
                                            : "drop_value");
        }
        world_run_until(&world, world.now_ns + 600 * NS_PER_MS);
    }
    assert_true(is_up(0) && is_up(1));
    assert_int_equal(peer_session((struct peer *)(uintptr_t)peer)->in, session);
    world_end(&world);
}

/* The addresses of two peers are swapped in the file of n0: it takes none for the other, and says so. */
static void node_session__swapped_addresses(void **state)
{
    (void)state;
    world_init(&world, 3, 1);
    use_keys(&sizes_primitives);
    struct node_peer_config *peers = world.nodes[0].config.peers;
    struct net_address kept = peers[0].address;
    peers[0].address = peers[1].address;
    peers[1].address = kept;
    start_all();
    world_run_until(&world, 5 * NS_PER_S);
    for (uint16_t index = 0; index < 2; index++) {
        char text[CONTROL_TEXT_BYTES];
        struct node_edge_view view;
        assert_true(node_edge_view(world.nodes[0].node, index, &view) && !view.up);
        node_peer_misfit(world.nodes[0].node, index, text, sizeof(text));
        assert_non_null(strstr(text, index == 0 ? "of the key of 'n2', expected that of 'n1'"
                                                : "of the key of 'n1', expected that of 'n2'"));
    }
    assert_true(world_counter(&world, 0, "drop_mac") > 0);
    assert_int_equal(world_counter(&world, 0, "rx_handshakes"), 0);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_session__garbage_of_a_member),
        cmocka_unit_test(node_session__recorded_initiations),
        cmocka_unit_test(node_session__recorded_response),
        cmocka_unit_test(node_tx__answers_are_not_longer),
        cmocka_unit_test(node_tx__answers_to_recorded_are_not_longer),
        cmocka_unit_test(node_session__changed_initiations),
        cmocka_unit_test(node_session__swapped_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
