/* Control records: what operators, console and planner say to a node and what the node says to the planner.
 * In a process the structs travel as they are; between processes (planner) they are encoded by ctl_encode as
 * records { u32 length, u32 type, u64 correlation, u32 sequence, u32 crc32c, body } over any byte ring. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/report.h"
#include "ctl/estimate.h"
#include "ctl/job_spec.h"
#include "ctl/paths.h"
#include "plan/plan.h"

enum ctl_type {
    /* operator → node */
    CTL_SHOW = 1,
    CTL_JOB_RUN,
    CTL_JOB_CANCEL,
    CTL_JOB_SET,
    CTL_PATHS, /* what is known of paths; the program's own, before it runs a job */
    CTL_PROBE, /* measure the path from this node to a peer, or from a peer to another node */
    /* planner → node */
    CTL_PLANNER_HELLO, /* a planner attached (again): open requests are to be repeated */
    CTL_PLAN,
    CTL_PLAN_FAILED,
    CTL_HISTORY,      /* to the program, past the node: an answer to HISTORY_ASK */
    CTL_PLANNER_GONE, /* made by the node's side of the ring when the heartbeat stops */
    /* node → planner */
    CTL_PLAN_REQUEST,
    CTL_HISTORY_ASK, /* the program's own, for an operator */
    CTL_ESTIMATE,    /* what is known of one direction of a pair: to be kept */
    /* operator → node, again: the numbers of those above are the ring's */
    CTL_TRAIN,     /* the newest train that was measured because of a CTL_PROBE */
    CTL_PROBE_ALL, /* measure the paths between all nodes: what it costs, begin, end */
    /* program → node */
    CTL_PLANNER_NEWS, /* why no planner is attached, for jobs that wait for one */
    CTL_KEYS,         /* the keys of the roster as they are by now */
    CTL_TYPE_COUNT
};

/* SHOW(word, who answers, help); who: PROGRAM (app/sluice/show.c), NODE (lib/node/show.c), JOB: the node, about all jobs
 * or one that is named (the same file), or PLAN: the same about a job's plan (lib/node/show_plan.c); `show plan --why` is
 * `show why`, and so on. */
#define CTL_SHOWS(SHOW)                                                                                      \
    SHOW(version, PROGRAM, "program and DPDK versions")                                                      \
    SHOW(config, PROGRAM, "configuration in force")                                                          \
    SHOW(ports, PROGRAM, "ports: link, counters, what devices do themselves; how the workers fare")          \
    SHOW(disk, PROGRAM,                                                                                      \
         "the disk's threads: rates read, written and hashed, queues, CPU, the slowest request")             \
    SHOW(peers, NODE, "peers, liveness, RTT")                                                                \
    SHOW(edges, NODE, "edges: rate, RTT, losses, queues, marks, pauses of hosts, what limits them")          \
    SHOW(probes, NODE, "bandwidth that paths have left, as trains measured it: interval, age, how, why not") \
    SHOW(jobs, JOB, "jobs, a line each; of one (name or id): all there is, and its sites")                   \
    SHOW(plan, JOB, "trees and rates of running jobs, whether a planner is there")                           \
    SHOW(why, PLAN,                                                                                          \
         "why the plan of the newest job is as it is: what holds it, what each metric would give")           \
    SHOW(dot, PLAN, "the plan of the newest job as a drawing for Graphviz")                                  \
    SHOW(svg, PLAN, "the plan of the newest job as a picture")                                               \
    SHOW(manifest, JOB, "what every site got of a job: size, hash, time, path")                              \
    SHOW(counters, NODE, "all counters, drop reasons included")

/* The cases of a switch for the words that the other one answers: it has cases of its own for the rest alone. */
#define CTL_CASES_OF_PROGRAM                 CTL_SHOWS(CTL_CASE_OF_PROGRAM)
#define CTL_CASES_OF_NODE                    CTL_SHOWS(CTL_CASE_OF_NODE)
#define CTL_CASE_OF_PROGRAM(name, who, help) CTL_CASE_PROGRAM_##who(name)
#define CTL_CASE_OF_NODE(name, who, help)    CTL_CASE_NODE_##who(name)
#define CTL_CASE_PROGRAM_PROGRAM(name)       case CTL_SHOW_##name:
#define CTL_CASE_PROGRAM_NODE(name)
#define CTL_CASE_PROGRAM_JOB(name)
#define CTL_CASE_PROGRAM_PLAN(name)
#define CTL_CASE_NODE_PROGRAM(name)
#define CTL_CASE_NODE_NODE(name) case CTL_SHOW_##name:
#define CTL_CASE_NODE_JOB(name)  case CTL_SHOW_##name:
#define CTL_CASE_NODE_PLAN(name) case CTL_SHOW_##name:

