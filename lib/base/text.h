/* Texts that others made (names of files, what peers and clients send) on their way to a terminal or a log. */
#pragma once

/* Bytes of the well-formed UTF-8 sequence that begins here (RFC 3629: no overlong forms, no surrogates), 0 when
 * there is none. Zero ends any sequence, so nothing behind it is read. */
int text_utf8_bytes(const unsigned char *text);
/* Replaces, in place, each control character of C0 and C1 and each byte that is no UTF-8 by '?': no escape
 * sequence, no forged line of a log. */
void text_make_printable(char *text);
