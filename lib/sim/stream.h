/* Streams in the simulator: an input that produces bytes by a pattern, and sinks that read at a rate. They
 * serve FEED and DRAIN of store/disk.h in virtual time, beside the simulated disk's queue.
 *
 * The input is a writer at a pipe of SIM_PIPE_BYTES: when nobody reads, it stands still and the rest of its
 * pattern comes later. A symbol's latency runs from its first byte's arrival in the pipe, so waiting for the
 * symbol to be filled counts, until its last byte is out of the sink. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "disk/sealed.h"
#include "sim/net.h"
#include "store/disk.h"

#define SIM_PIPE_BYTES 65536

struct sim_disk;

struct sim_input {
    uint64_t rate_bps;      /* while it is on; 0: no stream */
    uint64_t on_ns, off_ns; /* 0: always on */
    uint64_t total_bytes;
    uint64_t start_ns; /* virtual; of its first byte */
    uint64_t read_bytes;
    uint64_t *came_ns; /* per symbol: when its first byte was there */
    uint64_t symbols, room;
};

/* One handle's stream, of either direction. */
struct sim_stream {
    bool on;
    bool waiting; /* a FEED or DRAIN */
    bool interrupted;
    struct disk_request request;
    uint64_t due_ns;
    uint64_t flush_ns;
    uint64_t rate_bps; /* sink; 0: as fast as it comes */
    uint64_t busy_until_ns;
    uint64_t offset;  /* payload handed out */
    uint64_t symbols; /* of it */
    struct wire_hash chain;
    struct sealed_room sealed; /* the text of the block, where it lies sealed in memory */
};

/* How much an input of this pattern produces in all. */
uint64_t sim_input_bytes(uint64_t rate_bps, uint64_t on_ns, uint64_t off_ns, uint64_t duration_ns);
void sim_input_free(struct sim_input *input);
void sim_stream_submit(struct sim_disk *disk, const struct disk_request *request, uint64_t now_ns);
/* An ABORT was submitted: what waits is answered now. */
void sim_stream_interrupt(struct sim_disk *disk, uint8_t handle, uint64_t now_ns);
uint64_t sim_stream_next_ns(const struct sim_disk *disk, uint8_t *handle); /* TIME_NEVER: none */
void sim_stream_answer(struct sim_disk *disk, uint8_t handle, struct disk_reply *reply, uint64_t now_ns);
