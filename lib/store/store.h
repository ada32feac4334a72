/* The symbol buffer: one pool of block-sized slots shared by all jobs of a node, and per job an object that
 * knows which block is where. One symbol in memory serves every child, every repair and the disk.
 *
 * Life of a block at a receiver:  ABSENT → (first symbol: takes a slot) FILLING → (last symbol) WRITING →
 * HELD (on disk) at a source: HELD (in the file) → READING (slot taken) → HELD with a slot A slot is recycled
 * when its block is HELD on disk (or discarded by a memory sink), nothing holds it (transmit, disk) and each
 * child has acked all of it. When slots run short, a slot is also recycled whose block some children have not
 * been sent at all (never one partly sent): those children get it later, from disk, by object_load. `backlog`
 * of their feed remembers it.
 *
 * Per slot and child three bitmaps hold the truth: sched (sent, or handed out for sending), acked, lost (to
 * be sent again).
 *
 * Memory: store_bytes(); everything is taken from the arena at start. Thread: one. No IO: disk work is asked
 * of the owner. */
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

struct slot_child {
    uint64_t sched[SLOT_WORDS];
    uint64_t acked[SLOT_WORDS];
    uint64_t lost[SLOT_WORDS];
    uint16_t sched_count;
    uint16_t acked_count;
    uint16_t lost_count;
    bool queued_repair; /* on the feed's list of slots with lost symbols */
};

struct object;

struct slot {
    uint8_t *data;         /* BLOCK_BYTES_TARGET bytes, symbols back to back */
    uint8_t *tags;         /* WIRE_TAG_BYTES per symbol */
    struct object *object; /* NULL: free */
    uint64_t block;
    uint64_t have[SLOT_WORDS];
    uint32_t have_count;
    uint32_t symbols;        /* of this block */
    uint32_t holds;          /* transmits and disk requests under way */
    uint32_t previous, next; /* age list: oldest first; or free list */
    struct slot_child children[STORE_CHILDREN_MAX];
};

enum block_state {
    BLOCK_ABSENT = 0,
    BLOCK_FILLING, /* has a slot, symbols missing */
    BLOCK_READING, /* has a slot, the disk fills it */
    BLOCK_WRITING, /* has a slot, complete, the disk has it in hand */
    BLOCK_HELD,    /* on disk (or discarded by a memory sink) and its hash computed; may have a slot */
    BLOCK_VERIFIED /* HELD and the hash agrees with the source's */
};

struct store_config {
    uint64_t memory_bytes; /* for slots: symbols, tags and bookkeeping */
    uint64_t blocks_max;   /* over all jobs at once: have-maps and hashes */
    uint32_t objects_max;
    uint32_t arrivals_max; /* 0: twice the symbols that the slots hold, for SYMBOL_BYTES_MIN */
};

struct store_counters {
    uint64_t slots_taken, slots_recycled, slots_evicted /* recycled with a backlog left to a child */,
        no_slot;
};

struct store {
    struct slot *slots;
    uint32_t slot_count;
    uint32_t free_head;
    uint32_t free_count;
    uint32_t oldest, newest; /* age list of slots in use */
    struct object *objects;
    uint32_t objects_max;
    uint64_t blocks_max; /* pool for per-block tables, handed out in runs, first fit */
    uint64_t blocks_used;
    uint32_t *pool_slot_of;
    uint8_t *pool_state;
    struct wire_hash *pool_hash;
    uint8_t *pool_flags;
    uint64_t *pool_backlog; /* STORE_CHILDREN_MAX bitmaps over the pool's blocks */
    struct store_counters counters;
};

/* One thing a feed may send: `count` consecutive symbols of one block. */
struct feed_item {
    uint32_t slot;
    uint64_t symbol; /* first */
    uint32_t count;
    bool repair;
};

/* What one child still needs of one object. The walk over arrivals is the fast path; backlog and repair lists
 * the rest. */
struct feed {
    bool active;
    uint64_t arrival;          /* cursor into the object's arrivals (free-running) */
    uint32_t arrival_offset;   /* symbols of that run already looked at */
    uint32_t repair_slots[64]; /* FIFO of slots with lost symbols; when it overflows, repair_scan is set */
    uint32_t repair_head, repair_tail;
    bool repair_scan;       /* look through all slots of the object for lost symbols */
    uint64_t backlog_count; /* blocks to be served from disk */
    uint64_t backlog_next;  /* where to look for the next one */
    uint64_t blocks_done;   /* fully acked */
};

struct arrival {
    uint64_t symbol;
    uint32_t count;
    uint32_t unused;
};

struct object {
    bool in_use;
    bool source;  /* all blocks lie in the source file */
    bool discard; /* memory sink: HELD blocks can't be read back */
    struct store *store;
    struct geometry geometry;
    uint64_t pool_first;     /* where this object's blocks lie in the store's pools */
    uint32_t *slot_of;       /* per block; SLOT_NONE */
    uint8_t *state;          /* enum block_state */
    uint8_t *hash_known;     /* bit 0: expected (the source's), bit 1: computed here */
    struct wire_hash *hash;  /* whichever came first; compared when the other comes */
    uint64_t received_bytes; /* payload held, counted once */
    uint64_t verified_bytes;
    uint64_t blocks_verified;
    uint64_t read_next; /* source: next block to read ahead */
    uint32_t slots_in_use;
    struct arrival *arrivals; /* ring of arrivals_max (a power of two) */
    uint64_t arrival_end;     /* free-running */
    uint32_t arrivals_mask;
    uint32_t child_count;
    struct feed feeds[STORE_CHILDREN_MAX];
};

