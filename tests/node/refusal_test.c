/* What nodes refuse of each other, and what they say then. The broken peer is a real node whose stream is
 * given messages that its own code would never send. */
#include "base/name.h"
#include "node/job/object_kind.h"
#include "node/peer/measure.h"
#include "offers.h"

static void site_on_part__refuses(void **state)
{
    (void)state;
    static const struct {
        const char *field, *text;
        uint64_t value;
    } rows[] = {{"none", NULL, 0},
                {"directory", "there is no directory", 0},
                {"file", "leaves the directory", 0},
                {"size", "", 1ULL << 50},
                {"size", "", UINT64_MAX},
                {"symbol", "", 0},
                {"symbol", "do not fit the MTU", 8960},
                {"block", "", 0},
                {"rate", "has no rate that makes sense", 0},
                {"rate", "has no rate that makes sense", 1ULL << 63},
                {"twice", "is there twice", 0},
                {"child", "is also the parent", 0},
                {"parent", "is no peer", 1},
                {"parent", "is also the parent", 2}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        world_init(&world, 3, row + 1);
        world.liars = true;
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        struct offer offer = good_offer();
        const char *field = rows[row].field;
        if (strcmp(field, "directory") == 0)
            strcpy(offer.part.fixed.directory.text, "elsewhere");
        if (strcmp(field, "file") == 0)
            strcpy(offer.part.file, "a/../../b");
        if (strcmp(field, "size") == 0)
            offer.part.fixed.size_bytes = rows[row].value;
        if (strcmp(field, "symbol") == 0) {
            offer.part.fixed.symbol_bytes = (uint32_t)rows[row].value;
            offer.part.fixed.block_symbols = 16;
        }
        if (strcmp(field, "block") == 0)
            offer.part.fixed.block_symbols = 0;
        if (strcmp(field, "rate") == 0)
            offer.trees[0].children[0].rate_bps = rows[row].value;
        if (strcmp(field, "twice") == 0) {
            offer.trees[0].children[1] = offer.trees[0].children[0];
            offer.trees[0].fixed.child_count = 2;
        }
        if (strcmp(field, "child") == 0)
            strcpy(offer.trees[0].children[0].name.text, "n0");
        if (strcmp(field, "parent") == 0)
            snprintf(offer.trees[0].fixed.parent.text, NAME_BYTES, "n%u", (unsigned)rows[row].value);
        say_offer(&offer);
        if (rows[row].text == NULL) {
            assert_int_equal(state_at(1, "bad"), JOB_DISTRIBUTING);
        } else {
            /* What it has no right to takes no place: nothing but the answer tells of it. */
            if (world_counter(&world, 1, "messages_forbidden") > 0)
                assert_refused(1, rows[row].text);
            else if (world_counter(&world, 1, "messages_refused") == 0)
                assert_text(1, "bad", rows[row].text);
            say_offer(&offer); /* asked again it says so again */
            world_run_until(&world, world.now_ns + NS_PER_S);
            assert_true(world_is_clean(&world, 1));
        }
        world_end(&world);
    }
}

/* n0 → n2 → n1, as n1 is told, by hand. */
static struct offer offer_behind_n2(void)
{
    struct offer offer = good_offer();
    strcpy(offer.trees[0].fixed.parent.text, "n2");
    offer.trees[0].fixed.child_count = 0;
    return offer;
}

/* The parent restarts before the job has begun, while the disk opens the file, or when that was confirmed: the site waits for
 * another plan. One that begins all the same has lost that parent. */
static void site__loses_its_parent_before_the_start(void **state)
{
    (void)state;
    for (int row = 0; row < 4; row++) {
        bool opened = (row & 1) != 0, newer = (row & 2) != 0;
        world_init(&world, 3, 1);
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        world.nodes[1].disk_stuck = !opened;
        struct offer offer = offer_behind_n2();
        say_offer(&offer);
        const struct job *job = job_find(world.nodes[1].node, 77);
        assert_int_equal(job->phase, opened ? PHASE_READY : PHASE_OPENING);
        world_start(&world, 2);
        world_run_until(&world, world.now_ns + NS_PER_S);
        world.nodes[1].disk_stuck = false;
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_int_equal(job->phase, PHASE_READY);
        offer = newer ? good_offer() : offer;
        offer.part.fixed.epoch = newer ? 2 : 1;
        if (newer)
            say_offer(&offer);
        uint8_t body[WIRE_MESSAGE_BODY_MAX];
        struct wire_start start = {.job = 77, .epoch = offer.part.fixed.epoch};
        say(0, 1, CONTROL_START, body, control_start_encode(body, &start));
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_int_equal(job->result, newer ? SITE_RECEIVING : SITE_FAILED);
        if (!newer)
            assert_string_equal(job->text, "its parent n2 restarted");
        world_end(&world);
    }
}

