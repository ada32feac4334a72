#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool err_set(struct err *err, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->text, sizeof(err->text), format, arguments);
    va_end(arguments);
    return false;
}

bool err_context(struct err *err, const char *format, ...)
{
    char inner[ERR_TEXT_BYTES];
    memcpy(inner, err->text, sizeof(inner));
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(err->text, sizeof(err->text), format, arguments);
    va_end(arguments);
    if (length >= 0 && (size_t)length < sizeof(err->text))
        snprintf(err->text + length, sizeof(err->text) - (size_t)length, ": %s", inner);
    return false;
}
