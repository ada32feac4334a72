#include "plan/sheet.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void sheet_add(struct sheet *sheet, const char *format, ...)
{
    va_list arguments;
    if (sheet->full)
        return;
    va_start(arguments, format);
    int length = vsnprintf(sheet->text + sheet->length, sheet->room - sheet->length, format, arguments);
    va_end(arguments);
    sheet->full = length < 0 || (size_t)length >= sheet->room - sheet->length;
    if (!sheet->full)
        sheet->length += (size_t)length;
}

/* Of a value in the first unit's thousandths. */
static void add_scaled(struct sheet *sheet, uint64_t value, const char *const units[4])
{
    unsigned unit = 0;
    for (; unit < 3 && value >= 1000000; unit++)
        value /= 1000;
    uint64_t whole = value / 1000, rest = value % 1000;
    if (whole >= 100)
        sheet_add(sheet, "%" PRIu64 " %s", whole, units[unit]);
    else if (whole >= 10)
        sheet_add(sheet, "%" PRIu64 ".%" PRIu64 " %s", whole, rest / 100, units[unit]);
    else
        sheet_add(sheet, "%" PRIu64 ".%02" PRIu64 " %s", whole, rest / 10, units[unit]);
}

void sheet_add_rate(struct sheet *sheet, uint64_t rate_bps)
{
    static const char *const units[] = {"kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
    add_scaled(sheet, rate_bps, units);
}

void sheet_add_size(struct sheet *sheet, uint64_t size_bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    if (size_bytes < 1000)
        sheet_add(sheet, "%u byte%s", (unsigned)size_bytes, size_bytes == 1 ? "" : "s");
    else
        add_scaled(sheet, size_bytes, units);
}

void sheet_add_duration(struct sheet *sheet, uint64_t duration_ms)
{
    static const struct {
        uint64_t seconds, part; /* of the part that follows it */
        const char *name, *part_name;
    } units[] = {{86400, 3600, "d", "h"}, {3600, 60, "h", "min"}, {60, 1, "min", "s"}};
    uint64_t hundredths = duration_ms / 10 + (duration_ms % 10 >= 5);
    uint64_t tenths = duration_ms / 100 + (duration_ms % 100 >= 50), seconds = (tenths + 5) / 10;
    if (hundredths < 1000) {
        sheet_add(sheet, "%" PRIu64 ".%02" PRIu64 " s", hundredths / 100, hundredths % 100);
        return;
    }
    if (tenths < 600) {
        sheet_add(sheet, "%" PRIu64 ".%" PRIu64 " s", tenths / 10, tenths % 10);
        return;
    }
    unsigned unit = 0;
    while (seconds < units[unit].seconds)
        unit++;
    sheet_add(sheet, "%" PRIu64 " %s %" PRIu64 " %s", seconds / units[unit].seconds, units[unit].name,
              seconds % units[unit].seconds / units[unit].part, units[unit].part_name);
}

void sheet_add_xml(struct sheet *sheet, const char *text)
{
    for (; *text != '\0'; text++)
        switch (*text) {
        case '&':
            sheet_add(sheet, "&amp;");
            break;
        case '<':
            sheet_add(sheet, "&lt;");
            break;
        case '>':
            sheet_add(sheet, "&gt;");
            break;
        case '"':
            sheet_add(sheet, "&quot;");
            break;
        default:
            sheet_add(sheet, "%c", *text);
        }
}

void sheet_add_dot(struct sheet *sheet, const char *text)
{
    for (; *text != '\0'; text++)
        sheet_add(sheet, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}
