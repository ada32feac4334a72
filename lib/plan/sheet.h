/* Text that grows in a buffer of the caller's: what the pictures are written on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sheet {
    char *text;
    size_t room, length;
    bool full; /* something did not fit; nothing is written after it */
};

void sheet_add(struct sheet *sheet, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "9.41 Mbit/s": three digits at least, rounded down. */
void sheet_add_rate(struct sheet *sheet, uint64_t rate_bps);
/* "2.00 GB", of a thousand each, as a rate otherwise; "12 bytes". */
void sheet_add_size(struct sheet *sheet, uint64_t size_bytes);
/* "0.25 s", "12.5 s", "17 min 42 s", "3 h 5 min", "2 d 7 h". */
void sheet_add_duration(struct sheet *sheet, uint64_t duration_ms);

/* Text of UTF-8 without control characters, as character data or attribute of XML … */
void sheet_add_xml(struct sheet *sheet, const char *text);
/* … and as part of a quoted string of dot. */
void sheet_add_dot(struct sheet *sheet, const char *text);
