#include "fixture.h"

#define SYMBOL  1024u
#define SYMBOLS 100u /* of a block */
#define BLOCK   ((uint64_t)SYMBOL * SYMBOLS)

/* Begins blocks from `first` on for as long as there is a slot, a symbol of each; returns how many. */
static uint32_t begin_blocks(struct object *object, uint64_t first)
{
    uint64_t completed;
    uint32_t count = 0;
    while (put_run(object, (first + count) * SYMBOLS, 1, &completed) == PUT_STORED)
        count++;
    return count;
}

/* One owner begins as many blocks as it may: what is the other's stays free, and all of it once it is alone. */
static void store_room__keeps_shares_of_others(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_open(&fixture, 16, 256, 2);
    struct object *greedy = open_object(&fixture, geometry_of(30 * BLOCK, SYMBOL, SYMBOLS), false, false, 0);
    struct object *other = open_object(&fixture, geometry_of(30 * BLOCK, SYMBOL, SYMBOLS), false, false, 0);
    other->owner[0] = 1;
    assert_int_equal(store_room(&fixture.store, greedy->owner[0]), 12);
    assert_int_equal(begin_blocks(greedy, 0), 10);
    assert_int_equal(store_room(&fixture.store, greedy->owner[0]), 2);
    assert_int_equal(store_room(&fixture.store, other->owner[0]), 6);
    assert_int_equal(begin_blocks(other, 0), 4); /* of its share, and of what is left by the threshold */
    object_close(other);
    assert_int_equal(store_room(&fixture.store, greedy->owner[0]), 6);
    assert_int_equal(begin_blocks(greedy, 10), 6);
    object_close(greedy);
    fixture_close(&fixture);
}

/* Objects that come from one parent, one after the other as much as it may have, then once more. None of them lets
 * go of anything: each that opens later finds room all the same, as long as there are more slots than objects. */
static void object_put__threshold(void **state)
{
    (void)state;
    static const struct {
        uint32_t slots, newcomers, objects;
        uint32_t first[4], then[4]; /* slots of each in the end; before the others opened, and at last */
    } rows[] = {
        {8, 0, 1, {8}, {0}},
        {8, 8, 1, {5}, {0}},   /* a third is left to who comes later … */
        {32, 8, 1, {24}, {0}}, /* … 8 at most */
        {8, 8, 2, {5, 2}, {0, 0}},
        {8, 8, 3, {5, 2, 1}, {0, 0, 0}},
        {4, 8, 2, {3, 1}, {0, 0}},
        {32, 8, 2, {24, 5}, {0, 0}},
        {32, 8, 4, {24, 5, 2, 1}, {0, 0, 0, 0}},
    };
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct object *objects[4];
        struct fixture fixture;
        fixture_open_for(&fixture, rows[row].slots, 256, 4, rows[row].newcomers);
        for (uint32_t at = 0; at < rows[row].objects; at++) {
            objects[at] = open_object(&fixture, geometry_of(40 * BLOCK, SYMBOL, SYMBOLS), false, false, 0);
            uint32_t room = object_room(objects[at]), taken = begin_blocks(objects[at], 0);
            assert_int_equal(taken, rows[row].first[at]);
            assert_true(room >= taken && room != 0);
            assert_int_equal(object_room(objects[at]), 0);
            assert_int_equal(object_full_stripes(objects[at]), 1);
        }
        for (uint32_t at = 0; at < rows[row].objects; at++)
            assert_int_equal(begin_blocks(objects[at], rows[row].first[at]), rows[row].then[at]);
        for (uint32_t at = 0; at < rows[row].objects; at++)
            object_close(objects[at]);
        fixture_close(&fixture);
    }
}

/* Where there are more objects than slots, each has one at most while others have none. */
static void object_put__more_objects_than_slots(void **state)
{
    (void)state;
    struct object *objects[6];
    struct fixture fixture;
    fixture_open_for(&fixture, 4, 256, 6, 8);
    for (uint32_t at = 0; at < 6; at++)
        objects[at] = open_object(&fixture, geometry_of(BLOCK * 3, SYMBOL, SYMBOLS), false, false, 0);
    for (uint32_t at = 0; at < 6; at++)
        assert_int_equal(begin_blocks(objects[at], 0), at < 4);
    object_close(objects[2]);
    assert_int_equal(begin_blocks(objects[0], 1), 0);
    assert_int_equal(begin_blocks(objects[5], 0), 1);
    for (uint32_t at = 0; at < 6; at++)
        if (at != 2)
            object_close(objects[at]);
    fixture_close(&fixture);
}

