/* Names of nodes, jobs and directories: short, printable, safe in a path. */
#pragma once

#include <stdbool.h>
#include <string.h>

#define NAME_BYTES 32  /* with the terminating zero */
#define PATH_BYTES 512 /* paths in jobs and configurations, with the terminating zero */

/* 1 to 31 characters of a-z A-Z 0-9 . _ -, not starting with a dot or a minus sign. */
bool name_valid(const char *name);

/* Digits alone: where ids are taken as well it would be one. */
bool name_is_number(const char *name);

/* Copies with truncation; `room` includes the terminating zero. Returns false when it did not fit. */
bool name_copy(char *target, size_t room, const char *source);

/* A relative path that stays where it starts: no leading slash, no empty, "." or ".." component, shorter than PATH_BYTES. It may
 * have any other bytes: text.h says how they are shown. */
bool path_stays_below(const char *path);
