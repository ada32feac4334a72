#include "transfer.h"

#include <stdio.h>

#include "base/text.h"
#include "base/units.h"

/* Three digits of it. What would be rounded to a thousand is one of the next unit. */
static void scaled(double value, const char *unit, char text[32])
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    unsigned prefix = 0;
    for (; value >= 999.5 && prefix < sizeof(prefixes) / sizeof(prefixes[0]) - 1; prefix++)
        value /= 1000;
    snprintf(text, 32, "%.3g %s%s", value, prefixes[prefix], unit);
}

void transfer_words(const struct transfer *transfer, char *text, size_t room)
{
    char object[TRANSFER_OBJECT_BYTES], size[32], rate[32], what[TRANSFER_OBJECT_BYTES + 2 * NAME_BYTES];
    double seconds = (double)transfer->took_ns / NS_PER_S;
    name_copy(object, sizeof(object), transfer->object);
    text_make_printable(object);
    scaled((double)transfer->bytes, transfer->bytes < 1000 ? "bytes" : "B", size);
    scaled(seconds > 0 ? (double)transfer->bytes * 8 / seconds : 0, "bit/s", rate);
    if (transfer->from[0] != '\0')
        snprintf(what, sizeof(what), "received %s from %s", object, transfer->from);
    else
        snprintf(what, sizeof(what), "sent %s to %u of %u sites", object, transfer->sites_whole,
                 transfer->sites);
    snprintf(text, room, "%s: %s in %.*f s, %s%s%s", what, size, seconds < 10 ? 3 : 1, seconds, rate,
             transfer->via[0] != '\0' ? ", via " : "", transfer->via);
}
