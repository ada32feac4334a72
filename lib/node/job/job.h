/* A job as one node has it: what is moved, over which edges, and how far this node's part of it has come.
 * What only its source knows is in struct source (role/source.h), what only a stream has in struct
 * job_stream (kind/stream.h).
 *
 * A job owns an object of the store and names peers by index. Feeds link the object to a peer's sender: the
 * record's tag leads from an ack back to the job (slot and generation), the content word to the symbols. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ctl/job_spec.h"
#include "edge/pacer.h"
#include "node/core/core.h"
#include "node/core/fair_queue.h"
#include "node/job/phase.h"
#include "node/job_state.h"
#include "node/peer/peer.h"
#include "store/disk.h"
#include "store/store.h"
#include "wire/control.h"

#define CHILD_NONE UINT8_MAX

/* An edge of the tree from this node to one that it feeds. */
struct child {
    uint16_t peer;
    bool gone;       /* fed no more */
    uint8_t stripes; /* that it is fed from here, one bit each */
    uint32_t symbols_per_packet;
    uint64_t rate_bps;              /* by the plan, wire rate, over all stripes */
    bool known;                     /* … by what is known of the path: in all of them, or in none */
    struct pacer pacer;             /* plan's and job's cap on this edge, wire rate; see flow/cap.h */
    uint64_t room_blocks;           /* stream: blocks below have a place there */
    uint64_t acked_bytes, acked_ns; /* its peer's count, and when (lived) that last grew; see flow/behind.h */
    bool untold, source_untold;     /* it, and the source, are still to be told that it is let go … */
    char why[CONTROL_TEXT_BYTES];   /* … for this reason */
};

/* This node's place in the trees of the plan: the job's forwarding table. Whom it feeds which stripe is told
 * by the children. One tree is stripe 0. */
struct job_trees {
    struct stripe_schedule schedule; /* which blocks travel in which stripe; count 0: there is no part yet */
    /* Per stripe; PEER_NONE: at the source, and where a relay has no part in that tree. */
    uint16_t parent[STRIPES_MAX];
    uint64_t lost_parents; /* bit per peer: it restarted before the start, and knows nothing of the job */
};

struct job_children {
    uint16_t count;
    struct child of[CONTROL_CHILDREN_MAX];
    uint8_t of_peer[NODE_PEERS_MAX]; /* index into `of`, CHILD_NONE: none */
};

/* The file, directory, input or output behind the job on this node's disk. */
enum job_sink {
    SINK_CLOSED, /* not open yet, or no more */
    SINK_OPEN,
    SINK_ENDED /* FINISH has succeeded, ABORT or CLOSE was sent, or there is nothing to finish */
};

struct job_disk {
    struct disk_open open;
    enum job_sink sink;
    uint32_t outstanding; /* requests that are not answered */
    uint32_t loads;       /* of them READs */
    uint64_t given_end;   /* behind the last block that a READ has brought */
    uint64_t heard_ns;    /* when the disk was last at work for this, or had nothing to do; in lived time */
    bool writes_waiting;  /* whole blocks stay in memory until the disk queue has room */
    bool lost;            /* can't be used any more: this node relays from memory */
    bool blocks_kept;     /* some blocks are in memory because the disk does not keep them right */
};

/* As a site: what others are still to be told. What found a queue full stays due. */
struct job_news {
    bool status_due;
    bool confirm_due;
    bool have_due;
    bool parting_due;       /* to the parents: this site has let go of the job … */
    uint64_t parting_ns;    /* … and when that was told; 0: never */
    uint8_t confirm_answer; /* enum confirm_answer */
    uint64_t status_ns;     /* the newest STATUS … */
    uint64_t status_bytes;  /* … and what it told */
};

/* Blocks among [first, end) are to be asked for again; end 0: none. */
struct job_resend {
    uint64_t first, end;
};

struct job {
    enum job_phase phase;
    uint64_t phase_ns; /* since when, in lived time */
    uint8_t slot;
    uint8_t generation;
    uint8_t outcome; /* enum job_state once the phase is CLOSING */
    uint8_t result;  /* enum site_state: this node's own copy, as a site */
    uint8_t ends_as; /* enum job_state: how it is to end once its disk has finished; 0: it is not to end */
    /* As a site: the source has said that the job is over, which its parent hears too. */
    bool end_heard;
    uint32_t id;
    uint32_t epoch;
    uint16_t source_peer;           /* PEER_SELF at the source */
    const struct object_kind *kind; /* of the object; set with the part */
    struct object *object;          /* NULL until opened and once it is let go */
    struct geometry geometry;
    struct control_part part;
    struct body_secret *secret; /* of its content, in key_room; zeros where packets are not authenticated */
    struct job_trees trees;
    struct job_children children;
    struct job_controls controls;
    uint32_t revision; /* of the controls; 0: the defaults */
    struct job_disk disk;
    struct job_news news;
    struct job_resend resend;
    uint32_t bad_run;          /* blocks that came bad since one that did not */
    uint64_t hash_ready;       /* at its source: hashes of blocks below are known … */
    uint64_t hash_told;        /* … and those of blocks below were told to all that compare them */
    struct source *source;     /* NULL at a site */
    struct job_stream *stream; /* NULL: no stream, or not opened yet */
    uint64_t created_ns, started_ns, ended_ns;
    uint64_t whole_ns;             /* as a site: its copy became whole; 0: it has not */
    uint64_t first_data_ns;        /* departure of the first data packet; 0: none yet */
    char text[CONTROL_TEXT_BYTES]; /* why it failed; at a site whose copy is whole, where that is */
    char note[DISK_TEXT_BYTES];    /* what of a directory or of the manifest is missing; or empty */
};

