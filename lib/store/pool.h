/* The symbol buffer: one pool of block-sized slots shared by all jobs of a node. One symbol in memory serves
 * every child, every repair and the disk.
 *
 * A slot is free or holds one block of one object, and is then in one of these classes:
 *   BUSY     filling, with the disk, held, partly sent to some child, or loaded for a child that has not
 *            begun
 *   CLEAN    on disk (or discarded by a memory sink) and acked by every child
 *   SERVED   on disk; some child has acked it, the others were not sent any of it
 *   WAITING  on disk; no child was sent any of it
 *
 * A block that needs a slot takes a free one, else the oldest CLEAN, SERVED, WAITING one, in this order. The
 * children of a SERVED or WAITING slot get its block later, from disk. A BUSY slot is never recycled.
 *
 * Memory: store_bytes(); everything is taken from the arena at start. Thread: one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bitmap.h"
#include "store/geometry.h"
#include "wire/control.h"

#define STORE_CHILDREN_MAX CONTROL_CHILDREN_MAX
#define SLOT_NONE          UINT32_MAX
#define SLOT_WORDS         BITMAP_WORDS(BLOCK_SYMBOLS_MAX)
#define SLOTS_MIN          4
#define STORE_OBJECTS_MAX  16

struct object;

/* Doubly linked lists of slots, by slot number; a slot has one link for each list that it may be on. */
struct slot_link {
    uint32_t previous, next;
};
struct slot_list {
    uint32_t head, tail, count;
};

/* The truth about one child and one block in memory: sched (sent, or handed out for sending), acked, lost (to
 * be sent again). acked and lost are disjoint parts of sched, sched is part of the slot's have. */
struct slot_child {
    struct slot_link ready, repair;
    uint16_t sched_count, acked_count, lost_count;
    uint16_t word; /* where the last unsent symbol was found; the search starts there and goes round */
    uint64_t sched[SLOT_WORDS];
    uint64_t acked[SLOT_WORDS];
    uint64_t lost[SLOT_WORDS];
};

enum slot_class { SLOT_FREE = 0, SLOT_CLEAN, SLOT_SERVED, SLOT_WAITING, SLOT_BUSY, SLOT_CLASS_COUNT };

struct slot {
    uint8_t *data;         /* BLOCK_BYTES_TARGET bytes, symbols back to back */
    uint8_t *tags;         /* WIRE_TAG_BYTES per symbol */
    struct object *object; /* NULL: free */
    uint64_t block;
    struct slot_link link; /* of its class */
    uint32_t have_count;
    uint32_t symbols; /* of this block */
    uint32_t holds;   /* transmits and disk requests under way */
    uint8_t stripe;   /* that the block travels in */
    uint8_t class;    /* enum slot_class */
    uint8_t loaded;   /* READING: the block's state before and after */
    bool retired;     /* its content was bad: no block any more, free when the last hold ends */
    bool rejected;    /* READING: what the disk gives is known to be bad */
    bool served;      /* since it was taken, some child acked all of it */
    bool ahead;       /* counted in the object's read-ahead */
    /* One bit per child. */
    uint32_t done;    /* acked all of it, or had it before */
    uint32_t touched; /* was sent some of it */
    uint32_t ready;   /* on the child's list of slots with unsent symbols */
    uint32_t repair;  /* on the child's list of slots with lost symbols */
    uint32_t loading; /* READING: counted in the feed's loads */
    uint32_t pinned;  /* loaded for this child, which was not yet sent any of it */
    uint64_t have[SLOT_WORDS];
    struct slot_child children[STORE_CHILDREN_MAX];
};

struct store_config {
    uint64_t memory_bytes; /* for slots: symbols, tags and bookkeeping; checksums come on top */
    uint64_t blocks_max;   /* over all jobs at once: have-maps and hashes */
    uint32_t objects_max;  /* up to STORE_OBJECTS_MAX */
    /* All slots share one block's memory: where every object is all zeros, as in simulations of the network
     * alone. */
    bool bodies_shared;
    uint32_t newcomer_slots; /* that open objects leave to one which is not open yet */
};

