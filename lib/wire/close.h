/* CLOSE: the sender leaves; the peer forgets the session, and begins another when it wants to. Only who has the session
 * can close it. */
#pragma once

#include "wire/header.h"

#define WIRE_CLOSE_REASONS(ROW) ROW(WIRE_CLOSE_SHUTDOWN, 1, "shutdown")
enum wire_close_reason { WIRE_CLOSE_REASONS(WORD_CONSTANT) };

#define WIRE_CLOSE_FIELDS(FIELD) FIELD(u8, reason) /* enum wire_close_reason */

WIRE_DECLARE(close, WIRE_CLOSE_FIELDS)
#define WIRE_CLOSE_BYTES (WIRE_HEADER_BYTES + WIRE_FIXED_BYTES(WIRE_CLOSE_FIELDS))

enum wire_error wire_close_decode(const uint8_t *data, size_t length, struct wire_close *close);
size_t wire_close_encode(uint8_t *out, const struct wire_header *header, const struct wire_close *close);
