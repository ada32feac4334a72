/* The window of a stream: numbers and places over many laps, its end, and what holds it. */
#include "fixture.h"

#include "base/units.h"
#include "store/stream.h"

#define SYMBOL        1024
#define BLOCK_SYMBOLS 4
#define BLOCKS        5
#define LAPS          7

struct world {
    struct fixture fixture;
    struct object *object;
    struct stream stream;
};

static void open_window(struct world *world, uint32_t blocks, uint32_t slots, uint32_t children)
{
    memset(world, 0, sizeof(*world));
    fixture_open(&world->fixture, slots, 64, 1);
    world->object = open_object(&world->fixture,
                                geometry_of((uint64_t)blocks * BLOCK_SYMBOLS * SYMBOL, SYMBOL, BLOCK_SYMBOLS),
                                false, true, children);
}

static void start(struct world *world, uint32_t children)
{
    open_window(world, BLOCKS, BLOCKS + 1, children);
    stream_init(&world->stream, world->object);
}

static void stop(struct world *world)
{
    object_close(world->object);
    fixture_close(&world->fixture);
}

static struct wire_hash hash_number(uint64_t block)
{
    struct wire_hash hash = {0};
    memcpy(&hash, &block, sizeof(block));
    return hash;
}

/* At the source. False: the window is full. */
static bool fill(struct world *world, uint32_t count)
{
    uint32_t first;
    uint32_t slot = stream_fill(&world->stream, &first);
    if (slot == SLOT_NONE)
        return false;
    assert_int_equal(first, world->stream.next % BLOCK_SYMBOLS);
    uint64_t block = world->stream.next / BLOCK_SYMBOLS;
    uint64_t completed = stream_filled(&world->stream, count);
    if (completed == UINT64_MAX)
        return true;
    struct wire_hash hash = hash_number(block);
    assert_int_equal(completed, block % BLOCKS);
    assert_true(stream_expect(&world->stream, block, &hash));
    assert_true(stream_done(&world->stream, completed, &hash));
    return true;
}

static uint64_t put(struct world *world, uint64_t number)
{
    uint64_t place, completed;
    assert_int_equal(stream_place(&world->stream, number, 1, &place), STREAM_INSIDE);
    assert_int_equal(put_run(world->object, place, 1, &completed), PUT_STORED);
    return completed;
}

static bool advance(struct world *world)
{
    uint64_t completed;
    return stream_advance(&world->stream, UINT64_MAX, &completed);
}

static void window__slides_over_its_places(void **state)
{
    struct world world;
    struct feed_item item;
    uint64_t sent = 0;
    (void)state;
    start(&world, 1);
    for (uint64_t block = 0; block < LAPS * BLOCKS; block++) {
        while (fill(&world, BLOCK_SYMBOLS)) {
        }
        assert_true(stream_full(&world.stream, 1));
        assert_int_equal(stream_behind(&world.stream, 0), BLOCKS * BLOCK_SYMBOLS);
        while (feed_peek(world.object, 0, BLOCK_SYMBOLS, &item) && sent < (block + 1) * BLOCK_SYMBOLS) {
            assert_int_equal(stream_number(&world.stream, item.symbol), sent);
            feed_on_sent(world.object, 0, &item);
            store_release(world.object->store, item.slot, 1);
            assert_false(advance(&world));
            feed_on_acked(world.object, 0, item.symbol, item.count);
            sent += item.count;
        }
        struct wire_hash hash = hash_number(block);
        assert_memory_equal(stream_hash(&world.stream, block), &hash, sizeof(hash));
        assert_true(advance(&world));
        assert_int_equal(world.stream.first, block + 1);
        assert_null(stream_hash(&world.stream, block));
    }
    stop(&world);
}

