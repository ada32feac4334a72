/* A job at a receiver or relay. A site whose disk or parent fails says so to the source and goes on relaying
 * from memory what still comes, so that its children do not suffer. Phases and what ends them: job/phase.c.
 */
#pragma once

#include "node/job/job.h"

/* ---- site_tell.c: what the source and the parent are told ---- */
bool site_post_confirm(struct node *node, uint16_t peer, uint32_t job, uint32_t epoch,
                       enum confirm_answer answer, const char *text);
void site_confirm(struct node *node, struct job *job, enum confirm_answer answer);
void site_tell_have(struct node *node, struct job *job);
void site_send_status(struct node *node, struct job *job, uint64_t now_ns);
/* The parent is to feed this site no more; also of a job that has closed. Again later if the queue is full. */
void site_tell_parting(struct node *node, struct job *job);
/* What found a queue full before; also of a job that closes. */
void site_tell_again(struct node *node, struct job *job);

/* ---- site_part.c: the part of a plan, up to the confirmation ---- */
void site_on_part(struct node *node, uint16_t peer, const struct control_part *part, uint64_t now_ns);
void site_on_opened(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns);
/* Before the start: the source is to plan without this site, for this reason or an earlier one. Should the
 * START be on its way, STATUS tells the same. */
void site_refuse(struct node *node, struct job *job, const char *text, uint64_t now_ns);

/* ---- site.c ---- */
void site_on_start(struct node *node, struct job *job, uint64_t now_ns);
void site_on_source_lost(struct node *node, struct job *job, uint64_t now_ns); /* it restarted */
void site_on_parent_lost(struct node *node, struct job *job, uint64_t now_ns); /* the same */
void site_on_disk(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns);
void site_on_close(struct node *node, struct job *job, const struct control_close_job *close,
                   uint64_t now_ns);
void site_tick(struct node *node, struct job *job, uint64_t now_ns);
