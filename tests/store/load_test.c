/* What object_load_begin reads, and when. */
#include "fixture.h"

#define SYMBOL  1024u
#define SYMBOLS 10u
#define BLOCK   ((uint64_t)SYMBOL * SYMBOLS)

static struct fixture fixture;

static struct object *open_source(uint64_t blocks, uint32_t children)
{
    return open_object(&fixture, geometry_of(blocks * BLOCK, SYMBOL, SYMBOLS), true, false, children);
}

/* Begins and finishes loads until there is none; returns how many, and the last block. */
static uint32_t load_all(struct object *object, uint32_t ahead_max, uint64_t *last)
{
    uint32_t slot, count = 0;
    for (; object_load_begin(object, ahead_max, last, &slot); count++)
        finish_load(object, *last, slot);
    return count;
}

static void load__reads_ahead_of_the_fastest_child(void **state)
{
    (void)state;
    uint64_t last;
    fixture_open(&fixture, 16, 64, 1);
    struct object *object = open_source(50, 2);
    assert_true(object_complete(object));
    assert_int_equal(load_all(object, 3, &last), 3);
    assert_int_equal(last, 2);
    assert_int_equal(load_all(object, 3, &last), 0);
    struct feed_item item;
    assert_true(send_next(object, 0, SYMBOLS - 1, &item));
    assert_int_equal(load_all(object, 3, &last), 0); /* not yet sent all of it */
    assert_true(send_next(object, 0, SYMBOLS, &item));
    assert_int_equal(load_all(object, 3, &last), 1);
    assert_int_equal(last, 3);
    assert_true(send_next(object, 1, SYMBOLS, &item)); /* the slower child sends the same block */
    assert_int_equal(load_all(object, 3, &last), 0);
    object_close(object);
    fixture_close(&fixture);
}

static void load__skips_what_all_children_have(void **state)
{
    (void)state;
    uint64_t last;
    fixture_open(&fixture, 8, 128, 1);
    struct object *object = open_source(100, 2);
    feed_on_have(object, 0, 0, 90);
    feed_on_have(object, 1, 0, 80);
    feed_on_have(object, 1, 85, 15);
    assert_int_equal(load_all(object, 2, &last), 2);
    assert_int_equal(last, 81);
    /* They come to have what was read ahead: that must not count as ahead for ever. */
    feed_on_have(object, 1, 0, 100);
    assert_int_equal(load_all(object, 2, &last), 2);
    assert_int_equal(last, 91);
    feed_drop(object, 0);
    assert_int_equal(load_all(object, 2, &last), 0);
    assert_int_equal(store_available(&fixture.store), 8);
    object_close(object);
    fixture_close(&fixture);
}

static void load__marked_held_is_served_like_a_source(void **state)
{
    (void)state;
    uint64_t last;
    fixture_open(&fixture, 8, 64, 1);
    struct object *object = open_object(&fixture, geometry_of(20 * BLOCK, SYMBOL, SYMBOLS), false, false, 1);
    object_mark_held(object);
    assert_true(object_complete(object));
    assert_int_equal(object->received_bytes, 20 * BLOCK);
    while (!feed_done(object, 0)) {
        load_all(object, 4, &last);
        serve(object, 0, 1);
    }
    assert_int_equal(last, 19);
    object_close(object);
    fixture_close(&fixture);
}

/* What would be sealed again must be what the source has sealed: its hash comes first, however children ask, and however often
 * it is told. */
static void load__marked_held_and_sealed_waits_for_the_hash(void **state)
{
    (void)state;
    uint64_t last;
    const struct wire_hash hash = {.bytes = {7}};
    fixture_open(&fixture, 8, 64, 1);
    struct object *object = open_object(&fixture, geometry_of(20 * BLOCK, SYMBOL, SYMBOLS), false, false, 1);
    object->sealed = true;
    object_mark_held(object);
    assert_int_equal(load_all(object, 4, &last), 0);
    feed_on_have(object, 0, 5, 1);
    assert_true(feed_on_resend(object, 0, 5, 1));
    assert_int_equal(load_all(object, 4, &last), 0);
    for (unsigned time = 0; time < 3; time++)
        assert_true(object_expect(object, 5, &hash));
    assert_int_equal(load_all(object, 4, &last), 1);
    assert_int_equal(last, 5);
    for (uint64_t block = 0; block < 20; block++)
        object_expect(object, block, &hash);
    while (!feed_done(object, 0)) {
        load_all(object, 4, &last);
        serve(object, 0, 1);
    }
    assert_int_equal(object->feeds[0].backlog_count, 0);
    object_close(object);
    fixture_close(&fixture);
}

static void load_failed__is_tried_again(void **state)
{
    (void)state;
    uint64_t block, again;
    uint32_t slot;
    fixture_open(&fixture, 4, 64, 1);
    struct object *object = open_source(2, 1);
    assert_true(object_load_begin(object, 1, &block, &slot));
    object_load_failed(object, block);
    assert_int_equal(store_available(&fixture.store), 4);
    assert_int_equal(object->feeds[0].backlog_count, 1);
    assert_true(object_load_begin(object, 1, &again, &slot));
    assert_int_equal(again, block);
    finish_load(object, block, slot);
    serve(object, 0, 1);
    object_close(object);
    fixture_close(&fixture);
}

