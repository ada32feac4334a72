#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "store/slots.h"

#define STRIPE_SLOTS_KEPT 2u /* for each stripe: one that is filled while another is sent on … */
#define STRIPE_SHARE      4u /* … if that is a quarter at most of what half of all slots leave: else one */
#define SHARED_PART       4u /* of all slots: so many are not kept for anybody … */
#define SHARED_MIN        2u /* … but these at least */

/* First fit over the pool: a run may start where it starts or where another one ends. Returns pool_blocks
 * when no gap is wide enough. */
static uint64_t pool_find(const struct store *store, uint64_t need)
{
    uint64_t first = 0;
    bool moved = true;
    while (moved) {
        moved = false;
        for (uint32_t index = 0; index < store->objects_max; index++) {
            const struct object *other = &store->objects[index];
            uint64_t end = other->pool_first + other->pool_blocks;
            if (other->in_use && other->pool_first < first + need && first < end) {
                first = end;
                moved = true;
            }
        }
    }
    return first + need <= store->pool_blocks ? first : store->pool_blocks;
}

static void init_tables(struct object *object)
{
    struct store *store = object->store;
    uint64_t first = object->pool_first;
    uint64_t blocks = object->geometry.blocks;
    size_t words_bytes = object->pool_blocks / 8;
    object->slot_of = store->pool_slot_of + first;
    object->state = store->pool_state + first;
    object->hash = store->pool_hash + first;
    object->hash_known = store->pool_hash_known + first;
    object->loadable = store->pool_loadable + first / 64;
    memset(object->slot_of, 0xff, blocks * sizeof(uint32_t));
    memset(object->state, BLOCK_ABSENT, blocks);
    memset(object->hash_known, 0, blocks);
    memset(object->loadable, 0, words_bytes);
    for (uint32_t child = 0; child < object->child_count; child++) {
        object->feeds[child].room = FEED_ROOM_ANY;
        object->done[child] = store->pool_done + (child * store->pool_blocks + first) / 64;
        memset(object->done[child], 0, words_bytes);
        list_init(&object->feeds[child].ready);
        list_init(&object->feeds[child].repair);
    }
}

static struct object *find_free(struct store *store)
{
    for (uint32_t index = 0; index < store->objects_max; index++)
        if (!store->objects[index].in_use)
            return &store->objects[index];
    return NULL;
}

struct object *object_open(struct store *store, const struct geometry *geometry, bool source, bool discard,
                           uint32_t child_count, struct err *err)
{
    CHECK(child_count <= STORE_CHILDREN_MAX);
    struct object *object = find_free(store);
    if (object == NULL) {
        err_set(err, "%" PRIu32 " objects are open, which is the limit", store->objects_open);
        return NULL;
    }
    uint64_t room = store->blocks_max - store->blocks_used;
    uint64_t need = BITMAP_WORDS(geometry->blocks) * 64;
    uint64_t first = geometry->blocks <= room ? pool_find(store, need) : store->pool_blocks;
    if (first == store->pool_blocks && need != 0) {
        err_set(err, "block tables: %" PRIu64 " blocks needed, %" PRIu64 " of %" PRIu64 " free%s",
                geometry->blocks, room, store->blocks_max,
                geometry->blocks <= room ? ", but not in one run" : "");
        return NULL;
    }
    *object = (struct object){
        .in_use = true,
        .source = source,
        .discard = discard,
        .store = store,
        .geometry = *geometry,
        .pool_first = need == 0 ? 0 : first,
        .pool_blocks = need,
        .read_next = geometry->blocks,
        .short_place = UINT64_MAX,
        .schedule = {.count = 1, .period = 1},
        .fed = UINT8_MAX,
        .stripe_kept =
            !source && store_available(store) > store->kept_count, /* not what is promised to others */
        .child_count = child_count,
        .active = (1u << child_count) - 1,
    };
    init_tables(object);
    store->objects_open++;
    store->objects_filling += !source;
    store->kept_count += object->stripe_kept;
    store->blocks_used += geometry->blocks;
    if (source)
        object_mark_held(object);
    return object;
}

/* Bitmaps with the blocks that each child gets by another tree: one word after the other is the same again after
 * `period` words. */
static void mark_foreign(struct object *object, uint32_t child)
{
    const struct stripe_schedule *schedule = &object->schedule;
    uint64_t words = BITMAP_WORDS(object->geometry.blocks), *done = object->done[child];
    for (uint64_t word = 0; word < words; word++) {
        if (word >= schedule->period) {
            done[word] = done[word - schedule->period];
            continue;
        }
        for (uint64_t block = word * 64; block < (word + 1) * 64; block++)
            if (!object_feeds_stripe(object, child, block))
                bitmap_set(done, block);
    }
    if (object->geometry.blocks % 64 != 0)
        done[words - 1] &= ~(~0ULL << object->geometry.blocks % 64);
    object->feeds[child].blocks_done = bitmap_count(done, object->geometry.blocks);
}

