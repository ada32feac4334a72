/* Children of a receiver or source: order, repairs, haves, resends, recycling and the backlog. */
#include "fixture.h"

#define SYMBOL  1024u
#define SYMBOLS 130u /* of a block: two bitmap words and a bit */
#define BLOCK   ((uint64_t)SYMBOL * SYMBOLS)
#define SLOTS   8

static struct fixture fixture;
static struct object *object;

static void open_with(uint64_t blocks, bool source, bool discard, uint32_t children)
{
    fixture_open(&fixture, SLOTS, 64, 1);
    object = open_object(&fixture, geometry_of(blocks * BLOCK, SYMBOL, SYMBOLS), source, discard, children);
}

static int stop(void **state)
{
    (void)state;
    object_close(object);
    fixture_close(&fixture);
    return 0;
}

static void expect_item(uint32_t child, uint32_t count_max, uint64_t symbol, uint32_t count, bool repair)
{
    struct feed_item item;
    assert_true(send_next(object, child, count_max, &item));
    assert_int_equal(item.symbol, symbol);
    assert_int_equal(item.count, count);
    assert_int_equal(item.repair, repair);
}

static void expect_nothing(uint32_t child)
{
    struct feed_item item;
    assert_false(feed_peek(object, child, 8, &item));
}

static void feed_peek__runs(void **state)
{
    (void)state;
    uint64_t completed;
    open_with(2, false, false, 1);
    put_run(object, 60, 10, &completed); /* over the edge of a word */
    put_run(object, 128, 2, &completed);
    put_run(object, SYMBOLS, 3, &completed);
    expect_item(0, 1, 60, 1, false);
    expect_item(0, 8, 61, 8, false);
    expect_item(0, 8, 69, 1, false);
    expect_item(0, 8, 128, 2, false); /* not into the next block */
    expect_item(0, 2, SYMBOLS, 2, false);
    put_run(object, 0, 1, &completed); /* before what was sent: its block was begun and goes first */
    expect_item(0, 8, 0, 1, false);
    expect_item(0, 8, SYMBOLS + 2, 1, false);
    expect_nothing(0);
    put_run(object, 1, 59, &completed);
    expect_item(0, SYMBOLS, 1, 59, false);
}

/* What completes blocks passes before what begins one, and says so. */
static void feed_peek__begun_blocks_first(void **state)
{
    (void)state;
    uint64_t completed;
    struct feed_item item;
    open_with(3, false, false, 1);
    put_run(object, 0, 2, &completed);
    assert_true(feed_peek(object, 0, 8, &item));
    assert_false(item.begun);
    expect_item(0, 8, 0, 2, false);
    put_run(object, SYMBOLS, 2, &completed);
    put_run(object, 2 * SYMBOLS, 2, &completed);
    put_run(object, 5, 1, &completed);
    assert_true(feed_peek(object, 0, 8, &item));
    assert_true(item.begun);
    expect_item(0, 8, 5, 1, false);
    expect_item(0, 1, SYMBOLS, 1, false);
    expect_item(0, 1, SYMBOLS + 1, 1, false);
    expect_item(0, 8, 2 * SYMBOLS, 2, false);
}

/* A child that has few places is sent what completes blocks which it has acked some of, and begins of others so many as
 * it has places for; those on their way count. */
static void feed_set_places__counts_what_is_on_its_way(void **state)
{
    (void)state;
    uint64_t completed;
    open_with(4, false, false, 1);
    for (uint64_t block = 0; block < 4; block++)
        put_run(object, block * SYMBOLS, 2, &completed);
    feed_set_places(object, 0, 0, 2);
    expect_item(0, 1, 0, 1, false);
    expect_item(0, 8, 1, 1, false);
    expect_item(0, 8, SYMBOLS, 2, false);
    expect_nothing(0);
    assert_true(feed_lacks_place(object, 0));
    put_run(object, 5, 1, &completed); /* of a block that was begun */
    expect_item(0, 8, 5, 1, false);
    feed_on_acked(object, 0, 0, 1); /* its place is taken: the child has said how many others there are */
    feed_set_places(object, 0, 0, 2);
    expect_item(0, 8, 2 * SYMBOLS, 2, false);
    expect_nothing(0);
    feed_set_places(object, 0, 0,
                    0); /* none for what was begun: nor is that repaired, if nothing of it is there */
    feed_on_lost(object, 0, SYMBOLS, 2);
    expect_nothing(0);
    feed_on_lost(object, 0, 5, 1);
    expect_item(0, 8, 5, 1, true);
    feed_set_places(object, 0, 0, 1);
    expect_item(0, 8, SYMBOLS, 2, true);
    expect_nothing(0);
    feed_set_places(object, 0, 1, FEED_ROOM_ANY);
    expect_nothing(0);
    feed_set_places(object, 0, 0, FEED_ROOM_ANY);
    expect_item(0, 8, 3 * SYMBOLS, 2, false);
    assert_false(feed_lacks_place(object, 0));
}

