#include "disk/flush.h"

#include <errno.h>
#include <unistd.h>

static void *flush_loop(void *argument)
{
    struct flush *flush = argument;
    pthread_mutex_lock(&flush->lock);
    while (!flush->stop) {
        if (flush->noted_bytes < FLUSH_STEP_BYTES) {
            pthread_cond_wait(&flush->wake, &flush->lock);
            continue;
        }
        flush->noted_bytes = 0;
        pthread_mutex_unlock(&flush->lock);
        int error = syncfs(flush->fd) == 0 ? 0 : errno;
        pthread_mutex_lock(&flush->lock);
        if (flush->error == 0)
            flush->error = error;
    }
    pthread_mutex_unlock(&flush->lock);
    return NULL;
}

void flush_start(struct flush *flush, int fd)
{
    flush->fd = fd;
    pthread_mutex_init(&flush->lock, NULL);
    pthread_cond_init(&flush->wake, NULL);
    flush->started = pthread_create(&flush->thread, NULL, flush_loop, flush) == 0;
}

void flush_note(struct flush *flush, uint64_t written_bytes)
{
    if (!flush->started)
        return;
    pthread_mutex_lock(&flush->lock);
    flush->noted_bytes += written_bytes;
    if (flush->noted_bytes >= FLUSH_STEP_BYTES)
        pthread_cond_signal(&flush->wake);
    pthread_mutex_unlock(&flush->lock);
}

int flush_stop(struct flush *flush)
{
    if (flush->started) {
        pthread_mutex_lock(&flush->lock);
        flush->stop = true;
        pthread_cond_signal(&flush->wake);
        pthread_mutex_unlock(&flush->lock);
        pthread_join(flush->thread, NULL);
        pthread_cond_destroy(&flush->wake);
        pthread_mutex_destroy(&flush->lock);
        flush->started = false;
    }
    return flush->error;
}
