/* A member of the roster that no directory lists, and that says whatever it likes as fast as it can: what it may take is bounded
 * and comes back, it is counted and named, and everybody else's jobs go on. */
#include <inttypes.h>

#include "node/flow/unasked.h"
#include "node/role/rights.h"
#include "node/role/unlisted.h"
#include "offers.h"

enum { SOURCE, VICTIM, MEMBER, STRANGER, COUNT };
#define RATE_BPS  100000000u
#define JOB_BYTES 20000000u

static struct node *node_of(uint16_t node)
{
    return world.nodes[node].node;
}

static uint16_t peer_of(uint16_t node, uint16_t other)
{
    return other < node ? other : (uint16_t)(other - 1);
}

static void pass(uint64_t time_ns)
{
    world_run_until(&world, world.now_ns + time_ns);
}

static uint64_t counted(uint16_t node, const char *name)
{
    return world_counter(&world, node, name);
}

static uint64_t misfit_says(uint16_t node, const char *words)
{
    char text[CONTROL_TEXT_BYTES];
    misfit_text(node_of(node), &node_of(node)->peers[peer_of(node, MEMBER)], text, sizeof(text));
    return strstr(text, words) != NULL;
}

/* All paths carry RATE_BPS; the victim's directory lists the source alone. */
static void begin(bool has_directory)
{
    world_init(&world, COUNT, 1);
    world.liars = true;
    world.source_bytes = JOB_BYTES;
    for (uint16_t from = 0; from < COUNT; from++)
        for (uint16_t to = 0; to < COUNT; to++)
            world.rate_bps[from][to] = RATE_BPS;
    struct node_config *config = &world.nodes[VICTIM].config;
    config->blocks_max = 1 << 18;
    config->directory_count = has_directory ? config->directory_count : 0;
    config->directories[0].any_source = false;
    config->directories[0].source_count = 1;
    strcpy(config->directories[0].sources[0], "n0");
    start_all();
    pass(2 * NS_PER_S);
}

/* A part that the victim is only to relay, of so many blocks. */
static struct offer relayed(uint32_t job, uint64_t blocks)
{
    struct offer offer = good_offer();
    offer.part.fixed.job = job;
    offer.part.fixed.keep = 0;
    offer.part.fixed.size_bytes = blocks * 744 * 1408;
    strcpy(offer.part.fixed.source.text, "n2");
    strcpy(offer.trees[0].fixed.parent.text, "n2");
    strcpy(offer.trees[0].children[0].name.text, "n3");
    return offer;
}

/* The member's own code would close a job of its that it knows nothing of; one that is over, and not the victim's, it leaves
 * alone. */
static void keep_quiet_of(uint32_t job)
{
    job_allocate(node_of(MEMBER), job, PEER_SELF, PHASE_ACCEPTED, world.now_ns)->phase = PHASE_CLOSED;
}

/* By the member, as fast as its queue takes it; false: that is full. */
static bool tell(const struct offer *offer)
{
    struct control_tree tree = offer->trees[0];
    tree.fixed.job = offer->part.fixed.job;
    tree.fixed.epoch = offer->part.fixed.epoch;
    return post(node_of(MEMBER), peer_of(MEMBER, VICTIM), CONTROL_PART, &offer->part) &&
           post(node_of(MEMBER), peer_of(MEMBER, VICTIM), CONTROL_TREE, &tree);
}

static uint32_t open_jobs_of(uint16_t node, uint16_t source)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        const struct job *job = &node_of(node)->jobs[slot];
        count += job_is_known(job) && job->phase != PHASE_CLOSED && job->source_peer == peer_of(node, source);
    }
    return count;
}

static uint64_t tables_used(void)
{
    return node_of(VICTIM)->store.blocks_used;
}

static struct job_spec own_job(const char *name)
{
    struct job_spec spec = world_job(&world, name);
    spec.to_all = false;
    spec.receiver_count = 1;
    strcpy(spec.receivers[0], "n1");
    return spec;
}

