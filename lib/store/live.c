#include "store/live.h"

#include <string.h>

#include "base/units.h"
#include "store/slots.h"

void live_init(struct live *live, struct object *object)
{
    CHECK(object->discard && !object->source && object->geometry.blocks >= LIVE_BLOCKS_MIN);
    CHECK(object->geometry.symbols == object->geometry.blocks * object->geometry.block_symbols);
    *live = (struct live){.object = object};
}

uint64_t live_limit(const struct live *live)
{
    return live->first + live->object->geometry.blocks;
}

static uint64_t place_of_block(const struct live *live, uint64_t block)
{
    return block % live->object->geometry.blocks;
}

enum live_where live_place(const struct live *live, uint64_t number, uint32_t count, uint64_t *place)
{
    uint32_t block_symbols = live->object->geometry.block_symbols;
    uint64_t block = number / block_symbols, index = number % block_symbols;
    if (block < live->first)
        return LIVE_BEFORE;
    if (block >= live_limit(live) || index + count > block_symbols)
        return LIVE_BEYOND;
    if (live->ended && number + count > live->symbols)
        return LIVE_BEYOND;
    *place = place_of_block(live, block) * block_symbols + index;
    return LIVE_INSIDE;
}

/* The window is as long as there are places: exactly one block of it lies in each. */
static uint64_t block_in(const struct live *live, uint64_t place)
{
    uint64_t blocks = live->object->geometry.blocks;
    uint64_t at = place_of_block(live, live->first);
    return live->first + (place >= at ? place - at : place + blocks - at);
}

uint64_t live_number(const struct live *live, uint64_t place)
{
    uint32_t block_symbols = live->object->geometry.block_symbols;
    return block_in(live, place / block_symbols) * block_symbols + place % block_symbols;
}

/* ---- at the source ---- */

uint32_t live_fill(struct live *live, uint32_t *first)
{
    struct object *object = live->object;
    uint64_t block = live->next / object->geometry.block_symbols;
    if (live->ended || block >= live_limit(live))
        return SLOT_NONE;
    uint64_t place = place_of_block(live, block);
    *first = (uint32_t)(live->next % object->geometry.block_symbols);
    if (object->state[place] == BLOCK_FILLING)
        return object->slot_of[place];
    CHECK(object->state[place] == BLOCK_ABSENT);
    uint32_t index = slot_take(object, place, SLOT_WAITING);
    if (index == SLOT_NONE)
        return SLOT_NONE;
    object->state[place] = BLOCK_FILLING;
    memset(object->store->slots[index].tags, 0, (size_t)object->geometry.block_symbols * WIRE_TAG_BYTES);
    return index;
}

uint64_t live_filled(struct live *live, uint32_t count)
{
    struct object *object = live->object;
    uint64_t place = place_of_block(live, live->next / object->geometry.block_symbols);
    uint32_t first = (uint32_t)(live->next % object->geometry.block_symbols);
    uint32_t index = object->slot_of[place];
    struct slot *slot = &object->store->slots[index];
    CHECK(index != SLOT_NONE && count <= slot->symbols - first);
    if (count == 0)
        return UINT64_MAX;
    for (uint32_t word = first / 64; word * 64 < first + count; word++)
        slot->have[word] |= range_mask(word, first, first + count);
    slot->have_count += count;
    live->next += count;
    object->received_bytes += (uint64_t)count * object->geometry.symbol_bytes;
    feed_link_ready(object, index, object->active & ~slot->done);
    return slot->have_count == slot->symbols ? place : UINT64_MAX;
}

/* ---- at a site ---- */

bool live_run(const struct live *live, uint32_t *slot, uint32_t *first, uint32_t *count, bool *whole)
{
    const struct object *object = live->object;
    uint64_t block = live->next / object->geometry.block_symbols;
    if (block >= live_limit(live))
        return false;
    uint64_t place = place_of_block(live, block);
    if (object->state[place] != BLOCK_FILLING)
        return false;
    *slot = object->slot_of[place];
    const struct slot *held = &object->store->slots[*slot];
    *first = (uint32_t)(live->next % object->geometry.block_symbols);
    *count = (uint32_t)bitmap_next_clear(held->have, held->symbols, *first) - *first;
    *whole = *first + *count == held->symbols;
    return *count > 0 || *whole;
}

