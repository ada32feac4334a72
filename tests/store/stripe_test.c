#include "fixture.h"

#define SYMBOL  1024u
#define SYMBOLS 4u /* of a block */
#define BLOCK   ((uint64_t)SYMBOL * SYMBOLS)

static void stripe_schedule__table(void **state)
{
    (void)state;
    const struct {
        uint8_t weights[STRIPES_MAX + 1];
        uint32_t count;
        const char *schedule; /* one period; NULL: refused */
    } cases[] = {
        {{1}, 1, "0"},
        {{7}, 1, "0000000"},
        {{1, 1}, 2, "01"},
        {{2, 1}, 2, "010"},
        {{4, 2, 1}, 3, "0102010"},
        {{8, 4, 2, 1}, 4, "010201030102010"},
        {{1, 1, 1, 1, 1, 1, 1, 1}, 8, "01234567"},
        {{5, 1, 1}, 3, "0010200"}, /* the classic example */
        {{31, 1}, 2, "00000000000000001000000000000000"},
        {{0}, 0, NULL},
        {{1, 0}, 2, NULL},
        {{32, 1}, 2, NULL},
        {{255, 255}, 2, NULL},
        {{1, 1, 1, 1, 1, 1, 1, 1, 1}, 9, NULL},
    };
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        struct stripe_schedule schedule;
        char text[STRIPE_PERIOD_MAX + 1] = "";
        bool made = stripe_schedule_init(&schedule, cases[at].weights, cases[at].count);
        assert_int_equal(made, cases[at].schedule != NULL);
        if (!made)
            continue;
        for (uint32_t place = 0; place < schedule.period; place++)
            text[place] = (char)('0' + stripe_of_block(&schedule, place + 3ULL * schedule.period));
        assert_string_equal(text, cases[at].schedule);
        assert_int_equal(schedule.count, cases[at].count);
    }
}

static struct object *open_striped(struct fixture *fixture, uint64_t blocks, bool source, bool discard,
                                   const uint8_t *stripes, uint32_t children)
{
    struct stripe_schedule schedule;
    struct err err;
    struct object *object =
        open_object(fixture, geometry_of(blocks * BLOCK, SYMBOL, SYMBOLS), source, discard, children);
    assert_true(stripe_schedule_init(&schedule, (const uint8_t[]){2, 1}, 2)); /* 0 1 0 */
    assert_true(object_stripe(object, &schedule, stripes, &err));
    return object;
}

static bool is_foreign(uint32_t child, uint64_t block)
{
    bool second = block % 3 == 1;
    return child == 0 ? second : child == 1 ? !second : child == 3;
}

/* Child 0 is fed stripe 0, child 1 stripe 1, child 2 both, child 3 nothing. */
static void object_stripe__children_are_fed_theirs(void **state)
{
    (void)state;
    const uint8_t stripes[] = {1, 2, 3, 0};
    const uint64_t sizes[] = {1, 2, 3, 63, 64, 65, 200};
    for (size_t at = 0; at < sizeof(sizes) / sizeof(sizes[0]); at++) {
        struct fixture fixture;
        fixture_open(&fixture, 8, 256, 1);
        struct object *object = open_striped(&fixture, sizes[at], true, false, stripes, 4);
        for (uint32_t child = 0; child < 4; child++) {
            uint64_t foreign = 0;
            for (uint64_t block = 0; block < sizes[at]; block++) {
                assert_int_equal(bitmap_test(object->done[child], block), is_foreign(child, block));
                foreign += is_foreign(child, block);
            }
            assert_int_equal(object->feeds[child].blocks_done, foreign);
            assert_int_equal(feed_done(object, child), foreign == sizes[at]);
            assert_true(feed_on_resend(object, child, 0, UINT64_MAX));
            assert_int_equal(object->feeds[child].blocks_done, foreign);
            feed_on_have(object, child, 0, UINT64_MAX);
            assert_true(feed_done(object, child));
            assert_true(feed_on_resend(object, child, 0, UINT64_MAX));
            assert_int_equal(object->feeds[child].blocks_done, foreign);
        }
        object_close(object);
        fixture_close(&fixture);
    }
}