#define CTL_SHOW_ENUM(name, who, help) CTL_SHOW_##name,
enum ctl_show { CTL_SHOWS(CTL_SHOW_ENUM) CTL_SHOW_COUNT };
const char *ctl_show_name(unsigned show);
const char *ctl_show_help(unsigned show);
bool ctl_show_is_of_program(unsigned show);
/* The name or id of a job may stand behind it. */
bool ctl_show_is_of_job(unsigned show);
/* CTL_SHOW_COUNT when there is no such word. */
enum ctl_show ctl_show_find(const char *name);
/* Of "--why" and what else is about a plan: an option of show plan. CTL_SHOW_COUNT: it is none. */
enum ctl_show ctl_show_find_option(const char *option);

/* What a row of show probes has in place of the other end, of a site's line: no node has such a name. */
#define CTL_LINE "(line)"

/* An edge's past as a report, terminating zero included. */
#define CTL_HISTORY_BYTES 65536

/* What is told of a planner that is not there, terminating zero included. */
#define CTL_NEWS_BYTES 160

enum ctl_all { CTL_ALL_RECKON, CTL_ALL_START, CTL_ALL_STOP };

struct ctl_msg {
    enum ctl_type type;
    uint64_t correlation;
    union {
        struct {
            enum ctl_show what;
            enum report_form form;
            char job
                [NAME_BYTES]; /* name or id; jobs, plan: only this one, empty: all; manifest: empty: the newest */
            char from[NAME_BYTES], to[NAME_BYTES]; /* why: only of this edge; empty: of the plan */
        } show;
        struct job_spec job_run;
        struct {
            char name[NAME_BYTES];
        } job_cancel;
        struct {
            char name[NAME_BYTES];
            uint8_t changed; /* enum job_control bits: which of `controls` count */
            struct job_controls controls;
        } job_set;
        struct ctl_paths paths;
        struct {
            char peer[NAME_BYTES];
            char to[NAME_BYTES]; /* probe: from the peer to this one; empty: from here to the peer */
        } probe;                 /* and train */
        struct {
            uint8_t what; /* enum ctl_all */
            bool order;   /* RECKON: only what a plan may need to know */
        } probe_all;
        struct plan plan;
        struct plan_request plan_request;
        struct ctl_estimate estimate;
        struct {
            char from[NAME_BYTES], to[NAME_BYTES];
            enum report_form form;
        } history_ask;
        struct {
            bool known; /* else the text says why there is nothing */
            char text[CTL_HISTORY_BYTES];
        } history;
        struct {
            uint32_t job;
            uint32_t epoch;
            char text[ERR_TEXT_BYTES];
        } plan_failed;
        struct {
            char text[CTL_NEWS_BYTES];
        } planner_news;
        const struct node_keys *keys; /* node/core/node_keys.h; the caller's, until the reply */
    } body;
};

/* The longest one, all jobs of a node with all their sites and trees, takes 1.3 MB at most. */
#define CTL_REPLY_BYTES (2048 * 1024)

struct ctl_reply {
    bool ok;
    struct err err; /* !ok: why */
    uint32_t job;   /* id of the job that was run, changed or cancelled; 0: none */
    char *text;     /* the caller's, of `room` bytes: the report, zero terminated; CTL_TRAIN's: plot_train */
    size_t room;
    size_t length;
};

#define CTL_RECORD_HEADER_BYTES 24
#define CTL_RECORD_BYTES_MAX    (CTL_RECORD_HEADER_BYTES + PLAN_REQUEST_BYTES_MAX)

/* Planner-side types only (PLANNER_HELLO, PLAN, PLAN_FAILED, PLAN_REQUEST, ESTIMATE, HISTORY_ASK, HISTORY). Returns
 * bytes, 0 when room is short. */
size_t ctl_encode(const struct ctl_msg *msg, uint32_t sequence, uint8_t *out, size_t room);
/* `in` is one whole record, already copied out of shared memory. Checks length, type, crc and the body. */
bool ctl_decode(struct ctl_msg *msg, uint32_t *sequence, const uint8_t *in, size_t length, struct err *err);
/* Looks at the envelope alone: one whole record with that sequence number and an intact checksum. */
bool ctl_record_valid(const uint8_t *in, size_t length, uint32_t sequence);
