/* What a run came to: filled by sim_run, read by the JSON report, the expectations and the program's
 * summary. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/report.h"
#include "node/node.h"
#include "sim/meter.h"
#include "sim/cross.h"
#include "sim/scenario.h"

#define RESULT_COUNTERS_MAX 256

struct result_receiver {
    uint16_t node;
    bool done;            /* its file is finished */
    bool verified;        /* and every byte that its disk was given equals the source's */
    uint64_t complete_ns; /* since the job's start command; 0: not done */
    uint64_t flow_ns;     /* from its first whole block to complete_ns */
    uint64_t flow_bytes;  /* what came in that time: all but the first block */
    uint64_t known_ns;    /* when the source had learnt of it */
    uint64_t bytes;       /* right ones on its disk */
    uint8_t state;        /* enum site_state, as the source knows it */
    char limited_from[NAME_BYTES], limited_to[NAME_BYTES], held_by[NAME_BYTES]; /* as in node_site_view */
    uint8_t limited_by;
    uint64_t latency_p50_ns, latency_p99_ns; /* of a stream's symbols: sim/stream.h */
    char text[CONTROL_TEXT_BYTES];
};

struct result_job {
    bool started;           /* the start command was given and taken */
    bool lost;              /* the source died with it */
    uint8_t state;          /* enum job_state, of the source */
    uint64_t start_ns;      /* virtual */
    uint64_t time_ns;       /* until the last receiver had everything; 0: one has not */
    uint64_t ended_ns;      /* since start: when the source called it ended; 0: never */
    uint64_t running_ns;    /* since start: when data began to flow */
    uint64_t first_data_ns; /* since start: departure of the first data packet; 0: none */
    uint64_t goodput_bps;   /* payload over time_ns */
    uint64_t size_bytes;    /* of a stream: what its input produces in all */
    char text[ERR_TEXT_BYTES];
    struct plan plan;
    struct plan_request request;
    uint16_t receiver_count;
    struct result_receiver receivers[PLAN_NODES_MAX];
};

struct result_edge {
    uint16_t from, to;
    struct node_edge_view view;
    uint64_t feedback_bytes; /* acks that `to` sent back */
    uint64_t missed_frames;  /* that `to`s ring lost, whoever sent them */
    uint64_t netem_lost;     /* by its loss models, or while the link was down */
    uint64_t lost_burst;     /* of those, in bursts */
    uint64_t queue_drops, policer_drops, ecn_marked, reordered;
    struct meter *meter;  /* owned; NULL: none of its packets reached the network */
    uint64_t complete_ns; /* virtual: when `to` had the last object of its jobs, verified; 0: it lacks one */
    uint64_t feedback_wire_bytes;
    const char *limited_by;
};

struct result_counter {
    const char *name;
    uint64_t value;
};

struct result_fault {
    uint8_t kind; /* enum scenario_fault_kind */
    uint64_t at_ns;
    bool applied; /* false: the run had ended before */
};

/* A flow of cross traffic. */
struct result_flow {
    const struct scenario_cross *config;
    struct cross_total total;
    uint64_t netem_lost, queue_drops; /* acks included */
    uint64_t goodput_bps;             /* payload, over its life */
    uint64_t wait_p50_ns, wait_p99_ns;
    uint64_t loss_episodes; /* of a competitor */
    uint64_t *seconds;      /* wire bytes delivered */
};

/* Cross traffic of matrices.cross_mbps, over all links and shapers that it takes: a packet counts at each. */
struct result_background {
    uint64_t packets, drops;
    uint64_t rate_bps; /* on the links of the pairs */
    uint32_t pairs;    /* that have some */
};

/* A shared link, in the order of the scenario. */
struct result_shared {
    uint64_t packets; /* offered, those of cross traffic included */
    uint64_t queue_drops, down_drops;
    uint64_t carried_bytes; /* of those that passed, on the wire */
};

/* What a node knows of a path at the end, beside what the link models leave then. */
struct result_probe {
    uint16_t from, to;
    struct node_probe_view view;
    uint64_t known_ns; /* virtual */
    uint64_t truth_bps, tight_bps;
    bool watched; /* the truth is that of the estimate's own window, else the mean */
};

/* What of the law of liveness (edge/liveness.h) an edge broke by truth (alive.h). */
enum breach { BREACH_STUCK, BREACH_LATE, BREACH_DEEP, BREACH_COUNT };

/* For how long, the edge that did so longest. */
struct result_breach {
    uint64_t ns;
    uint16_t from, to;
};

