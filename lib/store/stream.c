#include "store/stream.h"

#include <string.h>

#include "base/units.h"
#include "store/slots.h"

void stream_init(struct stream *stream, struct object *object)
{
    CHECK(object->discard && !object->source && object->geometry.blocks >= STREAM_BLOCKS_MIN);
    CHECK(object->geometry.symbols == object->geometry.blocks * object->geometry.block_symbols);
    *stream = (struct stream){.object = object};
}

uint64_t stream_limit(const struct stream *stream)
{
    return stream->first + stream->object->geometry.blocks;
}

static uint64_t place_of_block(const struct stream *stream, uint64_t block)
{
    return block % stream->object->geometry.blocks;
}

uint64_t stream_expand(const struct stream *stream, uint64_t low)
{
    const uint64_t span = 1ULL << STREAM_WIRE_BITS;
    uint64_t first = stream->first * stream->object->geometry.block_symbols;
    uint64_t ahead = (low - first) & (span - 1);
    bool before = ahead >= span / 2 && first >= span - ahead;
    return before ? first - (span - ahead) : first + ahead;
}

enum stream_where stream_place(const struct stream *stream, uint64_t number, uint32_t count, uint64_t *place)
{
    uint32_t block_symbols = stream->object->geometry.block_symbols;
    uint64_t block = number / block_symbols, index = number % block_symbols;
    if (block < stream->first)
        return STREAM_BEFORE;
    if (block >= stream_limit(stream) || index + count > block_symbols)
        return STREAM_BEYOND;
    if (stream->ended && number + count > stream->symbols)
        return STREAM_BEYOND;
    *place = place_of_block(stream, block) * block_symbols + index;
    return STREAM_INSIDE;
}

uint64_t stream_number(const struct stream *stream, uint64_t place)
{
    uint32_t block_symbols = stream->object->geometry.block_symbols;
    return object_number(stream->object, place / block_symbols) * block_symbols + place % block_symbols;
}

/* ---- at the source ---- */

uint32_t stream_fill(struct stream *stream, uint32_t *first)
{
    struct object *object = stream->object;
    uint64_t block = stream->next / object->geometry.block_symbols;
    if (stream->ended || block >= stream_limit(stream))
        return SLOT_NONE;
    uint64_t place = place_of_block(stream, block);
    *first = (uint32_t)(stream->next % object->geometry.block_symbols);
    if (object->state[place] == BLOCK_FILLING)
        return object->slot_of[place];
    CHECK(object->state[place] == BLOCK_ABSENT);
    uint32_t index = slot_take(object, place, SLOT_WAITING);
    if (index == SLOT_NONE)
        return SLOT_NONE;
    object->state[place] = BLOCK_FILLING;
    return index;
}

uint64_t stream_filled(struct stream *stream, uint32_t count)
{
    struct object *object = stream->object;
    uint64_t place = place_of_block(stream, stream->next / object->geometry.block_symbols);
    uint32_t first = (uint32_t)(stream->next % object->geometry.block_symbols);
    uint32_t index = object->slot_of[place];
    struct slot *slot = &object->store->slots[index];
    CHECK(index != SLOT_NONE && count <= slot->symbols - first);
    if (count == 0)
        return UINT64_MAX;
    for (uint32_t word = first / 64; word * 64 < first + count; word++)
        slot->have[word] |= range_mask(word, first, first + count);
    slot->have_count += count;
    stream->next += count;
    object->received_bytes += (uint64_t)count * object->geometry.symbol_bytes;
    feed_link_ready(object, index, object->active & ~slot->done);
    return slot->have_count == slot->symbols ? place : UINT64_MAX;
}

/* ---- at a site ---- */

bool stream_run(const struct stream *stream, uint32_t *slot, uint32_t *first, uint32_t *count, bool *whole)
{
    const struct object *object = stream->object;
    uint64_t block = stream->next / object->geometry.block_symbols;
    if (block >= stream_limit(stream))
        return false;
    uint64_t place = place_of_block(stream, block);
    if (object->state[place] != BLOCK_FILLING)
        return false;
    *slot = object->slot_of[place];
    const struct slot *filling = &object->store->slots[*slot];
    *first = (uint32_t)(stream->next % object->geometry.block_symbols);
    *count = (uint32_t)bitmap_next_clear(filling->have, filling->symbols, *first) - *first;
    *whole = *first + *count == filling->symbols;
    return *count > 0 || *whole;
}

/* ---- the end ---- */