size_t store_bytes(const struct store_config *config);
/* At least 4 slots must fit config->memory_bytes (CHECK; the configuration check says it first). */
void store_init(struct store *store, const struct store_config *config, struct arena *arena);

/* ---- objects ---- */

/* NULL and err: too many objects, or blocks_max exhausted (says need and room). */
struct object *object_open(struct store *store, const struct geometry *geometry, bool source, bool discard,
                           uint32_t child_count, struct err *err);
/* Returns every slot; no slot may be held (the owner waits for object_idle). */
void object_close(struct object *object);
bool object_idle(const struct object *object); /* no holds on any slot */

/* ---- arriving symbols ---- */

enum put_result { PUT_STORED, PUT_DUPLICATE, PUT_NO_SLOT, PUT_BAD_LENGTH, PUT_OUTSIDE };

/* Copies `count` consecutive symbols (body_bytes in all, tags count * 16) into the buffer and notes the
 * arrival for the children. PUT_STORED when at least one was new; *completed is the block whose last symbol
 * this was, or UINT64_MAX (a run never crosses a block: PUT_OUTSIDE). On PUT_NO_SLOT nothing was changed. */
enum put_result object_put(struct object *object, uint64_t symbol, uint32_t count, const uint8_t *tags,
                           const uint8_t *body, uint32_t body_bytes, uint64_t *completed);

/* ---- blocks and the disk ---- */

/* The completed block goes to the disk: state WRITING, slot held. Returns its slot. */
uint32_t object_write_begin(struct object *object, uint64_t block);
/* The disk has it. `hash` is what it computed (ignored when hashing is off: `hashed` false → VERIFIED at
 * once). Returns false when the hash contradicts the source's: the block is ABSENT again and must be asked
 * for again (RESEND). */
bool object_write_done(struct object *object, uint64_t block, bool hashed, const struct wire_hash *hash);
/* The source's hash of a block, from HASHES or from its own disk. Returns false when it contradicts what was
 * computed here: the block is ABSENT again. */
bool object_expect(struct object *object, uint64_t block, const struct wire_hash *hash);

/* Source read-ahead and slow children: the next block that ought to be read from disk into a slot, within
 * memory: source read-ahead first (`ahead_max` blocks in slots beyond the fastest child's cursor), then the
 * oldest backlog of each feed. Takes and holds a slot, state READING. False: nothing to read now, or no slot.
 */
bool object_load_begin(struct object *object, uint32_t ahead_max, uint64_t *block, uint32_t *slot);
/* The disk filled the slot: all its symbols have arrived, for the children that lack them. */
void object_load_done(struct object *object, uint64_t block);
/* The read failed: the slot is returned. */
void object_load_failed(struct object *object, uint64_t block);
/* Everything is on disk already (skip-if-same, resume): all blocks VERIFIED, children served by object_load.
 */
void object_mark_held(struct object *object);
bool object_complete(const struct object *object); /* every block VERIFIED */

/* ---- children ---- */

/* The next symbols for this child: repairs first, then arrivals in order; at most count_max consecutive ones
 * of one block. Marks nothing. False: nothing to send now. */
bool feed_peek(struct object *object, uint32_t child, uint32_t count_max, struct feed_item *item);
/* The item was handed to the edge: marks it sent and holds the slot until store_release. */
void feed_on_sent(struct object *object, uint32_t child, const struct feed_item *item);
void feed_on_acked(struct object *object, uint32_t child, uint64_t symbol, uint32_t count);
/* Lost, refused by the port, or to be probed: queued for repair unless acked already. */
void feed_on_lost(struct object *object, uint32_t child, uint64_t symbol, uint32_t count);
/* The child holds these blocks already: never sent again. */
void feed_on_have(struct object *object, uint32_t child, uint64_t first_block, uint64_t count);
/* The child got bad content: what it acked of these blocks is forgotten, they go out again (from memory or
 * disk). */
void feed_on_resend(struct object *object, uint32_t child, uint64_t first_block, uint64_t count);
bool feed_done(const struct object *object, uint32_t child); /* all blocks acked */
/* The child is gone for good: it holds no slot any more. */
void feed_drop(struct object *object, uint32_t child);

/* ---- slots ---- */

static inline const uint8_t *slot_symbol(const struct slot *slot, const struct geometry *geometry,
                                         uint64_t symbol)
{
    return slot->data + (symbol % geometry->block_symbols) * geometry->symbol_bytes;
}

static inline const uint8_t *slot_tags(const struct slot *slot, const struct geometry *geometry,
                                       uint64_t symbol)
{
    return slot->tags + (symbol % geometry->block_symbols) * WIRE_TAG_BYTES;
}

void store_hold(struct store *store, uint32_t slot);
void store_release(struct store *store, uint32_t slot);
/* Slots that are free or could be recycled now: what credit is computed from. O(1). */
uint32_t store_available(const struct store *store);
