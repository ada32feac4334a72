/* The final manifest of a job: what every site got. Told on request from memory (show manifest), and
 * written as a file by the source's disk when the job ends, before its slot can be used again: but a
 * folder that hangs holds up nobody for longer than stall_timeout. Then, and where it cannot be written,
 * the job's note tells so. Each file that is being written has a place and a handle of its own, which it
 * keeps until the disk has answered.
 *
 * The hash of the object is the SHA-256 of its blocks' SHA-256s, one after the other in their order, and is
 * named so: a hash of the whole file would be a second pass over every byte. A site that is verified has
 * compared every block's hash with the source's, so the same value holds there. Times are durations since
 * the command: a node knows no time of day. */
#pragma once

#include "base/report.h"
#include "node/role/source.h"

#define MANIFEST_BYTES (96u * 1024) /* 63 sites with texts of 256 bytes, escapes included */

#define MANIFESTS_MAX   4             /* at once; half of the disk's threads for what may take long */
#define MANIFEST_HANDLE NODE_JOBS_MAX /* of the first, at the disk; the next ones follow */
_Static_assert(MANIFEST_HANDLE + MANIFESTS_MAX <= DISK_HANDLES_MAX, "each has a handle");
_Static_assert(NODE_JOBS_MAX <= DISK_STREAMS_MAX, "each may be a stream");

/* A manifest that is being written. */
struct manifest_file {
    bool busy;
    uint32_t job; /* id */
    char *text;   /* MANIFEST_BYTES */
    struct disk_open open;
};

/* Asks for the object's hash as soon as the last block was read at the source, so that it is known when the
 * last site is done. */
void manifest_tick(struct node *node, struct job *job);
void manifest_on_digest(struct job *job, const struct disk_reply *reply);
/* A closing job's file; false: call again. */
bool manifest_write(struct node *node, struct job *job);
/* The disk's answer to a handle from MANIFEST_HANDLE on; its job may be gone by now. */
void manifest_on_disk(struct node *node, const struct disk_reply *reply);
/* Of the newest job of that name, or of all; false: this node is the source of none. */
bool manifest_show(const struct node *node, const char *name, struct report *report);
