/* What each request of a stream does to its file (stream_file.h), and what goes on with one that waits.
 *
 * Thread: the handle's own, of stream_thread.c. */
#pragma once

#include "disk/stream_file.h"

/* Takes any request of a stream. True: *reply is the answer. */
bool stream_serve(struct stream_file *file, const struct disk_request *request, uint64_t now_ns,
                  struct disk_reply *reply);
/* Goes on with what waits. True: *reply is the answer. */
bool stream_try(struct stream_file *file, uint64_t now_ns, struct disk_reply *reply);
