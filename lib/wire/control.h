/* Bodies of the reliable messages: measuring, plan distribution, job control. Fixed fields come from one list
 * each; tails are counted arrays and length-prefixed strings (u16 length, bytes, no zero).
 *
 * Who sends what:
 *   prober -> peer    TRAIN packets, answered by TRAIN_REPORT     site -> source  AVAILABLE
 *   any -> prober     PROBE_ASK, answered by PROBE_ANSWER
 *   source -> site   MEASURE, PART, TREE, START, ADJUST, HASHES, STREAM_END, CLOSE_JOB
 *   site -> source   MEASUREMENT, CONFIRM, STATUS; LET_GO, of a child of that site; STREAM_ROOM, for hashes
 *   parent -> child  LET_GO                                     child -> parent HAVE, RESEND, STREAM_ROOM
 *
 * Encoders return the body's length (<= WIRE_MESSAGE_BODY_MAX), or 0 when the content does not fit: a
 * caller's bug or an over-long text. Decoders check every count, length, name and enum, that rates to be sent
 * at (a child's, start_bps, rate_cap_bps) are 0 or at least SEND_RATE_MIN_BPS, and interfaces' at least that;
 * strings are copied and zero terminated, and in those for people (all but a part's file) what may steer a
 * terminal becomes '?'. */
#pragma once

#include "wire/message.h"
#include "wire/train.h"

#define CONTROL_KINDS(ROW)                                                                                   \
    ROW(CONTROL_MEASURE, 1, "measure")         /* probe all your peers and report */                         \
    ROW(CONTROL_MEASUREMENT, 2, "measurement") /* what came of it */                                         \
    ROW(CONTROL_PART, 3, "part")               /* your part of a plan: the object; its trees follow */       \
    ROW(CONTROL_CONFIRM, 4, "confirm") /* the part is accepted, refused, or taken as already complete */     \
    ROW(CONTROL_START, 5, "start")     /* all have confirmed */                                              \
    ROW(CONTROL_STATUS, 6, "status")   /* how far the site is */                                             \
    ROW(CONTROL_HASHES, 7, "hashes")   /* of blocks, as the source has them */                               \
    ROW(CONTROL_HAVE, 8, "have")       /* blocks that are held */                                            \
    ROW(CONTROL_RESEND, 9, "resend")   /* blocks that are to be sent again */                                \
    ROW(CONTROL_CLOSE_JOB, 10, "close_job") /* the job has ended */                                          \
    ROW(CONTROL_ADJUST, 11, "adjust")       /* rate cap, priority, DSCP and pause of a job, from now on */   \
    ROW(CONTROL_STREAM_ROOM, 12, "stream_room")   /* a stream: the blocks that have a place here */          \
    ROW(CONTROL_STREAM_END, 13, "stream_end")     /* a stream: its end */                                    \
    ROW(CONTROL_TREE, 14, "tree")                 /* one tree of a part: weight, parent, children */         \
    ROW(CONTROL_TRAIN_REPORT, 15, "train_report") /* when the packets of a train came */                     \
    ROW(CONTROL_AVAILABLE, 16, "available")       /* bandwidth that paths to peers have left, as measured */ \
    ROW(CONTROL_PROBE_ASK, 17, "probe_ask")       /* measure your path to another node */                    \
    ROW(CONTROL_PROBE_ANSWER, 18, "probe_answer") /* what came of it, or why not */                          \
    ROW(CONTROL_LET_GO, 19, "let_go")             /* a child gets no more of the job */
enum control_kind { CONTROL_KINDS(WORD_CONSTANT) CONTROL_KIND_COUNT };

#define CONTROL_CHILDREN_MAX     16
#define CONTROL_MEASUREMENTS_MAX 20 /* per message; more peers take more messages */
#define CONTROL_HASHES_MAX       36 /* per message */
#define CONTROL_FILE_BYTES       256
#define CONTROL_TEXT_BYTES       256

