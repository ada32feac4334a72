/* The final manifest of a job: what every site got. Told on request from memory (show manifest), and written
 * as a file by the source's disk when the job ends, before its slot can be used again.
 *
 * The hash of the object is the SHA-256 of its blocks' SHA-256s, one after the other in their order, and is
 * named so: a hash of the whole file would be a second pass over every byte. A site that is verified has
 * compared every block's hash with the source's, so the same value holds there. Times are durations since
 * the command: a node knows no time of day. */
#pragma once

#include "base/report.h"
#include "node/role/source.h"

#define MANIFEST_BYTES (96u * 1024) /* 63 sites with texts of 256 bytes, escapes included */

/* The one manifest that is being written. */
struct manifest_file {
    bool busy;
    char *text; /* MANIFEST_BYTES */
    struct disk_open open;
};

/* Asks for the object's hash as soon as the last block was read at the source, so that it is known when the
 * last site is done. */
void manifest_tick(struct node *node, struct job *job);
/* A closing job's file; false: call again. */
bool manifest_write(struct node *node, struct job *job);
void manifest_on_disk(struct node *node, struct job *job, const struct disk_reply *reply);
/* Of the newest job of that name, or of all; false: this node is the source of none. */
bool manifest_show(const struct node *node, const char *name, struct report *report);