/* … or the parent drops it from a stream, and then a newer plan comes. */
static void site__dropped_before_the_start(void **state)
{
    (void)state;
    for (int newer = 0; newer < 2; newer++) {
        world_init(&world, 3, 1);
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        world.nodes[1].disk_stuck = !newer;
        struct offer offer = offer_behind_n2();
        offer.part.fixed.object = PART_OBJECT_STREAM;
        offer.part.fixed.size_bytes = 0;
        offer.part.fixed.stream_blocks = 8;
        say_offer(&offer);
        struct control_let_go let_go = {.fixed = {.job = 77}, .text = "too slow"};
        uint8_t body[WIRE_MESSAGE_BODY_MAX];
        say(2, 1, CONTROL_LET_GO, body, control_let_go_encode(body, &let_go));
        offer.part.fixed.epoch = 2;
        if (newer)
            say_offer(&offer);
        world.nodes[1].disk_stuck = false;
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_refused(newer ? 2 : 1, "too slow");
        assert_state(1, "bad", JOB_FAILED);
        assert_true(world_is_clean(&world, 1));
        world_end(&world);
    }
}

/* A newer part that cannot take the place of the one before. */
static void site__says_why_a_part_is_not_replaced(void **state)
{
    (void)state;
    static const struct {
        uint32_t epoch;
        uint64_t size_bytes;
        bool started;
        const char *text;
    } rows[] = {{1, 5000000, false, "a part of a newer plan is here already"},
                {2, 5000001, false, "the part is of another object"},
                {2, 5000000, true, "the job has started here"}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        world_init(&world, 3, row + 1);
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        struct offer offer = good_offer();
        say_offer(&offer);
        assert_int_equal(newest_confirm().fixed.answer, CONFIRM_READY);
        struct wire_start start = {.job = 77, .epoch = 1};
        uint8_t body[WIRE_MESSAGE_BODY_MAX];
        if (rows[row].started)
            say(0, 1, CONTROL_START, body, control_start_encode(body, &start));
        offer.part.fixed.epoch = rows[row].epoch;
        offer.part.fixed.size_bytes = rows[row].size_bytes;
        say_offer(&offer);
        assert_refused(rows[row].epoch, rows[row].text);
        assert_int_equal(state_at(1, "bad"), rows[row].started ? JOB_RUNNING : JOB_DISTRIBUTING);
        world_end(&world);
    }
}

/* An end of a stream that no number of blocks leads to; a relay that keeps nothing has it not. */
static void stream_end__beyond_all_counting(void **state)
{
    (void)state;
    static const uint64_t symbols[] = {UINT64_MAX, UINT64_MAX - 700, 1ULL << 63};
    for (size_t row = 0; row < sizeof(symbols) / sizeof(symbols[0]); row++) {
        world_init(&world, 3, 1);
        start_all();
        world_run_until(&world, 2 * NS_PER_S);
        struct offer offer = good_offer();
        offer.part.fixed.object = PART_OBJECT_STREAM;
        offer.part.fixed.size_bytes = 0;
        offer.part.fixed.stream_blocks = 8;
        offer.part.fixed.keep = 0;
        say_offer(&offer);
        struct wire_start start = {.job = 77, .epoch = 1};
        uint8_t body[WIRE_MESSAGE_BODY_MAX];
        say(0, 1, CONTROL_START, body, control_start_encode(body, &start));
        struct wire_stream_end end = {.job = 77, .symbols = symbols[row]};
        say(0, 1, CONTROL_STREAM_END, body, control_stream_end_encode(body, &end));
        const struct job *job = job_find(world.nodes[1].node, 77);
        assert_int_equal(job->phase, PHASE_RUNNING);
        assert_int_equal(job->result, SITE_RECEIVING);
        world_end(&world);
    }
}

