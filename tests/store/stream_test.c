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

static void start(struct world *world, uint32_t children)
{
    memset(world, 0, sizeof(*world));
    fixture_open(&world->fixture, BLOCKS + 1, 64, 1);
    world->object = open_object(&world->fixture,
                                geometry_of((uint64_t)BLOCKS * BLOCK_SYMBOLS * SYMBOL, SYMBOL, BLOCK_SYMBOLS),
                                false, true, children);
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
        assert_true(stream_full(&world.stream));
        assert_int_equal(stream_behind(&world.stream, 0), BLOCKS * BLOCK_SYMBOLS);
        while (feed_peek(world.object, 0, BLOCK_SYMBOLS, &item) && sent < (block + 1) * BLOCK_SYMBOLS) {
            assert_int_equal(stream_number(&world.stream, item.symbol), sent);
            feed_on_sent(world.object, 0, &item);
            store_release(world.object->store, item.slot);
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
    assert_int_equal(stream_undelivered(&world.stream), 1);
    put(&world, 3);
    assert_int_equal(put(&world, 2), 0);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
