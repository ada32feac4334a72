#include "disk/place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/text.h"

#define OPEN_ATTEMPTS_MAX 8
#define OPEN_REST_US      1000
#define DIGEST_BYTES      18 /* ~ and 16 digits, and a zero */

void place_show(char shown[PLACE_SHOWN_BYTES], const char *path)
{
    size_t length = strlen(path);
    if (length < PLACE_SHOWN_BYTES) {
        memcpy(shown, path, length + 1);
        return;
    }
    memcpy(shown, "...", 3);
    memcpy(shown + 3, path + length - (PLACE_SHOWN_BYTES - 4), PLACE_SHOWN_BYTES - 3);
}

bool place_say(char text[DISK_TEXT_BYTES], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, DISK_TEXT_BYTES, format, arguments);
    va_end(arguments);
    text_make_printable(text);
    return false;
}

bool place_fail(char text[DISK_TEXT_BYTES], const char *what, const char *shown, const char *suffix)
{
    return place_say(text, "%s %s%s: %s", what, shown, suffix, strerrordesc_np(errno));
}

/* ---- the way to NAME ---- */

static bool is_same(int directory_fd, const char *name, int fd)
{
    struct stat there, here;
    return fstat(fd, &here) == 0 && fstatat(directory_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* Opens one directory further down, after making it where it is missing. As long as its descriptor is open a
 * shared lock tells other places that somebody is in it, see remove_made. Those lock it for a moment only; whoever
 * keeps it locked (anybody may) keeps nobody out who is no longer patient. -1: errno. */
static int descend(struct place *place, const char *name, bool patient)
{
    struct stat stat;
    bool made = false;
    int fd = openat(place->directory_fd, name, PLACE_DIRECTORY);
    if (fd < 0 && errno == ENOENT) {
        made = mkdirat(place->directory_fd, name, 0755) == 0;
        if (!made && errno != EEXIST)
            return -1;
        fd = openat(place->directory_fd, name, PLACE_DIRECTORY);
    }
    if (fd < 0)
        return -1;
    bool locked = flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK; /* some filesystems can't */
    if ((locked || !patient) && fstat(fd, &stat) == 0 && stat.st_nlink != 0) {
        place->made = made ? place->made + 1 : 0; /* above one that was there nothing is ours alone */
        return fd;
    }
    close(fd);
    errno = ESTALE; /* another place is removing it, or has */
    return -1;
}

static void go_to(struct place *place, int fd)
{
    close(place->directory_fd);
    place->directory_fd = fd;
}

static uint64_t digest_of(const char *name)
{
    struct digest digest;
    digest_init(&digest);
    for (; *name != '\0'; name++)
        digest_add(&digest, (unsigned char)*name);
    return digest.value;
}

/* The longest name that the filesystem takes. */
static size_t name_bytes_max(int directory_fd)
{
    long most = fpathconf(directory_fd, _PC_NAME_MAX);
    return most > 0 && most < NAME_MAX ? (size_t)most : NAME_MAX;
}

/* NAME.part; where that is too long, NAME's beginning, up to a character's end, a digest of all of it, and .part. */
static void name_part(struct place *place)
{
    size_t length = strlen(place->name), most = name_bytes_max(place->directory_fd);
    char digest[DIGEST_BYTES] = "";
    if (length + strlen(PLACE_PART_SUFFIX) > most && most > DIGEST_BYTES + strlen(PLACE_PART_SUFFIX)) {
        snprintf(digest, sizeof(digest), "~%016" PRIx64, digest_of(place->name));
        length = most - strlen(digest) - strlen(PLACE_PART_SUFFIX);
        while (length > 1 && ((unsigned char)place->name[length] & 0xc0) == 0x80)
            length--;
    }
    snprintf(place->part, sizeof(place->part), "%.*s%s%s", (int)length, place->name, digest,
             PLACE_PART_SUFFIX);
}

/* False: errno. */
static bool open_way(struct place *place, const char *file, bool patient)
{
    const char *rest = file;
    for (const char *slash = strchr(rest, '/'); slash != NULL; slash = strchr(rest, '/')) {
        char name[PATH_BYTES];
        snprintf(name, sizeof(name), "%.*s", (int)(slash - rest), rest);
        int fd = descend(place, name, patient);
        if (fd < 0)
            return false;
        go_to(place, fd);
        place->depth++;
        rest = slash + 1;
        snprintf(place->way, sizeof(place->way), "%.*s", (int)(slash - file), file);
    }
    snprintf(place->name, sizeof(place->name), "%s", rest);
    name_part(place);
    return true;
}

/* Goes up again through the directories that were made on the way and removes them, as far as they are empty
 * and nobody else is in them: without locks nobody can tell, and they stay. */
static void remove_made(struct place *place)
{
    char path[sizeof(place->path)];
    snprintf(path, sizeof(path), "%s", place->way);
    for (bool gone = true; gone && place->made > 0; place->made--) {
        char *slash = strrchr(path, '/');
        const char *name = slash == NULL ? path : slash + 1;
        int above_fd = openat(place->directory_fd, "..", PLACE_DIRECTORY);
        if (above_fd < 0)
            return;
        gone = is_same(above_fd, name, place->directory_fd) &&
               flock(place->directory_fd, LOCK_EX | LOCK_NB) == 0 &&
               unlinkat(above_fd, name, AT_REMOVEDIR) == 0;
        go_to(place, above_fd);
        if (slash != NULL)
            *slash = '\0';
    }
}

static void name_place(struct place *place, const char *directory, const char *file)
{
    snprintf(place->path, sizeof(place->path), "%s/%s", directory, file);
    place_show(place->shown, place->path);
}

bool place_open(struct place *place, const char *directory, const char *file, char text[DISK_TEXT_BYTES])
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        bool good = place_open_in(place, fd, directory, file, text);
        close(fd);
        return good;
    }
    name_place(place, directory, file);
    return place_say(text, "%s: its directory: %s", place->shown, strerrordesc_np(errno));
}