/* How long the victim's own job takes, while somebody does something each millisecond. */
static uint64_t own_job_ns(const char *name, void (*meanwhile)(void))
{
    struct job_spec spec = own_job(name);
    uint64_t from_ns = world.now_ns;
    run_job_at(SOURCE, &spec);
    while (state_at(SOURCE, name) < JOB_DONE && world.now_ns < from_ns + 60 * NS_PER_S) {
        if (meanwhile != NULL)
            meanwhile();
        pass(NS_PER_MS);
    }
    assert_state(SOURCE, name, JOB_DONE);
    return world.now_ns - from_ns;
}

/* ---- memory ---- */

/* The largest there is takes nothing; a quarter of it is taken, and comes back without a start; the victim's own goes on beside
 * it. */
static void part__tables_are_bounded_and_come_back(void **state)
{
    (void)state;
    begin(true);
    struct offer largest = relayed(77, 1 << 18), quarter = relayed(78, 1 << 16);
    keep_quiet_of(77);
    keep_quiet_of(78);
    assert_true(tell(&largest));
    pass(NS_PER_S);
    assert_int_equal(tables_used(), 0);
    assert_int_equal(open_jobs_of(VICTIM, MEMBER), 0);
    assert_true(tell(&quarter));
    pass(NS_PER_S);
    assert_int_equal(tables_used(), 1 << 16);
    own_job_ns("own", NULL);
    assert_int_equal(counted(VICTIM, "jobs_failed"), 0);
    pass(30 * NS_PER_S);
    assert_int_equal(tables_used(), 0);
    assert_true(world_is_clean(&world, VICTIM));
    world_end(&world);
}

/* Planned again before the time for its start is over, again and again: not for ever. */
static void part__planned_again_and_again(void **state)
{
    (void)state;
    begin(true);
    struct offer offer = relayed(77, 1 << 16);
    keep_quiet_of(77);
    for (uint32_t turn = 0; turn < 8; turn++) {
        offer.part.fixed.epoch = turn + 1;
        assert_true(tell(&offer));
        pass(15 * NS_PER_S);
        assert_int_equal(tables_used(), turn < 4 ? 1 << 16 : 0);
    }
    assert_true(world_is_clean(&world, VICTIM));
    world_end(&world);
}

/* A tree keeps a slot or two: three quarters of them stay for those that a directory lists. */
static void part__trees_are_bounded(void **state)
{
    (void)state;
    begin(true);
    const struct store *store = &node_of(VICTIM)->store;
    uint32_t all = store_stripes_max(store, NULL), taken = 0;
    for (uint32_t job = 100; job < 106; job++) {
        struct offer offer = relayed(job, 4);
        offer.part.fixed.stripes = CONTROL_STRIPES_MAX;
        keep_quiet_of(job);
        assert_true(post(node_of(MEMBER), peer_of(MEMBER, VICTIM), CONTROL_PART, &offer.part));
        for (uint8_t stripe = 0; stripe < CONTROL_STRIPES_MAX; stripe++) {
            struct control_tree tree = offer.trees[0];
            tree.fixed.job = job;
            tree.fixed.epoch = 1;
            tree.fixed.stripe = stripe;
            assert_true(post(node_of(MEMBER), peer_of(MEMBER, VICTIM), CONTROL_TREE, &tree));
        }
        pass(200 * NS_PER_MS);
    }
    taken = all - store_stripes_max(store, NULL);
    if (taken > store->slot_count / 4 + CONTROL_STRIPES_MAX)
        fail_msg("%u of %u slots are kept", taken, all);
    world_end(&world);
}

