/* The control ring between a node's process and its planner: two SPSC byte rings in shared memory, one per
 * direction, each mapped read-write by its producer and read-only by its consumer; the consumer's position
 * lives in its own direction's file.
 *
 * Guarantee: kill -9 of either side at any moment leaves the other working. A record becomes visible by one
 * release store of the producer's position after it was written whole; sizes and masks are private to each
 * side; the reader copies a record before it looks at it and treats every length, id and checksum as
 * hostile. A full ring is a counted refusal, never a wait. Records are those of ctl_encode, padded to 8
 * bytes. No pointers, only offsets; magic, version, sizes and a layout assert.
 *
 * Files can't be sealed, and touching what was cut off a mapped file is SIGBUS. So each call looks at the
 * sizes first: while a file is cut short nothing is read or written, pushing counts as full, the peer's
 * beats and generation are 0. The node then closes the ring and makes it anew (shm_ring_cut); planners see
 * that theirs is stale. A cut between the look and the access reads as zeros and spoils the handle for good (guard.h).
 *
 * The node creates both files (mode 0600: for a planner of its own user, unless shm_ring_give says otherwise) and lives
 * as long as it likes; planners come and go: each attach gets a new generation number, by which the node sees that a
 * planner (re)attached, and a heartbeat counter by which it sees that one is gone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define SHM_RING_BYTES (1u << 20)

struct shm_ring; /* one side's handle: both directions */

/* Node's side: makes `path`.down (node → planner) and `path`.up (planner → node), replacing stale ones. Fails while
 * another living node holds `path`.lock. */
struct shm_ring *shm_ring_create(const char *path, struct err *err);
/* Node's side, as root: for planners of another user, who gets the ring that he produces into, and may read the other
 * one by this group. */
bool shm_ring_give(const struct shm_ring *ring, uid_t user, gid_t group, struct err *err);
/* Planner's side. Fails while there is no node's ring, or another living planner holds it (lock file of the
 * up ring). */
struct shm_ring *shm_ring_attach(const char *path, struct err *err);
/* The node's side also removes the files, if they are still its own. NULL is allowed. */
void shm_ring_close(struct shm_ring *ring);
/* The files are gone, cut short or another node's. Planner's side: close, and attach again; node's: make it anew. */
bool shm_ring_stale(const struct shm_ring *ring);

/* Either side: somebody has cut one of the files short. */
bool shm_ring_cut(const struct shm_ring *ring);

/* Sequence number that the next record to be pushed must carry (see ctl_encode): its place in the stream, in
 * units of 8 bytes. It is unique over both sides' restarts, so that an old record can't pass for a new
 * one. */
uint32_t shm_ring_sequence(const struct shm_ring *ring);
/* A record of ctl_encode with that number. False: full (counted) or too long. */
bool shm_ring_push(struct shm_ring *ring, const uint8_t *record, size_t length);
/* Copies the next record out: its length, 0 when there is none. A bad record (length, sequence number or
 * checksum) resynchronises the ring at the producer's position and is counted. `room` >=
 * CTL_RECORD_BYTES_MAX. A peer may push as fast as this is called: take a bounded number of records per
 * turn. */
size_t shm_ring_pop(struct shm_ring *ring, uint8_t *record, size_t room);

/* Own heartbeat: increments the counter that the other side watches. */
void shm_ring_beat(struct shm_ring *ring);
/* What the other side's counters say now. The node compares over time. */
uint64_t shm_ring_peer_beats(const struct shm_ring *ring);
uint32_t shm_ring_generation(const struct shm_ring *ring); /* attaches so far */

struct shm_ring_counters {
    uint64_t pushed, popped, full, bad;
};
struct shm_ring_counters shm_ring_counters(const struct shm_ring *ring);
