/* Configurations that do not fit each other: what is heard of such a peer, and what a job says of it. */
#include "node/node.h"
#include "sizes/sizes.h"
#include "spoof.h"

#define STRANGER 5 /* a node's place that nobody has: whose address nobody knows */

static void assert_misfit(uint16_t node, const char *expected)
{
    char text[CONTROL_TEXT_BYTES];
    node_peer_misfit(world.nodes[node].node, 0, text, sizeof(text));
    assert_string_equal(text, expected);
}

static void node_peer__does_not_fit(void **state)
{
    static const struct {
        const char *name;  /* of n1, in its own file */
        uint16_t udp_port; /* of n1, in the file of n0 */
        const char *of_n1, *of_n0;
    } rows[] = {
        {"n1", 7840, "", ""},
        {"tokyo", 7840, "it says that it is 'tokyo', expected 'n1'",
         "it speaks to 'n1', this node is 'tokyo'"},
        {"n1", 7841, "packets in its name come from 10.0.0.2:7840, expected 10.0.0.2:7841", ""},
    };
    (void)state;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        world_init(&world, 2, row + 1);
        struct node_config *of_n0 = &world.nodes[0].config, *of_n1 = &world.nodes[1].config;
        struct net_address right = of_n0->peers[0].address;
        name_copy(of_n1->name, sizeof(of_n1->name), rows[row].name);
        of_n0->peers[0].address.udp_port = rows[row].udp_port;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        assert_misfit(0, rows[row].of_n1);
        assert_misfit(1, rows[row].of_n0);
        struct job_spec spec = world_job(&world, "j");
        run_job_at(0, &spec);
        run_until_over(0, "j", 30 * NS_PER_S);
        if (row > 0)
            assert_text(0, "j", rows[row].of_n1);
        /* Mended, the peer comes up and nothing is left of it. */
        name_copy(of_n1->name, sizeof(of_n1->name), "n1");
        of_n0->peers[0].address = right;
        start_all();
        world_run_until(&world, world.now_ns + 3 * NS_PER_S);
        assert_misfit(0, "");
        assert_misfit(1, "");
        world_end(&world);
    }
}

/* A port changes in mid transfer (NAT): the site is failed with what is heard in its place; or it is the source's own, and only
 * the site knows. */
static void node_job__source_port_changes(void **state)
{
    static const char *const texts[] = {
        "it is heard, but takes nothing that comes from here; show peers there",
        "packets in its name come from 10.0.0.2:40001, expected 10.0.0.2:7840"};
    (void)state;
    for (uint16_t whose = 0; whose < 2; whose++) {
        world_init(&world, 2, 1);
        world.source_bytes = 80000000;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        struct job_spec spec = world_job(&world, "j");
        run_job_at(0, &spec);
        assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
        world_run_until(&world, world.now_ns + 10 * NS_PER_MS);
        world.nodes[whose].nat_port = 40001;
        run_until_over(0, "j", 60 * NS_PER_S);
        assert_state(0, "j", JOB_FAILED);
        assert_text(0, "j", texts[whose]);
        if (whose == 0)
            assert_misfit(1, "packets in its name come from 10.0.0.1:40001, expected 10.0.0.1:7840");
        world_end(&world);
    }
}

static void begin(void)
{
    world_init(&world, 2, 1);
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    assert_misfit(0, "");
}

#define TWICE "two nodes say to be it, both from its address: one name and address twice?"

/* Each says hello, and the one that is known goes on: not what a restart looks like, but for that some time must pass. When the
 * other is gone nothing is left of it. */
static void node_peer__two_with_one_name_and_address(void **state)
{
    (void)state;
    begin();
    for (unsigned second = 0; second < 20; second++) {
        spoof_initiation(1, "n1", "n0", 4242, 0);
        world_run_until(&world, world.now_ns + NS_PER_S);
        if (second < 5)
            assert_misfit(0, "");
    }
    assert_misfit(0, TWICE);
    assert_int_equal(world_counter(&world, 0, "peers_reset"), 0);
    world_run_until(&world, world.now_ns + 70 * NS_PER_S);
    assert_misfit(0, "");
    world_end(&world);
}

/* One after the other is believed: a start that was replaced comes back. A restart has an incarnation that never was before. */
static void node_peer__an_old_start_comes_back(void **state)
{
    (void)state;
    begin();
    uint64_t first = world.nodes[1].config.incarnation;
    world_start(&world, 1);
    world_run_until(&world, world.now_ns + 3 * NS_PER_S);
    assert_true(world.nodes[1].config.incarnation != first);
    assert_misfit(0, "");
    world.nodes[1].config.incarnation = first - 1; /* what a start adds to */
    world.nodes[1].config.seed++;                  /* its keys are new all the same */
    world_start(&world, 1);
    world_run_until(&world, world.now_ns + 3 * NS_PER_S);
    assert_int_equal(world.nodes[1].config.incarnation, first);
    assert_misfit(0, TWICE);
    world.nodes[1].config.incarnation = first + 10;
    world_start(&world, 1);
    world_run_until(&world, world.now_ns + 3 * NS_PER_S);
    assert_misfit(0, "");
    world_end(&world);
}