struct store_counters {
    uint64_t slots_taken;
    uint64_t slots_recycled;
    uint64_t slots_evicted; /* recycled with a backlog left to a child */
    uint64_t no_slot;
};

struct store {
    struct slot *slots;
    /* Of each slot's symbols, as their packets' checksums told (wire/ethernet.h); 0: not known. */
    uint16_t *sums;
    uint32_t slot_count;
    bool bodies_shared;
    uint32_t pinned_count; /* slots kept for a child that has not begun; at most half of all */
    uint32_t newcomer_slots;
    uint32_t kept_slots; /* kept for the stripes of all objects that have several … */
    uint32_t kept_count; /* … and, with those of one tree, what is not used now: others leave it free */
    struct slot_list classes[SLOT_CLASS_COUNT];
    struct object *objects;
    uint32_t objects_max;
    uint32_t objects_open;
    uint32_t objects_filling; /* of these, such that arrive: not read from the disk of their source */
    uint64_t blocks_max;      /* per-block tables are handed out in runs of whole bitmap words, first fit */
    uint64_t blocks_used;
    uint64_t pool_blocks; /* blocks_max and what rounding to whole words may cost */
    uint32_t *pool_slot_of;
    uint8_t *pool_state;
    struct wire_hash *pool_hash;
    uint8_t *pool_hash_known;
    uint64_t *pool_loadable;
    uint64_t *pool_done; /* STORE_CHILDREN_MAX bitmaps over the pool's blocks */
    struct store_counters counters;
};

/* What store_init takes from the arena. */
size_t store_bytes(const struct store_config *config);
/* At least SLOTS_MIN slots must fit config->memory_bytes (CHECK; the configuration check says it first). */
uint32_t store_slots_for(uint64_t memory_bytes);
/* Everything is taken from the arena, which must outlive the store. */
void store_init(struct store *store, const struct store_config *config, struct arena *arena);

/* Where a symbol of the slot's block lies, and its tag. */
static inline const uint8_t *slot_symbol(const struct slot *slot, const struct geometry *geometry,
                                         uint64_t symbol)
{
    return slot->data + (size_t)geometry_index_of(geometry, symbol) * geometry->symbol_bytes;
}

static inline const uint8_t *slot_tags(const struct slot *slot, const struct geometry *geometry,
                                       uint64_t symbol)
{
    return slot->tags + (size_t)geometry_index_of(geometry, symbol) * WIRE_TAG_BYTES;
}

/* BLOCK_SYMBOLS_MAX of them. */
static inline uint16_t *slot_sums(const struct store *store, const struct slot *slot)
{
    return store->sums + (size_t)(slot - store->slots) * BLOCK_SYMBOLS_MAX;
}

/* Checksum of `count` symbols from that one on; 0: not known. */
static inline uint16_t slot_sum(const struct store *store, const struct slot *slot,
                                const struct geometry *geometry, uint64_t symbol, uint32_t count)
{
    return count == 1 ? slot_sums(store, slot)[geometry_index_of(geometry, symbol)] : 0;
}

/* The slot's memory is in use until as many holds were released, whatever becomes of its block. */
void store_hold(struct store *store, uint32_t slot);
void store_release(struct store *store, uint32_t slot, uint32_t holds);
/* Slots that are free or could be recycled now: what credit is computed from. O(1). */
uint32_t store_available(const struct store *store);
/* Of these, how many the stripes of one owner may still take for what arrives. Each owner has a share of the
 * slots (half of them all, divided by the owners), and what others have not taken of theirs is kept for them;
 * a lone one may take everything. What is kept for stripes of others is not counted, what is for its own is. */
uint32_t store_room(const struct store *store, uint16_t owner);