/* Nothing may lie behind the end. */
static bool nothing_behind(const struct stream *stream, uint64_t symbols)
{
    const struct object *object = stream->object;
    uint32_t block_symbols = object->geometry.block_symbols;
    uint64_t last = symbols / block_symbols;
    if (last < stream->first || symbols < stream->next)
        return false;
    for (uint64_t block = last; block < stream_limit(stream); block++) {
        uint32_t index = object->slot_of[place_of_block(stream, block)];
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
static uint64_t shorten(struct stream *stream)
{
    struct object *object = stream->object;
    uint32_t block_symbols = object->geometry.block_symbols;
    uint64_t last = stream->symbols / block_symbols;
    if (!stream->ended || object->short_place != UINT64_MAX || last >= stream_limit(stream) ||
        stream->symbols % block_symbols == 0)
        return UINT64_MAX;
    uint64_t place = place_of_block(stream, last);
    object->short_place = place;
    object->short_symbols = (uint32_t)(stream->symbols % block_symbols);
    uint32_t index = object->slot_of[place];
    if (index == SLOT_NONE)
        return UINT64_MAX;
    struct slot *slot = &object->store->slots[index];
    slot->symbols = object->short_symbols;
    for (uint32_t child = 0; child < object->child_count; child++)
        feed_settle(object, child, index);
    return slot->have_count == slot->symbols ? place : UINT64_MAX;
}

bool stream_end(struct stream *stream, uint64_t symbols, uint64_t *completed)
{
    *completed = UINT64_MAX;
    if (stream->ended)
        return symbols == stream->symbols;
    if (!nothing_behind(stream, symbols))
        return false;
    stream->ended = true;
    stream->symbols = symbols;
    *completed = shorten(stream);
    return true;
}

/* ---- blocks ---- */

bool stream_done(struct stream *stream, uint64_t place, const struct wire_hash *hash)
{
    struct object *object = stream->object;
    bool agrees = hash == NULL || (object->hash_known[place] & HASH_EXPECTED) == 0 ||
                  memcmp(&object->hash[place], hash, sizeof(*hash)) == 0;
    object_write_begin(object, place);
    object_write_done(object, place, hash != NULL && agrees, hash);
    return agrees;
}

bool stream_expect(struct stream *stream, uint64_t number, const struct wire_hash *hash)
{
    struct object *object = stream->object;
    if (number < stream->first || number >= stream_limit(stream))
        return true;
    uint64_t place = place_of_block(stream, number);
    uint8_t *known = &object->hash_known[place];
    bool agrees = (*known & HASH_COMPUTED) == 0 || memcmp(&object->hash[place], hash, sizeof(*hash)) == 0;
    if (!agrees) {
        object->hash[place] = *hash;
    }
    return object_expect(object, place, hash) && agrees;
}

const struct wire_hash *stream_hash(const struct stream *stream, uint64_t number)
{
    const struct object *object = stream->object;
    if (number < stream->first || number >= stream_limit(stream))
        return NULL;
    uint64_t place = place_of_block(stream, number);
    return (object->hash_known[place] & HASH_EXPECTED) != 0 ? &object->hash[place] : NULL;
}

bool stream_verified(const struct stream *stream, uint64_t number)
{
    return number < stream->first ||
           (number < stream_limit(stream) &&
            stream->object->state[place_of_block(stream, number)] == BLOCK_VERIFIED);
}

/* ---- the window ---- */

static bool needed(const struct stream *stream, uint64_t place)
{
    const struct object *object = stream->object;
    if (object->state[place] != BLOCK_VERIFIED)
        return true;
    for (uint32_t left = object->active; left != 0; left &= left - 1)
        if (!bitmap_test(object->done[child_first(left)], place))
            return true;
    return false;
}

static bool is_fed(const struct object *object, uint64_t place)
{
    return (object->fed >> object_stripe_of(object, place) & 1) != 0;
}

/* The window moves on from the block in this place to the one that comes one window later, maybe in another
 * stripe. The place is as it was at the beginning. */
static void renew(struct stream *stream, uint64_t place)
{
    struct object *object = stream->object;
    uint32_t index = object->slot_of[place];
    if (index != SLOT_NONE)
        slot_retire(object->store, index);
    stream->first++;
    object->lap_places = place_of_block(stream, stream->first);
    object->lap_first = stream->first - object->lap_places;
    object->hash_known[place] = 0;
    bool fed = is_fed(object, place);
    object->state[place] = fed ? BLOCK_ABSENT : BLOCK_VERIFIED;
    object->blocks_verified -= fed;
    for (uint32_t child = 0; child < object->child_count; child++) {
        bool was = bitmap_test(object->done[child], place), is = !object_feeds_stripe(object, child, place);
        object->feeds[child].blocks_done += (uint64_t)is - (uint64_t)was;
        if (is)
            bitmap_set(object->done[child], place);
        else
            bitmap_clear(object->done[child], place);
    }
}

bool stream_advance(struct stream *stream, uint64_t told, uint64_t *completed)
{
    uint64_t before = stream->first;
    uint32_t block_symbols = stream->object->geometry.block_symbols;
    while (stream->first < told && !(stream->ended && stream->first * block_symbols >= stream->symbols)) {
        uint64_t place = place_of_block(stream, stream->first);
        if (needed(stream, place))
            break;
        renew(stream, place);
        stream->next = MAX(stream->next, stream->first * block_symbols);
    }
    if (stream->ended)
        stream->next = MIN(stream->next, stream->symbols);
    *completed = shorten(stream);
    return stream->first != before;
}

void stream_leave_out(struct stream *stream, uint8_t stripes)
{
    struct object *object = stream->object;
    if ((object->fed & ~stripes & ((1u << object->schedule.count) - 1)) == 0)
        return;
    object->fed &= (uint8_t)~stripes;
    for (uint64_t place = 0; place < object->geometry.blocks; place++) {
        uint32_t index = object->slot_of[place];
        if (is_fed(object, place) || object->state[place] == BLOCK_VERIFIED ||
            (index != SLOT_NONE &&
             object->store->slots[index].have_count == object->store->slots[index].symbols))
            continue;
        if (index != SLOT_NONE)
            slot_retire(object->store, index);
        object->state[place] = BLOCK_VERIFIED;
        object->blocks_verified++;
    }
}

static uint32_t here(const struct object *object, uint64_t place)
{
    uint32_t index = object->slot_of[place];
    return index == SLOT_NONE ? 0 : object->store->slots[index].have_count;
}

bool stream_full(const struct stream *stream, uint8_t stripes)
{
    const struct object *object = stream->object;
    uint64_t block = stream_limit(stream) - 1, place = place_of_block(stream, block);
    while (block > stream->first && (stripes >> object_stripe_of(object, place) & 1) == 0)
        place = place_of_block(stream, --block);
    uint32_t index = object->slot_of[place];
    if (index == SLOT_NONE)
        return object->state[place] >= BLOCK_HELD;
    return object->store->slots[index].have_count == object->store->slots[index].symbols;
}

uint64_t stream_share(const struct stream *stream, uint8_t stripes)
{
    const struct object *object = stream->object;
    uint64_t symbols = 0;
    for (uint64_t place = 0; place < object->geometry.blocks; place++)
        if ((stripes >> object_stripe_of(object, place) & 1) != 0)
            symbols += object->geometry.block_symbols;
    return symbols;
}

uint64_t stream_arrived(const struct stream *stream)
{
    const struct object *object = stream->object;
    uint64_t block = stream_limit(stream) - 1;
    for (; block > stream->first; block--) {
        uint64_t place = place_of_block(stream, block);
        if (here(object, place) > 0 || (object->state[place] == BLOCK_VERIFIED && is_fed(object, place)))
            break;
    }
    return block;
}

uint64_t stream_behind(const struct stream *stream, uint32_t child)
{
    const struct object *object = stream->object;
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

uint64_t stream_undelivered(const struct stream *stream)
{
    const struct object *object = stream->object;
    uint32_t block_symbols = object->geometry.block_symbols;
    uint64_t first = stream->next, end = first;
    for (uint64_t block = first / block_symbols; block < stream_limit(stream); block++) {
        uint32_t index = object->slot_of[place_of_block(stream, block)];
        if (index == SLOT_NONE)
            break;
        const struct slot *slot = &object->store->slots[index];
        uint32_t from = (uint32_t)(end - block * block_symbols);
        uint32_t gap = (uint32_t)bitmap_next_clear(slot->have, slot->symbols, from);
        end = block * block_symbols + gap;
        if (gap < block_symbols)
            break;
    }
    return end - first;
}

bool stream_lacks_first(const struct stream *stream, uint32_t child)
{
    const struct object *object = stream->object;
    uint64_t place = place_of_block(stream, stream->first);
    uint32_t index = object->slot_of[place];
    return index != SLOT_NONE && !bitmap_test(object->done[child], place) &&
           object->store->slots[index].have_count > object->store->slots[index].children[child].acked_count;
}

bool stream_awaits_first(const struct stream *stream)
{
    const struct object *object = stream->object;
    uint64_t place = place_of_block(stream, stream->first);
    uint32_t index = object->slot_of[place];
    return object->state[place] == BLOCK_ABSENT ||
           (object->state[place] == BLOCK_FILLING &&
            object->store->slots[index].have_count < object->store->slots[index].symbols);
}

uint64_t stream_complete(const struct stream *stream, uint64_t from)
{
    const struct object *object = stream->object;
    for (uint64_t place = from; place < object->geometry.blocks; place++) {
        uint32_t index = object->slot_of[place];
        if (object->state[place] == BLOCK_FILLING && index != SLOT_NONE &&
            object->store->slots[index].have_count == object->store->slots[index].symbols)
            return place;
    }
    return UINT64_MAX;
}
