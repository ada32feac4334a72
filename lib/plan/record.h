/* Bounded little-endian cursors over a byte buffer: how records of the control ring are written and read.
 *
 * Guarantee: neither ever touches a byte outside the buffer. A writer or reader that ran out says so in
 * `failed` and stays there, so that one test at the end covers a whole record; a failed read yields 0. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct record_writer {
    uint8_t *out;
    size_t room;
    size_t length; /* written so far */
    bool failed;
};

struct record_reader {
    const uint8_t *in;
    size_t length;
    size_t offset; /* read so far */
    bool failed;
};

static inline void record_put_bytes(struct record_writer *writer, const void *bytes, size_t count)
{
    if (writer->failed || count > writer->room - writer->length) {
        writer->failed = true;
        return;
    }
    memcpy(writer->out + writer->length, bytes, count);
    writer->length += count;
}

static inline void record_get_bytes(struct record_reader *reader, void *bytes, size_t count)
{
    if (reader->failed || count > reader->length - reader->offset) {
        reader->failed = true;
        memset(bytes, 0, count);
        return;
    }
    memcpy(bytes, reader->in + reader->offset, count);
    reader->offset += count;
}

/* Plain copies, since the host is little-endian (asserted below). */
#define RECORD_CURSOR(name, type)                                                                            \
    static inline void record_put_##name(struct record_writer *writer, type value)                           \
    {                                                                                                        \
        record_put_bytes(writer, &value, sizeof(value));                                                     \
    }                                                                                                        \
    static inline type record_get_##name(struct record_reader *reader)                                       \
    {                                                                                                        \
        type value;                                                                                          \
        record_get_bytes(reader, &value, sizeof(value));                                                     \
        return value;                                                                                        \
    }
RECORD_CURSOR(u8, uint8_t)
RECORD_CURSOR(u16, uint16_t)
RECORD_CURSOR(u32, uint32_t)
RECORD_CURSOR(u64, uint64_t)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the copies above assume a little-endian host");
