/* Sizes of a stream's window. */
#include <inttypes.h>

#include "node/kind/stream.h"

/* Other jobs need slots as well. */
static uint64_t blocks_max(const struct node *node)
{
    return node->store.slot_count / 2;
}

bool stream_check_spec(const struct node *node, const struct job_spec *spec, struct err *err)
{
    uint64_t blocks = MAX(spec->retention_bytes / BLOCK_BYTES_TARGET + 1, (uint64_t)STREAM_BLOCKS_MIN);
    if (blocks <= blocks_max(node) && blocks <= UINT32_MAX)
        return true;
    return err_set(err,
                   "job '%s': a retention of %" PRIu64
                   " MB is more than half of the symbol buffer of %" PRIu64 " MB",
                   spec->name, spec->retention_bytes / 1000000, node->config.buffer_bytes / 1000000);
}

void stream_fill_part(const struct job_spec *spec, uint32_t symbol_bytes, uint32_t block_symbols,
                      struct wire_part *part)
{
    uint64_t payload_bytes = (uint64_t)stream_payload_bytes(symbol_bytes) * block_symbols;
    uint64_t blocks = (spec->retention_bytes + payload_bytes - 1) / payload_bytes;
    part->stream_blocks = (uint32_t)MAX(blocks, (uint64_t)STREAM_BLOCKS_MIN);
    part->stream_window_ms = (uint32_t)MIN(spec->window_ns / NS_PER_MS, (uint64_t)UINT32_MAX);
    part->stream_slow = spec->slow;
}

bool stream_fit_part(const struct node *node, struct wire_part *part, struct err *err)
{
    part->stream_blocks =
        (uint32_t)MIN(MAX(part->stream_blocks, (uint32_t)STREAM_BLOCKS_MIN), blocks_max(node));
    return part->stream_blocks >= STREAM_BLOCKS_MIN ||
           err_set(err, "the symbol buffer of %" PRIu64 " MB is too small for a stream",
                   node->config.buffer_bytes / 1000000);
}

/* How long the stream can be held at its fastest; TIME_NEVER: nobody knows how fast it is. */
static uint64_t held_at_most_ns(const struct wire_part *part, uint64_t rate_cap_bps)
{
    uint64_t window_ns = part->stream_window_ms == 0 ? TIME_NEVER : part->stream_window_ms * NS_PER_MS;
    uint64_t bytes =
        (uint64_t)part->stream_blocks * part->block_symbols * stream_payload_bytes(part->symbol_bytes);
    if (rate_cap_bps == 0)
        return window_ns;
    return MIN(window_ns, muldiv64(bytes * 8, NS_PER_S, rate_cap_bps));
}

bool stream_outlasts(const struct wire_part *part, uint64_t rate_cap_bps, uint64_t rtt_ns, uint64_t *held_ns)
{
    *held_ns = held_at_most_ns(part, rate_cap_bps);
    return *held_ns >= rtt_ns;
}

uint64_t stream_window_bytes(const struct wire_part *part)
{
    return (uint64_t)part->stream_blocks * part->block_symbols * part->symbol_bytes;
}