bool place_open_in(struct place *place, int directory_fd, const char *directory, const char *file,
                   char text[DISK_TEXT_BYTES])
{
    name_place(place, directory, file);
    if (!path_stays_below(file))
        return place_say(text, "%s: not a path below the directory", place->shown);
    for (int attempt = 0; attempt < OPEN_ATTEMPTS_MAX; attempt++) {
        place->made = place->depth = 0;
        place->lacks = 0;
        place->way[0] = '\0';
        place->directory_fd = fcntl(directory_fd, F_DUPFD_CLOEXEC, 0);
        if (place->directory_fd < 0)
            return place_fail(text, "open", place->shown, "");
        if (open_way(place, file, attempt + 1 < OPEN_ATTEMPTS_MAX))
            return true;
        int cause = errno;
        place_undo(place);
        errno = cause;
        if (cause != ESTALE)
            break;
        usleep(OPEN_REST_US);
    }
    return place_say(text, "%s: a directory on the way: %s", place->shown,
                     errno == ELOOP || errno == ENOTDIR ? "Not a directory, or a symbolic link"
                                                        : strerrordesc_np(errno));
}

void place_close(struct place *place)
{
    close(place->directory_fd);
}

void place_undo(struct place *place)
{
    remove_made(place);
    place_close(place);
}

bool place_sync(const struct place *place, char text[DISK_TEXT_BYTES])
{
    int fd = place->directory_fd;
    bool good = fsync(fd) == 0;
    for (uint32_t above = 0; good && above < place->depth; above++) {
        int above_fd = openat(fd, "..", PLACE_DIRECTORY);
        if (fd != place->directory_fd)
            close(fd);
        fd = above_fd;
        good = fd >= 0 && fsync(fd) == 0;
    }
    int cause = errno;
    if (fd >= 0 && fd != place->directory_fd)
        close(fd);
    errno = cause;
    return good || place_say(text, "%s is there, but fsync of its directory: %s", place->shown,
                             strerrordesc_np(errno));
}

bool place_full(char text[DISK_TEXT_BYTES], const char *shown, const char *suffix, int fd,
                struct place_need need)
{
    struct statvfs stat;
    bool quota = errno == EDQUOT;
    if (quota)
        return place_say(text, "no space left for %s%s: the quota is used up", shown, suffix);
    if (fstatvfs(fd, &stat) != 0)
        return place_say(text, "no space left for %s%s", shown, suffix);
    if (stat.f_files != 0 && stat.f_favail < MAX(need.files, (uint64_t)1))
        return place_say(text, "no space left for %s%s: %" PRIu64 " files needed, %" PRIu64 " inodes free",
                         shown, suffix, MAX(need.files, (uint64_t)1), (uint64_t)stat.f_favail);
    uint64_t free_bytes = place_free_bytes(&stat);
    if (free_bytes == UINT64_MAX)
        return place_say(text, "no space left for %s%s", shown, suffix);
    if (need.bytes == 0)
        return place_say(text, "no space left for %s%s: %" PRIu64 " MB free", shown, suffix,
                         free_bytes / 1000000);
    return place_say(text, "no space left for %s%s: %" PRIu64 " MB needed, %" PRIu64 " MB free", shown,
                     suffix, need.bytes / 1000000 + 1, free_bytes / 1000000);
}

uint64_t place_free_bytes(const struct statvfs *stat)
{
    return stat->f_blocks == 0 || stat->f_frsize == 0 ? UINT64_MAX
                                                      : (uint64_t)stat->f_bavail * stat->f_frsize;
}

bool place_lock(struct place *place, int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    if (errno != ENOLCK && errno != ENOSYS && errno != EOPNOTSUPP)
        return false;
    place->lacks |= PLACE_NO_LOCKS;
    return true;
}

void place_tell_lacks(const struct place *place, char note[DISK_TEXT_BYTES])
{
    static const struct {
        enum place_lack lack;
        const char *text;
    } rows[] = {
        {PLACE_NO_LOCKS, "its filesystem has no locks: nothing keeps other writers out of NAME.part"},
        {PLACE_NO_NOREPLACE,
         "its filesystem can't rename without replacing: NAME was looked for just before"},
    };
    size_t length = strlen(note);
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
        if ((place->lacks & rows[row].lack) != 0 && length < DISK_TEXT_BYTES)
            length += (size_t)snprintf(note + length, DISK_TEXT_BYTES - length, "%s%s",
                                       length > 0 ? "; " : "", rows[row].text);
}

bool place_write_fail(char text[DISK_TEXT_BYTES], const char *what, const struct place *place,
                      const char *suffix, struct place_need need)
{
    return place_is_full() ? place_full(text, place->shown, suffix, place->directory_fd, need)
                           : place_fail(text, what, place->shown, suffix);
}

bool place_check_space(const struct place *place, int fd, uint64_t size_bytes, char text[DISK_TEXT_BYTES])
{
    struct statvfs stat;
    if (fstatvfs(fd, &stat) != 0 || place_free_bytes(&stat) >= size_bytes)
        return true;
    errno = ENOSPC;
    return place_full(text, place->shown, "", fd, (struct place_need){.bytes = size_bytes});
}
