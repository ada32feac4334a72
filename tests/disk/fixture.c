#include "fixture.h"

#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/file_time.h"
#include "base/units.h"
#include "sizes/sizes.h"

void fixture_start(struct fixture *fixture, uint32_t threads, bool sparse)
{
    struct err err;
    memset(fixture, 0, sizeof(*fixture));
    const struct disk_config config = {
        .threads = threads, .nice = 0, .sparse = sparse, .primitives = &sizes_primitives};
    fixture->disk = disk_start(&config, &err);
    assert_non_null(fixture->disk);
    snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/disk-test-XXXXXX");
    assert_non_null(mkdtemp(fixture->directory));
    fixture->open = (struct disk_open){.modified_ns = FIXED_NS,
                                       .mode = 0644,
                                       .exists = PART_EXISTS_FAIL,
                                       .durable = PART_DURABLE_NONE,
                                       .hash = PART_HASH_SHA256};
}

static int remove_entry(const char *path, const struct stat *stat, int kind, struct FTW *walk)
{
    (void)stat, (void)kind, (void)walk;
    return remove(path);
}

void fixture_stop(struct fixture *fixture)
{
    disk_stop(fixture->disk);
    assert_int_equal(nftw(fixture->directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

struct disk_reply ask(struct fixture *fixture, const struct disk_request *request)
{
    struct disk_reply reply;
    assert_true(disk_submit(fixture->disk, request));
    while (disk_collect(fixture->disk, &reply, 1) == 0)
        sched_yield();
    assert_int_equal(reply.op, request->op);
    assert_int_equal(reply.handle, request->handle);
    assert_int_equal(reply.cookie, request->cookie);
    return reply;
}

struct disk_reply ask_op(struct fixture *fixture, enum disk_op op, uint8_t handle)
{
    return ask(fixture,
               &(struct disk_request){.op = op, .handle = handle, .cookie = 77, .open = &fixture->open});
}

struct disk_reply ask_write(struct fixture *fixture, uint8_t handle, uint8_t *data, uint32_t length,
                            uint64_t offset)
{
    return ask(fixture,
               &(struct disk_request){
                   .op = DISK_WRITE, .handle = handle, .data = data, .length = length, .offset = offset});
}

struct disk_reply ask_read(struct fixture *fixture, uint8_t handle, uint8_t *data, uint32_t length,
                           uint64_t offset)
{
    return ask(fixture,
               &(struct disk_request){
                   .op = DISK_READ, .handle = handle, .data = data, .length = length, .offset = offset});
}

struct disk_reply ask_target(struct fixture *fixture, uint8_t handle, const char *file, uint64_t size_bytes)
{
    snprintf(fixture->open.directory, PATH_BYTES, "%s", fixture->directory);
    snprintf(fixture->open.file, PATH_BYTES, "%s", file);
    fixture->open.size_bytes = size_bytes;
    return ask_op(fixture, DISK_OPEN_TARGET, handle);
}

struct disk_reply ask_source(struct fixture *fixture, uint8_t handle, const char *file)
{
    assert_true(name_copy(fixture->open.file, PATH_BYTES, path_of(fixture, file)));
    return ask_op(fixture, DISK_OPEN_SOURCE, handle);
}

const char *path_of(const struct fixture *fixture, const char *file)
{
    static char path[PATH_ROOM];
    snprintf(path, sizeof(path), "%s/%s", fixture->directory, file);
    return path;
}

void make_file(const struct fixture *fixture, const char *file, const void *data, size_t length,
               uint64_t modified_ns)
{
    int fd = open(path_of(fixture, file), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, length), length);
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = (time_t)file_time_seconds(modified_ns), .tv_nsec = (long)file_time_ns(modified_ns)}};
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

bool file_exists(const struct fixture *fixture, const char *file)
{
    struct stat stat;
    return lstat(path_of(fixture, file), &stat) == 0;
}

void assert_content(const struct fixture *fixture, const char *file, const void *data, size_t length)
{
    uint8_t *content = malloc(length + 1);
    int fd = open(path_of(fixture, file), O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, content, length + 1), length);
    assert_memory_equal(content, data, length);
    close(fd);
    free(content);
}

bool knows_attributes(const struct fixture *fixture)
{
    return setxattr(fixture->directory, "user.sluice.test", "1", 1, 0) == 0;
}

void assert_failed(const struct disk_reply *reply, const char *text_part)
{
    assert_int_equal(reply->status, DISK_FAILED);
    if (strstr(reply->text, text_part) == NULL)
        fail_msg("'%s' is not in '%s'", text_part, reply->text);
}
