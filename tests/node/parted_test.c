/* A site that lets go of a job by itself: its parent feeds it no more, and the others go on. */
#include "check.h"
#include "node/job/job.h"
#include "node/peer/post.h"
#include "node/role/close.h"
#include "node/role/site.h"
#include "node/role/source.h"

static const uint16_t fork_tree[][2] = {{0, 1}, {1, 2}, {1, 3}};

static struct node *node_of(uint16_t node)
{
    return world.nodes[node].node;
}

static uint16_t peer_of(uint16_t node, uint16_t other)
{
    return other < node ? other : (uint16_t)(other - 1);
}

static struct job *job_at(uint16_t node)
{
    return &node_of(node)->jobs[0];
}

static const struct site *site_of(uint16_t node)
{
    return source_site(job_at(0), peer_of(0, node));
}

static void pass(uint64_t time_ns)
{
    world_run_until(&world, world.now_ns + time_ns);
}

static void begin(uint8_t object, const uint16_t (*edges)[2], uint16_t count)
{
    world_init(&world, (uint16_t)(count + 1), 1);
    world.source_bytes = 60000000;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    spec.object = object;
    spec.retention_bytes = 8000000;
    spec.flush_ns = 100 * NS_PER_MS;
    spec.slow = PART_SLOW_WAIT;
    spec.controls.rate_cap_bps = 12000000;
    give_tree(&spec, edges, count);
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
    pass(NS_PER_S);
}

static uint64_t parted_at(uint16_t node)
{
    return world_counter(&world, node, "children_parted");
}

/* The source is out of the site's reach, in one direction or both, but not out of its parent's. */
static void site_stream__parts_out_of_reach(void **state)
{
    (void)state;
    for (int both = 0; both < 2; both++) {
        begin(PART_OBJECT_STREAM, fork_tree, 3);
        world.down_until_ns[0][2] = world.now_ns + 100 * NS_PER_S;
        if (both)
            world.down_until_ns[2][0] = world.down_until_ns[0][2];
        run_until_over(0, "j", 90 * NS_PER_S);
        assert_int_equal(parted_at(1), 1);
        assert_int_equal(site_of(1)->state, SITE_VERIFIED);
        assert_int_equal(site_of(2)->state, SITE_FAILED);
        assert_int_equal(site_of(3)->state, SITE_VERIFIED);
        world_end(&world);
    }
}

/* Whoever feeds it, and whatever it is; the source hears the reason long before it misses anything. */
static void site__parts_at_once(void **state)
{
    (void)state;
    static const uint16_t star[][2] = {{0, 1}, {0, 2}, {0, 3}};
    for (int row = 0; row < 4; row++) {
        uint16_t parent = row % 2 == 0 ? 1 : 0;
        begin(row < 2 ? PART_OBJECT_STREAM : PART_OBJECT_FILE, parent == 1 ? fork_tree : star, 3);
        site_on_source_lost(node_of(2), job_at(2), world.now_ns);
        pass(NS_PER_S);
        assert_int_equal(parted_at(parent), 1);
        assert_true(job_at(parent)->children.of[job_at(parent)->children.of_peer[peer_of(parent, 2)]].gone);
        assert_int_equal(site_of(2)->state, SITE_FAILED);
        assert_string_equal(site_of(2)->text, "the source n0 restarted");
        run_until_over(0, "j", 60 * NS_PER_S);
        assert_int_equal(site_of(1)->state, SITE_VERIFIED);
        assert_int_equal(site_of(3)->state, SITE_VERIFIED);
        pass(NS_PER_S);
        assert_clean();
        world_end(&world);
    }
}

/* What it said was lost with its queue: it says it again when it is fed. */
static void site__fed_after_its_end_says_so(void **state)
{
    (void)state;
    for (int stream = 0; stream < 2; stream++) {
        begin(stream ? PART_OBJECT_STREAM : PART_OBJECT_FILE, fork_tree, 3);
        close_begin(node_of(2), job_at(2), JOB_FAILED, world.now_ns);
        pass(NS_PER_S);
        assert_int_equal(parted_at(1), 1);
        run_until_over(0, "j", 90 * NS_PER_S);
        assert_int_equal(site_of(3)->state, SITE_VERIFIED);
        world_end(&world);
    }
}