static void place__before_inside_beyond(void **state)
{
    struct world world;
    uint64_t place;
    (void)state;
    start(&world, 0);
    for (uint64_t number = 0; number < 2 * BLOCK_SYMBOLS; number++) {
        uint64_t completed = put(&world, number);
        if (completed != UINT64_MAX)
            assert_true(stream_done(&world.stream, completed, NULL));
    }
    assert_true(advance(&world));
    assert_int_equal(world.stream.first, 2);
    const struct {
        uint64_t number;
        uint32_t count;
        enum stream_where where;
        uint64_t place;
    } cases[] = {
        {2 * BLOCK_SYMBOLS - 1, 1, STREAM_BEFORE, 0},
        {2 * BLOCK_SYMBOLS, 4, STREAM_INSIDE, 2 * BLOCK_SYMBOLS},
        {2 * BLOCK_SYMBOLS + 1, 4, STREAM_BEYOND, 0}, /* across blocks */
        {5 * BLOCK_SYMBOLS, 1, STREAM_INSIDE, 0},
        {7 * BLOCK_SYMBOLS - 1, 1, STREAM_INSIDE, 2 * BLOCK_SYMBOLS - 1},
        {7 * BLOCK_SYMBOLS, 1, STREAM_BEYOND, 0},
        {UINT64_MAX / 2, 1, STREAM_BEYOND, 0},
    };
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        assert_int_equal(stream_place(&world.stream, cases[at].number, cases[at].count, &place),
                         cases[at].where);
        if (cases[at].where == STREAM_INSIDE) {
            assert_int_equal(place, cases[at].place);
            assert_int_equal(stream_number(&world.stream, place), cases[at].number);
        }
    }
    stop(&world);
}

/* Symbols come in any order; what is handed out is in order. */
static void run__is_in_order(void **state)
{
    struct world world;
    uint32_t slot, first, count;
    bool whole;
    (void)state;
    start(&world, 0);
    put(&world, 5);
    put(&world, 1);
    assert_false(stream_run(&world.stream, &slot, &first, &count, &whole));
    put(&world, 0);
    assert_true(stream_run(&world.stream, &slot, &first, &count, &whole));
    assert_int_equal(first, 0);
    assert_int_equal(count, 2);
    assert_false(whole);
    world.stream.next += count;
    assert_int_equal(stream_undelivered(&world.stream), 0); /* 5 has to wait */
    put(&world, 3);
    assert_int_equal(stream_undelivered(&world.stream), 0);
    assert_int_equal(put(&world, 2), 0);
    assert_int_equal(stream_undelivered(&world.stream), 2);
    assert_true(stream_run(&world.stream, &slot, &first, &count, &whole));
    assert_int_equal(first, 2);
    assert_int_equal(count, 2);
    assert_true(whole);
    assert_int_equal(stream_arrived(&world.stream), 1);
    stop(&world);
}

/* The last block is as long as what is left, wherever the end is told. */
static void end__within_a_block(void **state)
{
    (void)state;
    for (uint32_t symbols = 0; symbols <= 2 * BLOCK_SYMBOLS; symbols++)
        for (uint32_t told_after = 0; told_after <= symbols; told_after++) {
            struct world world;
            uint64_t completed, wholes = 0;
            start(&world, 0);
            for (uint32_t number = 0; number <= symbols; number++) {
                if (number == told_after) {
                    assert_true(stream_end(&world.stream, symbols, &completed));
                    wholes += completed != UINT64_MAX && stream_done(&world.stream, completed, NULL);
                }
                completed = number < symbols ? put(&world, number) : UINT64_MAX;
                wholes += completed != UINT64_MAX && stream_done(&world.stream, completed, NULL);
            }
            assert_int_equal(wholes, (symbols + BLOCK_SYMBOLS - 1) / BLOCK_SYMBOLS);
            advance(&world);
            assert_true(world.stream.first * BLOCK_SYMBOLS >= symbols);
            stop(&world);
        }
}

static void end__contradictions(void **state)
{
    struct world world;
    uint64_t completed, place;
    (void)state;
    start(&world, 0);
    put(&world, 6);
    assert_false(stream_end(&world.stream, 6, &completed)); /* 6 is behind it */
    assert_false(stream_end(&world.stream, 2, &completed));
    assert_true(stream_end(&world.stream, 7, &completed));
    assert_true(stream_end(&world.stream, 7, &completed));
    assert_false(stream_end(&world.stream, 8, &completed));
    assert_int_equal(stream_place(&world.stream, 7, 1, &place), STREAM_BEYOND);
    stop(&world);
}

static void hash__whichever_comes_first(void **state)
{
    const struct wire_hash right = hash_number(1), wrong = hash_number(2);
    (void)state;
    for (int expected_first = 0; expected_first < 2; expected_first++)
        for (int good = 0; good < 2; good++) {
            struct world world;
            bool agrees = true;
            start(&world, 0);
            for (uint64_t number = 0; number < BLOCK_SYMBOLS; number++)
                put(&world, number);
            if (expected_first)
                agrees &= stream_expect(&world.stream, 0, &right);
            agrees &= stream_done(&world.stream, 0, good ? &right : &wrong);
            assert_int_equal(stream_verified(&world.stream, 0), expected_first);
            if (!expected_first)
                agrees &= stream_expect(&world.stream, 0, &right);
            assert_int_equal(agrees, good);
            assert_true(stream_verified(&world.stream, 0)); /* the children are to get on all the same */
            stop(&world);
        }
}