#define CONTROL_MEASURE_FIELDS(FIELD)                                                                        \
    FIELD(u32, job)                                                                                          \
    FIELD(u32, duration_ms) /* at most this long */                                                          \
    FIELD(u32, age_ms)      /* what is not older need not be measured anew */
WIRE_DECLARE(measure, CONTROL_MEASURE_FIELDS)

#define CONTROL_MEASURED_FIELDS(FIELD)                                                                       \
    FIELD(name, peer)                                                                                        \
    FIELD(u32, rtt_min_us) /* UINT32_MAX: no answer */                                                       \
    FIELD(u32, rtt_smoothed_us)                                                                              \
    FIELD(u16, answered) /* of `sent` probes */                                                              \
    FIELD(u16, sent)                                                                                         \
    FIELD(u16, mtu) /* largest padded probe that came back, as IP packet length */
WIRE_DECLARE(measured, CONTROL_MEASURED_FIELDS)

#define CONTROL_MEASUREMENT_FIELDS(FIELD)                                                                    \
    FIELD(u32, job)                                                                                          \
    FIELD(u64, up_bps) /* of the sender's interface, wire rate */                                            \
    FIELD(u64, down_bps)                                                                                     \
    FIELD(u64, packets_ps)   /* that it can send and receive; 0: no limit */                                 \
    FIELD(u64, window_bytes) /* its memory for what is on its way */                                         \
    FIELD(u8, leaf)          /* 1: it relays nothing */                                                      \
    FIELD(u16, total)        /* peers of the sender, over all messages of this report */                     \
    FIELD(u16, count)        /* in this message */
WIRE_DECLARE(measurement, CONTROL_MEASUREMENT_FIELDS)
struct control_measurement {
    struct wire_measurement fixed;
    struct wire_measured peers[CONTROL_MEASUREMENTS_MAX];
};

/* ---- what a part says in words: of job files, captures and reports alike ---- */

#define PART_HASHES(ROW)                                                                                     \
    ROW(PART_HASH_SHA256, 1, "sha256")                                                                       \
    ROW(PART_HASH_NONE, 0, "none")
#define PART_DURABLES(ROW)                                                                                   \
    ROW(PART_DURABLE_END, 0, "end")                                                                          \
    ROW(PART_DURABLE_BLOCK, 1, "block")                                                                      \
    ROW(PART_DURABLE_NONE, 2, "none")
#define PART_EXISTS(ROW)                                                                                     \
    ROW(PART_EXISTS_FAIL, 0, "fail")                                                                         \
    ROW(PART_EXISTS_REPLACE, 1, "replace")                                                                   \
    ROW(PART_EXISTS_SKIP_IF_SAME, 2, "skip-if-same")
#define PART_OBJECTS(ROW)                                                                                    \
    ROW(PART_OBJECT_FILE, 0, "file")                                                                         \
    ROW(PART_OBJECT_DIRECTORY, 1, "directory")                                                               \
    ROW(PART_OBJECT_STREAM, 2, "stream")
/* Strategies (lib/edge/congestion.c has them by their words), with what job files say of them. Others may be
 * added: a node takes what it does not know for PART_CONGESTION_BQL. 1 was another one. */
#define PART_CONGESTIONS(ROW)                                                                                \
    ROW(PART_CONGESTION_BQL, 2, "bql", "fills the path behind a small queue, whatever loss and jitter")      \
    ROW(PART_CONGESTION_SCAVENGER, 3, "scavenger", "takes what others leave")                                \
    ROW(PART_CONGESTION_FIXED, 0, "fixed", "the plan's rate, whatever happens")
/* What happens to a receiver that falls behind a stream's window: it ends, or the stream waits for it. */
#define PART_SLOWS(ROW)                                                                                      \
    ROW(PART_SLOW_DROP, 0, "drop")                                                                           \
    ROW(PART_SLOW_WAIT, 1, "wait")

