#include "base/name.h"

#include <ctype.h>

bool name_valid(const char *name)
{
    size_t length = strnlen(name, NAME_BYTES);
    if (length == 0 || length >= NAME_BYTES || name[0] == '.' || name[0] == '-')
        return false;
    for (size_t index = 0; index < length; index++)
        if (!isalnum((unsigned char)name[index]) && strchr("._-", name[index]) == NULL)
            return false;
    return true;
}

bool name_is_number(const char *name)
{
    return name[0] != '\0' && name[strspn(name, "0123456789")] == '\0';
}

bool name_copy(char *target, size_t room, const char *source)
{
    size_t length = strlen(source);
    size_t copied = length < room ? length : room - 1;
    memcpy(target, source, copied);
    target[copied] = '\0';
    return copied == length;
}

bool path_stays_below(const char *path)
{
    if (strlen(path) >= PATH_BYTES)
        return false;
    const char *component = path;
    for (const char *c = path;; c++) {
        if (*c != '/' && *c != '\0')
            continue;
        size_t length = (size_t)(c - component);
        bool here = length == 1 && component[0] == '.';
        bool above = length == 2 && component[0] == '.' && component[1] == '.';
        if (length == 0 || here || above)
            return false;
        if (*c == '\0')
            return true;
        component = c + 1;
    }
}
