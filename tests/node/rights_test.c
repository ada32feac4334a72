/* What members of the roster say that have no right to it: it is counted, people hear of it, and nothing else happens. Jobs
 * that only have an id in common are two jobs. */
#include "node/flow/flow.h"
#include "node/role/source.h"
#include "offers.h"
#include "wire/ack.h"

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

static uint64_t forbidden_at(uint16_t node)
{
    return world_counter(&world, node, "messages_forbidden");
}

static uint32_t opened_at(uint16_t node)
{
    uint32_t count = 0;
    for (uint32_t handle = 0; handle < DISK_HANDLES_MAX; handle++)
        count +=
            world.nodes[node].files[handle].path[0] != '\0' || world.nodes[node].files[handle].data != NULL;
    return count;
}

static void assert_right(uint16_t node, const char *name)
{
    const struct world_file *file = NULL;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++)
        if (job_is_known(&node_of(node)->jobs[slot]) &&
            strcmp(node_of(node)->jobs[slot].part.fixed.job_name.text, name) == 0)
            file = &world.nodes[node].files[slot];
    assert_non_null(file);
    assert_true(file->finished);
    assert_int_equal(file->size, world.source_bytes);
    for (uint64_t offset = 0; offset < file->size; offset += 997)
        assert_int_equal(file->data[offset], world_source_byte(offset));
}

static void begin(uint16_t count, uint64_t bytes)
{
    world_init(&world, count, 1);
    world.liars = true;
    world.source_bytes = bytes;
    start_all();
    pass(2 * NS_PER_S);
}

/* From n0 by n1 to n2. */
static struct job_spec chain_job(const char *name)
{
    static const uint16_t chain[][2] = {{0, 1}, {1, 2}};
    struct job_spec spec = world_job(&world, name);
    spec.to_all = false;
    spec.receiver_count = 2;
    strcpy(spec.receivers[0], "n1");
    strcpy(spec.receivers[1], "n2");
    give_tree(&spec, chain, 2);
    return spec;
}

/* ---- who is nothing to the job ---- */

static const struct job *job_at(uint16_t node)
{
    return &node_of(node)->jobs[0];
}

/* Well made, of the job that runs, and as harmful as it can be. */
static void say_all_kinds(uint16_t from, uint16_t to)
{
    uint32_t id = job_at(0)->id, epoch = job_at(0)->epoch;
    struct wire_start start = {.job = id, .epoch = epoch};
    struct wire_adjust adjust = {.job = id, .revision = 1000, .paused = 1};
    struct control_hashes hashes = {.fixed = {.job = id, .count = 1}};
    struct wire_stream_end end = {.job = id, .symbols = 1};
    struct control_close_job close = {.fixed = {.job = id, .outcome = CLOSE_CANCELLED}};
    struct control_tree tree = {.fixed = {.job = id, .epoch = epoch + 1, .weight = 1, .parent = {"n3"}}};
    struct control_confirm confirm = {.fixed = {.job = id, .epoch = epoch, .answer = CONFIRM_REFUSED}};
    struct control_status status = {.fixed = {.job = id, .state = SITE_FAILED, .laggard = UINT8_MAX}};
    struct wire_blocks blocks = {.job = id, .count = 1};
    struct wire_stream_room room = {.job = id, .blocks = UINT64_MAX};
    struct control_let_go let_go = {.fixed = {.job = id}};
    struct control_measurement measurement = {.fixed = {.job = id, .total = 1}};
    struct control_available available = {0};
    const struct {
        enum control_kind kind;
        const void *message;
    } rows[] = {{CONTROL_START, &start},
                {CONTROL_ADJUST, &adjust},
                {CONTROL_HASHES, &hashes},
                {CONTROL_STREAM_END, &end},
                {CONTROL_CLOSE_JOB, &close},
                {CONTROL_TREE, &tree},
                {CONTROL_CONFIRM, &confirm},
                {CONTROL_STATUS, &status},
                {CONTROL_HAVE, &blocks},
                {CONTROL_RESEND, &blocks},
                {CONTROL_STREAM_ROOM, &room},
                {CONTROL_LET_GO, &let_go},
                {CONTROL_MEASUREMENT, &measurement},
                {CONTROL_AVAILABLE, &available}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        uint64_t forbidden = forbidden_at(to), refused = world_counter(&world, to, "messages_refused");
        assert_true(post(node_of(from), peer_of(from, to), rows[row].kind, rows[row].message));
        pass(50 * NS_PER_MS);
        if (forbidden_at(to) != forbidden + 1)
            fail_msg("'%s' to n%u", word_of(control_kind_words, rows[row].kind), to);
        assert_int_equal(world_counter(&world, to, "messages_refused"), refused);
    }
}

