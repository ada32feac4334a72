/* A directory as a target: NAME.part is a directory that blocks are unpacked into as they come, in any order
 * and by several threads; it becomes NAME when all is there.
 *
 * The index is believed when all of it has come and its SHA-256 is the one the job names; then its
 * directories are made. Blocks that come before wait in a file without a name. Until FINISH all directories
 * are 0700 and files that came in several pieces 0600. Blocking calls, made by the disk threads only; WRITEs
 * and READs run side by side. */
#pragma once

#include "disk/budget.h"
#include "disk/place.h"

struct tree_sink;

/* Checks policy and space and makes NAME.part, locked as long as it is open; with DISK_ALREADY_THERE the tree
 * at NAME is open for READs. `place` (open) and `index_memory` stay the caller's and must outlive the sink.
 * NULL: reply->text says why. */
struct tree_sink *tree_sink_open(struct place *place, const struct disk_open *open,
                                 struct budget *index_memory, bool sparse, struct disk_reply *reply);
enum disk_status tree_sink_write(struct tree_sink *sink, const struct disk_request *request,
                                 char text[DISK_TEXT_BYTES]);
enum disk_status tree_sink_read(struct tree_sink *sink, const struct disk_request *request,
                                char text[DISK_TEXT_BYTES]);
/* Hard links, what split files and directories lack, syncfs, rename. Failed: abort may follow. */
enum disk_status tree_sink_finish(struct tree_sink *sink, char text[DISK_TEXT_BYTES]);
/* After the end: what of the tree this directory does not keep, with counts; empty: nothing, or not known (the
 * tree was there already). */
void tree_sink_tell_lost(const struct tree_sink *sink, char text[DISK_TEXT_BYTES]);
/* Removes NAME.part. DISK_ALREADY_THERE: it has become NAME, or was there; nothing is removed. */
enum disk_status tree_sink_abort(struct tree_sink *sink, char text[DISK_TEXT_BYTES]);
void tree_sink_close(struct tree_sink *sink);
