/* Length-prefixed texts in message bodies: u16 length, bytes, no zero. Internal to lib/wire. */
#pragma once

#include "base/text.h"
#include "wire/header.h"

/* Length of the zero-terminated text in `room` bytes, or -1 when it does not end there. */
static inline int text_length(const char *text, size_t room)
{
    size_t length = strnlen(text, room);
    return length < room ? (int)length : -1;
}

static inline uint8_t *text_put(uint8_t *out, const char *text, int length)
{
    out = wire_put_u16(out, (uint16_t)length);
    memcpy(out, text, (size_t)length);
    return out + length;
}

/* Reads a text of at most room - 1 bytes, none of them zero, and terminates it; *in moves behind it. What was
 * said is kept as it is: a path must not become another one. */
static inline enum wire_error text_get(const uint8_t **in, const uint8_t *end, char *text, size_t room)
{
    uint16_t length;
    if (end - *in < 2)
        return WIRE_TOO_SHORT;
    *in = wire_get_u16(*in, &length);
    if (length > end - *in || length >= room)
        return WIRE_BAD_LENGTH;
    if (memchr(*in, 0, length) != NULL)
        return WIRE_BAD_VALUE;
    memcpy(text, *in, length);
    text[length] = '\0';
    *in += length;
    return WIRE_OK;
}

/* The same for words to be read by people, the last of a body: they reach terminals and logs, so what may
 * steer those becomes '?'. */
static inline enum wire_error text_get_last(const uint8_t *in, const uint8_t *end, char *text, size_t room)
{
    enum wire_error error = text_get(&in, end, text, room);
    if (error != WIRE_OK)
        return error;
    text_make_printable(text);
    return in == end ? WIRE_OK : WIRE_BAD_LENGTH;
}
