/* Bytes become lines, in whatever pieces they come. Reading is the owner's, who so never waits for the end of
 * a line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LINE_BYTES_MAX 1024 /* its end included */

struct lines {
    size_t start, length; /* what of `bytes` is still to be given */
    char bytes[LINE_BYTES_MAX];
};

enum line { LINE_NONE, LINE_WHOLE, LINE_TOO_LONG };

/* Where the next bytes may be put, and how many: at least 1 after lines_next said LINE_NONE. */
char *lines_place(struct lines *lines, size_t *room);
void lines_add(struct lines *lines, size_t count);
/* The next line, without its end, as a string that is valid until lines_place. `ended`: no more bytes come, so
 * what is left is a line. After LINE_TOO_LONG the rest makes no sense. */
enum line lines_next(struct lines *lines, bool ended, char **line);