enum part_hash { PART_HASHES(WORD_CONSTANT) };
enum part_durable { PART_DURABLES(WORD_CONSTANT) };
enum part_exists { PART_EXISTS(WORD_CONSTANT) };
enum part_object { PART_OBJECTS(WORD_CONSTANT) PART_OBJECT_COUNT };
enum part_congestion { PART_CONGESTIONS(WORD_CONSTANT) };
enum part_slow { PART_SLOWS(WORD_CONSTANT) };

extern const struct word control_kind_words[];
extern const struct word part_hash_words[], part_durable_words[], part_exists_words[], part_object_words[],
    part_congestion_words[], part_slow_words[], site_state_words[], confirm_answer_words[],
    close_outcome_words[], train_answer_words[], probe_answer_words[];

/* What of a directory tree travels besides names, kinds, modes, times and content. */
#define PART_TREE_OWNER     0x01 /* user and group ids */
#define PART_TREE_XATTR     0x02 /* extended attributes in user.* */
#define PART_TREE_HARDLINKS 0x04 /* hard links as such, else as copies */
#define PART_TREE_ALL       0x07
#define PART_MODE_MAX       0777u /* owner and set-id bits of a file do not travel */

#define CONTROL_PART_FIELDS(FIELD)                                                                           \
    FIELD(u32, job)                                                                                          \
    FIELD(u32, epoch)                                                                                        \
    FIELD(name, source)                                                                                      \
    FIELD(name, directory) /* the site's own name for the place where the file goes */                       \
    FIELD(name, job_name)                                                                                    \
    FIELD(u64, size_bytes)                                                                                   \
    FIELD(u64, modified_ns) /* the source file's, base/file_time.h */                                        \
    FIELD(u16, mode)        /* file: its permissions, at most 0777; 0: not told */                           \
    FIELD(u16, symbol_bytes)                                                                                 \
    FIELD(u32, block_symbols)                                                                                \
    FIELD(u8, hash)           /* enum part_hash */                                                           \
    FIELD(u8, durable)        /* enum part_durable */                                                        \
    FIELD(u8, exists)         /* enum part_exists */                                                         \
    FIELD(u8, congestion)     /* enum part_congestion */                                                     \
    FIELD(u8, keep)           /* 1: a receiver; 0: only relays */                                            \
    FIELD(u8, stripes)        /* trees of the plan: so many TREE follow, in their order */                   \
    FIELD(u8, object)         /* enum part_object */                                                         \
    FIELD(u8, tree)           /* directory: PART_TREE_… */                                                 \
    FIELD(u64, index_bytes)   /* directory: of the object, its first bytes (pack/pack.h) */                  \
    FIELD(hash, index_hash)   /* directory: SHA-256 of them */                                               \
    FIELD(u64, start_bps)     /* wire rate at which edges begin; 0: child's, if known; all ones: unknown */  \
    FIELD(u8, stream_slow)    /* stream: enum part_slow */                                                   \
    FIELD(u32, stream_blocks) /* stream: retention window, also size_bytes; > 0 */                           \
    FIELD(u32, stream_window_ms) /* stream: and in time; 0: no limit */                                      \
    FIELD(hash, secret)          /* of the job: bodies are sealed with it (seal/body.h) */
WIRE_DECLARE(part, CONTROL_PART_FIELDS)
struct control_part {
    struct wire_part fixed;
    char file[CONTROL_FILE_BYTES]; /* path below the directory */
};

/* Of every PERIOD blocks in a row (the sum of all weights) WEIGHT travel down this tree; which, follows from
 * the weights alone (store/stripe.h). */
#define CONTROL_STRIPES_MAX 8
#define CONTROL_WEIGHT_MAX  32 /* of all trees of a job together */
#define CONTROL_CHILD_FIELDS(FIELD)                                                                          \
    FIELD(name, name)                                                                                        \
    FIELD(u64, rate_bps) /* wire rate of the edge by the plan */                                             \
    FIELD(u8, known)     /* 1: by what is known of the path; 0: by interfaces alone */
