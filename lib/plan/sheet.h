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
