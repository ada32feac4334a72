/* A stream without known end: a window that slides over an object's blocks.
 *
 * Symbols and blocks of a stream are numbered on for ever; the object behind it has `blocks` places, and
 * block n lies in place n % blocks. Blocks first … first + blocks - 1 have a place: that is the retention
 * window, out of which slow children and repairs are served. The window moves on when its oldest block is
 * verified here and acked by every child. What happens to a symbol inside the window is the object's
 * business, unchanged: its functions take places, the wire carries numbers, stream_place and stream_number
 * translate. In which stripe a block travels follows from its number, whatever the size of the window: it may
 * differ from node to node, and a place may be in another stripe each lap.
 *
 * Records: a stream comes in pieces of any length and must not wait for more, so each symbol begins with the
 * length of its payload (big-endian, STREAM_HEAD_BYTES); the rest of the symbol is zero. All symbols thus
 * have the same size on the wire and in memory, and hashes cover them as they travel. A flush costs at most
 * one padded symbol.
 *
 * The end: the number of symbols is told (STREAM_END); the last block may be short.
 * No IO, no time. Thread: one. */
#pragma once

#include "base/bytes.h"
#include "store/store.h"

#define STREAM_HEAD_BYTES 2
#define STREAM_WIRE_BITS  40 /* wire/data.h: after 14 days at 10 Gbit/s they begin anew */
#define STREAM_BLOCKS_MIN 4  /* of every window: so much may be sent to a child before it has said anything */

struct stream {
    struct object *object;
    uint64_t first; /* oldest block with a place */
    uint64_t next;  /* symbols below are filled (source) or handed out in order (site) */
    bool ended;
    uint64_t symbols; /* of the whole stream, once ended */
};

enum stream_where { STREAM_INSIDE, STREAM_BEFORE, STREAM_BEYOND };

static inline uint32_t stream_payload_bytes(uint32_t symbol_bytes)
{
    return symbol_bytes - STREAM_HEAD_BYTES;
}

static inline uint32_t stream_record_bytes(const uint8_t *symbol)
{
    return load_be16(symbol);
}

/* Writes the head of a record whose `bytes` of payload are in place, and the zeros behind them. */
static inline void stream_record_close(uint8_t *symbol, uint32_t symbol_bytes, uint32_t bytes)
{
    store_be16(symbol, (uint16_t)bytes);
    memset(symbol + STREAM_HEAD_BYTES + bytes, 0, symbol_bytes - STREAM_HEAD_BYTES - bytes);
}

/* `object` was opened as neither source nor with a disk behind it (discard), all its blocks whole. */
void stream_init(struct stream *stream, struct object *object);
/* The first block that has no place yet. */
uint64_t stream_limit(const struct stream *stream);
/* The number behind the low STREAM_WIRE_BITS bits that a packet carries: the one nearest to the window. */
uint64_t stream_expand(const struct stream *stream, uint64_t low);
/* Where symbols `number` … number + count - 1 lie; INSIDE: *place is that of the first. */
enum stream_where stream_place(const struct stream *stream, uint64_t number, uint32_t count, uint64_t *place);
/* The number of a symbol that lies in this place. */
uint64_t stream_number(const struct stream *stream, uint64_t place);

/* ---- at the source ---- */

/* The slot that takes the next symbols, *first of it on; SLOT_NONE: the window is full or there is no
 * memory. */
uint32_t stream_fill(struct stream *stream, uint32_t *first);
/* `count` symbols behind `next` were filled in place: children are to get them. Returns the place of the
 * block that they completed, or UINT64_MAX. */
uint64_t stream_filled(struct stream *stream, uint32_t count);

/* ---- at a site ---- */

/* Symbols that lie there in order behind `next`, all of one block: their slot, the first of them in it, how
 * many; *whole: the block ends with them (by the end of the stream that may be so with none left). False:
 * nothing to hand out now. */
bool stream_run(const struct stream *stream, uint32_t *slot, uint32_t *first, uint32_t *count, bool *whole);

/* ---- both ---- */

/* The stream has `symbols` symbols. *completed: the place of the block that is whole by that, or UINT64_MAX.
 * False: symbols behind that end are there, or another end was told before. */
bool stream_end(struct stream *stream, uint64_t symbols, uint64_t *completed);
/* The whole block in this place is done with: filled, or handed out. `hash`: as computed here; NULL: none.
 * The block is verified when the source's hash is equal, or when there is none to compare. False: it
 * contradicts the source's; the block counts as verified all the same, so that the window moves on for the
 * children. */
bool stream_done(struct stream *stream, uint64_t place, const struct wire_hash *hash);
/* The source's hash of block `number`. False: it contradicts the one computed here; else as above. */
bool stream_expect(struct stream *stream, uint64_t number, const struct wire_hash *hash);
/* The source's hash of block `number`; NULL: not known. */
const struct wire_hash *stream_hash(const struct stream *stream, uint64_t number);
bool stream_verified(const struct stream *stream, uint64_t number);
/* Lets go of the oldest blocks that nobody needs, those below `told` only. True: the window has moved.
 * *completed as above: the last block may have got its place by that. */
bool stream_advance(struct stream *stream, uint64_t told, uint64_t *completed);
/* Of these stripes nothing comes any more: blocks that are not whole count as verified, as those of an object that
 * was left out of them, and no child of theirs may be left. Nothing, where no other stripe would be left. */
void stream_leave_out(struct stream *stream, uint8_t stripes);
/* The newest place of these stripes in the window is filled: no more of them fits. */
bool stream_full(const struct stream *stream, uint8_t stripes);
uint64_t stream_share(const struct stream *stream, uint8_t stripes); /* symbols of theirs in a full window */
/* How far the stream has come here: the newest block of which something lies here; where nothing does, the
 * oldest with a place. */
uint64_t stream_arrived(const struct stream *stream);
/* Symbols that lie here and that this child has not acked. */
uint64_t stream_behind(const struct stream *stream, uint32_t child);
/* Symbols that lie here in order and were not handed out. */
uint64_t stream_undelivered(const struct stream *stream);
/* The child has not acked some of what lies here of the oldest block. */
bool stream_lacks_first(const struct stream *stream, uint32_t child);
bool stream_awaits_first(const struct stream *stream); /* some of the oldest block is not here */
/* The first place at or after `from` with a whole block that stream_done was not called for; UINT64_MAX:
 * none. */
uint64_t stream_complete(const struct stream *stream, uint64_t from);