WIRE_DECLARE(child, CONTROL_CHILD_FIELDS)
#define CONTROL_TREE_FIELDS(FIELD)                                                                           \
    FIELD(u32, job)                                                                                          \
    FIELD(u32, epoch)                                                                                        \
    FIELD(u8, stripe) /* below PART's stripes */                                                             \
    FIELD(u8, weight)                                                                                        \
    FIELD(name, parent) /* all zero at the source */                                                         \
    FIELD(name, backup) /* to feed the site when its parent is gone: nothing obeys it yet; zero: nobody */   \
    FIELD(u8, child_count)
WIRE_DECLARE(tree, CONTROL_TREE_FIELDS)
struct control_tree {
    struct wire_tree fixed;
    struct wire_child children[CONTROL_CHILDREN_MAX];
};

#define CONFIRM_ANSWERS(ROW)                                                                                 \
    ROW(CONFIRM_READY, 0, "ready")                                                                           \
    ROW(CONFIRM_COMPLETE, 1, "complete")                                                                     \
    ROW(CONFIRM_REFUSED, 2, "refused")                                                                       \
    ROW(CONFIRM_FEWER_TREES, 3, "fewer-trees") /* no memory for so many: of fewer it would be accepted */
enum confirm_answer { CONFIRM_ANSWERS(WORD_CONSTANT) };
#define CONTROL_CONFIRM_FIELDS(FIELD)                                                                        \
    FIELD(u32, job)                                                                                          \
    FIELD(u32, epoch)                                                                                        \
    FIELD(u8, answer) /* enum confirm_answer */
WIRE_DECLARE(confirm, CONTROL_CONFIRM_FIELDS)
struct control_confirm {
    struct wire_confirm fixed;
    char text[CONTROL_TEXT_BYTES]; /* why it was refused, or where the file already lies */
};

#define CONTROL_START_FIELDS(FIELD)                                                                          \
    FIELD(u32, job)                                                                                          \
    FIELD(u32, epoch)
WIRE_DECLARE(start, CONTROL_START_FIELDS)

#define SITE_STATES(ROW)                                                                                     \
    ROW(SITE_RECEIVING, 0, "receiving")                                                                      \
    ROW(SITE_VERIFIED, 1, "verified")                                                                        \
    ROW(SITE_SKIPPED, 2, "skipped")                                                                          \
    ROW(SITE_FAILED, 3, "failed")
enum site_state { SITE_STATES(WORD_CONSTANT) SITE_STATE_COUNT };
#define CONTROL_STATUS_FIELDS(FIELD)                                                                         \
    FIELD(u32, job)                                                                                          \
    FIELD(u8, state)           /* enum site_state */                                                         \
    FIELD(u64, received_bytes) /* payload bytes held */                                                      \
    FIELD(u64, verified_bytes)                                                                               \
    FIELD(u64, elapsed_ns) /* since the site got START, by its own clock */                                  \
    FIELD(u8, laggard)     /* the child that lacks most blocks: index in the part; UINT8_MAX: none */        \
    FIELD(u8, child_count)
WIRE_DECLARE(status, CONTROL_STATUS_FIELDS)
#define CONTROL_EDGE_FIELDS(FIELD)                                                                           \
    FIELD(u8, limited_by) /* enum edge_limit: what the edge to the child waited for most */                  \
    FIELD(u64, rate_bps)  /* wire rate delivered to it lately */
WIRE_DECLARE(edge, CONTROL_EDGE_FIELDS)
struct control_status {
    struct wire_status fixed;
    struct wire_edge edges[CONTROL_CHILDREN_MAX]; /* to the children, in the order of the part */
    char text[CONTROL_TEXT_BYTES];                /* failed: the cause; verified: where the file lies */
};

