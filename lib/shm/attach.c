/* Files, mappings and locks: how the two sides find each other, and how a successor takes over.
 *
 * The node locks (flock) a file of its own, the planner the one that it produces into; the kernel drops the lock with
 * the process, however that ends. New files appear by rename, whole; a pair belongs together when the instance is the
 * same. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/handle.h"

#define SUFFIX_BYTES 16

static bool file_path(char *path, size_t room, const char *base, const char *suffix, struct err *err)
{
    int length = snprintf(path, room, "%s%s", base, suffix);
    if (length < 0 || (size_t)length >= room - SUFFIX_BYTES)
        return err_set(err, "control ring %s: path too long", base);
    return true;
}

static struct shm_file *map_file(int file, int protection, const char *path, struct err *err)
{
    void *mapping = mmap(NULL, SHM_FILE_BYTES, protection, MAP_SHARED, file, 0);
    if (mapping == MAP_FAILED) {
        err_set(err, "%s: mmap: %s", path, strerror(errno));
        return NULL;
    }
    if (guard_watch(mapping, SHM_FILE_BYTES))
        return mapping;
    munmap(mapping, SHM_FILE_BYTES);
    err_set(err, "%s: more than %d files of control rings are open", path, GUARD_MAPPINGS_MAX);
    return NULL;
}

/* NULL is allowed. */
static void unmap_file(const struct shm_file *mapping)
{
    if (mapping == NULL)
        return;
    guard_forget(mapping);
    munmap((void *)(uintptr_t)mapping, SHM_FILE_BYTES);
}

/* A file of full size with its blocks allocated: a full file system is an error here, not a fault later. */
static int make_file(const char *path, struct err *err)
{
    unlink(path);
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) {
        err_set(err, "%s: %s", path, strerror(errno));
        return -1;
    }
    int refusal = posix_fallocate(file, 0, SHM_FILE_BYTES);
    if (refusal == 0)
        return file;
    err_set(err, "%s: %s", path, strerror(refusal));
    unlink(path);
    close(file);
    return -1;
}

/* Makes one file under a passing name, with its header, and moves it to its place; returns it open. The node's own
 * file is mapped read-write. */
static int publish_file(const char *path, uint64_t instance, bool own, struct shm_file **mapping,
                        struct err *err)
{
    char passing[PATH_MAX];
    if (!file_path(passing, sizeof(passing), path, ".new", err))
        return -1;
    int file = make_file(passing, err);
    if (file < 0)
        return -1;
    const struct shm_file *none = NULL;
    struct {
        uint32_t magic, version, header_bytes, ring_bytes;
        uint64_t instance;
    } head = {SHM_MAGIC, SHM_VERSION, SHM_HEADER_BYTES, SHM_RING_BYTES, instance};
    _Static_assert(sizeof(head) == offsetof(struct shm_file, instance) + sizeof(none->instance),
                   "the head is written as it lies in the file");
    *mapping = NULL;
    if (pwrite(file, &head, sizeof(head), 0) != (ssize_t)sizeof(head))
        err_set(err, "%s: %s", passing, strerror(errno));
    else
        *mapping = map_file(file, own ? PROT_READ | PROT_WRITE : PROT_READ, passing, err);
    if (*mapping != NULL && rename(passing, path) == 0)
        return file;
    if (*mapping != NULL) {
        err_set(err, "%s: %s", path, strerror(errno));
        unmap_file(*mapping);
        *mapping = NULL;
    }
    unlink(passing);
    close(file);
    return -1;
}

/* A lock that is held is a node's that lives. It lies on a file of its own, which nobody else can open: whoever may
 * read a file can lock it. */
