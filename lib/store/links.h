/* The lists that slots are on: one per class, and two per child, of slots with unsent and with lost symbols.
 * Also the arithmetic of masks that the files of this folder share. Nobody else includes it. */
#pragma once

#include "store/store.h"

#define SLOT_LINK offsetof(struct slot, link)
#define SLOT_READY(c)                                                                                        \
    (offsetof(struct slot, children) + (c) * sizeof(struct slot_child) + offsetof(struct slot_child, ready))
#define SLOT_REPAIR(c)                                                                                       \
    (offsetof(struct slot, children) + (c) * sizeof(struct slot_child) + offsetof(struct slot_child, repair))

/* A list of slots by one of their links; link_offset, in struct slot, tells which. A slot is on it at most
 * once. */
void list_init(struct slot_list *list);
void list_append(struct store *store, struct slot_list *list, size_t link_offset, uint32_t index);
void list_prepend(struct store *store, struct slot_list *list, size_t link_offset, uint32_t index);
void list_remove(struct store *store, struct slot_list *list, size_t link_offset, uint32_t index);

/* ---- lists of a child ---- */

/* The slot has unsent symbols for these children, or lost ones for this child. Harmless when known. */
void feed_link_ready(struct object *object, uint32_t index, uint32_t children);
void feed_link_repair(struct object *object, uint32_t index, uint32_t child);
/* Takes the slot off these children's lists. */
void feed_unlink(struct object *object, uint32_t index, uint32_t children);

/* These children, which were sent some of the slot's block, are to be sent no more of it, or all anew. */
void feed_end_unanswered(struct object *object, uint32_t index, uint32_t children);

/* Takes the slot off this child's list, which it must be on. */
void feed_unlink_ready(struct object *object, uint32_t index, uint32_t child);
void feed_unlink_repair(struct object *object, uint32_t index, uint32_t child);

/* ---- masks ---- */

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
