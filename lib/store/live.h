/* A stream without known end: a window that slides over an object's blocks.
 *
 * Symbols and blocks of a stream are numbered on for ever; the object behind it has `blocks` places, and
 * block n lies in place n % blocks. Blocks first … first + blocks - 1 have a place: that is the retention
 * window, out of which slow children and repairs are served. The window moves on when its oldest block is
 * verified here and acked by every child. What happens to a symbol inside the window is the object's
 * business, unchanged: its functions take places, the wire carries numbers, live_place and live_number
 * translate.
 *
 * Records: a stream comes in pieces of any length and must not wait for more, so each symbol begins with the
 * length of its payload (big-endian, LIVE_HEAD_BYTES); the rest of the symbol is zero. All symbols thus have
 * the same size on the wire and in memory, and hashes cover them as they travel. A flush costs at most one
 * padded symbol.
 *
 * The end: the number of symbols is told (LIVE_END); the last block may be short.
 * No IO, no time. Thread: one. */
#pragma once

#include "base/bytes.h"
#include "store/store.h"

#define LIVE_HEAD_BYTES 2
#define LIVE_BLOCKS_MIN 4 /* of every window: so much may be sent to a child before it has said anything */

struct live {
    struct object *object;
    uint64_t first; /* oldest block with a place */
    uint64_t next;  /* symbols below are filled (source) or handed out in order (site) */
    bool ended;
    uint64_t symbols; /* of the whole stream, once ended */
};

enum live_where { LIVE_INSIDE, LIVE_BEFORE, LIVE_BEYOND };

static inline uint32_t live_payload_bytes(uint32_t symbol_bytes)
{
    return symbol_bytes - LIVE_HEAD_BYTES;
}

static inline uint32_t live_record_bytes(const uint8_t *symbol)
{
    return load_be16(symbol);
}

/* Writes the head of a record whose `bytes` of payload are in place, and the zeros behind them. */
static inline void live_record_close(uint8_t *symbol, uint32_t symbol_bytes, uint32_t bytes)
{
    store_be16(symbol, (uint16_t)bytes);
    memset(symbol + LIVE_HEAD_BYTES + bytes, 0, symbol_bytes - LIVE_HEAD_BYTES - bytes);
}

/* `object` was opened as neither source nor with a disk behind it (discard), all its blocks whole. */
void live_init(struct live *live, struct object *object);
/* The first block that has no place yet. */
uint64_t live_limit(const struct live *live);
/* Where symbols `number` … number + count - 1 lie; INSIDE: *place is that of the first. */
enum live_where live_place(const struct live *live, uint64_t number, uint32_t count, uint64_t *place);
/* The number of a symbol that lies in this place. */
uint64_t live_number(const struct live *live, uint64_t place);

/* ---- at the source ---- */

/* The slot that takes the next symbols, *first of it on; SLOT_NONE: the window is full or there is no memory.
 */
uint32_t live_fill(struct live *live, uint32_t *first);
/* `count` symbols behind `next` were filled in place: children are to get them. Returns the place of the
 * block that they completed, or UINT64_MAX. */
uint64_t live_filled(struct live *live, uint32_t count);

/* ---- at a site ---- */

/* Symbols that lie there in order behind `next`, all of one block: their slot, the first of them in it, how
 * many; *whole: the block ends with them (by the end of the stream that may be so with none left). False:
 * nothing to hand out now. */
bool live_run(const struct live *live, uint32_t *slot, uint32_t *first, uint32_t *count, bool *whole);

/* ---- both ---- */

/* The stream has `symbols` symbols. *completed: the place of the block that is whole by that, or UINT64_MAX.
 * False: symbols behind that end are there, or another end was told before. */
bool live_end(struct live *live, uint64_t symbols, uint64_t *completed);
/* The whole block in this place is done with: filled, or handed out. `hash`: as computed here; NULL: none.
 * The block is verified when the source's hash is equal, or when there is none to compare. False: it
 * contradicts the source's; the block counts as verified all the same, so that the window moves on for the
 * children. */
bool live_done(struct live *live, uint64_t place, const struct wire_hash *hash);
/* The source's hash of block `number`. False: it contradicts the one computed here; else as above. */
bool live_expect(struct live *live, uint64_t number, const struct wire_hash *hash);
/* The source's hash of block `number`; NULL: not known. */
const struct wire_hash *live_hash(const struct live *live, uint64_t number);
bool live_verified(const struct live *live, uint64_t number);
/* Lets go of the oldest blocks that nobody needs, those below `told` only. True: the window has moved.
 * *completed as above: the last block may have got its place by that. */
bool live_advance(struct live *live, uint64_t told, uint64_t *completed);
bool live_over(const struct live *live); /* ended, and the window has passed the end */
/* The last place of the window is filled: no more fits. */
bool live_full(const struct live *live);
/* How far the stream has come here: the newest block of which something lies here; where nothing does, the
 * oldest with a place. */
uint64_t live_arrived(const struct live *live);
/* Symbols that lie here and that this child has not acked. */
uint64_t live_behind(const struct live *live, uint32_t child);
/* Symbols that lie here and were not handed out. */
uint64_t live_undelivered(const struct live *live);
bool live_lacks_first(const struct live *live, uint32_t child); /* some of the oldest block */
/* The first place at or after `from` with a whole block that live_done was not called for; UINT64_MAX: none.
 */
uint64_t live_complete(const struct live *live, uint64_t from);
