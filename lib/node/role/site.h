/* A job at a receiver or relay. A site whose disk or parent fails says so to the source and goes on relaying
 * from memory what still comes, so that its children do not suffer. Phases and what ends them: job/phase.c.
 */
#pragma once

#include "node/job/job.h"

/* ---- site_tell.c: what the source and the parent are told ---- */
bool site_post_confirm(struct node *node, uint16_t peer, uint32_t job, uint32_t epoch,
                       enum confirm_answer answer, const char *text);
/* Of a job that is measuring: its source is to do without this node, which it may not have measured. */
void site_refuse_measuring(struct node *node, uint16_t peer, uint32_t job);
void site_confirm(struct node *node, struct job *job, enum confirm_answer answer);
void site_tell_have(struct node *node, struct job *job);
void site_send_status(struct node *node, struct job *job, uint64_t now_ns);
/* The parent is to feed this site no more; also of a job that has closed.
 * Again later if the queue is full. */
void site_tell_parting(struct node *node, struct job *job);
/* What found a queue full before; also of a job that closes. */
void site_tell_again(struct node *node, struct job *job);

/* ---- site_part.c: the part of a plan, up to the confirmation ---- */
struct offer_budget {
    uint32_t used;      /* parts told lately, of UNLISTED_PARTS (unlisted.h) … */
    uint64_t filled_ns; /* … as of then */
};

/* A part and its trees, while a source tells them. Each peer has one place for that: a source tells one after
 * the other, and all of them come or none, since its session ends before a message is lost. Nothing of the
 * job exists here before the last tree. */
struct offer {
    bool open;
    bool refused; /* its trees are not looked at */
    struct offer_budget budget;
    uint8_t told; /* bit per stripe */
    struct control_part part;
    struct control_tree trees[CONTROL_STRIPES_MAX];
};
/* The whole of it: refused, or taken for a new job or in the place of an older plan. */
void site_take_offer(struct node *node, uint16_t peer, const struct offer *offer, uint64_t now_ns);
void site_on_opened(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns);
/* Before the start: the source is to plan without this site, for this reason or an earlier one. Should the
 * START be on its way, STATUS tells the same. */
void site_refuse(struct node *node, struct job *job, const char *text, uint64_t now_ns);

/* ---- site_offer.c: parts as they are told ---- */
/* False: the peer has no right to what it tells, or tells too many; nothing was taken for it, and it was answered if that is
 * worth an answer. */
bool site_on_part(struct node *node, uint16_t peer, const struct control_part *part, uint64_t now_ns);
/* False: of no part that is being told. */
bool site_on_tree(struct node *node, uint16_t peer, const struct control_tree *tree, uint64_t now_ns);
/* Its source closes a job that may not exist here yet. */
void site_on_offer_closed(struct node *node, uint16_t peer, uint32_t job);
void site_end_offer(struct node *node, uint16_t peer); /* the peer has forgotten what it told */

/* ---- site.c ---- */
void site_on_start(struct node *node, struct job *job, uint64_t now_ns);
void site_on_source_lost(struct node *node, struct job *job, uint64_t now_ns); /* it restarted */
void site_on_parent_lost(struct node *node, struct job *job, uint16_t parent, uint64_t now_ns); /* the same */
void site_on_disk(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns);
void site_on_close(struct node *node, struct job *job, const struct control_close_job *close,
                   uint64_t now_ns);
void site_tick(struct node *node, struct job *job, uint64_t now_ns);
