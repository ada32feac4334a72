/* What store.c, object.c and feed.c share and nobody else uses: lists of slots, classes, taking and returning
 * slots, and ranges of bits within a slot's bitmaps. */
#pragma once

#include "base/check.h"
#include "store/store.h"

#define SLOT_LINK offsetof(struct slot, link)
#define SLOT_READY(c)                                                                                        \
    (offsetof(struct slot, children) + (c) * sizeof(struct slot_child) + offsetof(struct slot_child, ready))
#define SLOT_REPAIR(c)                                                                                       \
    (offsetof(struct slot, children) + (c) * sizeof(struct slot_child) + offsetof(struct slot_child, repair))

/* object.hash_known */
#define HASH_EXPECTED 1
#define HASH_COMPUTED 2

void list_init(struct slot_list *list);
void list_append(struct store *store, struct slot_list *list, size_t link_offset, uint32_t index);
void list_prepend(struct store *store, struct slot_list *list, size_t link_offset, uint32_t index);
void list_remove(struct store *store, struct slot_list *list, size_t link_offset, uint32_t index);

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

/* The slot has unsent symbols for these children, or lost ones for this child. Harmless when known. */
void feed_link_ready(struct object *object, uint32_t index, uint32_t children);
void feed_link_repair(struct object *object, uint32_t index, uint32_t child);
/* Takes the slot off these children's lists. */
void feed_unlink(struct object *object, uint32_t index, uint32_t children);

/* The slot's block has become shorter: the child may have acked all of it by that. */
void feed_settle(struct object *object, uint32_t child, uint32_t index);

/* Lowest set bit of a mask of children, which must not be empty. */
static inline uint32_t child_first(uint32_t children)
{
    return (uint32_t)__builtin_ctz(children);
}

/* The bits of word `word` that lie within first … end - 1, for a word that the range touches. */
static inline uint64_t range_mask(uint32_t word, uint32_t first, uint32_t end)
{
    uint64_t mask = ~0ULL;
    if (first > word * 64)
        mask <<= first % 64;
    if (end < (word + 1) * 64)
        mask &= ~0ULL >> (64 - end % 64);
    return mask;
}