/* Data of that job has come to n2. */
static void feed(uint16_t from, uint32_t id)
{
    struct job *job = job_fed_by(node_of(2), id, peer_of(2, from));
    if (job != NULL)
        job_on_fed(node_of(2), job);
}

/* What n2 has said to the other since, when that fed it the job once a tenth of a second for 3 s. */
static uint64_t answers_of_n2(uint16_t other, uint32_t id)
{
    const struct mail *mail = &node_of(2)->peers[peer_of(2, other)].mail;
    uint64_t before = mail->out_next;
    for (int tenth = 0; tenth < 30; tenth++) {
        feed(other, id);
        pass(100 * NS_PER_MS);
    }
    return mail->out_next - before;
}

/* Only a parent is answered, seldom, and only by who has had the job. */
static void site__seldom_says_that_it_parted(void **state)
{
    (void)state;
    begin(PART_OBJECT_FILE, fork_tree, 3);
    uint32_t id = job_at(2)->id;
    assert_int_equal(answers_of_n2(1, id + 1), 0); /* perhaps the part is still on its way */
    site_on_source_lost(node_of(2), job_at(2), world.now_ns);
    pass(2 * NS_PER_S);
    assert_int_equal(job_at(2)->phase, PHASE_CLOSED);
    assert_int_equal(answers_of_n2(3, id), 0);
    assert_in_range(answers_of_n2(1, id), 2, 4);
    job_at(2)->end_heard = true; /* the source tells n1 the same */
    pass(2 * NS_PER_S);
    assert_int_equal(answers_of_n2(1, id), 0);
    world_end(&world);
}

/* As if n2 had said to n1 that it has let go of the job, in a message of this number. */
static void replay(uint32_t session, uint32_t sequence)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX], datagram[WIRE_MESSAGE_BYTES + WIRE_MESSAGE_BODY_MAX];
    struct control_close_job close = {.fixed = {.job = job_at(1)->id, .outcome = CLOSE_FAILED}};
    struct wire_header header = session_header(&node_of(2)->peers[peer_of(2, 1)], WIRE_MESSAGE, 0);
    header.session = session;
    struct wire_message message = {.sequence = sequence,
                                   .kind = CONTROL_CLOSE_JOB,
                                   .length = (uint16_t)control_close_job_encode(body, &close)};
    world_inject(&world, 2, 1, datagram, (uint32_t)wire_message_encode(datagram, &header, &message, body));
}

/* Who is no child, or what was said in another session, or once already, ends nobody's feed. */
static void node_job__only_a_child_parts(void **state)
{
    (void)state;
    static const uint16_t chain[][2] = {{0, 1}, {1, 2}, {2, 3}};
    begin(PART_OBJECT_STREAM, chain, 3);
    struct control_close_job close = {.fixed = {.job = job_at(1)->id, .outcome = CLOSE_FAILED}};
    world.liars = true;
    assert_true(post(node_of(3), peer_of(3, 1), CONTROL_CLOSE_JOB, &close));
    assert_true(post(node_of(2), peer_of(2, 0), CONTROL_CLOSE_JOB, &close));
    close.fixed.job++;
    assert_true(post(node_of(2), peer_of(2, 1), CONTROL_CLOSE_JOB, &close));
    pass(NS_PER_S);
    assert_int_equal(world_counter(&world, 1, "messages_forbidden"), 1);
    assert_int_equal(world_counter(&world, 0, "messages_forbidden"), 1);
    struct peer *child = &node_of(1)->peers[peer_of(1, 2)];
    uint64_t dropped = world_counter(&world, 1, "drop_session");
    replay(peer_session(child)->in ^ 1u << 20, (uint32_t)child->mail.in_next);
    assert_int_equal(world_counter(&world, 1, "drop_session"), dropped + 1);
    for (uint32_t back = 1; back <= 3; back++)
        replay(peer_session(child)->in, (uint32_t)child->mail.in_next - back);
    run_until_over(0, "j", 90 * NS_PER_S);
    assert_int_equal(parted_at(0) + parted_at(1), 0);
    assert_state(0, "j", JOB_DONE);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(site_stream__parts_out_of_reach), cmocka_unit_test(site__parts_at_once),
        cmocka_unit_test(site__fed_after_its_end_says_so), cmocka_unit_test(site__seldom_says_that_it_parted),
        cmocka_unit_test(node_job__only_a_child_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