#define CONTROL_HASHES_FIELDS(FIELD)                                                                         \
    FIELD(u32, job)                                                                                          \
    FIELD(u64, first_block)                                                                                  \
    FIELD(u16, count)
WIRE_DECLARE(hashes, CONTROL_HASHES_FIELDS)
struct control_hashes {
    struct wire_hashes fixed;
    struct wire_hash hashes[CONTROL_HASHES_MAX];
};

/* HAVE: "I hold these blocks"; RESEND: "send these blocks again, what I got of them was bad": so many at once
 * at most, since each costs who is asked some work however often he is. */
#define CONTROL_RESEND_BLOCKS_MAX 64
#define CONTROL_BLOCKS_FIELDS(FIELD)                                                                         \
    FIELD(u32, job)                                                                                          \
    FIELD(u64, first_block)                                                                                  \
    FIELD(u64, count)
WIRE_DECLARE(blocks, CONTROL_BLOCKS_FIELDS)

#define CLOSE_OUTCOMES(ROW)                                                                                  \
    ROW(CLOSE_DONE, 0, "done")                                                                               \
    ROW(CLOSE_FAILED, 1, "failed")                                                                           \
    ROW(CLOSE_CANCELLED, 2, "cancelled")
enum close_outcome { CLOSE_OUTCOMES(WORD_CONSTANT) };
#define CONTROL_CLOSE_JOB_FIELDS(FIELD)                                                                      \
    FIELD(u32, job)                                                                                          \
    FIELD(u8, outcome) /* enum close_outcome */
WIRE_DECLARE(close_job, CONTROL_CLOSE_JOB_FIELDS)
struct control_close_job {
    struct wire_close_job fixed;
    char text[CONTROL_TEXT_BYTES];
};

/* Follows PART where something differs from the defaults, and every change by the operator. */
#define CONTROL_PRIORITY_MAX 7
#define CONTROL_DSCP_MAX     63
#define CONTROL_ADJUST_FIELDS(FIELD)                                                                         \
    FIELD(u32, job)                                                                                          \
    FIELD(u32, revision)     /* counts changes: an older one is passed over */                               \
    FIELD(u64, rate_cap_bps) /* payload sent on each edge of the tree; 0: none */                            \
    FIELD(u8, priority)      /* 0 to CONTROL_PRIORITY_MAX */                                                 \
    FIELD(u8, dscp)          /* 0 to CONTROL_DSCP_MAX */                                                     \
    FIELD(u8, paused)        /* 0 or 1 */
WIRE_DECLARE(adjust, CONTROL_ADJUST_FIELDS)

#define CONTROL_STREAM_ROOM_FIELDS(FIELD)                                                                    \
    FIELD(u32, job)                                                                                          \
    FIELD(u64, blocks) /* blocks below this number have a place */
WIRE_DECLARE(stream_room, CONTROL_STREAM_ROOM_FIELDS)

/* The input ended. */
#define CONTROL_STREAM_END_FIELDS(FIELD)                                                                     \
    FIELD(u32, job)                                                                                          \
    FIELD(u64, symbols)                                                                                      \
    FIELD(u64, bytes)  /* payload */                                                                         \
    FIELD(hash, chain) /* over the hashes of all blocks: disk.h */
WIRE_DECLARE(stream_end, CONTROL_STREAM_END_FIELDS)

/* A parent tells the child, and the source, that the child gets no more of the job. */
#define CONTROL_LET_GO_FIELDS(FIELD)                                                                         \
    FIELD(u32, job)                                                                                          \
    FIELD(u8, child) /* index among the children of the sender's part */
WIRE_DECLARE(let_go, CONTROL_LET_GO_FIELDS)
struct control_let_go {
    struct wire_let_go fixed;
    char text[CONTROL_TEXT_BYTES]; /* why */
};