static void object__empty_is_complete_at_once(void **state)
{
    (void)state;
    struct fixture fixture;
    struct feed_item item;
    uint64_t completed, block;
    uint32_t slot;
    fixture_open(&fixture, 4, 10, 2);
    for (int source = 0; source < 2; source++) {
        struct object *object = open_object(&fixture, geometry_of(0, SYMBOL, SYMBOLS), source == 1, false, 2);
        assert_true(object_complete(object));
        assert_true(feed_done(object, 0) && feed_done(object, 1));
        assert_false(feed_peek(object, 0, 8, &item));
        assert_false(object_load_begin(object, 4, &block, &slot));
        struct symbol_run run = {.symbol = 0, .count = 1, .body_bytes = 1, .body = (const uint8_t *)"x"};
        assert_int_equal(object_put(object, &run, &completed), PUT_OUTSIDE);
        feed_on_have(object, 0, 0, UINT64_MAX);
        assert_true(feed_on_resend(object, 0, 0, UINT64_MAX));
        assert_true(feed_done(object, 0));
        object_close(object);
    }
    fixture_close(&fixture);
}

static void object_put__results(void **state)
{
    (void)state;
    const uint64_t size = 2 * BLOCK + SYMBOL + 7; /* 202 symbols, the last of 7 bytes */
    const struct {
        uint64_t symbol;
        uint32_t count, bytes;
        enum put_result result;
    } cases[] = {
        {0, 1, SYMBOL, PUT_STORED},
        {0, 1, SYMBOL, PUT_DUPLICATE},
        {0, 3, 3 * SYMBOL, PUT_STORED}, /* two of three are new */
        {0, 0, 0, PUT_OUTSIDE},
        {99, 2, 2 * SYMBOL, PUT_OUTSIDE}, /* crosses a block */
        {99, 1, SYMBOL, PUT_STORED},
        {202, 1, SYMBOL, PUT_OUTSIDE},
        {201, 2, SYMBOL, PUT_OUTSIDE},
        {UINT64_MAX, 1, SYMBOL, PUT_OUTSIDE},
        {5, UINT32_MAX, SYMBOL, PUT_OUTSIDE},
        {5, 1, SYMBOL - 1, PUT_BAD_LENGTH},
        {5, 1, SYMBOL + 1, PUT_BAD_LENGTH},
        {201, 1, SYMBOL, PUT_BAD_LENGTH},
        {200, 2, SYMBOL + 7, PUT_STORED},
    };
    static uint8_t body[8 * SYMBOL];
    struct fixture fixture;
    uint64_t completed;
    fixture_open(&fixture, 4, 10, 1);
    struct object *object = open_object(&fixture, geometry_of(size, SYMBOL, SYMBOLS), false, false, 0);
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        struct symbol_run run = {.symbol = cases[at].symbol,
                                 .count = cases[at].count,
                                 .body_bytes = cases[at].bytes,
                                 .body = body};
        assert_int_equal(object_put(object, &run, &completed), cases[at].result);
    }
    assert_int_equal(completed, 2);
    assert_int_equal(object->received_bytes, 5 * SYMBOL + 7);
    object_close(object);
    fixture_close(&fixture);
}

/* A run that brings one missing symbol leaves the ones that are there as they are. */
static void object_put__keeps_what_is_there(void **state)
{
    (void)state;
    static uint8_t other[3 * SYMBOL];
    uint8_t tags[3 * WIRE_TAG_BYTES];
    struct fixture fixture;
    uint64_t completed;
    memset(other, 0xaa, sizeof(other));
    memset(tags, 0x55, sizeof(tags));
    fixture_open(&fixture, 4, 10, 1);
    struct object *object = open_object(&fixture, geometry_of(BLOCK, SYMBOL, SYMBOLS), false, false, 0);
    put_run(object, 10, 1, &completed);
    put_run(object, 12, 1, &completed);
    struct symbol_run run = {
        .symbol = 10, .count = 3, .body_bytes = sizeof(other), .body = other, .tags = tags};
    assert_int_equal(object_put(object, &run, &completed), PUT_STORED);
    const struct slot *slot = &fixture.store.slots[object->slot_of[0]];
    assert_true(run_is_right(&object->geometry, slot_symbol(slot, &object->geometry, 10), 10, 1));
    assert_memory_equal(slot_symbol(slot, &object->geometry, 11), other, SYMBOL);
    assert_true(run_is_right(&object->geometry, slot_symbol(slot, &object->geometry, 12), 12, 1));
    assert_int_equal(slot_tags(slot, &object->geometry, 10)[0], 0);
    assert_int_equal(slot_tags(slot, &object->geometry, 11)[0], 0x55);
    object_close(object);
    fixture_close(&fixture);
}

