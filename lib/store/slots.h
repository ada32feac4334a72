/* A slot's class, which block it holds, taking and returning it: what the files above are built on. Nobody
 * outside this folder includes it. */
#pragma once

#include "base/check.h"
#include "store/links.h"

/* object.hash_known */
#define HASH_EXPECTED 1
#define HASH_COMPUTED 2
#define HASH_BITS     3
#define HASH_BAD      4 /* counts in the bits above */

/* Puts the slot into the class that its state calls for. To be called after every change that may matter:
 * holds from or to 0, block state, masks, the object's active children. */
void slot_reclass(struct store *store, uint32_t index);

/* A slot for `block`, out of the free ones or of classes up to `worst`; SLOT_NONE: none. The block's done
 * children are noted, all else is empty; the class is BUSY until the next slot_reclass. */
uint32_t slot_take(struct object *object, uint64_t block, enum slot_class worst);
/* Returns a slot without holds. The block's state must be set before: one that can be read back becomes
 * loadable and, for children that lack it, backlog. */
void slot_return(struct store *store, uint32_t index);
/* The content is bad: the block has no slot any more; the slot is returned as soon as nothing holds it. */
void slot_retire(struct store *store, uint32_t index);
/* Some child was sent all of it, or no child needs it: it counts no longer as read ahead. */
void slot_end_ahead(struct slot *slot);
void slot_unpin(struct store *store, uint32_t index, uint32_t children);

/* The block lies on disk only, or no longer does. Keeps the children's backlogs in step. */
void object_set_loadable(struct object *object, uint64_t block);
void object_clear_loadable(struct object *object, uint64_t block);

/* The number of the block in this place. */
static inline uint64_t object_number(const struct object *object, uint64_t block)
{
    return object->lap_first + block + (block < object->lap_places ? object->geometry.blocks : 0);
}

/* The stripe that the block travels in. */
static inline uint8_t object_stripe_of(const struct object *object, uint64_t block)
{
    return object->schedule.count == 1 ? 0 : stripe_of_block(&object->schedule, object_number(object, block));
}

/* Whether the child is fed that stripe. */
static inline bool object_feeds_stripe(const struct object *object, uint32_t child, uint64_t block)
{
    return object->schedule.count == 1 ||
           (object->child_stripes[child] >> object_stripe_of(object, block) & 1) != 0;
}

/* store.c: another block of the stripe may have a slot: one that is kept for it, or of what its owner shares with
 * others. */
bool stripe_has_room(const struct object *object, uint32_t stripe);

/* feed.c: the slot's block has become shorter: the child may have acked all of it by that. */
void feed_settle(struct object *object, uint32_t child, uint32_t index);
