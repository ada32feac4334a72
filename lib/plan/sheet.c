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

void sheet_add_rate(struct sheet *sheet, uint64_t rate_bps)
{
    static const char *const units[] = {"kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
    unsigned unit = 0;
    for (; unit < 3 && rate_bps >= 1000000; unit++)
        rate_bps /= 1000;
    uint64_t whole = rate_bps / 1000, rest = rate_bps % 1000;
    if (whole >= 100)
        sheet_add(sheet, "%" PRIu64 " %s", whole, units[unit]);
    else if (whole >= 10)
        sheet_add(sheet, "%" PRIu64 ".%" PRIu64 " %s", whole, rest / 100, units[unit]);
    else
        sheet_add(sheet, "%" PRIu64 ".%02" PRIu64 " %s", whole, rest / 10, units[unit]);
}