/* Checksums are of single symbols, and of the block that lies in the slot now. */
static void object_put__keeps_checksums(void **state)
{
    (void)state;
    static uint8_t body[2 * SYMBOL];
    struct fixture fixture;
    uint64_t completed;
    fixture_open(&fixture, 4, 10, 1);
    struct object *object = open_object(&fixture, geometry_of(2 * BLOCK, SYMBOL, SYMBOLS), false, false, 0);
    const struct geometry *geometry = &object->geometry;
    struct symbol_run one = {
        .symbol = 10, .count = 1, .body_bytes = SYMBOL, .body = body, .body_sum = 0x1234};
    struct symbol_run two = {
        .symbol = 20, .count = 2, .body_bytes = 2 * SYMBOL, .body = body, .body_sum = 0x4321};
    assert_int_equal(object_put(object, &one, &completed), PUT_STORED);
    assert_int_equal(object_put(object, &two, &completed), PUT_STORED);
    one.body_sum = 0x5555;
    assert_int_equal(object_put(object, &one, &completed), PUT_DUPLICATE);
    const struct slot *slot = &fixture.store.slots[object->slot_of[0]];
    assert_int_equal(slot_sum(&fixture.store, slot, geometry, 10, 1), 0x1234);
    assert_int_equal(slot_sum(&fixture.store, slot, geometry, 10, 2), 0);
    assert_int_equal(slot_sum(&fixture.store, slot, geometry, 20, 1), 0);
    object_close(object);
    object = open_object(&fixture, geometry_of(2 * BLOCK, SYMBOL, SYMBOLS), false, false, 0);
    one.symbol = 11;
    assert_int_equal(object_put(object, &one, &completed), PUT_STORED);
    slot = &fixture.store.slots[object->slot_of[0]];
    assert_int_equal(slot_sum(&fixture.store, slot, geometry, 10, 1), 0);
    assert_int_equal(slot_sum(&fixture.store, slot, geometry, 11, 1), 0x5555);
    object_close(object);
    fixture_close(&fixture);
}

static void object_put__no_slot_changes_nothing(void **state)
{
    (void)state;
    struct fixture fixture;
    uint64_t completed;
    fixture_open(&fixture, 4, 10, 1);
    struct object *object = open_object(&fixture, geometry_of(6 * BLOCK, SYMBOL, SYMBOLS), false, false, 0);
    for (uint64_t block = 0; block < 4; block++)
        assert_int_equal(put_run(object, block * SYMBOLS, 1, &completed), PUT_STORED);
    assert_int_equal(store_available(&fixture.store), 0);
    assert_int_equal(put_run(object, 4 * SYMBOLS, 1, &completed), PUT_NO_SLOT);
    assert_int_equal(object->state[4], BLOCK_ABSENT);
    assert_int_equal(fixture.store.counters.no_slot, 1);
    assert_int_equal(put_run(object, 1, SYMBOLS - 1, &completed), PUT_STORED);
    assert_int_equal(completed, 0);
    object_write_begin(object, 0);
    assert_int_equal(put_run(object, 4 * SYMBOLS, 1, &completed), PUT_NO_SLOT); /* the disk still has it */
    assert_true(object_write_done(object, 0, false, NULL));
    assert_int_equal(store_available(&fixture.store), 1);
    assert_int_equal(put_run(object, 4 * SYMBOLS, 1, &completed), PUT_STORED);
    assert_int_equal(put_run(object, 0, 1, &completed), PUT_DUPLICATE); /* on disk, without a slot */
    object_close(object);
    fixture_close(&fixture);
}