static void feed_on_lost__repairs_first(void **state)
{
    (void)state;
    open_with(2, false, false, 2);
    put_block(object, 0);
    expect_item(0, 100, 0, 100, false);
    expect_item(1, 5, 0, 5, false);
    feed_on_acked(object, 0, 10, 20);
    feed_on_lost(object, 0, 5, 10); /* 10 … 14 are acked already */
    feed_on_lost(object, 0, 63, 2);
    feed_on_lost(object, 0, 120, 5); /* never sent */
    expect_item(0, 8, 5, 5, true);
    expect_item(0, 8, 63, 2, true);
    expect_item(0, 8, 100, 8, false);
    feed_on_lost(object, 0, 5, 5);
    feed_on_acked(object, 0, 5, 4); /* the first copy arrived after all */
    expect_item(0, 8, 9, 1, true);
    expect_item(0, 8, 108, 8, false);
    expect_item(1, 8, 5, 8, false);
}

static void feed_on_have__is_never_sent(void **state)
{
    (void)state;
    uint64_t completed;
    open_with(4, false, false, 2);
    feed_on_have(object, 0, 3, 1000); /* absent yet, and beyond the end */
    put_block(object, 0);
    put_run(object, SYMBOLS, 10, &completed);
    expect_item(0, 2, 0, 2, false);
    feed_on_lost(object, 0, 0, 1);
    feed_on_have(object, 0, 0, 2);
    put_run(object, SYMBOLS + 10, 10, &completed);
    put_run(object, 3 * SYMBOLS, 10, &completed);
    expect_nothing(0);
    assert_int_equal(object->feeds[0].blocks_done, 3);
    feed_on_have(object, 0, 0, 2);
    assert_int_equal(object->feeds[0].blocks_done, 3);
    assert_false(feed_done(object, 0));
    feed_on_have(object, 0, 2, 1);
    assert_true(feed_done(object, 0));
    expect_item(1, 8, 0, 8, false);
}

static void feed_on_resend__starts_the_block_anew(void **state)
{
    (void)state;
    open_with(2, false, false, 1);
    put_block(object, 0);
    expect_item(0, SYMBOLS, 0, SYMBOLS, false);
    feed_on_acked(object, 0, 0, SYMBOLS);
    assert_int_equal(object->feeds[0].blocks_done, 1);
    assert_true(feed_on_resend(object, 0, 0, 1));
    assert_int_equal(object->feeds[0].blocks_done, 0);
    feed_on_acked(object, 0, 0, SYMBOLS); /* an ack of the bad copy that comes late */
    feed_on_lost(object, 0, 0, 3);
    expect_item(0, SYMBOLS, 0, SYMBOLS, false);
    feed_on_acked(object, 0, 0, SYMBOLS);
    assert_int_equal(object->feeds[0].blocks_done, 1);
}

static void feed_drop__frees_what_waited_for_it(void **state)
{
    (void)state;
    open_with(2, false, true, 2);
    put_block(object, 0);
    serve(object, 0, 1);
    expect_item(1, 1, 0, 1, false);
    assert_int_equal(store_available(&fixture.store), SLOTS - 1);
    feed_drop(object, 1);
    assert_int_equal(store_available(&fixture.store), SLOTS);
    expect_nothing(1);
    feed_on_lost(object, 1, 0, 1);
    feed_on_acked(object, 1, 0, 1);
    expect_nothing(1);
}

/* Which of a store's slots may be recycled, by what is on disk and what the two children got. */
static void store_available__by_rule(void **state)
{
    (void)state;
    const struct {
        bool written, discard;
        uint32_t sent, acked; /* symbols of the block, by child 0; child 1 gets nothing */
        bool second_done, held, expected;
    } cases[] = {
        {.written = false, .sent = SYMBOLS, .acked = SYMBOLS, .second_done = true, .expected = false},
        {.written = true, .sent = SYMBOLS, .acked = SYMBOLS, .second_done = true, .expected = true},
        {.written = true,
         .sent = SYMBOLS,
         .acked = SYMBOLS,
         .second_done = true,
         .held = true,
         .expected = false},
        {.written = true, .sent = SYMBOLS, .acked = SYMBOLS, .expected = true},
        {.written = true, .sent = SYMBOLS, .acked = SYMBOLS, .discard = true, .expected = false},
        {.written = true, .sent = 0, .expected = true},
        {.written = true, .sent = 0, .discard = true, .expected = false},
        {.written = true, .sent = 1, .expected = false},
        {.written = true, .sent = SYMBOLS, .acked = SYMBOLS - 1, .second_done = true, .expected = false},
        {.written = true,
         .sent = SYMBOLS,
         .acked = SYMBOLS,
         .discard = true,
         .second_done = true,
         .expected = true},
    };
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        uint64_t completed;
        open_with(2, false, cases[at].discard, 2);
        put_run(object, 0, SYMBOLS, &completed);
        object_write_begin(object, 0);
        if (cases[at].written)
            object_write_done(object, 0, false, NULL);
        if (cases[at].sent != 0)
            expect_item(0, cases[at].sent, 0, cases[at].sent, false);
        feed_on_acked(object, 0, 0, cases[at].acked);
        if (cases[at].second_done)
            feed_on_have(object, 1, 0, 1);
        uint32_t slot = object->slot_of[0];
        if (cases[at].held)
            store_hold(&fixture.store, slot);
        assert_int_equal(store_available(&fixture.store), SLOTS - 1 + cases[at].expected);
        if (cases[at].held)
            store_release(&fixture.store, slot, 1);
        if (!cases[at].written)
            object_write_done(object, 0, false, NULL);
        stop(NULL);
    }
    open_with(1, false, false, 0);
}

