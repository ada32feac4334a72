/* What only the source of a job has: the specification, its sites, the plan. */
#pragma once

#include "ctl/job_spec.h"
#include "ctl/paths.h"
#include "node/job/job.h"
#include "plan/plan.h"
#include "probe/rounds.h"

/* What limits the rate at which a site gets the object; nodes by index into the request's. */
struct site_limit {
    uint16_t from, to; /* the limiting edge */
    /* Cause "credit": the child that the relay `to` keeps its memory for; PEER_NONE: none. */
    uint16_t held_by;
    uint8_t cause;     /* enum edge_limit; none: nothing is known */
    uint64_t rate_bps; /* delivered over that edge lately, wire rate */
};

/* For how long each of them was it: the longest few, and when the last one was noted. */
#define SITE_LIMITS 4
struct site_limits {
    struct site_limit limits[SITE_LIMITS];
    uint64_t held_ns[SITE_LIMITS]; /* 0: the place is free */
    uint64_t noted_ns;
};

/* The source's view of one site. */
struct site {
    char name[NAME_BYTES];
    uint16_t peer;
    bool receiver; /* else it only relays */
    bool optional; /* it may relay (relays: in the job), and nobody minds if it does not */
    bool included; /* still part of the plan */
    bool asked;    /* MEASURE was sent, in lived time at asked_ns */
    bool measured;
    bool has_part; /* PART was sent */
    bool confirmed;
    uint8_t state; /* enum site_state */
    bool ended;
    bool end_unknown;  /* it had everything when the job ended, and has not told what became of that */
    uint32_t adjusted; /* revision of the controls that it was told */
    uint8_t unsent;    /* CONTROL_START or CONTROL_CLOSE_JOB that found the queue full; 0: none */
    uint16_t reports;  /* measured peers so far */
    uint64_t asked_ns;
    bool end_told;      /* of a stream: where it ends */
    uint64_t hash_next; /* the first block whose hash it was not told; when that was last done … */
    uint64_t hash_sent_ns;
    uint64_t hash_room; /* … and, of a stream, the first whose hash it has no room for yet */
    uint64_t received_bytes, verified_bytes;
    uint64_t received_max, verified_max; /* the most that it ever had */
    uint8_t edge_count; /* its edges to its children, and who lacks most, by its newest STATUS */
    uint8_t laggard;
    struct wire_edge edges[CONTROL_CHILDREN_MAX];
    struct site_limits limits; /* until it ended */
    uint64_t grew_ns;          /* when its bytes last grew; 0: never … */
    uint64_t progress_ns;      /* … or it was last known to wait for others … */
    uint64_t told_ns;          /* … and when it last told anything */
    uint64_t complete_ns;
    char text[CONTROL_TEXT_BYTES];
};

/* Measuring what the plan rests on. */
enum survey_step_of_edge { SURVEY_WAITS = 0, SURVEY_ASKED, SURVEY_OVER };
/* What a path of which nothing fresh is known is taken to carry: the median of those that are, while rounds find out; then their lower
 * quartile; next to nothing; and the quartile again, where that made the better plan. */
enum survey_guess { GUESS_MEDIAN = 0, GUESS_LOW, GUESS_AVOID, GUESS_LOW_AGAIN };
struct source_survey {
    struct rounds rounds;
    uint8_t steps[ROUNDS_EDGES_MAX]; /* enum survey_step_of_edge, of the round's edges */
    bool hoped; /* the last plan of GUESS_MEDIAN had edges, or lines, of which nothing fresh is known */
    enum survey_guess guess; /* it stays where a site is left out: two plans more at most */
    uint64_t low_ns;         /* what the plan of GUESS_LOW is likely to take */
};

enum manifest_step { MANIFEST_NONE = 0, MANIFEST_WAITS, MANIFEST_ASKED, MANIFEST_OVER };

