#include "wire/message.h"

#include "wire/control.h"

enum wire_error wire_message_decode(const uint8_t *data, size_t length, struct wire_message_view *view)
{
    if (length < WIRE_MESSAGE_BYTES)
        return WIRE_TOO_SHORT;
    wire_message_get(data + WIRE_HEADER_BYTES, &view->fixed);
    if (view->fixed.kind >= CONTROL_KIND_COUNT)
        return WIRE_BAD_VALUE;
    if (view->fixed.length > WIRE_MESSAGE_BODY_MAX)
        return WIRE_BAD_LENGTH;
    if (view->fixed.kind == WIRE_MESSAGE_ACK && view->fixed.length != 0 &&
        view->fixed.length != WIRE_GAPS_BYTES)
        return WIRE_BAD_LENGTH;
    if (length != (size_t)WIRE_MESSAGE_BYTES + view->fixed.length)
        return WIRE_BAD_LENGTH;
    view->body = data + WIRE_MESSAGE_BYTES;
    return WIRE_OK;
}

size_t wire_message_encode(uint8_t *out, const struct wire_header *header, const struct wire_message *fixed,
                           const uint8_t *body)
{
    uint8_t *end = wire_message_put(wire_header_put(out, header), fixed);
    if (fixed->length != 0)
        memmove(end, body, fixed->length); /* the body may have been made in place */
    return (size_t)WIRE_MESSAGE_BYTES + fixed->length;
}