struct sim_result {
    char name[NAME_BYTES];
    uint64_t seed;
    bool completed; /* all jobs done, all their receivers verified */
    bool limit_reached;
    uint64_t time_ns; /* from the first start command until the last receiver of all jobs had everything */
    uint64_t end_ns;  /* virtual length of the run */
    uint64_t goodput_bps;
    uint64_t trains_most_bytes; /* of the node that has sent most */
    struct result_breach breaches[BREACH_COUNT];
    uint64_t digest;      /* of every packet sent and delivered, and of what the nodes did */
    uint64_t node_digest; /* of the nodes alone */
    uint64_t events;
    uint64_t memory_bytes;      /* of packets under way, at most */
    uint64_t wall_ns;           /* real time, filled by the program */
    uint64_t memory_peak_bytes; /* of the process, filled by the program */
    uint16_t job_count;
    struct result_job *jobs;
    uint32_t edge_count;
    struct result_edge *edges;
    uint32_t flow_count;
    struct result_flow *flows;
    struct result_background background;
    uint32_t probe_count;
    struct result_probe *probes; /* of paths that were measured */
    struct node_all_view all;    /* of the round of all pairs; zero: there was none */
    uint16_t shared_count;
    struct result_shared shared[SCENARIO_SHARED_MAX];
    uint32_t flow_seconds; /* of each series */
    uint32_t counter_count;
    struct result_counter counters[RESULT_COUNTERS_MAX];
    uint16_t fault_count;
    struct result_fault faults[SCENARIO_FAULTS_MAX];
};

void result_free(struct sim_result *result);

const char *result_job_state(const struct result_job *job);
const char *result_fault_name(unsigned kind);
/* Sums over the edges and jobs, as the expectations name them. */
uint64_t result_repairs(const struct sim_result *result);
uint64_t result_sent_packets(const struct sim_result *result);
uint64_t result_netem_lost(const struct sim_result *result);
/* Payload rate after start-up, of the slowest receiver: flow_bytes over flow_ns. 0: a receiver is not done,
 * or its object is a single block. */
uint64_t result_goodput_flow(const struct sim_result *result);
/* When a node had the last of its jobs, since that job's start; UINT64_MAX: it lacks one. False: no receiver
 * is called so. */
bool result_complete_ns(const struct sim_result *result, const struct scenario *scenario, const char *node,
                        uint64_t *complete_ns);
/* Of the job that took longest; UINT64_MAX: one has sent nothing. */
uint64_t result_first_data_ns(const struct sim_result *result);
/* Of streams, at the worst receiver that verified its copy. */
uint64_t result_latency_ns(const struct sim_result *result, unsigned percent);
uint64_t result_verified(const struct sim_result *result); /* receivers */
uint64_t result_failed_jobs(const struct sim_result *result);

/* What the meters say of the worst edge: a row METER of expects.def. False: there is no such row, or no edge
 * with data. */
bool result_meter_value(const struct sim_result *result, const char *name, uint64_t *value);
/* What the network saw of the edge, into its row (result_meter.c). */
void result_meter_report(const struct result_edge *edge, const struct scenario_measure *measure,
                         struct report *report);

/* The cross traffic's table (result_flow.c), and the value of an expectation "flow.NUMBER" (wire rate over
 * its life) or "flow.NUMBER.FROM-TO" (over these seconds); false: there is no such flow, or no such time. */
void result_flow_report(const struct sim_result *result, const struct scenario *scenario,
                        struct report *report);
bool result_flow_rate(const struct sim_result *result, const char *name, uint64_t *rate_bps);

/* Share of the background's packets that queues refused, in ppb. */
uint64_t result_cross_drops(const struct sim_result *result);

/* The shared links' table (result_shared.c), and the value of an expectation "shared_drops.NAME" (packets of the
 * background left out) or "shared_load.NAME" (ppb of its rate in the scenario, over the whole run); false: there
 * is no such link. */
void result_shared_report(const struct sim_result *result, const struct scenario *scenario,
                          struct report *report);
bool result_shared_value(const struct sim_result *result, const struct scenario *scenario, const char *name,
                         uint64_t *value);

/* The estimates' table (result_probe.c), and the values of expectations "probe_error.FROM>TO" (ppb of the tight hop's
 * rate; UINT64_MAX: there is no estimate; false: the name is another's), and "probe.FROM>TO", its kind by the word. */
void result_probe_report(const struct sim_result *result, const struct scenario *scenario,
                         struct report *report);
bool result_probe_value(const struct sim_result *result, const struct scenario *scenario, const char *name,
                        uint64_t *value);
const char *result_probe_kind(const struct sim_result *result, const struct scenario *scenario,
                              const char *pair);

/* The object that `--json` prints; with `nodes` also the ports of each node. */
void result_report(const struct sim_result *result, const struct scenario *scenario, struct report *report);

/* The table of what the scenario expects, in its values' own units (ns, bit/s, ppb of shares): asked, found, holds. */
void result_expect_report(const struct sim_result *result, const struct scenario *scenario,
                          struct report *report);

/* Judges the run: all expectations hold, the limit was not reached, and all jobs are done unless an
 * expectation speaks of their end (completed, failed_jobs, state.<job>). Prints what does not hold as
 * "file:line: expected …, found …". */
bool result_judge(const struct sim_result *result, const struct scenario *scenario, const char *file,
                  FILE *out);