static void control__from_who_is_no_part_of_it(void **state)
{
    (void)state;
    static const uint8_t objects[] = {PART_OBJECT_FILE, PART_OBJECT_STREAM};
    for (size_t row = 0; row < sizeof(objects); row++) {
        begin(4, 60000000);
        struct job_spec spec = chain_job("j");
        spec.object = objects[row];
        spec.retention_bytes = 8000000;
        run_job_at(0, &spec);
        assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
        for (uint16_t to = 0; to < 3; to++)
            say_all_kinds(3, to);
        char text[CONTROL_TEXT_BYTES];
        node_peer_misfit(node_of(2), peer_of(2, 3), text, sizeof(text));
        assert_string_equal(text, "it says what it may not, 'available' the last time, 14 times so far");
        run_until_over(0, "j", 60 * NS_PER_S);
        assert_state(0, "j", JOB_DONE);
        assert_right(1, "j");
        assert_right(2, "j");
        assert_int_equal(opened_at(3), 0);
        pass(70 * NS_PER_S);
        node_peer_misfit(node_of(2), peer_of(2, 3), text, sizeof(text));
        assert_string_equal(text, "");
        assert_clean();
        world_end(&world);
    }
}

/* Members say what others of the same job may: a child to its parent's parent, a parent to its child's child, siblings. */
static void control__from_other_members(void **state)
{
    (void)state;
    begin(3, 60000000);
    struct job_spec spec = chain_job("j");
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
    uint32_t id = job_at(0)->id;
    struct wire_blocks blocks = {.job = id, .count = 40};
    struct control_let_go let_go = {.fixed = {.job = id}};
    struct wire_adjust adjust = {.job = id, .revision = 1000, .paused = 1};
    struct control_close_job close = {.fixed = {.job = id, .outcome = CLOSE_CANCELLED}};
    const struct {
        uint16_t from, to;
        enum control_kind kind;
        const void *message;
    } rows[] = {
        {2, 0, CONTROL_HAVE, &blocks},   {2, 0, CONTROL_RESEND, &blocks}, {2, 0, CONTROL_CLOSE_JOB, &close},
        {0, 2, CONTROL_LET_GO, &let_go}, {1, 2, CONTROL_ADJUST, &adjust}, {1, 2, CONTROL_CLOSE_JOB, &close},
        {2, 1, CONTROL_ADJUST, &adjust}, {1, 0, CONTROL_ADJUST, &adjust}, {0, 1, CONTROL_HAVE, &blocks}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        uint64_t forbidden = forbidden_at(rows[row].to);
        assert_true(post(node_of(rows[row].from), peer_of(rows[row].from, rows[row].to), rows[row].kind,
                         rows[row].message));
        pass(100 * NS_PER_MS);
        assert_int_equal(forbidden_at(rows[row].to), forbidden + 1);
    }
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    assert_right(1, "j");
    assert_right(2, "j");
    world_end(&world);
}

/* ---- parts ---- */

