/* A small world for node tests: nodes joined by lossy pipes with a fixed delay, disks in memory that answer
 * at once or fail as told, planner beside every node. Virtual time; one seed, one run. The full model is
 * lib/sim: this one needs nothing above lib/node but the solver, so that node tests fail for reasons of the
 * node. */
#pragma once

#include "base/rng.h"
#include "node/node.h"

#define WORLD_NODES_MAX   8
#define WORLD_PACKETS_MAX 65536

struct world_packet {
    uint64_t at_ns;
    uint64_t order;
    uint16_t to, from;
    uint32_t length;
    uint8_t data[1600];
};

struct world_file {
    uint8_t *data;
    uint64_t size;
    bool finished, aborted;
    char path[PATH_BYTES];
};

struct world_node {
    struct node *node;
    struct node_config config;
    void *memory;
    bool alive;
    struct world_file files[NODE_JOBS_MAX]; /* by handle */
    struct disk_open open[NODE_JOBS_MAX];
    enum disk_status open_status; /* what OPEN_TARGET answers */
    bool write_fails;
    uint64_t corrupt_block; /* this block's first WRITE hashes wrongly; UINT64_MAX: none */
};

struct world {
    uint16_t count;
    struct world_node nodes[WORLD_NODES_MAX];
    uint64_t now_ns;
    uint64_t delay_ns;
    uint64_t loss_ppb;
    bool planner_absent;
    uint64_t packets_lost;
    struct rng rng;
    uint64_t source_bytes; /* length of every source file */
    bool source_missing;
    struct world_packet *packets; /* heap by (at_ns, order) */
    uint32_t packet_count;
    uint64_t order;
};

/* Nodes are called n0, n1 …; each knows all others. */
void world_init(struct world *world, uint16_t count, uint64_t seed);
void world_end(struct world *world);
/* Starts (or restarts, with a new incarnation) a node. */
void world_start(struct world *world, uint16_t node);
void world_kill(struct world *world, uint16_t node);
void world_run_until(struct world *world, uint64_t until_ns);
/* A job n0 → all others by RTT, SHA-256, of world->source_bytes. */
struct job_spec world_job(const struct world *world, const char *name);
/* node_ctl JOB_RUN at n0; false with *err. */
bool world_run_job(struct world *world, const struct job_spec *spec, struct err *err);
/* Runs until the first job of n0 has ended, at most limit_ns longer; its view. */
struct node_job_view *world_finish_job(struct world *world, uint64_t limit_ns);
uint64_t world_counter(const struct world *world, uint16_t node, const char *name);
/* Byte `offset` of a source file. */
uint8_t world_source_byte(uint64_t offset);