/* ---- the end ---- */

/* Nothing may lie behind the end. */
static bool nothing_behind(const struct live *live, uint64_t symbols)
{
    const struct object *object = live->object;
    uint32_t block_symbols = object->geometry.block_symbols;
    uint64_t last = symbols / block_symbols;
    if (last < live->first || symbols < live->next)
        return false;
    for (uint64_t block = last; block < live_limit(live); block++) {
        uint32_t index = object->slot_of[place_of_block(live, block)];
        if (index == SLOT_NONE)
            continue;
        const struct slot *slot = &object->store->slots[index];
        uint32_t from = block == last ? (uint32_t)(symbols % block_symbols) : 0;
        if (bitmap_next_set(slot->have, slot->symbols, from) != slot->symbols)
            return false;
    }
    return true;
}

/* The last block, as soon as it has a place, is as long as what is left. Returns its place when it is whole
 * by that. */
static uint64_t shorten(struct live *live)
{
    struct object *object = live->object;
    uint32_t block_symbols = object->geometry.block_symbols;
    uint64_t last = live->symbols / block_symbols;
    if (!live->ended || object->short_place != UINT64_MAX || last >= live_limit(live) ||
        live->symbols % block_symbols == 0)
        return UINT64_MAX;
    uint64_t place = place_of_block(live, last);
    object->short_place = place;
    object->short_symbols = (uint32_t)(live->symbols % block_symbols);
    uint32_t index = object->slot_of[place];
    if (index == SLOT_NONE)
        return UINT64_MAX;
    struct slot *slot = &object->store->slots[index];
    slot->symbols = object->short_symbols;
    for (uint32_t child = 0; child < object->child_count; child++)
        feed_settle(object, child, index);
    return slot->have_count == slot->symbols ? place : UINT64_MAX;
}

bool live_end(struct live *live, uint64_t symbols, uint64_t *completed)
{
    *completed = UINT64_MAX;
    if (live->ended)
        return symbols == live->symbols;
    if (!nothing_behind(live, symbols))
        return false;
    live->ended = true;
    live->symbols = symbols;
    *completed = shorten(live);
    return true;
}

/* ---- blocks ---- */

bool live_done(struct live *live, uint64_t place, const struct wire_hash *hash)
{
    struct object *object = live->object;
    bool agrees = hash == NULL || (object->hash_known[place] & HASH_EXPECTED) == 0 ||
                  memcmp(&object->hash[place], hash, sizeof(*hash)) == 0;
    object_write_begin(object, place);
    object_write_done(object, place, hash != NULL && agrees, hash);
    return agrees;
}

bool live_expect(struct live *live, uint64_t number, const struct wire_hash *hash)
{
    struct object *object = live->object;
    if (number < live->first || number >= live_limit(live))
        return true;
    uint64_t place = place_of_block(live, number);
    uint8_t *known = &object->hash_known[place];
    bool agrees = (*known & HASH_COMPUTED) == 0 || memcmp(&object->hash[place], hash, sizeof(*hash)) == 0;
    if (!agrees) {
        object->hash[place] = *hash;
    }
    return object_expect(object, place, hash) && agrees;
}

const struct wire_hash *live_hash(const struct live *live, uint64_t number)
{
    const struct object *object = live->object;
    if (number < live->first || number >= live_limit(live))
        return NULL;
    uint64_t place = place_of_block(live, number);
    return (object->hash_known[place] & HASH_EXPECTED) != 0 ? &object->hash[place] : NULL;
}

bool live_verified(const struct live *live, uint64_t number)
{
    return number < live->first ||
           (number < live_limit(live) && live->object->state[place_of_block(live, number)] == BLOCK_VERIFIED);
}

/* ---- the window ---- */