/* What became of a train at its receiver. All but the first come at once, without arrivals. */
#define TRAIN_ANSWERS(ROW)                                                                                   \
    ROW(TRAIN_TAKEN, 0, "taken")                                                                             \
    ROW(TRAIN_BUSY, 1, "busy")               /* another one is coming in */                                  \
    ROW(TRAIN_OVER_BUDGET, 2, "over-budget") /* trains have taken what they may */                           \
    ROW(TRAIN_OFF, 3, "off")                 /* it takes none from this peer */
enum train_answer { TRAIN_ANSWERS(WORD_CONSTANT) };
/* Arrivals stand in the order in which packets came. The first of a message is told in full; each other one by its
 * index less the one that would follow, and by the time since the one before: zigzag, LEB128. A copy of a packet that
 * came before is only counted. */
#define CONTROL_TRAIN_REPORT_FIELDS(FIELD)                                                                   \
    FIELD(u32, train)                                                                                        \
    FIELD(u8, answer)     /* enum train_answer */                                                            \
    FIELD(u8, stamp_kind) /* enum stamp_kind: of arrivals */                                                 \
    FIELD(u16, batch)     /* most packets that had one stamp */                                              \
    FIELD(u32, noise_ns)  /* of one stamp */                                                                 \
    FIELD(u32, granularity_ns)                                                                               \
    FIELD(u32, gap_ns)  /* longest time for which the receiver was not called while the train came */        \
    FIELD(u32, wait_ms) /* not taken: one is likely to be after so long; taken: CONTROL_TRAIN_… */         \
    FIELD(u16, total)   /* packets that came, over all messages of this report */                            \
    FIELD(u16, first)   /* of them the place of the first one in this message */                             \
    FIELD(u16, count)   /* in this message */                                                                \
    FIELD(u16, index)   /* of the first one in this message, in the train */                                 \
    FIELD(u64, came_ns) /* and when that came, receiver's clock */                                           \
    FIELD(u16, bytes)   /* of the others' arrivals, which follow */
WIRE_DECLARE(train_report, CONTROL_TRAIN_REPORT_FIELDS)
/* Of a train that was taken: others' trains came beside it, and may have held it up. 0: none did. */
#define CONTROL_TRAIN_BESIDE      1u
#define CONTROL_ARRIVAL_BYTES_MAX (WIRE_MESSAGE_BODY_MAX - WIRE_FIXED_BYTES(CONTROL_TRAIN_REPORT_FIELDS))
struct control_train_report {
    struct wire_train_report fixed;
    uint8_t arrivals[CONTROL_ARRIVAL_BYTES_MAX];
};
struct control_arrival {
    uint16_t index; /* in the train, below WIRE_TRAIN_PACKETS_MAX */
    uint64_t came_ns;
};
/* A walk over a report's arrivals; begins zeroed. */
struct control_arrivals {
    uint16_t taken, bytes;
    struct control_arrival last;
};
/* Appends an arrival; false: the message is full. `last`: the one before, kept by the caller. */
bool control_arrival_add(struct control_train_report *report, struct control_arrival *last,
                         const struct control_arrival *next);
/* The next arrival of a report that was decoded; false: that was the last. */
bool control_arrival_next(const struct control_train_report *report, struct control_arrivals *at,
                          struct control_arrival *next);

/* Before a site's MEASUREMENT, where it has measured such. */
#define CONTROL_AVAILABLES_MAX          23 /* per message */
#define CONTROL_AVAILABLE_FIELDS(FIELD) FIELD(u8, count)
WIRE_DECLARE(available, CONTROL_AVAILABLE_FIELDS)
#define CONTROL_AVAILABLE_PEER_FIELDS(FIELD)                                                                 \
    FIELD(name, peer)                                                                                        \
    FIELD(u32, avail_kbps) /* > 0, in [low, high] */                                                         \
    FIELD(u32, low_kbps)                                                                                     \
    FIELD(u32, high_kbps) /* UINT32_MAX: no upper end is known */                                            \
    FIELD(u32, age_ms)                                                                                       \
    FIELD(u8, line_in) /* 1, of the site itself: its line in, by which all paths to it come */
