#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

int text_utf8_bytes(const unsigned char *text)
{
    static const struct {
        unsigned char first_min, first_max, second_min, second_max;
        int bytes;
    } forms[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
                 {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
                 {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    if (text[0] < 0x80)
        return 1;
    for (size_t form = 0; form < sizeof(forms) / sizeof(forms[0]); form++) {
        if (text[0] < forms[form].first_min || text[0] > forms[form].first_max)
            continue;
        if (text[1] < forms[form].second_min || text[1] > forms[form].second_max)
            return 0;
        for (int index = 2; index < forms[form].bytes; index++)
            if (text[index] < 0x80 || text[index] > 0xbf)
                return 0;
        return forms[form].bytes;
    }
    return 0;
}

void text_make_printable(char *text)
{
    char *out = text;
    int bytes;
    for (const char *in = text; *in != '\0'; in += bytes == 0 ? 1 : bytes) {
        const unsigned char *c = (const unsigned char *)in;
        bytes = text_utf8_bytes(c);
        bool control = c[0] < 0x20 || c[0] == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0);
        if (bytes == 0 || control) {
            *out++ = '?';
            continue;
        }
        memmove(out, in, (size_t)bytes);
        out += bytes;
    }
    *out = '\0';
}