static void node_peer__one_name_at_two_addresses(void **state)
{
    (void)state;
    char text[CONTROL_TEXT_BYTES];
    begin();
    spoof_initiation(STRANGER, "n1", "n0", 4242, 0);
    assert_misfit(
        0,
        "packets in its name come from 10.0.0.6:7840, expected 10.0.0.2:7840, from where it is up: are there "
        "two of that name?");
    /* In this node's own name: from a peer's address, and from nobody's. */
    spoof_initiation(1, "n0", "n1", 4242, 0);
    assert_misfit(0, "it says that it is 'n0', as this node is called, expected 'n1'");
    assert_int_equal(node_namesake(world.nodes[0].node, text, sizeof(text)), 0);
    assert_string_equal(text, "");
    for (unsigned twice = 0; twice < 2; twice++) {
        world_run_until(&world, world.now_ns + NS_PER_S);
        spoof_initiation(STRANGER, "n0", "n1", 4242, 0);
    }
    assert_int_equal(node_namesake(world.nodes[0].node, text, sizeof(text)), 2);
    assert_string_equal(text, "handshakes in the name of this node, 'n0', come from 10.0.0.6:7840");
    assert_int_equal(node_namesake(world.nodes[1].node, text, sizeof(text)), 0);
    /* It is gone, and nothing is said any more; the count never goes back. */
    world_run_until(&world, world.now_ns + 301 * NS_PER_S);
    assert_int_equal(node_namesake(world.nodes[0].node, text, sizeof(text)), 2);
    assert_string_equal(text, "");
    world_end(&world);
}

static struct key_pair pair_of(const char *name)
{
    struct key_pair pair;
    insecure_key_pair(&sizes_primitives, name, &pair);
    return pair;
}

/* n0 and n1, and an n2 that is not there: their own keys and those that each was told of the others. */
static void give_keys(uint16_t node, const char *own, const char *const told[2])
{
    struct node_config *config = &world.nodes[node].config;
    config->primitives = &sizes_primitives;
    config->key = pair_of(own);
    for (uint16_t peer = 0; peer < 2; peer++) {
        struct key_pair pair = pair_of(told[peer]);
        config->peers[peer].key_count = 1;
        memcpy(config->peers[peer].public_keys[0], pair.public_key, SEAL_KEY_BYTES);
    }
}

/* Each says what it can know: whose key it is only of a site of its roster, that proves it. */
static void node_peer__of_another_key(void **state)
{
    static const struct {
        const char *own[2];     /* keys of n0 and n1; NULL: none at all */
        const char *told[2][2]; /* to n0 of n1 and n2; to n1 of n0 and n2 */
        const char *of_n1, *of_n0;
    } rows[] = {
        {{"a", "b"}, {{"b", "c"}, {"a", "c"}}, "", ""},
        {{"a", NULL},
         {{"b", "c"}, {"", ""}},
         "its handshakes are of no key (node.insecure there), and this node has one",
         "its handshakes are of a key, and this node has none (node.insecure)"},
        {{"a", "new b"},
         {{"b", "c"}, {"a", "c"}},
         "its handshakes are of a key that is not in the roster, unproved: compare with what sluicectl key "
         "show prints "
         "at n1",
         "its handshakes are not for this node's key: its roster may have an old one of 'n1', compare with "
         "what "
         "sluicectl key show prints here"},
        {{"a", "b"},
         {{"c", "b"}, {"a", "c"}},
         "its handshakes are of the key of 'n2', expected that of 'n1'",
         "its handshakes are not for this node's key: its roster may have an old one of 'n1', compare with "
         "what "
         "sluicectl key show prints here"},
    };
    (void)state;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        world_init(&world, 3, row + 1);
        for (uint16_t node = 0; node < 2; node++)
            if (rows[row].own[node] != NULL)
                give_keys(node, rows[row].own[node], rows[row].told[node]);
        world_start(&world, 0);
        world_start(&world, 1);
        world_run_until(&world, 4 * NS_PER_S);
        assert_misfit(0, rows[row].of_n1);
        assert_misfit(1, rows[row].of_n0);
        assert_int_equal(world_counter(&world, 0, "drop_mac") > 0, row > 0);
        world_end(&world);
    }
}

