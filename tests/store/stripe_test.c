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

/* Blocks of one stripe that no child takes leave room for the other: 8 slots, of which 2 are kept for each. */
static void object_stripe__keeps_slots_for_each(void **state)
{
    (void)state;
    struct fixture fixture;
    uint64_t completed, taken = 0;
    fixture_open(&fixture, 8, 256, 2);
    const uint8_t stripes[] = {3};
    struct object *object = open_striped(&fixture, 60, false, true, stripes, 1);
    for (uint64_t block = 0; block < 60; block++)
        if (block % 3 != 1)
            taken += put_run(object, block * SYMBOLS, 1, &completed) == PUT_STORED;
    assert_int_equal(taken, 6);
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

/* Half of all slots may be kept; one for each stripe is the least. */
static void object_stripe__needs_slots(void **state)
{
    (void)state;
    const struct {
        uint32_t slots;
        uint8_t stripes;
        uint32_t kept; /* 0: refused */
    } cases[] = {{4, 2, 1}, {4, 3, 0}, {8, 2, 2}, {8, 4, 1}, {8, 5, 0}, {64, 8, 2}};
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        const uint8_t weights[STRIPES_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};
        struct fixture fixture;
        struct stripe_schedule schedule;
        struct err err;
        fixture_open(&fixture, cases[at].slots, 256, 1);
        struct object *object =
            open_object(&fixture, geometry_of(9 * BLOCK, SYMBOL, SYMBOLS), false, false, 0);
        assert_true(stripe_schedule_init(&schedule, weights, cases[at].stripes));
        assert_int_equal(object_stripe(object, &schedule, NULL, &err), cases[at].kept != 0);
        assert_int_equal(fixture.store.kept_slots, cases[at].kept * cases[at].stripes);
        object_close(object);
        assert_int_equal(fixture.store.kept_slots, 0);
        fixture_close(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stripe_schedule__table),
        cmocka_unit_test(object_stripe__children_are_fed_theirs),
        cmocka_unit_test(object_stripe__keeps_slots_for_each),
        cmocka_unit_test(object_stripe__needs_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
