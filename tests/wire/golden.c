#include "golden.h"

#include <string.h>

#include "base/check.h"

static unsigned digit(char c)
{
    const char *digits = "0123456789abcdef";
    const char *found = c != '\0' ? strchr(digits, c) : NULL;
    CHECK(found != NULL);
    return (unsigned)(found - digits);
}

static void line_parse(const char *line, struct golden *golden)
{
    const char *equals = strstr(line, " = ");
    CHECK(equals != NULL && (size_t)(equals - line) < sizeof(golden->name));
    memset(golden->name, 0, sizeof(golden->name));
    memcpy(golden->name, line, (size_t)(equals - line));
    golden->length = 0;
    for (const char *c = equals + 3; *c != '\n' && *c != '\0'; c += 2) {
        CHECK(golden->length < GOLDEN_BYTES_MAX);
        golden->bytes[golden->length++] = (uint8_t)(digit(c[0]) << 4 | digit(c[1]));
    }
}

bool golden_next(FILE *file, struct golden *golden)
{
    char line[2 * GOLDEN_BYTES_MAX + 128];
    while (fgets(line, sizeof(line), file) != NULL) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        line_parse(line, golden);
        return true;
    }
    return false;
}

bool golden_is_frame(const struct golden *golden)
{
    return strncmp(golden->name, "frame-", 6) == 0;
}
