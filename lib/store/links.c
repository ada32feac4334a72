#include "store/links.h"

static struct slot_link *link_of(struct store *store, size_t link_offset, uint32_t index)
{
    return (struct slot_link *)(void *)((uint8_t *)&store->slots[index] + link_offset);
}

void list_init(struct slot_list *list)
{
    *list = (struct slot_list){.head = SLOT_NONE, .tail = SLOT_NONE};
}

void list_append(struct store *store, struct slot_list *list, size_t link_offset, uint32_t index)
{
    *link_of(store, link_offset, index) = (struct slot_link){.previous = list->tail, .next = SLOT_NONE};
    if (list->tail == SLOT_NONE)
        list->head = index;
    else
        link_of(store, link_offset, list->tail)->next = index;
    list->tail = index;
    list->count++;
}

void list_prepend(struct store *store, struct slot_list *list, size_t link_offset, uint32_t index)
{
    *link_of(store, link_offset, index) = (struct slot_link){.previous = SLOT_NONE, .next = list->head};
    if (list->head == SLOT_NONE)
        list->tail = index;
    else
        link_of(store, link_offset, list->head)->previous = index;
    list->head = index;
    list->count++;
}

void list_remove(struct store *store, struct slot_list *list, size_t link_offset, uint32_t index)
{
    struct slot_link link = *link_of(store, link_offset, index);
    if (link.previous == SLOT_NONE)
        list->head = link.next;
    else
        link_of(store, link_offset, link.previous)->next = link.next;
    if (link.next == SLOT_NONE)
        list->tail = link.previous;
    else
        link_of(store, link_offset, link.next)->previous = link.previous;
    list->count--;
}

/* ---- lists of a child ---- */

void feed_link_ready(struct object *object, uint32_t index, uint32_t children)
{
    struct slot *slot = &object->store->slots[index];
    for (uint32_t left = children & ~slot->ready; left != 0; left &= left - 1) {
        uint32_t child = child_first(left);
        /* What completes a block goes first: it lets go of memory here and at the child. */
        if ((slot->touched >> child & 1) != 0)
            list_prepend(object->store, &object->feeds[child].ready, SLOT_READY(child), index);
        else
            list_append(object->store, &object->feeds[child].ready, SLOT_READY(child), index);
    }
    slot->ready |= children;
}

void feed_link_repair(struct object *object, uint32_t index, uint32_t child)
{
    struct slot *slot = &object->store->slots[index];
    if ((slot->repair >> child & 1) != 0)
        return;
    list_append(object->store, &object->feeds[child].repair, SLOT_REPAIR(child), index);
    slot->repair |= 1u << child;
}

void feed_unlink_ready(struct object *object, uint32_t index, uint32_t child)
{
    list_remove(object->store, &object->feeds[child].ready, SLOT_READY(child), index);
    object->store->slots[index].ready &= ~(1u << child);
}

void feed_unlink_repair(struct object *object, uint32_t index, uint32_t child)
{
    list_remove(object->store, &object->feeds[child].repair, SLOT_REPAIR(child), index);
    object->store->slots[index].repair &= ~(1u << child);
}

void feed_unlink(struct object *object, uint32_t index, uint32_t children)
{
    struct slot *slot = &object->store->slots[index];
    for (uint32_t left = children & slot->ready; left != 0; left &= left - 1)
        feed_unlink_ready(object, index, child_first(left));
    for (uint32_t left = children & slot->repair; left != 0; left &= left - 1)
        feed_unlink_repair(object, index, child_first(left));
}

void feed_end_unanswered(struct object *object, uint32_t index, uint32_t children)
{
    const struct slot *slot = &object->store->slots[index];
    for (uint32_t left = children; left != 0; left &= left - 1)
        object->feeds[child_first(left)].unanswered -= slot->children[child_first(left)].acked_count == 0;
}
