/* The parts of kind/stream.c, from the ground up. Inside of this folder only. */
#pragma once

#include "node/kind/stream.h"

/* What the disk tells of a block or of all of them; NULL: the job wants no hashes. */
static inline const struct wire_hash *stream_hash_of(const struct job *job, const struct disk_reply *reply)
{
    return job->part.fixed.hash == PART_HASH_NONE ? NULL : &reply->hash;
}

/* ---- stream_children.c: what children may be sent ---- */
bool stream_may_send(const struct job *job, uint32_t child, uint32_t count_max, struct feed_item *item);

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
/* Those of blocks that have no place in the window yet wait for one. False: some before them are missing, or they
 * are more than there is room for. */
bool stream_take_hashes(struct node *node, struct job *job, const struct control_hashes *hashes);
/* To the blocks that have got a place meanwhile. */
void stream_give_hashes(struct node *node, struct job *job);
void stream_on_sink_lost(struct node *node, struct job *job);
/* Ends a FEED or DRAIN that waits, so that the job can close. */
void stream_interrupt(struct node *node, struct job *job);
void stream_check_complete(struct node *node, struct job *job);
void stream_on_finished(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns);

/* ---- stream_slow.c: the rule for slow receivers ---- */
void stream_judge_slow(struct node *node, struct job *job, uint64_t now_ns);
