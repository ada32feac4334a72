/* A small world for node tests: nodes joined by lossy pipes with a fixed delay, disks in memory that answer
 * at once, later or fail as told, planner beside every node. Virtual time; one seed, one run. The full model
 * is lib/sim: this one needs nothing above lib/node but the solver, so that node tests fail for reasons of
 * the node. The disks abort the test on requests that lib/disk could not serve: of a handle that is not open,
 * a write after the file was finished. */
#pragma once

#include "base/rng.h"
#include "node/node.h"
#include "plan/plan.h"

#define WORLD_NODES_MAX   8
#define WORLD_PACKETS_MAX 65536
#define WORLD_REPLIES_MAX 4096

struct world_packet {
    uint64_t at_ns;
    uint64_t came_ns; /* before that, while its receiver stood still; 0: it did not */
    uint64_t order;
    uint16_t to, from;
    uint32_t length;
    uint8_t *data; /* owned by the heap */
};

struct world_reply {
    uint64_t at_ns;
    struct disk_reply reply;
};

struct world_file {
    uint8_t *data;
    uint64_t size;
    uint64_t room; /* stream: of data; doubled when it is full */
    bool open, finished, aborted;
    uint64_t place;         /* stream: bytes read or written */
    struct wire_hash chain; /* stream */
    uint8_t *clear;         /* the block in hand, where it lies sealed in memory */
    char path[PATH_BYTES];
};

struct world_node {
    struct node *node;
    struct node_config config;
    void *memory;
    bool alive;
    struct world_file files[DISK_HANDLES_MAX]; /* by handle */
    struct disk_open open[NODE_JOBS_MAX];
    enum disk_status open_status; /* what OPEN_TARGET answers */
    bool write_fails;
    char manifest[65536];   /* the last one written */
    bool manifest_hangs;    /* it is never answered */
    uint64_t corrupt_block; /* this block's first WRITE hashes wrongly; UINT64_MAX: none */
    uint64_t disk_ns; /* how long the disk takes for one READ or WRITE, one after the other; 0: at once */
    bool disk_stuck;  /* takes no requests */
    /* May alter an answer of the disk; returns how much later than others it comes. NULL: a good disk. */
    uint64_t (*disk_fault)(const struct disk_request *request, struct disk_reply *reply);
    struct world_reply *replies; /* in order of time */
    uint32_t reply_count;
    uint64_t refused_until_ns; /* its port takes no data until then */
    uint64_t stopped_until_ns; /* the process stands still until then */
    uint16_t nat_port;         /* what it sends comes from this port; 0: its own */
    bool acks_no_mail;         /* what it sends acks no message */
    /* When its port says that a packet left which was to leave then; NULL: then. */
    uint64_t (*left_ns)(uint64_t depart_ns);
    uint64_t clock_ahead_ns; /* what the clock that it is called with is ahead of the world's time */
};

/* Several trees of a plan, by numbers of nodes, parents before children. */
struct world_forest {
    uint16_t tree_count;
    struct world_tree {
        uint8_t weight;
        uint16_t edge_count;
        uint16_t edges[WORLD_NODES_MAX - 1][2]; /* from, to */
    } trees[PLAN_TREES_MAX];
};

struct world {
    uint16_t count;
    struct world_node nodes[WORLD_NODES_MAX];
    uint64_t now_ns;
    uint64_t delay_ns;
    uint64_t loss_ppb;
    uint64_t duplicate_ppb;
    uint32_t path_mtu;          /* larger packets are lost; 0: none are */
    uint64_t late_ppb, late_ns; /* this share of the packets comes so much later */
    uint64_t down_until_ns[WORLD_NODES_MAX][WORLD_NODES_MAX]; /* from, to */
    uint64_t rate_bps[WORLD_NODES_MAX][WORLD_NODES_MAX];      /* 0: as fast as the port; 50 ms of queue */
    uint64_t busy_until_ns[WORLD_NODES_MAX][WORLD_NODES_MAX];
    bool planner_absent;
    bool liars; /* some node says what it may not: the test makes it */
    /* What planners answer while all its nodes take part and the job may have so many trees; NULL: one tree. */
    const struct world_forest *forest;
    uint64_t packets_lost;
    /* Sees each DATA packet that leaves; NULL: nobody looks. */
    void (*on_data)(uint16_t from, uint16_t to, uint64_t content);
    /* Every datagram that gets through. */
    void (*on_datagram)(uint16_t from, uint16_t to, const uint8_t *data, uint32_t length);
    uint64_t class_packets[WORLD_NODES_MAX][256]; /* sent by a node, per traffic class */
    struct rng rng;
    uint64_t source_bytes; /* length of every source file */
    bool source_missing;
    struct world_packet *packets; /* heap by (at_ns, order) */
    uint32_t packet_count;
    uint64_t order;
};

/* Nodes are called n0, n1 …; each knows all others. Configurations may be changed before world_start. */
void world_init(struct world *world, uint16_t count, uint64_t seed);
/* IPv6 addresses for all. */
void world_use_ipv6(struct world *world);
/* The link between the two carries nothing until then. */
void world_cut(struct world *world, uint16_t one, uint16_t other, uint64_t until_ns);
/* All that is on its way is lost. */
void world_lose(struct world *world);
void world_end(struct world *world);
/* Starts (or restarts, with a new incarnation) a node. */
void world_start(struct world *world, uint16_t node);
void world_kill(struct world *world, uint16_t node);
void world_run_until(struct world *world, uint64_t until_ns);
/* Says so to a node, which does what follows from it. False: it was refused; err says why. */
bool world_command(struct world *world, uint16_t node, const struct ctl_msg *msg, struct err *err);
/* A job n0 → all others by RTT, SHA-256, of world->source_bytes. */
struct job_spec world_job(const struct world *world, const char *name);
/* node_ctl JOB_RUN at n0 or at another node; false with *err. */
bool world_run_job(struct world *world, const struct job_spec *spec, struct err *err);
bool world_run_job_at(struct world *world, uint16_t node, const struct job_spec *spec, struct err *err);
/* node_ctl JOB_SET at n0. */
bool world_set_job(struct world *world, const char *name, uint8_t changed, struct job_controls controls);
bool world_cancel_job(struct world *world, uint16_t node, const char *name);
/* The newest job of that name at a node; NULL: none. Valid until the next call. */
const struct node_job_view *world_view(const struct world *world, uint16_t node, const char *name);
/* Runs until the first job of n0 has ended, at most limit_ns longer; its view. */
struct node_job_view *world_finish_job(struct world *world, uint64_t limit_ns);
/* True when nothing is left of any job in this node: no object, slot, disk handle or request. */
bool world_is_clean(const struct world *world, uint16_t node);
/* A datagram as if `from` had sent it to `to`; arrives at once. */
void world_inject(struct world *world, uint16_t from, uint16_t to, const uint8_t *data, uint32_t length);
uint64_t world_counter(const struct world *world, uint16_t node, const char *name);
/* Byte `offset` of a source file. */
uint8_t world_source_byte(uint64_t offset);
