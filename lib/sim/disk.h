/* Simulated disk of one node: serves the requests of store/disk.h in virtual time, one after another, at
 * a rate.
 *
 * Nothing is kept of a file but its name, its source and which of its bytes were written right: content is a
 * function of the source, so a WRITE is compared with it and a READ makes it anew. That comparison, not the
 * node's word, says whether a site holds the object. A crash forgets open files and keeps finished ones. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/name.h"
#include "base/units.h"
#include "sim/content.h"
#include "sim/extent.h"
#include "sim/stream.h"
#include "store/disk.h"

#define SIM_SOURCES_MAX   16
#define SIM_FILES_MAX     32
#define SIM_DISK_RATE_BPS 8000000000ULL /* where the scenario says nothing */
/* From the last byte's transfer to the answer. */
#define SIM_DISK_LATENCY_NS (20 * NS_PER_US)

/* What is known of a block's hash: content never changes, so each is computed once for all nodes. */
struct sim_hash {
    uint64_t offset;
    uint32_t length; /* 0: nothing yet */
    struct wire_hash hash;
};
#define SIM_HASHES 4096

/* A job's source file. modified_ns is different for each and identifies it to the targets. */
struct sim_source {
    char path[PATH_BYTES];
    struct content content;
    struct sim_input input; /* of a stream */
    uint64_t modified_ns;
    struct wire_hash index_hash; /* of a directory */
    bool changed;                /* fault: somebody wrote to it during the job */
    struct sim_hash *hashes;
};

struct sim_handle {
    bool open;
    bool target;
    bool discards; /* target without a store */
    bool whole;    /* was there already */
    bool finished;
    uint8_t source;
    uint8_t hash; /* enum part_hash */
    uint8_t exists;
    uint64_t size_bytes;
    struct extent_set right; /* written as in the source */
    struct sim_stream stream;
    char name[PATH_BYTES];
};

struct sim_file {
    char name[PATH_BYTES];
    uint8_t source;
    bool right; /* all of it as in the source */
    uint64_t size_bytes;
};

/* What a node got of one job's object, by what its disk saw. */
struct sim_copy {
    uint64_t first_ns;    /* virtual: the first block came to be written; 0: none yet */
    uint64_t finished_ns; /* virtual; 0: not yet */
    uint32_t first_bytes; /* of that block */
    uint64_t right_bytes;
    bool verified;
    struct wait_histogram latency; /* of a stream's symbols */
};

struct sim_disk_waiting {
    struct disk_request request;
    uint64_t done_ns;
};

struct sim_disk {
    uint64_t rate_bps;
    uint64_t free_bytes; /* UINT64_MAX: no limit */
    bool full;           /* fault */
    uint64_t busy_until_ns;
    uint64_t sink_rate_bps; /* of whoever reads streams; 0: as fast as they come */
    struct sim_source *sources;
    uint32_t source_count;
    struct sim_copy copies[SIM_SOURCES_MAX];
    struct sim_handle handles[DISK_HANDLES_MAX];
    struct sim_file files[SIM_FILES_MAX];
    uint32_t file_count;
    struct sim_disk_waiting *queue; /* ring */
    uint32_t queue_room;
    uint32_t queue_head, queue_tail;
    uint64_t reads, writes, wrong_writes;
    struct sealed_room sealed; /* primitives to be set before the first request */
};

void sim_disk_init(struct sim_disk *disk, uint64_t rate_bps, uint64_t free_bytes, struct sim_source *sources,
                   uint32_t source_count);
void sim_disk_free(struct sim_disk *disk);
/* The node died: requests and open files are gone. */
void sim_disk_crash(struct sim_disk *disk);
void sim_disk_submit(struct sim_disk *disk, const struct disk_request *request, uint64_t now_ns);
/* When the next request is done; TIME_NEVER: none under way. */
uint64_t sim_disk_next_ns(const struct sim_disk *disk);
/* Carries out the first request and fills its answer. now_ns >= sim_disk_next_ns(). */
void sim_disk_answer(struct sim_disk *disk, struct disk_reply *reply, uint64_t now_ns);
