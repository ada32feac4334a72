#include "store/slots.h"

#include <string.h>

/* ---- classes ---- */

static enum slot_class class_of(const struct slot *slot)
{
    const struct object *object = slot->object;
    if (object == NULL)
        return SLOT_FREE;
    if (slot->holds != 0 || slot->retired || slot->pinned != 0)
        return SLOT_BUSY;
    if (object->state[slot->block] < BLOCK_HELD)
        return SLOT_BUSY;
    uint32_t pending = object->active & ~slot->done;
    if (pending == 0)
        return SLOT_CLEAN;
    if (object->discard || (pending & slot->touched) != 0)
        return SLOT_BUSY;
    return slot->served ? SLOT_SERVED : SLOT_WAITING;
}

void slot_end_ahead(struct slot *slot)
{
    slot->object->ahead_count -= slot->ahead;
    slot->ahead = false;
}

/* ---- what is kept ---- */

/* A slot of this stripe has become BUSY, or is so no more. */
static void count_busy(struct object *object, uint8_t stripe, bool begins)
{
    uint32_t *busy = &object->stripe_busy[stripe];
    if (begins) {
        object->busy++;
        object->store->kept_count -= (*busy)++ < object->stripe_kept;
    } else {
        object->busy--;
        object->store->kept_count += --*busy < object->stripe_kept;
    }
}

/* Whether a slot of those that are available may be taken for a block of the stripe. */
static bool may_take(const struct object *object, uint8_t stripe)
{
    const struct store *store = object->store;
    if (store->kept_count == 0 || store_available(store) > store->kept_count)
        return true;
    return object->stripe_busy[stripe] < object->stripe_kept;
}

void slot_reclass(struct store *store, uint32_t index)
{
    struct slot *slot = &store->slots[index];
    enum slot_class class = class_of(slot);
    if (class == slot->class)
        return;
    if (class == SLOT_CLEAN)
        slot_end_ahead(slot);
    if (slot->object != NULL && (class == SLOT_BUSY || slot->class == SLOT_BUSY))
        count_busy(slot->object, slot->stripe, class == SLOT_BUSY);
    list_remove(store, &store->classes[slot->class], SLOT_LINK, index);
    list_append(store, &store->classes[class], SLOT_LINK, index);
    slot->class = class;
}

/* ---- which block lies where ---- */

/* It had a slot, so it lies below read_next: only there does backlog_count count. */
void object_set_loadable(struct object *object, uint64_t block)
{
    if (object->discard)
        return;
    bitmap_set(object->loadable, block);
    for (uint32_t child = 0; child < object->child_count; child++)
        if (!bitmap_test(object->done[child], block))
            object->feeds[child].backlog_count++;
}

void object_clear_loadable(struct object *object, uint64_t block)
{
    if (!bitmap_test(object->loadable, block))
        return;
    bitmap_clear(object->loadable, block);
    for (uint32_t child = 0; child < object->child_count; child++)
        if (block < object->read_next && !bitmap_test(object->done[child], block))
            object->feeds[child].backlog_count--;
}

static void begin_block(struct object *object, uint64_t block, uint32_t index)
{
    struct slot *slot = &object->store->slots[index];
    slot->object = object;
    slot->block = block;
    slot->stripe = object_stripe_of(object, block);
    slot->symbols = block == object->short_place ? object->short_symbols
                                                 : geometry_symbols_in_block(&object->geometry, block);
    slot->have_count = 0;
    slot->retired = slot->rejected = slot->served = slot->ahead = false;
    slot->done = slot->touched = slot->ready = slot->repair = slot->loading = slot->pinned = 0;
    memset(slot->have, 0, sizeof(slot->have));
    memset(slot_sums(object->store, slot), 0, slot->symbols * sizeof(uint16_t));
    memset(slot->tags, 0, (size_t)slot->symbols * WIRE_TAG_BYTES);
    for (uint32_t child = 0; child < object->child_count; child++) {
        if (bitmap_test(object->done[child], block))
            slot->done |= 1u << child;
        struct slot_child *state = &slot->children[child];
        state->sched_count = state->acked_count = state->lost_count = state->word = 0;
        memset(state->sched, 0, sizeof(state->sched));
        memset(state->acked, 0, sizeof(state->acked));
        memset(state->lost, 0, sizeof(state->lost));
    }
    object->slot_of[block] = index;
    object->slots_in_use++;
    object->stripe_slots[slot->stripe]++;
}

uint32_t slot_take(struct object *object, uint64_t block, enum slot_class worst)
{
    struct store *store = object->store;
    uint8_t stripe = object_stripe_of(object, block);
    if (!may_take(object, stripe))
        return SLOT_NONE;
    for (int class = SLOT_FREE; class <= (int)worst; class ++) {
        uint32_t index = store->classes[class].head;
        if (index == SLOT_NONE)
            continue;
        if (class != SLOT_FREE) {
            store->counters.slots_recycled++;
            store->counters.slots_evicted += class != SLOT_CLEAN;
            slot_return(store, index);
        }
        list_remove(store, &store->classes[SLOT_FREE], SLOT_LINK, index);
        list_append(store, &store->classes[SLOT_BUSY], SLOT_LINK, index);
        store->slots[index].class = SLOT_BUSY;
        begin_block(object, block, index);
        count_busy(object, stripe, true);
        store->counters.slots_taken++;
        return index;
    }
    return SLOT_NONE;
}

void slot_unpin(struct store *store, uint32_t index, uint32_t children)
{
    struct slot *slot = &store->slots[index];
    if ((slot->pinned & children) == 0)
        return;
    slot->pinned &= ~children;
    if (slot->pinned == 0)
        store->pinned_count--;
}

/* Ends what the slot means to its object and the object's children; only the holds may remain. */
static void detach(struct store *store, uint32_t index)
{
    struct slot *slot = &store->slots[index];
    struct object *object = slot->object;
    feed_unlink(object, index, slot->ready | slot->repair);
    feed_end_unanswered(object, index, slot->touched & ~slot->done);
    slot_unpin(store, index, slot->pinned);
    slot_end_ahead(slot);
    object->slot_of[slot->block] = SLOT_NONE;
    if (object->state[slot->block] >= BLOCK_HELD)
        object_set_loadable(object, slot->block);
}

void slot_return(struct store *store, uint32_t index)
{
    struct slot *slot = &store->slots[index];
    CHECK(slot->object != NULL && slot->holds == 0);
    if (!slot->retired)
        detach(store, index);
    slot->object->slots_in_use--;
    slot->object->stripe_slots[slot->stripe]--;
    if (slot->class == SLOT_BUSY)
        count_busy(slot->object, slot->stripe, false);
    slot->object = NULL;
    slot_reclass(store, index);
}

void slot_retire(struct store *store, uint32_t index)
{
    struct slot *slot = &store->slots[index];
    detach(store, index);
    slot->retired = true;
    if (slot->holds == 0)
        slot_return(store, index);
    else
        slot_reclass(store, index);
}

/* ---- holds ---- */

void store_hold(struct store *store, uint32_t index)
{
    struct slot *slot = &store->slots[index];
    CHECK(slot->object != NULL);
    slot->holds++;
    slot->object->holds++;
    if (slot->class != SLOT_BUSY)
        slot_reclass(store, index);
}

void store_release(struct store *store, uint32_t index, uint32_t holds)
{
    struct slot *slot = &store->slots[index];
    CHECK(slot->holds >= holds);
    slot->holds -= holds;
    slot->object->holds -= holds;
    if (slot->holds != 0)
        return;
    if (slot->retired)
        slot_return(store, index);
    else
        slot_reclass(store, index);
}