struct source {
    struct job_spec spec;
    uint8_t outcome; /* enum close_outcome, told to the sites */
    uint64_t modified_ns;
    uint64_t deadline_ns; /* of the phase; TIME_NEVER: none */
    uint16_t site_count;
    struct site sites[PLAN_NODES_MAX];
    struct plan_request request;
    struct plan plan;
    struct source_survey survey;
    /* Of paths by which nothing as large as data is known to pass: the newest request leaves some out; the next one is to have
     * all of them, since the planner found no way without. */
    bool doubts_avoided, doubts_taken;
    uint8_t trees_most;                    /* sites have memory for no more; 0: none has said so */
    uint16_t request_site[PLAN_NODES_MAX]; /* node of the request → 0: the source, i + 1: site i */
    uint64_t shared_ns;        /* lived: when other jobs last had a share of its edges; 0: never … */
    uint64_t shared_packet_ns; /* … and what a packet took at this one's */
    uint64_t known_since_ns;   /* what was learnt of paths before counts as not known */
    uint16_t source_reports;
    bool source_measured;
    bool digest_asked, digest_known; /* of all block hashes, see manifest.h */
    struct wire_hash digest;
    enum manifest_step manifest;
    uint64_t manifest_ns;                /* lived time since when it is to be written */
    char manifest_path[DISK_TEXT_BYTES]; /* once it is written */
};

/* ---- source_end.c: the sites, and the end of a job ---- */
struct site *source_site(struct job *job, uint16_t peer); /* NULL: none of its sites */
/* One more site, unless it is there or the source itself. False: err; it is no peer, or one too many. */
bool source_add_site(struct node *node, struct job *job, const char *name, bool receiver, struct err *err);
void source_site_ended(struct site *site, enum site_state state, const char *text, uint64_t now_ns);
/* The job running here under that name, or that id; NULL: none. */
struct job *source_by_name(struct node *node, const char *name);
void source_enter(struct node *node, struct job *job, enum job_phase phase, uint64_t deadline_ns);
/* START and CLOSE_JOB, again where they found queues full; true: all were told
 * but those that are gone or deaf. */
bool source_tell_sites(struct node *node, struct job *job);
/* A site speaks of a job that is over here, or that is not known (NULL): it has not heard of the end. It is
 * told while the queue to it has ample room. */
void source_tell_end(struct node *node, struct job *job, uint32_t id, uint16_t peer, uint64_t now_ns);
void source_end(struct node *node, struct job *job, enum job_state state, enum close_outcome outcome,
                uint64_t now_ns);