/* Blocks of one symbol: more writes wait than the disk queue has places. */
static void job_disk__queue_never_overflows(void **state)
{
    (void)state;
    world_init(&world, 3, 1);
    world.nodes[1].config.buffer_bytes = 1300ULL << 20;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct offer offer = good_offer();
    offer.part.fixed.block_symbols = 1;
    offer.part.fixed.symbol_bytes = 1024;
    offer.part.fixed.size_bytes = 1150 * 1024;
    offer.part.fixed.hash = PART_HASH_NONE;
    offer.trees[0].fixed.child_count = 0;
    say_offer(&offer);
    struct wire_start start = {.job = 77, .epoch = 1};
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    say(0, 1, CONTROL_START, body, control_start_encode(body, &start));
    world.nodes[1].disk_stuck = true;
    struct node *node = world.nodes[1].node;
    struct job *job = job_find(node, 77);
    static const uint8_t symbol[1024];
    for (uint64_t block = 0; block < 1150; block++) {
        uint64_t completed;
        struct symbol_run run = {.symbol = block, .count = 1, .body_bytes = sizeof(symbol), .body = symbol};
        assert_int_equal(object_put(job->object, &run, &completed), PUT_STORED);
        job->kind->on_block(node, job, completed);
    }
    world_run_until(&world, world.now_ns + NS_PER_S);
    world.nodes[1].disk_stuck = false;
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_true(world.nodes[1].files[job->slot].finished);
    world_end(&world);
}

static void node_job__several_refusals(void **state)
{
    (void)state;
    world_init(&world, 5, 1);
    world.nodes[1].open_status = world.nodes[2].open_status = world.nodes[3].open_status = DISK_FAILED;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    run_until_over(0, "j", 15 * NS_PER_S);
    assert_text(0, "j", "n1: no space left (and 2 more)");
    assert_int_equal(world_view(&world, 0, "j")->sites[3].state, SITE_VERIFIED);
    world_run_until(&world, world.now_ns + NS_PER_S);
    assert_clean();
    world_end(&world);
}

/* The queue to a site is full when the job starts, and again when it is cancelled. */
static void node_job__full_queues_lose_nothing(void **state)
{
    (void)state;
    world_init(&world, 3, 1);
    world.source_bytes = 20000000;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 10 * NS_PER_S));
    world_run_until(&world, world.now_ns + 300 * NS_PER_MS);
    struct node *node = world.nodes[0].node;
    while (mail_room(&node->peers[0].mail) > 0)
        post_bytes(node, 0, CONTROL_START, NULL, 0);
    assert_true(world_cancel_job(&world, 0, "j"));
    world_run_until(&world, world.now_ns + 3 * NS_PER_S);
    assert_state(1, "j", JOB_CANCELLED);
    assert_clean();
    world_end(&world);
}

/* n1 has much else to say to n0, and no ack comes for a while: its queue is full. */
static void fill_queue(uint64_t for_ns)
{
    struct node *node = world.nodes[1].node;
    world_cut(&world, 0, 1, world.now_ns + for_ns);
    while (mail_room(&node->peers[0].mail) > 0)
        post_bytes(node, 0, CONTROL_START, NULL, 0);
}

static void start_with(uint16_t nodes, uint64_t seed)
{
    world_init(&world, nodes, seed);
    world.source_bytes = 20000000;
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    spec.measure_age_ns = 0;
    run_job_at(0, &spec);
}

