/* Starts writing a filesystem back while files still come, so that the syncfs at the end finds little to do:
 * a small file alone would be written by itself, one after another; syncfs writes what lies together at once.
 * A thread of its own waits for it. Blocking calls, made by the disk threads only; any of them may note. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define FLUSH_STEP_BYTES (64ULL << 20)

struct flush {
    bool started;
    int fd; /* the caller's */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    uint64_t noted_bytes; /* since the last syncfs began */
    bool stop;
    int error; /* of the first that failed: the kernel tells of each only once */
};

/* Without a thread everything is left to the end. */
void flush_start(struct flush *flush, int fd);
void flush_note(struct flush *flush, uint64_t written_bytes);
/* Waits for the syncfs under way. 0, or the errno of one that failed. May be called again, and without a
 * start. */
int flush_stop(struct flush *flush);