/* The hash arrives while the disk reads a bad copy: what it reads is not passed on, the block begins anew. */
static void load__bad_copy_is_not_passed_on(void **state)
{
    (void)state;
    const struct wire_hash computed = {{1}}, expected = {{2}};
    uint64_t block, completed;
    uint32_t slot;
    struct feed_item item;
    fixture_open(&fixture, 4, 64, 1);
    struct object *object = open_object(&fixture, geometry_of(6 * BLOCK, SYMBOL, SYMBOLS), false, false, 1);
    for (uint64_t at = 0; at < 6; at++) {
        put_run(object, at * SYMBOLS, SYMBOLS, &completed);
        object_write_begin(object, at);
        assert_true(object_write_done(object, at, true, &computed));
    }
    serve(object, 0, 4);
    assert_true(object_load_begin(object, 0, &block, &slot));
    assert_false(object_expect(object, block, &expected));
    assert_int_equal(put_run(object, block * SYMBOLS, 1, &completed), PUT_NO_SLOT);
    object_load_done(object, block);
    assert_int_equal(object->state[block], BLOCK_ABSENT);
    assert_false(feed_peek(object, 0, 8, &item));
    assert_int_equal(put_run(object, block * SYMBOLS, SYMBOLS, &completed), PUT_STORED);
    assert_true(feed_peek(object, 0, 8, &item));
    object_close(object);
    fixture_close(&fixture);
}

/* Two hashes of the block arrive while the disk reads it: it is bad by the first, whatever the second one. */
static void load__second_hash_makes_no_content_good(void **state)
{
    (void)state;
    const struct wire_hash computed = {{1}}, other = {{2}};
    uint64_t block, completed;
    uint32_t slot;
    fixture_open(&fixture, 4, 64, 1);
    struct object *object = open_object(&fixture, geometry_of(6 * BLOCK, SYMBOL, SYMBOLS), false, false, 1);
    for (uint64_t at = 0; at < 6; at++) {
        put_run(object, at * SYMBOLS, SYMBOLS, &completed);
        object_write_begin(object, at);
        assert_true(object_write_done(object, at, true, &computed));
    }
    serve(object, 0, 4);
    assert_true(object_load_begin(object, 0, &block, &slot));
    assert_false(object_expect(object, block, &other));
    assert_true(object_expect(object, block, &computed));
    assert_true(object_load_check(object, block, &computed));
    object_load_done(object, block);
    assert_int_equal(object->state[block], BLOCK_ABSENT);
    put_run(object, block * SYMBOLS, SYMBOLS, &completed);
    object_write_begin(object, block);
    assert_true(object_expect(object, block, &other)); /* nothing is computed yet */
    assert_false(object_write_done(object, block, true, &computed));
    assert_int_equal(object_bad_count(object, block), 2);
    assert_int_equal(object->received_bytes, 5 * BLOCK);
    object_close(object);
    fixture_close(&fixture);
}

/* Every slot holds a block that the fast child had and the slow one has not begun: the fast one goes on. */
static void load__slow_child_does_not_stall_the_fast_one(void **state)
{
    (void)state;
    const uint64_t blocks = 60;
    uint64_t last;
    fixture_open(&fixture, 4, 64, 1);
    struct object *object = open_source(blocks, 2);
    for (uint64_t at = 0; at < blocks; at++) {
        load_all(object, 2, &last);
        serve(object, 0, 1);
    }
    assert_true(feed_done(object, 0));
    assert_int_equal(object->feeds[1].blocks_done, 0);
    while (!feed_done(object, 1)) {
        load_all(object, 2, &last);
        serve(object, 1, 1);
    }
    object_close(object);
    fixture_close(&fixture);
}

/* What was loaded for the slow child is not taken for the fast one before the slow one could begin it. */
static void load__backlog_is_pinned(void **state)
{
    (void)state;
    uint64_t last, pinned = UINT64_MAX;
    fixture_open(&fixture, 4, 64, 1);
    struct object *object = open_source(60, 2);
    struct feed_item item;
    for (uint64_t at = 0; at < 60; at++) {
        load_all(object, 2, &last);
        serve(object, 0, 1);
        if (at == 20) /* the slow child gives up what it has, so that it needs its backlog */
            while (send_next(object, 1, SYMBOLS, &item))
                feed_on_acked(object, 1, item.symbol, item.count);
        for (uint32_t slot = 0; slot < 4 && pinned == UINT64_MAX; slot++)
            if (fixture.store.slots[slot].object != NULL && fixture.store.slots[slot].pinned != 0)
                pinned = fixture.store.slots[slot].block;
        assert_true(pinned == UINT64_MAX || object->slot_of[pinned] != SLOT_NONE);
    }
    assert_int_not_equal(pinned, UINT64_MAX);
    object_close(object);
    fixture_close(&fixture);
}

/* The other job's children do nothing and its read-ahead fills the memory: this one still gets its turn. */
static void load__an_idle_job_does_not_starve_another(void **state)
{
    (void)state;
    uint64_t last;
    fixture_open(&fixture, 4, 64, 2);
    struct object *idle = open_source(20, 1);
    assert_int_equal(load_all(idle, 100, &last), 4);
    struct object *object = open_source(20, 1);
    while (!feed_done(object, 0)) {
        assert_true(load_all(object, 2, &last) > 0);
        serve(object, 0, 1);
    }
    while (!feed_done(idle, 0)) {
        load_all(idle, 2, &last);
        serve(idle, 0, 1);
    }
    object_close(idle);
    object_close(object);
    fixture_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load__reads_ahead_of_the_fastest_child),
        cmocka_unit_test(load__skips_what_all_children_have),
        cmocka_unit_test(load__marked_held_is_served_like_a_source),
        cmocka_unit_test(load__marked_held_and_sealed_waits_for_the_hash),
        cmocka_unit_test(load_failed__is_tried_again),
        cmocka_unit_test(load__bad_copy_is_not_passed_on),
        cmocka_unit_test(load__second_hash_makes_no_content_good),
        cmocka_unit_test(load__slow_child_does_not_stall_the_fast_one),
        cmocka_unit_test(load__backlog_is_pinned),
        cmocka_unit_test(load__an_idle_job_does_not_starve_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
