#include "sim/extent.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/units.h"

/* First item that ends at or behind `position`. */
static uint32_t find(const struct extent_set *set, uint64_t position)
{
    uint32_t low = 0, high = set->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (set->items[middle].end < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Puts `count` new items in the place of items first … end - 1. */
static void splice(struct extent_set *set, uint32_t first, uint32_t end, const struct extent *items,
                   uint32_t count)
{
    uint32_t total = set->count - (end - first) + count;
    if (total > set->room) {
        set->room = MAX(16u, 2 * total);
        set->items = realloc(set->items, set->room * sizeof(*set->items));
        CHECK(set->items != NULL);
    }
    if (set->count > end)
        memmove(&set->items[first + count], &set->items[end], (set->count - end) * sizeof(*set->items));
    for (uint32_t item = 0; item < count; item++)
        set->items[first + item] = items[item];
    set->count = total;
}

void extent_add(struct extent_set *set, uint64_t start, uint64_t end)
{
    if (start >= end)
        return;
    uint32_t first = find(set, start), last = first;
    struct extent merged = {start, end};
    while (last < set->count && set->items[last].start <= end) {
        merged.start = MIN(merged.start, set->items[last].start);
        merged.end = MAX(merged.end, set->items[last].end);
        last++;
    }
    splice(set, first, last, &merged, 1);
}

void extent_remove(struct extent_set *set, uint64_t start, uint64_t end)
{
    if (start >= end)
        return;
    uint32_t first = find(set, start), last = first;
    struct extent left[2];
    uint32_t count = 0;
    while (last < set->count && set->items[last].start < end) {
        struct extent item = set->items[last++];
        if (item.start < start)
            left[count++] = (struct extent){item.start, MIN(item.end, start)};
        if (item.end > end)
            left[count++] = (struct extent){end, item.end};
    }
    splice(set, first, last, left, count);
}

bool extent_covers(const struct extent_set *set, uint64_t start, uint64_t end)
{
    if (start >= end)
        return true;
    uint32_t item = find(set, end);
    return item < set->count && set->items[item].start <= start;
}

uint64_t extent_bytes(const struct extent_set *set)
{
    uint64_t bytes = 0;
    for (uint32_t item = 0; item < set->count; item++)
        bytes += set->items[item].end - set->items[item].start;
    return bytes;
}

void extent_clear(struct extent_set *set)
{
    free(set->items);
    *set = (struct extent_set){0};
}
