/* Object geometry: size → symbols → blocks. Pure arithmetic, 64-bit throughout.
 * A symbol has symbol_bytes, the object's last one what is left; a block has block_symbols, the last one what
 * is left. An empty object has no symbols and no blocks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define SYMBOL_BYTES_MIN   1024
#define SYMBOL_BYTES_MAX   8960
#define BLOCK_BYTES_TARGET (1u << 20)
#define BLOCK_SYMBOLS_MAX  1024 /* BLOCK_BYTES_TARGET / SYMBOL_BYTES_MIN */
#define OBJECT_BYTES_MAX   ((uint64_t)1 << 50)

struct geometry {
    uint64_t size_bytes;
    uint32_t symbol_bytes;
    uint32_t block_symbols;
    uint64_t symbols;
    uint64_t blocks;
    uint64_t block_inverse; /* 2^64 / block_symbols rounded up, 0 for 1: divides without a division */
};

/* The largest symbol (a multiple of 16, within MIN … MAX) of which one fits an IP packet of `mtu` bytes with
 * the given IP + UDP overhead; 0 when the path is too small. */
uint32_t geometry_symbol_bytes_for(uint32_t mtu, uint32_t ip_overhead_bytes);
/* How many consecutive symbols one packet carries on a path of `mtu`: 1 … WIRE_DATA_COUNT_MAX; 0: none fits.
 */
uint32_t geometry_symbols_per_packet(uint32_t mtu, uint32_t ip_overhead_bytes, uint32_t symbol_bytes);
uint32_t geometry_block_symbols_for(uint32_t symbol_bytes);

/* Checks the limits above (block_symbols * symbol_bytes <= BLOCK_BYTES_TARGET as well). */
bool geometry_init(struct geometry *geometry, uint64_t size_bytes, uint32_t symbol_bytes,
                   uint32_t block_symbols, struct err *err);

uint32_t geometry_symbol_length(const struct geometry *geometry, uint64_t symbol);   /* symbol < symbols */
uint32_t geometry_symbols_in_block(const struct geometry *geometry, uint64_t block); /* block < blocks */
uint32_t geometry_block_length(const struct geometry *geometry, uint64_t block);
uint64_t geometry_block_offset(const struct geometry *geometry, uint64_t block);
/* Bytes of symbols first … first + count - 1, all of them within the object. */
uint64_t geometry_run_length(const struct geometry *geometry, uint64_t first, uint32_t count);

/* The rounding of block_inverse adds at most symbol * block_symbols / 2^64 < 2^-14 to the quotient, less than
 * the 1 / block_symbols that would carry it to the next integer: exact for every symbol of an object. */
static inline uint64_t geometry_block_of(const struct geometry *geometry, uint64_t symbol)
{
    if (geometry->block_inverse == 0)
        return symbol;
    return (uint64_t)((unsigned __int128)symbol * geometry->block_inverse >> 64);
}

/* Position of a symbol within its block. */
static inline uint32_t geometry_index_of(const struct geometry *geometry, uint64_t symbol)
{
    return (uint32_t)(symbol - geometry_block_of(geometry, symbol) * geometry->block_symbols);
}