static void part__of_another_source(void **state)
{
    (void)state;
    begin(3, 5000000);
    struct offer offer = good_offer();
    strcpy(offer.part.fixed.source.text, "n2");
    say_part(&offer);
    say_tree(&offer, 0, 0);
    assert_int_equal(forbidden_at(1), 1);
    assert_int_equal(state_at(1, "bad"), JOB_STATE_COUNT);
    assert_int_equal(opened_at(1), 0);
    world_end(&world);
}

/* Neither memory nor paths for whom this node does not relay; the source hears it before anything is planned, if it may not
 * write there either. */
static void part__relay_for(void **state)
{
    (void)state;
    static const struct {
        bool listed;
        const char *text;
    } rows[] = {{true, "n1 does not relay for source n0 (plan: relay_for in its node file)"},
                {false, "n1 relays nothing for source n0, nor does a directory there list it"}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        world_init(&world, 4, 1);
        world.liars = true;
        struct node_config *relay = &world.nodes[1].config;
        relay->relay_for_some = true;
        relay->relay_for_count = 1;
        strcpy(relay->relay_for[0], "n3");
        relay->directories[0].any_source = rows[row].listed;
        start_all();
        pass(2 * NS_PER_S);
        struct job_spec spec = chain_job("j");
        spec.receiver_count = 1;
        strcpy(spec.receivers[0], "n2");
        run_job_at(0, &spec);
        uint64_t from_ns = world.now_ns;
        run_until_over(0, "j", 30 * NS_PER_S);
        assert_state(0, "j", JOB_FAILED);
        assert_true(world.now_ns - from_ns < 2 * NS_PER_S);
        const struct site *site = source_site(&node_of(0)->jobs[0], peer_of(0, 1));
        assert_non_null(site);
        if (strstr(site->text, rows[row].text) == NULL)
            fail_msg("'%s'", site->text);
        assert_int_equal(forbidden_at(1), 1);
        world_end(&world);
    }
}

/* ---- one id, two jobs ---- */

static void job_id__of_two_sources(void **state)
{
    (void)state;
    begin(3, 20000000);
    world.liars = false;
    node_of(1)->rng = node_of(0)->rng; /* which draws the id */
    for (uint16_t node = 0; node < 2; node++) {
        struct job_spec spec = world_job(&world, node == 0 ? "one" : "other");
        snprintf(spec.source, sizeof(spec.source), "n%u", node);
        spec.to_all = false;
        spec.receiver_count = 1;
        strcpy(spec.receivers[0], "n2");
        run_job_at(node, &spec);
    }
    assert_int_equal(node_of(0)->jobs[0].id, node_of(1)->jobs[0].id);
    run_until_over(0, "one", 60 * NS_PER_S);
    run_until_over(1, "other", 60 * NS_PER_S);
    assert_state(0, "one", JOB_DONE);
    assert_state(1, "other", JOB_DONE);
    assert_right(2, "one");
    assert_right(2, "other");
    pass(2 * NS_PER_S);
    assert_clean();
    world_end(&world);
}

/* Data of both would come from n1 under one id: the second is refused, by name, and the first one goes on. */
static void job_id__by_the_same_parent(void **state)
{
    (void)state;
    static const uint16_t chain[][2] = {{3, 1}, {1, 2}};
    begin(4, 20000000);
    world.liars = false;
    struct rng drawn = node_of(0)->rng;
    struct job_spec first = chain_job("first"), second = chain_job("second");
    run_job_at(0, &first);
    assert_true(run_until_state(0, "first", JOB_RUNNING, 5 * NS_PER_S));
    strcpy(second.source, "n3");
    give_tree(&second, chain, 2);
    node_of(3)->rng = drawn;
    run_job_at(3, &second);
    assert_int_equal(node_of(3)->jobs[0].id, node_of(0)->jobs[0].id);
    run_until_over(3, "second", 60 * NS_PER_S);
    assert_state(3, "second", JOB_FAILED);
    assert_text(3, "second", "job id is in use by a job of n0, with which n2 has to do as well");
    run_until_over(0, "first", 60 * NS_PER_S);
    assert_state(0, "first", JOB_DONE);
    assert_right(1, "first");
    assert_right(2, "first");
    pass(2 * NS_PER_S);
    assert_clean();
    world_end(&world);
}