/* ---- table.c: the slots ----
 * An id is its source's: that of another source is another job. Each of these is the job of that id, running or ended, … */
struct job *job_find(struct node *node, uint32_t id);                  /* any of them; NULL: none */
struct job *job_of_source(struct node *node, uint32_t id);             /* whose source is here */
struct job *job_from(struct node *node, uint32_t id, uint16_t source); /* whose source is that peer */
struct job *job_fed_by(struct node *node, uint32_t id,
                       uint16_t parent); /* that is brought here by that peer */
struct job *job_feeding(struct node *node, uint32_t id,
                        uint16_t child); /* that goes from here to that peer */
/* An operator's word is the job's name, or its id in decimal digits. */
bool job_name_fits(const char *word, const char *name, uint32_t id);
/* A job whose resources are gone stays for `show jobs` until its slot is needed: the one that ended first
 * goes first; of a source that has half of all places, among its own, so that nobody else's is pushed out. It is given the
 * phase `first`. NULL: all slots are in use. */
struct job *job_allocate(struct node *node, uint32_t id, uint16_t source, enum job_phase first,
                         uint64_t now_ns);
void job_free(struct node *node, struct job *job);
static inline bool job_is_known(const struct job *job)
{
    return job->phase != PHASE_FREE;
}

/* The copy is there as a whole, whoever has it. `state`: enum site_state. */
static inline bool job_result_is_whole(uint8_t state)
{
    return state == SITE_VERIFIED || state == SITE_SKIPPED;
}

/* ---- job.c ---- */
void job_enter(struct node *node, struct job *job, enum job_phase phase); /* CHECKs that phase.c allows it */
/* As others see it: a stream runs until the disk has closed its input or output, so that the next job may
 * have it once this one is shown as ended. */
enum job_state job_state(const struct job *job);
/* This node's own copy can't be kept: it relays from memory only. */
bool job_sink_lost(const struct job *job);
void job_request(struct node *node, struct job *job, const struct disk_request *request);
/* The disk has answered what these, one bit per slot, wait behind. */
void job_disks_move(struct node *node, uint16_t jobs);
/* Writes that the disk has not got yet are not made: their blocks live in memory. */
void job_withdraw_writes(struct node *node, struct job *job);
/* Takes job->object from the store, for its children. `source`: all of it is there to be read; `discard`:
 * nothing of it is kept once the children have it. False: no memory; err says what is too small. */
bool job_open_object(struct node *node, struct job *job, bool source, bool discard, struct err *err);
/* How the block that begins with this symbol lies in the slot, for the disk. */
struct disk_sealed job_sealed(const struct node *node, const struct job *job, uint32_t slot, uint64_t symbol);
/* The job has ended: nothing of it is opened or sealed any more. */
void job_forget_secret(struct node *node, struct job *job);
/* Its content travels sealed. */
static inline bool job_seals(const struct node *node)
{
    return node->config.primitives->authenticates;
}
uint32_t job_ip_overhead(const struct node *node); /* the largest of all peers */
/* The job's own copy failed: as a site. It goes on relaying what still comes, so that its children do not
 * suffer. Only the first failure counts. */
void job_fail(struct node *node, struct job *job, uint64_t now_ns, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The copy here is not what the source has, whatever was told before; what the disk holds for the children
 * goes on. Only the first failure counts. */
void job_revoke(struct node *node, struct job *job, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The copy is whole and in its place. One that failed before stays failed: others were told. */
void job_verified(struct node *node, struct job *job, const char *text);
/* Data of the job came from a parent. Should it have ended here with nobody but this node knowing, that parent is due to
 * be told, once a second at most. What is known is certain: a parent feeds only whom the source has heard to have the
 * job. */
void job_on_fed(struct node *node, struct job *job);
/* Everything is there: the disk is to make it durable and give it its name. */
void job_finish(struct node *node, struct job *job);

/* ---- trees.c: this node's place in the trees ---- */
/* Parents and children out of the trees that belong to job->part: as many as it has stripes, in their order.
 * Children are counted once, in the order in which the trees name them. */
bool trees_install(struct node *node, struct job *job, const struct control_tree *trees, struct err *err);
/* What one packet to the peer carries on a path of `mtu`; 0: not even one. */
uint32_t trees_symbols_per_packet(const struct node *node, const struct job *job, uint16_t peer,
                                  uint32_t mtu);
/* The stripes that come from this peer, one bit each; from anybody; all there are. */
uint8_t trees_fed_by(const struct job *job, uint16_t peer);
uint8_t trees_fed(const struct job *job);
static inline uint8_t trees_all(const struct job *job)
{
    return (uint8_t)((1u << job->trees.schedule.count) - 1);
}
/* The first stripe that comes from this peer, which is the parent of one. */
static inline uint8_t trees_first_of(const struct job *job, uint16_t parent)
{
    return (uint8_t)__builtin_ctz(trees_fed_by(job, parent));
}
/* Each parent once; returns how many. */
uint32_t trees_parents(const struct job *job, uint16_t parents[STRIPES_MAX]);
static inline uint8_t trees_stripe_of(const struct job *job, uint64_t block)
{
    return job->trees.schedule.count == 1 ? 0 : stripe_of_block(&job->trees.schedule, block);
}
