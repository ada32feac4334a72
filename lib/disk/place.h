/* Where a target lies: the permitted directory, directories below it, NAME and NAME.part. Resolved one
 * component at a time from the permitted directory's descriptor, never through a symbolic link, so that no
 * name and no link made meanwhile leads out of it. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/name.h"
#include "store/disk.h"

#define PLACE_PART_SUFFIX ".part"
#define PLACE_SHOWN_BYTES 120 /* leaves room for the cause in a reply's text */

struct place {
    int directory_fd; /* of the directory that NAME lies in */
    char name[PATH_BYTES];
    char part[PATH_BYTES + sizeof(PLACE_PART_SUFFIX)];
    char path[2 * PATH_BYTES];     /* the whole path */
    char shown[PLACE_SHOWN_BYTES]; /* its end, for texts */
};

/* The path, or "..." and its end where it is too long. */
void place_show(char shown[PLACE_SHOWN_BYTES], const char *path);
/* Formats a reply's text, cut at its end where it is too long; names of files are bytes, so what a terminal
 * must not have becomes "?". Always false. */
bool place_say(char text[DISK_TEXT_BYTES], const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "WHAT PATHsuffix: CAUSE"; the cause is errno's. Always false. */
bool place_fail(char text[DISK_TEXT_BYTES], const char *what, const char *shown, const char *suffix);

/* Makes missing directories below the permitted one. False: text says why, nothing is open. */
bool place_open(struct place *place, const char *directory, const char *file, char text[DISK_TEXT_BYTES]);
void place_close(struct place *place);
/* Creates NAME.part, empty and locked (flock); replaces one that nobody holds. -1: text says why. */
int place_create_part(const struct place *place, char text[DISK_TEXT_BYTES]);
/* False: text says how much is needed and how much is free. */
bool place_check_space(const struct place *place, int fd, uint64_t size_bytes, char text[DISK_TEXT_BYTES]);
/* NAME.part is still the file behind fd. */
bool place_part_is(const struct place *place, int fd);
/* NAME.part becomes NAME; unless `replace`, only where no NAME is. */
bool place_rename(const struct place *place, bool replace, char text[DISK_TEXT_BYTES]);
