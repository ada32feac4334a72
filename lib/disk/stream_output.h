/* Where a stream goes at a site: the payloads in order, as fast as somebody takes them. Nothing here waits,
 * but for the disk that a recording is written to.
 *
 * Thread: the handle's own, of stream_thread.c. */
#pragma once

#include "disk/stream_file.h"

/* DISK_FAILED: text says why, nothing is open. */
enum disk_status stream_output_open(struct stream_file *file, const struct disk_open *open_as,
                                    char text[DISK_TEXT_BYTES]);
/* Hands out what it can of the DRAIN that waits. True: *reply is the answer. */
bool stream_output_drain(struct stream_file *file, uint64_t now_ns, struct disk_reply *reply);
/* The verified end: a recording gets its name, a reader sees the end. DISK_OK: text is the path. */
enum disk_status stream_output_finish(struct stream_file *file, char text[DISK_TEXT_BYTES]);
