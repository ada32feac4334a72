/* What the two ends of a directory share: ways down a tree, reading of pieces, removal. All by descriptors,
 * one component at a time and never through a symbolic link. Blocking calls, made by the disk threads
 * only. */
#pragma once

#include "base/file_time.h"
#include "disk/place.h"
#include "pack/pack.h"

#define TREE_SHOWN_BYTES 100 /* of an entry's path in texts */
/* Of a mode, what only `owner` (and at a receiver `setid`) keeps: of directories, and of all else. */
#define TREE_SET_ID_BITS 06000u
#define TREE_SET_BITS    07000u /* the sticky bit as well, which means nothing for files */

/* Names and parents of numbered entries: of an index, or of one that is still being made. */
struct tree_names {
    void (*of)(const void *context, uint32_t number, uint32_t *parent, const char **name);
    const void *context;
};
struct tree_names tree_names_of(const struct pack *pack);

/* The directories from the root to the one used last: neighbours in the index share most of them. */
struct tree_chain {
    struct tree_names names;
    int root_fd; /* the caller's */
    uint32_t depth;
    uint32_t entries[PACK_DEPTH_MAX];
    int fds[PACK_DEPTH_MAX];
};
void tree_chain_begin(struct tree_chain *chain, struct tree_names names, int root_fd);
/* The descriptor of directory `number`, the chain's own; -1: errno. */
int tree_chain_open(struct tree_chain *chain, uint32_t number);
void tree_chain_end(struct tree_chain *chain);

/* "WHAT PATH: CAUSE", the cause being errno's. Always false. */
bool tree_fail(char text[DISK_TEXT_BYTES], const char *what, const struct pack *pack, uint32_t number);

/* What tells whether a file of a source is still what it was, beside what its entry says: its ctime is what nobody can put back. */
struct tree_seen {
    uint64_t inode;
    uint64_t changed; /* base/file_time.h */
};

static inline uint64_t tree_changed(const struct stat *stat)
{
    return file_time_of(stat->st_ctim.tv_sec, (uint32_t)stat->st_ctim.tv_nsec);
}

/* Fills `data` with bytes start … end - 1 of the object's content, from files below root_fd. With `seen` (a source, by entry)
 * every file must still be what it was when the index was made, else DISK_CHANGED; without (a target)
 * a file is read even where its mode forbids that, as long as it is ours. */
enum disk_status tree_read(const struct pack *pack, int root_fd, const struct tree_seen *seen, uint64_t start,
                           uint64_t end, uint8_t *data, char text[DISK_TEXT_BYTES]);

/* Whether another filesystem is mounted in the directory or below it, or is bound there; also in place of a file.
 * False as well where nobody can tell (no /proc): what removes finds out for itself. */
bool tree_holds_mount(int fd);
/* Removes all below the directory; what is gone already is no error. Nothing of another filesystem that is mounted
 * in it: then, and whatever else fails, false: errno (EXDEV, or EBUSY at a file's place). */
bool tree_empty(int fd);
/* The same, and NAME itself. */
bool tree_remove(int directory_fd, const char *name);
