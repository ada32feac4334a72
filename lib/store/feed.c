#include <string.h>

#include "base/units.h"
#include "store/slots.h"

/* ---- sending ---- */

/* The first run of set bits at or after the first non-empty word from *word, going round; it stays within
 * `words` words and is at most count_max long. `without` (may be NULL) takes bits out of `set`. */
static inline bool find_run(const uint64_t *set, const uint64_t *without, uint32_t words, uint32_t count_max,
                            uint16_t *word, uint32_t *first, uint32_t *count)
{
    uint32_t at = *word;
    uint64_t bits = 0;
    for (uint32_t tried = 0; tried < words; tried++) {
        bits = without == NULL ? set[at] : set[at] & ~without[at];
        if (bits != 0)
            break;
        at = at + 1 == words ? 0 : at + 1;
    }
    if (bits == 0)
        return false;
    *word = (uint16_t)at;
    uint32_t bit = (uint32_t)__builtin_ctzll(bits);
    *first = at * 64 + bit;
    *count = 0;
    for (;;) {
        uint64_t rest = ~(bits >> bit);
        uint32_t length = rest == 0 ? 64 : (uint32_t)__builtin_ctzll(rest);
        *count += length;
        if (*count >= count_max || bit + length < 64 || ++at == words)
            break;
        bits = without == NULL ? set[at] : set[at] & ~without[at];
        bit = 0;
    }
    *count = MIN(*count, count_max);
    return true;
}

/* What is next of the slot, which is on the child's list of repairs or of unsent symbols. */
static void offer(struct object *object, uint32_t child, uint32_t index, bool repair, uint32_t count_max,
                  struct feed_item *item)
{
    struct slot *slot = &object->store->slots[index];
    struct slot_child *state = &slot->children[child];
    uint32_t words = (uint32_t)BITMAP_WORDS(slot->symbols);
    uint32_t first = 0;
    uint16_t from = 0;
    bool found =
        repair ? find_run(state->lost, NULL, words, count_max, &from, &first, &item->count)
               : find_run(slot->have, state->sched, words, count_max, &state->word, &first, &item->count);
    CHECK(found);
    item->slot = index;
    item->symbol = slot->block * object->geometry.block_symbols + first;
    item->repair = repair;
    item->begun = (slot->touched >> child & 1) != 0;
}

/* Whether the child has no place for what it lacks of the slot's block. */
static bool is_held(const struct object *object, uint32_t child, uint32_t index)
{
    const struct slot *slot = &object->store->slots[index];
    const struct feed *feed = &object->feeds[child];
    bool touched = (slot->touched >> child & 1) != 0;
    if (touched && slot->children[child].acked_count != 0)
        return false;
    return (feed->full >> slot->stripe & 1) != 0 || feed->room == 0 ||
           (!touched && feed->unanswered >= feed->room);
}

/* feed_peek, where the child has few places. Of an object without stripes the blocks that were begun are linked
 * before the others: so where the first of those is held they all are. */
static bool peek_placed(struct object *object, uint32_t child, uint32_t count_max, struct feed_item *item)
{
    const struct slot *slots = object->store->slots;
    uint32_t index = object->feeds[child].repair.head;
    while (index != SLOT_NONE && is_held(object, child, index))
        index = slots[index].children[child].repair.next;
    bool repair = index != SLOT_NONE;
    if (!repair)
        index = object->feeds[child].ready.head;
    while (index != SLOT_NONE && !repair && is_held(object, child, index)) {
        bool last = object->schedule.count == 1 && (slots[index].touched >> child & 1) == 0;
        index = last ? SLOT_NONE : slots[index].children[child].ready.next;
    }
    if (index == SLOT_NONE)
        return false;
    offer(object, child, index, repair, count_max, item);
    return true;
}

bool feed_peek(struct object *object, uint32_t child, uint32_t count_max, struct feed_item *item)
{
    const struct feed *feed = &object->feeds[child];
    if (feed->room != FEED_ROOM_ANY || feed->full != 0)
        return peek_placed(object, child, count_max, item);
    bool repair = feed->repair.head != SLOT_NONE;
    uint32_t index = repair ? feed->repair.head : feed->ready.head;
    if (index == SLOT_NONE)
        return false;
    offer(object, child, index, repair, count_max, item);
    return true;
}

void feed_set_places(struct object *object, uint32_t child, uint8_t full, uint8_t room)
{
    object->feeds[child].full = full;
    object->feeds[child].room = room;
}

