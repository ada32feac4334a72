#include "lines.h"

#include <string.h>

char *lines_place(struct lines *lines, size_t *room)
{
    memmove(lines->bytes, lines->bytes + lines->start, lines->length);
    lines->start = 0;
    *room = sizeof(lines->bytes) - 1 - lines->length; /* one for the end of the last line */
    return lines->bytes + lines->length;
}

void lines_add(struct lines *lines, size_t count)
{
    lines->length += count;
}

enum line lines_next(struct lines *lines, bool ended, char **line)
{
    char *first = lines->bytes + lines->start;
    char *end = memchr(first, '\n', lines->length);
    if (end == NULL && lines->length >= sizeof(lines->bytes) - 1)
        return LINE_TOO_LONG;
    if (end == NULL && (!ended || lines->length == 0))
        return LINE_NONE;
    size_t bytes = end != NULL ? (size_t)(end - first) : lines->length;
    first[bytes] = '\0';
    bytes += end != NULL;
    lines->start += bytes;
    lines->length -= bytes;
    *line = first;
    return LINE_WHOLE;
}
