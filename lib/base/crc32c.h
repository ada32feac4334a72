/* CRC-32C (Castagnoli), as in RFC 3720, appendix B.4: finds what chance has changed, and nobody who means it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const uint8_t *data, size_t length);
/* The same in steps: begin with 0, end with the value of the last call. */
uint32_t crc32c_add(uint32_t crc, const uint8_t *data, size_t length);
