/* The parts of kind/stream.c, from the ground up. Inside of this folder only. */
#pragma once

#include "node/kind/stream.h"

/* What the disk tells of a block or of all of them; NULL: the job wants no hashes. */
static inline const struct wire_hash *stream_hash_of(const struct job *job, const struct disk_reply *reply)
{
    return job->part.fixed.hash == PART_HASH_NONE ? NULL : &reply->hash;
}

/* ---- stream_children.c: what children are told, and what they may be sent ---- */
bool stream_may_send(const struct job *job, uint32_t child, uint32_t count_max, struct feed_item *item);
void stream_tell_end(struct node *node, struct job *job);
/* Hashes go to a child of the first tree, only for blocks that have a place there. Returns the first block whose
 * hash some of these lack: the window must not pass it. */
uint64_t stream_send_hashes(struct node *node, struct job *job);

/* ---- stream_input.c: at the source, from the input into the window ---- */
void stream_feed(struct node *node, struct job *job);
/* A FEED was answered; false: the input failed. */
bool stream_take_fed(struct node *node, struct job *job, const struct disk_reply *reply);
/* FINISH was answered: the input's end is known. False: the input failed. */
bool stream_take_input_end(struct node *node, struct job *job, const struct disk_reply *reply);

/* ---- stream_sink.c: at a site, from the window to the sink ---- */
bool stream_has_sink(const struct job *job); /* what comes is to be handed out … */
bool stream_drains(const struct job *job);   /* … and is so now */
void stream_tell_room(struct node *node, struct job *job);
void stream_drain(struct node *node, struct job *job);
/* A DRAIN was answered; false: its sink was lost before. */
bool stream_take_drained(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns);
/* Of blocks that have a place in the window. */
void stream_take_hashes(struct node *node, struct job *job, const struct control_hashes *hashes,
                        uint64_t now_ns);
void stream_on_sink_lost(struct node *node, struct job *job);
/* Ends a FEED or DRAIN that waits, so that the job can close. */
void stream_interrupt(struct node *node, struct job *job);
void stream_check_complete(struct node *node, struct job *job);
void stream_on_finished(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns);

/* ---- stream_slow.c: the rule for slow receivers ---- */
void stream_judge_slow(struct node *node, struct job *job, uint64_t now_ns);