/* A source that a directory lists has all of them, as the only one has. */
static void part__a_listed_source_has_no_bounds(void **state)
{
    (void)state;
    for (int listed = 0; listed < 3; listed++) {
        begin(true);
        struct node_config *config = &node_of(VICTIM)->config;
        if (listed == 1)
            strcpy(config->directories[0].sources[0], "n2");
        config->relay_for_some = listed == 2; /* named there it is listed as well */
        config->relay_for_count = 1;
        strcpy(config->relay_for[0], "n2");
        struct offer largest = relayed(77, 1 << 18);
        keep_quiet_of(77);
        assert_true(tell(&largest));
        pass(NS_PER_S);
        assert_int_equal(tables_used(), listed ? 1 << 18 : 0);
        world_end(&world);
    }
}

/* Half of the places; three quarters for each where the node does nothing but relay. */
static void part__places_are_bounded(void **state)
{
    (void)state;
    for (int relay = 0; relay < 2; relay++) {
        begin(!relay);
        for (uint32_t job = 100; job < 100 + NODE_JOBS_MAX; job++) {
            struct offer offer = relayed(job, 100);
            keep_quiet_of(job);
            assert_true(tell(&offer));
            pass(100 * NS_PER_MS);
        }
        assert_int_equal(open_jobs_of(VICTIM, MEMBER), relay ? NODE_JOBS_MAX * 3 / 4 : NODE_JOBS_MAX / 2);
        world_end(&world);
    }
}

/* `relay: no` counts where nothing is kept, too. */
static void part__a_leaf_relays_nothing(void **state)
{
    (void)state;
    begin(true);
    node_of(VICTIM)->config.leaf = true;
    struct offer offer = relayed(77, 100);
    offer.trees[0].fixed.child_count = 0;
    assert_true(tell(&offer));
    pass(NS_PER_S);
    assert_int_equal(open_jobs_of(VICTIM, MEMBER), 0);
    assert_int_equal(counted(VICTIM, "messages_forbidden"), 1);
    assert_true(misfit_says(VICTIM, "'part'"));
    world_end(&world);
}

/* ---- floods ---- */

static uint32_t flood_epoch;

static void plan_anew(void)
{
    struct offer offer = relayed(77, 100000);
    do
        offer.part.fixed.epoch = ++flood_epoch;
    while (post_room(node_of(MEMBER), peer_of(MEMBER, VICTIM)) > 2 && tell(&offer));
}

static void write_where_it_may_not(void)
{
    struct offer offer = relayed(77, 100);
    offer.part.fixed.keep = 1;
    do
        offer.part.fixed.job = ++flood_epoch;
    while (post_room(node_of(MEMBER), peer_of(MEMBER, VICTIM)) > 2 && tell(&offer));
}

static void ask_for_measurements(void)
{
    struct wire_measure measure = {.duration_ms = 200};
    do
        measure.job = ++flood_epoch;
    while (post_has_ample_room(node_of(MEMBER), peer_of(MEMBER, VICTIM)) &&
           post(node_of(MEMBER), peer_of(MEMBER, VICTIM), CONTROL_MEASURE, &measure));
}

/* The victim's own job takes no tenth longer, is not refused, and what ended before stays in `show jobs`. */
static void flood__the_victims_job_goes_on(void **state)
{
    (void)state;
    static void (*const floods[])(void) = {plan_anew, write_where_it_may_not, ask_for_measurements};
    for (size_t flood = 0; flood < sizeof(floods) / sizeof(floods[0]); flood++) {
        begin(true);
        uint64_t alone_ns = own_job_ns("alone", NULL);
        keep_quiet_of(77);
        uint64_t beside_ns = own_job_ns("beside", floods[flood]);
        if (beside_ns * 9 > alone_ns * 10)
            fail_msg("flood %zu: %" PRIu64 " ns alone, %" PRIu64 " beside it", flood, alone_ns, beside_ns);
        assert_int_equal(state_at(VICTIM, "alone"), JOB_DONE);
        assert_int_equal(counted(VICTIM, "jobs_failed"), 0);
        if (floods[flood] != ask_for_measurements) {
            assert_true(counted(VICTIM, "messages_forbidden") > 100);
            assert_true(misfit_says(VICTIM, "'part'"));
        }
        pass(30 * NS_PER_S);
        assert_int_equal(tables_used(), 0);
        assert_true(world_is_clean(&world, VICTIM));
        world_end(&world);
    }
}