uint32_t object_kept(const struct object *object)
{
    return object->schedule.count == 1 ? 0 : object->stripe_kept * object->schedule.count;
}

uint32_t store_stripes_max(const struct store *store, const struct object *replaced)
{
    uint32_t kept = store->kept_slots - (replaced == NULL ? 0 : object_kept(replaced));
    uint32_t most = store->slot_count - MAX(store->slot_count / SHARED_PART, SHARED_MIN);
    return MAX(most - MIN(most, kept), 1u);
}

bool object_stripe(struct object *object, const struct stripe_schedule *schedule, const uint8_t *stripes,
                   struct err *err)
{
    struct store *store = object->store;
    CHECK(object->slots_in_use == 0 && object->schedule.count == 1);
    if (schedule->count == 1)
        return true;
    uint32_t half = store->slot_count / 2;
    uint32_t least = store_stripes_max(store, NULL) >= schedule->count;
    uint32_t share = (half - MIN(half, store->kept_slots)) / STRIPE_SHARE / schedule->count;
    uint32_t kept = object->source ? 0 : MIN(STRIPE_SLOTS_KEPT, MAX(share, least));
    if (!object->source && kept == 0)
        return err_set(err, "symbol buffer: %" PRIu32 " slots of 1 MiB are too few for another %u stripes",
                       store->slot_count, schedule->count);
    store->kept_count -= object->stripe_kept;
    object->schedule = *schedule;
    object->stripe_kept = kept;
    store->kept_slots += object_kept(object);
    store->kept_count += object_kept(object);
    for (uint32_t child = 0; child < object->child_count; child++) {
        object->child_stripes[child] = stripes[child];
        mark_foreign(object, child);
    }
    return true;
}

static void count_verified(struct object *object, uint64_t block)
{
    object->blocks_verified++;
    object->verified_bytes += geometry_block_length(&object->geometry, block);
}

void object_leave_out(struct object *object, uint8_t fed)
{
    CHECK(object->slots_in_use == 0 && !object->source);
    object->fed = fed;
    for (uint64_t block = 0; block < object->geometry.blocks; block++) {
        if ((fed >> object_stripe_of(object, block) & 1) != 0 || object->state[block] == BLOCK_VERIFIED)
            continue;
        object->state[block] = BLOCK_VERIFIED;
        object->received_bytes += geometry_block_length(&object->geometry, block);
        count_verified(object, block);
    }
}

void object_close(struct object *object)
{
    struct store *store = object->store;
    CHECK(object->in_use && object_idle(object));
    for (uint32_t index = 0; index < store->slot_count; index++)
        if (store->slots[index].object == object)
            slot_return(store, index);
    CHECK(object->slots_in_use == 0);
    store->kept_slots -= object_kept(object);
    store->kept_count -= object->stripe_kept * object->schedule.count;
    store->blocks_used -= object->geometry.blocks;
    store->objects_open--;
    store->objects_filling -= !object->source;
    object->in_use = false;
}

bool object_idle(const struct object *object)
{
    return object->holds == 0;
}

bool object_complete(const struct object *object)
{
    return object->blocks_verified == object->geometry.blocks;
}

void object_mark_held(struct object *object)
{
    uint64_t blocks = object->geometry.blocks;
    CHECK(object->slots_in_use == 0 && object->received_bytes == 0);
    object->was_there = true;
    memset(object->state, BLOCK_VERIFIED, blocks);
    if (!object->discard && (object->source || !object->sealed))
        bitmap_fill(object->loadable, blocks);
    object->read_next = 0;
    object->blocks_verified = blocks;
    object->received_bytes = object->verified_bytes = object->geometry.size_bytes;
}

/* ---- arriving symbols ---- */

static void put_symbols(struct object *object, struct slot *slot, uint32_t index,
                        const struct symbol_run *run)
{
    if (!object->store->bodies_shared) /* else all is zeros, and is already */
        memcpy(slot->data + (size_t)index * object->geometry.symbol_bytes, run->body, run->body_bytes);
    uint8_t *tags = slot->tags + (size_t)index * WIRE_TAG_BYTES;
    if (run->tags != NULL)
        memcpy(tags, run->tags, (size_t)run->count * WIRE_TAG_BYTES);
    else
        memset(tags, 0, (size_t)run->count * WIRE_TAG_BYTES);
    if (run->count == 1)
        slot_sums(object->store, slot)[index] = run->body_sum;
    object->received_bytes += run->body_bytes;
}

