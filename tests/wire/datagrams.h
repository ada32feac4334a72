/* The datagrams of the golden vectors, built from structs: one per message, and the shapes that matter. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire/control.h"
#include "wire/header.h"

struct datagram {
    const char *name;              /* of its vector in golden.txt; NULL: end of the table */
    size_t (*build)(uint8_t *out); /* at most GOLDEN_BYTES_MAX bytes; returns how many */
};

extern const struct datagram datagrams[];

/* What they have in common: a header, a message of that kind around a body of so many bytes, a part without
 * children. */
struct wire_header datagram_header(uint8_t type, uint32_t number);
size_t datagram_message(uint8_t *out, uint32_t number, uint8_t kind, const uint8_t *body, size_t length);
struct wire_part datagram_part(void);
