#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

bool err_set(struct err *err, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->text, sizeof(err->text), format, arguments);
    va_end(arguments);
    text_make_printable(err->text);
    return false;
}

/* Appends what there is room for; the new length. */
static size_t append(char *text, size_t length, const char *more)
{
    size_t bytes = strnlen(more, ERR_TEXT_BYTES - 1 - length);
    memcpy(text + length, more, bytes);
    text[length + bytes] = '\0';
    return length + bytes;
}

bool err_context(struct err *err, const char *format, ...)
{
    struct err inner = *err;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->text, sizeof(err->text), format, arguments);
    va_end(arguments);
    append(err->text, append(err->text, strlen(err->text), ": "), inner.text);
    text_make_printable(err->text);
    return false;
}
