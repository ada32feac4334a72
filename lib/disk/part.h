/* NAME.part: what a target is until it is whole. It is made new, locked (flock) as long as it is open where the filesystem
 * has locks, and bears a mark, an extended attribute with its inode's number, by which a part that was left behind (a crash)
 * is told from what others have put there. Nothing but a marked part that nobody holds is ever removed to
 * make room; on a filesystem without extended attributes that is nothing.
 *
 * The functions serve files and directories alike, but for part_create, part_rename and part_remove, which
 * are for files. */
#pragma once

#include "disk/place.h"

/* Creates NAME.part, empty, locked and marked; replaces one that a job left behind. -1: text says why. */
int part_create(struct place *place, mode_t mode, char text[DISK_TEXT_BYTES]);
/* NAME.part becomes NAME, without the mark; unless `replace`, only where no NAME is. A filesystem that has neither the flag of
 * renameat2 nor hard links (exFAT, much by FUSE) is noted: there NAME is looked for just before. False: text says why. */
bool part_rename(struct place *place, int fd, bool replace, char text[DISK_TEXT_BYTES]);
/* Removes NAME.part, a file, if it still is the one behind fd. False: errno. */
bool part_remove(const struct place *place, int fd);

/* NAME.part is still what fd is open on. */
bool part_is(const struct place *place, int fd);
/* Locks what was made just now, and marks it. False: another job has taken it for a leftover meanwhile. */
bool part_claim(struct place *place, int fd);
/* What lies at NAME.part, open as fd, was left behind by a job, and is locked now. False: text says why
 * not; without locks it may be another job's as well. */
bool part_is_leftover(struct place *place, int fd, char text[DISK_TEXT_BYTES]);
/* It is a part no longer. */
void part_unmark(int fd);