WIRE_DECLARE(available_peer, CONTROL_AVAILABLE_PEER_FIELDS)
struct control_available {
    struct wire_available fixed;
    struct wire_available_peer peers[CONTROL_AVAILABLES_MAX];
};

enum probe_what {
    PROBE_WHAT_PATH,    /* the asked one's path to `to`, or its line out */
    PROBE_WHAT_LINE_IN, /* the asked one's line in; `to` is its own name */
    PROBE_WHAT_PART,    /* one train to who asks, beside others' trains; no answer follows */
    PROBE_WHAT_COUNT
};
/* Somebody who is neither end may want to know of a path: its sender measures it, a line in whose it is, each by its
 * own rules and within its own budget. */
#define CONTROL_PROBE_ASK_FIELDS(FIELD)                                                                      \
    FIELD(u32, ask)      /* of who asks: it comes back */                                                    \
    FIELD(name, to)      /* the other end; the asked one: its line, which all of its paths share */          \
    FIELD(u32, wait_us)  /* to begin so long after this has come */                                          \
    FIELD(u32, lasts_ms) /* what is known so long after that is the answer; 0: as long as it takes */        \
    FIELD(u32, bytes)    /* at most, on the wire; 0: what the sender has for others */                       \
    FIELD(u16, trains)   /* at most; 0: any number; 1, of a line: a look, by nothing else than that train */ \
    FIELD(u8, what)      /* enum probe_what */                                                               \
    FIELD(u32, rate_kbps) /* PROBE_WHAT_PART: of its train */
WIRE_DECLARE(probe_ask, CONTROL_PROBE_ASK_FIELDS)

/* The last ones are no answers of a node, but what is known for lack of one. */
#define PROBE_ANSWERS(ROW)                                                                                   \
    ROW(PROBE_MEASURED, 0, "measured")       /* the estimate says what came of it */                         \
    ROW(PROBE_OFF, 1, "off")                 /* it measures nothing, or not this path */                     \
    ROW(PROBE_UNKNOWN, 2, "unknown")         /* it has no peer of that name */                               \
    ROW(PROBE_DOWN, 3, "down")               /* that one is down, as far as it knows */                      \
    ROW(PROBE_BUSY, 4, "busy")               /* it measured something else all the time */                   \
    ROW(PROBE_JOBS, 5, "jobs")               /* it has jobs, which trains would be in the way of */          \
    ROW(PROBE_OVER_BUDGET, 6, "over-budget") /* it has sent for others what it may */                        \
    ROW(PROBE_NO_REPLY, 7, "no-reply")       /* it has not answered */                                       \
    ROW(PROBE_LOST, 8, "lost")               /* it is down */
enum probe_answer { PROBE_ANSWERS(WORD_CONSTANT) };
#define CONTROL_PROBE_ANSWER_FIELDS(FIELD)                                                                   \
    FIELD(u32, ask)                                                                                          \
    FIELD(u8, answer) /* enum probe_answer */                                                                \
    FIELD(u8, kind)   /* this and what follows: struct estimate (probe/estimate.h); … */                   \
    FIELD(u8, reason)                                                                                        \
    FIELD(u8, stamp_kind)                                                                                    \
    FIELD(u32, flags)                                                                                        \
    FIELD(u64, avail_bps)                                                                                    \
    FIELD(u64, low_bps)                                                                                      \
    FIELD(u64, high_bps)                                                                                     \
    FIELD(u64, capacity_bps)                                                                                 \
    FIELD(u64, depth_bytes)                                                                                  \
    FIELD(u64, loss_ppm)                                                                                     \
    FIELD(u64, age_ns)    /* … of the end of its window, as the answer leaves, … */                      \
    FIELD(u64, window_ns) /* … and how long that is */                                                     \
    FIELD(u64, busy_ns)                                                                                      \
    FIELD(u64, bytes)                                                                                        \
    FIELD(u32, trains)                                                                                       \
    FIELD(u32, discarded)                                                                                    \
    FIELD(u64, rtt_ns) /* least known of the path; 0: not known */
