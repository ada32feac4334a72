#include "store/store.h"

#include <string.h>

#include "store/slots.h"

#define SLOT_TAGS_BYTES ((size_t)BLOCK_SYMBOLS_MAX * WIRE_TAG_BYTES)

uint32_t store_slots_for(uint64_t memory_bytes)
{
    uint64_t count = memory_bytes / (BLOCK_BYTES_TARGET + SLOT_TAGS_BYTES + sizeof(struct slot));
    return count < SLOT_NONE ? (uint32_t)count : SLOT_NONE - 1;
}

/* An object takes whole bitmap words: its last one may be used in part only. */
static uint64_t pool_blocks_for(const struct store_config *config)
{
    return (BITMAP_WORDS(config->blocks_max) + config->objects_max) * 64;
}

size_t store_bytes(const struct store_config *config)
{
    size_t slots = store_slots_for(config->memory_bytes);
    size_t blocks = pool_blocks_for(config);
    size_t total = arena_need((config->bodies_shared ? 1 : slots) * BLOCK_BYTES_TARGET) +
                   arena_need(slots * SLOT_TAGS_BYTES) + arena_need(slots * sizeof(struct slot));
    total += arena_need(config->objects_max * sizeof(struct object));
    total += arena_need(blocks * sizeof(uint32_t)) + arena_need(blocks) +
             arena_need(blocks * sizeof(struct wire_hash)) + arena_need(blocks);
    return total + arena_need(blocks / 8) + arena_need(blocks / 8 * STORE_CHILDREN_MAX);
}

static void init_slots(struct store *store, bool bodies_shared, struct arena *arena)
{
    size_t count = store->slot_count;
    uint8_t *data = arena_alloc(arena, (bodies_shared ? 1 : count) * BLOCK_BYTES_TARGET);
    uint8_t *tags = arena_alloc(arena, count * SLOT_TAGS_BYTES);
    store->slots = arena_alloc(arena, count * sizeof(struct slot));
    for (int class = 0; class < SLOT_CLASS_COUNT; class ++)
        list_init(&store->classes[class]);
    for (uint32_t index = 0; index < count; index++) {
        struct slot *slot = &store->slots[index];
        memset(slot, 0, sizeof(*slot));
        slot->data = data + (bodies_shared ? 0 : (size_t)index * BLOCK_BYTES_TARGET);
        slot->tags = tags + (size_t)index * SLOT_TAGS_BYTES;
        list_append(store, &store->classes[SLOT_FREE], SLOT_LINK, index);
    }
}

void store_init(struct store *store, const struct store_config *config, struct arena *arena)
{
    uint64_t blocks = pool_blocks_for(config);
    *store = (struct store){
        .slot_count = store_slots_for(config->memory_bytes),
        .bodies_shared = config->bodies_shared,
        .objects_max = config->objects_max,
        .blocks_max = config->blocks_max,
        .pool_blocks = blocks,
    };
    CHECK(store->slot_count >= SLOTS_MIN);
    init_slots(store, config->bodies_shared, arena);
    store->objects = arena_alloc(arena, config->objects_max * sizeof(struct object));
    memset(store->objects, 0, config->objects_max * sizeof(struct object));
    store->pool_slot_of = arena_alloc(arena, blocks * sizeof(uint32_t));
    store->pool_state = arena_alloc(arena, blocks);
    store->pool_hash = arena_alloc(arena, blocks * sizeof(struct wire_hash));
    store->pool_hash_known = arena_alloc(arena, blocks);
    store->pool_loadable = arena_alloc(arena, blocks / 8);
    store->pool_done = arena_alloc(arena, blocks / 8 * STORE_CHILDREN_MAX);
}

uint32_t store_available(const struct store *store)
{
    return store->classes[SLOT_FREE].count + store->classes[SLOT_CLEAN].count +
           store->classes[SLOT_SERVED].count + store->classes[SLOT_WAITING].count;
}