static bool lock_node(struct shm_ring *ring, struct err *err)
{
    char path[PATH_MAX];
    struct stat status = {.st_nlink = 0};
    if (!file_path(path, sizeof(path), ring->path, ".lock", err))
        return false;
    while (status.st_nlink == 0) { /* the node before removed it in between */
        if (ring->lock_file >= 0)
            close(ring->lock_file);
        ring->lock_file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (ring->lock_file < 0)
            return err_set(err, "%s: %s", path, strerror(errno));
        if (flock(ring->lock_file, LOCK_EX | LOCK_NB) != 0)
            return err_set(err, "%s: another node is using this control ring", path);
        if (fstat(ring->lock_file, &status) != 0)
            return err_set(err, "%s: %s", path, strerror(errno));
    }
    return true;
}

static bool remember_down(struct shm_ring *ring, int file)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        return false;
    ring->down_inode = status.st_ino;
    ring->down_device = status.st_dev;
    return true;
}

static bool create_files(struct shm_ring *ring, struct err *err)
{
    char up[PATH_MAX], down[PATH_MAX];
    uint64_t instance;
    if (!file_path(up, sizeof(up), ring->path, ".up", err) ||
        !file_path(down, sizeof(down), ring->path, ".down", err) || !lock_node(ring, err))
        return false;
    if (getrandom(&instance, sizeof(instance), 0) != (ssize_t)sizeof(instance))
        return err_set(err, "getrandom: %s", strerror(errno));
    struct shm_file *up_mapping;
    int up_file = publish_file(up, instance, false, &up_mapping, err);
    if (up_file < 0)
        return false;
    ring->peer = up_mapping;
    ring->peer_file = up_file;
    ring->own_file = publish_file(down, instance, true, &ring->own, err);
    if (ring->own_file < 0)
        unlink(up);
    return ring->own_file >= 0 &&
           (remember_down(ring, ring->own_file) || err_set(err, "%s: %s", down, strerror(errno)));
}

static struct shm_ring *new_handle(const char *path, bool node, struct err *err)
{
    struct shm_ring *ring = calloc(1, sizeof(*ring));
    if (ring == NULL || strlen(path) >= sizeof(ring->path)) {
        err_set(err, "control ring: %s", ring == NULL ? "out of memory" : "path too long");
        free(ring);
        return NULL;
    }
    strcpy(ring->path, path);
    ring->own_file = ring->peer_file = ring->lock_file = -1;
    ring->node = node;
    return ring;
}

struct shm_ring *shm_ring_create(const char *path, struct err *err)
{
    struct shm_ring *ring = new_handle(path, true, err);
    if (ring != NULL && !create_files(ring, err)) {
        shm_ring_close(ring);
        return NULL;
    }
    return ring;
}

bool shm_ring_give(const struct shm_ring *ring, uid_t user, gid_t group, struct err *err)
{
    bool given = fchown(ring->own_file, (uid_t)-1, group) == 0 && fchmod(ring->own_file, 0640) == 0 &&
                 fchown(ring->peer_file, user, group) == 0;
    return given || err_set(err, "%s: to be given to user %u: %s", ring->path, user, strerror(errno));
}

static bool header_fits(const struct shm_file *file, const char *path, struct err *err)
{
    if (file->magic != SHM_MAGIC)
        return err_set(err, "%s is no control ring", path);
    if (file->version != SHM_VERSION || file->header_bytes != SHM_HEADER_BYTES ||
        file->ring_bytes != SHM_RING_BYTES)
        return err_set(err, "%s: ring version %u, expected %u", path, file->version, SHM_VERSION);
    return true;
}

/* Opens one file, checks that it is long enough to be mapped whole, and that it is a ring. */
static int open_file(const char *path, int mode, const struct shm_file **mapping, struct err *err)
{
    struct stat status;
    int file = open(path, mode | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) {
        err_set(err, "%s: %s", path, strerror(errno));
        return -1;
    }
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < SHM_FILE_BYTES) {
        err_set(err, "%s is no control ring", path);
        close(file);
        return -1;
    }
    *mapping = map_file(file, mode == O_RDWR ? PROT_READ | PROT_WRITE : PROT_READ, path, err);
    if (*mapping != NULL && header_fits(*mapping, path, err))
        return file;
    close(file);
    return -1;
}

