/* Objects: which block is where, and what each child still needs of it.
 *
 * Life of a block at a receiver:  ABSENT → (first symbol: takes a slot) FILLING → (last symbol, owner begins
 * the write) WRITING → HELD → (hash agrees with the source's) VERIFIED. At a source all blocks are VERIFIED
 * from the start. A HELD or VERIFIED block without a slot goes through READING when a child needs it, and
 * comes back. A block whose hash contradicts the source's is ABSENT again.
 *
 * Children: the truth is in the slots' bitmaps and, per object and child, the `done` bitmap (blocks that the
 * child has acked whole, or that reach it by another tree). A block that is on disk, has no slot and is not done
 * is the child's backlog.
 * Guarantee: a symbol is offered to a child as long as memory or disk has it and the child has not acked it;
 * it is offered again only after feed_on_lost, feed_on_resend, or bad content. An ack of a symbol that was
 * not sent (since a resend) is ignored.
 *
 * No IO: disk work is asked of the owner. Thread: one. */
#pragma once

#include "store/pool.h"
#include "store/stripe.h"

enum block_state {
    BLOCK_ABSENT = 0,
    BLOCK_FILLING, /* has a slot, symbols missing or the write not yet begun */
    BLOCK_READING, /* has a slot, the disk fills it */
    BLOCK_WRITING, /* has a slot, complete, the disk has it in hand */
    BLOCK_HELD,    /* on disk (or discarded by a memory sink) and its hash computed; may have a slot */
    BLOCK_VERIFIED /* HELD and the hash agrees with the source's, or hashing is off; may have a slot */
};

/* One thing a feed may send: `count` consecutive symbols of one block. */
struct feed_item {
    uint32_t slot;
    uint64_t symbol; /* first */
    uint32_t count;
    bool repair;
    bool begun; /* the child was sent some of this block before, and so has a place for the rest */
};

/* What one child still needs of one object. */
struct feed {
    uint8_t full; /* stripes of which it has no place for another block, one bit each */
    uint8_t room; /* blocks that it has places for; FEED_ROOM_ANY: as many as there are */
    /* Blocks that it was sent some of and has acked nothing of: they will take such places. */
    uint32_t unanswered;
    struct slot_list ready;  /* slots with symbols not yet sent, in order of their arrival */
    struct slot_list repair; /* slots with lost symbols, in order of the loss */
    uint32_t loading;        /* slots that the disk is filling, which this child needs */
    uint64_t backlog_count;  /* blocks below read_next to be served from disk */
    uint64_t backlog_next;   /* where to look for the next one */
    uint64_t blocks_done;    /* fully acked */
};

#define FEED_ROOM_ANY UINT8_MAX

#define OBJECT_BAD_MAX 63 /* what fits beside two bits */

struct object {
    bool in_use;
    bool source;    /* all blocks lie in the source file */
    bool discard;   /* memory sink: HELD blocks can't be read back */
    bool was_there; /* on the disk, before the object was opened */
    bool sealed;    /* slots hold symbols as they travel, not the text; may be set before the first symbol */
    /* Per stripe: who it comes from, in the numbers of whoever opened it: see store_room. May be changed; 0 at
     * first. */
    uint16_t owner[STRIPES_MAX];
    struct store *store;
    struct geometry geometry;
    uint64_t pool_first;  /* where this object's blocks lie in the store's pools */
    uint64_t pool_blocks; /* whole bitmap words */
    uint32_t *slot_of;    /* per block; SLOT_NONE */
    uint8_t *state;       /* enum block_state */
    /* Bit 0: expected (the source's); bit 1: computed, of the content that is held here; above: times bad. */
    uint8_t *hash_known;
    struct wire_hash *hash;  /* whichever came first; compared when the other comes */
    uint64_t *loadable;      /* bitmap: HELD or VERIFIED, on disk, without a slot */
    uint64_t received_bytes; /* payload held, counted once */
    uint64_t verified_bytes;
    uint64_t blocks_verified;
    uint64_t hash_next;   /* blocks below were looked at by object_load_unhashed */
    uint64_t read_next;   /* next block to read ahead; `blocks` where nothing is */
    uint32_t ahead_count; /* slots read ahead that no child was sent all of */
    uint32_t slots_in_use;
    /* Streams: blocks are numbered on, and number n lies in place n % blocks. Places from lap_places on hold the
     * lap that begins with number lap_first, those below are one lap ahead. Else places are numbers: both 0. */
    uint64_t lap_first;
    uint64_t lap_places;
    uint64_t short_place;   /* streams: where the last block lies, once that is known; else UINT64_MAX */
    uint32_t short_symbols; /* of that block */
    uint64_t holds;         /* over all its slots */
    uint32_t child_count;
    uint32_t active;    /* one bit per child that was not dropped */
    uint32_t load_turn; /* the child whose backlog is looked at first */
    struct stripe_schedule schedule;
    uint32_t stripe_slots[STRIPES_MAX]; /* slots with blocks of each … */
    uint32_t stripe_busy[STRIPES_MAX];  /* … of them BUSY ones */
    uint32_t busy;                      /* over all stripes */
    uint8_t fed;          /* one bit per stripe that comes here; blocks of others count as held */
    uint32_t stripe_kept; /* slots that each of them can always have; 0: a source */
    uint8_t child_stripes[STORE_CHILDREN_MAX]; /* one bit per stripe that the child is fed */
    uint64_t *done[STORE_CHILDREN_MAX];
    struct feed feeds[STORE_CHILDREN_MAX];
};

