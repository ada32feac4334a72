#include "app/wanem/hold.h"

#include "base/units.h"

#define CHILDREN 4

void hold_init(struct hold *hold, struct hold_item *items, uint32_t capacity)
{
    *hold = (struct hold){.items = items, .capacity = capacity};
}

static bool before(const struct hold_item *a, const struct hold_item *b)
{
    return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->order < b->order);
}

void hold_put(struct hold *hold, const struct hold_item *item)
{
    CHECK(hold->count < hold->capacity);
    struct hold_item moving = *item;
    moving.order = hold->order++;
    uint32_t at = hold->count++;
    while (at > 0) {
        uint32_t parent = (at - 1) / CHILDREN;
        if (!before(&moving, &hold->items[parent]))
            break;
        hold->items[at] = hold->items[parent];
        at = parent;
    }
    hold->items[at] = moving;
}

/* Puts `moving` where it belongs below the root, whose place is empty. */
static void sink(struct hold *hold, const struct hold_item *moving)
{
    uint32_t at = 0;
    for (;;) {
        uint32_t child = at * CHILDREN + 1;
        if (child >= hold->count)
            break;
        uint32_t end = MIN(child + CHILDREN, hold->count);
        uint32_t least = child;
        for (child++; child < end; child++)
            if (before(&hold->items[child], &hold->items[least]))
                least = child;
        if (!before(&hold->items[least], moving))
            break;
        hold->items[at] = hold->items[least];
        at = least;
    }
    hold->items[at] = *moving;
}

bool hold_take(struct hold *hold, uint64_t now_ns, struct hold_item *item)
{
    if (hold->count == 0 || hold->items[0].time_ns > now_ns)
        return false;
    *item = hold->items[0];
    struct hold_item last = hold->items[--hold->count];
    if (hold->count > 0)
        sink(hold, &last);
    return true;
}

uint64_t hold_next_ns(const struct hold *hold)
{
    return hold->count == 0 ? TIME_NEVER : hold->items[0].time_ns;
}