/* One of two children gets nothing: it, and only it, holds the window. */
static void slow__child_is_known(void **state)
{
    struct world world;
    (void)state;
    start(&world, 2);
    while (fill(&world, BLOCK_SYMBOLS)) {
    }
    serve(world.object, 0, BLOCKS);
    assert_false(advance(&world));
    assert_int_equal(stream_behind(&world.stream, 0), 0);
    assert_int_equal(stream_behind(&world.stream, 1), BLOCKS * BLOCK_SYMBOLS);
    assert_false(stream_lacks_first(&world.stream, 0));
    assert_true(stream_lacks_first(&world.stream, 1));
    feed_drop(world.object, 1);
    assert_true(advance(&world));
    assert_int_equal(world.stream.first, BLOCKS);
    stop(&world);
}

/* ---- several stripes ---- */

static const struct {
    uint32_t blocks;
    uint8_t count, weights[STRIPES_MAX];
} striped[] = {
    {4, 1, {1}},           {4, 2, {1, 1}},
    {5, 2, {1, 1}},        {5, 3, {1, 1, 1}},
    {7, 3, {2, 1, 1}},     {5, 4, {8, 4, 2, 1}}, /* windows shorter than the period */
    {16, 4, {8, 4, 2, 1}}, {9, 8, {1, 1, 1, 1, 1, 1, 1, 1}},
    {6, 2, {31, 1}},
};

/* Two children, one with the even stripes, one with the odd ones; only those of the bits `fed` come here. */
static void start_striped(struct world *world, size_t row, uint8_t fed, struct stripe_schedule *schedule)
{
    const uint8_t masks[] = {0x55 & fed, 0xaa & fed};
    struct err err;
    open_window(world, striped[row].blocks, 40, 2);
    assert_true(stripe_schedule_init(schedule, striped[row].weights, striped[row].count));
    assert_true(object_stripe(world->object, schedule, masks, &err));
    if (schedule->count > 1)
        object_leave_out(world->object, fed);
    stream_init(&world->stream, world->object);
}

/* All that the child is offered is of the blocks that are its own by their numbers; all of it is acked. */
static uint64_t serve_own(struct world *world, uint32_t child, const struct stripe_schedule *schedule)
{
    struct feed_item item;
    uint64_t count = 0;
    while (feed_peek(world->object, child, 1, &item)) {
        uint64_t block = stream_number(&world->stream, item.symbol) / BLOCK_SYMBOLS;
        uint8_t stripe = stripe_of_block(schedule, block);
        assert_true(schedule->count == 1 || stripe % 2 == child);
        assert_int_equal(world->object->store->slots[item.slot].stripe, stripe);
        feed_on_sent(world->object, child, &item);
        store_release(world->object->store, item.slot, 1);
        feed_on_acked(world->object, child, item.symbol, item.count);
        count += item.count;
    }
    return count;
}

static void assert_counts(const struct world *world)
{
    const struct object *object = world->object;
    uint64_t verified = 0;
    for (uint64_t place = 0; place < object->geometry.blocks; place++)
        verified += object->state[place] == BLOCK_VERIFIED;
    assert_int_equal(object->blocks_verified, verified);
    for (uint32_t child = 0; child < 2; child++)
        assert_int_equal(object->feeds[child].blocks_done,
                         bitmap_count(object->done[child], object->geometry.blocks));
}

/* A block's stripe follows from its number, lap after lap, whatever the window; stripes that do not come here do not
 * hold it. */
