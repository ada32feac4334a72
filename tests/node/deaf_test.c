/* A peer that is heard and acks no message: what is written to it piles up, and must hold up nothing else. */
#include "check.h"
#include "node/job/job.h"
#include "node/peer/post.h"

static struct node *node_of(uint16_t node)
{
    return world.nodes[node].node;
}

/* n1 acks no message from now on; and the queue to it is full. */
static void turn_deaf(void)
{
    world.nodes[1].acks_no_mail = true;
    struct wire_start start = {.job = 1};
    while (post_room(node_of(0), 0) > 0)
        post(node_of(0), 0, CONTROL_START, &start);
}

static void begin(uint16_t count)
{
    world_init(&world, count, 1);
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
}

static struct job_spec job_to_n2(const char *name)
{
    struct job_spec spec = world_job(&world, name);
    spec.to_all = false;
    spec.receiver_count = 1;
    snprintf(spec.receivers[0], NAME_BYTES, "n2");
    return spec;
}

/* As many as one source may have. */
static bool all_its_slots_are_taken(void)
{
    uint32_t taken = 0;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++)
        taken += job_is_known(&node_of(0)->jobs[slot]) && node_of(0)->jobs[slot].phase != PHASE_CLOSED;
    return taken == NODE_JOBS_MAX * 3 / 4;
}

/* Parts that n0 refuses, which it can't say. */
static void node_job__refusals_unheard_keep_no_slots(void **state)
{
    (void)state;
    begin(3);
    turn_deaf();
    struct control_part part = {.fixed = {.epoch = 1,
                                          .size_bytes = 5000000,
                                          .symbol_bytes = 1408,
                                          .block_symbols = 744,
                                          .keep = 1,
                                          .stripes = 1}};
    struct control_tree tree = {.fixed = {.epoch = 1, .weight = 1}};
    strcpy(part.fixed.source.text, "n1");
    strcpy(tree.fixed.parent.text, "n1");
    strcpy(part.fixed.directory.text, "incoming");
    strcpy(part.fixed.job_name.text, "refused");
    strcpy(part.file, "../file");
    for (uint32_t id = 100; id < 100 + NODE_JOBS_MAX * 3 / 4; id++) {
        part.fixed.job = tree.fixed.job = id;
        assert_true(post(node_of(1), 0, CONTROL_PART, &part) && post(node_of(1), 0, CONTROL_TREE, &tree));
    }
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_true(all_its_slots_are_taken());
    world_run_until(&world, world.now_ns + 25 * NS_PER_S);
    assert_true(node_of(0)->peers[0].state == PEER_UP);
    assert_clean();
    struct job_spec spec = job_to_n2("j");
    run_job_at(0, &spec);
    run_until_over(0, "j", 30 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    world_end(&world);
}

/* Ends of its jobs that n0 can't tell. */
static void node_job__ends_untold_keep_no_slots(void **state)
{
    (void)state;
    begin(3);
    world.source_bytes = 100000000;
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 10 * NS_PER_S));
    turn_deaf();
    assert_true(world_cancel_job(&world, 0, "j"));
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_false(world_is_clean(&world, 0));
    world_run_until(&world, world.now_ns + 25 * NS_PER_S);
    assert_true(node_of(0)->peers[0].state == PEER_UP);
    assert_true(world_is_clean(&world, 0));
    assert_state(2, "j", JOB_CANCELLED);
    /* n1 goes on speaking of it until it takes an answer. */
    assert_false(world_is_clean(&world, 1));
    world.nodes[1].acks_no_mail = false;
    world_run_until(&world, world.now_ns + 30 * NS_PER_S);
    assert_clean();
    world_end(&world);
}

/* Whatever it speaks of, the answers leave room for what matters more. */
static void source_tell_end__leaves_room(void **state)
{
    (void)state;
    begin(2);
    world.nodes[1].acks_no_mail = true;
    for (uint32_t job = 100; job < 1100; job++) {
        struct control_status status = {.fixed = {.job = job}};
        struct control_confirm confirm = {.fixed = {.job = job, .answer = CONFIRM_READY}};
        bool posted = job % 2 == 0 ? post(node_of(1), 0, CONTROL_STATUS, &status)
                                   : post(node_of(1), 0, CONTROL_CONFIRM, &confirm);
        assert_true(posted);
        if (job % 100 == 0)
            world_run_until(&world, world.now_ns + 200 * NS_PER_MS);
    }
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_true(post_room(node_of(0), 0) < MAIL_QUEUE - 100);
    assert_true(post_room(node_of(0), 0) >= MAIL_QUEUE / 2);
    world_end(&world);
}

/* Nothing was written to it for long: it has had no chance to answer. */
static void peer_is_deaf__only_to_what_was_written(void **state)
{
    (void)state;
    world_init(&world, 2, 1);
    for (uint16_t node = 0; node < 2; node++) {
        world.nodes[node].config.hello_interval_ns = 60 * NS_PER_S;
        world.nodes[node].config.stall_timeout_ns = 5 * NS_PER_S;
    }
    start_all();
    world_run_until(&world, 200 * NS_PER_S);
    struct peer *peer = &node_of(0)->peers[0];
    world_run_until(&world, peer->hello_due_ns - NS_PER_S);
    struct wire_start start = {.job = 1};
    node_disk_done(node_of(0), NULL, 0, world.now_ns); /* what it is to be called for comes before a tick */
    assert_true(post(node_of(0), 0, CONTROL_START, &start));
    node_tick(node_of(0), world.now_ns);
    assert_false(peer_is_deaf(node_of(0), peer));
    world.nodes[1].acks_no_mail = true;
    world_run_until(&world, world.now_ns + 9 * NS_PER_S);
    assert_false(peer_is_deaf(node_of(0), peer));
    world_run_until(&world, world.now_ns + 2 * NS_PER_S);
    assert_true(peer_is_deaf(node_of(0), peer));
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_job__refusals_unheard_keep_no_slots),
        cmocka_unit_test(node_job__ends_untold_keep_no_slots),
        cmocka_unit_test(source_tell_end__leaves_room),
        cmocka_unit_test(peer_is_deaf__only_to_what_was_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
