#include "wire/data.h"

enum wire_error wire_data_decode(const uint8_t *data, size_t length, struct wire_data_view *view)
{
    if (length < WIRE_DATA_BYTES)
        return WIRE_TOO_SHORT;
    wire_data_get(data + WIRE_HEADER_BYTES, &view->fixed);
    uint32_t count = wire_content_count(view->fixed.content);
    if (count == 0 || count > WIRE_DATA_COUNT_MAX)
        return WIRE_BAD_VALUE;
    if (wire_content_symbol(view->fixed.content) > WIRE_SYMBOL_MAX - (count - 1))
        return WIRE_BAD_VALUE;
    size_t before_body = WIRE_DATA_BYTES + (size_t)count * WIRE_TAG_BYTES;
    if (length < before_body + count || length > UINT32_MAX)
        return WIRE_BAD_LENGTH;
    view->tags = data + WIRE_DATA_BYTES;
    view->body = data + before_body;
    view->body_bytes = (uint32_t)(length - before_body);
    return WIRE_OK;
}

size_t wire_data_encode(uint8_t *out, const struct wire_header *header, const struct wire_data *fixed,
                        const uint8_t *tags)
{
    size_t tag_bytes = (size_t)wire_content_count(fixed->content) * WIRE_TAG_BYTES;
    uint8_t *end = wire_data_put(wire_header_put(out, header), fixed);
    if (tags == NULL)
        memset(end, 0, tag_bytes);
    /* Tag by tag: a copy of a size not known beforehand costs more than all other fields together. */
    for (size_t at = 0; tags != NULL && at < tag_bytes; at += WIRE_TAG_BYTES)
        memcpy(end + at, tags + at, WIRE_TAG_BYTES);
    return WIRE_DATA_BYTES + tag_bytes;
}