static struct wire_hash hash_of(uint8_t first)
{
    struct wire_hash hash = {{first}};
    return hash;
}

/* Either hash may come first; a contradiction makes the block absent, a second copy is compared anew. */
static void object_hashes__in_any_order(void **state)
{
    (void)state;
    const struct {
        bool expect_first;
        uint8_t expected, computed;
    } cases[] = {{true, 1, 1}, {true, 1, 2}, {false, 1, 1}, {false, 1, 2}};
    struct fixture fixture;
    uint64_t completed;
    fixture_open(&fixture, 4, 10, 1);
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        struct object *object =
            open_object(&fixture, geometry_of(BLOCK - 1, SYMBOL, SYMBOLS), false, false, 0);
        struct wire_hash expected = hash_of(cases[at].expected), computed = hash_of(cases[at].computed);
        bool agrees = cases[at].expected == cases[at].computed;
        if (cases[at].expect_first)
            assert_true(object_expect(object, 0, &expected));
        put_run(object, 0, SYMBOLS, &completed);
        object_write_begin(object, 0);
        assert_int_equal(object_write_done(object, 0, true, &computed), agrees || !cases[at].expect_first);
        if (!cases[at].expect_first) {
            assert_int_equal(object->state[0], BLOCK_HELD);
            assert_false(object_complete(object));
            assert_int_equal(object_expect(object, 0, &expected), agrees);
        }
        assert_int_equal(object_complete(object), agrees);
        assert_int_equal(object->verified_bytes, agrees ? BLOCK - 1 : 0);
        assert_int_equal(object->received_bytes, agrees ? BLOCK - 1 : 0);
        if (!agrees) {
            assert_int_equal(object->state[0], BLOCK_ABSENT);
            assert_int_equal(object->slots_in_use, 0);
            assert_int_equal(put_run(object, 0, SYMBOLS, &completed), PUT_STORED);
            object_write_begin(object, 0);
            assert_true(object_write_done(object, 0, true, &expected));
            assert_true(object_complete(object));
        }
        object_close(object);
    }
    fixture_close(&fixture);
}

/* A slot whose content was found bad stays until the transmit that reads from it has ended; the block begins
 * anew in another slot meanwhile. */
static void object_write_done__bad_block_waits_for_its_holds(void **state)
{
    (void)state;
    struct fixture fixture;
    struct feed_item item;
    uint64_t completed;
    fixture_open(&fixture, 4, 10, 1);
    struct object *object = open_object(&fixture, geometry_of(BLOCK, SYMBOL, SYMBOLS), false, false, 1);
    struct wire_hash good = hash_of(1), bad = hash_of(2);
    object_expect(object, 0, &good);
    put_run(object, 0, SYMBOLS, &completed);
    assert_true(feed_peek(object, 0, 8, &item));
    feed_on_sent(object, 0, &item);
    object_write_begin(object, 0);
    assert_false(object_write_done(object, 0, true, &bad));
    assert_false(feed_peek(object, 0, 8, &(struct feed_item){0}));
    assert_false(object_idle(object));
    assert_int_equal(object->slots_in_use, 1);
    assert_int_equal(put_run(object, 0, SYMBOLS, &completed), PUT_STORED);
    assert_int_not_equal(object->slot_of[0], item.slot);
    feed_on_lost(object, 0, item.symbol, item.count); /* of the bad copy: means nothing any more */
    store_release(&fixture.store, item.slot, 1);
    assert_int_equal(object->slots_in_use, 1);
    assert_true(feed_peek(object, 0, SYMBOLS, &item));
    assert_int_equal(item.count, SYMBOLS);
    assert_false(item.repair);
    object_close(object);
    fixture_close(&fixture);
}

