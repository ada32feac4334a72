/* What comes into a stream: bytes as they are there, in symbols that are full or old enough. Nothing here
 * waits.
 *
 * Thread: the handle's own, of stream_thread.c. */
#pragma once

#include "disk/stream_file.h"

/* DISK_FAILED: text says why, nothing is open. */
enum disk_status stream_input_open(struct stream_file *file, const struct disk_open *open_as,
                                   char text[DISK_TEXT_BYTES]);
/* Fills symbols of the FEED that waits. True: *reply is the answer. */
bool stream_input_feed(struct stream_file *file, uint64_t now_ns, struct disk_reply *reply);