/* Fails for want of receivers: the first that failed, by name and cause, and how many more. */
void source_fail_empty(struct node *node, struct job *job, uint64_t now_ns);
/* The job's text names them. False: nobody has failed who wants the object. */
bool source_name_failed(struct job *job);
/* The job fails as a whole; nothing happens to one that has ended. */
void source_fail(struct node *node, struct job *job, uint64_t now_ns, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- source_hashes.c: what the source tells each site itself, for nobody else to say ---- */
/* Hashes of blocks, and where a stream ends. */
void source_tell_content(struct node *node, struct job *job, uint64_t now_ns);
/* A stream's site has room for hashes of blocks below. */
void source_on_room(struct job *job, uint16_t peer, uint64_t blocks);

/* ---- source_relays.c: who relays without wanting the object ---- */
/* The job's `relays`, after its receivers. False: err names who is no peer. */
bool source_add_relays(struct node *node, struct job *job, struct err *err);
/* While measuring: those that are silent are planned without, and the job's note says so. */
void source_drop_silent_relays(const struct node *node, struct job *job);
/* Of the plan that has come: those that it does not use are told nothing. */
void source_drop_idle_relays(struct job *job);
/* A site that only may relay has failed before the job runs: true, and it is planned without. */
bool source_drop_relay(struct job *job, struct site *site, const char *why);

/* ---- source_paths.c: what paths are good for ---- */
/* In the request: no tree takes a path that is known to be too narrow for a symbol. */
void source_forbid_narrow(const struct node *node, struct job *job);
/* Leaves out whom the request can't reach for such paths, or for paths that answer nothing, or because a given tree leads
 * through a site that was left out. True: somebody was, and the request is to be made again. */
bool source_leave_unreached(struct node *node, struct job *job, uint64_t now_ns);
/* In the request: paths of which nothing as large as data is known to pass lead to whom no other path leads, and to nobody
 * else. */
void source_avoid_doubtful(const struct node *node, struct job *job);
/* Whom most such paths, or silent or narrow ones, lead to; `text` names one. NULL: all paths are sound. */
struct site *source_troubled_site(const struct node *node, struct job *job, char text[CONTROL_TEXT_BYTES]);
/* "the path from PARENT has carried …": the site is fed by such a path. */
bool source_tell_doubt(const struct node *node, const struct job *job, const struct site *site,
                       char text[CONTROL_TEXT_BYTES]);

/* ---- source_left.c: who is left out before the job runs ---- */
/* By name and cause: a receiver has failed, whoever only may relay is planned without. What it has of the job it is told to
 * let go. Planning anew, or failing where no receiver is left, is the caller's. */
void source_leave_out(struct node *node, struct job *job, struct site *site, const char *text,
                      uint64_t now_ns);
bool source_has_receivers(const struct job *job);
/* While measuring: who is heard, but by a path that carries only small packets, so that its measurements do not come. */
void source_leave_narrow(struct node *node, struct job *job, uint64_t now_ns);

/* ---- source_trees.c: the trees of the plan ---- */
/* Whole weights whose shares come nearest to those of the plan, of the smallest period that does. */
void source_weights(const struct plan *plan, uint8_t weights[CONTROL_STRIPES_MAX]);
/* The smallest measured path MTU of their edges gives the symbol size. */
uint32_t source_trees_mtu(const struct job *job);
/* The place of a node of the request in a tree. */
void source_fill_tree(const struct job *job, uint8_t stripe, uint16_t node, struct control_tree *message);
/* Its children over all trees, each once, in the order in which it counts them; returns how many. */
uint16_t source_children(const struct job *job, uint16_t node, uint16_t children[CONTROL_CHILDREN_MAX]);

/* ---- source_records.c: the node's table of paths (peer/path_table.h) ---- */
/* What a peer, or this node (PEER_SELF), has measured, whatever has become of the job that asked for it. */
void source_take_records(struct node *node, uint16_t peer, const struct control_measurement *report,
                         uint64_t now_ns);
void source_take_available(struct node *node, uint16_t peer, const struct control_available *available,
                           uint64_t now_ns);
/* What is told of paths and interfaces from elsewhere. */
void source_take_told(struct node *node, const struct ctl_paths *told, uint64_t now_ns);
/* Sites that neither want the object nor relay it are no longer part of the plan; a given tree can't do
 * without them. */
bool source_drop_idle_leaves(const struct node *node, struct job *job, struct err *err);
/* What is known of the request's nodes and of the paths between them. */
void source_fill_request(const struct node *node, struct job *job, uint64_t now_ns);

/* ---- source_parts.c: a job as a request, and from a validated plan to parts ---- */
/* Without those that it leaves out since nothing leads to them. */
bool source_make_request(struct node *node, struct job *job, uint64_t now_ns, struct err *err);
bool source_distribute(struct node *node, struct job *job, struct err *err);

/* ---- source_guess.c: what is not known is guessed to be like what is ---- */
/* Node of the request → site of path_table.h. */
uint16_t source_path_site(const struct source *source, uint16_t node);
/* A path, or of a node to itself its line, was measured within PLAN_START_AGE_S. */
bool source_is_measured(const struct plan_request *request, uint16_t from, uint16_t to);
/* What paths and lines of which nothing is known are taken to carry, after a round: into the request. */
void source_guess(const struct node *node, struct job *job);
/* How long the object takes on average by the newest plan, which says flow_ns, if its paths of which nothing fresh is known are drawn
 * from those that are: as long as the slowest of them makes it. flow_ns where all are known, or nothing says what any carries. */
uint64_t source_likely_ns(const struct node *node, const struct source *source, uint64_t flow_ns);

/* ---- source_survey.c: the plan's own edges are measured before it is used, where that pays ---- */
/* Of a plan that has come: it is used; its edges are measured now (PHASE_SURVEYING), and another one follows; or it rests
 * on what was only hoped for, and another one follows at once. */
enum survey_next { SURVEY_NEEDLESS, SURVEY_BEGUN, SURVEY_PLAN_ANEW };
enum survey_next source_survey_begin(struct node *node, struct job *job, uint64_t now_ns);
/* There is no plan that avoids unknown paths, which was a try: the next request is for the one of before. False: it was none. */
bool source_survey_falls_back(struct job *job);
/* True: what can be known of the round is. */
bool source_survey_over(struct node *node, struct job *job, uint64_t now_ns);

/* ---- source_plan.c: planning and distributing ---- */
/* What a job ends with, or does not begin with, where no planner is expected; the command follows. */
#define SOURCE_NO_PLANNER "no planner is attached; start one: %s"
/* One is there, or was a moment ago, or somebody else than the operator starts one. */
bool source_planner_expected(const struct node *node);
void source_ask_planner(struct node *node, struct job *job, uint64_t now_ns);
/* A site that is still part of the plan is of no use before the job runs: it is left out, and the rest is planned (anew). */
void source_go_without(struct node *node, struct job *job, struct site *site, const char *text,
                       uint64_t now_ns);
void source_on_plan(struct node *node, struct job *job, const struct plan *plan, uint64_t now_ns);
void source_on_plan_failed(struct node *node, struct job *job, const char *text, uint64_t now_ns);
void source_on_confirm(struct node *node, struct job *job, uint16_t peer,
                       const struct control_confirm *confirm, uint64_t now_ns);
void source_planning_tick(struct node *node, struct job *job, uint64_t now_ns);
void source_surveying_tick(struct node *node, struct job *job, uint64_t now_ns);
void source_distributing_tick(struct node *node, struct job *job, uint64_t now_ns);

/* ---- source_measure.c ---- */
void source_start_measuring(struct node *node, struct job *job);
void source_on_measurement(struct node *node, struct job *job, uint16_t peer,
                           const struct control_measurement *report, uint64_t now_ns);
/* This node's own measurement is there. */
void source_on_own_measurement(struct node *node, struct job *job, uint64_t now_ns);
void source_measuring_tick(struct node *node, struct job *job, uint64_t now_ns);

/* ---- source_limit.c: which edge limits a site, and why ---- */
/* Site and node of the request; NULL: node 0 is the source. PEER_NONE: the site is not part of the plan. */
const struct site *source_site_of_node(const struct job *job, uint16_t node);
uint16_t source_node_of_site(const struct job *job, const struct site *site);
void source_take_edges(struct site *site, const struct control_status *status);
/* What has limited the site since the last time, before its new counts are taken. */
void source_note_limit(const struct node *node, const struct job *job, struct site *site, uint64_t now_ns);
/* Of late; once the site has ended: most of the time. */
struct site_limit source_site_limit(const struct node *node, const struct job *job, const struct site *site);

/* ---- source_wait.c: who waits for whom ---- */
/* The site has all that the disk of this node has given so far, and that is at work; or it waits for memory, here or there, and
 * another job of this source gets on at it. */
bool source_site_waits(struct node *node, const struct job *job, const struct site *site);
/* None of the job's reads, nor of what the disk had before them, was answered within the stall timeout. */
bool source_disk_is_silent(const struct node *node, const struct job *job);
/* Other jobs have a share of the edges that it leaves by, now. */
void source_note_share(const struct node *node, struct job *job);
/* How long a site may get nothing: the stall timeout, and what some packets take at the job's rate cap or at its share of a
 * slow edge. Where it had but a share until now, that goes on for a stall timeout. */
uint64_t source_patience_ns(const struct node *node, const struct job *job, const struct site *site);

/* ---- source_running.c ---- */
void source_on_status(struct node *node, struct job *job, uint16_t peer, const struct control_status *status,
                      uint64_t now_ns);
void source_running_tick(struct node *node, struct job *job, uint64_t now_ns);
/* Of a job that is over: what some sites really got is still to be heard, since their disks finish. Of those
 * that were not heard of in time it is noted that it is not known. */
bool source_awaits_ends(const struct node *node, struct job *job);
/* … of this site. */
bool source_awaits_end(const struct node *node, struct job *job, uint16_t peer);

/* ---- source_told.c: a site in words ---- */
struct site_told {
    const char *state;             /* of SITE_STATES, or a word of job_state.h */
    uint64_t stalled_ns;           /* so long nothing has come; 0: it gets on */
    char text[CONTROL_TEXT_BYTES]; /* its own, or the job's where that is the cause, or what it waits for */
};
struct site_told source_site_told(const struct node *node, const struct job *job, const struct site *site);

/* ---- source.c: begins, and hands on what happens ---- */
/* The id of the job that begins, or is cancelled; 0: err. */
uint32_t source_run(struct node *node, const struct job_spec *spec, uint64_t now_ns, struct err *err);
uint32_t source_cancel(struct node *node, const char *name, uint64_t now_ns, struct err *err);
void source_on_disk(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns);
void source_on_peer_lost(struct node *node, struct job *job, uint16_t peer, bool restarted, uint64_t now_ns);
/* A site that this node feeds has let go of the job. */
void source_on_child_parted(struct job *job, uint16_t peer, const char *text, uint64_t now_ns);
void source_tick(struct node *node, struct job *job, uint64_t now_ns);
