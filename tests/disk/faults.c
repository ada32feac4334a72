#include "faults.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/units.h"

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_syncfs(int fd);
int __wrap_syncfs(int fd);
ssize_t __real_pread64(int fd, void *data, size_t length, off_t offset);
ssize_t __wrap_pread64(int fd, void *data, size_t length, off_t offset);
ssize_t __real_pwrite64(int fd, const void *data, size_t length, off_t offset);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t length, off_t offset);

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __real_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags);
int __wrap_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags);
int __real_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int __real_fstatvfs64(int fd, struct statvfs *stat);
int __wrap_fstatvfs64(int fd, struct statvfs *stat);

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool closed; /* the gate */
    int waiting;
    dev_t hung; /* 0: none */
    int hanging;
    int error;
    ino_t synced[FAULTS_SYNCED_MAX];
    uint32_t synced_count;
} faults = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static _Atomic size_t cut_bytes;
static _Atomic unsigned lacking; /* enum faults_lack */
static _Atomic int lack_error;

static void set_gate(bool closed)
{
    pthread_mutex_lock(&faults.lock);
    faults.closed = closed;
    pthread_cond_broadcast(&faults.changed);
    pthread_mutex_unlock(&faults.lock);
}

void faults_close_gate(void)
{
    set_gate(true);
}

void faults_open_gate(void)
{
    set_gate(false);
}

void faults_await_at_gate(void)
{
    pthread_mutex_lock(&faults.lock);
    while (faults.waiting == 0)
        pthread_cond_wait(&faults.changed, &faults.lock);
    pthread_mutex_unlock(&faults.lock);
}

void faults_hang(dev_t device)
{
    pthread_mutex_lock(&faults.lock);
    faults.hung = device;
    pthread_cond_broadcast(&faults.changed);
    pthread_mutex_unlock(&faults.lock);
}

void faults_await_hanging(int count)
{
    pthread_mutex_lock(&faults.lock);
    while (faults.hanging < count)
        pthread_cond_wait(&faults.changed, &faults.lock);
    pthread_mutex_unlock(&faults.lock);
}

void faults_fail_sync(int error)
{
    pthread_mutex_lock(&faults.lock);
    faults.error = error;
    pthread_mutex_unlock(&faults.lock);
}

void faults_cut(size_t bytes_max)
{
    atomic_store(&cut_bytes, bytes_max);
}

void faults_lack(unsigned lacks, int error)
{
    atomic_store(&lack_error, error);
    atomic_store(&lacking, lacks);
}

void faults_reset(void)
{
    faults_lack(0, 0);
    faults_cut(0);
    faults_fail_sync(0);
    faults_open_gate();
    faults_hang(0);
    pthread_mutex_lock(&faults.lock);
    faults.synced_count = 0;
    pthread_mutex_unlock(&faults.lock);
}

bool faults_synced(const char *path)
{
    struct stat stat_of;
    bool found = false;
    if (stat(path, &stat_of) != 0)
        return false;
    pthread_mutex_lock(&faults.lock);
    for (uint32_t at = 0; at < faults.synced_count; at++)
        found = found || faults.synced[at] == stat_of.st_ino;
    pthread_mutex_unlock(&faults.lock);
    return found;
}

/* The errno to fail with, or 0. */
static int pass_gate(int fd)
{
    struct stat stat_of;
    pthread_mutex_lock(&faults.lock);
    if (faults.synced_count < FAULTS_SYNCED_MAX && fstat(fd, &stat_of) == 0)
        faults.synced[faults.synced_count++] = stat_of.st_ino;
    faults.waiting++;
    pthread_cond_broadcast(&faults.changed);
    while (faults.closed)
        pthread_cond_wait(&faults.changed, &faults.lock);
    faults.waiting--;
    int error = faults.error;
    pthread_mutex_unlock(&faults.lock);
    return error;
}

int __wrap_fsync(int fd)
{
    int error = pass_gate(fd);
    if (error == 0)
        return __real_fsync(fd);
    errno = error;
    return -1;
}

int __wrap_syncfs(int fd)
{
    int error = pass_gate(fd);
    if (error == 0)
        return __real_syncfs(fd);
    errno = error;
    return -1;
}

static void hang(int fd)
{
    struct stat stat_of;
    pthread_mutex_lock(&faults.lock);
    if (faults.hung != 0 && fstat(fd, &stat_of) == 0 && stat_of.st_dev == faults.hung) {
        faults.hanging++;
        pthread_cond_broadcast(&faults.changed);
        while (faults.hung == stat_of.st_dev)
            pthread_cond_wait(&faults.changed, &faults.lock);
        faults.hanging--;
    }
    pthread_mutex_unlock(&faults.lock);
}

static size_t cut(size_t length)
{
    size_t bytes_max = atomic_load(&cut_bytes);
    return bytes_max == 0 ? length : MIN(length, bytes_max);
}

ssize_t __wrap_pread64(int fd, void *data, size_t length, off_t offset)
{
    hang(fd);
    return __real_pread64(fd, data, cut(length), offset);
}

ssize_t __wrap_pwrite64(int fd, const void *data, size_t length, off_t offset)
{
    hang(fd);
    return __real_pwrite64(fd, data, cut(length), offset);
}

static bool lacks(enum faults_lack lack, int error)
{
    if ((atomic_load(&lacking) & lack) == 0)
        return false;
    errno = error;
    return true;
}

int __wrap_flock(int fd, int operation)
{
    return lacks(FAULTS_NO_LOCKS, atomic_load(&lack_error)) ? -1 : __real_flock(fd, operation);
}

int __wrap_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
    return lacks(FAULTS_NO_LINKS, atomic_load(&lack_error)) ? -1
                                                            : __real_linkat(from_fd, from, to_fd, to, flags);
}

int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    return flags != 0 && lacks(FAULTS_NO_LINKS, EINVAL) ? -1
                                                        : __real_renameat2(from_fd, from, to_fd, to, flags);
}

int __wrap_fstatvfs64(int fd, struct statvfs *stat)
{
    if (lacks(FAULTS_NO_STATVFS, atomic_load(&lack_error)))
        return -1;
    int result = __real_fstatvfs64(fd, stat);
    if (result == 0 && lacks(FAULTS_SPACE_UNKNOWN, 0))
        memset(stat, 0, sizeof(*stat));
    return result;
}