/* ---- objects ---- */

/* NULL and err: too many objects, or blocks_max exhausted (says need and room). */
struct object *object_open(struct store *store, const struct geometry *geometry, bool source, bool discard,
                           uint32_t child_count, struct err *err);
/* Before the first symbol: the object travels in stripes, and child c is fed those of the bits stripes[c] only.
 * From now on a slot or two are kept for each stripe: nodes that feed each other in different trees would else
 * wait for each other's memory for ever. Within one tree nobody waits in a circle, so that one slot is enough for
 * a stripe to go on. False: the store has too few slots for that; err says how many it takes. */
bool object_stripe(struct object *object, const struct stripe_schedule *schedule, const uint8_t *stripes,
                   struct err *err);
/* So many stripes another object could have now, 1 at least: one tree keeps no slots. If it is to take the place of
 * an open one (NULL: it is not), what that keeps is free for it. */
uint32_t store_stripes_max(const struct store *store, const struct object *replaced);
/* So many slots it keeps for its stripes. */
uint32_t object_kept(const struct object *object);
/* Before the first symbol, of an object that travels in stripes: blocks of those of the bits `fed` alone come
 * here; the others count as held, and no child gets them from here. */
void object_leave_out(struct object *object, uint8_t fed);
/* Stripes of which no other block would find a slot now, one bit each. */
uint8_t object_full_stripes(const struct object *object);
/* Of how many more blocks, over all stripes, symbols would find a slot now. O(stripes). */
uint32_t object_room(const struct object *object);
/* Returns every slot; no slot may be held (the owner waits for object_idle). */
void object_close(struct object *object);
bool object_idle(const struct object *object); /* no holds on any slot */

/* ---- arriving symbols ---- */

/* PUT_NO_SLOT: no memory for one more block now, or the disk is still reading a copy known to be bad. The
 * symbol must not be acked to the parent: it will be sent again. */
enum put_result { PUT_STORED, PUT_DUPLICATE, PUT_NO_SLOT, PUT_BAD_LENGTH, PUT_OUTSIDE };

/* Consecutive symbols as they arrive. */
struct symbol_run {
    uint64_t symbol; /* the first */
    uint32_t count;
    uint32_t body_bytes; /* of all */
    const uint8_t *body;
    const uint8_t *tags; /* count * WIRE_TAG_BYTES; NULL: zeros */
    uint16_t body_sum;   /* checksum_of the body (wire/ethernet.h); 0: not known */
};

/* Copies the run into the buffer and notes the arrival for the children. PUT_STORED when at least one was new;
 * *completed is the block whose last symbol this was, or UINT64_MAX (a run never crosses a block: PUT_OUTSIDE).
 * Otherwise nothing was changed. */
enum put_result object_put(struct object *object, const struct symbol_run *run, uint64_t *completed);

/* ---- blocks and the disk ---- */

/* The completed block goes to the disk: state WRITING, slot held. Returns its slot. */
uint32_t object_write_begin(struct object *object, uint64_t block);
/* The disk has it; the hold ends. `hash` is what it computed (ignored when hashing is off: `hashed` false →
 * VERIFIED at once). Returns false when the hash contradicts the source's: the block is ABSENT again and must
 * be asked for again (RESEND). */
bool object_write_done(struct object *object, uint64_t block, bool hashed, const struct wire_hash *hash);
/* The source's hash of a block, from HASHES or, at the source, from its own disk. Returns false when it
 * contradicts what was computed here: the block is ABSENT again, or at the source: the file has changed and
 * the object is as before. */