/* ---- what a receiver says of itself ---- */

#define CREDIT_AT 76 /* lib/wire/FORMAT.md */
static uint8_t ack[WIRE_ACK_BYTES_MAX];
static uint32_t ack_bytes;

static void keep_ack(uint16_t from, uint16_t to, const uint8_t *data, uint32_t length)
{
    if (from != 1 || to != 0 || length > sizeof(ack) || data[1] != WIRE_ACK)
        return;
    memcpy(ack, data, length);
    ack_bytes = length;
}

/* n1's newest ack once more, with room for 2^31 packets. */
static void ack_credit(void)
{
    struct peer *peer = &node_of(1)->peers[0];
    if (ack_bytes == 0)
        return;
    struct wire_header header = session_header(peer, WIRE_ACK, load_be32(ack + 12));
    wire_header_put(ack, &header);
    store_be32(ack + CREDIT_AT, 1u << 31);
    session_seal(node_of(1), peer, ack, ack_bytes);
    world_inject(&world, 1, 0, ack, ack_bytes);
}

enum lie { LIE_NONE, LIE_HAVE, LIE_RESEND, LIE_CREDIT, LIE_COUNT };

/* How long n2 takes, which is fed by n0 as n1 is, while that lies of itself. */
static uint64_t sibling_takes_ns(enum lie lie)
{
    static const uint16_t star[][2] = {{0, 1}, {0, 2}};
    begin(3, 40000000);
    struct job_spec spec = world_job(&world, "j");
    give_tree(&spec, star, 2);
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
    const struct job *job = job_at(0);
    struct wire_blocks blocks = {.job = job->id, .count = job->geometry.blocks};
    uint64_t from_ns = world.now_ns, asked = 0;
    ack_bytes = 0;
    world.on_datagram = lie == LIE_CREDIT ? keep_ack : NULL;
    if (lie == LIE_HAVE)
        assert_true(post(node_of(1), 0, CONTROL_HAVE, &blocks));
    blocks.count = MIN(blocks.count, (uint64_t)CONTROL_RESEND_BLOCKS_MAX);
    const struct site *site = source_site(&node_of(0)->jobs[0], peer_of(0, 2));
    while (!site->ended) {
        assert_true(world.now_ns - from_ns < 60 * NS_PER_S);
        for (; lie == LIE_RESEND && asked < 10000 && post_has_ample_room(node_of(1), 0); asked++)
            assert_true(post(node_of(1), 0, CONTROL_RESEND, &blocks));
        if (lie == LIE_CREDIT)
            ack_credit();
        pass(10 * NS_PER_MS);
    }
    assert_int_equal(site->state, SITE_VERIFIED);
    assert_right(2, "j");
    assert_true(lie != LIE_RESEND || asked == 10000);
    uint64_t took_ns = site->complete_ns - from_ns;
    world_end(&world);
    return took_ns;
}

static void child__lies_of_itself_alone(void **state)
{
    (void)state;
    uint64_t honest_ns = sibling_takes_ns(LIE_NONE);
    for (enum lie lie = LIE_HAVE; lie < LIE_COUNT; lie++) {
        uint64_t took_ns = sibling_takes_ns(lie);
        if (took_ns > honest_ns + honest_ns / 20)
            fail_msg("lie %d: %llu ms, %llu without", (int)lie, (unsigned long long)(took_ns / NS_PER_MS),
                     (unsigned long long)(honest_ns / NS_PER_MS));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control__from_who_is_no_part_of_it),
        cmocka_unit_test(control__from_other_members),
        cmocka_unit_test(part__of_another_source),
        cmocka_unit_test(part__relay_for),
        cmocka_unit_test(job_id__of_two_sources),
        cmocka_unit_test(job_id__by_the_same_parent),
        cmocka_unit_test(child__lies_of_itself_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
