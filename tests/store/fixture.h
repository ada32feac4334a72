/* A store of a few slots in memory of its own, and content that names its place. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/store.h"

struct fixture {
    struct store store;
    void *memory;
};

static inline void fixture_open_for(struct fixture *fixture, uint32_t slots, uint64_t blocks_max,
                                    uint32_t objects_max, uint32_t newcomer_slots)
{
    uint64_t slot_bytes = BLOCK_BYTES_TARGET + BLOCK_SYMBOLS_MAX * WIRE_TAG_BYTES + sizeof(struct slot);
    struct store_config config = {.memory_bytes = slots * slot_bytes,
                                  .blocks_max = blocks_max,
                                  .objects_max = objects_max,
                                  .newcomer_slots = newcomer_slots};
    size_t need = store_bytes(&config);
    fixture->memory = aligned_alloc(ARENA_ALIGN, need);
    struct arena arena;
    arena_init(&arena, fixture->memory, need);
    store_init(&fixture->store, &config, &arena);
    assert_int_equal(fixture->store.slot_count, slots);
    assert_int_equal(arena.used, need);
}

static inline void fixture_open(struct fixture *fixture, uint32_t slots, uint64_t blocks_max,
                                uint32_t objects_max)
{
    fixture_open_for(fixture, slots, blocks_max, objects_max, 0);
}

static inline void fixture_close(struct fixture *fixture)
{
    assert_int_equal(fixture->store.classes[SLOT_FREE].count, fixture->store.slot_count);
    assert_int_equal(fixture->store.blocks_used, 0);
    assert_int_equal(fixture->store.pinned_count, 0);
    free(fixture->memory);
}

static inline struct geometry geometry_of(uint64_t size_bytes, uint32_t symbol_bytes, uint32_t block_symbols)
{
    struct geometry geometry;
    struct err err;
    assert_true(geometry_init(&geometry, size_bytes, symbol_bytes, block_symbols, &err));
    return geometry;
}

static inline struct object *open_object(struct fixture *fixture, struct geometry geometry, bool source,
                                         bool discard, uint32_t children)
{
    struct err err;
    struct object *object = object_open(&fixture->store, &geometry, source, discard, children, &err);
    assert_non_null(object);
    return object;
}

/* The content of one symbol: every 8 bytes tell symbol and position; the last ones may be cut. */
static inline void fill_symbol(uint8_t *data, uint64_t symbol, uint32_t length)
{
    for (uint32_t at = 0; at < length; at += 8) {
        uint64_t word = symbol * 0x9e3779b97f4a7c15ULL + at;
        memcpy(data + at, &word, length - at < 8 ? length - at : 8);
    }
}

static inline void fill_run(const struct geometry *geometry, uint8_t *data, uint64_t symbol, uint32_t count)
{
    for (uint32_t at = 0; at < count; at++)
        fill_symbol(data + (size_t)at * geometry->symbol_bytes, symbol + at,
                    geometry_symbol_length(geometry, symbol + at));
}

static inline bool run_is_right(const struct geometry *geometry, const uint8_t *data, uint64_t symbol,
                                uint32_t count)
{
    static uint8_t expected[BLOCK_BYTES_TARGET];
    fill_run(geometry, expected, symbol, count);
    return memcmp(data, expected, geometry_run_length(geometry, symbol, count)) == 0;
}

static inline enum put_result put_run(struct object *object, uint64_t symbol, uint32_t count,
                                      uint64_t *completed)
{
    static uint8_t body[BLOCK_BYTES_TARGET];
    fill_run(&object->geometry, body, symbol, count);
    struct symbol_run run = {.symbol = symbol,
                             .count = count,
                             .body_bytes = (uint32_t)geometry_run_length(&object->geometry, symbol, count),
                             .body = body};
    return object_put(object, &run, completed);
}

/* Puts a whole block and takes it to VERIFIED without hashing. */
static inline void put_block(struct object *object, uint64_t block)
{
    uint64_t completed;
    uint64_t symbol = block * object->geometry.block_symbols;
    uint32_t count = geometry_symbols_in_block(&object->geometry, block);
    assert_int_equal(put_run(object, symbol, count, &completed), PUT_STORED);
    assert_int_equal(completed, block);
    object_write_begin(object, block);
    assert_true(object_write_done(object, block, false, NULL));
}

/* What the disk does for a load. */
static inline void finish_load(struct object *object, uint64_t block, uint32_t slot)
{
    fill_run(&object->geometry, object->store->slots[slot].data, block * object->geometry.block_symbols,
             geometry_symbols_in_block(&object->geometry, block));
    object_load_done(object, block);
}

/* Sends what the child may be sent next; false: nothing. */
static inline bool send_next(struct object *object, uint32_t child, uint32_t count_max,
                             struct feed_item *item)
{
    if (!feed_peek(object, child, count_max, item))
        return false;
    feed_on_sent(object, child, item);
    store_release(object->store, item->slot, 1);
    return true;
}

/* Sends and acks `blocks` whole blocks. */
static inline void serve(struct object *object, uint32_t child, uint32_t blocks)
{
    struct feed_item item;
    while (blocks > 0) {
        uint64_t before = object->feeds[child].blocks_done;
        assert_true(send_next(object, child, BLOCK_SYMBOLS_MAX, &item));
        feed_on_acked(object, child, item.symbol, item.count);
        blocks -= object->feeds[child].blocks_done != before;
    }
}
