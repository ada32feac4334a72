/* Content that goes bad again and again: on the way, or when a disk gives it back. */
#include "check.h"
#include "node/job/job.h"
#include "node/peer/post.h"

#define BAD_BLOCK 2

static unsigned writes_bad, reads_bad; /* so many more of … */
static uint64_t rotten_block;          /* … this one; UINT64_MAX: of the first that is read */

static uint64_t bad_writes(const struct disk_request *request, struct disk_reply *reply)
{
    if (request->op == DISK_WRITE && request->cookie == BAD_BLOCK && writes_bad > 0) {
        reply->hash.bytes[0] ^= 1;
        writes_bad--;
    }
    return 0;
}

static uint64_t bad_reads(const struct disk_request *request, struct disk_reply *reply)
{
    if (request->op == DISK_READ && rotten_block == UINT64_MAX)
        rotten_block = request->cookie;
    if (request->op == DISK_READ && request->cookie == rotten_block && reads_bad > 0) {
        reply->hash.bytes[0] ^= 1;
        request->data[0] ^= 1;
        reads_bad--;
    }
    return 0;
}

/* n0 → n1 → n2 */
static void begin(void)
{
    static const uint16_t chain[][2] = {{0, 1}, {1, 2}};
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    give_tree(&spec, chain, 2);
    run_job_at(0, &spec);
}

static const struct node_site_view *site(const char *name)
{
    const struct node_job_view *view = world_view(&world, 0, "j");
    for (uint16_t index = 0; index < view->site_count; index++)
        if (strcmp(view->sites[index].name, name) == 0)
            return &view->sites[index];
    fail_msg("no site %s", name);
    return NULL;
}

/* A block that is bad a few times is sent again; one that stays bad ends the site, by name, and not the rest. */
static void node_resend__is_bounded(void **state)
{
    (void)state;
    static const struct {
        unsigned bad;
        uint8_t state;
    } rows[] = {{1, JOB_DONE}, {5, JOB_DONE}, {1000000, JOB_FAILED}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        world_init(&world, 3, row + 1);
        world.source_bytes = 8000000;
        writes_bad = rows[row].bad;
        world.nodes[1].disk_fault = bad_writes;
        begin();
        run_until_over(0, "j", 60 * NS_PER_S);
        assert_state(0, "j", rows[row].state);
        if (rows[row].state == JOB_FAILED)
            assert_text(0, "j", "n1: block 2 came bad 8 times from n0");
        assert_int_equal(site("n2")->state, SITE_VERIFIED);
        assert_true(world_counter(&world, 0, "blocks_resent") <= 8);
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_clean();
        world_end(&world);
    }
}

/* A relay has the object already, as size and time say, but one block of it is rotten: its child gets that
 * block from further up, and the relay does not count as whole. */
static void node_resend__rotten_block_of_a_skipped_site(void **state)
{
    (void)state;
    world_init(&world, 3, 1);
    world.source_bytes = 8000000;
    reads_bad = 1000000;
    rotten_block = BAD_BLOCK;
    world.nodes[1].open_status = DISK_ALREADY_THERE;
    world.nodes[1].disk_fault = bad_reads;
    begin();
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_state(0, "j", JOB_FAILED);
    assert_text(0, "j", "n1: block 2 of what is there is not what the source has");
    assert_int_equal(site("n2")->state, SITE_VERIFIED);
    assert_int_equal(world_counter(&world, 2, "blocks_bad"), 0);
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_clean();
    world_end(&world);
}

/* Nobody needs the blocks from the source, but their hashes: more of them than are read ahead. */
static void node_resend__hashes_behind_a_skipped_site(void **state)
{
    (void)state;
    world_init(&world, 3, 1);
    world.source_bytes = 40000000;
    world.nodes[1].open_status = DISK_ALREADY_THERE;
    begin();
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    assert_int_equal(site("n1")->state, SITE_SKIPPED);
    assert_true(world_counter(&world, 0, "tx_data") < 20000);
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_clean();
    world_end(&world);
}

/* The disk of a relay gives a block back other than it was written, when a slow child needs it. */
static void node_resend__bad_read_back(void **state)
{
    (void)state;
    /* While n1 still gets it the block is written anew; what has its name already is told to be bad. */
    static const struct {
        unsigned bad;
        uint64_t cut_ns, slow_bps;
        uint8_t state;
    } rows[] = {{1, 8 * NS_PER_S, 0, JOB_DONE},
                {1000000, 8 * NS_PER_S, 0, JOB_DONE},
                {1, 0, 10000000, JOB_FAILED},
                {1000000, 0, 10000000, JOB_FAILED}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        world_init(&world, 3, row + 1);
        world.source_bytes = 60000000;
        world.rate_bps[1][2] = rows[row].slow_bps;
        world.rate_bps[0][1] = 20000000;
        world.nodes[1].config.buffer_bytes = 9 << 20;
        reads_bad = rows[row].bad;
        rotten_block = UINT64_MAX;
        world.nodes[1].disk_fault = bad_reads;
        begin();
        assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
        world_cut(&world, 1, 2, world.now_ns + rows[row].cut_ns);
        run_until_over(0, "j", 300 * NS_PER_S);
        assert_true(reads_bad < rows[row].bad);
        assert_state(0, "j", rows[row].state);
        if (rows[row].state == JOB_FAILED)
            assert_text(0, "j", "n1: its disk gives block");
        assert_int_equal(world_counter(&world, 2, "blocks_bad"), 0);
        assert_int_equal(site("n2")->state, SITE_VERIFIED);
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_clean();
        world_end(&world);
    }
}

/* Who asks for everything, again and again, gets no more than a few blocks for each message. */
static void control_on_mail__few_blocks_again_at_once(void **state)
{
    (void)state;
    world_init(&world, 2, 1);
    world.source_bytes = 80000000;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    spec.controls.paused = true;
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
    struct wire_blocks blocks = {.job = world.nodes[0].node->jobs[0].id, .count = CONTROL_RESEND_BLOCKS_MAX};
    assert_true(post(world.nodes[1].node, 0, CONTROL_RESEND, &blocks));
    blocks.count++;
    assert_true(post(world.nodes[1].node, 0, CONTROL_RESEND, &blocks));
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_int_equal(world_counter(&world, 0, "blocks_resent"), CONTROL_RESEND_BLOCKS_MAX);
    assert_int_equal(world_counter(&world, 0, "messages_refused"), 1);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_on_mail__few_blocks_again_at_once),
        cmocka_unit_test(node_resend__is_bounded),
        cmocka_unit_test(node_resend__rotten_block_of_a_skipped_site),
        cmocka_unit_test(node_resend__hashes_behind_a_skipped_site),
        cmocka_unit_test(node_resend__bad_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