/* Of a minute of parts as fast as it can, so many are looked at. */
static void flood__parts_have_a_budget(void **state)
{
    (void)state;
    begin(true);
    uint64_t answers = 0;
    struct offer offer = relayed(77, 100);
    const struct mail *mail = &node_of(VICTIM)->peers[peer_of(VICTIM, MEMBER)].mail;
    uint64_t from = mail->out_next;
    for (uint32_t turn = 0; turn < 10000; turn++) {
        offer.part.fixed.epoch = turn + 1;
        if (post_room(node_of(MEMBER), peer_of(MEMBER, VICTIM)) > 2)
            tell(&offer);
        pass(NS_PER_MS);
    }
    answers = mail->out_next - from;
    assert_true(counted(VICTIM, "messages_forbidden") > 1000);
    assert_true(answers <= UNLISTED_PARTS + 10 * UNLISTED_PARTS_PS + 10);
    world_end(&world);
}

/* Each measurement sends probes to all: one a second, whatever the peer asks. */
static void flood__measurements_have_a_budget(void **state)
{
    (void)state;
    begin(true);
    uint32_t probes = node_of(VICTIM)->peers[peer_of(VICTIM, STRANGER)].probe.next_id;
    for (uint32_t turn = 0; turn < 3000; turn++) {
        ask_for_measurements();
        pass(NS_PER_MS);
    }
    probes = node_of(VICTIM)->peers[peer_of(VICTIM, STRANGER)].probe.next_id - probes;
    assert_true(probes > 0 && probes <= 4 * RTT_PROBE_PLACES);
    world_end(&world);
}

/* ---- every kind, cut at each byte ---- */

static size_t encoded(unsigned kind, uint8_t *body)
{
    const struct offer offer = relayed(77, 100);
    const struct wire_measure measure = {.job = 77, .duration_ms = 200};
    const struct wire_blocks blocks = {.job = 77, .count = 1};
    const struct wire_probe_ask ask = {.lasts_ms = 100, .trains = 1, .bytes = 1000};
    const struct control_train_report report = {0};
    switch (kind) {
    case CONTROL_PART:
        return control_part_encode(body, &offer.part);
    case CONTROL_TREE:
        return control_tree_encode(body, &offer.trees[0]);
    case CONTROL_MEASURE:
        return control_measure_encode(body, &measure);
    case CONTROL_HAVE:
    case CONTROL_RESEND:
        return control_blocks_encode(body, &blocks);
    case CONTROL_PROBE_ASK:
        return control_probe_ask_encode(body, &ask);
    case CONTROL_TRAIN_REPORT:
        return control_train_report_encode(body, &report);
    default:
        return 0;
    }
}

static const uint8_t kinds[] = {CONTROL_PART,   CONTROL_TREE,      CONTROL_MEASURE,     CONTROL_HAVE,
                                CONTROL_RESEND, CONTROL_PROBE_ASK, CONTROL_TRAIN_REPORT};
static unsigned cut_kind;
static size_t cut_length;

static void say_cut(void)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    size_t length = encoded(kinds[cut_kind], body);
    while (post_room(node_of(MEMBER), peer_of(MEMBER, VICTIM)) > 2) {
        post_bytes(node_of(MEMBER), peer_of(MEMBER, VICTIM), kinds[cut_kind], body, cut_length);
        cut_length = cut_length >= length ? 0 : cut_length + 1;
        cut_kind = cut_length == 0 ? (cut_kind + 1) % sizeof(kinds) : cut_kind;
        length = encoded(kinds[cut_kind], body);
    }
}

