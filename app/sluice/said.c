#include "said.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define NAME "sluice-planner: "

/* Behind what stands in that form, digits for zeros; the text itself where nothing does. */
static const char *behind(const char *text, const char *form)
{
    size_t at = 0;
    for (; form[at] != '\0'; at++)
        if (form[at] == '0' ? text[at] < '0' || text[at] > '9' : text[at] != form[at])
            return text;
    return text + at;
}

/* False: it is not to be told now. */
static bool give(struct said *said, char line[SAID_LINE_BYTES])
{
    said->bytes[said->length] = '\0';
    said->length = 0;
    if (said->told == SAID_PER_S) {
        said->suppressed++;
        return false;
    }
    said->told++;
    const char *text = behind(behind(behind(said->bytes, "<0>"), "0000-00-00T00:00:00.000Z "), NAME);
    snprintf(line, SAID_LINE_BYTES, "%s%.*s", NAME, (int)(SAID_LINE_BYTES - sizeof(NAME)), text);
    text_make_printable(line);
    return true;
}

/* True: a second is over in which not all was told. */
static bool is_due(struct said *said, uint64_t now_ns, char line[SAID_LINE_BYTES])
{
    if (said->second_ns != 0 && elapsed_ns(now_ns, said->second_ns) < NS_PER_S)
        return false;
    unsigned suppressed = said->suppressed;
    said->second_ns = now_ns;
    said->told = said->suppressed = 0;
    if (suppressed > 0)
        snprintf(line, SAID_LINE_BYTES, NAME "%u more lines were not logged", suppressed);
    return suppressed > 0;
}

bool said_next(struct said *said, const char **text, uint64_t now_ns, char line[SAID_LINE_BYTES])
{
    if (is_due(said, now_ns, line))
        return true;
    while (*text != NULL && **text != '\0') {
        char byte = *(*text)++;
        if (byte == '\n') {
            if (give(said, line))
                return true;
        } else if (said->length < sizeof(said->bytes) - 1) {
            said->bytes[said->length++] = byte;
        }
    }
    return false;
}

bool said_end(struct said *said, uint64_t now_ns, char line[SAID_LINE_BYTES])
{
    return is_due(said, now_ns, line) || (said->length > 0 && give(said, line));
}
