/* Requests that a node makes of its disk, and the answers. The node never waits: requests leave through
 * node_disk, answers come back through node_disk_done, in any order. Data pointers lead into the symbol
 * buffer; the slot is held from request to answer. One side serves them with threads and files (lib/disk),
 * the other in virtual time (lib/sim).
 *
 * Per job, in this order:
 *   source: OPEN_SOURCE, then READs, then CLOSE
 *   site:   OPEN_TARGET (checks name policy, space; creates NAME.part at full length, 0600), then WRITEs (and READs
 *           of blocks already written, for slow children), then FINISH (fsync by policy, rename) or ABORT
 *           (removes NAME.part), then CLOSE. A READ computes the block's hash; a WRITE hashes, then writes;
 *           both return the hash
 *
 *           A FINISH that is answered with DISK_OK is the truth: NAME is there, whole, and on the disk as the
 *           job's durability asks; an ABORT behind it, even one submitted before the answer came, is answered
 *           with DISK_ALREADY_THERE and undoes nothing. A FINISH that failed leaves NAME.part: ABORT removes
 *           it, CLOSE alone leaves it. What was NAME before is as it was, unless the text says otherwise (the
 *           rename was done, and what comes behind it failed); ABORT then is answered as after success
 *   stream: OPEN_SOURCE or OPEN_TARGET of such an object, then FEEDs or DRAINs one at a time, then FINISH or
 *           ABORT (which also ends the FEED or DRAIN that waits), then CLOSE */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/name.h"
#include "base/rights.h"
#include "seal/body.h"
#include "wire/control.h"

#define DISK_HANDLES_MAX 64 /* above the job slots of a node */
#define DISK_STREAMS_MAX 16 /* handles below this may be streams */
#define DISK_TEXT_BYTES  200

enum disk_op {
    DISK_OPEN_SOURCE,
    DISK_OPEN_TARGET,
    DISK_READ,
    DISK_WRITE,
    DISK_FINISH,
    DISK_ABORT,
    DISK_CLOSE,
    DISK_DIGEST,   /* of a handle in any state: the SHA-256 of data */
    DISK_MANIFEST, /* the same: data becomes the file open->directory / open->file, whole or not at all */
    /* Stream: fill symbols first … first + count - 1 of a block from the input, as records (store/stream.h);
     * answered as soon as one is full, or when the flush time is over. */
    DISK_FEED,
    DISK_DRAIN, /* stream: hand the payload of these symbols out; answered when the sink has taken it */
};

enum disk_status {
    DISK_OK = 0,
    DISK_ALREADY_THERE, /* OPEN_TARGET with skip-if-same: it is there as it would become; READs may follow.
                           ABORT: NAME is there and stays: FINISH was done, or there was nothing to do */
    DISK_FAILED,        /* text says what and why: "no space left for x: 12 MB needed, 3 MB free" … */
    DISK_ENDED,         /* FEED: the input ended behind these symbols */
    DISK_CHANGED,       /* the source file changed size or modification time, or shrank, since OPEN_SOURCE */
};

/* What a directory takes over of a tree besides names, content, permissions and times: its owner's decision,
 * never the sender's alone. */
struct disk_accept {
    bool owner;  /* user and group ids, where the process may set them (root) */
    bool set_id; /* set-user-id and set-group-id bits, and files' sticky bits; only together with the owner */
    bool xattrs; /* user.* */
};

/* What OPEN_* needs; lives in the node until the answer came. */
struct disk_open {
    char directory[PATH_BYTES];  /* absolute path of the permitted directory; unused for a source */
    char file[PATH_BYTES];       /* source: the path; target: path below the directory */
    uint64_t size_bytes;         /* target */
    uint64_t modified_ns;        /* target: given to the file when it is whole (base/file_time.h) */
    uint16_t mode;               /* target, a file: its permissions when it is whole; 0: 0600 */
    uint8_t exists;              /* enum part_exists */
    uint8_t durable;             /* enum part_durable */
    uint8_t hash;                /* enum part_hash */
    uint8_t object;              /* enum part_object: target; a source is what lies there, or a stream */
    uint8_t tree;                /* directory: PART_TREE_… */
    uint64_t index_bytes;        /* directory target: the object's first bytes … */
    struct wire_hash index_hash; /* … and their SHA-256 */
    uint64_t flush_ns;           /* stream source: how long a symbol waits to be filled */
    struct disk_accept accept;   /* directory target: of what `tree` asks for, so much is kept */
    bool fed;                    /* stream source: a socket whose feeder half-closes it to tell the end */
    bool memory;                 /* target: hash, then discard: nothing is stored (store: none) */
    /* Source, MANIFEST: with whose rights. A caller's directory has only what he can read himself, and a
     * socket must be his own: who serves it would take us for its client. Targets are made with our own. */
    struct rights rights;
};

/* How a block lies in memory. Sealed, as it travels: READ and FEED seal what they bring, WRITE and DRAIN open a copy
 * of what they get; hashes are of the text. */
struct disk_sealed {
    const struct body_secret *secret; /* NULL: in the clear. Stays as it is until the reply */
    uint64_t symbol;                  /* the running number of data's first symbol */
    uint8_t *tags;                    /* SEAL_TAG_BYTES for each symbol from data on */
    uint16_t *sums;                   /* READ, FEED: filled with checksum_of each symbol (wire/ethernet.h) */
};

struct disk_request {
    uint8_t op;      /* enum disk_op */
    uint8_t handle;  /* the node's job slot, < DISK_HANDLES_MAX */
    uint32_t length; /* READ, WRITE, DIGEST, MANIFEST */
    uint64_t offset;
    uint64_t cookie;                     /* returned as it is */
    uint8_t *data;                       /* FEED, DRAIN: of the block */
    struct disk_sealed sealed;           /* READ, WRITE, FEED, DRAIN */
    uint16_t symbol_bytes, first, count; /* FEED, DRAIN */
    /* FEED: of a whole block. DRAIN: of this one, if it ends with this run; else 0. The block's hash is
     * wanted when it ends. */
    uint16_t block_symbols;
    const struct disk_open *open; /* OPEN_* and MANIFEST only */
};

struct disk_reply {
    uint8_t op;
    uint8_t handle;
    uint8_t status; /* enum disk_status */
    uint64_t cookie;
    uint32_t symbols;     /* FEED: filled */
    uint64_t size_bytes;  /* OPEN_SOURCE; FEED, DRAIN: payload */
    uint64_t modified_ns; /* OPEN_SOURCE */
    uint16_t mode;        /* OPEN_SOURCE of a file: its permissions, at most 0777 */
    uint8_t object;       /* OPEN_SOURCE: enum part_object */
    uint64_t index_bytes; /* OPEN_SOURCE of a directory */
    struct wire_hash index_hash;
    /* READ, WRITE, DIGEST; FEED, DRAIN at a block's end; zeros with PART_HASH_NONE. FINISH of a stream: the
     * chain SHA-256(chain so far, hash of the block) over all blocks. */
    struct wire_hash hash;
    /* FINISH: what of a directory is not kept here, with counts; what the target's filesystem lacks; or empty. */
    char note[DISK_TEXT_BYTES];
    /* Failed: the cause. FINISH, MANIFEST: the final path. OPEN_*: a note, what of a directory is not kept,
     * or empty. */
    char text[DISK_TEXT_BYTES];
};