bool feed_lacks_place(const struct object *object, uint32_t child)
{
    const struct feed *feed = &object->feeds[child];
    return (feed->room != FEED_ROOM_ANY || feed->full != 0) &&
           (feed->ready.count > 0 || feed->repair.count > 0);
}

void feed_defer(struct object *object, uint32_t child)
{
    struct slot_list *ready = &object->feeds[child].ready;
    uint32_t index = ready->head;
    if (index == SLOT_NONE)
        return;
    list_remove(object->store, ready, SLOT_READY(child), index);
    list_append(object->store, ready, SLOT_READY(child), index);
}

static void mark_sent(struct slot_child *state, uint32_t first, uint32_t count)
{
    for (uint32_t word = first / 64; word * 64 < first + count; word++) {
        uint64_t mask = range_mask(word, first, first + count);
        uint64_t fresh = mask & ~state->sched[word];
        uint64_t again = mask & state->lost[word];
        state->sched[word] |= fresh;
        state->lost[word] &= ~again;
        state->sched_count += (uint16_t)__builtin_popcountll(fresh);
        state->lost_count -= (uint16_t)__builtin_popcountll(again);
    }
}

void feed_on_sent(struct object *object, uint32_t child, const struct feed_item *item)
{
    struct store *store = object->store;
    uint32_t index = item->slot;
    struct slot *slot = &store->slots[index];
    struct slot_child *state = &slot->children[child];
    CHECK(slot->object == object);
    uint32_t first = (uint32_t)(item->symbol - slot->block * object->geometry.block_symbols);
    CHECK(first < slot->symbols && item->count <= slot->symbols - first);
    if ((slot->touched >> child & 1) == 0) {
        slot->touched |= 1u << child;
        object->feeds[child].unanswered++;
    }
    if (slot->pinned != 0)
        slot_unpin(store, index, 1u << child);
    mark_sent(state, first, item->count);
    if (state->lost_count == 0 && (slot->repair >> child & 1) != 0)
        feed_unlink_repair(object, index, child);
    if (state->sched_count == slot->have_count && (slot->ready >> child & 1) != 0)
        feed_unlink_ready(object, index, child);
    if (state->sched_count == slot->symbols)
        slot_end_ahead(slot);
    store_hold(store, index);
}

/* ---- what becomes of it ---- */

/* The slot where these symbols of the child are not yet done, and the run's place in it; SLOT_NONE: the block
 * is done, was dropped as bad, or begins anew. */
static uint32_t find_sent(struct object *object, uint32_t child, uint64_t symbol, uint32_t count,
                          uint32_t *first)
{
    CHECK(symbol < object->geometry.symbols && count <= object->geometry.symbols - symbol);
    uint64_t block = geometry_block_of(&object->geometry, symbol);
    uint32_t index = object->slot_of[block];
    if (index == SLOT_NONE)
        return SLOT_NONE;
    const struct slot *slot = &object->store->slots[index];
    if (((slot->done | ~object->active) >> child & 1) != 0)
        return SLOT_NONE;
    *first = (uint32_t)(symbol - block * object->geometry.block_symbols);
    CHECK(count <= slot->symbols - *first);
    return index;
}

static void set_done(struct object *object, uint32_t child, uint64_t block)
{
    uint32_t index = object->slot_of[block];
    bitmap_set(object->done[child], block);
    object->feeds[child].blocks_done++;
    if (index == SLOT_NONE) {
        if (block < object->read_next && bitmap_test(object->loadable, block))
            object->feeds[child].backlog_count--;
        return;
    }
    struct slot *slot = &object->store->slots[index];
    feed_end_unanswered(object, index, slot->touched & ~slot->done & 1u << child);
    slot->done |= 1u << child;
    feed_unlink(object, index, 1u << child);
    slot_unpin(object->store, index, 1u << child);
    slot_reclass(object->store, index);
}

bool feed_on_acked(struct object *object, uint32_t child, uint64_t symbol, uint32_t count)
{
    uint32_t first = 0;
    uint32_t index = find_sent(object, child, symbol, count, &first);
    if (index == SLOT_NONE)
        return false;
    struct slot *slot = &object->store->slots[index];
    struct slot_child *state = &slot->children[child];
    bool answered = state->acked_count != 0;
    uint64_t news = 0;
    for (uint32_t word = first / 64; word * 64 < first + count; word++) {
        uint64_t sent = range_mask(word, first, first + count) & state->sched[word];
        uint64_t fresh = sent & ~state->acked[word];
        uint64_t spared = sent & state->lost[word];
        news |= fresh;
        state->acked[word] |= fresh;
        state->lost[word] &= ~spared;
        state->acked_count += (uint16_t)__builtin_popcountll(fresh);
        state->lost_count -= (uint16_t)__builtin_popcountll(spared);
    }
    if (!answered && news != 0)
        object->feeds[child].unanswered--;
    if (state->lost_count == 0 && (slot->repair >> child & 1) != 0)
        feed_unlink_repair(object, index, child);
    if (state->acked_count == slot->symbols) {
        slot->served = true;
        set_done(object, child, slot->block);
    }
    return news != 0;
}