static void stripes__follow_the_numbers(void **state)
{
    (void)state;
    for (size_t row = 0; row < sizeof(striped) / sizeof(striped[0]); row++)
        for (unsigned all = 0; all < 2; all++) {
            struct world world;
            struct stripe_schedule schedule;
            uint8_t fed = all || striped[row].count == 1 ? 0xff : 1;
            uint64_t expected[2] = {0}, served[2] = {0}, end = LAPS * striped[row].blocks;
            start_striped(&world, row, fed, &schedule);
            for (uint64_t block = 0; block < end; block++) {
                uint8_t stripe = stripe_of_block(&schedule, block);
                if ((fed >> stripe & 1) == 0)
                    continue;
                advance(&world);
                for (uint64_t symbol = 0, done; symbol < BLOCK_SYMBOLS; symbol++)
                    if ((done = put(&world, block * BLOCK_SYMBOLS + symbol)) != UINT64_MAX)
                        assert_true(stream_done(&world.stream, done, NULL));
                for (uint32_t child = 0; child < 2; child++) {
                    expected[child] += schedule.count == 1 || stripe % 2 == child ? BLOCK_SYMBOLS : 0;
                    served[child] += serve_own(&world, child, &schedule);
                    assert_int_equal(served[child], expected[child]);
                }
                assert_counts(&world);
                assert_true(advance(&world));
            }
            assert_true(world.stream.first + schedule.period >= end);
            stop(&world);
        }
}

/* Who is fed a part of the window is behind by that part at most; what is not here is nobody's fault. */
static void stripes__each_has_its_share(void **state)
{
    struct world world;
    struct stripe_schedule schedule;
    (void)state;
    start_striped(&world, 6, 0xff, &schedule); /* 8:4:2:1 in 16 blocks */
    assert_int_equal(stream_share(&world.stream, 0x5), 11 * BLOCK_SYMBOLS);
    assert_int_equal(stream_share(&world.stream, 0xa), 5 * BLOCK_SYMBOLS);
    for (uint64_t block = 1; block < 16; block++) {
        if ((0x5 >> stripe_of_block(&schedule, block) & 1) == 0)
            continue;
        for (uint64_t symbol = 0; symbol < BLOCK_SYMBOLS; symbol++)
            put(&world, block * BLOCK_SYMBOLS + symbol);
    }
    assert_int_equal(stream_behind(&world.stream, 0), 10 * BLOCK_SYMBOLS);
    assert_int_equal(stream_behind(&world.stream, 1), 0);
    assert_true(stream_full(&world.stream, 0x5));
    assert_false(stream_full(&world.stream, 0xa));
    assert_false(stream_lacks_first(&world.stream, 0)); /* nobody has brought it */
    put(&world, 0);
    assert_true(stream_lacks_first(&world.stream, 0));
    assert_false(stream_lacks_first(&world.stream, 1));
    stop(&world);
}

/* What is lost for good is not waited for; what lies here of it is let go, held or not. */
static void stripes__left_out_later(void **state)
{
    (void)state;
    for (unsigned held = 0; held < 2; held++) {
        struct world world;
        struct stripe_schedule schedule;
        start_striped(&world, 1, 0xff, &schedule); /* two in turn, 4 blocks */
        put(&world, 0);
        put(&world, BLOCK_SYMBOLS);
        uint32_t slot = world.object->slot_of[1];
        if (held)
            store_hold(world.object->store, slot);
        feed_drop(world.object, 1);
        stream_leave_out(&world.stream, 2);
        assert_int_equal(world.object->slot_of[1], SLOT_NONE);
        if (held)
            store_release(world.object->store, slot, 1);
        stream_leave_out(&world.stream, 1); /* the last one stays */
        assert_int_equal(world.object->state[0], BLOCK_FILLING);
        for (uint64_t block = 0; block < 40; block += 2) {
            for (uint64_t symbol = block == 0, done; symbol < BLOCK_SYMBOLS; symbol++)
                if ((done = put(&world, block * BLOCK_SYMBOLS + symbol)) != UINT64_MAX)
                    assert_true(stream_done(&world.stream, done, NULL));
            assert_int_equal(serve_own(&world, 0, &schedule), BLOCK_SYMBOLS);
            assert_counts(&world);
            assert_true(advance(&world));
            assert_int_equal(world.stream.first, block + 2);
        }
        stop(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(window__slides_over_its_places),
        cmocka_unit_test(place__before_inside_beyond),
        cmocka_unit_test(run__is_in_order),
        cmocka_unit_test(end__within_a_block),
        cmocka_unit_test(end__contradictions),
        cmocka_unit_test(hash__whichever_comes_first),
        cmocka_unit_test(slow__child_is_known),
        cmocka_unit_test(stripes__follow_the_numbers),
        cmocka_unit_test(stripes__each_has_its_share),
        cmocka_unit_test(stripes__left_out_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
