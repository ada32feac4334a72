/* A set of byte ranges, kept sorted and merged: what a simulated file holds of the right content. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct extent {
    uint64_t start, end;
};

struct extent_set {
    struct extent *items;
    uint32_t count;
    uint32_t room;
};

void extent_add(struct extent_set *set, uint64_t start, uint64_t end);
void extent_remove(struct extent_set *set, uint64_t start, uint64_t end);
bool extent_covers(const struct extent_set *set, uint64_t start, uint64_t end);
uint64_t extent_bytes(const struct extent_set *set);
/* Empties the set and gives its memory back. */
void extent_clear(struct extent_set *set);