static bool attach_files(struct shm_ring *ring, struct err *err)
{
    char up[PATH_MAX], down[PATH_MAX];
    if (!file_path(up, sizeof(up), ring->path, ".up", err) ||
        !file_path(down, sizeof(down), ring->path, ".down", err))
        return false;
    ring->peer_file = open_file(down, O_RDONLY, &ring->peer, err);
    if (ring->peer_file < 0)
        return false;
    bool remembered = remember_down(ring, ring->peer_file);
    const struct shm_file *own = NULL;
    ring->own_file = open_file(up, O_RDWR, &own, err);
    ring->own = (struct shm_file *)(uintptr_t)own;
    if (ring->own_file < 0)
        return false;
    if (!remembered || ring->own->instance != ring->peer->instance)
        return err_set(err, "%s: the node is just starting", ring->path);
    if (flock(ring->own_file, LOCK_EX | LOCK_NB) != 0)
        return err_set(err, "%s: another planner is attached", up);
    return true;
}

/* A successor goes on where its predecessor was killed. Positions that can't be right (only a peer gone wild
 * writes such) give way to the node's, which lose what was under way. */
static void take_over(struct shm_ring *ring)
{
    uint64_t node_consumed = __atomic_load_n(&ring->peer->consumed, __ATOMIC_ACQUIRE);
    uint64_t node_produced = __atomic_load_n(&ring->peer->produced, __ATOMIC_ACQUIRE);
    ring->produced = __atomic_load_n(&ring->own->produced, __ATOMIC_RELAXED);
    ring->consumed = __atomic_load_n(&ring->own->consumed, __ATOMIC_RELAXED);
    if (ring->produced % SHM_ALIGN_BYTES != 0 || ring->produced - node_consumed > SHM_RING_BYTES)
        ring->produced = node_consumed;
    if (ring->consumed % SHM_ALIGN_BYTES != 0 || node_produced - ring->consumed > SHM_RING_BYTES)
        ring->consumed = node_produced;
    __atomic_store_n(&ring->own->produced, ring->produced, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->own->consumed, ring->consumed, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->own->generation, ring->own->generation + 1, __ATOMIC_RELEASE);
}

struct shm_ring *shm_ring_attach(const char *path, struct err *err)
{
    struct shm_ring *ring = new_handle(path, false, err);
    if (ring == NULL)
        return NULL;
    if (!attach_files(ring, err) || shm_ring_stale(ring)) {
        if (ring->own_file >= 0 && shm_ring_stale(ring))
            err_set(err, "%s: the node is just starting", path);
        shm_ring_close(ring);
        return NULL;
    }
    take_over(ring);
    return ring;
}

/* What lies at the path is not what this side has open. */
static bool is_replaced(const struct shm_ring *ring)
{
    char down[PATH_MAX + SUFFIX_BYTES];
    struct stat status;
    snprintf(down, sizeof(down), "%s.down", ring->path);
    return stat(down, &status) != 0 || status.st_ino != ring->down_inode ||
           status.st_dev != ring->down_device;
}

bool shm_ring_stale(const struct shm_ring *ring)
{
    return handle_cut(ring) || is_replaced(ring);
}

static void remove_files(const struct shm_ring *ring)
{
    char path[PATH_MAX + SUFFIX_BYTES];
    snprintf(path, sizeof(path), "%s.down", ring->path);
    unlink(path);
    snprintf(path, sizeof(path), "%s.up", ring->path);
    unlink(path);
    snprintf(path, sizeof(path), "%s.lock", ring->path);
    unlink(path);
}

void shm_ring_close(struct shm_ring *ring)
{
    if (ring == NULL)
        return;
    if (ring->node && ring->own_file >= 0 && !is_replaced(ring))
        remove_files(ring);
    unmap_file(ring->own);
    unmap_file(ring->peer);
    if (ring->own_file >= 0)
        close(ring->own_file);
    if (ring->peer_file >= 0)
        close(ring->peer_file);
    if (ring->lock_file >= 0)
        close(ring->lock_file);
    free(ring);
}
