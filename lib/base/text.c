#include "base/text.h"

#include <string.h>

#include "base/units.h"

int text_utf8_bytes(const char *text)
{
    static const struct {
        unsigned char first_min, first_max, second_min, second_max;
        int bytes;
    } forms[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
                 {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
                 {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    const unsigned char *c = (const unsigned char *)text;
    if (c[0] < 0x80)
        return 1;
    for (size_t form = 0; form < sizeof(forms) / sizeof(forms[0]); form++) {
        if (c[0] < forms[form].first_min || c[0] > forms[form].first_max)
            continue;
        if (c[1] < forms[form].second_min || c[1] > forms[form].second_max)
            return 0;
        for (int index = 2; index < forms[form].bytes; index++)
            if (c[index] < 0x80 || c[index] > 0xbf)
                return 0;
        return forms[form].bytes;
    }
    return 0;
}

bool text_is_control(const char *text, int bytes)
{
    const unsigned char *c = (const unsigned char *)text;
    return (bytes == 1 && (c[0] < 0x20 || c[0] == 0x7f)) || (bytes == 2 && c[0] == 0xc2 && c[1] < 0xa0);
}

bool text_printable(const char *text)
{
    for (int bytes; *text != '\0'; text += bytes) {
        bytes = text_utf8_bytes(text);
        if (bytes == 0 || text_is_control(text, bytes))
            return false;
    }
    return true;
}

void text_make_printable(char *text)
{
    for (int bytes; *text != '\0'; text += MAX(bytes, 1)) {
        bytes = text_utf8_bytes(text);
        if (bytes == 0 || text_is_control(text, bytes))
            memset(text, '?', (size_t)MAX(bytes, 1));
    }
}

/* U+10FF80 + n is f4 8f be 80+n up to n = 63, then f4 8f bf 40+n. */
static bool is_armour(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    return c[0] == 0xf4 && c[1] == 0x8f && (c[2] == 0xbe || c[2] == 0xbf) && c[3] >= 0x80 && c[3] <= 0xbf;
}

size_t text_armour(char *out, const char *text)
{
    size_t length = 0;
    while (*text != '\0') {
        int bytes = is_armour(text) ? 0 : text_utf8_bytes(text);
        if (bytes > 0) {
            memcpy(out + length, text, (size_t)bytes);
            length += (size_t)bytes;
            text += bytes;
            continue;
        }
        unsigned low = (unsigned char)*text++ & 0x7f;
        const unsigned char armour[4] = {0xf4, 0x8f, (unsigned char)(0xbe + (low >> 6)),
                                         (unsigned char)(0x80 + (low & 0x3f))};
        memcpy(out + length, armour, sizeof(armour));
        length += sizeof(armour);
    }
    out[length] = '\0';
    return length;
}

size_t text_disarm(char *text)
{
    size_t length = 0;
    for (const char *from = text; *from != '\0';) {
        if (!is_armour(from)) {
            text[length++] = *from++;
            continue;
        }
        const unsigned char *c = (const unsigned char *)from;
        text[length++] = (char)(0x80 | (unsigned)(c[2] - 0xbe) << 6 | (c[3] & 0x3fu));
        from += 4;
    }
    text[length] = '\0';
    return length;
}
