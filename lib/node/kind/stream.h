/* Streams: jobs whose object has no known end (`object: stream`). The window and its blocks: store/stream.h;
 * what the disk side does: FEED and DRAIN in store/disk.h. README.md tells the whole of it.
 *
 * The rule for slow receivers is judged at every node for what it feeds itself: its children and its own
 * sink. With `slow: drop`,
 *   - when the window is full, whoever lacks its oldest block and more than half of it ends, provided that
 *     somebody else here has all but a quarter of it, and so would stand still for the slow one;
 *   - when the oldest block is older than the job's `window`, whoever lacks it ends. While the job is paused,
 *     no block grows older, and nobody is judged.
 * Of several trees each child is judged by the stripes that it is fed here: by its share of the window, as soon as no
 * more of them fits. What has not come here is nobody's fault.
 * In all other cases the window waits: the source stops reading its input, a site takes nothing more from its
 * parent. */
#pragma once

#include "base/err.h"
#include "ctl/job_spec.h"
#include "node/job/object_kind.h"
#include "store/stream.h"
#include "wire/control.h"

#define STREAM_MARKS 16
/* Of so many blocks behind its window a site keeps the hashes, which may be faster than what they belong to. */
#define STREAM_HASHES 1024

/* How far the stream had come at a time: what tells the age of blocks. */
struct stream_mark {
    uint64_t at_ns; /* lived, without pauses */
    uint64_t block;
};

struct job_stream {
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
    /* To each parent, at the first of its stripes. */
    uint64_t room_told[STRIPES_MAX];
    /* At a site: hashes of blocks below hash_next have come; those from hash_taken on wait for a place in the window. */
    uint64_t hash_taken, hash_next, hash_room_told;
    struct wire_hash hashes[STREAM_HASHES]; /* of block n: n % STREAM_HASHES */
    struct stream_mark marks[STREAM_MARKS];
    uint32_t mark_next;
    uint64_t judged_ns, paused_ns; /* lived: when it was last judged; what pauses have taken */
};

extern const struct object_kind stream_kind;

/* ---- stream_part.c: from a job's specification to the part of a plan ---- */
/* The retention fits the source's symbol buffer. */
bool stream_check_spec(const struct node *node, const struct job_spec *spec, struct err *err);
void stream_fill_part(const struct job_spec *spec, uint32_t symbol_bytes, uint32_t block_symbols,
                      struct wire_part *part);
/* Narrows the part's window to what this node can hold; false: not even the smallest. */
bool stream_fit_part(const struct node *node, struct wire_part *part, struct err *err);
/* False: the window is over before anything can have been acked over an edge with this RTT, so that everybody
 * behind it would be too slow. rate_cap_bps 0: none. *held_ns: how long the window lasts. */
bool stream_outlasts(const struct wire_part *part, uint64_t rate_cap_bps, uint64_t rtt_ns, uint64_t *held_ns);
uint64_t stream_window_bytes(const struct wire_part *part);

/* ---- stream.c ---- */
void stream_on_room(struct node *node, struct job *job, uint32_t child, uint64_t blocks, uint64_t now_ns);
/* At a site, from the source; false: it makes no sense. */
bool stream_on_end(struct node *node, struct job *job, const struct wire_stream_end *end, uint64_t now_ns);
/* At the source: its window is full, and can't move before the hash of its oldest block is told. */
bool stream_waits_to_tell(const struct job *job);