bool object_expect(struct object *object, uint64_t block, const struct wire_hash *hash);

/* How often the block's content was found to be bad, at most OBJECT_BAD_MAX. */
uint32_t object_bad_count(const struct object *object, uint64_t block);
/* A whole block that the disk is not to have, and that lies in memory for the children: once all of them have
 * acked it it is ABSENT and its slot free. False: some child lacks it. */
bool object_let_go(struct object *object, uint64_t block);

/* Read-ahead and slow children: the next block that ought to be read from disk into a slot, within memory:
 * first for a child with a backlog and nothing else to send, then read-ahead (up to `ahead_max` slots that no
 * child was sent all of), then the other backlogs. Takes and holds a slot, state READING. False: nothing to
 * read now, or no slot. */
bool object_load_begin(struct object *object, uint32_t ahead_max, uint64_t *block, uint32_t *slot);
/* The hash of what the disk has put into the slot, before object_load_done. False: it contradicts what is
 * known of the block, which is ABSENT again; object_load_done then returns the slot. A block that
 * object_expect found bad while the disk read it is not looked at: true, whatever the hash. */
bool object_load_check(struct object *object, uint64_t block, const struct wire_hash *hash);
/* At a source that has read ahead to its end: the next block that no child needed, so that its hash is not
 * known; others down the tree may need that. Else as object_load_begin. */
bool object_load_unhashed(struct object *object, uint64_t *block, uint32_t *slot);
/* The disk filled the slot; the hold ends. All its symbols have arrived, for the children that lack them. */
void object_load_done(struct object *object, uint64_t block);
/* The read failed; the hold ends and the slot is returned. Another object_load_begin would try it again. */
void object_load_failed(struct object *object, uint64_t block);
/* Before the first symbol: everything is on disk already (skip-if-same, resume): all blocks VERIFIED,
 * children served by object_load. What is sealed again must be what the source has sealed: of an object that is,
 * a block is read only once the source's hash is known. */
void object_mark_held(struct object *object);
/* The disk is gone for good: from now on nothing is read back, and blocks stay in memory until every child
 * has acked them. False: some child lacks a block that was on disk only; it can't be served any more. */
bool object_disk_lost(struct object *object);
bool object_complete(const struct object *object); /* every block VERIFIED */

/* ---- children ---- */

/* The next symbols for this child: repairs first, then blocks begun before others, then by arrival of their
 * blocks; at most count_max consecutive ones of one block. Where the child has said that it has few places, what
 * it has none for is passed over. Marks nothing. False: nothing to send now. */
bool feed_peek(struct object *object, uint32_t child, uint32_t count_max, struct feed_item *item);
/* The child has no place for another block of the stripes in `full` (one bit each), and for `room` blocks over all
 * stripes; of what it has acked some it has its place. At first: none full, FEED_ROOM_ANY. */
void feed_set_places(struct object *object, uint32_t child, uint8_t full, uint8_t room);
/* Something is there for the child that it has no place for: why feed_peek says that there is nothing. */
bool feed_lacks_place(const struct object *object, uint32_t child);
/* What feed_peek offers, repairs excepted, goes behind all others. */
void feed_defer(struct object *object, uint32_t child);
/* The item was handed to the edge: marks it sent and holds the slot until store_release. */
void feed_on_sent(struct object *object, uint32_t child, const struct feed_item *item);
/* `symbol` and `count` of these two are those of one sent item. */
bool feed_on_acked(struct object *object, uint32_t child, uint64_t symbol, uint32_t count);
/* Lost, refused by the port, or to be probed: queued for repair unless acked already. */
bool feed_on_lost(struct object *object, uint32_t child, uint64_t symbol, uint32_t count);
/* The child holds these blocks already: never sent again. Blocks beyond the object are ignored, here and
 * below, and those that reach the child by another tree. */
void feed_on_have(struct object *object, uint32_t child, uint64_t first_block, uint64_t count);
/* The child got bad content: what it acked of these blocks is forgotten, they go out again (from memory or
 * disk). False: a memory sink has recycled some of them and can't serve them any more. */
bool feed_on_resend(struct object *object, uint32_t child, uint64_t first_block, uint64_t count);
bool feed_done(const struct object *object, uint32_t child); /* all blocks acked */
/* The child is gone for good: it holds no slot any more. */
void feed_drop(struct object *object, uint32_t child);