static void object_open__runs_are_first_fit_and_come_back(void **state)
{
    (void)state;
    struct fixture fixture;
    struct err err;
    fixture_open(&fixture, 4, 300, 3);
    struct geometry hundred = geometry_of(100 * BLOCK, SYMBOL, SYMBOLS),
                    more = geometry_of(201 * BLOCK, SYMBOL, SYMBOLS);
    struct object *first = open_object(&fixture, hundred, false, false, 1);
    struct object *second = open_object(&fixture, hundred, false, false, 1);
    assert_null(object_open(&fixture.store, &more, false, false, 1, &err));
    assert_non_null(strstr(err.text, "201 blocks needed, 100 of 300 free"));
    struct object *third = open_object(&fixture, hundred, false, false, 1);
    assert_null(object_open(&fixture.store, &hundred, false, false, 1, &err));
    assert_non_null(strstr(err.text, "3 objects are open"));
    /* The new owner of a run finds nothing of the old one. */
    feed_on_have(second, 0, 0, 100);
    assert_true(feed_done(second, 0));
    uint64_t place = second->pool_first;
    object_close(second);
    second = open_object(&fixture, hundred, true, false, 1);
    assert_int_equal(second->pool_first, place);
    assert_int_equal(second->feeds[0].blocks_done, 0);
    object_close(first);
    object_close(second);
    struct object *wide = open_object(&fixture, geometry_of(200 * BLOCK, SYMBOL, SYMBOLS), false, false, 1);
    assert_int_equal(wide->pool_first, 0);
    object_close(wide);
    object_close(third);
    fixture_close(&fixture);
}

/* Two objects with a hole between them that is too narrow, although enough is free in all. */
static void object_open__says_when_the_room_is_in_pieces(void **state)
{
    (void)state;
    struct fixture fixture;
    struct err err;
    struct object *objects[8];
    fixture_open(&fixture, 4, 64 * 8, 9);
    for (int at = 0; at < 8; at++)
        objects[at] = open_object(&fixture, geometry_of(64 * BLOCK, SYMBOL, SYMBOLS), false, false, 0);
    for (int at = 0; at < 8; at += 2)
        object_close(objects[at]);
    struct geometry wide = geometry_of(256 * BLOCK, SYMBOL, SYMBOLS);
    struct object *object = object_open(&fixture.store, &wide, false, false, 0, &err);
    if (object == NULL)
        assert_non_null(strstr(err.text, "256 blocks needed, 256 of 512 free"));
    else
        object_close(object);
    for (int at = 1; at < 8; at += 2)
        object_close(objects[at]);
    fixture_close(&fixture);
}

/* 1 TiB: the last block, the first one, one in between. */
static void object__large_offsets(void **state)
{
    (void)state;
    struct fixture fixture;
    uint64_t blocks = 1 << 20;
    fixture_open(&fixture, 4, blocks, 1);
    struct object *object =
        open_object(&fixture, geometry_of((1ULL << 40) - 5, SYMBOL, BLOCK_SYMBOLS_MAX), false, false, 1);
    const uint64_t cases[] = {blocks - 1, 0, (1 << 11) + 1 /* beyond 2 GiB */, (1 << 12) + 1 /* 4 GiB */};
    uint64_t bytes = 0;
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        put_block(object, cases[at]);
        bytes += geometry_block_length(&object->geometry, cases[at]);
        struct feed_item item;
        assert_true(send_next(object, 0, BLOCK_SYMBOLS_MAX, &item));
        assert_int_equal(item.symbol, cases[at] * BLOCK_SYMBOLS_MAX);
        assert_int_equal(item.count, BLOCK_SYMBOLS_MAX);
        feed_on_acked(object, 0, item.symbol, item.count);
        assert_true(bitmap_test(object->done[0], cases[at]));
    }
    assert_int_equal(object->received_bytes, bytes);
    assert_int_equal(object->feeds[0].blocks_done, 4);
    feed_on_have(object, 0, 0, UINT64_MAX);
    assert_true(feed_done(object, 0));
    object_close(object);
    fixture_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store_room__keeps_shares_of_others),
        cmocka_unit_test(object_put__threshold),
        cmocka_unit_test(object_put__more_objects_than_slots),
        cmocka_unit_test(object__empty_is_complete_at_once),
        cmocka_unit_test(object_put__results),
        cmocka_unit_test(object_put__keeps_what_is_there),
        cmocka_unit_test(object_put__keeps_checksums),
        cmocka_unit_test(object_put__no_slot_changes_nothing),
        cmocka_unit_test(object_hashes__in_any_order),
        cmocka_unit_test(object_write_done__bad_block_waits_for_its_holds),
        cmocka_unit_test(object_open__runs_are_first_fit_and_come_back),
        cmocka_unit_test(object_open__says_when_the_room_is_in_pieces),
        cmocka_unit_test(object__large_offsets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