/* Blocks of one stripe that no child takes leave room for the other: 32 slots, of which 2 are kept for each. */
static void object_stripe__keeps_slots_for_each(void **state)
{
    (void)state;
    struct fixture fixture;
    uint64_t completed, taken = 0;
    fixture_open(&fixture, 32, 256, 2);
    const uint8_t stripes[] = {3};
    struct object *object = open_striped(&fixture, 60, false, true, stripes, 1);
    for (uint64_t block = 0; block < 60; block++)
        if (block % 3 != 1)
            taken += put_run(object, block * SYMBOLS, 1, &completed) == PUT_STORED;
    assert_int_equal(taken, 30);
    /* Who does not travel in stripes leaves them free as well. */
    struct object *other = open_object(&fixture, geometry_of(9 * BLOCK, SYMBOL, SYMBOLS), false, true, 0);
    assert_int_equal(put_run(other, 0, 1, &completed), PUT_NO_SLOT);
    assert_int_equal(put_run(object, 1 * SYMBOLS, 1, &completed), PUT_STORED);
    assert_int_equal(put_run(object, 4 * SYMBOLS, 1, &completed), PUT_STORED);
    assert_int_equal(put_run(object, 7 * SYMBOLS, 1, &completed), PUT_NO_SLOT);
    assert_int_equal(fixture.store.kept_count, 0);
    object_close(object);
    assert_int_equal(put_run(other, 0, 1, &completed), PUT_STORED);
    object_close(other);
    assert_int_equal(fixture.store.kept_slots, 0);
    assert_int_equal(fixture.store.kept_count, 0);
    fixture_close(&fixture);
}

/* One for each stripe is the least, of three quarters of all slots; two where that is a quarter of what half of them leave. */
static void object_stripe__needs_slots(void **state)
{
    (void)state;
    const struct {
        uint32_t slots;
        uint8_t stripes;
        uint32_t kept; /* 0: refused */
    } cases[] = {{4, 2, 1},  {4, 3, 0},  {8, 2, 1},  {8, 6, 1},  {8, 7, 0},
                 {31, 2, 1}, {32, 2, 2}, {64, 4, 2}, {64, 5, 1}, {128, 8, 2}};
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        const uint8_t weights[STRIPES_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};
        struct fixture fixture;
        struct stripe_schedule schedule;
        struct err err;
        fixture_open(&fixture, cases[at].slots, 256, 1);
        struct object *object =
            open_object(&fixture, geometry_of(9 * BLOCK, SYMBOL, SYMBOLS), false, false, 0);
        assert_true(stripe_schedule_init(&schedule, weights, cases[at].stripes));
        assert_int_equal(store_stripes_max(&fixture.store, NULL) >= cases[at].stripes, cases[at].kept != 0);
        assert_int_equal(object_stripe(object, &schedule, NULL, &err), cases[at].kept != 0);
        uint32_t shared = MAX(cases[at].slots / 4, 2u);
        assert_int_equal(store_stripes_max(&fixture.store, object), cases[at].slots - shared);
        assert_int_equal(fixture.store.kept_slots, cases[at].kept * cases[at].stripes);
        object_close(object);
        assert_int_equal(fixture.store.kept_slots, 0);
        fixture_close(&fixture);
    }
}

/* One job does not keep so much that the next finds nothing: 13 slots are enough for three of three stripes each. */
static void object_stripe__leaves_slots_for_more(void **state)
{
    (void)state;
    const uint8_t weights[] = {1, 1, 1};
    struct object *objects[4];
    struct stripe_schedule schedule;
    struct fixture fixture;
    struct err err;
    fixture_open(&fixture, 13, 256, 4);
    assert_true(stripe_schedule_init(&schedule, weights, 3));
    for (uint32_t job = 0; job < 4; job++) {
        objects[job] = open_object(&fixture, geometry_of(9 * BLOCK, SYMBOL, SYMBOLS), false, false, 0);
        assert_int_equal(object_stripe(objects[job], &schedule, NULL, &err), job < 3);
    }
    assert_int_equal(store_stripes_max(&fixture.store, NULL), 1);
    assert_int_equal(store_stripes_max(&fixture.store, objects[2]), 4);
    for (uint32_t job = 0; job < 4; job++)
        object_close(objects[job]);
    fixture_close(&fixture);
}

/* Two parents of one object, 16 slots: one kept for each stripe, a quarter of all as the share of each parent. What
 * the first stripe takes leaves the second its share; once both are full what is kept is left to each. */
static void object_stripe__parents_share(void **state)
{
    (void)state;
    struct fixture fixture;
    uint64_t completed;
    uint32_t taken[2] = {0};
    const uint8_t stripes[] = {3};
    fixture_open(&fixture, 16, 256, 2);
    struct object *object = open_striped(&fixture, 60, false, true, stripes, 1);
    object->owner[0] = 5;
    object->owner[1] = 9;
    assert_int_equal(store_room(&fixture.store, 5), 12);
    assert_int_equal(store_room(&fixture.store, 9), 12);
    assert_int_equal(object_full_stripes(object), 0);
    for (uint64_t block = 0; block < 60; block++)
        if (block % 3 != 1)
            taken[0] += put_run(object, block * SYMBOLS, 1, &completed) == PUT_STORED;
    assert_int_equal(taken[0], 12);
    assert_int_equal(object_full_stripes(object), 1);
    assert_int_equal(store_room(&fixture.store, 5), 0);
    assert_int_equal(store_room(&fixture.store, 9), 4);
    for (uint64_t block = 1; block < 60; block += 3)
        taken[1] += put_run(object, block * SYMBOLS, 1, &completed) == PUT_STORED;
    assert_int_equal(taken[1], 4);
    assert_int_equal(object_full_stripes(object), 3);
    assert_int_equal(store_room(&fixture.store, 9), 0);
    object_close(object);
    fixture_close(&fixture);
}