/* A run of which some symbols are there already: those are left as they are, they may be on their way to a
 * child. */
static void put_missing(struct object *object, struct slot *slot, uint32_t index,
                        const struct symbol_run *run)
{
    for (uint32_t at = 0; at < run->count; at++) {
        struct symbol_run one = {.symbol = run->symbol + at,
                                 .count = 1,
                                 .body_bytes = geometry_symbol_length(&object->geometry, run->symbol + at),
                                 .body = run->body + (size_t)at * object->geometry.symbol_bytes,
                                 .tags = run->tags == NULL ? NULL : run->tags + (size_t)at * WIRE_TAG_BYTES};
        if (!bitmap_test(slot->have, index + at))
            put_symbols(object, slot, index + at, &one);
    }
}

static uint32_t count_missing(const struct slot *slot, uint32_t first, uint32_t count)
{
    uint32_t missing = 0;
    for (uint32_t word = first / 64; word * 64 < first + count; word++)
        missing += (uint32_t)__builtin_popcountll(range_mask(word, first, first + count) & ~slot->have[word]);
    return missing;
}

/* The slot that takes symbols of this block; SLOT_NONE with *result otherwise. */
static uint32_t put_slot(struct object *object, uint64_t block, enum put_result *result)
{
    switch ((enum block_state)object->state[block]) {
    case BLOCK_FILLING:
        return object->slot_of[block];
    case BLOCK_ABSENT: {
        bool room = stripe_has_room(object, object_stripe_of(object, block));
        uint32_t index = room ? slot_take(object, block, SLOT_WAITING) : SLOT_NONE;
        if (index != SLOT_NONE) {
            object->state[block] = BLOCK_FILLING;
            return index;
        }
        object->store->counters.no_slot++;
        *result = PUT_NO_SLOT;
        return SLOT_NONE;
    }
    case BLOCK_READING:
        *result = object->store->slots[object->slot_of[block]].rejected ? PUT_NO_SLOT : PUT_DUPLICATE;
        return SLOT_NONE;
    case BLOCK_WRITING:
    case BLOCK_HELD:
    case BLOCK_VERIFIED:
        *result = PUT_DUPLICATE;
        return SLOT_NONE;
    }
    CHECK(false);
    return SLOT_NONE;
}

enum put_result object_put(struct object *object, const struct symbol_run *run, uint64_t *completed)
{
    const struct geometry *geometry = &object->geometry;
    uint64_t symbol = run->symbol;
    uint32_t count = run->count;
    *completed = UINT64_MAX;
    if (count == 0 || symbol >= geometry->symbols || count > geometry->symbols - symbol)
        return PUT_OUTSIDE;
    uint64_t block = geometry_block_of(geometry, symbol);
    uint32_t first = (uint32_t)(symbol - block * geometry->block_symbols);
    if (count > geometry->block_symbols - first)
        return PUT_OUTSIDE;
    if (run->body_bytes != geometry_run_length(geometry, symbol, count))
        return PUT_BAD_LENGTH;
    enum put_result result = PUT_STORED;
    uint32_t index = put_slot(object, block, &result);
    if (index == SLOT_NONE)
        return result;

    struct slot *slot = &object->store->slots[index];
    uint32_t missing = count_missing(slot, first, count);
    if (missing == 0)
        return PUT_DUPLICATE;
    if (missing == count)
        put_symbols(object, slot, first, run);
    else
        put_missing(object, slot, first, run);
    for (uint32_t word = first / 64; word * 64 < first + count; word++)
        slot->have[word] |= range_mask(word, first, first + count);
    slot->have_count += missing;
    feed_link_ready(object, index, object->active & ~slot->done);
    if (slot->have_count == slot->symbols)
        *completed = block;
    return PUT_STORED;
}

/* ---- writing and hashes ---- */

uint32_t object_write_begin(struct object *object, uint64_t block)
{
    uint32_t index = object->slot_of[block];
    CHECK(object->state[block] == BLOCK_FILLING);
    CHECK(object->store->slots[index].have_count == object->store->slots[index].symbols);
    object->state[block] = BLOCK_WRITING;
    store_hold(object->store, index);
    return index;
}

uint32_t object_bad_count(const struct object *object, uint64_t block)
{
    return object->hash_known[block] / HASH_BAD;
}

/* The content of the block is bad: what is held, or is just being read back or written; with it goes its
 * computed hash. The children learn that from the hash themselves: those that acked all of it are not sent
 * more before they ask (RESEND), the others get all of it anew. */