static bool needed(const struct live *live, uint64_t place)
{
    const struct object *object = live->object;
    if (object->state[place] != BLOCK_VERIFIED)
        return true;
    for (uint32_t left = object->active; left != 0; left &= left - 1)
        if (!bitmap_test(object->done[child_first(left)], place))
            return true;
    return false;
}

/* The place is as it was at the beginning, for the block that comes one window later. */
static void renew(struct object *object, uint64_t place)
{
    uint32_t index = object->slot_of[place];
    if (index != SLOT_NONE)
        slot_retire(object->store, index);
    object->state[place] = BLOCK_ABSENT;
    object->hash_known[place] = 0;
    object->blocks_verified--;
    for (uint32_t child = 0; child < object->child_count; child++) {
        if (!bitmap_test(object->done[child], place))
            continue;
        bitmap_clear(object->done[child], place);
        object->feeds[child].blocks_done--;
    }
}

bool live_advance(struct live *live, uint64_t told, uint64_t *completed)
{
    uint64_t before = live->first;
    uint32_t block_symbols = live->object->geometry.block_symbols;
    while (live->first < told && !(live->ended && live->first * block_symbols >= live->symbols)) {
        uint64_t place = place_of_block(live, live->first);
        if (needed(live, place))
            break;
        renew(live->object, place);
        live->first++;
        live->next = MAX(live->next, live->first * block_symbols);
    }
    if (live->ended)
        live->next = MIN(live->next, live->symbols);
    *completed = shorten(live);
    return live->first != before;
}

bool live_over(const struct live *live)
{
    return live->ended && live->first * live->object->geometry.block_symbols >= live->symbols;
}

bool live_full(const struct live *live)
{
    const struct object *object = live->object;
    uint64_t place = place_of_block(live, live_limit(live) - 1);
    uint32_t index = object->slot_of[place];
    if (index == SLOT_NONE)
        return object->state[place] >= BLOCK_HELD;
    return object->store->slots[index].have_count == object->store->slots[index].symbols;
}

uint64_t live_arrived(const struct live *live)
{
    const struct object *object = live->object;
    uint64_t block = live_limit(live) - 1;
    for (; block > live->first; block--) {
        uint64_t place = place_of_block(live, block);
        uint32_t index = object->slot_of[place];
        bool some = index != SLOT_NONE && object->store->slots[index].have_count > 0;
        if (some || object->state[place] == BLOCK_VERIFIED)
            break;
    }
    return block;
}

uint64_t live_behind(const struct live *live, uint32_t child)
{
    const struct object *object = live->object;
    uint64_t symbols = 0;
    for (uint64_t place = 0; place < object->geometry.blocks; place++) {
        uint32_t index = object->slot_of[place];
        if (index == SLOT_NONE || (object->store->slots[index].done >> child & 1) != 0)
            continue;
        const struct slot *slot = &object->store->slots[index];
        symbols += slot->have_count - slot->children[child].acked_count;
    }
    return symbols;
}

uint64_t live_undelivered(const struct live *live)
{
    const struct object *object = live->object;
    uint32_t block_symbols = object->geometry.block_symbols;
    uint64_t symbols = 0;
    for (uint64_t block = MAX(live->next / block_symbols, live->first); block < live_limit(live); block++) {
        uint32_t index = object->slot_of[place_of_block(live, block)];
        if (index != SLOT_NONE)
            symbols += object->store->slots[index].have_count;
    }
    return symbols - MIN(symbols, live->next % block_symbols);
}

bool live_lacks_first(const struct live *live, uint32_t child)
{
    uint64_t place = place_of_block(live, live->first);
    return !bitmap_test(live->object->done[child], place);
}

uint64_t live_complete(const struct live *live, uint64_t from)
{
    const struct object *object = live->object;
    for (uint64_t place = from; place < object->geometry.blocks; place++) {
        uint32_t index = object->slot_of[place];
        if (object->state[place] == BLOCK_FILLING && index != SLOT_NONE &&
            object->store->slots[index].have_count == object->store->slots[index].symbols)
            return place;
    }
    return UINT64_MAX;
}