/* One parent of both: what is kept for the second stripe counts as its room, though the first has none. */
static void object_stripe__one_parent_has_what_is_kept(void **state)
{
    (void)state;
    struct fixture fixture;
    uint64_t completed;
    const uint8_t stripes[] = {3};
    fixture_open(&fixture, 8, 256, 2);
    struct object *object = open_striped(&fixture, 60, false, true, stripes, 1);
    assert_int_equal(store_room(&fixture.store, 0), 8);
    for (uint64_t block = 0; block < 60; block++)
        if (block % 3 != 1)
            put_run(object, block * SYMBOLS, 1, &completed);
    assert_int_equal(object_full_stripes(object), 1);
    assert_int_equal(store_room(&fixture.store, 0), 1);
    assert_int_equal(store_room(&fixture.store, 7), 0);
    object_close(object);
    fixture_close(&fixture);
}

static bool peek_past(struct object *object, uint8_t full, uint32_t count_max, struct feed_item *item)
{
    feed_set_places(object, 0, full, FEED_ROOM_ANY);
    return feed_peek(object, 0, count_max, item);
}

/* A child with no room for stripe 0 is sent stripe 1, and of stripe 0 what it has acked some of; repairs alike. */
static void feed_set_places__passes_over_full_stripes(void **state)
{
    (void)state;
    struct fixture fixture;
    struct feed_item item;
    uint64_t completed;
    const uint8_t stripes[] = {3};
    fixture_open(&fixture, 8, 256, 1);
    struct object *object = open_striped(&fixture, 6, false, true, stripes, 1);
    for (uint64_t block = 0; block < 3; block++)
        put_run(object, block * SYMBOLS, SYMBOLS, &completed);
    assert_true(peek_past(object, 0, 8, &item));
    assert_int_equal(item.symbol, 0);
    assert_true(peek_past(object, 1, 8, &item));
    assert_int_equal(item.symbol, SYMBOLS);
    assert_false(peek_past(object, 3, 8, &item));
    /* Block 0 was sent and lost: it has no place there. */
    for (uint32_t symbol = 0; symbol < 2; symbol++) {
        assert_true(peek_past(object, 0, 1, &item));
        feed_on_sent(object, 0, &item);
        store_release(&fixture.store, item.slot, 1);
        feed_on_lost(object, 0, symbol, 1);
        assert_true(peek_past(object, 1, 8, &item));
        assert_int_equal(item.symbol, SYMBOLS);
        assert_false(item.repair);
        assert_true(peek_past(object, 2, 1, &item));
        assert_true(item.repair && item.begun);
        feed_on_sent(object, 0, &item);
        store_release(&fixture.store, item.slot, 1);
    }
    feed_on_lost(object, 0, 1, 1);
    feed_on_acked(object, 0, 0, 1);
    assert_true(peek_past(object, 3, 8, &item));
    assert_int_equal(item.symbol, 1);
    assert_true(item.repair);
    object_close(object);
    fixture_close(&fixture);
}

/* A relay that has no part in stripe 1: it is complete once it has stripe 0. */
static void object_leave_out__is_complete_without(void **state)
{
    (void)state;
    struct fixture fixture;
    uint64_t completed;
    const uint8_t stripes[] = {1};
    fixture_open(&fixture, 8, 256, 1);
    struct object *object = open_striped(&fixture, 5, false, true, stripes, 1);
    object_leave_out(object, 1);
    assert_int_equal(object->received_bytes, 2 * BLOCK);
    assert_int_equal(put_run(object, 1 * SYMBOLS, 1, &completed), PUT_DUPLICATE);
    for (uint64_t block = 0; block < 5; block++) {
        assert_false(object_complete(object));
        if (block % 3 == 1)
            continue;
        assert_int_equal(put_run(object, block * SYMBOLS, SYMBOLS, &completed), PUT_STORED);
        object_write_begin(object, completed);
        assert_true(object_write_done(object, completed, false, NULL));
        if (block == 3)
            break;
    }
    assert_true(object_complete(object));
    assert_int_equal(object->verified_bytes, 5 * BLOCK);
    object_close(object);
    fixture_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stripe_schedule__table),
        cmocka_unit_test(object_stripe__children_are_fed_theirs),
        cmocka_unit_test(object_stripe__keeps_slots_for_each),
        cmocka_unit_test(object_stripe__needs_slots),
        cmocka_unit_test(object_stripe__leaves_slots_for_more),
        cmocka_unit_test(object_stripe__parents_share),
        cmocka_unit_test(object_stripe__one_parent_has_what_is_kept),
        cmocka_unit_test(feed_set_places__passes_over_full_stripes),
        cmocka_unit_test(object_leave_out__is_complete_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
