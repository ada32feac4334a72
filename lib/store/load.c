/* Reading blocks back into slots. What keeps it live and fair:
 *  - A slot loaded for a child's backlog is pinned until that child was sent some of it, so that loads for
 *    one child can't undo those for another before they were of use. At most half of all slots are pinned.
 *  - A child gets loads only while few slots wait for it: a stalled one stops asking, its pins stay few.
 *  - Loads take CLEAN and SERVED slots. WAITING ones, which the fast children are about to be sent, are taken
 *    only for an object with less than its share of the slots, which could otherwise wait for ever. */
#include <string.h>

#include "base/units.h"
#include "store/slots.h"

#define BACKLOG_SLOTS_MAX 8 /* per child; hides the disk's latency: 8 MiB last 7 ms at 10 Gbit/s */

static uint32_t backlog_slots(const struct store *store)
{
    return MAX(1u, MIN(store->slot_count / 8, (uint32_t)BACKLOG_SLOTS_MAX));
}

/* First block from … limit - 1 that lies on disk only and that some of `children` lack; `limit`: none. */
static uint64_t find_needed(const struct object *object, uint64_t from, uint64_t limit, uint32_t children)
{
    uint64_t skip = ~0ULL << from % 64;
    for (uint64_t word = from / 64; word * 64 < limit; word++) {
        uint64_t lacking = 0;
        for (uint32_t left = children; left != 0; left &= left - 1)
            lacking |= ~object->done[child_first(left)][word];
        uint64_t needed = lacking & object->loadable[word] & skip;
        skip = ~0ULL;
        if (needed != 0)
            return MIN(word * 64 + (uint64_t)__builtin_ctzll(needed), limit);
    }
    return limit;
}

/* A slot for a block that is loaded for `pin` children (0: read ahead for all). */
static bool load(struct object *object, uint64_t block, uint32_t pin, uint32_t *taken)
{
    struct store *store = object->store;
    bool pin_room = store->pinned_count < store->slot_count / 2;
    if (pin != 0 && !pin_room)
        return false;
    uint32_t index = slot_take(object, block, SLOT_SERVED);
    if (index == SLOT_NONE && pin_room &&
        object->slots_in_use < MAX(1u, store->slot_count / 2 / store->objects_open)) {
        index = slot_take(object, block, SLOT_WAITING);
        pin = object->active;
    }
    if (index == SLOT_NONE)
        return false;
    struct slot *slot = &store->slots[index];
    object_clear_loadable(object, block);
    slot->loaded = object->state[block];
    object->state[block] = BLOCK_READING;
    slot->loading = object->active & ~slot->done;
    for (uint32_t left = slot->loading; left != 0; left &= left - 1)
        object->feeds[child_first(left)].loading++;
    slot->pinned = pin & slot->loading;
    store->pinned_count += slot->pinned != 0;
    store_hold(store, index);
    *taken = index;
    return true;
}

/* For a child that has less than `enough` slots with something to send, or on their way from the disk. */
static bool load_backlog(struct object *object, uint32_t child, uint32_t enough, uint64_t *block,
                         uint32_t *slot)
{
    struct feed *feed = &object->feeds[child];
    if (feed->backlog_count == 0 || feed->ready.count + feed->loading >= enough)
        return false;
    uint64_t found = find_needed(object, feed->backlog_next, object->read_next, 1u << child);
    if (found == object->read_next)
        found = find_needed(object, 0, object->read_next, 1u << child);
    CHECK(found < object->read_next);
    feed->backlog_next = found;
    *block = found;
    return load(object, found, 1u << child, slot);
}

static bool load_backlogs(struct object *object, uint32_t enough, uint64_t *block, uint32_t *slot)
{
    for (uint32_t at = 0; at < object->child_count; at++) {
        uint32_t child = (object->load_turn + at) % object->child_count;
        if ((object->active >> child & 1) == 0 || !load_backlog(object, child, enough, block, slot))
            continue;
        object->load_turn = child + 1;
        return true;
    }
    return false;
}

static bool load_ahead(struct object *object, uint32_t ahead_max, uint64_t *block, uint32_t *slot)
{
    uint64_t blocks = object->geometry.blocks;
    if (object->read_next >= blocks || object->ahead_count >= ahead_max || object->active == 0)
        return false;
    object->read_next = find_needed(object, object->read_next, blocks, object->active);
    if (object->read_next == blocks || !load(object, object->read_next, 0, slot))
        return false;
    *block = object->read_next++;
    object->ahead_count++;
    object->store->slots[*slot].ahead = true;
    return true;
}

bool object_load_begin(struct object *object, uint32_t ahead_max, uint64_t *block, uint32_t *slot)
{
    return load_backlogs(object, 1, block, slot) || load_ahead(object, ahead_max, block, slot) ||
           load_backlogs(object, backlog_slots(object->store), block, slot);
}

bool object_load_unhashed(struct object *object, uint64_t *block, uint32_t *slot)
{
    uint64_t blocks = object->geometry.blocks;
    if (object->read_next < blocks)
        return false;
    while (object->hash_next < blocks &&
           (object->hash_known[object->hash_next] != 0 || object->slot_of[object->hash_next] != SLOT_NONE))
        object->hash_next++;
    if (object->hash_next == blocks || !load(object, object->hash_next, 0, slot))
        return false;
    *block = object->hash_next++;
    return true;
}

static struct slot *end_loading(struct object *object, uint64_t block)
{
    CHECK(object->state[block] == BLOCK_READING);
    struct slot *slot = &object->store->slots[object->slot_of[block]];
    for (uint32_t left = slot->loading; left != 0; left &= left - 1)
        object->feeds[child_first(left)].loading--;
    slot->loading = 0;
    object->state[block] = slot->rejected ? BLOCK_ABSENT : slot->loaded;
    return slot;
}

void object_load_done(struct object *object, uint64_t block)
{
    uint32_t index = object->slot_of[block];
    struct slot *slot = end_loading(object, block);
    if (slot->rejected) {
        slot_retire(object->store, index);
    } else {
        bitmap_fill(slot->have, slot->symbols);
        slot->have_count = slot->symbols;
        feed_link_ready(object, index, object->active & ~slot->done);
    }
    store_release(object->store, index, 1);
}

void object_load_failed(struct object *object, uint64_t block)
{
    uint32_t index = object->slot_of[block];
    end_loading(object, block);
    slot_retire(object->store, index);
    store_release(object->store, index, 1);
}

bool object_disk_lost(struct object *object)
{
    struct store *store = object->store;
    uint64_t blocks = object->geometry.blocks;
    bool served = object->active == 0 || find_needed(object, 0, blocks, object->active) == blocks;
    object->discard = true;
    object->read_next = blocks;
    memset(object->loadable, 0, object->pool_blocks / 8);
    for (uint32_t child = 0; child < object->child_count; child++)
        object->feeds[child].backlog_count = 0;
    for (uint32_t index = 0; index < store->slot_count; index++)
        if (store->slots[index].object == object)
            slot_reclass(store, index);
    return served;
}
