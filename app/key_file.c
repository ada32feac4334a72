#include "app/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/places.h"
#include "crypt/crypt.h"
#include "seal/key_text.h"
#include "seal/wipe.h"

#define OTHERS     077
#define FILE_BYTES KEY_TEXT_PRIVATE_BYTES /* a line end stands in the place of the zero */
#define NEW_SUFFIX ".XXXXXX"

static bool fail(struct err *err, const char *path, const char *what)
{
    int error = errno;
    return err_set(err, "%s: %s: %s", path, what, strerrordesc_np(error));
}

/* Into `folder`: what is before the last slash. */
static void folder_of(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    snprintf(folder, PATH_MAX, "%.*s", slash == NULL ? 1 : (int)(slash - path) + (slash == path),
             slash == NULL ? "." : path);
}

/* So that the name is there after a crash too. */
static bool sync_folder(const char *path)
{
    char folder[PATH_MAX];
    folder_of(path, folder);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return good;
}

static bool write_key(int fd)
{
    uint8_t key[SEAL_KEY_BYTES];
    char text[KEY_TEXT_PRIVATE_BYTES];
    crypt_random(key, sizeof(key));
    key_text_private(text, key);
    text[FILE_BYTES - 1] = '\n';
    errno = ENOSPC; /* of a write that is cut short */
    bool good = write(fd, text, FILE_BYTES) == (ssize_t)FILE_BYTES && fsync(fd) == 0;
    wipe(text, sizeof(text));
    wipe(key, sizeof(key));
    return good;
}

/* A link takes no name that is taken, unlike a rename. */
static bool give_name(const char *new_path, const char *path, bool *made, struct err *err)
{
    *made = link(new_path, path) == 0;
    if (!*made && errno != EEXIST)
        return fail(err, path, "can't be made");
    return sync_folder(path) || fail(err, path, "its folder can't be made durable");
}

static bool is_there(const char *path)
{
    return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool key_file_make(const char *path, bool *made, struct err *err)
{
    char new_path[PATH_MAX], folder[PATH_MAX];
    *made = false;
    if (is_there(path))
        return true;
    if (crypt_primitives(err) == NULL)
        return false;
    folder_of(path, folder);
    if (!place_make(folder, 0700))
        return fail(err, folder, "a folder for the key can't be made");
    snprintf(new_path, sizeof(new_path), "%.*s%s", (int)(sizeof(new_path) - sizeof(NEW_SUFFIX)), path,
             NEW_SUFFIX);
    int fd = mkostemp(new_path, O_CLOEXEC); /* 0600, and new */
    if (fd < 0)
        return fail(err, path, "can't be made");
    bool good = write_key(fd);
    if (!good)
        fail(err, path, "can't be written");
    close(fd);
    good = good && give_name(new_path, path, made, err);
    unlink(new_path);
    return good;
}

/* Nothing but a file that is its owner's alone; a FIFO would keep us waiting. -1: err. */
static int open_own(const char *path, uid_t *owner, struct err *err)
{
    struct stat stat_of;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        fail(err, path, "the key file can't be opened");
        return -1;
    }
    bool is_known = fstat(fd, &stat_of) == 0;
    *owner = is_known ? stat_of.st_uid : 0;
    if (!is_known)
        fail(err, path, "the key file can't be looked at");
    else if (!S_ISREG(stat_of.st_mode))
        err_set(err, "%s: no file, expected one with a private key", path);
    else if ((stat_of.st_mode & OTHERS) != 0)
        err_set(
            err,
            "%s: a private key that others than its owner may use (mode %03o): chmod 600 it, or, if somebody "
            "has read it, move it away: sluicectl key show makes a new one, whose line then goes into all "
            "rosters",
            path, stat_of.st_mode & 0777);
    else
        return fd;
    close(fd);
    return -1;
}

static ssize_t read_all(int fd, char *text, size_t room)
{
    ssize_t got = 1;
    size_t length = 0;
    while (got > 0 && length < room) {
        got = read(fd, text + length, room - length);
        length += got > 0 ? (size_t)got : 0;
    }
    return got < 0 ? -1 : (ssize_t)length;
}

bool key_file_read(const char *path, struct key_pair *pair, struct err *err)
{
    uid_t owner;
    return key_file_read_of(path, pair, &owner, err);
}

bool key_file_read_of(const char *path, struct key_pair *pair, uid_t *owner, struct err *err)
{
    char text[FILE_BYTES + 2] = ""; /* room for one character too many, and a zero */
    const struct primitives *primitives = crypt_primitives(err);
    int fd = primitives != NULL ? open_own(path, owner, err) : -1;
    if (fd < 0)
        return false;
    ssize_t length = read_all(fd, text, sizeof(text) - 1);
    if (length == (ssize_t)FILE_BYTES && text[length - 1] == '\n')
        text[--length] = '\0';
    enum key_text_fault fault = key_text_read_private(pair->private_key, text);
    if (fault == KEY_TEXT_GOOD && (ssize_t)strlen(text) != length)
        fault = KEY_TEXT_WRONG_LENGTH;
    if (length < 0)
        fail(err, path, "the key file can't be read");
    else if (fault != KEY_TEXT_GOOD)
        err_set(err,
                "%s: no whole private key (%s). The file is left as it is: restore it, or move it away: "
                "sluicectl "
                "key show makes a new one, whose line then goes into all rosters",
                path, key_text_fault_words(fault));
    close(fd);
    wipe(text, sizeof(text));
    if (length < 0 || fault != KEY_TEXT_GOOD)
        return false;
    primitives->public_key(pair->public_key, pair->private_key);
    return true;
}
