/* Inner state of a run, shared by the files of this folder. */
#pragma once

#include "node/node.h"
#include "sim/clock.h"
#include "sim/cross.h"
#include "sim/disk.h"
#include "sim/net.h"
#include "sim/sim.h"

#define SIM_SETTLE_NS       (2 * NS_PER_S)   /* the run goes on so long after the last job's end */
#define SIM_WATCH_NS        (10 * NS_PER_MS) /* how often the end of jobs is looked for */
#define SIM_PLANNER_NS      (5 * NS_PER_MS)  /* what planning takes */
#define SIM_PLANNER_GONE_NS (1 * NS_PER_S)   /* when a silent planner is taken for dead */
#define SIM_LIMIT_NS        (600 * NS_PER_S) /* where the scenario says nothing */
#define SIM_BURST           32
#define SIM_POLL_NS         1000 /* a node that wants to be called at once is called after so long */

/* A datagram is laid out here when its body of zeros was not stored: the head ends where the zeros begin. */
#define SIM_ZEROS_BYTES (64u << 10)
struct sim_scratch {
    uint8_t bytes[POOL_DATA_MAX + SIM_ZEROS_BYTES];
};

struct sim_host {
    uint16_t index;
    struct node *node; /* NULL: absent or killed */
    void *memory;
    size_t memory_bytes;
    struct node_config config;
    struct sim_clock clock;
    struct netem_stamping stamping;
    struct rng stamp_noise;
    struct sim_stall stall;
    uint64_t turn_lasts_ns;
    bool stamps_turns; /* what it takes is stamped when it is taken … */
    bool stamps_late;  /* … and that may be late, because it stood still */
    uint64_t taken_ns; /* it had taken all that had come by then */
    struct sim_disk disk;
    uint64_t turn_ns; /* it is not woken before, see NET_TURN_NS */
    uint64_t wake_ns; /* the wake event that counts; TIME_NEVER: none */
    uint64_t starts;
    bool planner; /* one belongs to this host */
    bool planner_alive;
    uint32_t planner_life; /* answers of an earlier life are dropped */
};

struct sim_job {
    uint16_t host;
    struct job_spec spec;
    bool started, lost, ended;
    uint64_t start_ns, ended_ns;
    char text[ERR_TEXT_BYTES];
};

struct sim_counters {
    uint64_t refused, early_wakes, dead_drops, events;
};

struct sim {
    const struct scenario *scenario;
    struct sim_options options;
    uint64_t now_ns;
    uint64_t limit_ns;
    uint64_t stop_ns;
    struct event_heap heap;
    struct digest digest;
    struct net net;
    struct cross cross;
    struct sim_host *hosts;
    struct sim_source sources[SIM_SOURCES_MAX];
    struct sim_job jobs[SCENARIO_JOBS_MAX];
    bool fault_applied[SCENARIO_FAULTS_MAX];
    struct sim_counters counters;
    struct trace trace;
    struct digest past_nodes;                          /* of killed nodes */
    struct result_counter totals[RESULT_COUNTERS_MAX]; /* of killed nodes */
    uint32_t total_count;
    uint64_t trains_most_bytes;    /* that one node has sent */
    struct ctl_msg message;        /* scratch */
    struct node_job_view job_view; /* scratch */
    struct sim_scratch scratch[SIM_BURST];
};

/* host.c */
bool host_config(struct sim *sim, uint16_t index, struct err *err);
void host_start(struct sim *sim, uint16_t index);
void host_kill(struct sim *sim, uint16_t index);
struct net_address host_address(uint16_t index);
/* When what falls due at the host now is done: now, or when it does not stand still any more. */
uint64_t host_awake_ns(struct sim *sim, uint16_t index);
void host_receive(struct sim *sim, uint16_t index);   /* packets have come through its downlink */
void host_disk_done(struct sim *sim, uint16_t index); /* its disk may have answers */
void host_wake(struct sim *sim, uint16_t index);
/* Gives the node a record, then takes what comes out of it. */
bool host_ctl(struct sim *sim, uint16_t index, const struct ctl_msg *msg, struct err *err);
void host_drain(struct sim *sim, uint16_t index);
void host_count(struct sim *sim, const struct sim_host *host); /* adds its counters to the totals */

/* planner.c: what the planner says to the node is left in sim->message, for the caller to hand on. */
void planner_attach(struct sim *sim, uint16_t index); /* from now on it is there, and says hello */
void planner_kill(struct sim *sim, uint16_t index, uint64_t back_after_ns); /* 0: for good */
void planner_ask(struct sim *sim, uint16_t index, const struct ctl_msg *request);
/* True: it says something, and the node is alive. */
bool planner_on_event(struct sim *sim, uint16_t index, void *object);

/* fault.c */
void fault_apply(struct sim *sim, uint16_t index);

/* gather.c */
void gather(struct sim *sim, struct sim_result *result);
/* The source's view of the job, in sim->job_view; false: it has none. */
bool job_look(struct sim *sim, const struct sim_job *job);