/* The fast child is served, the slow one has begun one block: memory turns over without it, the one block
 * stays, the rest is its backlog and comes from disk. */
static void put__a_slow_child_does_not_hold_the_others(void **state)
{
    (void)state;
    const uint64_t blocks = 3 * SLOTS;
    uint64_t block;
    uint32_t slot;
    open_with(blocks, false, false, 2);
    put_block(object, 0);
    expect_item(1, 1, 0, 1, false);
    for (uint64_t at = 0; at < blocks; at++) {
        if (at != 0)
            put_block(object, at);
        serve(object, 0, 1);
    }
    assert_true(feed_done(object, 0));
    assert_int_not_equal(object->slot_of[0], SLOT_NONE);
    assert_int_equal(object->feeds[1].backlog_count, blocks - SLOTS);
    assert_int_equal(fixture.store.counters.slots_evicted, blocks - SLOTS);
    assert_int_equal(fixture.store.counters.no_slot, 0);
    feed_on_acked(object, 1, 0, 1);
    while (!feed_done(object, 1)) {
        struct feed_item item;
        if (send_next(object, 1, 8, &item)) {
            assert_true(
                run_is_right(&object->geometry,
                             slot_symbol(&fixture.store.slots[item.slot], &object->geometry, item.symbol),
                             item.symbol, item.count));
            feed_on_acked(object, 1, item.symbol, item.count);
            continue;
        }
        assert_true(object_load_begin(object, 0, &block, &slot));
        finish_load(object, block, slot);
    }
    assert_false(object_load_begin(object, 9, &block, &slot));
}

/* Nothing to read it back from: the memory sink takes no more until the slow child has acked. */
static void put__a_memory_sink_waits_for_all(void **state)
{
    (void)state;
    uint64_t completed;
    open_with(SLOTS + 1, false, true, 2);
    for (uint64_t at = 0; at < SLOTS; at++)
        put_block(object, at);
    serve(object, 0, SLOTS);
    assert_int_equal(put_run(object, SLOTS * SYMBOLS, 1, &completed), PUT_NO_SLOT);
    serve(object, 1, 1);
    assert_int_equal(put_run(object, SLOTS * SYMBOLS, 1, &completed), PUT_STORED);
    assert_false(feed_on_resend(object, 1, 0, 1)); /* recycled: gone for good */
    assert_true(feed_on_resend(object, 1, 1, 1));
}

/* What could be recycled because the disk has it must stay from then on; what is gone already is told. */
static void object_disk_lost__keeps_what_is_in_memory(void **state)
{
    (void)state;
    uint64_t completed, block;
    uint32_t slot;
    for (uint64_t blocks = SLOTS; blocks <= SLOTS + 1; blocks++) {
        open_with(blocks, false, false, 1);
        for (uint64_t at = 0; at < blocks; at++)
            put_block(object, at);
        assert_int_equal(store_available(&fixture.store), SLOTS);
        assert_int_equal(object_disk_lost(object), blocks == SLOTS);
        assert_int_equal(store_available(&fixture.store), 0);
        serve(object, 0, SLOTS);
        assert_int_equal(store_available(&fixture.store), SLOTS);
        assert_false(object_load_begin(object, 4, &block, &slot));
        stop(NULL);
    }
    open_with(2, false, false, 1);
    put_run(object, 0, 1, &completed);
    assert_true(object_disk_lost(object)); /* what is still to come will stay in memory as well */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(feed_peek__begun_blocks_first, stop),
        cmocka_unit_test_teardown(feed_peek__runs, stop),
        cmocka_unit_test_teardown(feed_set_places__counts_what_is_on_its_way, stop),
        cmocka_unit_test_teardown(feed_on_lost__repairs_first, stop),
        cmocka_unit_test_teardown(feed_on_have__is_never_sent, stop),
        cmocka_unit_test_teardown(feed_on_resend__starts_the_block_anew, stop),
        cmocka_unit_test_teardown(feed_drop__frees_what_waited_for_it, stop),
        cmocka_unit_test_teardown(store_available__by_rule, stop),
        cmocka_unit_test_teardown(put__a_slow_child_does_not_hold_the_others, stop),
        cmocka_unit_test_teardown(object_disk_lost__keeps_what_is_in_memory, stop),
        cmocka_unit_test_teardown(put__a_memory_sink_waits_for_all, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
