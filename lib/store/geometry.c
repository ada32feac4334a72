#include "store/geometry.h"

#include <inttypes.h>

#include "base/units.h"
#include "wire/data.h"

#define SYMBOL_BYTES_STEP 16

_Static_assert(OBJECT_BYTES_MAX / SYMBOL_BYTES_MIN - 1 <= WIRE_SYMBOL_MAX,
               "every symbol index fits the wire");

uint32_t geometry_symbol_bytes_for(uint32_t mtu, uint32_t ip_overhead_bytes)
{
    uint64_t overhead = (uint64_t)ip_overhead_bytes + WIRE_DATA_BYTES + WIRE_TAG_BYTES;
    if (mtu < overhead + SYMBOL_BYTES_MIN)
        return 0;
    uint32_t room = (uint32_t)(mtu - overhead);
    return MIN(room / SYMBOL_BYTES_STEP * SYMBOL_BYTES_STEP, (uint32_t)SYMBOL_BYTES_MAX);
}

uint32_t geometry_symbols_per_packet(uint32_t mtu, uint32_t ip_overhead_bytes, uint32_t symbol_bytes)
{
    uint64_t overhead = (uint64_t)ip_overhead_bytes + WIRE_DATA_BYTES;
    if (mtu < overhead)
        return 0;
    uint64_t count = (mtu - overhead) / ((uint64_t)symbol_bytes + WIRE_TAG_BYTES);
    return (uint32_t)MIN(count, (uint64_t)WIRE_DATA_COUNT_MAX);
}

uint32_t geometry_block_symbols_for(uint32_t symbol_bytes)
{
    return MIN(BLOCK_BYTES_TARGET / symbol_bytes, (uint32_t)BLOCK_SYMBOLS_MAX);
}

bool geometry_init(struct geometry *geometry, uint64_t size_bytes, uint32_t symbol_bytes,
                   uint32_t block_symbols, struct err *err)
{
    if (size_bytes > OBJECT_BYTES_MAX)
        return err_set(err, "object of %" PRIu64 " bytes: the limit is %" PRIu64, size_bytes,
                       OBJECT_BYTES_MAX);
    if (symbol_bytes < SYMBOL_BYTES_MIN || symbol_bytes > SYMBOL_BYTES_MAX)
        return err_set(err, "symbol of %" PRIu32 " bytes: expected %d to %d", symbol_bytes, SYMBOL_BYTES_MIN,
                       SYMBOL_BYTES_MAX);
    if (block_symbols == 0 || block_symbols > BLOCK_SYMBOLS_MAX)
        return err_set(err, "block of %" PRIu32 " symbols: expected 1 to %d", block_symbols,
                       BLOCK_SYMBOLS_MAX);
    if (block_symbols * symbol_bytes > BLOCK_BYTES_TARGET)
        return err_set(err, "block of %" PRIu32 " bytes: the limit is %u", block_symbols * symbol_bytes,
                       BLOCK_BYTES_TARGET);
    uint64_t symbols = (size_bytes + symbol_bytes - 1) / symbol_bytes;
    *geometry = (struct geometry){
        .size_bytes = size_bytes,
        .symbol_bytes = symbol_bytes,
        .block_symbols = block_symbols,
        .symbols = symbols,
        .blocks = (symbols + block_symbols - 1) / block_symbols,
        .block_inverse = block_symbols == 1 ? 0 : UINT64_MAX / block_symbols + 1,
    };
    return true;
}

uint32_t geometry_symbol_length(const struct geometry *geometry, uint64_t symbol)
{
    return (uint32_t)geometry_run_length(geometry, symbol, 1);
}

uint32_t geometry_symbols_in_block(const struct geometry *geometry, uint64_t block)
{
    uint64_t left = geometry->symbols - block * geometry->block_symbols;
    return (uint32_t)MIN(left, (uint64_t)geometry->block_symbols);
}

uint32_t geometry_block_length(const struct geometry *geometry, uint64_t block)
{
    uint64_t left = geometry->size_bytes - geometry_block_offset(geometry, block);
    return (uint32_t)MIN(left, (uint64_t)geometry->block_symbols * geometry->symbol_bytes);
}

uint64_t geometry_block_offset(const struct geometry *geometry, uint64_t block)
{
    return block * geometry->block_symbols * geometry->symbol_bytes;
}

uint64_t geometry_run_length(const struct geometry *geometry, uint64_t first, uint32_t count)
{
    if (first + count == geometry->symbols)
        return geometry->size_bytes - first * geometry->symbol_bytes;
    return (uint64_t)count * geometry->symbol_bytes;
}
