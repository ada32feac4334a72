/* Streams: jobs whose object has no known end (`object: stream`). The window and its blocks: store/stream.h;
 * what the disk side does: FEED and DRAIN in store/disk.h. README.md tells the whole of it.
 *
 * The rule for slow receivers is judged at every node for what it feeds itself: its children and its own
 * sink. With `slow: drop`,
 *   - when the window is full, whoever lacks its oldest block and more than half of it ends, provided that
 *     somebody else here has all but a quarter of it, and so would stand still for the slow one;
 *   - when the oldest block is older than the job's `window`, whoever lacks it ends.
 * In all other cases the window waits: the source stops reading its input, a site takes nothing more from its
 * parent.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "ctl/job_spec.h"
#include "store/disk.h"
#include "store/stream.h"
#include "wire/control.h"

#define STREAM_MARKS 16

struct node;
struct job;

/* How far the stream had come at a time: what tells the age of blocks. */
struct stream_mark {
    uint64_t at_ns;
    uint64_t block;
};

struct job_stream {
    bool on;
    struct stream window;
    uint64_t bytes;          /* payload: read from the input, or handed to the sink */
    uint64_t whole_bytes;    /* of them, those of whole blocks … */
    uint64_t whole_blocks;   /* … and how many these are */
    uint64_t verified_bytes; /* the part of whole_bytes that is known to be right */
    bool busy;               /* a FEED or DRAIN is under way, for … */
    bool whole;              /* DRAIN: the end of a block */
    uint32_t slot, count;    /* … these symbols */
    bool interrupted;        /* an ABORT was sent */
    bool end_known;
    struct wire_stream_end end;
    uint32_t end_due;  /* bit per child that is still to be told the end */
    uint32_t drop_due; /* bit per child that is still to be told that it was dropped, for this reason: */
    char drop_text[CONTROL_TEXT_BYTES];
    uint64_t room_told;
    struct stream_mark marks[STREAM_MARKS];
    uint32_t mark_next;
};

/* ---- stream.c: what source and sites share ---- */
bool stream_check_spec(const struct node *node, const struct job_spec *spec, struct err *err);
void stream_fill_part(const struct job_spec *spec, uint32_t symbol_bytes, uint32_t block_symbols,
                      struct wire_part *part);
/* Narrows the part's window to what this node can hold; false: not even the smallest. */
bool stream_fit_part(const struct node *node, struct wire_part *part, struct err *err);
/* False: the window is over before the farthest edge of the tree can have acked anything, so that everybody
 * there would be too slow. */
bool stream_check_paths(const struct job *job, const struct wire_part *part, struct err *err);
uint64_t stream_window_bytes(const struct wire_part *part, uint32_t symbol_bytes, uint32_t block_symbols);
void stream_open(struct job *job);
void stream_start(struct node *node, struct job *job, uint64_t now_ns);
void stream_tick(struct node *node, struct job *job, uint64_t now_ns);
/* Lets go of what nobody needs, and of all that follows from it. */
void stream_settle(struct node *node, struct job *job);
void stream_on_block(struct node *node, struct job *job, uint64_t place); /* a whole block came */
void stream_on_room(struct node *node, struct job *job, uint32_t child, uint64_t blocks, uint64_t now_ns);
void stream_on_disk(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns);
/* Ends a FEED or DRAIN that waits, so that the job can close. */
void stream_interrupt(struct node *node, struct job *job);
/* Symbols without a place. True: they are to be acked, since they were here before. */
bool stream_refuse(struct node *node, enum stream_where where);
/* Whether the child has a place for what the feed offers, or for something else (then *item is that). */
bool stream_may_send(const struct job *job, uint32_t child, uint32_t count_max, struct feed_item *item);
void stream_tell_end(struct node *node, struct job *job);
const struct wire_hash *stream_hash_of(const struct job *job, const struct disk_reply *reply);

/* ---- stream_source.c ---- */
void stream_feed(struct node *node, struct job *job);
void stream_on_fed(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns);
void stream_on_input_end(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns);

/* ---- stream_site.c ---- */
void stream_on_put(struct node *node, struct job *job);
void stream_drain(struct node *node, struct job *job);
void stream_on_drained(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns);
void stream_on_finished(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns);
void stream_on_sink_failed(struct node *node, struct job *job);
void stream_on_hashes(struct node *node, struct job *job, const struct control_hashes *hashes,
                      uint64_t now_ns);
bool stream_on_end(struct node *node, struct job *job, const struct control_stream_end *end, uint64_t now_ns);
void stream_check_complete(struct node *node, struct job *job);
void stream_tell_room(struct node *node, struct job *job);
bool stream_has_sink(const struct job *job); /* what comes is to be handed out … */
bool stream_drains(const struct job *job);   /* … and is so now */