/* To n0, from the address of n1: it names n2's public key as its author's, without having n2's private one. */
static void inject_planted(void)
{
    static struct cipher_key scratch;
    static uint8_t count;
    uint8_t datagram[WIRE_INITIATION_BYTES], payload[WIRE_GREETING_BYTES] = {0},
                                             ephemeral[SEAL_KEY_BYTES] = {0};
    struct key_pair planted = pair_of("nobody"), named = pair_of("c"), n0 = pair_of("a");
    struct wire_header header = {.version = WIRE_VERSION, .type = WIRE_INITIATION};
    struct bond bond;
    struct noise noise;
    ephemeral[0] = (uint8_t)(2 * ++count); /* odd ones are the same to these primitives */
    memcpy(planted.public_key, named.public_key, SEAL_KEY_BYTES);
    assert_true(bond_make(&bond, &sizes_primitives, &planted, n0.public_key));
    wire_header_put(datagram, &header);
    datagram[WIRE_HEADER_BYTES - 1] = 1; /* some tag */
    assert_true(
        handshake_initiate(&noise, &bond, &scratch, ephemeral, payload, datagram + WIRE_HEADER_BYTES));
    world_inject(&world, 1, 0, datagram, sizeof(datagram));
}

/* Nobody is named by whoever likes. */
static void node_peer__of_a_key_that_is_planted(void **state)
{
    static const char *const told[2] = {"b", "c"};
    static const char unknown[] =
        "its handshakes are of another key than the roster has, or of none: compare with what "
        "sluicectl key show prints at n1";
    (void)state;
    world_init(&world, 3, 1);
    give_keys(0, "a", told);
    world_start(&world, 0);
    world_run_until(&world, NS_PER_S);
    for (unsigned count = 0; count < 100; count++) {
        inject_planted();
        world_run_until(&world, world.now_ns + 50 * NS_PER_MS);
    }
    assert_misfit(0, unknown);
    assert_int_equal(world_counter(&world, 0, "drop_mac"), 100);
    world_end(&world);
}

static void assert_roster(uint16_t node, const char *word)
{
    static char text[1 << 16];
    static struct ctl_msg msg = {.type = CTL_SHOW,
                                 .body.show = {.what = CTL_SHOW_peers, .form = REPORT_JSON}};
    struct ctl_reply reply = {.text = text, .room = sizeof(text)};
    node_ctl(world.nodes[node].node, &msg, &reply, world.now_ns);
    assert_true(reply.ok);
    assert_non_null(strstr(text, word));
}

/* The peers are up all the same. */
static void node_peer__has_another_roster(void **state)
{
    static const struct {
        uint64_t of[2];
        const char *word;
    } rows[] = {
        {{7, 7}, "\"roster\":\"same\""}, {{7, 8}, "\"roster\":\"differs\""}, {{7, 0}, "\"roster\":\"\""}};
    (void)state;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        world_init(&world, 2, row + 1);
        for (uint16_t node = 0; node < 2; node++)
            world.nodes[node].config.roster = rows[row].of[node];
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        for (uint16_t node = 0; node < 2; node++) {
            assert_roster(node, rows[row].word);
            assert_roster(node, "\"state\":\"up\"");
        }
        world_end(&world);
    }
}

static void assert_silence(uint16_t peer, const char *expected)
{
    char text[CONTROL_TEXT_BYTES];
    node_peer_silence(world.nodes[0].node, peer, text, sizeof(text));
    assert_string_equal(text, expected);
}

static void node_peer__does_not_answer(void **state)
{
    static const char silent[] = "no answer: it does not run, or packets to it or from it get lost";
    (void)state;
    world_init(&world, 3, 1);
    world_start(&world, 0);
    world_start(&world, 1);
    world_run_until(&world, 4 * NS_PER_S);
    assert_silence(0, "");
    assert_silence(1, "");
    world_run_until(&world, 6 * NS_PER_S);
    assert_silence(0, "");
    assert_silence(1, silent);
    assert_misfit(0, "");
    world_start(&world, 2);
    world_run_until(&world, 10 * NS_PER_S);
    assert_silence(1, "");
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(node_peer__does_not_fit),
                                       cmocka_unit_test(node_job__source_port_changes),
                                       cmocka_unit_test(node_peer__two_with_one_name_and_address),
                                       cmocka_unit_test(node_peer__an_old_start_comes_back),
                                       cmocka_unit_test(node_peer__one_name_at_two_addresses),
                                       cmocka_unit_test(node_peer__of_another_key),
                                       cmocka_unit_test(node_peer__of_a_key_that_is_planted),
                                       cmocka_unit_test(node_peer__has_another_roster),
                                       cmocka_unit_test(node_peer__does_not_answer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