static void site__measurement_finds_a_full_queue(void **state)
{
    (void)state;
    start_with(2, 5);
    while (world.nodes[1].node->measure->of_peer[0].count == 0)
        world_run_until(&world, world.now_ns + NS_PER_MS);
    world_run_until(&world, world.now_ns + 95 * NS_PER_MS);
    fill_queue(300 * NS_PER_MS);
    world_run_until(&world, world.now_ns + 200 * NS_PER_MS);
    assert_int_equal(world.nodes[1].node->measure->of_peer[0].count, 1);
    run_until_over(0, "j", 8 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    world_end(&world);
}

/* The answer to a part, good or bad, comes when the disk has answered. */
static void site__confirm_finds_a_full_queue(void **state)
{
    (void)state;
    for (int row = 0; row < 2; row++) {
        start_with(2, 6);
        world.nodes[1].disk_stuck = true;
        world.nodes[1].open_status = row == 0 ? DISK_OK : DISK_FAILED;
        while (state_at(1, "j") == JOB_STATE_COUNT)
            world_run_until(&world, world.now_ns + NS_PER_MS);
        fill_queue(500 * NS_PER_MS);
        world.nodes[1].disk_stuck = false;
        world_run_until(&world, world.now_ns + 400 * NS_PER_MS);
        assert_true(world_counter(&world, 1, "messages_unsent") > 0);
        run_until_over(0, "j", 8 * NS_PER_S);
        if (row == 0)
            assert_state(0, "j", JOB_DONE);
        else
            assert_text(0, "j", "no space left");
        world_run_until(&world, world.now_ns + NS_PER_S);
        assert_clean();
        world_end(&world);
    }
}

static void site__have_finds_a_full_queue(void **state)
{
    (void)state;
    start_with(3, 7);
    world.nodes[1].open_status = DISK_ALREADY_THERE;
    while (state_at(1, "j") == JOB_STATE_COUNT)
        world_run_until(&world, world.now_ns + NS_PER_MS);
    struct job *job = job_find(world.nodes[1].node, world.nodes[1].node->jobs[0].id);
    while (job->phase != PHASE_READY)
        world_run_until(&world, world.now_ns + NS_PER_MS / 10);
    /* CONFIRM is under way. */
    world_run_until(&world, world.now_ns + NS_PER_MS / 10);
    struct node *node = world.nodes[1].node;
    while (mail_room(&node->peers[0].mail) > 0)
        post_bytes(node, 0, CONTROL_START, NULL, 0);
    site_on_start(node, job, world.now_ns);
    assert_true(job->news.have_due);
    world_run_until(&world, world.now_ns + 200 * NS_PER_MS);
    assert_false(job->news.have_due);
    run_until_over(0, "j", 8 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    world_end(&world);
}

/* The wrong hash of a block shows while its parent cannot be told. */
static void site__resend_finds_a_full_queue(void **state)
{
    (void)state;
    start_with(2, 8);
    world.nodes[1].corrupt_block = 3;
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
    world.nodes[1].disk_stuck = true;
    world_run_until(&world, world.now_ns + NS_PER_S);
    fill_queue(500 * NS_PER_MS);
    world.nodes[1].disk_stuck = false;
    world_run_until(&world, world.now_ns + 400 * NS_PER_MS);
    assert_int_equal(world_counter(&world, 1, "blocks_bad"), 1);
    assert_true(world_counter(&world, 1, "messages_unsent") > 0);
    run_until_over(0, "j", 8 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    world_end(&world);
}

static void node_job__missing_sites_are_marked(void **state)
{
    (void)state;
    world_init(&world, 4, 1);
    world_start(&world, 0);
    world_start(&world, 2);
    struct job_spec spec = world_job(&world, "j");
    run_job_at(0, &spec);
    run_until_over(0, "j", 15 * NS_PER_S);
    const struct node_job_view *view = world_view(&world, 0, "j");
    assert_int_equal(view->sites[0].state, SITE_FAILED);
    assert_non_null(strstr(view->sites[0].text, "does not answer"));
    assert_int_equal(view->sites[1].state, SITE_VERIFIED);
    assert_int_equal(view->sites[2].state, SITE_FAILED);
    assert_text(0, "j", "n1: does not answer: no hello over the path from n0 within 10 s (and 1 more)");
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(site_on_part__refuses),
        cmocka_unit_test(site__loses_its_parent_before_the_start),
        cmocka_unit_test(site__dropped_before_the_start),
        cmocka_unit_test(site__says_why_a_part_is_not_replaced),
        cmocka_unit_test(stream_end__beyond_all_counting),
        cmocka_unit_test(job_disk__queue_never_overflows),
        cmocka_unit_test(node_job__several_refusals),
        cmocka_unit_test(node_job__full_queues_lose_nothing),
        cmocka_unit_test(site__measurement_finds_a_full_queue),
        cmocka_unit_test(site__confirm_finds_a_full_queue),
        cmocka_unit_test(site__have_finds_a_full_queue),
        cmocka_unit_test(site__resend_finds_a_full_queue),
        cmocka_unit_test(node_job__missing_sites_are_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
