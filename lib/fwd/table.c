#include "fwd/table.h"

#include <string.h>

static uint32_t place_of(uint32_t job, uint8_t stripe)
{
    uint64_t key = ((uint64_t)job << 8 | stripe) * 0x9e3779b97f4a7c15ULL;
    return (uint32_t)(key >> 56) % FORWARD_INDEX;
}

static void index_add(struct forward_table *table, uint32_t entry)
{
    uint32_t place = place_of(table->entries[entry].job, table->entries[entry].stripe);
    while (table->index[place] != 0)
        place = (place + 1) % FORWARD_INDEX;
    table->index[place] = (uint16_t)(entry + 1);
}

void forward_init(struct forward_table *table)
{
    memset(table, 0, sizeof(*table));
}

const struct forward_entry *forward_lookup(const struct forward_table *table, uint32_t job, uint8_t stripe)
{
    uint32_t place = place_of(job, stripe);
    while (table->index[place] != 0) {
        const struct forward_entry *entry = &table->entries[table->index[place] - 1];
        if (entry->job == job && entry->stripe == stripe)
            return entry;
        place = (place + 1) % FORWARD_INDEX;
    }
    return NULL;
}

bool forward_with(struct forward_table *next, const struct forward_table *current,
                  const struct forward_entry *entry)
{
    memcpy(next, current, sizeof(*next));
    next->generation++;
    for (uint32_t place = 0; place < next->count; place++) {
        if (next->entries[place].job == entry->job && next->entries[place].stripe == entry->stripe) {
            next->entries[place] = *entry;
            return true;
        }
    }
    if (next->count == FORWARD_ENTRIES_MAX)
        return false;
    next->entries[next->count] = *entry;
    index_add(next, next->count);
    next->count++;
    return true;
}

void forward_without(struct forward_table *next, const struct forward_table *current, uint32_t job)
{
    forward_init(next);
    next->generation = current->generation + 1;
    for (uint32_t place = 0; place < current->count; place++) {
        if (current->entries[place].job == job)
            continue;
        next->entries[next->count] = current->entries[place];
        index_add(next, next->count);
        next->count++;
    }
}
