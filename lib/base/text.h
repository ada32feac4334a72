/* Texts that others wrote, on their way to a terminal, a log or a report: which characters may be shown. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the well-formed UTF-8 sequence that begins at `text` (RFC 3629: no overlong forms, no surrogates),
 * 0 when there is none. The terminating zero ends any sequence, so nothing behind it is read. */
int text_utf8_bytes(const char *text);
/* Whether the sequence of so many bytes is a control character: C0, DEL, or C1 (U+0080 to U+009F). */
bool text_is_control(const char *text, int bytes);

/* Nothing but well-formed UTF-8 without control characters: no line ends, nothing that steers a terminal. */
bool text_printable(const char *text);
/* ---- bytes of any kind in formats that want UTF-8 (YAML, JSON) ----
 *
 * Names of files are bytes. Those of 0x80 and above that are no UTF-8 travel as the last 128 characters that there are, U+10FF80
 * to U+10FFFF, which nobody may use otherwise; who does all the same gets them back, byte by byte. What was armoured and then
 * disarmed is what it was. */
#define TEXT_ARMOUR_MOST 4 /* bytes for each byte, at most */
/* `out` has room for TEXT_ARMOUR_MOST bytes for each one, and a zero. Returns its length. */
size_t text_armour(char *out, const char *text);
/* In place: it gets shorter at most. Returns its length. */
size_t text_disarm(char *text);

/* Puts '?' in the place of every byte of a control character and of every byte that is no UTF-8. */
void text_make_printable(char *text);