WIRE_DECLARE(probe_answer, CONTROL_PROBE_ANSWER_FIELDS)
struct control_probe_answer {
    struct wire_probe_answer fixed;
    char text[CONTROL_TEXT_BYTES]; /* why, where nothing came of it */
};

/* Encoders: `out` has WIRE_MESSAGE_BODY_MAX bytes. */
size_t control_measure_encode(uint8_t *out, const struct wire_measure *message);
size_t control_measurement_encode(uint8_t *out, const struct control_measurement *message);
size_t control_part_encode(uint8_t *out, const struct control_part *message);
size_t control_tree_encode(uint8_t *out, const struct control_tree *message);
size_t control_confirm_encode(uint8_t *out, const struct control_confirm *message);
size_t control_start_encode(uint8_t *out, const struct wire_start *message);
size_t control_status_encode(uint8_t *out, const struct control_status *message);
size_t control_hashes_encode(uint8_t *out, const struct control_hashes *message);
size_t control_blocks_encode(uint8_t *out, const struct wire_blocks *message);
size_t control_close_job_encode(uint8_t *out, const struct control_close_job *message);
size_t control_adjust_encode(uint8_t *out, const struct wire_adjust *message);

size_t control_stream_room_encode(uint8_t *out, const struct wire_stream_room *message);
size_t control_stream_end_encode(uint8_t *out, const struct wire_stream_end *message);
size_t control_let_go_encode(uint8_t *out, const struct control_let_go *message);
size_t control_train_report_encode(uint8_t *out, const struct control_train_report *message);
size_t control_available_encode(uint8_t *out, const struct control_available *message);
size_t control_probe_ask_encode(uint8_t *out, const struct wire_probe_ask *message);
size_t control_probe_answer_encode(uint8_t *out, const struct control_probe_answer *message);

enum wire_error control_measure_decode(const uint8_t *body, size_t length, struct wire_measure *message);
enum wire_error control_measurement_decode(const uint8_t *body, size_t length,
                                           struct control_measurement *message);
enum wire_error control_part_decode(const uint8_t *body, size_t length, struct control_part *message);
enum wire_error control_tree_decode(const uint8_t *body, size_t length, struct control_tree *message);
enum wire_error control_confirm_decode(const uint8_t *body, size_t length, struct control_confirm *message);
enum wire_error control_start_decode(const uint8_t *body, size_t length, struct wire_start *message);
enum wire_error control_status_decode(const uint8_t *body, size_t length, struct control_status *message);
enum wire_error control_hashes_decode(const uint8_t *body, size_t length, struct control_hashes *message);
enum wire_error control_blocks_decode(const uint8_t *body, size_t length, struct wire_blocks *message);
enum wire_error control_close_job_decode(const uint8_t *body, size_t length,
                                         struct control_close_job *message);
enum wire_error control_adjust_decode(const uint8_t *body, size_t length, struct wire_adjust *message);

enum wire_error control_stream_room_decode(const uint8_t *body, size_t length,
                                           struct wire_stream_room *message);
enum wire_error control_stream_end_decode(const uint8_t *body, size_t length,
                                          struct wire_stream_end *message);
enum wire_error control_let_go_decode(const uint8_t *body, size_t length, struct control_let_go *message);
enum wire_error control_train_report_decode(const uint8_t *body, size_t length,
                                            struct control_train_report *message);
enum wire_error control_available_decode(const uint8_t *body, size_t length,
                                         struct control_available *message);
enum wire_error control_probe_ask_decode(const uint8_t *body, size_t length, struct wire_probe_ask *message);
enum wire_error control_probe_answer_decode(const uint8_t *body, size_t length,
                                            struct control_probe_answer *message);
