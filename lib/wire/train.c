#include "wire/train.h"

enum wire_error wire_train_decode(const uint8_t *data, size_t length, struct wire_train *train)
{
    if (length < WIRE_TRAIN_BYTES)
        return WIRE_TOO_SHORT;
    wire_train_get(data + WIRE_HEADER_BYTES, train);
    if (length != (size_t)WIRE_TRAIN_BYTES + train->padding)
        return WIRE_BAD_LENGTH;
    return train->index < train->count && train->count <= WIRE_TRAIN_PACKETS_MAX ? WIRE_OK : WIRE_BAD_VALUE;
}

size_t wire_train_encode(uint8_t *out, const struct wire_header *header, const struct wire_train *train)
{
    wire_train_put(wire_header_put(out, header), train);
    return WIRE_TRAIN_BYTES;
}
