#include "store/store.h"

#include <string.h>

#include "base/units.h"
#include "store/slots.h"

/* Where several objects arrive, one that has no slot kept any more may take another only while its BUSY ones are
 * fewer than THRESHOLD times those that are left to everybody (the dynamic thresholds of Choudhury and Hahne, 1998).
 * One whose child is slow so ends at two thirds of them, at two fifths where there are two such, and gives back
 * what it has beyond that when a third arrives; what is left is the room of those that move on. */
#define THRESHOLD 2u

#define NEWCOMER_PART 3u /* of all slots, and one: so many are left to newcomers at most */

#define SLOT_TAGS_BYTES ((size_t)BLOCK_SYMBOLS_MAX * WIRE_TAG_BYTES)
#define SLOT_SUMS_BYTES ((size_t)BLOCK_SYMBOLS_MAX * sizeof(uint16_t))

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
                   arena_need(slots * SLOT_TAGS_BYTES) + arena_need(slots * SLOT_SUMS_BYTES) +
                   arena_need(slots * sizeof(struct slot));
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
    store->sums = arena_alloc(arena, count * SLOT_SUMS_BYTES);
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
    store->newcomer_slots = MIN(config->newcomer_slots, (store->slot_count + 1) / NEWCOMER_PART);
    CHECK(store->slot_count >= SLOTS_MIN && store->objects_max <= STORE_OBJECTS_MAX);
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

struct owner_use {
    uint16_t owner;
    uint32_t slots; /* of all that comes from it */
};

/* Each owner once; returns how many. */
static uint32_t sum_owners(const struct store *store, struct owner_use *uses)
{
    uint32_t count = 0;
    for (uint32_t index = 0; index < store->objects_max; index++) {
        const struct object *object = &store->objects[index];
        for (uint32_t stripe = 0; object->in_use && stripe < object->schedule.count; stripe++) {
            uint32_t at = 0;
            while (at < count && uses[at].owner != object->owner[stripe])
                at++;
            if (at == count)
                uses[count++] = (struct owner_use){.owner = object->owner[stripe]};
            uses[at].slots += object->stripe_slots[stripe];
        }
    }
    return count;
}

/* What the owner may take by the shares alone. */
static uint32_t share_room(const struct store *store, uint16_t owner)
{
    struct owner_use uses[STORE_OBJECTS_MAX * STRIPES_MAX];
    uint32_t available = store_available(store), used = 0, kept = 0;
    if (store->objects_open <= 1 && store->kept_slots == 0)
        return available;
    uint32_t owners = sum_owners(store, uses);
    if (owners <= 1)
        return available;
    uint32_t share = MAX(store->slot_count / (2 * owners), 2u);
    for (uint32_t at = 0; at < owners; at++) {
        if (uses[at].owner == owner)
            used = uses[at].slots;
        else
            kept += share - MIN(uses[at].slots, share);
    }
    uint32_t own = share - MIN(used, share);
    uint32_t spare = available - MIN(kept, available);
    return MIN(available, MAX(own, spare));
}

/* Available slots that no open object keeps. */
static uint32_t free_slots(const struct store *store)
{
    uint32_t available = store_available(store);
    return available - MIN(available, store->kept_count);
}

/* … and that are not left to newcomers. */
static uint32_t spare_slots(const struct store *store)
{
    uint32_t slots = free_slots(store);
    uint32_t left = store->objects_filling <= 1 ? store->newcomer_slots : MIN(store->newcomer_slots, 1u);
    return slots - MIN(slots, left);
}

/* What the object may still take of the spare slots: see THRESHOLD. One that has none yet is a newcomer. */
static uint32_t threshold_room(const struct object *object)
{
    const struct store *store = object->store;
    uint32_t spare = spare_slots(store), most = spare * THRESHOLD;
    uint32_t left = most - MIN(most, object->busy);
    if (spare == 0 && object->busy == 0)
        return MIN(free_slots(store), 1u);
    return store->objects_filling <= 1 ? spare : MIN(spare, left);
}

/* What stripes of the owner keep and do not use. */
static uint32_t kept_for(const struct store *store, uint16_t owner)
{
    uint32_t kept = 0;
    for (uint32_t index = 0; index < store->objects_max && store->kept_count > 0; index++) {
        const struct object *object = &store->objects[index];
        for (uint32_t stripe = 0; object->in_use && stripe < object->schedule.count; stripe++)
            if (object->owner[stripe] == owner)
                kept += object->stripe_kept - MIN(object->stripe_busy[stripe], object->stripe_kept);
    }
    return kept;
}

uint32_t store_room(const struct store *store, uint16_t owner)
{
    uint32_t available = store_available(store), kept = kept_for(store, owner);
    uint32_t shared = MIN(share_room(store, owner), kept + spare_slots(store));
    return MIN(available, MAX(shared, kept));
}

bool stripe_has_room(const struct object *object, uint32_t stripe)
{
    const struct store *store = object->store;
    if (object->stripe_busy[stripe] < object->stripe_kept)
        return store_available(store) > 0;
    return threshold_room(object) > 0 && share_room(store, object->owner[stripe]) > 0;
}

uint8_t object_full_stripes(const struct object *object)
{
    uint8_t full = 0;
    for (uint32_t stripe = 0; stripe < object->schedule.count; stripe++)
        if (!stripe_has_room(object, stripe))
            full |= (uint8_t)(1u << stripe);
    return full;
}

uint32_t object_room(const struct object *object)
{
    uint32_t kept = 0;
    for (uint32_t stripe = 0; stripe < object->schedule.count; stripe++)
        kept += object->stripe_kept - MIN(object->stripe_kept, object->stripe_busy[stripe]);
    return MIN(kept + threshold_room(object), store_available(object->store));
}