void feed_settle(struct object *object, uint32_t child, uint32_t index)
{
    struct slot *slot = &object->store->slots[index];
    if (slot->children[child].acked_count != slot->symbols || (slot->done >> child & 1) != 0)
        return;
    slot->served = true;
    set_done(object, child, slot->block);
}

/* False: all of it is acked, or was never sent. */
static bool mark_lost(struct object *object, uint32_t child, uint32_t index, uint32_t first, uint32_t count)
{
    struct slot_child *state = &object->store->slots[index].children[child];
    uint64_t any = 0;
    for (uint32_t word = first / 64; word * 64 < first + count; word++) {
        uint64_t wanted = range_mask(word, first, first + count) & state->sched[word] & ~state->acked[word];
        uint64_t lost = wanted & ~state->lost[word];
        any |= wanted;
        state->lost[word] |= lost;
        state->lost_count += (uint16_t)__builtin_popcountll(lost);
    }
    if (state->lost_count != 0)
        feed_link_repair(object, index, child);
    return any != 0;
}

bool feed_on_lost(struct object *object, uint32_t child, uint64_t symbol, uint32_t count)
{
    uint32_t first = 0;
    uint32_t index = find_sent(object, child, symbol, count, &first);
    return index != SLOT_NONE && mark_lost(object, child, index, first, count);
}

static uint64_t blocks_end(const struct object *object, uint64_t first, uint64_t count)
{
    uint64_t blocks = object->geometry.blocks;
    return first >= blocks || count > blocks - first ? blocks : first + count;
}

void feed_on_have(struct object *object, uint32_t child, uint64_t first_block, uint64_t count)
{
    uint64_t end = blocks_end(object, first_block, count);
    const uint64_t *done = object->done[child];
    uint64_t block = bitmap_next_clear(done, end, first_block);
    for (; block < end; block = bitmap_next_clear(done, end, block + 1))
        set_done(object, child, block);
}

static void begin_anew(struct object *object, uint32_t child, uint32_t index)
{
    struct slot *slot = &object->store->slots[index];
    struct slot_child *state = &slot->children[child];
    feed_unlink(object, index, 1u << child);
    feed_end_unanswered(object, index, slot->touched & ~slot->done & 1u << child);
    slot->done &= ~(1u << child);
    slot->touched &= ~(1u << child);
    state->sched_count = state->acked_count = state->lost_count = state->word = 0;
    memset(state->sched, 0, sizeof(state->sched));
    memset(state->acked, 0, sizeof(state->acked));
    memset(state->lost, 0, sizeof(state->lost));
    if (slot->have_count != 0 && (object->active >> child & 1) != 0)
        feed_link_ready(object, index, 1u << child);
    slot_reclass(object->store, index);
}

bool feed_on_resend(struct object *object, uint32_t child, uint64_t first_block, uint64_t count)
{
    uint64_t end = blocks_end(object, first_block, count);
    bool served = true;
    for (uint64_t block = first_block; block < end; block++) {
        if (!object_feeds_stripe(object, child, block))
            continue;
        bool was_done = bitmap_test(object->done[child], block);
        uint32_t index = object->slot_of[block];
        bool recycled = index == SLOT_NONE && object->state[block] != BLOCK_ABSENT;
        if (was_done) {
            bitmap_clear(object->done[child], block);
            object->feeds[child].blocks_done--;
        }
        if (index != SLOT_NONE)
            begin_anew(object, child, index);
        else if (recycled && object->discard)
            served = false;
        else if (was_done && block < object->read_next && bitmap_test(object->loadable, block))
            object->feeds[child].backlog_count++;
    }
    return served;
}

bool feed_done(const struct object *object, uint32_t child)
{
    return object->feeds[child].blocks_done == object->geometry.blocks;
}

void feed_drop(struct object *object, uint32_t child)
{
    object->active &= ~(1u << child);
    for (uint32_t index = 0; index < object->store->slot_count; index++) {
        const struct slot *slot = &object->store->slots[index];
        if (slot->object != object)
            continue;
        feed_unlink(object, index, 1u << child);
        slot_unpin(object->store, index, 1u << child);
        slot_reclass(object->store, index);
    }
}
