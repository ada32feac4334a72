/* A bump allocator over memory handed over at start. Nothing is ever freed; running out is a CHECK,
 * because every module states its need (x_bytes) before the arena is made. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/check.h"

#define ARENA_ALIGN 64

struct arena {
    uint8_t *base;
    size_t size;
    size_t used;
};

static inline void arena_init(struct arena *arena, void *base, size_t size)
{
    CHECK((uintptr_t)base % ARENA_ALIGN == 0);
    *arena = (struct arena){.base = base, .size = size};
}

/* What one arena_alloc of `size` takes from the arena. */
static inline size_t arena_need(size_t size)
{
    return (size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
}

/* Cache-line aligned; contents as handed over (the caller zeroes what must be zero). */
static inline void *arena_alloc(struct arena *arena, size_t size)
{
    size_t need = arena_need(size);
    CHECK(need <= arena->size - arena->used);
    void *memory = arena->base + arena->used;
    arena->used += need;
    return memory;
}