static void reject_block(struct object *object, uint64_t block)
{
    struct store *store = object->store;
    uint32_t length = geometry_block_length(&object->geometry, block);
    uint32_t index = object->slot_of[block];
    bool reading = object->state[block] == BLOCK_READING;
    object->hash_known[block] &= (uint8_t)~HASH_COMPUTED;
    if (object_bad_count(object, block) < OBJECT_BAD_MAX)
        object->hash_known[block] = (uint8_t)(object->hash_known[block] + HASH_BAD);
    uint8_t state = reading ? store->slots[index].loaded : object->state[block];
    object->received_bytes -= length;
    if (state == BLOCK_VERIFIED) {
        object->blocks_verified--;
        object->verified_bytes -= length;
    }
    if (reading) {
        store->slots[index].rejected = true;
        return;
    }
    if (index == SLOT_NONE)
        object_clear_loadable(object, block);
    object->state[block] = BLOCK_ABSENT;
    if (index != SLOT_NONE)
        slot_retire(store, index);
}

bool object_write_done(struct object *object, uint64_t block, bool hashed, const struct wire_hash *hash)
{
    struct store *store = object->store;
    uint32_t index = object->slot_of[block];
    CHECK(object->state[block] == BLOCK_WRITING);
    bool expected = (object->hash_known[block] & HASH_EXPECTED) != 0;
    bool agrees = true;
    if (hashed && expected)
        agrees = memcmp(&object->hash[block], hash, sizeof(*hash)) == 0;
    if (!agrees) {
        reject_block(object, block);
        store_release(store, index, 1);
        return false;
    }
    object->state[block] = BLOCK_HELD;
    if (hashed) {
        object->hash[block] = *hash;
        object->hash_known[block] |= HASH_COMPUTED;
    }
    if (expected || !hashed) {
        object->state[block] = BLOCK_VERIFIED;
        count_verified(object, block);
    }
    store_release(store, index, 1);
    return true;
}

/* The source's own file: the first hash of a block is the truth, a later one must be the same. */
static bool expect_at_source(struct object *object, uint64_t block, const struct wire_hash *hash)
{
    if (object->hash_known[block] != 0)
        return memcmp(&object->hash[block], hash, sizeof(*hash)) == 0;
    object->hash[block] = *hash;
    object->hash_known[block] = HASH_EXPECTED | HASH_COMPUTED;
    return true;
}

/* It was here before the object was, and may be sealed now. */
static void permit_load(struct object *object, uint64_t block)
{
    bool waits = object->state[block] >= BLOCK_HELD && object->slot_of[block] == SLOT_NONE &&
                 !bitmap_test(object->loadable, block);
    if (!object->was_there || !object->sealed || object->discard || !waits)
        return;
    if (block < object->read_next)
        object_set_loadable(object, block);
    else
        bitmap_set(object->loadable, block);
}

bool object_expect(struct object *object, uint64_t block, const struct wire_hash *hash)
{
    CHECK(block < object->geometry.blocks);
    if (object->source)
        return expect_at_source(object, block, hash);
    if ((object->hash_known[block] & HASH_COMPUTED) == 0) {
        object->hash[block] = *hash;
        object->hash_known[block] |= HASH_EXPECTED;
        permit_load(object, block);
        return true;
    }
    if (memcmp(&object->hash[block], hash, sizeof(*hash)) != 0) {
        object->hash[block] = *hash;
        object->hash_known[block] |= HASH_EXPECTED;
        reject_block(object, block);
        return false;
    }
    object->hash_known[block] |= HASH_EXPECTED;
    uint8_t *state = &object->state[block];
    if (*state == BLOCK_READING)
        state = &object->store->slots[object->slot_of[block]].loaded;
    if (*state == BLOCK_HELD) {
        *state = BLOCK_VERIFIED;
        count_verified(object, block);
    }
    return true;
}

bool object_load_check(struct object *object, uint64_t block, const struct wire_hash *hash)
{
    CHECK(object->state[block] == BLOCK_READING);
    if (object->store->slots[object->slot_of[block]].rejected)
        return true;
    if ((object->hash_known[block] & HASH_BITS) == 0)
        object->hash[block] = *hash;
    if (memcmp(&object->hash[block], hash, sizeof(*hash)) == 0) {
        object->hash_known[block] |= HASH_COMPUTED;
        return true;
    }
    reject_block(object, block);
    return false;
}

bool object_let_go(struct object *object, uint64_t block)
{
    uint32_t index = object->slot_of[block];
    const struct slot *slot = &object->store->slots[index];
    CHECK(object->state[block] == BLOCK_FILLING && slot->have_count == slot->symbols);
    if ((object->active & ~slot->done) != 0)
        return false;
    object->received_bytes -= geometry_block_length(&object->geometry, block);
    object->state[block] = BLOCK_ABSENT;
    slot_retire(object->store, index);
    return true;
}