static void flood__cut_at_each_byte(void **state)
{
    (void)state;
    begin(true);
    cut_kind = 0;
    cut_length = 0;
    uint64_t alone_ns = own_job_ns("alone", NULL);
    uint64_t beside_ns = own_job_ns("beside", say_cut);
    assert_true(beside_ns * 9 <= alone_ns * 10);
    assert_true(counted(VICTIM, "messages_refused") > 100);
    pass(30 * NS_PER_S);
    assert_true(world_is_clean(&world, VICTIM));
    world_end(&world);
}

/* ---- a feed to a stranger ---- */

static uint64_t stranger_bytes;

static void count_stranger(uint16_t from, uint16_t to, const uint8_t *data, uint32_t length)
{
    (void)from;
    (void)data;
    stranger_bytes += to == STRANGER ? length : 0;
}

/* The victim relays a job to somebody who knows nothing of it: the stranger forgets it before the first packet comes. It acks what
 * comes, since numbers belong to the edge, and says so at once; the victim's own copy comes as ever. */
static void stranger__is_fed_no_more(void **state)
{
    (void)state;
    static const uint16_t chain[][2] = {{SOURCE, VICTIM}, {VICTIM, STRANGER}};
    begin(true);
    struct job_spec spec = own_job("feed");
    spec.receiver_count = 2;
    strcpy(spec.receivers[1], "n3");
    give_tree(&spec, chain, 2);
    run_job_at(SOURCE, &spec);
    assert_true(run_until_state(SOURCE, "feed", JOB_DISTRIBUTING, 5 * NS_PER_S));
    while (state_at(STRANGER, "feed") == JOB_STATE_COUNT)
        pass(NS_PER_MS);
    struct node *stranger = node_of(STRANGER);
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++)
        stranger->job_ids[slot] = 0;
    stranger_bytes = 0;
    world.on_datagram = count_stranger;
    pass(10 * NS_PER_S);
    assert_state(VICTIM, "feed", JOB_RUNNING);
    assert_int_equal(node_of(VICTIM)->jobs[0].result, SITE_VERIFIED);
    assert_int_equal(counted(VICTIM, "children_parted"), 1);
    assert_int_equal(counted(STRANGER, "feeds_unasked"), 1);
    assert_true(counted(STRANGER, "drop_data_job") > 0);
    if (stranger_bytes > 1000000)
        fail_msg("the stranger got %" PRIu64 " bytes", stranger_bytes);
    world_end(&world);
}

/* Each job is told of once a second, and no more than so many jobs. */
static void unasked__has_a_budget(void **state)
{
    (void)state;
    begin(true);
    struct node *node = node_of(STRANGER);
    struct peer *peer = &node->peers[peer_of(STRANGER, VICTIM)];
    for (uint32_t ms = 0; ms < 10000; ms++) {
        for (uint32_t job = 1; job <= 2 * UNASKED_JOBS; job++)
            unasked_data(node, peer, job, world.now_ns);
        pass(NS_PER_MS);
    }
    uint64_t told = counted(STRANGER, "feeds_unasked");
    assert_true(told >= UNASKED_JOBS && told <= UNASKED_JOBS * 11);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(part__tables_are_bounded_and_come_back),
        cmocka_unit_test(part__planned_again_and_again),
        cmocka_unit_test(part__trees_are_bounded),
        cmocka_unit_test(part__a_listed_source_has_no_bounds),
        cmocka_unit_test(part__places_are_bounded),
        cmocka_unit_test(part__a_leaf_relays_nothing),
        cmocka_unit_test(flood__the_victims_job_goes_on),
        cmocka_unit_test(flood__parts_have_a_budget),
        cmocka_unit_test(flood__measurements_have_a_budget),
        cmocka_unit_test(flood__cut_at_each_byte),
        cmocka_unit_test(stranger__is_fed_no_more),
        cmocka_unit_test(unasked__has_a_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
